"""Runs that do not read: the message says what was found and what would do."""

import json
import os
import random
import shutil

import pytest

import waykeeper
from conftest import waykeeper as program


def refused(path, kind, *words):
    with pytest.raises(kind) as caught:
        waykeeper.load(path)
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))
    assert isinstance(caught.value, waykeeper.RunError) and isinstance(caught.value, ValueError)


def change(folder, **members):
    file = folder / "run.json"
    record = json.loads(file.read_text())
    record.update(members)
    file.write_text(json.dumps(record))


def test_a_wrong_folder(runs, tmp_path):
    refused(tmp_path / "nothing", waykeeper.NotARun, "found nothing of this name", "`waykeeper run` left")
    refused(tmp_path, waykeeper.NotARun, "found no run.json in it", "`waykeeper run` left")
    refused(runs["sweep"].parent, waykeeper.NotARun, "runs below it: bundled, host, sweep", "expected one of them")
    refused(runs["sweep"] / "samples.hlog", waykeeper.DamagedRun, "samples.hlog:1", "not JSON")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", waykeeper.NotARun, "neither a folder nor a regular file")


def test_run_json_alone_has_all_frames_but_the_histograms(runs, tmp_path):
    shutil.copy(runs["sweep"] / "run.json", tmp_path / "mailed.json")
    run = waykeeper.load(str(tmp_path / "mailed.json"))
    assert run.cases.equals(waykeeper.load(runs["sweep"]).cases)
    with pytest.raises(waykeeper.DamagedRun, match="samples.hlog: found no such file.*whole copy"):
        run.distribution("idle")


def test_an_unfinished_run_and_a_shard(copy, tmp_path, runs):
    os.rename(copy / "run.json", copy / "repeats.log")
    refused(copy, waykeeper.UnfinishedRun, "has not ended", f"`waykeeper run --resume {copy}`")
    shard = tmp_path / "shard"
    program("run", "agilex5-cluster-latency", "--duration", "1ms", "--repeats", "2", "--shard", "1/20", "--out", shard)
    refused(shard, waykeeper.UnfinishedRun, "found a shard", "`waykeeper merge`")


def test_a_newer_schema_and_none(copy):
    change(copy, schema=waykeeper.SCHEMA + 1)
    refused(copy, waykeeper.NewerSchema, f"version {waykeeper.SCHEMA + 1}", "newer Waykeeper", "up to version 1")
    for version in (None, True, "1", 0, -1, 1.5):
        change(copy, schema=version)
        refused(copy, waykeeper.NotARun, "`schema`" if version is None else repr(version), "expected a whole number")


def test_a_run_json_that_is_cut_off_or_changed(copy):
    text = (copy / "run.json").read_text()
    (copy / "run.json").write_text(text[: len(text) // 2])
    refused(copy, waykeeper.DamagedRun, "run.json:", "this is not JSON", "a whole copy of the run")
    (copy / "run.json").write_text("[" * 100_000)
    refused(copy, waykeeper.DamagedRun, "run.json")
    (copy / "run.json").write_text("[1]")
    refused(copy, waykeeper.NotARun, "JSON that is no object")
    (copy / "run.json").write_text(text.replace('"mean_ns": ', '"mean_ns": -', 1))
    refused(copy, waykeeper.DamagedRun, "`cases[0].mean_ns`", "found -57", "not negative")
    (copy / "run.json").write_text(text.replace('"samples": ', '"samples": NaN, "x": ', 1))
    refused(copy, waykeeper.DamagedRun, "found NaN")
    (copy / "run.json").write_text(text.replace('"core": 1', '"core": "one"', 1))
    refused(copy, waykeeper.DamagedRun, "`cases[0].core`", "found 'one'")
    (copy / "run.json").write_text(text.replace('"name": "idle",', "", 1))
    refused(copy, waykeeper.DamagedRun, "`cases[0].name`", "found nothing")


def damaged(copy, change, *words):
    file = copy / "samples.hlog"
    whole = file.read_text()
    file.write_text(change(whole))
    with pytest.raises(waykeeper.DamagedRun) as caught:
        waykeeper.load(copy).distribution("idle")
    for word in ("samples.hlog", "whole copy", *words):
        assert word in str(caught.value), (word, str(caught.value))
    file.write_text(whole)


def test_damaged_logs(copy):
    damaged(copy, lambda text: text[: len(text) // 2], ":", "c")
    damaged(copy, lambda text: text.replace("Tag=c01.r2,", "", 1), ":3:", "has no tag")
    damaged(copy, lambda text: text.replace("HIST", "JIST", 1), ":2:", "c01.r1", "begins with")
    damaged(copy, lambda text: text.replace(",0.000,", ",abc,", 1), ":2:")
    damaged(copy, lambda text: text.replace("c01.r2", "c01.r1", 1), ":3:", "a second histogram c01.r1")
    damaged(copy, lambda text: text.replace("c01.r2", "c77.r2", 1), "found no histogram c01.r2")
    damaged(copy, lambda text: "", "found no histogram c01.r1")
    damaged(copy, lambda text: text.replace("#", "\u00e4", 1), "samples.hlog")


def test_a_log_of_another_run_is_no_log_of_this_one(copy, runs):
    shutil.copy(runs["bundled"] / "samples.hlog", copy / "samples.hlog")
    with pytest.raises(waykeeper.DamagedRun, match="found [0-9]+ samples of `cases.4.*, where run.json counts.*one run"):
        waykeeper.load(copy).distribution("none [cores 2 3]", 1)


def test_whatever_is_changed_it_reads_or_is_refused(copy):
    """Bytes of all files at random: no other exception, and no run that takes forever."""
    luck = random.Random(1)
    wholes = {name: (copy / name).read_bytes() for name in ("run.json", "samples.hlog", "excursions.hlog")}
    refusals = 0
    for _ in range(300):
        name = luck.choice(list(wholes))
        changed = bytearray(wholes[name])
        for _ in range(luck.randint(1, 3)):
            at = luck.randrange(len(changed))
            changed[at : at + luck.choice([0, 1, 1, 40])] = bytes(luck.choice(b'0123456789-eE.,"{}[]ntA\xff\x00') for _ in range(luck.randint(0, 2)))
        (copy / name).write_bytes(changed)
        try:
            run = waykeeper.load(copy)
            run.timeline, run.budgets, run.verdicts, run.references, run.neighbours, run.sweeps, run.expectations, run.histograms
            for case in run.cases["case"]:
                run.distribution(case).exceedance(), run.events(case).counts()
        except waykeeper.RunError:
            refusals += 1
        (copy / name).write_bytes(wholes[name])
    assert 100 < refusals < 300


def test_a_case_that_is_not_there(runs):
    run = waykeeper.load(runs["sweep"])
    with pytest.raises(KeyError, match="this run has 'idle', 'none"):
        run.distribution("nobody")
    with pytest.raises(KeyError, match="found no repeat 3"):
        run.distribution("idle", 3)
