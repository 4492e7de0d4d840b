"""The tables of a run as pandas frames. Columns have the names and units of run.json; what is absent is NaN, None or empty.

The columns of `cases`, `repeats`, `histograms` and `timeline` are those of `waykeeper export --format csv`, with some more at
the end.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Sequence, Tuple

import pandas as pd

from .record import Record

Row = Dict[str, Any]

CASE_FIGURES = (
    "min_ns",
    "mean_ns",
    "p50_ns",
    "p99_ns",
    "p99_9_ns",
    "p99_99_ns",
    "max_ns",
    "slowdown",
    "cost",
    "bandwidth_bytes_per_s",
    "total_bandwidth_bytes_per_s",
    "misses_per_sample",
)
CASE_COLUMNS = (
    "case",
    "target",
    "core",
    "mitigation",
    "neighbours",
    "samples",
    "run_length_s",
    *CASE_FIGURES,
    "overflow",
    "excursion_above_ns",
    "excursions",
    "excursion_events",
    "missed_periods",
    "verdict",
    "jitter_ns",
)
REPEAT_FIGURES = ("min_ns", "mean_ns", "max_ns", "max_at_s", "bandwidth_bytes_per_s", "misses_per_sample")
REPEAT_COLUMNS = (
    "case",
    "repeat",
    "started",
    "samples",
    "run_length_s",
    *REPEAT_FIGURES,
    "overflow",
    "excursions",
    "excursion_events",
    "missed_periods",
    "seed",
    "cut_short",
    "not_counted",
    "histogram",
)
# What a reference may have, each by the name of the case's own figure.
REFERENCE_FIGURES = (
    "min_ns",
    "mean_ns",
    "max_ns",
    "slowdown",
    "bandwidth_bytes_per_s",
    "total_bandwidth_bytes_per_s",
    "misses_per_sample",
)


def repeats_of(case: Record) -> Iterator[Record]:
    """The repeats of a case."""
    return case.records("repeats", required=True)


def neighbours_of(case: Record) -> str:
    """The neighbours of a case in one text: `stream_read@2,3 way_hammer@0`; empty for a case alone."""
    return " ".join(f"{one.text('workload')}@{_cores(one)}" for one in case.records("neighbours", required=True))


def _cores(neighbour: Record) -> str:
    cores = neighbour.members.get("cores")
    return ",".join(map(str, cores)) if isinstance(cores, list) else neighbour.fail("cores", "a list of cores")


def _points(case: Record) -> Dict[str, str]:
    point = case.maybe_record("point")
    return {} if point is None else {name: point.text(name) for name in point.members}


def sweep_columns(run: Record) -> Dict[str, str]:
    """The column of each sweep: its name, or with `_point` behind it where another column has that name."""
    taken = set(CASE_COLUMNS)
    columns: Dict[str, str] = {}
    for sweep in run.records("sweeps"):
        column = name = sweep.text("name")
        while column in taken:
            column += "_point"
        taken.add(column)
        columns[name] = column
    return columns


def cases(run: Record, key: str = "cases") -> pd.DataFrame:
    """Figures of all cases; of the sentinels with `sentinels` as key."""
    sweeps = sweep_columns(run)
    rows: List[Row] = []
    for case in run.records(key, required=key == "cases"):
        points = _points(case)
        rows.append({**_case_row(case), **{column: points.get(name) for name, column in sweeps.items()}})
    return _frame(rows, [*CASE_COLUMNS, *sweeps.values()], (*CASE_FIGURES, "excursion_above_ns", "jitter_ns"))


def _case_row(case: Record) -> Row:
    verdict = case.maybe_record("verdict")
    return {
        "case": case.text("name"),
        "target": case.text("target"),
        "core": case.count("core"),
        "mitigation": case.text("mitigation"),
        "neighbours": neighbours_of(case),
        "samples": case.count("samples"),
        "run_length_s": case.number("run_length_s"),
        **{figure: case.maybe_number(figure) for figure in CASE_FIGURES},
        "overflow": case.count("overflow"),
        "excursion_above_ns": case.maybe_number("excursion_above_ns"),
        "excursions": case.count("excursions"),
        "excursion_events": case.count("excursion_events"),
        "missed_periods": case.count_or_0("missed_periods"),
        "verdict": verdict.text("kind") if verdict else None,
        "jitter_ns": case.maybe_number("jitter_ns"),
    }


def repeats(run: Record) -> pd.DataFrame:
    """Figures of all repeats, also of those that do not count."""
    rows = [_repeat_row(case, repeat) for case in run.records("cases") for repeat in repeats_of(case)]
    return _frame(rows, REPEAT_COLUMNS, REPEAT_FIGURES)


def _repeat_row(case: Record, repeat: Record) -> Row:
    return {
        "case": case.text("name"),
        "repeat": repeat.count("repeat"),
        "started": repeat.maybe_text("started"),
        "samples": repeat.count("samples"),
        "run_length_s": repeat.number("run_length_s"),
        **{figure: repeat.maybe_number(figure) for figure in REPEAT_FIGURES},
        "overflow": repeat.count("overflow"),
        "excursions": repeat.count("excursions"),
        "excursion_events": repeat.count("excursion_events"),
        "missed_periods": repeat.count_or_0("missed_periods"),
        "seed": repeat.count("seed"),
        "cut_short": repeat.flag("cut_short"),
        "not_counted": repeat.maybe_text("not_counted"),
        "histogram": repeat.text("histogram"),
    }


def timeline(run: Record) -> pd.DataFrame:
    """The largest sample of each interval; of repeats without intervals, of the repeat. `at_s` is when it ended, from the start of
    its repeat; `observed_s` the same from the start of the case's first repeat, without the time between repeats; `started`
    when the repeat began."""
    rows: List[Row] = []
    interval = run.maybe_number("peak_interval_s")
    for case in run.records("cases"):
        before_s = 0.0
        for repeat in repeats_of(case):
            for at_s, max_ns, of_s in _peaks(repeat, interval):
                rows.append(
                    {
                        "case": case.text("name"),
                        "repeat": repeat.count("repeat"),
                        "at_s": at_s,
                        "max_ns": max_ns,
                        "largest_of_s": of_s,
                        "not_counted": repeat.maybe_text("not_counted"),
                        "observed_s": before_s + at_s,
                        "started": repeat.maybe_text("started"),
                    }
                )
            before_s += repeat.number("run_length_s")
    columns = ["case", "repeat", "at_s", "max_ns", "largest_of_s", "not_counted", "observed_s", "started"]
    return _frame(rows, columns, ("at_s", "max_ns", "largest_of_s", "observed_s"))


def _peaks(repeat: Record, interval: "float | None") -> List[Tuple[float, float, "float | None"]]:
    peaks = [(peak.number("at_s"), peak.number("max_ns"), interval) for peak in repeat.records("peaks")]
    at_s, max_ns = repeat.maybe_number("max_at_s"), repeat.maybe_number("max_ns")
    if peaks or at_s is None or max_ns is None:
        return peaks
    return [(at_s, max_ns, repeat.number("run_length_s"))]


def verdicts(run: Record) -> pd.DataFrame:
    """What each mitigation did, compared with none; cases without a verdict have no row."""
    rows: List[Row] = []
    for case in run.records("cases"):
        verdict = case.maybe_record("verdict")
        if verdict:
            rows.append(
                {
                    "case": case.text("name"),
                    "mitigation": case.text("mitigation"),
                    "kind": verdict.text("kind"),
                    "text": verdict.text("text"),
                    "run_length_s": case.number("run_length_s"),
                }
            )
    return _frame(rows, ["case", "mitigation", "kind", "text", "run_length_s"], ("run_length_s",))


def budgets(run: Record) -> pd.DataFrame:
    """How each budget ended for each case that it covers, with the case's largest sample and the time in which it was seen."""
    seen = {case.text("name"): case for case in run.records("cases")}
    rows: List[Row] = []
    for judged in run.records("budgets"):
        case = seen.get(judged.text("case"))
        rows.append(
            {
                "budget": judged.text("budget"),
                "case": judged.text("case"),
                "kind": judged.text("kind"),
                "text": judged.text("text"),
                "max_ns": case.maybe_number("max_ns") if case else None,
                "run_length_s": case.number("run_length_s") if case else None,
            }
        )
    return _frame(rows, ["budget", "case", "kind", "text", "max_ns", "run_length_s"], ("max_ns", "run_length_s"))


def expectations(run: Record) -> pd.DataFrame:
    """Whether the run met each statement of its experiment."""
    columns = ["says", "source", "statement", "metric", "kind", "text"]
    rows = [{column: record.maybe_text(column) for column in columns} for record in run.records("expectations")]
    return _frame(rows, columns, ())


def references(run: Record) -> pd.DataFrame:
    """Published figures beside those of the run, a row for each case and figure. A maximum belongs to its run length: that of the
    published one is `published_run_length_s` or `published_samples`. `imposed` figures agree by construction, and
    parameters of the model were fitted on `fitted` ones."""
    rows: List[Row] = []
    for case in run.records("cases"):
        reference = case.maybe_record("reference")
        if reference is None:
            continue
        imposed, fitted = reference.texts("imposed"), reference.texts("fitted")
        for figure in REFERENCE_FIGURES:
            published = reference.maybe_number(figure)
            if published is not None:
                rows.append(
                    {
                        "case": case.text("name"),
                        "figure": figure,
                        "published": published,
                        "ours": case.maybe_number(figure),
                        "imposed": figure in imposed,
                        "fitted": figure in fitted,
                        "published_run_length_s": reference.maybe_number("run_length_s"),
                        "published_samples": reference.maybe_number("run_samples"),
                        "run_length_s": case.number("run_length_s"),
                        "source": reference.text("source"),
                    }
                )
    columns = ["case", "figure", "published", "ours", "imposed", "fitted"]
    columns += ["published_run_length_s", "published_samples", "run_length_s", "source"]
    return _frame(rows, columns, ("published", "ours", "published_run_length_s", "published_samples", "run_length_s"))


def neighbours(run: Record) -> pd.DataFrame:
    """What ran beside each case, how much it did, and whether it had an effect (None where nobody judged that)."""
    rows: List[Row] = []
    for case in run.records("cases"):
        for one in case.records("neighbours", required=True):
            rows.append(
                {
                    "case": case.text("name"),
                    "workload": one.text("workload"),
                    "cores": _cores(one),
                    "accesses_per_s": one.maybe_number("accesses_per_s"),
                    "bytes_per_s": one.maybe_number("bytes_per_s"),
                    "effective": one.maybe_flag("effective"),
                    "effect": one.maybe_text("effect"),
                }
            )
    columns = ["case", "workload", "cores", "accesses_per_s", "bytes_per_s", "effective", "effect"]
    return _frame(rows, columns, ("accesses_per_s", "bytes_per_s"))


def _frame(rows: List[Row], columns: Sequence[str], figures: Sequence[str]) -> pd.DataFrame:
    """A frame whose figures are floats also where all are absent."""
    return pd.DataFrame(rows, columns=list(columns)).astype({figure: "float64" for figure in figures})
