"""The ids in a pack index, version 2, as ``git index-pack`` has just written it.

Source: gitformat-pack, "Version 2 pack-*.idx files". Only what the second verdict needs is read:
the sorted ids, and which pack they are of.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from packparse.table import split_ids

if TYPE_CHECKING:
    from packparse.objectformat import ObjectFormat

__all__ = ["Index", "read_index"]

_MAGIC = b"\xfftOc\0\0\0\2"
_FANOUT = 256 * 4


class Index(NamedTuple):
    """The raw ids of a pack, sorted, and the checksum at the end of the pack."""

    oids: tuple[bytes, ...]
    pack: bytes


def read_index(data: bytes, object_format: ObjectFormat) -> Index | None:
    """The ids in an index; None where it is not a whole one of version 2."""
    width = object_format.width
    head = len(_MAGIC) + _FANOUT
    if not data.startswith(_MAGIC) or len(data) < head + 2 * width:
        return None
    (count,) = struct.unpack_from(">I", data, head - 4)
    end = head + count * width
    # Behind the ids: a CRC and an offset of four bytes each, and two checksums.
    if len(data) < end + count * 8 + 2 * width:
        return None
    if object_format.new(data[:-width]).digest() != data[-width:]:
        return None
    oids = split_ids(memoryview(data)[head:end], width)
    if any(first >= second for first, second in pairwise(oids)):
        return None
    return Index(oids, data[-2 * width : -width])
