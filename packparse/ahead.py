"""Several processes scan one pack: a worker begins in the middle of it, and is joined later.

Where an entry begins shows only once the one before it was inflated. But where a deflate stream
with a right Adler-32 ends, an entry begins, unless the stream is part of something else. So a
worker looks for such a place, and scans on from there. The main process scans up to that place; if
an entry begins there for it as well, all that follows is what it would have found, since it depends
on nothing but the place. If not, or if the worker met anything unusual, it scans on by itself.
"""

from __future__ import annotations

from array import array
from functools import partial
from itertools import pairwise

from zlib_ng.zlib_ng import crc32

from packparse import late
from packparse.errors import PackError
from packparse.examine import Unusual
from packparse.inflate import ZlibError, decompressobj
from packparse.stream import PackStream
from packparse.table import OUTSIDE, EntryTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from packparse.entry import Entry
    from packparse.findings import Findings
    from packparse.gather import Gathered, Gatherer
    from packparse.limits import Limits
    from packparse.objectformat import ObjectFormat
    from packparse.reader import ReadAt
    from packparse.workers import Send, Worker, Workers

__all__ = ["REPAYS", "Ahead", "Part", "PartStream", "shares"]

_CHUNK = 1 << 20
# A pack has to have so many bytes for each process, or starting one costs more than it saves.
REPAYS = 1 << 20
# How much is looked at to tell where most entries are, and how many bytes one entry costs.
_SAMPLES = 128
_SAMPLE = 8 << 10
_ENTRY = 1_000

# How deflate streams of a pack begin: RFC 1950, a window of 32 KiB and no dictionary.
_BEGINNINGS = (b"\x78\x9c", b"\x78\x01", b"\x78\x5e", b"\x78\xda")
_STREAM = late.pattern(rb"\x78[\x01\x5e\x9c\xda]")
# A search for an entry ends after so many bytes of input, and of what they inflate to.
_SEARCHED = 32 << 20
_INFLATED = 64 << 20
_PIECE = 64 << 10
# Most entries are no longer than this, and most places where a stream seems to begin are none.
_FIRST = 4 << 10
# Entries that follow a place, and say that they inflate to more than this, are enough.
_MUCH = 4 << 20
# So many entries have to follow a place before it counts as one where entries begin.
_FOLLOWING = 16


class PartStream(PackStream):
    """The entries of a pack from ``start`` on, where one begins. It has no end, and no checksum."""

    def __init__(
        self, limits: Limits, object_format: ObjectFormat, findings: Findings, start: int
    ) -> None:
        super().__init__(limits, object_format, findings=findings, start=start)
        self.claimed = limits.objects
        self._state = self._entries

    def _hash_to(self, pos: int) -> None:
        """The main process hashes all of the pack."""


class _PartTable(EntryTable):
    """The entries of a part that begins at ``start``.

    Deltas may rest on entries before it: ``earlier`` has the numbers of these deltas, and
    ``earlier_bases`` where their bases begin.
    """

    def __init__(self, object_format: ObjectFormat, start: int) -> None:
        super().__init__(object_format)
        self.earlier = array("I")
        self.earlier_bases = array("Q")
        self._start = start

    def _base_number(self, base: int | bytes, number: int) -> int:
        if not isinstance(base, int) or base >= self._start:
            return super()._base_number(base, number)
        if base < 0:
            raise Unusual
        self.earlier.append(number)
        self.earlier_bases.append(base)
        return OUTSIDE


class Part:
    """What a worker looks at: a pack in which it begins somewhere."""

    def __init__(
        self, read_at: ReadAt, limits: Limits, object_format: ObjectFormat, findings: Findings
    ) -> None:
        self.crc = 0
        self._read_at = read_at
        self._limits = limits
        self._format = object_format
        self._findings = findings

    def stream(self, start: int) -> PartStream:
        """The entries from ``start`` on, and what is odd about them."""
        return PartStream(self._limits, self._format, self._findings.apart(), start)

    def find_entry(self, begin: int, end: int) -> int | None:
        """The first place from ``begin`` on where an entry begins, for all that can be told."""
        room = _INFLATED
        last = min(end, begin + _SEARCHED)
        while begin < last and (window := self._read_at(begin, min(_CHUNK, last - begin))):
            for found in _STREAM.finditer(window):
                place, made = self._end_of_stream(begin + found.start(), end, room)
                room -= made + _PIECE
                if place is not None and room > 0:
                    stream = self.stream(place)
                    if self._follows(stream, place, end):
                        return place
                    room -= stream.inflated
                if room < 0:
                    return None
            # The two bytes may lie on both sides of a cut.
            begin += max(1, len(window) - 1)
        return None

    def _end_of_stream(self, at: int, end: int, room: int) -> tuple[int | None, int]:
        """Where a stream at ``at`` ends, if there is one; and how much was inflated."""
        machine = decompressobj()
        made = 0
        size = _FIRST
        while made < room and (piece := self._read_at(at, min(size, end - at))):
            at += len(piece)
            size = _PIECE
            while piece and made < room:
                try:
                    made += len(machine.decompress(piece, _PIECE))
                except ZlibError:
                    return None, made
                if machine.eof:
                    return at - len(machine.unused_data), made
                piece = machine.unconsumed_tail
        return None, made

    def _follows(self, stream: PartStream, place: int, end: int) -> bool:
        """Whether entries follow from ``place`` on: some, or up to the end, or a very long one."""
        # In small pieces, since each may inflate to a thousand times as much.
        try:
            for at in range(place, min(end, place + _CHUNK), _FIRST):
                for entry in stream.feed(self._read_at(at, min(_FIRST, end - at))):
                    if stream.found == _FOLLOWING or entry.end == end:
                        return True
                if stream.inflated > _MUCH:
                    return True
        except PackError:
            return False
        return True

    def entries(self, stream: PartStream, begin: int, end: int) -> Iterator[Entry]:
        """The entries from ``begin`` to the first that ends at ``end`` or behind it.

        Sets ``crc`` to the CRC-32 of all of them. Raises PackError, and Unusual where the file ends
        before.
        """
        self.crc = 0
        while data := self._read_at(begin, _CHUNK):
            for entry in stream.feed(data):
                reached = entry.end
                yield entry
                # Not held while the next one, which may be as long, is collected.
                del entry
                if reached >= end:
                    self.crc = crc32(data[: reached - begin], self.crc)
                    return
            self.crc = crc32(data, self.crc)
            begin += len(data)
        raise Unusual


class Ahead:
    """The parts of one pack that workers scan, for the main process to take over.

    ``stream`` was fed up to ``start``, and goes to ``gatherer``; ``end`` is the offset of the
    pack's checksum. ``next`` is the offset up to which to scan before :meth:`reached` is called;
    None where no part is left.
    """

    def __init__(
        self,
        workers: Workers,
        read_at: ReadAt,
        stream: PackStream,
        gatherer: Gatherer,
        start: int,
        end: int,
    ) -> None:
        self._stream = stream
        self._gatherer = gatherer
        self._end = end
        self._part = Part(read_at, stream.limits, stream.object_format, stream.findings)
        begins = shares(read_at, start, end, workers.jobs)
        self._waiting = [
            (begin, workers.start(partial(self._scan, begin, after)))
            for begin, after in pairwise([*begins, end])
        ]
        # Where the first entry of the first part is, once it has told.
        self._place: int | None = None
        self.next = begins[0] if begins else None

    # In a worker

    def _scan(self, begin: int, end: int, send: Send) -> None:
        """Scan a part, and send what is in it; None at the first thing that is unusual."""
        try:
            place = self._part.find_entry(begin, end)
        except OSError:
            place = None
        send(place, [])
        if place is None:
            return
        stream = self._part.stream(place)
        table = _PartTable(stream.object_format, place)
        gatherer = self._gatherer.apart(table)
        try:
            gatherer.take(self._part.entries(stream, place, end))
            usual = not (gatherer.lost or stream.findings.counts() or table.end > self._end)
        except (PackError, Unusual, OSError):
            usual = False
        if not usual:
            # The main process comes to it, and says what it is.
            send(None, [])
            return
        send((stream.inflated, self._part.crc), [table.earlier, table.earlier_bases])
        gatherer.send(send)

    # In the main process

    def reached(self, offset: int) -> None:
        """Take over what can be, now that the entries up to ``offset`` are known."""
        while self.next is not None and self.next <= offset:
            self.next = self._step(offset)

    def _step(self, offset: int) -> int | None:
        _begin, worker = self._waiting[0]
        if self._place is None:
            self._place = worker.head()
            if self._place is not None and self._place > offset:
                return self._place
        end = offset
        if self._place is None:
            worker.end()
        elif self._place < offset or not self._stream.at_entry:
            worker.stop()
        else:
            end = self._take_over(worker) or offset
        self._place = None
        del self._waiting[0]
        return max(end, self._waiting[0][0]) if self._waiting else None

    def _take_over(self, worker: Worker) -> int | None:
        """Take over a part, if all is usual and no limit is passed; return where it ends."""
        stream, gatherer = self._stream, self._gatherer
        usual = worker.head()
        if usual is None:
            worker.end()
            return None
        inflated, crc = usual
        earlier, offsets = array("I"), array("Q")
        worker.column(earlier)
        worker.column(offsets)
        bases = [number for number in map(gatherer.table.number_at, offsets) if number is not None]
        head: Gathered = worker.head()
        count, end, *_rest = head
        if (
            len(bases) < len(offsets)
            or stream.found + count > stream.claimed
            or stream.inflated + inflated > stream.limits.inflated_bytes
            or not gatherer.fits(head)
        ):
            worker.stop()
            return None
        first = len(gatherer.table)
        gatherer.take_over(worker, head)
        worker.end()
        for number, base in zip(earlier, bases, strict=True):
            gatherer.table.bases[first + number] = base
        stream.skip(end, count, inflated, crc)
        return end


def shares(read_at: ReadAt, start: int, end: int, jobs: int) -> list[int]:
    """Where to cut the bytes from ``start`` to ``end``, so that each part is about as much work.

    Samples tell how many entries there are, since an entry costs as much as some thousand bytes.
    """
    jobs = min(jobs, (end - start) // REPAYS)
    if jobs < 2:
        return []
    step = max(_SAMPLE, (end - start) // _SAMPLES)
    costs = []
    for at in range(start, end, step):
        sample = read_at(at, min(_SAMPLE, end - at))
        entries = sum(map(sample.count, _BEGINNINGS))
        costs.append((1 + entries * _ENTRY / max(1, len(sample))) * min(step, end - at))
    each = share = sum(costs) / jobs
    begins: list[int] = []
    done = 0.0
    for number, cost in enumerate(costs):
        while done + cost >= share and len(begins) < jobs - 1:
            begins.append(start + max(1, int((number + (share - done) / cost) * step)))
            share += each
        done += cost
    return begins
