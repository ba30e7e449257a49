"""PackStream: push bytes of a pack, get its entries. No input or output of its own.

The grammar is gitformat-pack: twelve header bytes, entries back to back, one checksum. A stream is
in one of these states, and what it does depends on nothing else, so any cut of the input gives
the same entries and the same refusal:

    HEADER    waiting for twelve bytes
    ENTRIES   at the start of an entry
    BODY      inside a long entry, or one that the input cuts
    ELSEWHERE in a run of entries that another process has looked at
    TRAILER   after the last claimed entry, waiting for the checksum
    SURPLUS   the checksum is wrong: reading on to learn whether the count was a lie
    SUSPECT   an entry is bad: waiting to see whether it is the checksum, and the count was a lie
    END       the pack is complete; any byte more is refused
    DEAD      refused; only repeats its refusal
"""

from __future__ import annotations

from zlib_ng.zlib_ng import crc32

from packparse import codes
from packparse.body import Body
from packparse.entry import (
    KIND_NAMES,
    OFS_DELTA,
    REF_DELTA,
    Entry,
    object_prefix,
    read_distance,
    read_header,
)
from packparse.errors import MisuseError, PackError
from packparse.findings import Findings
from packparse.inflate import inflate_whole, longest_stream
from packparse.objectformat import SHA1, ObjectFormat

TYPE_CHECKING = False
if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator

    from packparse.limits import Limits

__all__ = ["PackStream"]

_HEADER = 12
# Larger entries go the long way, so that a window never costs much more than its entry.
_SMALL = 16 << 10
_SMALLEST_ENTRY = 9
_KINDS = frozenset((*KIND_NAMES, OFS_DELTA, REF_DELTA))


class PackStream:
    """A parser for one pack.

    Feed it with :meth:`feed`, say that the input is over with :meth:`close`. Both raise PackError
    for the first thing that makes it impossible to go on; after that the stream is dead and
    repeats the refusal. Oddities that do not stop it go to ``findings``.

    ``start`` is the offset of the pack in the file (after a bundle's header); all offsets count
    from the beginning of the file. ``length`` is the length of the file where it is known: then a
    count that cannot be true is refused at once.
    """

    def __init__(
        self,
        limits: Limits,
        object_format: ObjectFormat = SHA1,
        *,
        findings: Findings | None = None,
        start: int = 0,
        length: int | None = None,
    ) -> None:
        self.limits = limits
        self.object_format = object_format
        self.findings = Findings() if findings is None else findings
        self.claimed = 0
        self.found = 0
        self.version = 0
        self.inflated = 0
        self.checksum: bytes | None = None
        self.entries_end = start
        self._start = start
        self._length = length
        self._padding_allowed = not self.findings.raises(codes.PADDED_DEFLATE)
        # Entries up to this size pass every limit on one object.
        self._quick = min(_SMALL, limits.object_bytes, limits.rebuilt_object_bytes >> 1)
        self._state = self._header
        self._running = False
        self._closed = False
        self._refusal: PackError | None = None
        self._buf = b""
        self._pos = 0
        self._at = start  # offset in the file of _buf[0]
        self._sha = object_format.new()
        self._hashed = 0  # _buf up to here is in _sha
        self._body: Body  # set on entering BODY
        self._suspect: _Suspect  # set on entering SUSPECT
        self._skip_to: int  # set on entering ELSEWHERE, and so are the next two
        self._skip_crc: int
        self._skipped_crc: int

    @property
    def complete(self) -> bool:
        """Whether the pack has been read to its end, checksum included."""
        return self.checksum is not None

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Take the next bytes and give the entries that end in them.

        The iterator must be used up before the next call. ``data`` is split anywhere.
        """
        if self._running or self._closed:
            message = "feed: the previous entries are not used up, or the stream is closed"
            raise MisuseError(message)
        if self._refusal is not None:
            raise self._refusal
        # From now on, not from when the entries are asked for: bytes that nobody reads are lost.
        self._running = True
        return self._run(data)

    def close(self) -> None:
        """Say that no bytes follow; refuses an incomplete pack."""
        if self._running:
            message = "close: the entries of the last feed are not used up"
            raise MisuseError(message)
        self._closed = True
        if self._refusal is None and not self.complete:
            self._refusal = self._end_refusal()
        if self._refusal is not None:
            raise self._refusal

    @property
    def at_entry(self) -> bool:
        """Whether all bytes so far are used, and an entry is to begin with the next one."""
        return self._state == self._entries and not self._buf

    def skip(self, end: int, found: int, inflated: int, crc: int) -> None:
        """Say that another process has found ``found`` entries, the last of which ends at ``end``.

        ``inflated`` is what they inflate to, and ``crc`` the CRC-32 of all their bytes. To be said
        where :attr:`at_entry` is true. The bytes are fed all the same, for the checksum; PackError
        (inputChanged) where they are others.
        """
        self.found += found
        self.inflated += inflated
        self._skip_to = end
        self._skip_crc = crc
        self._skipped_crc = 0
        self._state = self._elsewhere

    def _run(self, data: bytes) -> Iterator[Entry]:
        self._buf = self._buf[self._pos :] + data if self._pos < len(self._buf) else data
        self._pos = self._hashed = 0
        try:
            progress = True
            while progress:
                state = self._state
                yield from state()
                progress = self._state != state and self._pos < len(self._buf)
        except PackError as error:
            self._refusal = error
            self._running = False
            raise
        self._running = False
        self._hash_to(self._pos)
        self._at += self._pos
        self._buf = self._buf[self._pos :]
        self._pos = self._hashed = 0

    def _hash_to(self, pos: int) -> None:
        if pos > self._hashed:
            self._sha.update(memoryview(self._buf)[self._hashed : pos])
            self._hashed = pos

    # States. Each takes what it can from _buf at _pos and sets the next state.

    def _header(self) -> Iterator[Entry]:
        head = self._buf[self._pos : self._pos + _HEADER]
        if not b"PACK".startswith(head[:4]):
            raise PackError(codes.BAD_SIGNATURE, "no pack begins here", offset=self._start)
        if len(head) >= 8:
            self.version = int.from_bytes(head[4:8])
            if self.version not in (2, 3):
                message = f"the pack says version {self.version}; 2 and 3 are known"
                raise PackError(codes.BAD_PACK_VERSION, message, offset=self._start + 4)
        if len(head) == _HEADER:
            self._accept_count(int.from_bytes(head[8:]))
            self._pos += _HEADER
            self._state = self._entries if self.claimed else self._trailer
        return iter(())

    def _accept_count(self, count: int) -> None:
        offset = self._start + 8
        if count > self.limits.objects:
            raise self.limits.passed("objects", count, "the header claims").at(offset)
        width = self.object_format.width
        if self._length is not None:
            room = (self._length - self._start - _HEADER - width) // _SMALLEST_ENTRY
            if count > room >= 0:
                message = f"the header claims {count} objects, the file has room for {room} at most"
                raise PackError(codes.IMPLAUSIBLE_OBJECT_COUNT, message, offset=offset)
        self.claimed = count
        if not count:
            self.findings.add(codes.EMPTY_PACK, "the pack holds no object", offset=offset)

    def _entries(self) -> Iterator[Entry]:  # noqa: PLR0915 - the hot loop
        # One turn an entry while entries are small and lie whole in the buffer. The usual case of
        # read_header() stands here once more, since calling it takes longer.
        buf = self._buf
        at = self._at
        pos = self._pos
        length = len(buf)
        width = self.object_format.width
        new_hash = self.object_format.new
        new_tuple = tuple.__new__
        quick = self._quick
        most = self.limits.inflated_bytes
        while self.found < self.claimed:
            start = pos
            try:
                byte = buf[pos]
                if byte >= 0x80 and 0 < (second := buf[pos + 1]) < 0x80:
                    kind = byte >> 4 & 7
                    size = byte & 15 | second << 4
                    pos += 2
                    padded = False
                else:
                    kind, size, pos, padded = read_header(buf, pos)
                base: int | bytes | None = None
                if kind == OFS_DELTA:
                    distance, pos = read_distance(buf, pos)
                    base = at + start - distance
                elif kind == REF_DELTA:
                    base = buf[pos : pos + width]
                    pos += width
                    if pos > length:
                        raise IndexError  # noqa: TRY301 - the same as running out inside a number
                inflated = self.inflated + size
                if size > quick or padded or inflated > most or kind not in _KINDS:
                    self._check_entry(kind, size, at + start, padded=padded)
            except IndexError:
                self._pos = start
                return
            except PackError as error:
                self._doubt(error, start)
                return
            self.inflated = inflated
            reach = pos + longest_stream(size)
            whole = None
            if size <= quick and reach <= length:
                whole = inflate_whole(buf[pos:reach], size)
            if whole is None:
                self._begin_body(start, pos, kind, size, base)
                return
            data, used = whole
            pos += used
            oid = None
            if base is None:
                oid = new_hash(object_prefix(kind, size) + data).digest()
            self.found += 1
            crc = crc32(buf[start:pos])
            # Half of what Entry(...) takes.
            yield new_tuple(Entry, (at + start, at + pos, kind, size, crc, oid, base, data))
        self._pos = pos
        self._state = self._trailer

    def _elsewhere(self) -> Iterator[Entry]:
        begin = self._pos
        self._pos = min(len(self._buf), self._skip_to - self._at)
        self._skipped_crc = crc32(memoryview(self._buf)[begin : self._pos], self._skipped_crc)
        if self._at + self._pos == self._skip_to:
            if self._skipped_crc != self._skip_crc:
                message = "the bytes up to here are not those that another process has read"
                raise PackError(codes.INPUT_CHANGED, message, offset=self._skip_to)
            self._state = self._entries
        return iter(())

    def _check_entry(self, kind: int, size: int, offset: int, *, padded: bool) -> None:
        """What the hot loop leaves to do for entries that are not small and usual."""
        limits = self.limits
        if kind not in _KINDS:
            raise PackError(codes.UNKNOWN_ENTRY_TYPE, f"entry type {kind} is not defined")
        if kind in KIND_NAMES and size > limits.object_bytes:
            raise limits.passed("object_bytes", size, f"a {KIND_NAMES[kind]} declares")
        if kind not in KIND_NAMES and size > limits.rebuilt_object_bytes >> 1:
            what = "half of the limit is for deltas, and one declares"
            raise limits.passed("rebuilt_object_bytes", size, what)
        if self.inflated + size > limits.inflated_bytes:
            raise limits.passed(
                "inflated_bytes", self.inflated + size, "the entries so far declare"
            )
        if padded:
            message = "the size of an entry is written with more bytes than it needs"
            self.findings.add(codes.NON_CANONICAL_VARINT, message, offset=offset)

    def _begin_body(
        self, start: int, pos: int, kind: int, size: int, base: int | bytes | None
    ) -> None:
        self._hash_to(start)
        head = self._buf[start:pos]
        entry = Entry(self._at + start, 0, kind, size, 0, None, base, None)
        self._body = Body(
            entry,
            head,
            self._sha.copy(),
            self.object_format,
            padding_allowed=self._padding_allowed,
        )
        self._pos = pos
        self._state = self._in_body

    def _in_body(self) -> Iterator[Entry]:
        body = self._body
        buf = self._buf
        pos = self._pos
        try:
            reached = body.inflate.feed(buf, pos)
        except PackError as error:
            self._suspect = _Suspect(error.at(body.offset), body.before, body.head)
            self._state = self._in_doubt
            return
        body.take(memoryview(buf)[pos:reached])
        self._pos = reached
        if body.inflate.done:
            self.found += 1
            self._state = self._entries
            yield body.finished(self._at + reached)

    def _doubt(self, error: PackError, start: int) -> None:
        self._hash_to(start)
        self._pos = start
        self._suspect = _Suspect(error.at(self._at + start), self._sha.copy(), b"")
        self._state = self._in_doubt

    def _in_doubt(self) -> Iterator[Entry]:
        suspect = self._suspect
        width = self.object_format.width
        more = self._buf[self._pos : self._pos + max(0, width - len(suspect.head))]
        suspect.head += more
        self._pos += len(more)
        if len(suspect.head) >= width:
            raise self._count_lie(suspect.head, suspect.before) or suspect.error
        return iter(())

    def _count_lie(self, head: bytes, before: hashlib._Hash) -> PackError | None:
        """The refusal where ``head``, which should be an entry, is the checksum of the pack."""
        if head[: self.object_format.width] != before.digest():
            return None
        message = f"the header claims {self.claimed} objects, the pack ends after {self.found}"
        return PackError(codes.OBJECT_COUNT_MISMATCH, message, offset=self._start + 8)

    def _trailer(self) -> Iterator[Entry]:
        pos = self._pos
        width = self.object_format.width
        given = self._buf[pos : pos + width]
        if len(given) < width:
            return iter(())
        self._hash_to(pos)
        self.entries_end = self._at + pos
        if given == self._sha.digest():
            self.checksum = given
            self._pos = self._hashed = pos + width
            self._state = self._end
        else:
            self._state = self._surplus
        return iter(())

    def _surplus(self) -> Iterator[Entry]:
        # The last bytes of the input stay in _buf: they may be the checksum of all before.
        keep = max(self._pos, len(self._buf) - self.object_format.width)
        self._hash_to(keep)
        self._pos = keep
        return iter(())

    def _end(self) -> Iterator[Entry]:
        if self._pos < len(self._buf):
            message = "bytes follow the checksum of the pack"
            raise PackError(codes.TRAILING_BYTES, message, offset=self._at + self._pos)
        return iter(())

    def _end_refusal(self) -> PackError:
        state = self._state
        if state == self._in_doubt:
            return self._suspect.error
        if state == self._surplus:
            return self._surplus_refusal()
        if state == self._in_body:
            lie = self._count_lie(self._body.head, self._body.before)
            offset = self._body.offset
        else:
            lie = self._count_lie(self._buf, self._sha)
            offset = self._at
        message = f"the input ends in the pack, after {self.found} of {self.claimed} objects"
        return lie or PackError(codes.TRUNCATED, message, offset=offset)

    def _surplus_refusal(self) -> PackError:
        if self._buf == self._sha.digest():
            message = f"the header claims {self.claimed} objects, the pack goes on after them"
            return PackError(codes.OBJECT_COUNT_MISMATCH, message, offset=self._start + 8)
        message = f"the {self.object_format.name} checksum is not the one of the bytes before it"
        if self.object_format is SHA1:
            message += "; a pack of a SHA-256 repository needs --object-format sha256"
        return PackError(codes.PACK_CHECKSUM_MISMATCH, message, offset=self.entries_end)


class _Suspect:
    """A bad entry, until it is known that its bytes are not the checksum of the pack."""

    __slots__ = ("before", "error", "head")

    def __init__(self, error: PackError, before: hashlib._Hash, head: bytes) -> None:
        self.error = error
        self.before = before
        self.head = head
