"""A run: its record as frames, its samples as distributions."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Union

import pandas as pd

from . import frames, hlog
from .distribution import Distribution
from .errors import DamagedRun
from .histogram import Histogram
from .record import SCHEMA, Record, read
from .units import format_s

__all__ = ["SCHEMA", "Run", "load"]

_SAMPLES_FILE, _EVENTS_FILE = "samples.hlog", "excursions.hlog"


def load(run: Union[str, "os.PathLike[str]"]) -> Run:
    """Reads a run from its folder, or from its run.json.

    The histograms beside run.json are read when they are asked for, so that a run.json alone has all frames but those.

    Raises NotARun, UnfinishedRun, NewerSchema or DamagedRun: each is a RunError, and says what was found and what would do.
    """
    path = Path(run)
    return Run(path if path.is_dir() else path.parent, read(path))


class Run:
    """What an experiment left behind. Frames are made when they are asked for; run.json itself is `record`."""

    def __init__(self, folder: Path, record: Record) -> None:
        self._record = record
        self.folder = folder
        """The folder of the run."""
        self.record: Mapping[str, Any] = record.members
        """run.json as it was read."""
        self.experiment = record.text("experiment")
        """Name of the experiment."""
        self.title = record.text("title")
        """Title of the experiment."""
        self.platform = record.text("platform")
        """`host`, or the name of a platform file."""
        self.executor = record.text("executor")
        """What ran the cases: `host` or `sim`."""
        machine = record.maybe_record("machine")
        self.processor = machine.maybe_text("processor") if machine else None
        """The processor that it ran on; of a simulated run, that the simulator ran on."""
        self.started = record.text("started")
        """When it began, RFC 3339."""
        self.cut_short = record.flag("cut_short")
        """Whether it was interrupted."""
        self.tick_ns = record.record("clock").number("tick_ns")
        """Length of a tick of the counter, nanoseconds."""
        self.notes: List[str] = record.texts("notes")
        """What a reader of the figures must know."""
        # A damaged record is refused here, and not at the first figure that somebody asks for.
        self.cases
        self.repeats

    @cached_property
    def cases(self) -> pd.DataFrame:
        """Figures of all cases, a row each, all repeats that count merged; each sweep has a column of its own at the end."""
        return frames.cases(self._record)

    @cached_property
    def sentinels(self) -> pd.DataFrame:
        """The same of the sentinel's cases, which only witness whether neighbours have an effect."""
        return frames.cases(self._record, "sentinels")

    @cached_property
    def repeats(self) -> pd.DataFrame:
        """Figures of all repeats, also of those that do not count: `not_counted` says why."""
        return frames.repeats(self._record)

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """The largest sample of each interval of `largest_of_s` seconds, or of a whole repeat where it has no intervals."""
        return frames.timeline(self._record)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """What each mitigation did, compared with none."""
        return frames.verdicts(self._record)

    @cached_property
    def budgets(self) -> pd.DataFrame:
        """How each budget ended for each case that it covers."""
        return frames.budgets(self._record)

    @cached_property
    def expectations(self) -> pd.DataFrame:
        """Whether the run met each statement of its experiment."""
        return frames.expectations(self._record)

    @cached_property
    def references(self) -> pd.DataFrame:
        """Published figures beside those of the run."""
        return frames.references(self._record)

    @cached_property
    def neighbours(self) -> pd.DataFrame:
        """What ran beside each case, and how much it did."""
        return frames.neighbours(self._record)

    @cached_property
    def sweeps(self) -> Dict[str, List[str]]:
        """The points of each sweep in their order, by the name of its column in `cases`."""
        columns = frames.sweep_columns(self._record)
        return {columns[sweep.text("name")]: sweep.texts("points") for sweep in self._record.records("sweeps")}

    @cached_property
    def histograms(self) -> pd.DataFrame:
        """The samples of each repeat: how many lay from `from_ns` to `to_ns`, both included. Samples beyond the histogram are in
        `overflow` of `repeats`. Raises DamagedRun."""
        tables = []
        for case, number in zip(self.repeats["case"], self.repeats["repeat"]):
            counts = self.distribution(case, int(number)).counts()
            counts.insert(0, "case", case)
            counts.insert(1, "repeat", int(number))
            tables.append(counts)
        columns = ["case", "repeat", "from_ns", "to_ns", "samples"]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)

    def distribution(self, case: str, repeat: Optional[int] = None) -> Distribution:
        """The samples of a case, all repeats that count together, or of one repeat, counted from 1.

        Raises KeyError for a case or repeat that the run does not have, and DamagedRun.
        """
        found = self._case(case)
        chosen = self._repeats(found, repeat)
        whole = found if repeat is None else chosen[0]
        merged = self._merged(self._samples, _SAMPLES_FILE, chosen)
        self._check(whole, merged)
        return Distribution(
            ticks=merged,
            tick_ns=self.tick_ns,
            overflow=whole.count("overflow"),
            min_ns=whole.maybe_number("min_ns"),
            max_ns=whole.maybe_number("max_ns"),
            run_length_s=whole.number("run_length_s"),
        )

    def events(self, case: str, repeat: Optional[int] = None) -> Distribution:
        """The maxima of the excursion events of a case or a repeat, in the same way: what `waykeeper tail` extrapolates. Its
        extremes are known to their buckets only."""
        found = self._case(case)
        chosen = self._repeats(found, repeat)
        merged = self._merged(self._events, _EVENTS_FILE, chosen)
        whole = found if repeat is None else chosen[0]
        return Distribution(merged, self.tick_ns, 0, None, None, whole.number("run_length_s"))

    @cached_property
    def _by_name(self) -> Dict[str, Record]:
        return {case.text("name"): case for key in ("sentinels", "cases") for case in self._record.records(key)}

    def _case(self, name: str) -> Record:
        if name not in self._by_name:
            raise KeyError(f"found no case {name!r}; this run has {', '.join(map(repr, self._by_name))}")
        return self._by_name[name]

    def _repeats(self, case: Record, number: Optional[int]) -> List[Record]:
        repeats = list(frames.repeats_of(case))
        if number is None:
            return [repeat for repeat in repeats if repeat.maybe_text("not_counted") is None]
        chosen = [repeat for repeat in repeats if repeat.count("repeat") == number]
        if not chosen:
            raise KeyError(f"found no repeat {number}; the case {case.text('name')!r} has {len(repeats)}, counted from 1")
        return chosen

    def _merged(self, log: Mapping[str, Histogram], file: str, repeats: List[Record]) -> Histogram:
        found = []
        for repeat in repeats:
            tag = repeat.text("histogram")
            if tag not in log:
                raise DamagedRun(
                    f"{self.folder / file}: found no histogram {tag}, which run.json names; expected the run's folder as `waykeeper "
                    "run` left it: a whole copy of it would do"
                )
            found.append(log[tag])
        if not found:
            # No repeat counts: nothing was seen.
            return Histogram(1, 2, 2)
        try:
            return found[0].merged(found[1:])
        except ValueError as error:
            raise DamagedRun(f"{self.folder / file}: {error}: a whole copy of the run's folder would do") from error

    def _check(self, whole: Record, merged: Histogram) -> None:
        """Samples that run.json counts and the log lacks were lost."""
        expected = whole.count("samples") - whole.count("overflow")
        if merged.total != expected:
            raise DamagedRun(
                f"{self.folder / _SAMPLES_FILE}: found {merged.total} samples of `{whole.key}`, where run.json counts {expected} within "
                "the histogram; expected files of one run: a whole copy of its folder would do"
            )

    @cached_property
    def _samples(self) -> Dict[str, Histogram]:
        return hlog.read(self.folder / _SAMPLES_FILE)

    @cached_property
    def _events(self) -> Dict[str, Histogram]:
        return hlog.read(self.folder / _EVENTS_FILE)

    def __repr__(self) -> str:
        length = float(self.cases["run_length_s"].sum())
        return f"<Run of {self.experiment} on {self.platform}: {len(self.cases)} cases, {format_s(length)} of samples>"
