"""Why a run does not read. Each message has the path, what was found, and what would do."""

from __future__ import annotations


class RunError(ValueError):
    """A run that does not read."""


class NotARun(RunError):
    """The path is not the folder of a run, nor the run.json in one."""


class UnfinishedRun(RunError):
    """The run has not ended: its folder has a log of repeats in place of run.json."""


class NewerSchema(RunError):
    """A newer Waykeeper wrote the run."""


class DamagedRun(RunError):
    """A file of the run was changed, is missing, or is only a part of what was written."""
