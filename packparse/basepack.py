"""Packs of the trusted side, whose objects thin packs may rest on and the base's trees are read in.

A base pack is read whole and every object in it is rebuilt, hashed and found complete before one is
given; a bundle does as well, for the pack in it. What is given is hashed once more, so a file that
is changed later gives no wrong object. A pack that cannot be used is no verdict on the file that is
verified: it is refused with a code of class 6, and the message names the pack.

Sans-IO like the verifier: bytes are fed in, second looks go through the caller's ``read_at``.
"""

from __future__ import annotations

from packparse import codes
from packparse.deltastore import DeltaStore
from packparse.errors import MisuseError, PackError
from packparse.findings import Findings
from packparse.intake import Intake
from packparse.limits import Limits
from packparse.objectformat import SHA1, ObjectFormat
from packparse.outside import object_id
from packparse.reader import ObjectReader
from packparse.resolve import CACHE_BUDGET, Resolver
from packparse.table import NO_ENTRY, OUTSIDE, EntryTable, IdIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from packparse.entry import Entry
    from packparse.outside import BaseReader
    from packparse.reader import ReadAt

__all__ = ["BasePack", "BasePacks"]

# As in verify.py: entries taken over at a time, and how long one may be that does not end a batch.
_BATCH = 128
_BATCH_BYTES = 64 << 10
# What reading ends in when the pack is of the other object format, which it does not say.
_OF_ANOTHER_FORMAT = (codes.BAD_DEFLATE, codes.PACK_CHECKSUM_MISMATCH, codes.TRAILING_BYTES)
# Bytes of objects that were read and may be asked for again, such as the trees of a base.
_KEPT = 8 << 20


class BasePack:
    """One pack of the trusted side: fed whole, then closed, then asked for objects by id.

    ``limits`` are those of the history preset where none are given. ``name`` stands for the pack
    in messages, ``length`` is the length of the file where it is known. All methods raise PackError
    (corruptBaseObject, cannotRead). Memory: about 60 bytes an object once it is closed.
    """

    def __init__(
        self,
        object_format: ObjectFormat = SHA1,
        limits: Limits | None = None,
        *,
        name: str = "-",
        length: int | None = None,
    ) -> None:
        self.object_format = object_format
        self.name = name
        self._limits = Limits("history") if limits is None else limits
        # Whatever git takes will do here.
        self._findings = Findings("git")
        self._table = EntryTable(object_format)
        self._deltas = DeltaStore(CACHE_BUDGET // 2)
        self._intake = Intake(
            self._limits, self._findings, object_format=object_format, length=length
        )
        self._index: IdIndex | None = None
        self._objects: ObjectReader  # set when the pack is closed

    def __len__(self) -> int:
        """How many objects the pack has."""
        return len(self._table)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the file."""
        if self._index is not None:
            message = "feed: the pack is closed"
            raise MisuseError(message)
        try:
            self._scan(data)
        except PackError as error:
            raise self._refusal(error) from None

    def close(self, read_at: ReadAt, read_base: BaseReader | None = None) -> None:
        """Say that the file is over; ``read_at(offset, length)`` reads it again, now and later.

        ``read_base`` gives what the pack itself rests on, if it is thin.
        """
        if self._index is not None:
            return
        try:
            self._intake.close()
            self._resolve(read_at, read_base)
        except PackError as error:
            raise self._refusal(error) from None
        self._objects = ObjectReader(self._table, read_at, _contents(read_base), room=0)
        self._index = IdIndex(self._table.ids, self._table.width)

    def kind(self, oid: bytes) -> int | None:
        """The kind of an object; None if the pack does not have it. ``oid`` is a raw id."""
        number = self._number(oid)
        return None if number is None else self._table.kinds[number]

    def about(self, oid: bytes) -> tuple[int, int] | None:
        """Kind and size in bytes of an object; None if the pack does not have it."""
        number = self._number(oid)
        return None if number is None else (self._table.kinds[number], self._table.sizes[number])

    def holds(self, oid: bytes) -> bool:
        """Whether the pack has an object."""
        return self._number(oid) is not None

    def read(self, oid: bytes) -> tuple[int, bytes] | None:
        """Kind and content of an object, None if the pack does not have it."""
        number = self._number(oid)
        if number is None:
            return None
        kind = self._table.kinds[number]
        try:
            content = self._objects.read(number)
        except PackError as error:
            raise self._refusal(error) from None
        if content is None or object_id(self.object_format, kind, content) != oid:
            # The CRC of each entry can be forged; this cannot.
            message = "the object is not the one of the first pass"
            raise self._refusal(PackError(codes.INPUT_CHANGED, message, oid=oid))
        return kind, bytes(content)

    def cost(self, oid: bytes) -> tuple[int, int]:
        """What it takes to read an object: the size of the largest that is made, and of all.

        Those are the object and its bases in this pack; nothing where the pack does not have it.
        """
        number = self._number(oid)
        step = NO_ENTRY if number is None else number
        largest = total = 0
        while step not in {NO_ENTRY, OUTSIDE}:
            size = self._table.sizes[step]
            largest = max(largest, size)
            total += size
            step = self._table.bases[step]
        return largest, total

    def _number(self, oid: bytes) -> int | None:
        if self._index is None:
            message = "the pack is not closed"
            raise MisuseError(message)
        return self._index.first(oid)

    def _scan(self, data: bytes) -> None:
        batch: list[Entry] = []
        for entry in self._intake.feed(data):
            batch.append(entry)
            if len(batch) == _BATCH or entry.size > _BATCH_BYTES:
                self._take(batch)
                batch.clear()
            # Not held while the next one is collected.
            del entry
        self._take(batch)

    def _take(self, batch: Sequence[Entry]) -> None:
        first = len(self._table)
        lost = self._table.extend(batch)
        if lost:
            message = "no earlier entry begins where the base of a delta should be"
            offset = self._table.offsets[lost[0]]
            raise PackError(codes.DELTA_BAD_BASE_OFFSET, message, offset=offset)
        for number, entry in enumerate(batch, first):
            if entry.base is not None and entry.data is not None:
                self._deltas.offer(number, entry.data)

    def _resolve(self, read_at: ReadAt, read_base: BaseReader | None) -> None:
        resolver = Resolver(
            self._table,
            self._limits,
            self._findings,
            read_at,
            _Nothing(),  # type: ignore[arg-type]  # it has what is used of an Examiner
            deltas=self._deltas,
            read_base=read_base,
        )
        resolver.run()
        for finding in self._findings.sorted():
            if finding.severity == codes.ERROR:
                raise PackError(
                    finding.code,
                    finding.message,
                    offset=finding.offset,
                    oid=finding.oid,
                    limit=finding.limit,
                )

    def _refusal(self, error: PackError) -> PackError:
        if error.code in {codes.CANNOT_READ, codes.CORRUPT_BASE_OBJECT}:
            # Of read_at, or of the pack that this one rests on: it says which file it speaks of.
            return error
        code, reason = codes.CORRUPT_BASE_OBJECT, str(error)
        if error.limit is not None:
            code = codes.CANNOT_READ
            seen, most = error.limit.seen, error.limit.value
            reason = f"{error.code.name}: {error.limit.name} is {seen}, and {most} at most here"
        elif error.code.klass == codes.INCOMPLETE:
            code = codes.CANNOT_READ
            reason = f"it is thin, and no base pack before it has its bases: {reason}"
        elif error.code in _OF_ANOTHER_FORMAT and self._intake.header is None:
            # A pack does not say so itself.
            reason += f" (it was read as {self.object_format.name})"
        # The offset is one in another file than the one that is verified.
        message = f"the base pack {self.name} cannot be used: {reason}"
        return PackError(code, message, oid=error.oid)


class BasePacks:
    """Several base packs, asked in order; what was read last is kept, up to ``kept`` bytes.

    What is asked for is up to the file that is verified, so its ``limits`` go for the cost: that of
    one object (rebuilt_object_bytes) and that of all that are read for it (restored_bytes). Raises
    PackError: those of BasePack, rebuiltObjectTooLarge, restoredTooMuch. A context manager: at its
    end, or with :meth:`close`, it lets go of the packs and their files.
    """

    def __init__(self, limits: Limits | None = None, *, kept: int = _KEPT) -> None:
        self.packs: list[BasePack] = []
        self._limits = Limits() if limits is None else limits
        self._cache: dict[bytes, tuple[int, bytes]] = {}
        self._room = kept
        self._longest = kept >> 2
        self._work = 0
        self._releases: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def at_close(self, release: Callable[[], object]) -> None:
        """Have ``release`` called, once, when all packs are let go of."""
        self._releases.append(release)

    def close(self) -> None:
        """Let go of all packs; no object is given any more."""
        self.packs.clear()
        self._cache.clear()
        while self._releases:
            self._releases.pop()()

    def renew(self) -> None:
        """Count the cost from nothing again: for the next file."""
        self._work = 0

    def add(self, pack: BasePack, read_at: ReadAt) -> None:
        """Close a pack that was fed whole and ask it from now on, after those added before.

        It may rest on those, if it is thin.
        """
        pack.close(read_at, self._find)
        self.packs.append(pack)

    def kind(self, oid: bytes) -> int | None:
        """The kind of an object; None if no pack has it. It fits ``Options.known``."""
        return next((kind for pack in self.packs if (kind := pack.kind(oid)) is not None), None)

    def about(self, oid: bytes) -> tuple[int, int] | None:
        """Kind and size in bytes of an object; None if no pack has it: ``Options.base_info``."""
        return next((found for pack in self.packs if (found := pack.about(oid)) is not None), None)

    def holds(self, oid: bytes) -> bool:
        """Whether a pack has an object."""
        return any(pack.holds(oid) for pack in self.packs)

    def read(self, oid: bytes) -> tuple[int, bytes] | None:
        """Kind and content of an object; None if no pack has it. It fits ``Options.read_base``."""
        given = self._cache.pop(oid, None)
        if given is None:
            self._count_cost(oid)
            given = self._find(oid)
            if given is None or len(given[1]) > self._longest:
                return given
            self._room -= _held(given)
        # The last one is the one that was used last.
        self._cache[oid] = given
        while self._room < 0:
            self._room += _held(self._cache.pop(next(iter(self._cache))))
        return given

    def _find(self, oid: bytes) -> tuple[int, bytes] | None:
        return next((given for pack in self.packs if (given := pack.read(oid))), None)

    def _count_cost(self, oid: bytes) -> None:
        """Refuse an object that is too costly, before anything is made for it."""
        limits = self._limits
        pack = next((pack for pack in self.packs if pack.holds(oid)), None)
        if pack is None:
            return
        largest, total = pack.cost(oid)
        self._work += total
        error = None
        if largest > limits.rebuilt_object_bytes:
            what = f"an object of the base pack {pack.name} takes one of"
            error = limits.passed("rebuilt_object_bytes", largest, what)
        elif self._work > limits.restored_bytes:
            what = "the objects of base packs read so far have, with their bases,"
            error = limits.passed("restored_bytes", self._work, what)
        if error is not None:
            error.oid = oid
            raise error


def _held(given: tuple[int, bytes]) -> int:
    # 250 bytes for the dictionary's slot and the objects themselves.
    return len(given[1]) + 250


class _Nothing:
    """In the place of an Examiner: nothing is looked for in the trusted side's objects."""

    def __call__(self, *_object: object) -> None:
        """Look into an object."""

    def tree_links(self, _content: bytes | bytearray) -> None:
        """The links of a tree."""


def _contents(read_base: BaseReader | None) -> Callable[[bytes], bytes | None]:
    def content(oid: bytes) -> bytes | None:
        given = None if read_base is None else read_base(oid)
        return None if given is None else given[1]

    return content
