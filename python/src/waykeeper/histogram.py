"""Histograms as HdrHistogram encodes them (V2, compressed): counts of whole numbers, in buckets of known relative width.

The format is that of the Java implementation's `encodeIntoCompressedByteBuffer`
(https://github.com/HdrHistogram/HdrHistogram): two big-endian headers, and counts as ZigZag LEB128 numbers, in which a negative
one stands for so many empty buckets.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from typing import TYPE_CHECKING, Iterable, Optional, Tuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Whole = npt.NDArray[np.int64]

_COMPRESSED = struct.Struct(">II")
_COMPRESSED_COOKIE = 0x1C849304
_HEADER = struct.Struct(">IIIIqqd")
_COOKIE = 0x1C849303
# The second nibble of a cookie is the size of a word, which V2 does not use.
_WITHOUT_WORD = 0xFFFFFF0F
# Values and counts up to it, and the next power of two, fit signed words of 64 bits.
_MOST = 1 << 62
# A number of LEB128 ends after so many bytes; the last one has eight bits.
_LONGEST_NUMBER = 9


class Histogram:
    """Counts of whole numbers. A bucket holds the values from `lowest` to `highest`, both included."""

    def __init__(self, lowest_value: int, highest_value: int, digits: int) -> None:
        """An empty one for values from `lowest_value` to `highest_value`, kept to so many significant decimal digits.

        Raises ValueError for bounds that HdrHistogram does not allow.
        """
        if not 0 <= digits <= 5 or lowest_value < 1 or not 2 * lowest_value <= highest_value <= _MOST:
            raise ValueError(
                f"found bounds {lowest_value} to {highest_value} at {digits} digits; expected 0 to 5 digits, a lower bound of 1 "
                "or more, and an upper one from twice that to 2^62"
            )
        self.lowest_value, self.highest_value, self.digits = lowest_value, highest_value, digits
        self._unit: int = lowest_value.bit_length() - 1
        # Twice as many steps as the digits tell apart, rounded up to a power of two; this is the exponent of half of them.
        self._half: int = max((2 * int(10**digits) - 1).bit_length(), 1) - 1
        if self._unit + self._half > 60:
            raise ValueError(f"found a lower bound of {lowest_value}, which leaves no room for {digits} digits")
        self._counts: dict[int, int] = {}

    @property
    def _buckets(self) -> int:
        """How many buckets it has, empty ones included."""
        doublings, beyond = 1, (2 << self._half) << self._unit
        while beyond <= self.highest_value:
            doublings, beyond = doublings + 1, beyond << 1
        return (doublings + 1) << self._half

    def index_of(self, value: int) -> int:
        """The number of the bucket that holds a value."""
        scaled = value >> self._unit
        doubling = max(scaled.bit_length() - 1 - self._half, 0)
        return (doubling << self._half) + (scaled >> doubling)

    def _shift(self, index: int) -> int:
        return max((index >> self._half) - 1, 0) + self._unit

    def lowest_of(self, index: int) -> int:
        """The lowest value in a bucket."""
        within = index & ((1 << self._half) - 1)
        upper = 1 << self._half if index >> self._half else 0
        return (within + upper) << self._shift(index)

    def record(self, value: int, count: int = 1) -> None:
        """Counts a value. Raises ValueError for one that is out of range."""
        if value < 0 or self.index_of(value) >= self._buckets:
            raise ValueError(f"found the value {value}; expected 0 to {self.highest_value}")
        self._add(self.index_of(value), count)

    def _add(self, index: int, count: int) -> None:
        if count > 0:
            self._counts[index] = self._counts.get(index, 0) + count

    def merged(self, others: Iterable[Histogram]) -> Histogram:
        """This one and others together. Raises ValueError where one has other bounds or digits."""
        all_together = Histogram(self.lowest_value, self.highest_value, self.digits)
        for one in (self, *others):
            if (one.lowest_value, one.highest_value, one.digits) != (self.lowest_value, self.highest_value, self.digits):
                raise ValueError("found histograms with different buckets; expected those of one run")
            for index, count in one._counts.items():
                all_together._add(index, count)
        return all_together

    def buckets(self) -> Tuple[Whole, Whole, Whole]:
        """The buckets with counts, in rising order: lowest values, highest values, counts."""
        indices = sorted(self._counts)
        lowest = [self.lowest_of(index) for index in indices]
        highest = [low + (1 << self._shift(index)) - 1 for low, index in zip(lowest, indices)]
        counts = [self._counts[index] for index in indices]
        return np.array(lowest, np.int64), np.array(highest, np.int64), np.array(counts, np.int64)

    def middles(self) -> Whole:
        """The value that stands for each bucket with counts: its middle, rounded up."""
        lowest, highest, _ = self.buckets()
        middles: Whole = lowest + (highest - lowest + 1) // 2
        return middles

    @property
    def total(self) -> int:
        """How many values were counted."""
        return sum(self._counts.values())

    def at_rank(self, rank: int) -> Optional[int]:
        """The highest value of the bucket with the value of that rank, counted from 1 at the smallest; None beyond the last one."""
        seen = 0
        for index in sorted(self._counts):
            seen += self._counts[index]
            if seen >= rank:
                return self.lowest_of(index) + (1 << self._shift(index)) - 1
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return (self.lowest_value, self.highest_value, self.digits, self._counts) == (
            other.lowest_value,
            other.highest_value,
            other.digits,
            other._counts,
        )

    def __repr__(self) -> str:
        return f"<Histogram of {self.total} values in {len(self._counts)} buckets>"


def decode(text: str) -> Histogram:
    """Reads a compressed V2 histogram in base64. Raises ValueError with what was found."""
    try:
        packed = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is not base64 ({error})") from None
    if len(packed) < _COMPRESSED.size:
        raise ValueError(f"it ends after {len(packed)} bytes, within its header")
    cookie, length = _COMPRESSED.unpack_from(packed)
    if cookie & _WITHOUT_WORD != _COMPRESSED_COOKIE:
        raise ValueError(f"it begins with {cookie:#010x}, not with a compressed V2 histogram's {_COMPRESSED_COOKIE:#010x}")
    if len(packed) - _COMPRESSED.size != length:
        raise ValueError(f"it has {len(packed) - _COMPRESSED.size} compressed bytes where its header says {length}")
    return _decode_plain(_inflated(packed[_COMPRESSED.size :]))


def _inflated(packed: bytes) -> bytes:
    inflate = zlib.decompressobj()
    # All buckets of the widest histogram at the finest resolution take fewer bytes.
    most = 64 << 20
    try:
        plain = inflate.decompress(packed, most)
    except zlib.error as error:
        raise ValueError(f"it does not decompress ({error})") from None
    if not inflate.eof:
        raise ValueError("its compressed data has no end")
    return plain


def _decode_plain(plain: bytes) -> Histogram:
    if len(plain) < _HEADER.size:
        raise ValueError(f"its decompressed data ends after {len(plain)} bytes, within its header")
    cookie, length, offset, digits, lowest, highest, _ = _HEADER.unpack_from(plain)
    if cookie & _WITHOUT_WORD != _COOKIE:
        raise ValueError(f"its decompressed data begins with {cookie:#010x}, not with a V2 histogram's {_COOKIE:#010x}")
    if offset != 0:
        raise ValueError(f"its buckets are shifted by {offset}, which is unsupported")
    counts = plain[_HEADER.size :]
    if len(counts) != length:
        raise ValueError(f"it has {len(counts)} bytes of counts where its header says {length}")
    histogram = Histogram(lowest, highest, digits)
    buckets, index, at = histogram._buckets, 0, 0
    while at < len(counts):
        number, at = _number(counts, at)
        if number < 0:
            index -= number
        else:
            if index >= buckets:
                raise ValueError(f"it has counts beyond its {buckets} buckets")
            histogram._add(index, number)
            index += 1
    if index > buckets:
        raise ValueError(f"it has counts beyond its {buckets} buckets")
    if histogram.total > _MOST:
        raise ValueError(f"it counts {histogram.total} values, more than 2^62")
    return histogram


def _number(data: bytes, at: int) -> Tuple[int, int]:
    """The number in ZigZag LEB128 at a place, and the place after it."""
    value = 0
    for nth in range(_LONGEST_NUMBER):
        if at + nth >= len(data):
            raise ValueError("its counts end within a number")
        byte = data[at + nth]
        is_last_possible = nth == _LONGEST_NUMBER - 1
        value |= (byte if is_last_possible else byte & 0x7F) << (7 * nth)
        if is_last_possible or not byte & 0x80:
            break
    return (value >> 1) ^ -(value & 1), at + nth + 1
