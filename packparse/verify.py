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
from packparse.bundle import BundleHeader
from packparse.entry import BLOB, Entry
from packparse.errors import MisuseError, PackError
from packparse.inspection import Inspection
from packparse.limits import Limits
from packparse.objects.lfs import VERSION
from packparse.policy import Policy
from packparse.reader import ObjectReader
from packparse.resolve import CACHE_BUDGET, DeltaStore, Resolver
from packparse.stream import PackStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from packparse.objectformat import ObjectFormat
    from packparse.outside import BaseReader, BaseSize, Known
    from packparse.reader import ReadAt
    from packparse.report import Report

__all__ = ["Options", "Verifier", "verify_bytes"]

# Entries taken over at a time; a longer one ends the batch, so that it is not held for others.
_BATCH = 128
_BATCH_BYTES = 64 << 10


class Options:
    """How to verify.

    ``object_format`` None means: what a bundle or the names of loose objects say, sha1 for a pack.
    ``tips`` (names to raw ids) and ``bases`` (raw ids that the other side has) are added to those
    of a bundle's header.
    With both, the file has to be exactly the range between them. ``known`` tells what the producer
    was given; ``read_base`` gives objects of the other side: the bases of a thin pack, and the
    trees that the new ones are compared with; ``base_size`` tells their size where that is cheaper.
    ``policy`` sets severities, and says which paths and
    identities are allowed; its limits are the caller's to put into ``limits``. ``cache_budget`` is
    in bytes; no verdict depends on it.
    """

    def __init__(  # noqa: PLR0913 - all are named, and have a default
        self,
        *,
        rules: str = "candidate",
        limits: Limits | None = None,
        object_format: ObjectFormat | None = None,
        tips: Mapping[bytes, bytes] | None = None,
        bases: frozenset[bytes] = frozenset(),
        known: Known | None = None,
        read_base: BaseReader | None = None,
        base_size: BaseSize | None = None,
        policy: Policy | None = None,
        cache_budget: int = CACHE_BUDGET,
    ) -> None:
        self.rules = rules
        self.policy = Policy() if policy is None else policy
        self.limits = Limits() if limits is None else limits
        self.object_format = object_format
        self.tips = dict(tips or {})
        if not all(isinstance(part, bytes) for item in self.tips.items() for part in item):
            message = "tips: names and ids are bytes"
            raise MisuseError(message)
        self.bases = bases
        self.known = known
        self.read_base = read_base
        self.base_size = base_size
        self.cache_budget = cache_budget


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
        self._stream: PackStream | None = None
        self._deltas = DeltaStore(options.cache_budget // 2)
        self._lost = 0
        if length is not None and length > self._limits.pack_bytes:
            self.refuse(self._limits.passed("pack_bytes", length, "the file has"))

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
            self._route(data if len(data) <= within else data[:within])
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

    def _route(self, data: bytes) -> None:
        if self._stream is not None:
            self._scan(self._stream, data)
        elif self._header is not None:
            self._read_header(self._header, data)
        else:
            self._recognise(data)

    def _recognise(self, data: bytes) -> None:
        """Take the first bytes: only a bundle begins with #, and anything else is no pack."""
        if data[:1] == b"#":
            self._header = BundleHeader(self._limits, self._findings)
            self._read_header(self._header, data)
        elif data:
            self._scan(self._open_stream(self._format, 0), data)

    def _open_stream(self, object_format: ObjectFormat, start: int) -> PackStream:
        self._prepare(object_format)
        self._stream = PackStream(
            self._limits,
            object_format,
            findings=self._findings,
            start=start,
            length=self._length,
        )
        return self._stream

    def _read_header(self, header: BundleHeader, data: bytes) -> None:
        rest = header.feed(data)
        if rest is None:
            return
        asked = self.options.object_format
        if asked is not None and asked is not header.object_format:
            message = f"the bundle is {header.object_format.name}, {asked.name} was asked for"
            raise PackError(codes.OBJECT_FORMAT_MISMATCH, message, offset=0)
        stream = self._open_stream(header.object_format, header.length)
        self._scan(stream, rest)

    def _scan(self, stream: PackStream, data: bytes) -> None:
        batch: list[Entry] = []
        width = self._format.width
        most = 0
        try:
            for entry in stream.feed(data):
                batch.append(entry)
                # No object has more links than ids fit into it. So only the last entry of a batch
                # can pass their limit, and no entry after that one counts.
                most += entry.size // width
                if (
                    len(batch) == _BATCH
                    or entry.size > _BATCH_BYTES
                    or self._links.total + most > self._limits.links
                ):
                    full, batch, most = batch, [], 0
                    self._take(full)
                    # Not held while the next long entry is collected.
                    del full, entry
        finally:
            # Also what came before a refusal: its findings count.
            self._take(batch)

    def _take(self, batch: list[Entry]) -> None:
        first = len(self.table)
        lost = self.table.extend(batch)
        for number, entry in enumerate(batch, first):
            if entry.data is None:
                continue
            if entry.kind == BLOB:
                if entry.data.startswith(VERSION):
                    self._examine(number, BLOB, entry.data)
            elif entry.base is None:
                self._examine(number, entry.kind, entry.data)
            elif number not in lost:
                self._deltas.offer(number, entry.data)
            else:
                self._lose(entry)

    def _lose(self, entry: Entry) -> None:
        self._lost += 1
        message = "no earlier entry begins where the base should be"
        self._findings.add(codes.DELTA_BAD_BASE_OFFSET, message, offset=entry.offset)

    def _close(self) -> None:
        if self._length is not None and self._fed < self._length:
            raise self._changed()
        if self._stream is not None:
            if self._header is not None and self._fed == self._header.length:
                message = "no pack follows the header"
                raise PackError(codes.BUNDLE_MISSING_PACK, message, offset=self._fed)
            self._stream.close()
        elif self._header is not None:
            self._header.close()
        else:
            raise PackError(codes.TRUNCATED, "the input is empty", offset=0)

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
            deltas=self._deltas,
            read_base=self._read_base if self._outside.readable else None,
            budget=self.options.cache_budget // 2,
        )
        resolver.broken = self._lost
        resolver.on_progress = self.on_progress
        try:
            resolver.run()
        finally:
            self.report.delta_depth = resolver.depth
            self.report.rebuilt_bytes = resolver.rebuilt_bytes
            self.report.copied_bytes = resolver.copied_bytes

    def _read_base(self, oid: bytes) -> tuple[int, bytes] | None:
        """A base of deltas from outside; it must be among what the producer was given."""
        given = self._outside.read(oid)
        if given is not None and self._outside.listed and self._outside.kind(oid) is None:
            message = "a delta rests on an object of the repository that was not given"
            self._findings.add(checks.SMUGGLED_BASE, message, oid=oid)
        return given

    def _content_outside(self, oid: bytes) -> bytes | None:
        given = self._outside.read(oid)
        return None if given is None else given[1]

    def _fill_report(self) -> None:
        super()._fill_report()
        report = self.report
        unread = self._findings.count(codes.CANNOT_READ) > 0
        report.bytes = self._fed if self._length is None and not unread else self._length
        if self._fed == report.bytes:
            report.sha256 = self._digest.hexdigest()
        if self._header is not None and self._header.version:
            report.kind, report.object_format = "bundle", self._header.object_format.name
        elif self._stream is not None and self._stream.version:
            report.kind, report.object_format = "pack", self._format.name
        if self._stream is not None:
            report.inflated_bytes = self._stream.inflated
            if self._stream.checksum is not None:
                report.pack_checksum = self._stream.checksum.hex()
