"""Pictures of a run with matplotlib. None shows a maximum without the time in which it was seen.

Each function draws into the axes that it is given, or into new ones, and returns them. A ValueError says why there is nothing to draw.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .distribution import Distribution
from .run import Run
from .units import format_ns, format_s

MOST_LINES = 10
"""So many cases are drawn where none are named: more are a thicket."""

_SIZE = (11.5, 5.4)
# The colours of the report on a light ground.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#a3447c", "#b8860b", "#3a96c9", "#5b4b9a", "#7a5230", "#4d6a00", "#c2185b")
# A linear axis has so many steps; one of a logarithmic axis is so much of the length where it begins, or one tick.
_STEPS, _RATIO = 240, 1 / 24
# Where the longest sample is more than so many times the mean of the slowest case, a linear axis shows one column.
_LINEAR_UP_TO = 40.0
# Budgets on the length of samples: `[MITIGATION:]METRIC<=LIMIT...`.
_LIMIT = re.compile(r"(?:[^:]*:)?\s*(?:max|p50|p99|p99\.9|p99\.99)\s*<=\s*([0-9._]+)\s*(ns|us|µs|ms|s|min|m|h)\b")
_UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "m": 60e9, "h": 3600e9}


def latency(run: Run, cases: Optional[Sequence[str]] = None, ax: Optional[Axes] = None) -> Axes:
    """The latency plot: how many samples were how long, counts on a logarithmic axis, a line a case."""
    shown = _distributions(run, cases)
    ends = [(one.ticks.middles() * run.tick_ns)[[0, -1]] for one in shown.values()]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    means = _rows(run, list(shown))["mean_ns"]
    is_log = most > _LINEAR_UP_TO * float(means.max()) if means.notna().any() else False
    edges = _edges(least, most, run.tick_ns, is_log)
    ax = ax or _new_axes()
    for at, (case, one) in enumerate(shown.items()):
        _, _, counts = one.ticks.buckets()
        # The middle of a bucket stands for it, as in the report; the last one may lie beyond the largest sample.
        values, _ = np.histogram(np.clip(one.ticks.middles() * run.tick_ns, least, most), bins=edges, weights=counts)
        beyond = f", {one.overflow} beyond the histogram" if one.overflow else ""
        ax.stairs(values, edges, color=_colour(at), linewidth=1.2, label=_label(case, one) + beyond)
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.5, top=max(ax.get_ylim()[1], 20))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:g}"))
    _axis_of_ns(ax, "x", "length of a sample", is_log)
    ax.set_ylabel("samples")
    return _finished(ax, run, "Samples by length", list(shown))


def exceedance(run: Run, cases: Optional[Sequence[str]] = None, ax: Optional[Axes] = None) -> Axes:
    """The complementary distribution: the share of samples of at least some length, with the limits of budgets on it."""
    shown = _distributions(run, cases)
    ax = ax or _new_axes()
    for at, (case, one) in enumerate(shown.items()):
        points = one.exceedance()
        # A share holds up to its length, and falls behind it. A logarithmic axis has no place for 0: half a tick stands for it.
        ns = np.maximum(points["ns"].to_numpy(), run.tick_ns / 2)
        ax.step(ns, points["share"], where="pre", color=_colour(at), linewidth=1.2, label=_label(case, one))
        ax.plot(ns[-1:], points["share"].iloc[-1:], marker="o", markersize=3, color=_colour(at))
    for budget, limit_ns in _limits(run, list(shown)):
        ax.axvline(limit_ns, color="black", linestyle="--", linewidth=0.8)
        ax.annotate(budget, (limit_ns, 0.98), xycoords=("data", "axes fraction"), rotation=90, fontsize=7, va="top", ha="right")
    ax.set_yscale("log")
    _axis_of_ns(ax, "x", "length of a sample", True)
    ax.set_ylabel("share of samples at least as long")
    return _finished(ax, run, "Complementary distribution", list(shown))


def peaks(run: Run, cases: Optional[Sequence[str]] = None, ax: Optional[Axes] = None, clock: bool = False) -> Axes:
    """The largest sample of each interval (or repeat) over the time for which a case was observed, repeats one after the other;
    with `clock` over the time of day, which only runs on machines have. Crosses are of repeats that do not count."""
    timeline = run.timeline
    if clock:
        timeline = timeline[timeline["started"].notna()]
    named = _chosen(run, cases, [case for case, count in timeline["case"].value_counts(sort=False).items() if count > 1])
    if not named:
        raise ValueError(f"found no case with two intervals or repeats in {run!r}; expected a longer run, or a shorter `peak_interval`")
    ax = ax or _new_axes()
    for at, case in enumerate(named):
        own = timeline[timeline["case"] == case]
        times = own["observed_s"]
        if clock:
            times = pd.to_datetime(own["started"], utc=True) + pd.to_timedelta(own["at_s"], unit="s")
        counts = own["not_counted"].isna()
        label = _label(case, _seen(run, case))
        ax.plot(times[counts], own["max_ns"][counts], marker=".", linewidth=0.8, color=_colour(at), label=label)
        ax.plot(times[~counts], own["max_ns"][~counts], marker="x", linestyle="", color=_colour(at))
    is_log = timeline["max_ns"].max() > 20 * max(timeline["max_ns"].median(), run.tick_ns)
    _axis_of_ns(ax, "y", f"largest sample of {_intervals(timeline[timeline['case'].isin(named)])}", is_log)
    if clock:
        ax.set_xlabel("time of day, UTC")
        ax.tick_params(axis="x", rotation=30)
    else:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_s(value) if value >= 0 else ""))
        ax.set_xlabel("time observed, repeats one after the other")
    return _finished(ax, run, "Largest samples over time", named)


def slowdown(run: Run, sweep: Optional[str] = None, ax: Optional[Axes] = None) -> Axes:
    """The slowdown by the neighbours against the points of a sweep, a line for everything else that varies; the last sweep with
    two points unless one is named."""
    along = sweep or next((name for name, points in reversed(run.sweeps.items()) if len(points) > 1), None)
    if along is None:
        raise ValueError(f"found no sweep of two points in {run!r}; expected a run of an experiment with a sweep")
    if along not in run.sweeps:
        raise ValueError(f"found no sweep {along!r}; this run has {', '.join(map(repr, run.sweeps)) or 'none'}")
    loaded = run.cases[run.cases["slowdown"].notna()]
    if loaded.empty:
        raise ValueError(f"found no slowdown in {run!r}; expected cases with and without neighbours")
    points = run.sweeps[along]
    others = [name for name in run.sweeps if name != along]
    ax = ax or _new_axes()
    keys = ["target", "mitigation", *([] if _varies_along(loaded, along) else ["neighbours"]), *others]
    for at, (group, own) in enumerate(loaded.groupby(keys, sort=False, dropna=False)):
        by_point = own.drop_duplicates(along).set_index(along)["slowdown"]
        # A case that is the same at all points of the sweep stands at each of them.
        same = own.loc[own[along].isna(), "slowdown"]
        values = [by_point.get(point, same.iloc[0] if len(same) else math.nan) for point in points]
        telling = [part for part, key in zip(group, keys) if loaded[key].nunique(dropna=False) > 1]
        label = ", ".join(part for part in telling if isinstance(part, str))
        ax.plot(range(len(points)), values, marker="o", linewidth=1, color=_colour(at), label=label or str(group[0]))
    ax.axhline(1, color="black", linewidth=0.6)
    ax.set_xticks(range(len(points)))
    ax.set_xticklabels(points, rotation=45 if len(points) > 8 else 0)
    ax.set_xlabel(along)
    ax.set_ylabel("slowdown: mean beside neighbours over mean alone")
    return _finished(ax, run, "Slowdown by the neighbours", list(loaded["case"]))


def save(run: Run, folder: Union[str, "os.PathLike[str]"]) -> List[Path]:
    """Writes `latency.png`, `exceedance.png`, `peaks.png` and `slowdown.png`, each where the run has its data; returns their paths.
    Needs no display. Raises DamagedRun for logs that do not read."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    drawers: Dict[str, Callable[..., Axes]] = {"latency": latency, "exceedance": exceedance, "peaks": peaks, "slowdown": slowdown}
    for name, draw in drawers.items():
        if not _has_data(run, name):
            continue
        figure = _new_figure()
        FigureCanvasAgg(figure)
        draw(run, ax=figure.add_subplot())
        file = place / f"{name}.png"
        figure.savefig(file, dpi=120)
        written.append(file)
    return written


def _has_data(run: Run, name: str) -> bool:
    if name == "slowdown":
        return bool(run.cases["slowdown"].notna().any()) and any(len(points) > 1 for points in run.sweeps.values())
    if name == "peaks":
        return bool((run.timeline["case"].value_counts() > 1).any())
    return bool((run.cases["samples"] > run.cases["overflow"]).any())


def _new_figure() -> Figure:
    return Figure(figsize=_SIZE, constrained_layout=True)


def _new_axes() -> Axes:
    """Axes that a notebook shows."""
    from matplotlib import pyplot

    return pyplot.figure(figsize=_SIZE, constrained_layout=True).add_subplot()


def _colour(at: int) -> str:
    return _COLOURS[at % len(_COLOURS)]


def _chosen(run: Run, cases: Optional[Sequence[str]], possible: Sequence[Any]) -> List[str]:
    """The named cases, or the first that are possible. Raises KeyError for a name that the run does not have."""
    if cases is None:
        return list(possible)[:MOST_LINES]
    known = set(run.cases["case"])
    for case in cases:
        if case not in known:
            raise KeyError(f"found no case {case!r}; this run has {', '.join(map(repr, run.cases['case']))}")
    return [case for case in cases if case in set(possible)]


def _distributions(run: Run, cases: Optional[Sequence[str]]) -> Dict[str, Distribution]:
    inside = run.cases["samples"] > run.cases["overflow"]
    named = _chosen(run, cases, list(run.cases["case"][inside]))
    if not named:
        raise ValueError(f"found no samples within the histogram in {run!r}; expected a case with some")
    return {case: run.distribution(case) for case in named}


def _rows(run: Run, cases: Sequence[str]) -> pd.DataFrame:
    return run.cases[run.cases["case"].isin(list(cases))]


def _seen(run: Run, case: str) -> "tuple[Optional[float], float]":
    row = _rows(run, [case]).iloc[0]
    return (None if pd.isna(row["max_ns"]) else float(row["max_ns"])), float(row["run_length_s"])


def _label(case: str, seen: Union[Distribution, "tuple[Optional[float], float]"]) -> str:
    """A case as a legend names it: with its maximum and the time in which that was seen."""
    largest, length = (seen.max_ns, seen.run_length_s) if isinstance(seen, Distribution) else seen
    return f"{case} (max {format_ns(largest)} in {format_s(length)})" if largest is not None else f"{case} ({format_s(length)})"


def _limits(run: Run, cases: Sequence[str]) -> List[Tuple[str, float]]:
    """The budgets of these cases that limit the length of samples; a mean or a ratio is no place on that axis."""
    found: Dict[str, float] = {}
    for budget in run.budgets[run.budgets["case"].isin(list(cases))]["budget"].unique():
        limit = _LIMIT.match(budget)
        if limit:
            found[budget] = float(limit[1].replace("_", "")) * _UNITS_NS[limit[2]]
    return list(found.items())


def _edges(least: float, most: float, tick_ns: float, is_log: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The edges of steps, half a tick below whole ticks: steps of less than a tick would be empty every now and then."""
    at = (round(least / tick_ns) - 0.5) * tick_ns
    step = max(math.ceil((most - least) / tick_ns / _STEPS), 1) * tick_ns
    # A logarithmic axis has no place for 0.
    edges = [max(at, tick_ns / 4)]
    while at <= most:
        at += max(math.floor(at * _RATIO / tick_ns), 1) * tick_ns if is_log else step
        edges.append(at)
    # A sample of 0 ticks lies in the first step.
    edges[0] = min(edges[0], least) if not is_log else edges[0]
    return np.array(edges)


def _varies_along(loaded: pd.DataFrame, along: str) -> bool:
    """Whether the neighbours are what the sweep varies, so that they cannot tell lines apart."""
    return bool(loaded.groupby(along)["neighbours"].nunique().max() == 1 and loaded["neighbours"].nunique() > 1)


def _intervals(timeline: pd.DataFrame) -> str:
    lengths = timeline["largest_of_s"].dropna()
    if lengths.empty:
        return "an interval"
    low, high = float(lengths.min()), float(lengths.max())
    texts = [format_s(low), format_s(high)]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"


def _axis_of_ns(ax: Axes, which: str, name: str, is_log: bool) -> None:
    axis = ax.xaxis if which == "x" else ax.yaxis
    if is_log:
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
        # Between the powers of ten only where there are few of them.
        low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
        few = high / max(low, 1e-9) < 50
        axis.set_minor_formatter(FuncFormatter(lambda ns, _: format_ns(ns) if few and f"{ns:.0e}"[0] in "25" else ""))
    axis.set_major_formatter(FuncFormatter(lambda ns, _: format_ns(ns) if ns >= 0 else ""))
    axis.set_label_text(name)


def _finished(ax: Axes, run: Run, title: str, cases: Sequence[str]) -> Axes:
    """Title with what was run where, and the largest sample of the cases with the time in which it was seen."""
    rows = _rows(run, cases)
    where = f"simulated {run.platform}" if run.executor == "sim" else run.processor or run.platform
    lines = [f"{title}: {run.experiment} on {where}"]
    largest = rows.sort_values("max_ns", na_position="first").iloc[-1] if rows["max_ns"].notna().any() else None
    if largest is not None:
        length = format_s(float(largest["run_length_s"]))
        lines.append(f"largest sample {format_ns(float(largest['max_ns']))} ({largest['case']}), seen in {length}; a maximum bounds nothing")
    left_out = len(run.cases) - len(set(cases))
    if run.cut_short:
        lines.append("the run was cut short")
    if left_out > 0 and len(set(cases)) == MOST_LINES:
        lines.append(f"the first {MOST_LINES} of {len(run.cases)} cases")
    ax.set_title(lines[0] + "\n" + "; ".join(lines[1:]), fontsize=9, loc="left")
    ax.grid(True, which="major", linewidth=0.3)
    # Beside the axes, where it covers no sample.
    ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax
