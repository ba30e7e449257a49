"""Verifying one file, as a numbered checklist. The same numbers stand in docs/architecture.md.

    1  the size of the file, before anything is read
    2  a bundle's header, where there is one
    3  the pack's header, and its count against the limit
    4  every entry: header, declared size, deflate stream; ids and links of whole objects
    5  the end of the pack: checksum, nothing after it, count
    6  every delta: rebuilt, with its id and its links
    7  no object twice
    8  the target of every link is there, with the kind it should have
    9  every tip is there, and branches are commits

Sans-IO: bytes are fed in, and the second look of step 6 reads through the caller's ``read_at``.
Steps 8 and 9 are left out where objects are lost to an earlier finding, since what they could say
would follow from it.
"""

from __future__ import annotations

import hashlib

from packparse import codes
from packparse.bundle import BundleHeader
from packparse.connectivity import check_links, checked_kind
from packparse.entry import BLOB, COMMIT, KIND_NAMES, Entry
from packparse.errors import MisuseError, PackError
from packparse.escape import shorten
from packparse.examine import Examiner
from packparse.findings import Findings
from packparse.graph import LinkTable
from packparse.limits import Limits
from packparse.locate import Locator
from packparse.objectformat import SHA1, ObjectFormat
from packparse.reader import ObjectReader
from packparse.report import Report
from packparse.resolve import CACHE_BUDGET, DeltaStore, Resolver
from packparse.stream import PackStream
from packparse.table import EntryTable, IdIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from packparse.connectivity import Known
    from packparse.reader import ReadAt
    from packparse.resolve import BaseReader

__all__ = ["Options", "Verifier", "verify_bytes"]

# Entries taken over at a time; a longer one ends the batch, so that it is not held for others.
_BATCH = 128
_BATCH_BYTES = 64 << 10


class Options:
    """How to verify.

    ``object_format`` None means: what a bundle says, sha1 for a pack. ``tips`` (names to raw ids)
    and ``bases`` (raw ids that the other side has) are added to those of a bundle's header.
    ``known`` tells of objects outside the file; ``read_base`` gives the bases of a thin pack.
    ``cache_budget`` is in bytes; no verdict depends on it.
    """

    def __init__(
        self,
        *,
        rules: str = "candidate",
        limits: Limits | None = None,
        object_format: ObjectFormat | None = None,
        tips: Mapping[bytes, bytes] | None = None,
        bases: frozenset[bytes] = frozenset(),
        known: Known | None = None,
        read_base: BaseReader | None = None,
        cache_budget: int = CACHE_BUDGET,
    ) -> None:
        self.rules = rules
        self.limits = Limits() if limits is None else limits
        self.object_format = object_format
        self.tips = dict(tips or {})
        if not all(isinstance(part, bytes) for item in self.tips.items() for part in item):
            message = "tips: names and ids are bytes"
            raise MisuseError(message)
        self.bases = bases
        self.known = known
        self.read_base = read_base
        self.cache_budget = cache_budget


def verify_bytes(data: bytes, options: Options | None = None, *, name: str = "-") -> Report:
    """Verify a whole file that is in memory."""
    verifier = Verifier(options or Options(), name=name, length=len(data))
    verifier.feed(data)
    return verifier.finish(lambda offset, length: data[offset : offset + length])


class Verifier:
    """Verifies one file that is fed in pieces; never raises for what the bytes are.

    ``length`` is the length of the file where it is known before reading. ``refused`` tells, at
    any time, whether going on can only confirm a refusal.
    """

    def __init__(self, options: Options, *, name: str = "-", length: int | None = None) -> None:
        self.options = options
        self.refused = False
        self._limits = options.limits
        self._findings = Findings(options.rules)
        self.report = Report(name, options.rules, options.limits, self._findings)
        self._length = length
        self._fed = 0
        self._digest = hashlib.sha256()
        self._header: BundleHeader | None = None
        self._stream: PackStream | None = None
        self._prepare(options.object_format or SHA1)
        self._deltas = DeltaStore(options.cache_budget // 2)
        self._lost = 0
        # Tips and bases: those asked for, and those of a bundle's header.
        self._tips = dict(options.tips)
        self._bases = set(options.bases)
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
                self._check_whole(read_at)
            except PackError as error:
                self.refuse(error)
        return self._fill_report()

    def _prepare(self, object_format: ObjectFormat) -> None:
        self._format = object_format
        self.table = EntryTable(object_format)
        self._links = LinkTable(object_format.width)
        self._examine = Examiner(self.table, self._links, self._limits, self._findings)

    def refuse(self, error: PackError) -> None:
        """End the work on this file with a finding."""
        self.refused = True
        self._findings.add_error(error)

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
        self._tips = {**header.refs, **self._tips}
        self._bases |= header.prerequisites.keys()
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
            if entry.data is None or entry.kind == BLOB:
                continue
            if entry.base is None:
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

    # Steps 6 to 9

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
            read_base=self.options.read_base,
            budget=self.options.cache_budget // 2,
        )
        resolver.broken = self._lost
        try:
            resolver.run()
        finally:
            self.report.delta_depth = resolver.depth
            self.report.rebuilt_bytes = resolver.rebuilt_bytes
            self.report.copied_bytes = resolver.copied_bytes

    def _check_whole(self, read_at: ReadAt) -> None:
        index = IdIndex(self.table.ids, self.table.width)
        self._check_duplicates(index)
        if self.table.unresolved:
            message = f"links were not checked; objects that are not known: {self.table.unresolved}"
            self._findings.add(codes.LINKS_NOT_CHECKED, message)
            return
        self._check_prerequisites()
        self._check_links(read_at)
        self._check_tips(index)

    def _check_duplicates(self, index: IdIndex) -> None:
        table = self.table
        for number in index.repeated():
            if table.is_resolved(number):
                message = f"the same {KIND_NAMES[table.kinds[number]]} is in the pack already"
                offset, oid = table.offsets[number], table.oid(number)
                self._findings.add(codes.DUPLICATE_OBJECT, message, offset=offset, oid=oid)

    def _check_links(self, read_at: ReadAt) -> None:
        objects = ObjectReader(self.table, read_at, self._read_outside)
        unchecked = check_links(
            self.table,
            self._links,
            self._findings,
            known=self._known,
            open_ended=bool(self._bases) and self.options.known is None,
            locator=Locator(self.table, self._links, objects),
        )
        self.report.unchecked_links = unchecked
        sent = self._bases - self.options.bases
        if unchecked or (sent and self.options.known is None):
            message = (
                f"prerequisites are the sender's word; other links that leave the file: {unchecked}"
            )
            self._findings.add(codes.UNCHECKED_LINKS, message)

    def _known(self, oid: bytes) -> int | None:
        if oid in self.options.bases:
            return COMMIT
        if self.options.known is not None:
            return checked_kind(self.options.known(oid))
        return COMMIT if oid in self._bases else None

    def _read_outside(self, oid: bytes) -> bytes | None:
        given = None if self.options.read_base is None else self.options.read_base(oid)
        return None if given is None else given[1]

    def _check_prerequisites(self) -> None:
        """The prerequisites of a bundle are the sender's word; the trusted side knows better."""
        own = self._header.prerequisites if self._header is not None else {}
        if self.options.known is None:
            return
        for oid in own:
            kind = self._known(oid)
            if kind not in (0, COMMIT):
                message = "a prerequisite is no commit that the other side has"
                self._findings.add(codes.MISSING_PREREQUISITE, message, oid=oid)

    def _check_tips(self, index: IdIndex) -> None:
        for name, oid in self._tips.items():
            number = index.first(oid)
            kind = self._known(oid) if number is None else self.table.kinds[number]
            if kind is None:
                message = f"{shorten(name)} names what is neither in the pack nor a prerequisite"
                self._findings.add(codes.MISSING_TIP, message, oid=oid)
            elif name.startswith(b"refs/heads/") and kind not in (0, COMMIT):
                message = f"{shorten(name)} names a {KIND_NAMES[kind]}"
                self._findings.add(codes.BRANCH_NOT_COMMIT, message, oid=oid)

    def _fill_report(self) -> Report:
        report = self.report
        unread = self._findings.count(codes.CANNOT_READ) > 0
        report.bytes = self._fed if self._length is None and not unread else self._length
        if self._fed == report.bytes:
            report.sha256 = self._digest.hexdigest()
        report.prerequisites = sorted(self._bases)
        report.tips = self._tips
        if self._header is not None and self._header.version:
            report.kind, report.object_format = "bundle", self._header.object_format.name
        elif self._stream is not None and self._stream.version:
            report.kind, report.object_format = "pack", self._format.name
        if self._stream is not None:
            report.inflated_bytes = self._stream.inflated
            if self._stream.checksum is not None:
                report.pack_checksum = self._stream.checksum.hex()
        table = self.table
        report.counts = {"objects": len(table)}
        report.counts |= {f"{name}s": table.count(kind) for kind, name in KIND_NAMES.items()}
        report.counts["deltas"] = table.deltas
        return report
