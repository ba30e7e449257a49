"""Frames: a torn end is found at any byte, and damage before it is never taken for one."""

from __future__ import annotations

import struct

import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from importer.frames import LARGEST, DamagedError, frame, frames

HEAD = 12
PAYLOADS = [b'{"state":"launched"}', b"x", b'{"state":"verified","at":1}']


def journal(*payloads: bytes) -> bytes:
    data = b""
    for payload in payloads:
        data += frame(payload, len(data))
    return data


DATA = journal(*PAYLOADS)
# Where each of the frames begins, and the end.
STARTS = [len(journal(*PAYLOADS[:count])) for count in range(len(PAYLOADS) + 1)]
LAST = range(STARTS[-2], STARTS[-1])


def slow(data: bytes) -> tuple[list[bytes], int] | None:
    """What has to come out, found by trying; None for damage.

    The journal is the longest run of whole frames. What follows is a torn frame, of which any part
    may be missing, if no whole frame is in it.
    """
    found, at = [], 0
    while (payload := _whole(data, at)) is not None:
        found.append(payload)
        at += HEAD + len(payload)
    behind = any(_whole(data, place) is not None for place in range(at + 1, len(data)))
    return None if behind else (found, at)


def _whole(data: bytes, at: int) -> bytes | None:
    if at + HEAD > len(data):
        return None
    length, checksum = struct.unpack(">IQ", data[at : at + HEAD])
    payload = data[at + HEAD : at + HEAD + length]
    right = xxhash.xxh64(payload, seed=at).intdigest() == checksum
    return payload if right and 0 < len(payload) == length else None


def quick(data: bytes) -> tuple[list[bytes], int] | None:
    try:
        return frames(data)
    except DamagedError:
        return None


# --- what is written is read ---------------------------------------------------------------------


def test_a_journal_without_frames_is_empty() -> None:
    assert frames(b"") == ([], 0)


def test_a_frame_is_its_length_its_checksum_and_its_payload() -> None:
    payload = b"payload"
    checksum = xxhash.xxh64(payload, seed=300).intdigest()
    assert frame(payload, 300) == struct.pack(">IQ", 7, checksum) + payload


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=6))
@example([b"\0" * 40, b"\0"])
def test_what_is_written_is_read(payloads: list[bytes]) -> None:
    data = journal(*payloads)
    assert frames(data) == (payloads, len(data)) == slow(data)


def test_the_largest_payload_is_read() -> None:
    payload = b"x" * LARGEST
    assert frames(journal(payload)) == ([payload], HEAD + LARGEST)


# --- torn ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", LAST)
def test_a_frame_that_was_cut_is_torn_and_the_next_one_takes_its_place(end: int) -> None:
    payloads, at = frames(DATA[:end])
    assert (payloads, at) == (PAYLOADS[:-1], STARTS[-2])
    mended = DATA[:at] + frame(b"next", at)
    assert frames(mended) == ([*PAYLOADS[:-1], b"next"], len(mended))


@pytest.mark.parametrize("begin", LAST)
def test_a_frame_whose_rest_was_not_written_is_torn(begin: int) -> None:
    # The file has its new length, and zeros where nothing was written yet.
    data = DATA[:begin] + b"\0" * (len(DATA) - begin)
    # Its length may be cut short by this; only a length of a few hundred bytes is in two of them.
    assert frames(data) == (PAYLOADS[:-1], STARTS[-2])


@pytest.mark.parametrize("length", [1, 3, 4, 11, 12, 13, 5_000])
def test_zeros_after_the_last_frame_are_a_torn_one(length: int) -> None:
    assert frames(DATA + b"\0" * length) == (PAYLOADS, len(DATA))


def test_a_long_frame_that_was_allocated_and_not_written_is_torn() -> None:
    long = frame(b"x" * (1 << 20), len(DATA))
    data = DATA + long[:HEAD] + b"\0" * (len(long) - HEAD)
    assert frames(data) == (PAYLOADS, len(DATA))


def test_a_frame_at_another_place_is_no_frame() -> None:
    # The end of an older journal that lay on the same blocks.
    assert frames(DATA + frame(b"payload", 0)) == (PAYLOADS, len(DATA))


TORN = {
    "its head was not written, and a part of the rest was": b"\0" * 20 + b"x",
    "blocks of an older file": b"something that was there before",
    "a length that no frame has": struct.pack(">IQ", LARGEST + 1, 0),
    "a length that is shorter than the rest": frame(b"long", 0)[:-1] + b"xx",
}


@pytest.mark.parametrize("rest", TORN.values(), ids=TORN)
def test_what_is_no_frame_and_has_none_behind_it_is_a_torn_one(rest: bytes) -> None:
    assert frames(DATA + rest) == (PAYLOADS, len(DATA))


BLOCK = 4_096


@pytest.mark.parametrize("filler", [b"\0", b"\x5a"], ids=["zeros", "an older file"])
@pytest.mark.parametrize("begin", [0, 1, BLOCK - HEAD, BLOCK - 2, BLOCK - 1])
def test_whatever_blocks_of_the_last_frame_were_not_written_it_is_cut(
    begin: int, filler: bytes
) -> None:
    """``begin`` is where in a block the frame begins; a receipt of many commits has five."""
    first = frame(b"x" * (BLOCK + begin - HEAD), 0)
    last = frame(b'{"commits":["%b"]}' % (b"0123456789abcdef" * 1_120), len(first))
    starts = [len(first), *range(len(first) // BLOCK * BLOCK + BLOCK, len(first + last), BLOCK)]
    blocks = list(zip(starts, [*starts[1:], len(first + last)], strict=True))
    assert len(blocks) in {5, 6}
    for missing in range(1, 1 << len(blocks)):
        data = bytearray(first + last)
        for number, (at, end) in enumerate(blocks):
            if missing >> number & 1:
                data[at:end] = filler * (end - at)
        # The first block may have but zeros of the length.
        if data != first + last:
            assert frames(bytes(data)) == ([first[HEAD:]], len(first))


# --- damage --------------------------------------------------------------------------------------

DAMAGED = {
    "a frame behind zeros": DATA + b"\0" * 20 + frame(b"x", len(DATA) + 20),
    "a frame behind text": DATA + b"by hand" + frame(b"x", len(DATA) + 7),
    "a frame behind a length that no frame has": (
        DATA + struct.pack(">IQ", LARGEST + 1, 0) + frame(b"x", len(DATA) + HEAD)
    ),
    "a whole frame behind a torn one": (
        DATA + frame(b"y" * 90, len(DATA))[:40] + frame(b"x", len(DATA) + 40)
    ),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_what_no_crash_leaves_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedError, match=f"^the frame at byte {len(DATA)} is damaged, and more"):
        frames(data)


@pytest.mark.parametrize("flip", [0x01, 0x80], ids=["lowest bit", "highest bit"])
@pytest.mark.parametrize("at", range(STARTS[-2]))
def test_no_changed_byte_before_the_last_frame_is_taken_for_a_torn_end(at: int, flip: int) -> None:
    data = bytearray(DATA)
    data[at] ^= flip
    with pytest.raises(DamagedError):
        frames(bytes(data))


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF], ids=hex)
@pytest.mark.parametrize("at", LAST)
def test_a_changed_byte_in_the_last_frame_gives_no_other_payload(at: int, flip: int) -> None:
    data = bytearray(DATA)
    data[at] ^= flip
    # A torn write and a damaged one may look the same here.
    assert quick(bytes(data)) in (None, (PAYLOADS[:-1], STARTS[-2]))


@given(
    st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=6)), max_size=3),
    st.integers(0, 200),
)
@example([b"ab", b"cd"], [(0, b"\0\0\0\x20")], 200)
def test_it_finds_what_a_slow_twin_finds(
    payloads: list[bytes], changes: list[tuple[int, bytes]], length: int
) -> None:
    data = journal(*payloads)
    for at, change in changes:
        data = data[:at] + change + data[at + len(change) :]
    data = data[:length]
    assert quick(data) == slow(data)
