"""One deflate stream: its exact end, its declared size, and no work past either."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse import codes
from packparse.codes import Code
from packparse.errors import PackError
from packparse.inflate import Inflate, inflate_whole, longest_stream
from tests.support import packs
from tests.support.feeding import CUTS, Cut

TEXT = b"some text to be compressed, " * 30
NOISE = random.Random(7).randbytes(3000)
AFTER = b"the next entry"
ALLOWED = 4 << 10

every_cut = pytest.mark.parametrize("cut", CUTS.values(), ids=list(CUTS))

# --- helpers ------------------------------------------------------------------------------------


class Kept:
    """A sink, and what feeding a stream to an Inflate in one cut came to."""

    def __init__(self, size: int, *, padding_allowed: bool = False) -> None:
        self.content = bytearray()
        self.inflate = Inflate(size, self.content.extend, padding_allowed=padding_allowed)

    def feed(self, data: bytes, cut: Cut) -> int:
        """Feed until the stream is done; return the position in ``data`` after it."""
        at = 0
        for piece in cut(data):
            used = self.inflate.feed(piece, 0)
            at += used
            if self.inflate.done:
                break
            assert used == len(piece), "all input belongs to a stream that goes on"
        return at


def refusal(data: bytes, size: int, cut: Cut, *, padding_allowed: bool = False) -> PackError:
    kept = Kept(size, padding_allowed=padding_allowed)
    with pytest.raises(PackError) as caught:
        kept.feed(data, cut)
    assert len(kept.content) <= size, "the sink must never get more than the declared size"
    assert caught.value.offset is None, "the place is for the caller to fill in"
    return caught.value


def padded_to(length: int, data: bytes) -> bytes:
    """Return a valid stream of exactly ``length`` bytes.

    Empty blocks of five bytes (stored) and of six (fixed codes, then stored) make any length.
    """
    body, checksum = packs.raw_deflate(data), zlib.adler32(data).to_bytes(4, "big")
    left = length - 2 - len(body) - 4
    sixes = left % 5
    fives = (left - 6 * sixes) // 5
    blocks = b"\0\0\0\xff\xff" * fives + b"\2\0\0\0\xff\xff" * sixes
    stream = b"\x78\x9c" + blocks + body + checksum
    assert len(stream) == length
    assert zlib.decompress(stream) == data
    return stream


# --- honest streams (case 41, kind ii) ----------------------------------------------------------

HONEST: dict[str, Callable[[bytes], bytes]] = {
    "deflated": zlib.compress,
    "level 0 (stored blocks)": packs.stored,
    "level 1": lambda data: zlib.compress(data, 1),
    "level 9": lambda data: zlib.compress(data, 9),
    "one flush block": lambda data: packs.several_flushes(data, 1),
    "seven flush blocks": lambda data: packs.several_flushes(data, 7),
    "fixed Huffman codes": lambda data: _strategy(data, zlib.Z_FIXED),
    "Huffman codes only": lambda data: _strategy(data, zlib.Z_HUFFMAN_ONLY),
    "a small window": lambda data: _strategy(data, zlib.Z_DEFAULT_STRATEGY, wbits=9),
    "a few empty blocks": lambda data: packs.padded(data, 10),
}
CONTENTS = {
    "nothing": b"",
    "one byte": b"x",
    "text": TEXT,
    "noise": NOISE,
    "300 KiB": bytes(range(256)) * 1200,
}


def _strategy(data: bytes, strategy: int, wbits: int = 15) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, wbits, 8, strategy)
    return stream.compress(data) + stream.flush()


@every_cut
@pytest.mark.parametrize("what", [name for name in CONTENTS if name != "300 KiB"])
@pytest.mark.parametrize("how", HONEST)
def test_case_41_an_honest_stream_gives_its_content_and_its_exact_end(
    how: str, what: str, cut: Cut
) -> None:
    data = CONTENTS[what]
    stream = HONEST[how](data)
    kept = Kept(len(data))
    assert kept.feed(stream + AFTER, cut) == len(stream)
    assert kept.content == data
    assert kept.inflate.done
    assert (kept.inflate.produced, kept.inflate.consumed) == (len(data), len(stream))


@pytest.mark.parametrize("cut", [CUTS["whole"], CUTS["random cut 1"]], ids=["whole", "random"])
@pytest.mark.parametrize("how", HONEST)
def test_case_41_a_long_stream_gives_its_content_and_its_exact_end(how: str, cut: Cut) -> None:
    data = CONTENTS["300 KiB"]
    stream = HONEST[how](data)
    kept = Kept(len(data))
    assert kept.feed(stream + AFTER, cut) == len(stream)
    assert kept.content == data


@pytest.mark.parametrize("what", CONTENTS)
@pytest.mark.parametrize("how", HONEST)
def test_the_fast_way_agrees_with_the_long_one(how: str, what: str) -> None:
    data = CONTENTS[what]
    stream = HONEST[how](data)
    assert inflate_whole(stream + AFTER, len(data)) == (data, len(stream))
    assert inflate_whole(stream, len(data)) == (data, len(stream))


def test_a_stream_may_begin_anywhere_in_the_buffer() -> None:
    stream = zlib.compress(TEXT)
    kept = Kept(len(TEXT))
    assert kept.inflate.feed(b"skip" + stream + AFTER, 4) == 4 + len(stream)
    assert kept.content == TEXT


def test_an_ended_stream_takes_no_more() -> None:
    stream = zlib.compress(TEXT)
    kept = Kept(len(TEXT))
    kept.feed(stream, CUTS["whole"])
    assert kept.inflate.feed(AFTER, 3) == 3
    assert kept.inflate.consumed == len(stream)


@every_cut
@pytest.mark.parametrize("what", ["nothing", "text", "noise"])
def test_pc11_a_stream_that_is_cut_short_is_not_done(what: str, cut: Cut) -> None:
    data = CONTENTS[what]
    stream = zlib.compress(data)
    for length in range(len(stream) - 6, len(stream)):
        kept = Kept(len(data))
        assert kept.feed(stream[:length], cut) == length
        assert not kept.inflate.done
        assert inflate_whole(stream[:length], len(data)) is None


# --- what is refused ----------------------------------------------------------------------------

N = len(TEXT)
# A stored block of 1,000 bytes, then a block of the reserved type.
DAMAGED = b"\x78\x01\0" + b"\xe8\x03\x17\xfc" + NOISE[:1000] + b"\xff" * 40
# (stream, declared size, code): PC4, PC6, PC7, case 11, case 41.
REFUSED: dict[str, tuple[bytes, int, Code]] = {
    "PC4 one byte less than declared": (zlib.compress(TEXT), N + 1, codes.INFLATED_SIZE_MISMATCH),
    "PC4 one byte more than declared": (zlib.compress(TEXT), N - 1, codes.INFLATED_SIZE_MISMATCH),
    "case 11 8 bytes for 32": (zlib.compress(b"8 bytes!"), 32, codes.INFLATED_SIZE_MISMATCH),
    "PC4 nothing for one": (zlib.compress(b""), 1, codes.INFLATED_SIZE_MISMATCH),
    "PC4 one for nothing": (zlib.compress(b"x"), 0, codes.INFLATED_SIZE_MISMATCH),
    "PC5 a bomb for 6 bytes": (packs.bomb(1 << 20), 6, codes.INFLATED_SIZE_MISMATCH),
    "PC6 wrong Adler-32": (packs.bad_adler(TEXT), N, codes.BAD_DEFLATE),
    "PC6 wrong Adler-32 of nothing": (packs.bad_adler(b""), 0, codes.BAD_DEFLATE),
    "PC6 other bytes in place of the Adler-32": (
        packs.missing_adler(TEXT) + AFTER, N, codes.BAD_DEFLATE,
    ),
    "case 41 raw deflate": (packs.raw_deflate(TEXT), N, codes.BAD_DEFLATE),
    "case 41 gzip wrapper": (packs.gzip_wrapped(TEXT), N, codes.BAD_DEFLATE),
    "no zlib header": (b"\x77\x9c" + bytes(20), 3, codes.BAD_DEFLATE),
    "reserved block type": (b"\x78\x9c\x07" + bytes(20), 3, codes.BAD_DEFLATE),
    "stored length not its complement": (b"\x78\x9c\x01\1\0\0\0x" + bytes(9), 1, codes.BAD_DEFLATE),
    "damage after 1,000 good bytes": (DAMAGED, 3000, codes.BAD_DEFLATE),
    "PC7 preset dictionary": (packs.with_dictionary(TEXT), N, codes.PRESET_DICTIONARY),
    "PC7 preset dictionary for nothing": (packs.with_dictionary(b""), 0, codes.PRESET_DICTIONARY),
    "PC7 a header with the flag but a wrong check": (
        b"\x78\xbc" + bytes(20), 3, codes.BAD_DEFLATE,
    ),
    # Too long first, then damaged: what comes first in the stream is what is found.
    "too long before the damage": (DAMAGED, 100, codes.INFLATED_SIZE_MISMATCH),
    "too long and a wrong Adler-32": (packs.bad_adler(TEXT), N - 1, codes.INFLATED_SIZE_MISMATCH),
    "too short and a wrong Adler-32": (packs.bad_adler(TEXT), N + 1, codes.BAD_DEFLATE),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_stream_is_refused_with_its_code_in_every_cut(name: str) -> None:
    stream, size, code = REFUSED[name]
    errors = [refusal(stream + AFTER, size, cut) for cut in CUTS.values()]
    assert [error.code for error in errors] == [code] * len(CUTS)
    assert len({error.message for error in errors}) == 1, "the words depend on the cut"


@pytest.mark.parametrize("name", REFUSED)
def test_the_fast_way_leaves_a_bad_stream_to_the_long_one(name: str) -> None:
    stream, size, _code = REFUSED[name]
    assert inflate_whole(stream + AFTER, size) is None


@pytest.mark.parametrize("name", REFUSED)
def test_allowing_padding_allows_nothing_else(name: str) -> None:
    stream, size, code = REFUSED[name]
    assert refusal(stream + AFTER, size, CUTS["whole"], padding_allowed=True).code is code


@pytest.mark.parametrize("flipped", range(len(zlib.compress(TEXT[:60]))))
def test_pc6_a_flip_in_a_stream_is_refused_alike_in_every_cut(flipped: int) -> None:
    stream = packs.flip(zlib.compress(TEXT[:60]), flipped, 0x04)
    seen = set()
    for cut in CUTS.values():
        error = refusal(stream + bytes(100), 60, cut)
        seen.add((error.code.name, error.message))
    assert len(seen) == 1


# --- no work past the declared size (PC5, PC10) -------------------------------------------------


@pytest.mark.parametrize("size", [0, 6, 100_000], ids=["0", "6", "100,000"])
def test_pc5_a_bomb_is_not_inflated_past_its_declared_size(size: int) -> None:
    stream = packs.bomb(64 << 20)
    kept = Kept(size)
    tracemalloc.start()
    with pytest.raises(PackError):
        kept.inflate.feed(stream, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kept.inflate.produced == size + 1
    assert len(kept.content) <= size
    assert peak < (1 << 20) + 3 * size
    # Nor is the input read on: a piece of it was enough.
    assert kept.inflate.consumed < 32 << 10


def test_pc10_a_long_honest_stream_goes_through_in_small_pieces() -> None:
    size = 64 << 20
    stream = packs.bomb(size)
    pieces: list[int] = []
    inflate = Inflate(size, lambda piece: pieces.append(len(piece)))
    tracemalloc.start()
    inflate.feed(stream, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert inflate.done
    assert sum(pieces) == size
    assert max(pieces) <= 256 << 10
    assert peak < 2 << 20


def test_a_huge_declared_size_allocates_nothing() -> None:
    stream = zlib.compress(b"tiny")
    tracemalloc.start()
    kept = Kept(1 << 50)
    with pytest.raises(PackError) as caught:
        kept.inflate.feed(stream, 0)
    assert inflate_whole(stream, 1 << 50) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.code is codes.INFLATED_SIZE_MISMATCH
    assert peak < 1 << 20


# --- padding (PC8) ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3, 31, 100, 5000, 100_000])
@pytest.mark.parametrize("how", [name for name in HONEST if "flush" not in name])
def test_pc8_no_compressor_writes_more_than_the_longest_stream(how: str, size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert len(HONEST[how](data)) <= longest_stream(size)


@every_cut
@pytest.mark.parametrize("size", [3, 31, 200])
def test_pc8_a_stream_of_exactly_the_bound_is_accepted(size: int, cut: Cut) -> None:
    data = NOISE[:size]
    stream = padded_to(longest_stream(size) + ALLOWED, data)
    kept = Kept(size)
    assert kept.feed(stream + AFTER, cut) == len(stream)
    assert kept.content == data


@every_cut
@pytest.mark.parametrize("size", [3, 31, 200])
def test_pc8_one_byte_more_is_refused(size: int, cut: Cut) -> None:
    stream = padded_to(longest_stream(size) + ALLOWED + 1, NOISE[:size])
    error = refusal(stream + AFTER, size, cut)
    assert error.code is codes.PADDED_DEFLATE
    assert str(longest_stream(size) + ALLOWED) in error.message


@every_cut
def test_pc8_one_byte_more_is_accepted_where_padding_is_allowed(cut: Cut) -> None:
    data = NOISE[:31]
    stream = padded_to(longest_stream(31) + ALLOWED + 1, data)
    kept = Kept(31, padding_allowed=True)
    assert kept.feed(stream + AFTER, cut) == len(stream)
    assert kept.content == data


def test_pc8_a_megabyte_of_empty_blocks_for_6_bytes_is_read_no_further_than_the_bound() -> None:
    stream = packs.padded(b"6bytes", 200_000)
    kept = Kept(6)
    with pytest.raises(PackError) as caught:
        kept.inflate.feed(stream, 0)
    assert caught.value.code is codes.PADDED_DEFLATE
    assert kept.inflate.consumed == longest_stream(6) + ALLOWED + 1


def test_pc8_a_megabyte_of_empty_blocks_is_read_where_padding_is_allowed() -> None:
    stream = packs.padded(b"6bytes", 200_000)
    kept = Kept(6, padding_allowed=True)
    assert kept.feed(stream + AFTER, CUTS["whole"]) == len(stream)
    assert kept.content == b"6bytes"


@every_cut
def test_pc8_padding_that_never_ends_is_refused_all_the_same(cut: Cut) -> None:
    endless = b"\x78\x9c" + b"\0\0\0\xff\xff" * 2000
    assert refusal(endless, 6, cut).code is codes.PADDED_DEFLATE


# --- any bytes ----------------------------------------------------------------------------------


@given(data=st.binary(max_size=400), size=st.integers(0, 300), level=st.integers(0, 9))
@settings(derandomize=True, database=None, max_examples=150, deadline=None)
def test_any_content_under_any_declared_size(data: bytes, size: int, level: int) -> None:
    stream = zlib.compress(data, level)
    kept = Kept(size)
    if size == len(data):
        assert kept.feed(stream + AFTER, CUTS["random cut 1"]) == len(stream)
        assert kept.content == data
    else:
        assert refusal(stream, size, CUTS["random cut 1"]).code is codes.INFLATED_SIZE_MISMATCH


@given(
    tail=st.binary(max_size=200),
    size=st.integers(0, 600),
    kept_bytes=st.integers(0, 200),
    level=st.sampled_from((0, 1, 9)),
)
@settings(derandomize=True, database=None, max_examples=200, deadline=None)
def test_any_bytes_come_to_the_same_in_every_cut(
    tail: bytes, size: int, kept_bytes: int, level: int
) -> None:
    data = zlib.compress(TEXT[:500], level)[:kept_bytes] + tail
    outcomes = set()
    for cut in CUTS.values():
        kept = Kept(size)
        try:
            outcome: object = kept.feed(data, cut)
        except PackError as error:
            outcome = (error.code.name, error.message)
        outcomes.add((outcome, kept.inflate.done, kept.inflate.done and bytes(kept.content)))
    assert len(outcomes) == 1
