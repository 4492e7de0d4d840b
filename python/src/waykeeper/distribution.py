"""The samples of a case or a repeat by their length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

import numpy as np
import pandas as pd

from .histogram import Histogram
from .units import format_ns, format_s

# A percentile is stated only where so many samples are expected above it.
_EXPECTED_ABOVE = 10.0


@dataclass(frozen=True)
class Distribution:
    """Samples by length. What the histogram rounds is exact only to its bucket: within 1/128, and to a tick below 256 ticks."""

    ticks: Histogram
    """Samples within the histogram's range, in ticks of the run's counter."""
    tick_ns: float
    """Length of a tick, nanoseconds."""
    overflow: int
    """Samples beyond the histogram's range."""
    min_ns: Optional[float]
    """The smallest sample, exact. None without samples, and of events: of their maxima only the histogram is kept."""
    max_ns: Optional[float]
    """The largest sample, exact. It belongs to `run_length_s` and bounds nothing. None where `min_ns` is."""
    run_length_s: float
    """The time in which the samples were taken, seconds."""

    @property
    def samples(self) -> int:
        """How many samples there are, those beyond the histogram's range included."""
        return self.ticks.total + self.overflow

    def counts(self) -> pd.DataFrame:
        """How many `samples` lay from `from_ns` to `to_ns`, both included. Samples beyond the range are in `overflow`."""
        lowest, highest, counts = self.ticks.buckets()
        return pd.DataFrame({"from_ns": lowest * self.tick_ns, "to_ns": highest * self.tick_ns, "samples": counts})

    def mean_ns(self) -> Optional[float]:
        """The mean with each sample at the middle of its bucket; the exact one is `mean_ns` of the run's frames. None without
        samples, and where some lie beyond the histogram: their lengths are not known."""
        _, _, counts = self.ticks.buckets()
        if self.overflow or not len(counts):
            return None
        return float(np.dot(self.ticks.middles().astype(float), counts.astype(float)) / counts.sum() * self.tick_ns)

    def quantile_ns(self, quantile: float) -> Optional[float]:
        """The upper end of the bucket with that quantile, at most the largest sample. None where fewer than ten samples are
        expected above it, or where it lies beyond the histogram. Raises ValueError for a quantile that is not below 1."""
        if not 0 <= quantile < 1:
            raise ValueError(f"found the quantile {quantile}; expected 0 or more, and less than 1: 0.99 is the 99th percentile")
        # 1 - 0.9999 is a little off 0.0001, which must not cost a sample.
        needed = math.ceil(_EXPECTED_ABOVE / (1.0 - quantile) * (1.0 - 1e-9))
        if self.samples < needed:
            return None
        ticks = self.ticks.at_rank(max(math.ceil(quantile * self.samples), 1))
        if ticks is None:
            return None
        return ticks * self.tick_ns if self.max_ns is None else min(ticks * self.tick_ns, self.max_ns)

    def exceedance(self) -> pd.DataFrame:
        """The complementary distribution: at each length `ns` that was seen, the `share` of samples at least as long. The first
        and the last length are exact, the others the middles of their buckets."""
        _, _, counts = self.ticks.buckets()
        ns = self.ticks.middles() * self.tick_ns
        ns = np.clip(ns, self.min_ns, self.max_ns) if self.min_ns is not None and self.max_ns is not None else ns
        if len(ns) and self.min_ns is not None:
            ns[0] = self.min_ns
        if len(ns) and self.max_ns is not None and not self.overflow:
            ns[-1] = self.max_ns
        before = np.cumsum(counts) - counts
        share = (self.samples - before) / max(self.samples, 1)
        if self.overflow and self.max_ns is not None:
            # Of samples beyond the histogram only the largest is known.
            ns, share = np.append(ns, self.max_ns), np.append(share, 1 / self.samples)
        return pd.DataFrame({"ns": ns, "share": share})

    def __str__(self) -> str:
        if not self.samples:
            return f"no samples in {format_s(self.run_length_s)}"
        if self.max_ns is None:
            return f"{self.samples} maxima of events, seen in {format_s(self.run_length_s)}"
        return f"{self.samples} samples, the largest {format_ns(self.max_ns)}, seen in {format_s(self.run_length_s)}"
