"""Pointers of Git LFS, and what only looks like one (case 82)."""

from __future__ import annotations

import pytest

from packparse.objects import lfs
from packparse.signs import LONGEST_POINTER, POINTER

OID = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
VERSION = b"version https://git-lfs.github.com/spec/v1\n"
LINE = b"oid sha256:%b\n" % OID.encode()
SIZE = b"size 12345\n"
PLAIN = VERSION + LINE + SIZE


def extension(number: bytes, name: bytes = b"foo") -> bytes:
    return b"ext-%b-%b sha256:%b\n" % (number, name, b"f" * 64)


POINTERS = {
    "what git-lfs writes": PLAIN,
    "the version before the release": PLAIN.replace(b"git-lfs.github", b"hawser.github"),
    "the first version of all": b"version http://git-media.io/v/2\n" + LINE + SIZE,
    "an extension": VERSION + extension(b"0") + LINE + SIZE,
    "ten extensions": VERSION
    + b"".join(extension(b"%d" % number, b"e") for number in range(9))
    + LINE
    + SIZE,
    "extensions out of order": VERSION + extension(b"2") + extension(b"0") + LINE + SIZE,
    "an extension whose name has a hyphen": VERSION + extension(b"1", b"a-b.c_d") + LINE + SIZE,
    "no line feed at the end": PLAIN[:-1],
    "lines that end in CR LF": PLAIN.replace(b"\n", b"\r\n"),
    "blanks at the end": PLAIN[:-1] + b"  \n\n",
    "an empty line within": VERSION + b"\n" + LINE + b"\n" + SIZE,
    "zeros before the size": VERSION + LINE + b"size 0000012345\n",
    "one byte less than a pointer may not have": PLAIN.ljust(1023),
}
NEAR_MISSES = {
    "nothing": b"",
    "an empty line first": b"\n" + PLAIN,
    "a space first": b" " + PLAIN,
    "a mark at the beginning": b"\xef\xbb\xbf" + PLAIN,
    "a text about one": b"A pointer begins with " + PLAIN,
    "the version line alone": VERSION,
    "no size": VERSION + LINE,
    "no id": VERSION + SIZE,
    "no version": LINE + SIZE,
    "keys out of order": VERSION + SIZE + LINE,
    "the version last": LINE + SIZE + VERSION,
    "a line more": PLAIN + b"x y\n",
    "a word more": PLAIN[:-1] + b" x\n",
    "a NUL at the end": PLAIN + b"\0",
    "a second version": VERSION.replace(b"v1", b"v2") + LINE + SIZE,
    "a version that goes on": VERSION.replace(b"v1", b"v1/") + LINE + SIZE,
    "a version without encryption": VERSION.replace(b"https", b"http") + LINE + SIZE,
    "a version in capitals": VERSION.replace(b"git-lfs", b"Git-LFS") + LINE + SIZE,
    "another host": VERSION.replace(b"github", b"gitxub") + LINE + SIZE,
    "another character for a dot": VERSION.replace(b"lfs.git", b"lfs-git") + LINE + SIZE,
    "two spaces in the version line": VERSION.replace(b" ", b"  ") + LINE + SIZE,
    "an equals sign for the space": PLAIN.replace(b" ", b"="),
    "an id of 63 digits": PLAIN.replace(b"93\n", b"9\n"),
    "an id of 65 digits": PLAIN.replace(b"93\n", b"930\n"),
    "an id in capitals": PLAIN.replace(b"oid sha256:4d7a", b"oid sha256:4D7A"),
    "an id of another hash": PLAIN.replace(b"sha256:", b"sha512:"),
    "an id without its hash": PLAIN.replace(b"sha256:", b""),
    "a size that is no number": PLAIN.replace(b"12345", b"fif"),
    "no number after size": PLAIN.replace(b"12345", b""),
    "a size below nothing": PLAIN.replace(b"12345", b"-1"),
    "a size with a sign": PLAIN.replace(b"12345", b"+1"),
    "a size past 63 bits": PLAIN.replace(b"12345", b"9223372036854775808"),
    "a size of twenty digits": PLAIN.replace(b"12345", b"0" * 20),
    "a size in other digits": PLAIN.replace(b"12345", "\u0661".encode()),
    "an extension of two digits": VERSION + extension(b"10") + LINE + SIZE,
    "an extension without a number": VERSION + extension(b"") + LINE + SIZE,
    "an extension without a name": VERSION + extension(b"0", b"") + LINE + SIZE,
    "an extension with a strange name": VERSION + extension(b"0", b"$$") + LINE + SIZE,
    "an extension with a short id": VERSION + extension(b"0")[:-2] + b"\n" + LINE + SIZE,
    "an extension after the id": VERSION + LINE + extension(b"0") + SIZE,
    "two extensions of one number": VERSION
    + extension(b"0")
    + extension(b"0", b"bar")
    + LINE
    + SIZE,
    "1,024 bytes": PLAIN.ljust(1024),
    "a large file that begins like one": PLAIN + b"x" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("name", POINTERS)
def test_a_pointer_is_known(name: str) -> None:
    assert len(POINTERS[name]) < 1024
    assert lfs.pointer(POINTERS[name]) == (OID, 12345)


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_none(name: str) -> None:
    assert lfs.pointer(NEAR_MISSES[name]) is None


def test_a_pointer_is_told_from_most_other_content_by_its_length_and_beginning() -> None:
    for content in POINTERS.values():
        assert content.startswith(POINTER)
        assert len(content) < LONGEST_POINTER


@pytest.mark.parametrize("size", [0, 1, (1 << 63) - 1])
def test_the_size_is_read(size: int) -> None:
    assert lfs.pointer(PLAIN.replace(b"12345", b"%d" % size)) == (OID, size)


@pytest.mark.parametrize("content", [b" " * 1023, b"\n" * 1023, b"version " * 127, b"\xff" * 1023])
def test_other_content_of_the_same_length_is_none(content: bytes) -> None:
    assert lfs.pointer(content) is None
