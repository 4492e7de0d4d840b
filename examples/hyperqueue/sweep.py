#!/usr/bin/env python3
"""Shares a simulated experiment over HyperQueue (pip install hyperqueue), and merges it.

    sweep.py my-sweep.toml --shards 32 --out whole                    a server and workers on this machine
    sweep.py my-sweep.toml --shards 32 --out whole --server-dir DIR   a server that runs already (hq server start)

What follows `--` goes to `waykeeper run`, such as `-- --duration 1s`. Shards lie in OUT.shards. A sweep that was interrupted, or
whose workers were killed, goes on when it is called again with the same arguments.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from hyperqueue import Client, Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
from hyperqueue.task.task import ResourceRequest

# HyperQueue starts a task again when its worker was lost: a shard that has begun goes on.
TASK = """
if [ -e "$2/repeats.log" ]; then exec "$0" run --resume "$2"; fi
waykeeper=$0 experiment=$1 folder=$2 shard=$3
shift 3
exec "$waykeeper" run "$experiment" --shard "$shard" --out "$folder" "$@"
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment")
    parser.add_argument("--shards", type=int, required=True, metavar="N")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the merged run")
    parser.add_argument("--server-dir", metavar="DIR", help="that of a running server, as given to hq")
    parser.add_argument("--workers", type=int, default=2, help="without a server: workers on this machine")
    parser.add_argument("--cores", type=int, default=1, help="processors of each shard")
    parser.add_argument("--waykeeper", default="waykeeper", help="the program")
    own = sys.argv[1:]
    at = own.index("--") if "--" in own else len(own)
    arguments, options = parser.parse_args(own[:at]), own[at + 1 :]
    shards = Path(arguments.out + ".shards")
    shards.mkdir(parents=True, exist_ok=True)
    folders = [shards / str(number) for number in range(1, arguments.shards + 1)]

    def job():
        tasks = Job(max_fails=0)
        for number, folder in enumerate(folders, 1):
            shard = f"{number}/{arguments.shards}"
            tasks.program(
                ["sh", "-c", TASK, arguments.waykeeper, arguments.experiment, str(folder), shard, *options],
                name=f"shard {shard}",
                cwd=os.getcwd(),
                env={name: os.environ[name] for name in ["PATH", "HOME", "SOURCE_DATE_EPOCH"] if name in os.environ},
                stdout=str(shards / f"{number}.out"),
                stderr=str(shards / f"{number}.err"),
                resources=ResourceRequest(cpus=arguments.cores),
            )
        return tasks

    if arguments.server_dir:
        client = Client(arguments.server_dir)
        client.wait_for_jobs([client.submit(job())])
    else:
        with LocalCluster() as cluster:
            for _ in range(arguments.workers):
                cluster.start_worker(WorkerConfig(cores=arguments.cores))
            client = cluster.client()
            client.wait_for_jobs([client.submit(job())])
    merge = [arguments.waykeeper, "merge", *map(str, folders), "--out", arguments.out]
    return subprocess.run(merge).returncode


if __name__ == "__main__":
    sys.exit(main())
