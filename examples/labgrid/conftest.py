"""Measures on the board of labgrid's environment."""

import shlex

import pytest
import waykeeper

FILES = ("run.json", "samples.hlog", "excursions.hlog", "experiment.toml")
# 0: no budget was seen broken. 1: one was broken. 4: too little data to judge one. The run is whole in each case.
MEASURED = (0, 1, 4)


@pytest.fixture(scope="session")
def board(strategy):
    """The board, booted: a shell over ssh. It is off after the tests."""
    strategy.transition("shell")
    yield strategy.ssh
    strategy.transition("off")


@pytest.fixture(scope="session")
def program(board, env):
    """The program on the board. What it leaves there goes after the tests."""
    folder = board.run_check("mktemp -d")[0]
    board.put(env.config.get_image_path("waykeeper"), f"{folder}/waykeeper")
    board.run_check(f"chmod 755 {folder}/waykeeper")
    yield f"{folder}/waykeeper"
    board.run_check(f"rm -rf {folder}")


@pytest.fixture
def measure(board, program, tmp_path):
    """Measures an experiment, with options of `waykeeper run`; returns the run, whose folder stays on this side."""

    def measured(experiment, *options):
        there, here = f"{program}-run-{tmp_path.name}", tmp_path / "run"
        here.mkdir()
        command = shlex.join([program, "run", experiment, *options, "--out", there])
        _, errors, status = board.run(command)
        assert status in MEASURED, "\n".join([f"waykeeper run ended with status {status}", *errors])
        for file in FILES:
            board.get(f"{there}/{file}", str(here / file))
        board.run_check(f"rm -r {shlex.quote(there)}")
        return waykeeper.load(here)

    return measured
