"""Annotated tags: the object they link to, and what is wrong with their headers and text.

Source: git-mktag; fsck_tag in git's fsck.c for the headers and their order; parse_tag_buffer in its
tag.c, which refuses tags that are too short.
"""

from __future__ import annotations

from binascii import unhexlify

from packparse import checks, late
from packparse.entry import KIND_NUMBERS
from packparse.errors import PackError
from packparse.escape import shorten
from packparse.objects import identity, text
from packparse.oddity import Oddity
from packparse.refname import is_valid

__all__ = ["link", "oddities"]

_OBJECT = {width: late.pattern(rb"object ([0-9a-fA-F]{%d})\n" % (width * 2)) for width in (20, 32)}

# Shortest tag that git reads, without the digits of the id.
_SHORTEST = 24
_CAPITALS = late.pattern(rb"[A-F]")
_TYPE = late.pattern(rb"type [^\n]*+\n")
_NAME = late.pattern(rb"tag ([^\n]*+)(\n?)")
_TAGGER = late.pattern(rb"tagger ([^\n]*+)\n?")
_SIGNATURE = late.pattern(rb"gpgsig(?:-sha256)? [^\n]*+(\n?)((?: [^\n]*+(?:\n|\Z))*+)")
# Headers that git reads in their own place alone.
_PLACED = {b"object", b"type", b"tag", b"tagger"}


def link(data: bytes | bytearray, width: int) -> tuple[int, bytes]:
    """Return (kind, raw id) of what a tag's content names; ``width`` is that of a raw id.

    Raises PackError: missingObject, badObjectSha1, missingTypeEntry, missingType, badType.
    """
    if data[:7] != b"object ":
        raise PackError(checks.TAG_MISSING_OBJECT, "the tag does not begin with an object line")
    target = _OBJECT[width].match(data)
    if target is None:
        raise PackError(checks.BAD_OBJECT_SHA1, "the object line has no valid id")
    start = target.end()
    if data[start : start + 5] != b"type ":
        raise PackError(checks.MISSING_TYPE_ENTRY, "no type line follows the object line")
    start += 5
    end = data.find(b"\n", start)
    if end < 0:
        raise PackError(checks.MISSING_TYPE, "the type line does not end")
    # No more of the line is copied than a message shows.
    name = bytes(data[start : min(end, start + 64)])
    kind = KIND_NUMBERS.get(name)
    if kind is None:
        raise PackError(checks.BAD_TYPE, f"unknown type {shorten(name)}")
    return kind, unhexlify(target[1])


def oddities(data: bytes | bytearray, width: int) -> list[Oddity]:
    """What is odd about a tag's content of which :func:`link` succeeded.

    ``width`` is that of a raw id. Details are names of headers, or empty.
    """
    data = bytes(data)
    headers, message = text.split(data)
    found = text.frame(headers, "tag")
    if len(data) < width * 2 + _SHORTEST:
        words = f"the tag has {len(data)} bytes, the shortest has {width * 2 + _SHORTEST}"
        found.append(Oddity(checks.TAG_TOO_SHORT, b"", words))
    target = _OBJECT[width].match(headers)
    kind = _TYPE.match(headers, target.end()) if target else None
    if target is None or kind is None:
        return found
    if _CAPITALS.search(target[1]):
        words = "the id in the object line is written in capitals"
        found.append(Oddity(checks.UPPER_CASE_ID, b"object", words))
    odd, at = _of_name(headers, kind.end())
    found += odd
    odd, at = _of_tagger(headers, at)
    found += odd
    odd, at = _of_signature(headers, at)
    others = text.others(headers[at:], _PLACED, (), checks.EXTRA_HEADER_ENTRY)[1]
    return found + odd + others + text.reading(headers, message, None, "tag")


def _of_name(headers: bytes, at: int) -> tuple[list[Oddity], int]:
    """What is wrong with the name line, which begins at ``at``; and where it ends."""
    line = _NAME.match(headers, at)
    if line is None:
        words = "no tag line follows the type line"
        return [Oddity(checks.MISSING_TAG_ENTRY, b"tag", words)], at
    found = []
    name, end = line.groups()
    if not end:
        found.append(Oddity(checks.MISSING_TAG, b"tag", "the tag line does not end"))
    if not is_valid(b"refs/tags/" + name):
        words = f"the name of the tag is no valid ref name: {shorten(name)}"
        found.append(Oddity(checks.BAD_TAG_NAME, b"tag", words))
    return found, line.end()


def _of_tagger(headers: bytes, at: int) -> tuple[list[Oddity], int]:
    line = _TAGGER.match(headers, at)
    if line is None:
        words = "no tagger line follows the name of the tag"
        return [Oddity(checks.MISSING_TAGGER_ENTRY, b"tagger", words)], at
    return identity.oddities(line[1], b"tagger"), line.end()


def _of_signature(headers: bytes, at: int) -> tuple[list[Oddity], int]:
    """As :func:`_of_name`, for the one signature header that git reads, if there is one."""
    lines = _SIGNATURE.match(headers, at)
    if lines is None:
        return [], at
    found = []
    name, _, value = next(text.logical_headers(lines[0]))
    if not lines[1]:
        words = f"the {name.decode()} line does not end"
        found.append(Oddity(checks.BAD_GPGSIG, name, words))
    elif not lines[0].endswith(b"\n"):
        words = f"the last line of the header {name.decode()} does not end"
        found.append(Oddity(checks.BAD_HEADER_CONTINUATION, name, words))
    if not text.is_signature(value):
        words = f"the header {name.decode()} holds no signature"
        found.append(Oddity(checks.MALFORMED_HEADER, name, words))
    return found, lines.end()
