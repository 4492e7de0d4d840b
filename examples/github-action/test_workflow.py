"""Runs the steps of the workflow as GitHub's runner does: `bash -e`, each in turn, those with `!cancelled()` also after a failure."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

HERE = Path(__file__).parent
WORKFLOW = yaml.safe_load((HERE / "waykeeper.yml").read_text())
JOB = WORKFLOW["jobs"]["budgets"]


def steps(folder, **changed):
    """The exit status of each step that ran, by its name."""
    program = Path(os.environ["WAYKEEPER"]).resolve()
    variables = {
        "WAYKEEPER_URL": program.as_uri(),
        "WAYKEEPER_SHA256": hashlib.sha256(program.read_bytes()).hexdigest(),
    }
    summary, path = folder / "summary.md", folder / "path"
    path.touch()
    environment = {"HOME": str(folder), "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_PATH": str(path)}
    for name, value in JOB["env"].items():
        environment[name] = variables[name] if value == "${{ vars.%s }}" % name else value
    environment.update(changed)
    statuses = {}
    for step in JOB["steps"]:
        if "run" not in step or (any(statuses.values()) and "if" not in step):
            continue
        before = "".join(line + ":" for line in path.read_text().splitlines())
        environment["PATH"] = before + "/usr/sbin:/usr/bin:/sbin:/bin"
        ended = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=environment, capture_output=True, text=True)
        statuses[step["name"]] = ended.returncode
    return statuses


@pytest.fixture
def checkout(tmp_path):
    shutil.copy(HERE / "experiment.toml", tmp_path)
    return tmp_path


def outcomes(folder):
    suite = ElementTree.parse(folder / "results/junit.xml").getroot()
    return int(suite.get("tests")), int(suite.get("failures")), int(suite.get("errors"))


def test_the_workflow_has_the_form_that_github_reads():
    # YAML 1.1 takes the key `on` for true.
    assert set(WORKFLOW) == {"name", True, "permissions", "jobs"} and JOB["runs-on"] == "ubuntu-latest"
    assert all(("run" in step) != ("uses" in step) for step in JOB["steps"])
    assert {step["if"] for step in JOB["steps"] if "if" in step} == {"${{ !cancelled() }}"}


def test_a_run_whose_budgets_hold_passes(checkout):
    assert steps(checkout) == {"Install": 0, "Measure": 0, "JUnit": 0, "Report": 0}
    # `max` for four cases, `p99.9` for the two of nl3a.
    assert outcomes(checkout) == (6, 0, 0)
    assert "budgets" in (checkout / "summary.md").read_text() and (checkout / "results/report.html").stat().st_size > 500_000


def test_a_broken_budget_fails_the_job_and_leaves_its_results(checkout):
    file = checkout / "experiment.toml"
    file.write_text(file.read_text().replace("max<=20us", "max<=1us"))
    assert steps(checkout) == {"Install": 0, "Measure": 1, "JUnit": 0, "Report": 0}
    tests, failures, errors = outcomes(checkout)
    # Both cases beside the hammers are above 1 us.
    assert (tests, failures, errors) == (6, 2, 0)


def test_too_little_data_fails_the_job_too(checkout):
    file = checkout / "experiment.toml"
    file.write_text(file.read_text().replace("max<=20us", "max<=20us@1e-9"))
    assert steps(checkout) == {"Install": 0, "Measure": 4, "JUnit": 0, "Report": 0}
    assert outcomes(checkout)[2] == 4


def test_another_program_than_the_named_one_is_not_run(checkout):
    statuses = steps(checkout, WAYKEEPER_SHA256="0" * 64)
    assert statuses["Install"] == 1 and "Measure" not in statuses
