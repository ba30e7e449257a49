"""The index of a workspace that was just written, so that nothing in it looks changed.

Source: gitformat-index, version 2. It holds what the system says of each file, so git need not read
them all again; and no attribute or filter has a say in it, as it would have if git made it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from candidate.tree import Written
    from packparse.objectformat import ObjectFormat

__all__ = ["index"]

_HEAD = struct.Struct(">4sII")
# Times of change of the inode and of the content, device, inode, mode, user, group, size.
_ENTRY = struct.Struct(">10I")
_FLAGS = struct.Struct(">H")
_LONGEST_NAME = 0xFFF
_NANO = 1_000_000_000
_LOW = 0xFFFF_FFFF


def index(written: Iterable[Written], object_format: ObjectFormat) -> bytes:
    """The bytes of ``.git/index`` for these files, of which no path occurs twice."""
    ordered = sorted(written, key=lambda entry: entry.path)
    body = _HEAD.pack(b"DIRC", 2, len(ordered)) + b"".join(map(_entry, ordered))
    return body + object_format.new(body).digest()


def _entry(entry: Written) -> bytes:
    flags = _FLAGS.pack(min(len(entry.path), _LONGEST_NAME))
    data = _ENTRY.pack(*_numbers(entry)) + entry.oid + flags + entry.path
    # One to eight NULs.
    return data + bytes(8 - len(data) % 8)


def _numbers(entry: Written) -> Iterator[int]:
    status = entry.status
    if status is None:
        return iter((0, 0, 0, 0, 0, 0, entry.mode, 0, 0, 0))
    changed, modified = divmod(status.st_ctime_ns, _NANO), divmod(status.st_mtime_ns, _NANO)
    numbers = (*changed, *modified, status.st_dev, status.st_ino, entry.mode, status.st_uid)
    return (number & _LOW for number in (*numbers, status.st_gid, status.st_size))
