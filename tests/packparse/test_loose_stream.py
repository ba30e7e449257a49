"""The stream of one loose object: its header, its exact end, and no work past either."""

from __future__ import annotations

import functools
import gc
import random
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from packparse import checks, codes
from packparse.codes import Code
from packparse.entry import KIND_NUMBERS
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.loose import LooseObject, LooseStream, read_header
from packparse.objectformat import FORMATS, SHA1, ObjectFormat
from packparse.signs import LONGEST_POINTER
from tests.support import packs
from tests.support.feeding import CUTS, Cut
from tests.support.loose import loose, whole

every_cut = pytest.mark.parametrize("cut", CUTS.values(), ids=list(CUTS))
TEXT = b"some text to be compressed, " * 30
MIB = 1 << 20


# --- one header ---------------------------------------------------------------------------------

HEADERS = {
    "commit 0\0": (1, 0),
    "tree 10\0": (2, 10),
    "blob 9\0": (3, 9),
    "tag 18446744073709551615\0": (4, (1 << 64) - 1),
}


@pytest.mark.parametrize("head", HEADERS)
def test_a_header_gives_kind_and_size(head: str) -> None:
    assert read_header(head.encode()) == HEADERS[head]


BAD_HEADERS = {
    "an unknown kind": b"blub 3\0",
    "a kind of another case": b"Blob 3\0",
    "a kind that only begins well": b"blobs 3\0",
    "a delta": b"ofs-delta 3\0",
    "no kind": b" 3\0",
    "no space": b"blob3\0",
    "two spaces": b"blob  3\0",
    "a tab": b"blob\t3\0",
    "no size": b"blob \0",
    "a size with a zero before it": b"blob 03\0",
    "a zero twice": b"blob 00\0",
    "a negative size": b"blob -3\0",
    "a signed size": b"blob +3\0",
    "a size in hexadecimal": b"blob 0x3\0",
    "a space after the size": b"blob 3 \0",
    "a line feed after the size": b"blob 3\n\0",
    "a size with an underscore": b"blob 1_0\0",
    "a digit that is no ASCII": "blob \u0663\0".encode(),
    "a size of 21 digits": b"blob " + b"1" * 21 + b"\0",
    "nothing": b"",
    "a NUL alone": b"\0",
    "no NUL": b"blob 3",
    "a byte after the NUL": b"blob 3\0a",
}


@pytest.mark.parametrize("head", BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_any_other_header_is_refused(head: bytes) -> None:
    with pytest.raises(PackError) as caught:
        read_header(head)
    assert caught.value.code is checks.LOOSE_HEADER
    assert caught.value.message.isascii()
    assert caught.value.message.isprintable()


# --- one stream ---------------------------------------------------------------------------------


def accept(_kind: int, _size: int) -> None:
    """Nothing is too much."""


def read(
    data: bytes,
    cut: Cut = CUTS["whole"],
    fmt: ObjectFormat = SHA1,
    *,
    padding_allowed: bool = False,
) -> LooseObject:
    stream = LooseStream(fmt, accept, keep_blobs=True, padding_allowed=padding_allowed)
    for piece in cut(data):
        stream.feed(piece)
    return stream.close()


def refusal(data: bytes, cut: Cut = CUTS["whole"], *, padding_allowed: bool = False) -> PackError:
    with pytest.raises(PackError) as caught:
        read(data, cut, padding_allowed=padding_allowed)
    assert caught.value.offset is None
    return caught.value


@every_cut
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(70_000)], ids=len)
@pytest.mark.parametrize("kind", KIND_NUMBERS)
def test_an_object_is_read_in_any_cut(cut: Cut, fmt: str, data: bytes, kind: bytes) -> None:
    item = loose(kind.decode(), data, fmt)
    found = read(item.file, cut, FORMATS[fmt])
    assert (found.kind, found.size, found.oid) == (KIND_NUMBERS[kind], len(data), item.oid)
    assert bytes(found.data or b"") == data


def _at_level(level: int, data: bytes) -> bytes:
    return zlib.compress(data, level)


def _deflated(data: bytes, wbits: int) -> bytes:
    stream = zlib.compressobj(wbits=wbits)
    return stream.compress(data) + stream.flush()


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    **{f"level {level}": functools.partial(_at_level, level) for level in range(10)},
    "many flushes": packs.several_flushes,
    "a little padding": lambda data: packs.padded(data, 800),
    "a small window": lambda data: _deflated(data, wbits=9),
}


@every_cut
@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_any_compressor_is_read(cut: Cut, compress: Callable[[bytes], bytes]) -> None:
    assert read(compress(whole("blob", TEXT)), cut).data == bytearray(TEXT)


def _lying(size: int) -> bytes:
    return zlib.compress(b"blob %d\0" % size + TEXT)


GOOD = zlib.compress(whole("blob", TEXT))
STREAMS: dict[str, tuple[Code, bytes]] = {
    "an empty file": (codes.TRUNCATED, b""),
    "a file that ends in the zlib header": (codes.TRUNCATED, GOOD[:1]),
    "a file that ends in the header": (codes.TRUNCATED, GOOD[:4]),
    "a file that ends in the content": (codes.TRUNCATED, GOOD[:-20]),
    "a file that ends before the checksum": (codes.TRUNCATED, GOOD[:-4]),
    "a file that ends in the checksum": (codes.TRUNCATED, GOOD[:-1]),
    "a byte after the stream": (codes.TRAILING_BYTES, GOOD + b"\0"),
    "a second stream": (codes.TRAILING_BYTES, GOOD + GOOD),
    "much after the stream": (codes.TRAILING_BYTES, GOOD + bytes(100_000)),
    "no zlib stream": (codes.BAD_DEFLATE, whole("blob", TEXT)),
    "a gzip member": (codes.BAD_DEFLATE, packs.gzip_wrapped(whole("blob", TEXT))),
    "deflate without zlib's header": (codes.BAD_DEFLATE, packs.raw_deflate(whole("blob", TEXT))),
    "a wrong checksum": (codes.BAD_DEFLATE, packs.bad_adler(whole("blob", TEXT))),
    "a preset dictionary": (codes.PRESET_DICTIONARY, packs.with_dictionary(whole("blob", TEXT))),
    "much padding before all": (codes.PADDED_DEFLATE, packs.padded(whole("blob", TEXT), 2_000)),
    "endless padding before all": (codes.PADDED_DEFLATE, packs.padded(b"", 200_000)),
    "a size below the content's": (codes.INFLATED_SIZE_MISMATCH, _lying(len(TEXT) - 1)),
    "a size above the content's": (codes.INFLATED_SIZE_MISMATCH, _lying(len(TEXT) + 1)),
    "a size of none": (codes.INFLATED_SIZE_MISMATCH, _lying(0)),
    "a header and no content": (codes.INFLATED_SIZE_MISMATCH, zlib.compress(b"blob 9\0")),
    "a stream of nothing": (checks.LOOSE_HEADER, zlib.compress(b"")),
    "half a header": (checks.LOOSE_HEADER, zlib.compress(b"blob 9")),
    "31 bytes and no NUL": (checks.LOOSE_HEADER, zlib.compress(b"b" * 31)),
    "32 bytes and no NUL": (checks.LOOSE_HEADER, zlib.compress(b"b" * 32)),
    "no NUL at all": (checks.LOOSE_HEADER, zlib.compress(b"blob 9" + b"x" * 90_000)),
    "a NUL too late": (checks.LOOSE_HEADER, zlib.compress(b"blob " + b"1" * 27 + b"\0")),
    "a bad header": (checks.LOOSE_HEADER, zlib.compress(b"blob 03\0abc")),
}


@every_cut
@pytest.mark.parametrize(("code", "data"), STREAMS.values(), ids=STREAMS)
def test_any_other_stream_is_refused_alike_in_any_cut(cut: Cut, code: Code, data: bytes) -> None:
    error = refusal(data, cut)
    assert error.code is code
    assert error.message == refusal(data).message
    assert error.message.isascii()


@pytest.mark.parametrize("at", range(len(GOOD)))
def test_every_flipped_byte_is_noticed(at: int) -> None:
    data = packs.flip(GOOD, at, 0x10)
    try:
        found = read(data)
    except PackError as error:
        assert error.code.klass == codes.CORRUPT  # noqa: PT017 - either end will do
    else:
        # A bit of zlib's header that only says how hard it tried.
        assert found.data == bytearray(TEXT)


@pytest.mark.parametrize("name", ["much padding before all"])
def test_padding_may_be_allowed(name: str) -> None:
    # Under the rules of git.
    assert read(STREAMS[name][1], padding_allowed=True).data == bytearray(TEXT)


def _padded_to(length: int, data: bytes) -> bytes:
    """A valid stream of exactly this length, padded where its header is over."""
    stream = zlib.compressobj(0)
    body = stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)
    end = stream.flush()
    blocks, rest = divmod(length - len(body) - len(end), 5)
    assert rest == 0
    return body + b"\0\0\0\xff\xff" * blocks + end


@pytest.mark.parametrize("size", [100, 900, 70_000])
def test_padding_counts_against_the_whole_size(size: int) -> None:
    # The bound is that of the content, not that of the header alone.
    content = whole("blob", bytes(size))
    most = len(content) + len(content) // 8 + 64 + 4096
    fits = next(n for n in range(most - 4, most + 1) if _may_pad(n, content))
    assert read(_padded_to(fits, content)).size == size
    assert refusal(_padded_to(fits + 5, content)).code is codes.PADDED_DEFLATE


def _may_pad(length: int, content: bytes) -> bool:
    try:
        _padded_to(length, content)
    except AssertionError:
        return False
    return True


def test_no_more_is_inflated_than_is_declared_and_one_byte() -> None:
    file = zlib.compress(b"blob 10\0" + bytes(64 * MIB))
    seen: list[tuple[int, int]] = []
    stream = LooseStream(SHA1, lambda kind, size: seen.append((kind, size)), keep_blobs=True)
    tracemalloc.start()
    with pytest.raises(PackError) as caught:
        stream.feed(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.code is codes.INFLATED_SIZE_MISMATCH
    assert seen == [(3, 10)]
    assert peak < MIB


def test_the_declared_size_may_be_refused_before_the_content_is_inflated() -> None:
    def refuse(_kind: int, size: int) -> None:
        raise Limits().passed("object_bytes", size, "it declares")

    stream = LooseStream(SHA1, refuse)
    # After the header nothing but rubbish: it is never looked at.
    opener = zlib.compressobj()
    file = opener.compress(b"tree 999999999999\0") + opener.flush(zlib.Z_SYNC_FLUSH) + b"\xff" * 99
    fed = map(stream.feed, CUTS["byte by byte"](file))
    with pytest.raises(PackError) as caught:
        list(fed)
    assert caught.value.code is codes.OBJECT_TOO_LARGE


def test_blobs_are_hashed_and_not_kept_but_for_what_may_be_a_pointer() -> None:
    sizes = {LONGEST_POINTER - 1: True, LONGEST_POINTER: False, 3 * MIB: False}
    for size, kept in sizes.items():
        stream = LooseStream(SHA1, accept)
        item = loose("blob", bytes(size))
        stream.feed(item.file)
        found = stream.close()
        assert (found.data is not None, found.oid) == (kept, item.oid)


def test_what_was_refused_is_let_go_at_once() -> None:
    # Not when the next collection of cycles happens to come: a folder may have many such files.
    content = random.Random(5).randbytes(MIB)
    file = packs.bad_adler(whole("tree", content))
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(3):
            try:
                read(file)
            except PackError as error:
                assert error.code is codes.BAD_DEFLATE  # noqa: PT017 - pytest.raises keeps it
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert held < MIB // 4
