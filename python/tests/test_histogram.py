"""The encoding of histograms, beside what another program wrote and what is worked out by hand."""

import base64
import struct
import zlib

import pytest

from waykeeper import Histogram
from waykeeper.histogram import decode

# Written by PyPI's hdrhistogram 0.10.8 (`record_value` of each value, then `encode`).
OF_ANOTHER_PROGRAM = [
    (
        (1, 3600000000, 3),
        [(1000, 5), (1001, 1), (2047, 2), (2048, 1), (123456789, 3)],
        "HISTFAAAACx4nJNpmSzMwMDAwwABzFCaEURcm7yEwf4DROA8PxfTSgEWps1/GdkAn74H8w==",
    ),
    (
        (4, (1 << 36) - 1, 2),
        [(0, 1), (1020, 1), (1024, 7), (70000, 2)],
        "HISTFAAAACZ4nJNpmSzMwMDAwQABTFCaBYj5/wOB/QeoxG9mJr5eHhYAo1AIPA==",
    ),
    ((1, (1 << 36) - 1, 2), [], "HISTFAAAABt4nJNpmSzMgABMUJoRiPn/A4H9B4gAAGSZBoQ="),
]


@pytest.mark.parametrize("bounds, values, text", OF_ANOTHER_PROGRAM)
def test_reads_what_another_program_wrote(bounds, values, text):
    expected = Histogram(*bounds)
    for value, count in values:
        expected.record(value, count)
    assert decode(text) == expected


def test_buckets_are_of_one_tick_below_256_and_double_from_there_on():
    histogram = Histogram(1, (1 << 36) - 1, 2)
    for value in (0, 255, 256, 257, 511, 512, 1000):
        histogram.record(value)
    lowest, highest, counts = histogram.buckets()
    # 256 to 511 in twos, 512 to 1023 in fours: 1000 = 4 x 250.
    assert list(zip(lowest, highest, counts)) == [
        (0, 0, 1),
        (255, 255, 1),
        (256, 257, 2),
        (510, 511, 1),
        (512, 515, 1),
        (1000, 1003, 1),
    ]
    assert list(histogram.middles()) == [0, 255, 257, 511, 514, 1002]
    assert [histogram.at_rank(rank) for rank in (1, 2, 3, 4, 5, 7, 8)] == [0, 255, 257, 257, 511, 1003, None]


def test_every_value_lies_in_its_bucket():
    histogram = Histogram(4, (1 << 40) - 1, 3)
    for value in [*range(0, 20000, 7), *(3**n for n in range(25))]:
        index = histogram.index_of(value)
        assert histogram.lowest_of(index) <= value < histogram.lowest_of(index + 1)


def test_merged_counts_add_up_and_other_buckets_are_refused():
    one, other = Histogram(1, 1000, 2), Histogram(1, 1000, 2)
    one.record(5, 2)
    other.record(5, 3)
    other.record(999)
    assert one.merged([other]).total == 6 and one.total == 2
    with pytest.raises(ValueError, match="different buckets"):
        one.merged([Histogram(1, 1000, 3)])
    with pytest.raises(ValueError, match="found the value 5000"):
        one.record(5000)


def encoded(counts, *, cookie=0x1C849303, length=None, offset=0, digits=2, lowest=1, highest=1000):
    length = len(counts) if length is None else length
    plain = struct.pack(">IIIIqqd", cookie, length, offset, digits, lowest, highest, 1.0) + counts
    packed = zlib.compress(plain)
    return base64.b64encode(struct.pack(">II", 0x1C849304, len(packed)) + packed).decode()


@pytest.mark.parametrize(
    "text, found",
    [
        ("HIST!", "not base64"),
        ("", "within its header"),
        (base64.b64encode(b"\0" * 60).decode(), "begins with 0x00000000"),
        (OF_ANOTHER_PROGRAM[0][2][:-8], "where its header says 44"),
        (base64.b64encode(struct.pack(">II", 0x1C849304, 4) + b"abcd").decode(), "does not decompress"),
        (encoded(b"", cookie=0x1C849301), "not with a V2 histogram"),
        (encoded(b"\x02", length=7), "1 bytes of counts where its header says 7"),
        (encoded(b"\x80"), "end within a number"),
        (encoded(b"\x02", offset=3), "shifted by 3"),
        (encoded(b"\x02", digits=9), "9 digits"),
        (encoded(b"\x02", lowest=0), "found bounds 0 to"),
        (encoded(b"\x02", highest=(1 << 63) - 1), "to 2^62"),
        # 2000 empty buckets, then a count: 1 to 1000 at two digits has (3 + 1) x 128.
        (encoded(b"\x9f\x1f\x02"), "beyond its 512 buckets"),
        (encoded(b"\xfe" + b"\xff" * 8 + b"\xfe" + b"\xff" * 8), "more than 2\\^62"),
    ],
)
def test_says_what_is_wrong_with_a_damaged_histogram(text, found):
    with pytest.raises(ValueError, match=found.replace("^62", "\\^62") if "\\" not in found else found):
        decode(text)
