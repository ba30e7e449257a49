"""Second looks at entries: their bytes again, through the caller's ``read_at``, and rebuilt.

Whatever comes back must have the CRC-32 of the first pass; a file that changed in between is
refused. (A file that nobody else can write is the caller's to provide.)
"""

from __future__ import annotations

from zlib_ng.zlib_ng import crc32

from packparse import codes
from packparse.delta import read_sizes, rebuild
from packparse.entry import (
    LONGEST_HEADER,
    OFS_DELTA,
    REF_DELTA,
    read_distance,
    read_header,
)
from packparse.errors import PackError
from packparse.inflate import Inflate, inflate_whole
from packparse.memo import Memo
from packparse.table import NO_ENTRY, OUTSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from packparse.table import EntryTable

    # (offset, length) -> that many bytes of the file, or fewer where it ends.
    ReadAt = Callable[[int, int], bytes]

__all__ = ["EntryReader", "ObjectReader"]

_PIECE = 256 << 10
# Bytes of objects on chains that are kept, since neighbours are often asked for one by one.
_ROOM = 8 << 20
# Bytes of an object that is kept, beside its content.
_HELD = 200
# An instruction of two bytes may make one byte, and takes as long as copying some hundred.
_DELTA_BYTE = 128


class EntryReader:
    """Contents of single entries of a pack whose first pass is over.

    ``read`` gives what an entry inflates to: an object, or the instructions of a delta. Raises
    PackError (inputChanged).
    """

    def __init__(self, table: EntryTable, read_at: ReadAt) -> None:
        self._table = table
        self._read_at = read_at

    def read(self, number: int) -> bytes | bytearray:
        """The inflated content of an entry. Nothing is inflated before its CRC is found right."""
        offset, length = self._table.span(number)
        piece = self._read_at(offset, min(length, _PIECE))
        try:
            for _ in self._pieces(number, piece):
                pass
            size, pos = self._skip_header(piece)
            whole = inflate_whole(piece[pos:], size) if len(piece) == length else None
            if whole is not None:
                return whole[0]
            return self._long(number, piece, pos, size)
        except (PackError, IndexError):
            raise self._changed(offset) from None

    def reference(self, number: int) -> bytes:
        """The raw id that a reference delta names as its base."""
        head, _size, pos = self._head(number)
        return head[pos - self._table.width : pos]

    def offset(self, number: int) -> int:
        """Where an entry begins in the file."""
        return self._table.offsets[number]

    def size(self, number: int) -> int:
        """The size that an entry declares."""
        return self._head(number)[1]

    def _head(self, number: int) -> tuple[bytes, int, int]:
        """The first bytes of an entry, the size they declare, and where its stream begins."""
        offset, length = self._table.span(number)
        head = self._read_at(offset, min(length, LONGEST_HEADER))
        try:
            return head, *self._skip_header(head)
        except (PackError, IndexError):
            raise self._changed(offset) from None

    def _skip_header(self, piece: bytes) -> tuple[int, int]:
        kind, size, pos, _padded = read_header(piece, 0)
        if kind == OFS_DELTA:
            _distance, pos = read_distance(piece, pos)
        elif kind == REF_DELTA:
            pos += self._table.width
        return size, pos

    def _changed(self, offset: int) -> PackError:
        message = "the entry is not the one of the first pass"
        return PackError(codes.INPUT_CHANGED, message, offset=offset)

    def _pieces(self, number: int, piece: bytes) -> Iterator[bytes]:
        """All bytes of an entry, ``piece`` first; at their end, a refusal of another CRC."""
        offset, length = self._table.span(number)
        crc = done = 0
        while piece:
            crc = crc32(piece, crc)
            done += len(piece)
            yield piece
            if done >= length:
                break
            piece = self._read_at(offset + done, min(length - done, _PIECE))
        if crc != self._table.crcs[number] or done != length:
            raise self._changed(offset)

    def _long(self, number: int, piece: bytes, pos: int, size: int) -> bytearray:
        content = bytearray()
        inflate = Inflate(size, content.extend, padding_allowed=True)
        # The pieces are read once more, so their CRC is taken once more as well.
        for more in self._pieces(number, piece):
            inflate.feed(more, pos)
            pos = 0
        return content


class ObjectReader:
    """Any object of a resolved pack, rebuilt from its chain of deltas: for the rare second look.

    ``outside`` gives the content of a thin pack's base, or None. Memory: three times the object,
    and ``room`` bytes to keep some. ``work`` counts the bytes that were made, and each byte of a
    delta that was run as many. Raises PackError (inputChanged).
    """

    def __init__(
        self,
        table: EntryTable,
        read_at: ReadAt,
        outside: Callable[[bytes], bytes | None],
        *,
        room: int = _ROOM,
    ) -> None:
        self.work = 0
        self._entries = EntryReader(table, read_at)
        self._bases = table.bases
        self._outside = outside
        self._kept: Memo[int, bytes | bytearray] = Memo(room, room >> 3)

    def lost(self, number: int) -> PackError:
        """The refusal for an object whose base was there once, and cannot be had again."""
        return PackError(
            codes.CORRUPT_BASE_OBJECT,
            "the trusted side gave the base of this object once and does not give it again",
            offset=self._entries.offset(number),
        )

    def read(self, number: int) -> bytes | bytearray | None:
        """The content of an entry's object; None where a base cannot be had."""
        # It ends: every delta was rebuilt after the base that the table names for it.
        chain = [number]
        kept = self._kept
        if number in kept:
            return kept[number]
        while (base := self._bases[chain[-1]]) not in (NO_ENTRY, OUTSIDE) and base not in kept:
            chain.append(base)
        content = kept[base] if base in kept else self._first(chain)
        if content is None:
            return None
        for entry in reversed(chain):
            delta = self._entries.read(entry)
            _base_size, size, pos = read_sizes(delta)
            content, _copied = rebuild(delta, pos, content, size)
            self.work += size + len(delta) * _DELTA_BYTE
            self._kept.keep(entry, content, len(content) + _HELD)
        return content

    def _first(self, chain: list[int]) -> bytes | bytearray | None:
        """What the first delta of a chain rests on; an entry that is no delta is taken off."""
        if self._bases[chain[-1]] == OUTSIDE:
            content: bytes | bytearray | None
            content = self._outside(self._entries.reference(chain[-1]))
        else:
            number = chain.pop()
            content = self._entries.read(number)
            if chain:
                self._kept.keep(number, content, len(content) + _HELD)
        if content is not None:
            self.work += len(content)
        return content
