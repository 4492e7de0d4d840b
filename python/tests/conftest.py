"""Runs that the real program makes, once for all tests."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RELEASED = HERE.parent.parent / "crates/cli/tests/released/0.1.0"


def program():
    """The program `waykeeper` that these tests run."""
    found = os.environ.get("WAYKEEPER") or shutil.which("waykeeper")
    assert found, "set WAYKEEPER to the program `waykeeper`, or put it into PATH: the tests read runs that it makes"
    return found


def waykeeper(*arguments, expect=(0, 1, 4)):
    """What the program prints. 1 and 4 are a broken and a thin budget."""
    ended = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True)
    assert ended.returncode in expect, ended.stderr
    return ended.stdout


RUNS = {
    "sweep": [
        *("run", HERE / "sweep.toml", "--budget", "max<=1us", "--budget", "p99<=200ns", "--budget", "slowdown<=1.05"),
    ],
    "bundled": ["run", "agilex5-cluster-latency", "--duration", "2ms", "--repeats", "3"],
    "host": ["run", "this-machine", "--duration", "50ms", "--repeats", "2"],
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """The folders of the runs by their names, with those that a released version left."""
    root = tmp_path_factory.mktemp("runs")
    for name, arguments in RUNS.items():
        waykeeper(*arguments, "--out", root / name)
    return {name: root / name for name in RUNS} | {f"released {name}": RELEASED / name for name in ("host", "simulated")}


@pytest.fixture(params=[*RUNS, "released host", "released simulated"])
def folder(request, runs):
    """Each of these folders in turn."""
    return runs[request.param]


@pytest.fixture
def copy(runs, tmp_path):
    """A copy of the swept run, to be damaged."""
    return Path(shutil.copytree(runs["sweep"], tmp_path / "copy"))
