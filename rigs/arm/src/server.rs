//! The guest's SSH server: OpenSSH's own, with keys that are made for one run of the rig.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use waykeeper_kernel_rig::initramfs::Archive;

use crate::programs::{run, target};

/// What the server is started with. It has no PAM, and nobody but the key's owner may come in.
const CONFIGURATION: &str = "HostKey /etc/host_key\nAuthorizedKeysFile /etc/authorized_keys\nPidFile none\nUsePAM no\n\
                             StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
                             PermitRootLogin prohibit-password\n";

/// The users that the server knows: root, and the one to which it drops its rights.
const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n";

/// A server in a guest, and the way to it from here.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    port: u16,
}

impl Server {
    /// Makes keys, and chooses a port of this machine that leads to the guest's.
    ///
    /// # Errors
    /// No `ssh-keygen`; a folder that cannot be written.
    pub fn new(guest: &str) -> Result<Self, String> {
        let folder = target().join(format!("arm-rig-{guest}-ssh"));
        let _ = std::fs::remove_dir_all(&folder);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(folder.join("bin")).map_err(failed)?;
        // Nobody listens there yet.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).map_err(failed)?;
        for name in ["host", "key"] {
            let mut make = Command::new("ssh-keygen");
            run(make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(folder.join(name)))?;
        }
        let server = Self { port: free.port(), folder: folder.clone() };
        server.write_client().map_err(failed)?;
        Ok(server)
    }

    /// The user's own configuration of `ssh`: the guest is known as `board`.
    fn write_client(&self) -> std::io::Result<()> {
        let known = self.folder.join("known");
        let host_key = std::fs::read_to_string(self.folder.join("host.pub"))?;
        std::fs::write(&known, format!("[127.0.0.1]:{} {host_key}", self.port))?;
        let client = self.folder.join("client");
        let text = format!(
            "Host board\n  HostName 127.0.0.1\n  Port {}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             IdentityAgent none\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n",
            self.port,
            self.folder.join("key").display(),
            known.display()
        );
        std::fs::write(&client, text)?;
        let wrapper = self.folder.join("bin/ssh");
        std::fs::write(&wrapper, format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", client.display()))?;
        std::fs::set_permissions(wrapper, PermissionsExt::from_mode(0o755))
    }

    /// What the server needs in the guest. `provided` has the program and its libraries.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn pack(&self, provided: &Path, archive: &mut Archive) -> Result<(), String> {
        for folder in ["etc", "run/sshd"] {
            archive.directory(folder);
        }
        archive.file("etc/sshd_config", 0o644, CONFIGURATION.as_bytes());
        archive.file("etc/passwd", 0o644, USERS.as_bytes());
        archive.file("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
        for (name, file, mode) in [("authorized_keys", "key.pub", 0o644), ("host_key", "host", 0o600)] {
            archive.file(&format!("etc/{name}"), mode, &read(&self.folder.join(file))?);
        }
        for (name, file) in files(&provided.join("sshd"))? {
            let folder = if name == "sshd" { "bin" } else { "lib" };
            archive.file(&format!("{folder}/{name}"), 0o755, &read(&file)?);
        }
        Ok(())
    }

    /// QEMU's network card for it: the guest reaches nobody, and the port of this machine leads to its server.
    pub fn network(&self, model: &str) -> [String; 2] {
        let options = format!("user,restrict=on,model={model},hostfwd=tcp:127.0.0.1:{}-10.0.2.15:22", self.port);
        ["-nic".to_owned(), options]
    }

    /// The search path on which `ssh` knows the board.
    pub fn path(&self) -> OsString {
        let mut path = OsString::from(self.folder.join("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }

    /// Runs a line in the guest's shell and returns what it prints.
    ///
    /// # Errors
    /// A guest that is not reached; a line that fails.
    pub fn shell(&self, line: &str) -> Result<String, String> {
        let output = Command::new(self.folder.join("bin/ssh")).args(["board", line]).output();
        let output = output.map_err(|error| format!("ssh: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("ssh board '{line}' ended with {}: {}", output.status, said.trim()))
        }
    }
}

/// The files of a folder with their names, in order.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        files.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    files.sort();
    Ok(files)
}

/// A file's bytes.
///
/// # Errors
/// One that cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
