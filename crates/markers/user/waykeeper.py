"""Markers for Waykeeper, ABI 1: where a pass of your program begins and ends.

The same as waykeeper.h, in Python without packages: copy this file beside your program.

    import waykeeper

    while True:
        wait_for_the_next_period()
        with waykeeper.phase(0):
            control_step()

Run the program with `waykeeper run ... -- python3 program.py`. Without Waykeeper around it, the calls do nothing. Times are
those of CLOCK_MONOTONIC_RAW; a pair of markers takes some microseconds.

SPDX-License-Identifier: MIT OR Apache-2.0
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import struct
import threading
import time

PHASES = 64

_MAGIC = 0x31534B52414D4B57
_BEGIN = 0x80000000
_CLOCK_MONOTONIC_RAW = 2
_HEADER = struct.Struct("=QIIIIQ")
_ENTRY = struct.Struct("=QII")
_U32 = struct.Struct("=I")
_U64 = struct.Struct("=Q")
_NAMES_AT, _NAME_BYTES = 1024, 32

_state = threading.local()
_claims = threading.Lock()


def begin(phase=0):
    """A pass of a phase begins."""
    ring = _ring()
    if ring is not None:
        ring.put(phase | _BEGIN, None)


def end(phase=0):
    """The pass ends."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    ring = _ring()
    if ring is not None:
        ring.put(phase, now)


@contextlib.contextmanager
def phase(number=0):
    """A pass of a phase: the body of `with`."""
    begin(number)
    try:
        yield
    finally:
        end(number)


def name(number, text):
    """Names a phase, for reports and for `--phase NAME`: at most 31 bytes."""
    with _open_rings() as file:
        if file is None or not 0 <= number < PHASES:
            return
        with mmap.mmap(file.fileno(), 4096) as header:
            place = _NAMES_AT + number * _NAME_BYTES
            header[place : place + _NAME_BYTES] = text.encode()[: _NAME_BYTES - 1].ljust(_NAME_BYTES, b"\0")


def open_ring():
    """Maps a ring for the calling thread; the first marker of a thread does it otherwise. True where there is one."""
    return _ring() is not None


class _Ring:
    """The ring of one thread."""

    def __init__(self, slot, entries):
        self.slot, self.entries = slot, entries
        self.head = self.sequence = self.lost = 0
        self.lock = threading.Lock()
        _U64.pack_into(slot, 32, ctypes.addressof(ctypes.c_char.from_buffer(slot)))
        struct.pack_into("=IIII", slot, 16, os.getpid(), threading.get_native_id(), _CLOCK_MONOTONIC_RAW, 1)

    def put(self, mark, now):
        sequence, self.sequence = self.sequence, (self.sequence + 1) & 0xFFFFFFFF
        if self.head - _U64.unpack_from(self.slot, 64)[0] >= self.entries:
            self.lost += 1
            _U64.pack_into(self.slot, 8, self.lost)
            return
        if now is None:
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        _ENTRY.pack_into(self.slot, 4096 + 16 * (self.head % self.entries), now, mark, sequence)
        # Waykeeper must not see the new head before the entry: a lock that is released and taken again orders the two.
        with self.lock:
            pass
        with self.lock:
            pass
        self.head += 1
        _U64.pack_into(self.slot, 0, self.head)


def _ring():
    process, ring = getattr(_state, "ring", (None, None))
    if process != os.getpid():  # also in a child of fork()
        ring = _attach()
        _state.ring = (os.getpid(), ring)
    return ring


def _attach():
    with _open_rings() as file:
        if file is None:
            return None
        _, _, slots, entries, slot_bytes, first_slot = _HEADER.unpack(os.pread(file.fileno(), 32, 0))
        with mmap.mmap(file.fileno(), 4096) as header:
            number = _claim(header)
        if number >= slots:
            return None
        return _Ring(mmap.mmap(file.fileno(), slot_bytes, offset=first_slot + number * slot_bytes), entries)


def _claim(header):
    """Takes the next slot. Python has no atomic addition: processes that start at the same moment use a lock of the file."""
    with _claims, _open_rings() as file:
        fcntl.lockf(file.fileno(), fcntl.LOCK_EX)
        try:
            number = _U32.unpack_from(header, 64)[0]
            _U32.pack_into(header, 64, number + 1)
        finally:
            fcntl.lockf(file.fileno(), fcntl.LOCK_UN)
    return number


@contextlib.contextmanager
def _open_rings():
    """WAYKEEPER_MARKERS is FD:PATH: an inherited descriptor, and a path for programs that closed it."""
    number, _, path = os.environ.get("WAYKEEPER_MARKERS", "").partition(":")
    file = None
    if number.isdigit():
        file = _checked(lambda: os.dup(int(number))) or _checked(lambda: os.open(path, os.O_RDWR | os.O_CLOEXEC))
    try:
        yield file
    finally:
        if file is not None:
            file.close()


def _checked(opened):
    try:
        file = os.fdopen(opened(), "r+b", buffering=0)
    except OSError:
        return None
    try:
        magic, abi, slots, entries, slot_bytes, first_slot = _HEADER.unpack(os.pread(file.fileno(), 32, 0))
        if magic == _MAGIC and abi == 1 and entries and os.fstat(file.fileno()).st_size >= first_slot + slots * slot_bytes:
            return file
    except (OSError, struct.error):
        pass
    file.close()
    return None
