"""Verifying one file, as a numbered checklist. The same numbers stand in docs/architecture.md.

    1  the size of the file, before anything is read
    2  a bundle's header, where there is one
    3  the pack's header, and its count against the limit
    4  every entry: header, declared size, deflate stream; ids, grammar and links of whole objects
    5  the end of the pack: checksum, nothing after it, count
    6  every delta: rebuilt, with its id, grammar and links
    7  no object twice
    8  the target of every link is there, with the kind it should have
    9  every tip is there, and branches are commits
    10 special files and the targets of symbolic links
    11 the range from base to tip: descent, and nothing in the pack but what it reaches
    12 submodules beside .gitmodules; what a checkout would take: files, bytes, depth, paths
    13 what changed from the base: paths by policy, and what is inherited
    14 every finding gets its path

Sans-IO: bytes are fed in, and later looks read through the caller's ``read_at``. Steps 8 to 13 are
left out where objects are lost to an earlier finding, since what they could say would follow from
it; judge.py has them.
"""

from __future__ import annotations

import hashlib

from packparse import checks, codes
from packparse.deltastore import DeltaStore
from packparse.entry import COMMIT
from packparse.errors import MisuseError, PackError
from packparse.gather import Gatherer
from packparse.inspection import Inspection
from packparse.intake import Intake
from packparse.options import Options
from packparse.reader import ObjectReader
from packparse.resolve import Resolver, check_base_size
from packparse.table import split_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.ahead import Ahead
    from packparse.objectformat import ObjectFormat
    from packparse.reader import ReadAt
    from packparse.report import Report
    from packparse.stream import PackStream
    from packparse.workers import Workers

__all__ = ["Verifier", "verify_bytes"]


def verify_bytes(data: bytes, options: Options | None = None, *, name: str = "-") -> Report:
    """Verify a whole file that is in memory."""
    verifier = Verifier(options or Options(), name=name, length=len(data))
    verifier.feed(data)
    return verifier.finish(lambda offset, length: data[offset : offset + length])


class Verifier(Inspection):
    """Verifies one file that is fed in pieces; never raises for what the bytes are.

    ``length`` is the length of the file where it is known before reading.
    """

    def __init__(self, options: Options, *, name: str = "-", length: int | None = None) -> None:
        super().__init__(options, name)
        self._length = length
        self._fed = 0
        self._digest = hashlib.sha256()
        self._intake = Intake(
            self._limits,
            self._findings,
            object_format=options.object_format,
            length=length,
            opened=self._open,
        )
        self._gatherer = self._gather()
        self._scanned = 0
        # Raw ids of objects outside the file that deltas of it rest on.
        self.outside_bases: set[bytes] = set()
        self._ahead: Ahead | None = None
        self._shared: tuple[Workers, ReadAt] | None = None
        if length is not None and length > self._limits.pack_bytes:
            self.refuse(self._limits.passed("pack_bytes", length, "the file has"))

    @property
    def pack_offset(self) -> int:
        """Where the pack begins in the file: behind a bundle's header."""
        return 0 if self._intake.header is None else self._intake.header.length

    def parents(self) -> dict[bytes, tuple[bytes, ...]]:
        """The parents of the commits of the file that have some, all by raw ids."""
        column = self._links.columns[COMMIT]
        table = self.table
        return {
            table.oid(number): split_ids(column.row(row), column.width)
            for row, number in enumerate(column.sources)
            if table.kinds[number] == COMMIT
        }

    def share(self, workers: Workers, read_at: ReadAt) -> None:
        """Let other processes do a part of the work, which read the file through ``read_at``.

        To be called before the first byte is fed. The length of the file has to be known, and the
        report is the same.
        """
        if self._fed or self._length is None:
            message = "share: the length of the file is not known, or bytes have been fed"
            raise MisuseError(message)
        self._shared = workers, read_at

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes of the file."""
        data = data if isinstance(data, bytes) else bytes(data)
        room = self._limits.pack_bytes - self._fed
        rest = len(data) if self._length is None else self._length - self._fed
        self._fed += len(data)
        self._digest.update(data)
        if self.refused:
            return
        try:
            # What is within the bounds comes first, so that any cut of the input finds the same.
            within = min(room, rest)
            self._scan(data if len(data) <= within else data[:within])
            self._progress("reading", self._fed, self._length)
            if len(data) > rest:
                raise self._changed()
            if len(data) > room:
                least = self._limits.pack_bytes + 1
                raise self._limits.passed("pack_bytes", least, "the file has at least")
        except PackError as error:
            self.refuse(error)

    def finish(self, read_at: ReadAt) -> Report:
        """Say that the file is over; ``read_at(offset, length)`` reads it again."""
        if not self.refused:
            try:
                self._close()
                self._resolve(read_at)
                objects = ObjectReader(self.table, read_at, self._content_outside)
                self._check_whole(objects, self.table.unresolved)
            except PackError as error:
                self.refuse(error)
        self._fill_report()
        return self.report

    # Steps 1 to 5

    def _gather(self) -> Gatherer:
        return Gatherer(
            self.table,
            self._examine,
            DeltaStore(self.options.cache_budget // 2),
            limits=self._limits,
            findings=self._findings,
        )

    def _open(self, object_format: ObjectFormat) -> None:
        self._header = self._intake.header
        self._prepare(object_format)
        self._gatherer = self._gather()

    def _scan(self, data: bytes) -> None:
        while data:
            ahead = self._ahead
            room = len(data) if ahead is None or ahead.next is None else ahead.next - self._scanned
            piece, data = data[:room], data[room:]
            # Before the gatherer is looked up: the header of a bundle leads to another one.
            entries = self._intake.feed(piece)
            self._gatherer.take(entries)
            self._scanned += len(piece)
            if self._ahead is not None:
                self._ahead.reached(self._scanned)
            elif self._shared is not None and self._intake.stream is not None:
                self._look_ahead(*self._shared, self._intake.stream)

    def _look_ahead(self, workers: Workers, read_at: ReadAt, stream: PackStream) -> None:
        from packparse.ahead import REPAYS, Ahead

        end = (self._length or 0) - self._format.width
        if stream.claimed and end - self._scanned > REPAYS:
            self._ahead = Ahead(workers, read_at, stream, self._gatherer, self._scanned, end)

    def _close(self) -> None:
        if self._length is not None and self._fed < self._length:
            raise self._changed()
        self._intake.close()

    def _changed(self) -> PackError:
        now = "fewer" if self._fed < (self._length or 0) else "more"
        message = f"the file had {self._length} bytes when it was opened, and now has {now}"
        return PackError(codes.INPUT_CHANGED, message)

    # Steps 6 to 14

    def _resolve(self, read_at: ReadAt) -> None:
        if not self.table.unresolved:
            return
        resolver = Resolver(
            self.table,
            self._limits,
            self._findings,
            read_at,
            self._examine,
            deltas=self._gatherer.deltas,
            read_base=self._read_base if self._outside.readable else None,
            budget=self.options.cache_budget // 2,
        )
        resolver.broken = self._gatherer.lost
        resolver.on_progress = self.on_progress
        try:
            resolver.run(None if self._shared is None else self._shared[0])
        finally:
            self.report.delta_depth = resolver.depth
            self.report.rebuilt_bytes = resolver.rebuilt_bytes
            self.report.copied_bytes = resolver.copied_bytes

    def _read_base(self, oid: bytes) -> tuple[int, bytes] | None:
        """A base of deltas from outside; it must be among what the producer was given."""
        outside = self._outside
        if outside.hides(oid):
            message = "a delta rests on an object of the repository that was not given"
            raise PackError(checks.SMUGGLED_BASE, message, oid=oid)
        if outside.sized:
            check_base_size(outside.size(oid) or 0, self._limits)
        given = outside.read(oid)
        self.outside_bases.add(oid)
        return given

    def _content_outside(self, oid: bytes) -> bytes | None:
        given = self._outside.read(oid)
        return None if given is None else given[1]

    def _fill_report(self) -> None:
        # Also one that is not whole.
        self._header = self._intake.header
        super()._fill_report()
        report = self.report
        unread = self._findings.count(codes.CANNOT_READ) > 0
        report.bytes = self._fed if self._length is None and not unread else self._length
        if self._fed == report.bytes:
            report.sha256 = self._digest.hexdigest()
        if self._header is not None and self._header.version:
            report.kind, report.object_format = "bundle", self._header.object_format.name
        stream = self._intake.stream
        if stream is None:
            return
        if report.kind is None and stream.version:
            report.kind, report.object_format = "pack", self._format.name
        report.inflated_bytes = stream.inflated
        if stream.checksum is not None:
            report.pack_checksum = stream.checksum.hex()
