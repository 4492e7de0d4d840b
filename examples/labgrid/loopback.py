#!/usr/bin/env python3
"""Tries the example on this machine behind an sshd of its own, which its power switch starts and ends.

    pip install labgrid waykeeper-0.1.0-py3-none-any.whl
    loopback.py PROGRAM [OPTION OF PYTEST]...
"""

import getpass
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

SERVER = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
PidFile {folder}/pid
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
"""

POWER = """\
#!/bin/sh
case $1 in
on) exec /usr/sbin/sshd -f {folder}/server -E {folder}/log ;;
off) if [ -e {folder}/pid ]; then kill "$(cat {folder}/pid)"; fi ;;
esac
"""

BOARD = """\
targets:
  main:
    resources:
      NetworkService: {{ address: 127.0.0.1, port: {port}, username: {user} }}
    drivers:
      ExternalPowerDriver: {{ cmd_on: {folder}/power on, cmd_off: {folder}/power off }}
      SSHDriver: {{ keyfile: {folder}/key }}
      BoardStrategy: {{}}
images: {{ waykeeper: {program} }}
imports: [ {here}/strategy.py ]
"""


def main():
    program, *options = sys.argv[1:] or sys.exit(__doc__)
    folder = Path(tempfile.mkdtemp(prefix="waykeeper-labgrid-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for key in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    values = {"folder": folder, "port": port, "user": getpass.getuser(), "program": Path(program).resolve(), "here": HERE}
    for name, text in (("server", SERVER), ("power", POWER), ("board.yaml", BOARD)):
        (folder / name).write_text(text.format(**values))
    (folder / "power").chmod(stat.S_IRWXU)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    try:
        command = [sys.executable, "-m", "pytest", "--lg-env", folder / "board.yaml", "-p", "no:cacheprovider", *options, HERE]
        return subprocess.run(command).returncode
    finally:
        subprocess.run([folder / "power", "off"])
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
