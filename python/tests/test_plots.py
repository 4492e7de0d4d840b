"""Pictures show the figures of the run, and no maximum without the time in which it was seen."""

import json

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot

import waykeeper
from waykeeper import plots
from waykeeper.units import format_ns, format_s


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_latency_has_every_sample(folder):
    run = waykeeper.load(folder)
    ax = plots.latency(run)
    drawn = [patch for patch in ax.patches]
    shown = run.cases.head(plots.MOST_LINES)
    assert [patch.get_data().values.sum() for patch in drawn] == list(shown["samples"] - shown["overflow"])
    assert ax.get_yscale() == "log"
    for patch, case in zip(drawn, shown.itertuples()):
        values, edges, _ = patch.get_data()
        last = np.nonzero(values)[0][-1]
        # The middle of the last bucket stands for it: within 1/128, and a tick.
        assert edges[last] <= case.max_ns * (1 + 1 / 128) + run.tick_ns and case.max_ns * (1 - 1 / 128) - run.tick_ns <= edges[last + 1]


def test_each_maximum_has_its_run_length(folder):
    run = waykeeper.load(folder)
    for draw in (plots.latency, plots.exceedance, plots.peaks):
        ax = draw(run)
        for text, case in zip(words(ax), run.cases.itertuples()):
            assert text == f"{case.case} (max {format_ns(case.max_ns)} in {format_s(case.run_length_s)})"
        largest = run.cases.head(plots.MOST_LINES).sort_values("max_ns").iloc[-1]
        title = ax.get_title(loc="left")
        assert f"largest sample {format_ns(largest['max_ns'])} " in title and f"seen in {format_s(largest['run_length_s'])}" in title


def test_exceedance_begins_at_all_samples_and_has_the_limits(runs):
    run = waykeeper.load(runs["sweep"])
    ax = plots.exceedance(run)
    steps = [line for line in ax.lines if line.get_drawstyle() == "steps-pre"]
    for line, case in zip(steps, run.cases.itertuples()):
        ns, share = line.get_data()
        assert (ns[0], share[0], ns[-1]) == (case.min_ns, 1.0, case.max_ns)
    # A slowdown is no length of a sample.
    assert {text.get_text(): text.xy[0] for text in ax.texts} == {"max<=1us": 1000.0, "p99<=200ns": 200.0}


def test_peaks_over_time(runs):
    run = waykeeper.load(runs["sweep"])
    lines = [line for line in plots.peaks(run).lines if line.get_marker() == "."]
    assert [line.get_ydata().max() for line in lines] == list(run.cases["max_ns"])
    assert all(len(line.get_xdata()) == 8 and line.get_xdata().max() < 0.004 for line in lines)
    with pytest.raises(ValueError, match="expected a longer run"):
        plots.peaks(run, clock=True)
    host = waykeeper.load(runs["host"])
    # Two repeats, each at its own time of day.
    first = plots.peaks(host, clock=True).lines[0].get_xdata()
    assert len(first) == 2 and first[0] < first[1]


def test_slowdown_against_the_sweep(runs):
    run = waykeeper.load(runs["sweep"])
    ax = plots.slowdown(run)
    assert words(ax) == ["none", "nl3a"] and [label.get_text() for label in ax.get_xticklabels()] == ["2", "2 3"]
    by_name = run.cases.set_index("case")["slowdown"]
    for mitigation, line in zip(words(ax), ax.lines):
        assert list(line.get_ydata()) == [by_name[f"{mitigation} [cores 2]"], by_name[f"{mitigation} [cores 2 3]"]]
    with pytest.raises(ValueError, match="found no sweep 'size'; this run has 'cores'"):
        plots.slowdown(run, sweep="size")
    with pytest.raises(ValueError, match="found no sweep of two points"):
        plots.slowdown(waykeeper.load(runs["bundled"]))


def test_cases_are_chosen_by_name(runs):
    run = waykeeper.load(runs["sweep"])
    assert len(words(plots.latency(run, cases=["idle"]))) == 1
    with pytest.raises(KeyError, match="found no case 'nobody'"):
        plots.latency(run, cases=["nobody"])


def test_saved_pictures(runs, tmp_path):
    names = {name: [file.name for file in plots.save(waykeeper.load(runs[name]), tmp_path / name)] for name in ("sweep", "host")}
    assert names == {
        "sweep": ["latency.png", "exceedance.png", "peaks.png", "slowdown.png"],
        "host": ["latency.png", "exceedance.png", "peaks.png"],
    }
    assert (tmp_path / "sweep/latency.png").read_bytes().startswith(b"\x89PNG")


def test_samples_of_no_tick_find_a_place_on_a_logarithmic_axis(copy):
    file = copy / "run.json"
    record = json.loads(file.read_text())
    log = (copy / "samples.hlog").read_text().splitlines()
    # An event of 0 ticks and one of 1000 in each repeat, as another program encodes them (see test_histogram.py).
    text = "HISTFAAAACZ4nJNpmSzMwMDAwQABTFCaBYj5/wOB/QeoxG9mJr5eHhYAo1AIPA=="
    (copy / "samples.hlog").write_text("\n".join(f"Tag=c{at:02}.r{n},0,0,0,{text}" for at in range(1, 7) for n in (1, 2)) + "\n" + log[0])
    for case in record["cases"]:
        case.update(samples=22, min_ns=0.0, max_ns=175000.0, mean_ns=100.0)
        for repeat in case["repeats"]:
            repeat.update(samples=11, min_ns=0.0, max_ns=175000.0)
    file.write_text(json.dumps(record))
    run = waykeeper.load(copy)
    ax = plots.latency(run)
    assert ax.get_xscale() == "log" and all(patch.get_data().values.sum() == 22 for patch in ax.patches)
    ns = plots.exceedance(run).lines[0].get_xdata()
    assert ns[0] == 1.25 and ns[-1] == 175000.0


@pytest.mark.parametrize(
    "ns, text",
    [(0, "0 ns"), (0.385, "0.385 ns"), (57.5, "57.5 ns"), (999.6, "1 us"), (8640, "8.64 us"), (300e6, "300 ms"), (90e9, "90 s")],
)
def test_times_have_three_digits(ns, text):
    assert format_ns(ns) == text


def test_long_runs_are_in_hours():
    assert (format_s(0.004), format_s(119), format_s(3600), format_s(86400 + 61)) == ("4 ms", "119 s", "1 h", "24 h 1 min 1 s")
