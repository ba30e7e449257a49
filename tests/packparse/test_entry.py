"""Entry headers: one spelling for a kind and a size, one for a distance, and their ends."""

from __future__ import annotations

import hashlib
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse import codes, entry
from packparse.errors import PackError
from packparse.objectformat import FORMATS, SHA1, SHA256
from tests.support import packs

U64 = (1 << 64) - 1
# Where the number of bytes changes: four bits in the first byte, then seven in each.
SIZE_STEPS = [0, *(1 << bits for bits in range(4, 64, 7)), U64 + 1]
DISTANCES = [0, 1, 127, 128, 16511, 16512, 2113663, 2113664, 1 << 32, (1 << 63) - 1]
PADS = (1, 2, 5)


def overlong(kind: int, continuations: int) -> bytes:
    """Return the size 3 with this many continuation bytes that say nothing."""
    return packs.varint_size(kind, 3, pad=continuations)


# --- sizes (PC1, PC2, case 14) ------------------------------------------------------------------


@pytest.mark.parametrize(
    "size", sorted({n + d for n in SIZE_STEPS for d in (-1, 0)} - {-1, U64 + 1})
)
@pytest.mark.parametrize("kind", range(8))
def test_every_kind_and_size_that_64_bits_hold_is_read_back(kind: int, size: int) -> None:
    written = packs.varint_size(kind, size)
    assert entry.read_header(b"?" + written + b"!", 1) == (kind, size, 1 + len(written), False)


@given(kind=st.integers(0, 7), size=st.integers(0, U64), pad=st.integers(0, 3))
@settings(derandomize=True, database=None, max_examples=200)
def test_any_size_is_read_back_and_padding_is_told(kind: int, size: int, pad: int) -> None:
    written = packs.varint_size(kind, size, pad=pad)
    if len(written) > 10:
        with pytest.raises(PackError):
            entry.read_header(written, 0)
    else:
        assert entry.read_header(written, 0) == (kind, size, len(written), pad > 0)


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("size", [0, 3, 15, 16, 300, 1 << 20])
def test_pc2_a_padded_size_keeps_its_value_and_is_flagged(size: int, pad: int) -> None:
    written = packs.varint_size(3, size, pad=pad)
    assert entry.read_header(written, 0) == (3, size, len(written), True)


def test_pc2_a_zero_byte_in_the_middle_of_a_size_is_no_padding() -> None:
    size = 1 << 11  # the four and the next seven bits are zero
    assert packs.varint_size(3, size) == b"\xb0\x80\x01"
    assert entry.read_header(b"\xb0\x80\x01", 0) == (3, size, 3, False)


OVERFLOWS = {
    "2 to the 64": packs.varint_size(3, U64 + 1),
    "2 to the 70": packs.varint_size(3, 1 << 70),
    "3 in eleven bytes": overlong(3, 10),
    "continuation without end": b"\xff" * 40,
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_pc1_a_size_past_64_bits_is_refused(name: str) -> None:
    with pytest.raises(PackError) as caught:
        entry.read_header(OVERFLOWS[name], 0)
    assert caught.value.code is codes.VARINT_OVERFLOW


NEIGHBOURS = {
    "2 to the 64 less one": (packs.varint_size(3, U64), U64, False),
    "3 in ten bytes": (overlong(3, 9), 3, True),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_pc1_the_widest_sizes_that_fit_are_accepted(name: str) -> None:
    written, size, padded = NEIGHBOURS[name]
    assert len(written) == 10
    assert entry.read_header(written, 0) == (3, size, 10, padded)


@pytest.mark.parametrize("written", [packs.varint_size(3, U64), overlong(2, 4), b"\x33"])
def test_a_size_that_is_cut_anywhere_asks_for_more(written: bytes) -> None:
    for cut in range(len(written)):
        with pytest.raises(IndexError):
            entry.read_header(written[:cut], 0)


def test_an_endless_size_is_refused_after_ten_bytes_and_not_read_on() -> None:
    # Nine continuations: not refused yet, the tenth byte could end it.
    with pytest.raises(IndexError):
        entry.read_header(b"\xb3" + b"\x80" * 8, 0)
    with pytest.raises(PackError):
        entry.read_header(b"\xb3" + b"\x80" * 9, 0)


# --- distances (PC1) ----------------------------------------------------------------------------


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_distance_is_read_back(distance: int) -> None:
    written = packs.ofs_varint(distance)
    assert entry.read_distance(b"?" + written + b"!", 1) == (distance, 1 + len(written))


@given(distance=st.integers(0, (1 << 63) - 1))
@settings(derandomize=True, database=None, max_examples=200)
def test_any_distance_of_63_bits_is_read_back(distance: int) -> None:
    written = packs.ofs_varint(distance)
    assert entry.read_distance(written, 0) == (distance, len(written))


@pytest.mark.parametrize(
    "written",
    [packs.ofs_varint(1 << 64), packs.ofs_varint(1 << 80), b"\xff" * 40],
    ids=["2 to the 64", "2 to the 80", "continuation without end"],
)
def test_pc1_a_distance_past_64_bits_is_refused(written: bytes) -> None:
    with pytest.raises(PackError) as caught:
        entry.read_distance(written, 0)
    assert caught.value.code is codes.VARINT_OVERFLOW


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_distance_that_is_cut_anywhere_asks_for_more(distance: int) -> None:
    written = packs.ofs_varint(distance)
    for cut in range(len(written)):
        with pytest.raises(IndexError):
            entry.read_distance(written[:cut], 0)


def test_no_two_spellings_of_a_distance_mean_the_same() -> None:
    spellings = [bytes([byte]) for byte in range(0x80)]
    spellings += [bytes([0x80 | high, low]) for high in range(0x80) for low in range(0x80)]
    values = [entry.read_distance(spelling, 0)[0] for spelling in spellings]
    assert values == list(range(len(spellings)))


def test_the_longest_header_has_room_for_every_header_that_is_accepted() -> None:
    widest = max(fmt.width for fmt in FORMATS.values())
    size = packs.varint_size(7, U64)
    assert len(size) + max(widest, len(packs.ofs_varint((1 << 63) - 1))) <= entry.LONGEST_HEADER


# --- what is hashed (PA8) -----------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", ["commit", "tree", "blob", "tag"])
@pytest.mark.parametrize("data", [b"", b"x", bytes(1234)], ids=["empty", "one byte", "1234 bytes"])
def test_the_id_of_an_object_is_the_hash_of_its_prefix_and_content(
    fmt: str, kind: str, data: bytes
) -> None:
    number = entry.KIND_NUMBERS[kind.encode()]
    prefix = entry.object_prefix(number, len(data))
    made = FORMATS[fmt].new(prefix + data).digest()
    assert made == hashlib.new(fmt, f"{kind} {len(data)}\0".encode() + data).digest()
    assert len(made) == FORMATS[fmt].width


def test_the_numbers_of_the_kinds_are_those_of_gitformat_pack() -> None:
    named = {name.decode(): number for name, number in entry.KIND_NUMBERS.items()}
    assert named == packs.KIND_NUMBERS
    assert entry.KIND_NAMES == packs.KIND_NAMES
    assert (entry.OFS_DELTA, entry.REF_DELTA) == (packs.OFS_DELTA, packs.REF_DELTA)


def test_pa8_the_two_object_formats_have_their_names_and_widths() -> None:
    assert {name: fmt.width for name, fmt in FORMATS.items()} == {"sha1": 20, "sha256": 32}
    assert FORMATS["sha1"] is SHA1
    assert FORMATS["sha256"] is SHA256
    assert [fmt.name for fmt in FORMATS.values()] == list(FORMATS)
    assert [repr(fmt) for fmt in FORMATS.values()] == ["ObjectFormat(sha1)", "ObjectFormat(sha256)"]


def test_the_smallest_entry_that_a_compressor_writes_takes_nine_bytes() -> None:
    # The bound behind implausibleObjectCount (PA4) stands on this.
    streams = [zlib.compress(b"", level) for level in range(10)]
    assert len(packs.varint_size(3, 0) + min(streams, key=len)) == 9
