"""HdrHistogram's interval logs, as a run's folder has them: a tagged histogram for each repeat, in ticks of the run's counter."""

from __future__ import annotations

from pathlib import Path
from typing import Dict

from .errors import DamagedRun
from .histogram import Histogram, decode

_WOULD_DO = (
    "expected a log in HdrHistogram's format, as `waykeeper run` left it: a whole copy of the run's folder would do, or a new run "
    "of the experiment.toml in it"
)


def read(path: Path) -> Dict[str, Histogram]:
    """The histograms of a log by their tags. Raises DamagedRun with the line that does not read."""
    # A pipe or a device would keep the reader waiting.
    if not path.is_file():
        found = "found no regular file of this name" if path.exists() else "found no such file"
        raise DamagedRun(f"{path}: {found}; {_WOULD_DO}")
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedRun(f"{path}: {error}; {_WOULD_DO}") from error
    found_so_far: Dict[str, Histogram] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        # Comments, and the legend that other writers put in.
        if not line or line.startswith(("#", '"')):
            continue
        try:
            tag, histogram = _entry(line)
        except ValueError as error:
            raise DamagedRun(f"{path}:{number}: found a line that does not read: {error}; {_WOULD_DO}") from error
        if tag in found_so_far:
            raise DamagedRun(f"{path}:{number}: found a second histogram {tag}; {_WOULD_DO}")
        found_so_far[tag] = histogram
    return found_so_far


def _entry(line: str) -> "tuple[str, Histogram]":
    tag, *fields = line.split(",")
    if not tag.startswith("Tag="):
        raise ValueError("a histogram has no tag")
    if len(fields) != 4:
        raise ValueError(f"an entry has {1 + len(fields)} fields, not tag, start, length, maximum and histogram")
    for field in fields[:3]:
        float(field)
    name = tag[len("Tag=") :]
    try:
        return name, decode(fields[3])
    except ValueError as error:
        raise ValueError(f"the histogram {name}: {error}") from error
