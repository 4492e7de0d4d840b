"""Frames and histograms beside run.json and beside `waykeeper export`, which reads the folder in its own way."""

import csv
import io
import json
import math

import pandas as pd
import pytest
from conftest import waykeeper

import waykeeper as package


def test_it_is_the_installed_package_that_is_tested():
    import sys

    assert package.load.__module__ == "waykeeper.run"
    assert sys.modules["waykeeper"].__file__.startswith(sys.prefix), "install the wheel into this environment first"


def exported(folder, table):
    return list(csv.DictReader(io.StringIO(waykeeper("export", folder, "--format", "csv", "--table", table))))


def same(cell, value):
    """Whether a cell of the CSV is a value of a frame: to the last bit."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return cell == ""
    if isinstance(value, str):
        # Formulas of spreadsheets are disarmed.
        return cell == value or cell == "'" + value
    if str(value) in ("True", "False"):
        return cell == str(value).lower()
    return float(cell) == float(value)


@pytest.mark.parametrize("table", ["cases", "repeats", "histograms", "timelines"])
def test_every_cell_of_the_exported_tables_is_in_the_frames(folder, table):
    run = package.load(folder)
    frame = getattr(run, {"timelines": "timeline"}.get(table, table))
    rows = exported(folder, table)
    assert len(rows) == len(frame) > 0
    for row, own in zip(rows, frame.to_dict("records")):
        # The CSV has the verdict in words.
        if "verdict" in row:
            row["verdict"] = row["verdict"].replace(" ", "_")
        for column, cell in row.items():
            assert same(cell, own[column]), (column, cell, own[column])


def test_counts_quantiles_means_and_maxima_follow_from_the_histograms(folder):
    run = package.load(folder)
    for case in run.cases.itertuples():
        seen = run.distribution(case.case)
        assert seen.samples == case.samples
        for quantile, figure in [(0.5, case.p50_ns), (0.99, case.p99_ns), (0.999, case.p99_9_ns), (0.9999, case.p99_99_ns)]:
            ours = seen.quantile_ns(quantile)
            assert (ours is None and math.isnan(figure)) or ours == figure, (case.case, quantile)
        assert not seen.overflow
        ticks, counts = run.distribution(case.case).ticks, seen.counts()
        lowest, highest, _ = ticks.buckets()
        # The extremes are in the first and the last bucket, and the mean lies where the buckets leave it.
        for bucket, exact in ((0, case.min_ns), (-1, case.max_ns)):
            assert lowest[bucket] <= round(exact / run.tick_ns) <= highest[bucket]
        share = counts["samples"] / counts["samples"].sum()
        least, most = (counts["from_ns"] * share).sum(), (counts["to_ns"] * share).sum()
        assert least * (1 - 1e-12) <= case.mean_ns <= most * (1 + 1e-12)
        assert abs(seen.mean_ns() / case.mean_ns - 1) <= 1 / 128
        if highest[-1] < 256:
            assert seen.mean_ns() == pytest.approx(case.mean_ns, rel=1e-12)
        points = seen.exceedance()
        assert (points["ns"].iloc[0], points["share"].iloc[0]) == (case.min_ns, 1)
        assert points["ns"].iloc[-1] == case.max_ns and points["share"].iloc[-1] * case.samples == pytest.approx(counts["samples"].iloc[-1])
        assert points["ns"].is_monotonic_increasing and points["share"].is_monotonic_decreasing
        events = run.events(case.case)
        assert events.samples == case.excursion_events
        assert str(events).startswith(f"{events.samples} maxima of events" if events.samples else "no samples"), str(events)


def test_a_case_is_its_repeats_that_count(folder):
    run = package.load(folder)
    for case, own in run.repeats[run.repeats["not_counted"].isna()].groupby("case"):
        each = [run.distribution(case, int(repeat)) for repeat in own["repeat"]]
        merged = run.distribution(case)
        assert merged.samples == sum(one.samples for one in each)
        assert merged.max_ns == max(one.max_ns for one in each)
        assert merged.run_length_s == pytest.approx(sum(one.run_length_s for one in each))


def test_frames_have_what_run_json_says(runs):
    record = json.loads((runs["sweep"] / "run.json").read_text())
    run = package.load(runs["sweep"])
    assert run.record == record
    assert list(run.budgets["text"]) == [budget["text"] for budget in record["budgets"]]
    assert set(run.budgets["kind"]) >= {"broken", "not_seen_broken"}
    broken = run.budgets[run.budgets["kind"] == "broken"].iloc[0]
    assert broken["run_length_s"] == 0.004 and broken["max_ns"] > 1000
    verdicts = {case["name"]: case["verdict"]["text"] for case in record["cases"] if "verdict" in case}
    assert dict(zip(run.verdicts["case"], run.verdicts["text"])) == verdicts != {}
    assert run.sweeps == {"cores": ["2", "2 3"]} and list(run.cases["cores"].dropna().unique()) == ["2", "2 3"]
    assert list(run.neighbours["cores"].unique()) == ["2", "2,3"]
    # Two repeats of 2 ms, an interval of 500 us: eight peaks a case.
    assert list(run.timeline.groupby("case").size()) == [8] * 6
    assert run.timeline["observed_s"].max() < 0.004 and run.timeline["at_s"].max() < 0.002


def test_published_figures_stand_beside_ours(runs):
    run = package.load(runs["bundled"])
    idle = run.references[(run.references["case"] == "idle") & (run.references["figure"] == "max_ns")].iloc[0]
    # Altera's page: 57 to 75 ns in an hour, which the model imposes.
    assert (idle["published"], idle["published_run_length_s"], bool(idle["imposed"])) == (75, 3600, True)
    assert idle["ours"] == run.cases.set_index("case").loc["idle", "max_ns"]
    assert len(run.sentinels) == 2 and run.distribution(run.sentinels["case"].iloc[0]).samples > 0


def test_repeats_that_do_not_count_are_left_out(copy):
    file = copy / "run.json"
    record = json.loads(file.read_text())
    case = record["cases"][0]
    left_out, kept = case["repeats"]
    left_out["not_counted"] = "the frequency changed"
    case.update(samples=kept["samples"], run_length_s=kept["run_length_s"], max_ns=kept["max_ns"], min_ns=kept["min_ns"])
    file.write_text(json.dumps(record))
    run = package.load(copy)
    assert run.distribution(case["name"]).samples == kept["samples"]
    assert run.distribution(case["name"], 1).samples == left_out["samples"]
    assert run.repeats["not_counted"].iloc[0] == "the frequency changed" and pd.isna(run.repeats["not_counted"].iloc[1])


def test_samples_beyond_the_histogram_leave_no_mean_and_no_quantile_among_them():
    ticks = package.Histogram(1, (1 << 36) - 1, 2)
    ticks.record(10, 900)
    seen = package.Distribution(ticks, tick_ns=2.0, overflow=100, min_ns=20.0, max_ns=9e12, run_length_s=1.0)
    assert seen.samples == 1000 and seen.mean_ns() is None
    # The 900th of 1000 is the last one in the histogram; the 990th is beyond it.
    assert (seen.quantile_ns(0.9), seen.quantile_ns(0.99)) == (20.0, None)
    assert list(zip(*seen.exceedance().values.T)) == [(20.0, 1.0), (9e12, 0.001)]
    # Ten samples are expected above the 99th percentile of 1000, and one above the 99.9th.
    whole = package.Distribution(ticks.merged([ticks]), 2.0, 0, 20.0, 20.0, 1.0)
    assert whole.quantile_ns(0.99) == 20.0 and whole.quantile_ns(0.999) is None
    with pytest.raises(ValueError, match="found the quantile 99"):
        whole.quantile_ns(99)


def test_every_figure_of_the_frames_is_in_the_schema():
    from waykeeper import frames

    known = json.loads(waykeeper("schema", "run"))["$defs"]
    derived = {"case", "neighbours", "verdict", "histogram"}
    assert set(frames.CASE_COLUMNS) - derived <= set(known["CaseRecord"]["properties"])
    assert set(frames.REPEAT_COLUMNS) - derived <= set(known["RepeatRecord"]["properties"])
    assert set(frames.REFERENCE_FIGURES) <= set(known["Reference"]["properties"])


def test_runs_of_the_program_are_of_the_schema_that_is_read(runs):
    assert package.load(runs["host"]).record["schema"] == package.SCHEMA


def test_a_sweep_named_as_a_column_keeps_both(copy):
    file = copy / "run.json"
    text = file.read_text().replace('"name": "cores",', '"name": "core",').replace('"cores": "2', '"core": "2')
    file.write_text(text)
    run = package.load(copy)
    assert list(run.sweeps) == ["core_point"] and list(run.cases["core"].unique()) == [1]
    assert list(run.cases["core_point"].dropna().unique()) == ["2", "2 3"]


def test_an_empty_frame_has_its_columns(runs):
    run = package.load(runs["host"])
    assert list(run.references.columns)[:4] == ["case", "figure", "published", "ours"] and run.references.empty
    assert isinstance(run.cases, pd.DataFrame) and run.sweeps == {}
