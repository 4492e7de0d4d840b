"""Values of run.json with the key that they have there, so that a message names what is wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, List, Mapping, NoReturn, Optional

from .errors import DamagedRun, NewerSchema, NotARun, UnfinishedRun

SCHEMA = 1
"""The newest version of run.json's schema that this package reads."""

RUN_FILE = "run.json"
REPEATS_FILE = "repeats.log"
_SHARD_FORMAT = 2
_WHOLE_COPY = "the file was changed or is damaged: a whole copy of the run would do"


@dataclass(frozen=True)
class Record:
    """An object of run.json."""

    file: Path
    key: str
    members: Mapping[str, Any]

    def fail(self, key: str, expected: str) -> NoReturn:
        """Raises DamagedRun for a member."""
        found = repr(self.members[key]) if key in self.members else "nothing"
        found = found if len(found) < 80 else found[:77] + "..."
        raise DamagedRun(f"{self.file}: `{self._path(key)}`: found {found}; expected {expected}: {_WHOLE_COPY}")

    def _path(self, key: str) -> str:
        return f"{self.key}.{key}" if self.key else key

    def text(self, key: str) -> str:
        """A text that must be there."""
        value = self.members.get(key)
        return value if isinstance(value, str) else self.fail(key, "a text")

    def maybe_text(self, key: str) -> Optional[str]:
        """A text that may be absent."""
        return None if self.members.get(key) is None else self.text(key)

    def number(self, key: str) -> float:
        """A quantity that must be there: none is negative."""
        value = self.members.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value:
            self.fail(key, "a number that is not negative")
        return float(value)

    def maybe_number(self, key: str) -> Optional[float]:
        """A quantity that may be absent."""
        return None if self.members.get(key) is None else self.number(key)

    def count(self, key: str) -> int:
        """A count that must be there."""
        value = self.members.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
            self.fail(key, "a whole number that is not negative")
        return int(value)

    def count_or_0(self, key: str) -> int:
        """A count that is absent where it is 0."""
        return 0 if self.members.get(key) is None else self.count(key)

    def flag(self, key: str) -> bool:
        """A truth value that is absent where it is false."""
        value = self.members.get(key, False)
        return value if isinstance(value, bool) else self.fail(key, "true or false")

    def maybe_flag(self, key: str) -> Optional[bool]:
        """A truth value that may be absent."""
        return None if self.members.get(key) is None else self.flag(key)

    def maybe_record(self, key: str) -> Optional[Record]:
        """An object that may be absent."""
        value = self.members.get(key)
        if value is None:
            return None
        return Record(self.file, self._path(key), value) if isinstance(value, dict) else self.fail(key, "an object")

    def record(self, key: str) -> Record:
        """An object that must be there."""
        found = self.maybe_record(key)
        return self.fail(key, "an object") if found is None else found

    def records(self, key: str, required: bool = False) -> Iterator[Record]:
        """The objects of a list that is absent where it is empty."""
        value = self.members.get(key, None if required else [])
        if not isinstance(value, list):
            self.fail(key, "a list")
        for at, item in enumerate(value):
            if not isinstance(item, dict):
                self.fail(key, "a list of objects")
            yield Record(self.file, f"{self._path(key)}[{at}]", item)

    def texts(self, key: str) -> List[str]:
        """The texts of a list that is absent where it is empty."""
        value = self.members.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail(key, "a list of texts")
        return list(value)


def read(path: Path) -> Record:
    """The record of a run from its folder, or from its run.json. Raises a RunError that says what was found there."""
    if path.is_dir():
        file = path / RUN_FILE
        if not file.exists():
            _refuse_folder(path)
    else:
        file = path
    return _checked(file, _parsed(file))


def _refuse_folder(folder: Path) -> NoReturn:
    log = folder / REPEATS_FILE
    if log.exists():
        if _format_of(log) == _SHARD_FORMAT:
            raise UnfinishedRun(
                f"{folder}: found a shard of a run; expected a whole run: `waykeeper merge` makes it of all its shards"
            )
        raise UnfinishedRun(
            f"{folder}: found {REPEATS_FILE} and no {RUN_FILE}: this run has not ended; expected one that has: wait for it, or "
            f"`waykeeper run --resume {folder}` measures what is missing; `waykeeper export` writes what is complete"
        )
    try:
        runs = sorted(below.parent.name for below in folder.glob(f"*/{RUN_FILE}"))
    except OSError:
        runs = []
    inside = f"found no {RUN_FILE} in it, but runs below it: {', '.join(runs[:5])}" if runs else f"found no {RUN_FILE} in it"
    more = f" and {len(runs) - 5} more" if len(runs) > 5 else ""
    expected = "expected one of them" if runs else "expected the folder that `waykeeper run` left"
    raise NotARun(f"{folder}: {inside}{more}; {expected}, or the {RUN_FILE} in it")


def _format_of(log: Path) -> Optional[int]:
    """The version of the format of a log of repeats, where its first line reads."""
    try:
        with log.open(encoding="utf-8") as lines:
            header = json.loads(lines.readline().partition(" ")[2])
    except (OSError, ValueError, RecursionError):
        return None
    found = header.get("format") if isinstance(header, dict) else None
    return found if isinstance(found, int) else None


def _parsed(file: Path) -> Mapping[str, Any]:
    expected = f"expected the folder that `waykeeper run` left, or the {RUN_FILE} in it"
    if not file.exists():
        raise NotARun(f"{file}: found nothing of this name; {expected}")
    # A pipe or a device would keep the reader waiting.
    if not file.is_file():
        raise NotARun(f"{file}: found neither a folder nor a regular file; {expected}")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotARun(f"{file}: {error}; {expected}") from error

    def refuse(constant: str) -> NoReturn:
        raise DamagedRun(f"{file}: found {constant}, which is not JSON: {_WHOLE_COPY}")

    try:
        value = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise DamagedRun(f"{file}:{error.lineno}: this is not JSON: {error.msg}; {_WHOLE_COPY}") from error
    except RecursionError:
        raise DamagedRun(f"{file}: this is nested too deep for a run: {_WHOLE_COPY}") from None
    if not isinstance(value, dict):
        raise NotARun(f"{file}: found JSON that is no object; {expected}")
    return value


def _checked(file: Path, members: Mapping[str, Any]) -> Record:
    version = members.get("schema")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        found = "no `schema`" if version is None else f"`schema` {version!r}"
        raise NotARun(f"{file}: found {found}; expected a whole number up to {SCHEMA}, as `waykeeper run` writes it in {RUN_FILE}")
    if version > SCHEMA:
        raise NewerSchema(
            f"{file}: found version {version} of the schema, written by a newer Waykeeper; this package reads up to version "
            f"{SCHEMA}: the package `waykeeper` of that version reads it"
        )
    return Record(file, "", members)
