"""Reads the runs that Waykeeper leaves.

    import waykeeper

    run = waykeeper.load("waykeeper-runs/this-machine-20261121-201500")
    run.cases                       # pandas frame, one row a case
    run.distribution("latency_loop: none")   # the samples of a case
    waykeeper.plots.save(run, "pictures")

`waykeeper.markers` marks passes in a Python program, and needs neither pandas nor matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import markers, plots
    from .distribution import Distribution
    from .errors import DamagedRun, NewerSchema, NotARun, RunError, UnfinishedRun
    from .histogram import Histogram
    from .run import SCHEMA, Run, load

__all__ = [
    "SCHEMA",
    "DamagedRun",
    "Distribution",
    "Histogram",
    "NewerSchema",
    "NotARun",
    "Run",
    "RunError",
    "UnfinishedRun",
    "load",
    "markers",
    "plots",
]

# A program that marks its passes must not wait for pandas: each part is imported when it is asked for.
_PARTS = {
    "SCHEMA": "run",
    "DamagedRun": "errors",
    "Distribution": "distribution",
    "Histogram": "histogram",
    "NewerSchema": "errors",
    "NotARun": "errors",
    "Run": "run",
    "RunError": "errors",
    "UnfinishedRun": "errors",
    "load": "run",
}


def __getattr__(name: str) -> object:
    if name in ("markers", "plots"):
        return importlib.import_module(f".{name}", __name__)
    part = _PARTS.get(name)
    if part is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{part}", __name__), name)
