"""Annotated tags: the object they link to, and the kind it must have.

Source: git-mktag and the order in which git's fsck reads the headers of a tag.
"""

from __future__ import annotations

import re
from binascii import unhexlify

from packparse import codes
from packparse.entry import KIND_NUMBERS
from packparse.errors import PackError
from packparse.escape import shorten

__all__ = ["link"]

_OBJECT = {width: re.compile(rb"object ([0-9a-fA-F]{%d})\n" % (width * 2)) for width in (20, 32)}


def link(data: bytes | bytearray, width: int) -> tuple[int, bytes]:
    """Return (kind, raw id) of what a tag's content names; ``width`` is that of a raw id.

    Raises PackError: missingObject, badObjectSha1, missingTypeEntry, missingType, badType.
    """
    if data[:7] != b"object ":
        raise PackError(codes.TAG_MISSING_OBJECT, "the tag does not begin with an object line")
    target = _OBJECT[width].match(data)
    if target is None:
        raise PackError(codes.BAD_OBJECT_SHA1, "the object line has no valid id")
    start = target.end()
    if data[start : start + 5] != b"type ":
        raise PackError(codes.MISSING_TYPE_ENTRY, "no type line follows the object line")
    start += 5
    end = data.find(b"\n", start)
    if end < 0:
        raise PackError(codes.MISSING_TYPE, "the type line does not end")
    # No more of the line is copied than a message shows.
    name = bytes(data[start : min(end, start + 64)])
    kind = KIND_NUMBERS.get(name)
    if kind is None:
        raise PackError(codes.BAD_TYPE, f"unknown type {shorten(name)}")
    return kind, unhexlify(target[1])
