"""Pack entry headers: the kind and size of an entry, and the base of a delta.

Source: gitformat-pack, "pack-*.pack files have the following format". All functions read from
``buf`` at ``pos`` and raise IndexError when the header is not all there yet: the caller, who knows
whether more input can come, turns that into waiting or into a refusal.
"""

from __future__ import annotations

from packparse import codes
from packparse.errors import PackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Entry(NamedTuple):
        """One entry of a pack.

        ``offset`` and ``end`` are byte offsets in the file, ``kind`` the number of gitformat-pack,
        ``size`` the declared size of the content, ``crc`` the CRC-32 of the entry's bytes. An
        object has ``oid``, its raw id; a delta has ``base``: the offset of its base in the file
        for OFS_DELTA (whatever it says, be it no entry at all), the raw id for REF_DELTA.
        ``data`` is the content, or None for a blob that was hashed in pieces.
        """

        offset: int
        end: int
        kind: int
        size: int
        crc: int
        oid: bytes | None
        base: int | bytes | None
        data: bytes | bytearray | None

else:
    from collections import namedtuple

    # typing alone would cost a fifth of the start-up time.
    Entry = namedtuple("Entry", "offset end kind size crc oid base data")

__all__ = [
    "BLOB", "COMMIT", "KIND_NAMES", "KIND_NUMBERS", "LONGEST_HEADER", "OFS_DELTA", "REF_DELTA",
    "TAG", "TREE", "object_prefix", "read_distance", "read_header",
]  # fmt: skip

COMMIT = 1
TREE = 2
BLOB = 3
TAG = 4
OFS_DELTA = 6
REF_DELTA = 7

KIND_NAMES = {COMMIT: "commit", TREE: "tree", BLOB: "blob", TAG: "tag"}
KIND_NUMBERS = {name.encode(): kind for kind, name in KIND_NAMES.items()}

# Ten bytes of size and the widest base id.
LONGEST_HEADER = 10 + 32

_PREFIXES = {kind: f"{name} %d\0".encode() for kind, name in KIND_NAMES.items()}


def object_prefix(kind: int, size: int) -> bytes:
    """What git hashes before the content of an object of ``kind`` with ``size`` bytes."""
    return _PREFIXES[kind] % size


def read_header(buf: bytes, pos: int) -> tuple[int, int, int, bool]:
    """Return (kind, size, position after it, whether the size was written with spare bytes).

    The kind is any number from 0 to 7. Padding is legal (gitoxide PR 2616: a hosting service
    writes it), so the position after the header is the one really reached. Raises PackError
    (varintOverflow) where the size passes 64 bits.
    """
    byte = buf[pos]
    pos += 1
    if byte < 0x80:
        return byte >> 4, byte & 15, pos, False
    kind = byte >> 4 & 7
    size = byte & 15
    second = buf[pos]
    if 0 < second < 0x80:  # most entries are of less than 2 KiB
        return kind, size | second << 4, pos + 1, False
    shift = 4
    while byte & 0x80:
        if shift > 60:
            raise _overflow("the size of an entry")
        byte = buf[pos]
        pos += 1
        size |= (byte & 0x7F) << shift
        shift += 7
    if size >> 64:
        raise _overflow("the size of an entry")
    return kind, size, pos, byte == 0 and shift > 4


def read_distance(buf: bytes, pos: int) -> tuple[int, int]:
    """Return (how many bytes before the entry its base begins, position after it).

    The encoding has one spelling for each number: every continuation adds one. Raises PackError
    (varintOverflow) past 64 bits, as git's "offset value overflow".
    """
    byte = buf[pos]
    pos += 1
    distance = byte & 0x7F
    while byte & 0x80:
        if distance >> 56:
            raise _overflow("the base offset of a delta")
        byte = buf[pos]
        pos += 1
        distance = (distance + 1) << 7 | (byte & 0x7F)
    return distance, pos


def _overflow(what: str) -> PackError:
    return PackError(codes.VARINT_OVERFLOW, f"{what} does not fit into 64 bits")
