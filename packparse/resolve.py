"""Rebuilding every object that is stored as a delta, in bounded memory and linear time.

Each base that is no delta is the root of a family (see chains.py). A family is walked depth first,
so that an object is in memory while its deltas are rebuilt and, as a rule, built once. Objects on
the way down that still have deltas to serve are kept up to a budget; past it every second one is
let go, and built again from the nearest one above that is left. Nothing recurses.

Memory: the budget, and the base, delta and result at work, which is three times the largest object
rebuilt at most. What is counted against limits does not depend on the budget, but for two limits on
work that is done again.
"""

from __future__ import annotations

from array import array
from operator import add, le

from packparse import checks, codes
from packparse.chains import Chains
from packparse.delta import read_sizes, rebuild
from packparse.entry import BLOB, TREE
from packparse.errors import PackError
from packparse.examine import SMALL_TREE
from packparse.outside import checked_object, object_id
from packparse.reader import EntryReader
from packparse.signs import POINTER
from packparse.table import NO_ENTRY, OUTSIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from packparse.deltastore import DeltaStore
    from packparse.examine import Examiner
    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.objects.tree import TreeLinks
    from packparse.outside import BaseReader
    from packparse.reader import ReadAt
    from packparse.table import EntryTable
    from packparse.workers import Workers

__all__ = ["CACHE_BUDGET", "Resolver", "check_base_size"]

# Half for what is rebuilt and half for the deltas kept from the first pass.
CACHE_BUDGET = 32 << 20

_LISTED = 20
# Findings on one delta that end the whole run.
_FATAL = frozenset(
    (
        codes.REBUILT_TOO_MUCH,
        codes.DELTAS_TOO_LONG,
        codes.COPIED_TOO_MUCH,
        codes.INPUT_CHANGED,
        codes.CORRUPT_BASE_OBJECT,
    )
)


# What is wrong with a base by itself.
_UNUSABLE = frozenset((codes.REBUILT_OBJECT_TOO_LARGE, checks.SMUGGLED_BASE))


class _Step:
    """One object on the way from a root down to the delta at work."""

    __slots__ = ("data", "depth", "entry", "links", "next_kid", "oid")

    def __init__(
        self, entry: int, oid: bytes, depth: int, next_kid: int, data: bytes | bytearray
    ) -> None:
        self.entry = entry
        self.oid = oid
        self.depth = depth
        self.next_kid = next_kid
        self.data: bytes | bytearray | None = data
        self.links: TreeLinks | None = None

    def weight(self) -> int:
        """About how many bytes are held for this step."""
        size = 0 if self.data is None else len(self.data)
        return size if self.links is None else size << 1

    def let_go(self) -> None:
        """Hold nothing more; the data can be made again."""
        self.data = self.links = None


class Resolver:
    """Rebuilds the deltas of one pack and has each commit, tree and tag looked into by ``examine``.

    ``read_base`` supplies bases from outside the pack (a thin pack); what it gives is hashed
    before it is used. It may raise PackError (smuggledBase, rebuiltObjectTooLarge) of one that no
    delta may rest on. Bad deltas become findings; ``broken`` counts the entries that are lost to
    them. Raises PackError where going on makes no sense: a limit on all deltas together, a file
    that changed.
    """

    def __init__(
        self,
        table: EntryTable,
        limits: Limits,
        findings: Findings,
        read_at: ReadAt,
        examine: Examiner,
        *,
        deltas: DeltaStore,
        read_base: BaseReader | None = None,
        budget: int = CACHE_BUDGET // 2,
    ) -> None:
        self.depth = 0
        self.rebuilt_bytes = 0
        self.copied_bytes = 0
        self.broken = 0
        self.on_progress: Callable[[str, int, int | None], None] | None = None
        self._table = table
        self._format = table.object_format
        self._limits = limits
        self._findings = findings
        self._entries = EntryReader(table, read_at)
        self.examiner = examine
        self.deltas = deltas
        self._read_base = read_base
        self._budget = budget
        self.chains = Chains(table)
        self._path: list[_Step] = []
        self._delta_bytes = 0
        self._restored_bytes = 0
        # Weight of all steps but the last one.
        self._held = 0

    def run(self, workers: Workers | None = None) -> None:
        """Rebuild all that can be, then report what waits for a base that is nowhere."""
        table = self._table
        # Deltas come in with the family of their base.
        roots = (
            number
            for number in self.chains.possible_bases()
            if table.bases[number] == NO_ENTRY and table.is_resolved(number)
        )
        if workers is None:
            self.families(roots)
        else:
            from packparse.share import SharedFamilies

            SharedFamilies(self, table, workers).rebuild(array("I", roots))
        if table.unresolved:
            self._serve_from_outside()
        if table.unresolved and not self.broken:
            self._report_missing()

    def families(self, roots: Iterable[int]) -> None:
        """Rebuild the families of these entries, which are no deltas."""
        table = self._table
        for number in roots:
            self._try_family(number)
            if self.on_progress is not None:
                done = table.deltas - table.unresolved
                self.on_progress("rebuilding", done, table.deltas)

    def work_apart(self) -> Examiner:
        """In a worker: begin with nothing done, and no links; return what looks into objects."""
        self.on_progress = None
        self.depth = self.broken = 0
        self.rebuilt_bytes = self.copied_bytes = self._delta_bytes = self._restored_bytes = 0
        self.examiner = self.examiner.apart(self._table)
        return self.examiner

    def totals(self) -> tuple[int, ...]:
        """What counts against limits on all deltas together; and the depth, which comes last."""
        return (
            self.rebuilt_bytes,
            self.copied_bytes,
            self._delta_bytes,
            self._restored_bytes,
            self.depth,
        )

    def fits(self, totals: Sequence[int]) -> bool:
        """Whether as much again passes no limit."""
        limits = self._limits
        most = (
            limits.rebuilt_bytes, limits.copied_bytes, limits.delta_bytes, limits.restored_bytes
        )  # fmt: skip
        # Without the depth, which each delta was held to.
        return all(map(le, map(add, self.totals(), totals), most))

    def add(self, totals: Sequence[int]) -> None:
        """Count what another one has done."""
        self.rebuilt_bytes += totals[0]
        self.copied_bytes += totals[1]
        self._delta_bytes += totals[2]
        self._restored_bytes += totals[3]
        self.depth = max(self.depth, totals[4])

    def _try_family(self, number: int) -> None:
        try:
            self._family(number, self._table.oid(number), self._table.kinds[number], None)
        except PackError as error:
            self._lose(error)

    def _lose(self, error: PackError) -> None:
        """Report a base on which no delta may rest: these are lost, and no others."""
        if error.code not in _UNUSABLE:
            raise error
        self._findings.add_error(error)
        self.broken += 1

    def _family(self, number: int, oid: bytes, kind: int, data: bytes | bytearray | None) -> None:
        kid = self.chains.first_kid(number, oid)
        if kid == NO_ENTRY:
            return
        if data is None:
            data = self._read_root(number, oid, kind)
        step = _Step(number, oid, 0, kid, data)
        if kind == TREE and number != OUTSIDE and len(data) > SMALL_TREE:
            step.links = self.examiner.tree_links(data)
        # From here on the path alone holds it, and may let it go.
        data = None
        path = self._path
        path.append(step)
        following = self.chains.following
        while path:
            step = path[-1]
            kid = step.next_kid
            if kid == NO_ENTRY:
                self._leave()
            else:
                # The base before this one is let go of first: restoring needs the room.
                base = step.data
                if base is None:
                    base = self._restore()
                step.next_kid = following[kid]
                self._serve(kid, kind, step, base)

    def _serve(self, kid: int, kind: int, step: _Step, base: bytes | bytearray) -> None:
        """Rebuild one delta on the object of ``step``, and go down to it if others rest on it."""
        depth = step.depth + 1
        rebuilt = self._rebuild(kid, base, depth)
        if rebuilt is None:
            return
        content, delta, start = rebuilt
        oid = object_id(self._format, kind, content)
        self._table.resolve(kid, kind, oid, step.entry, len(content))
        links = None
        if step.links is not None:
            links = self.examiner(kid, kind, content, (base, step.links, delta, start))
        elif kind != BLOB or content.startswith(POINTER):
            links = self.examiner(kid, kind, content)
        below = self.chains.first_kid(kid, oid)
        if below != NO_ENTRY:
            self._hold(step)
            deeper = _Step(kid, oid, depth, below, content)
            deeper.links = links
            self._path.append(deeper)

    def _leave(self) -> None:
        self._path.pop()
        if self._path and self._path[-1].data is not None:
            self._held -= self._path[-1].weight()

    def _hold(self, step: _Step) -> None:
        """Keep the content of a step that is no longer the last one, within the budget."""
        if step.next_kid == NO_ENTRY:
            step.let_go()
            return
        self._held += step.weight()
        while self._held > self._budget:
            # Only families of large objects that branch often, or by reference, come here. Every
            # second one: the way back from the nearest that is left is shorter than from the root.
            for shallow in [held for held in self._path if held.data is not None][::2]:
                self._held -= shallow.weight()
                shallow.let_go()

    def _restore(self) -> bytes | bytearray:
        """Make the content of the last step again, from the nearest step that still has its own."""
        path = self._path
        last = at = len(path) - 1
        while at > 0 and path[at].data is None:
            at -= 1
        data = path[at].data
        if data is None:
            data = self._root(path[at])
            self._count_restored(len(data), path[last].next_kid)
            if at < last:
                path[at].data = data
                self._hold(path[at])
        while at < last:
            at += 1
            _base_size, size, start, delta = self._delta(path[at].entry)
            self._count_restored(size, path[at].entry)
            data, _copied = rebuild(delta, start, data, size)
            if at < last:
                path[at].data = data
                self._hold(path[at])
        path[last].data = data
        return data

    def _read_root(self, number: int, oid: bytes, kind: int) -> bytes | bytearray:
        """The content of a base that is no delta, which must still have its id."""
        try:
            check_base_size(self._entries.size(number), self._limits)
        except PackError as error:
            raise error.at(self._table.offsets[number], oid) from None
        data = self._entries.read(number)
        # The CRC can be forged; this cannot.
        if object_id(self._format, kind, data) != oid:
            message = "the object is not the one of the first pass"
            offset = self._table.offsets[number]
            raise PackError(codes.INPUT_CHANGED, message, offset=offset, oid=oid)
        return data

    def _root(self, step: _Step) -> bytes | bytearray:
        if step.entry != OUTSIDE:
            return self._read_root(step.entry, step.oid, self._table.kinds[step.entry])
        given = self._from_outside(step.oid)
        if given is None:
            message = "the trusted side gave the object once and does not give it again"
            raise PackError(codes.CORRUPT_BASE_OBJECT, message, oid=step.oid)
        return given[1]

    def _delta(self, number: int) -> tuple[int, int, int, bytes | bytearray]:
        delta = self.deltas.take(number)
        if delta is None:
            delta = self._entries.read(number)
        self._delta_bytes += len(delta)
        if self._delta_bytes > self._limits.delta_bytes:
            what = "the deltas run so far have"
            error = self._limits.passed("delta_bytes", self._delta_bytes, what)
            raise error.at(self._table.offsets[number])
        return *read_sizes(delta), delta

    def _count_restored(self, size: int, number: int) -> None:
        self._restored_bytes += size
        if self._restored_bytes > self._limits.restored_bytes:
            what = "the bases made again so far have"
            error = self._limits.passed("restored_bytes", self._restored_bytes, what)
            raise error.at(self._table.offsets[number])

    def _rebuild(
        self, kid: int, base: bytes | bytearray, depth: int
    ) -> tuple[bytes | bytearray, bytes | bytearray, int] | None:
        """The content of a delta's object, the delta, and where its instructions begin.

        None where it is bad: then a finding says so.
        """
        limits = self._limits
        try:
            base_size, size, start, delta = self._delta(kid)
            # Before anything is made from the sizes that the delta claims.
            made = self.rebuilt_bytes + size
            if (
                base_size != len(base)
                or depth > limits.delta_depth
                or size > limits.rebuilt_object_bytes
                or made > limits.rebuilt_bytes
            ):
                raise self._refusal(base_size, size, len(base), depth)
            self.rebuilt_bytes = made
            content, copied = rebuild(delta, start, base, size)
            self.copied_bytes += copied
            if self.copied_bytes > limits.copied_bytes:
                raise limits.passed("copied_bytes", self.copied_bytes, "the deltas so far copy")
        except PackError as error:
            error.at(self._table.offsets[kid])
            if error.code in _FATAL:
                raise
            self._findings.add_error(error)
            self.broken += 1
            return None
        self.depth = max(self.depth, depth)
        return content, delta, start

    def _refusal(self, base_size: int, size: int, actual: int, depth: int) -> PackError:
        """What is said of a delta that must not be run."""
        limits = self._limits
        if depth > limits.delta_depth:
            return limits.passed("delta_depth", depth, "a chain of deltas has")
        if base_size != actual:
            message = f"says a base of {base_size} bytes, the base has {actual}"
            return PackError(codes.DELTA_BASE_SIZE_MISMATCH, message)
        if size > limits.rebuilt_object_bytes:
            return limits.passed("rebuilt_object_bytes", size, "a delta makes an object of")
        total = self.rebuilt_bytes + size
        return limits.passed("rebuilt_bytes", total, "the deltas so far make")

    def _serve_from_outside(self) -> None:
        if self._read_base is None:
            return
        for oid, numbers in self.chains.still_waiting().items():
            try:
                given = self._from_outside(oid)
            except PackError as error:
                self._lose(error.at(self._table.offsets[numbers[0]], oid))
                continue
            if given is not None:
                kind, data = given
                self._family(OUTSIDE, oid, kind, data)

    def _from_outside(self, oid: bytes) -> tuple[int, bytes] | None:
        given = self._read_base(oid) if self._read_base is not None else None
        return None if given is None else checked_object(self._format, oid, given)

    def _report_missing(self) -> None:
        offsets = self._table.offsets
        for oid, numbers in self.chains.still_waiting().items():
            entries = list(self.chains.below(numbers))
            listed = ", ".join(str(offsets[number]) for number in entries[:_LISTED])
            more = f" and {len(entries) - _LISTED} more" if len(entries) > _LISTED else ""
            message = (
                f"the base is nowhere; entries that wait for it: {len(entries)}, at {listed}{more}"
            )
            offset = offsets[numbers[0]]
            self._findings.add(codes.MISSING_DELTA_BASE, message, offset=offset, oid=oid)


def check_base_size(size: int, limits: Limits) -> None:
    """Raise PackError (rebuiltObjectTooLarge) for an object that no delta may rest on."""
    if size > limits.rebuilt_object_bytes:
        raise limits.passed("rebuilt_object_bytes", size, "a delta rests on an object of")
