"""Figures with their units, for people."""

from __future__ import annotations

import math

_TIMES = ((1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s"))


def format_ns(ns: float) -> str:
    """A time to three significant digits: `57.5 ns`, `8.64 us`, `3600 s`."""
    if not math.isfinite(ns):
        return str(ns)
    if ns == 0:
        return "0 ns"
    rounded = float(f"{ns:.3g}")
    scale, unit = max((time for time in _TIMES if rounded >= time[0]), default=_TIMES[0])
    value = float(f"{ns / scale:.3g}")
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:g} {unit}"


def format_s(seconds: float) -> str:
    """A run length to three significant digits; from two minutes on in hours, minutes and seconds."""
    if seconds < 120:
        return format_ns(seconds * 1e9)
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{amount} {unit}" for amount, unit in parts if amount)
