"""The first pass: entries as they come, put into the table in batches and looked into."""

from __future__ import annotations

from packparse import codes
from packparse.entry import BLOB, Entry
from packparse.signs import POINTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from packparse.deltastore import DeltaStore
    from packparse.examine import Examiner
    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.portion import Examined
    from packparse.table import EntryTable
    from packparse.workers import Send, Worker

    # Entries, the offset where the last one ends, deltas, what was found in objects.
    Gathered = tuple[int, int, int, Examined]

__all__ = ["Gatherer"]

# Entries taken over at a time; a longer one ends the batch, so that it is not held for others.
_BATCH = 128
_BATCH_BYTES = 64 << 10


class Gatherer:
    """Puts the entries of one pack into ``table``, and has whole objects looked into.

    ``deltas`` keeps what has to wait for its base.
    ``lost`` counts the deltas whose base is no earlier entry.
    """

    def __init__(
        self,
        table: EntryTable,
        examine: Examiner,
        deltas: DeltaStore,
        *,
        limits: Limits,
        findings: Findings,
    ) -> None:
        self.lost = 0
        self.table = table
        self._examine = examine
        self.deltas = deltas
        self._limits = limits
        self._findings = findings

    def apart(self, table: EntryTable) -> Gatherer:
        """One for a worker, which puts its part into ``table`` and keeps all else by itself."""
        return Gatherer(
            table,
            self._examine.apart(table),
            self.deltas.apart(),
            limits=self._limits,
            findings=self._findings.apart(),
        )

    def send(self, send: Send) -> None:
        """Send what a gatherer that works apart has found."""
        from packparse.portion import examined, examined_head

        table = self.table
        head = (len(table), table.end, table.deltas, examined_head(self._examine))
        columns = [*table.columns(), *self.deltas.columns(), *examined(self._examine)]
        send(head, columns)

    def fits(self, head: Gathered) -> bool:
        """Whether what was sent with ``head`` fits to what is here already."""
        from packparse.portion import fits

        return fits(head[-1], self._examine)

    def take_over(self, worker: Worker, head: Gathered) -> None:
        """Take over what was sent; ``head`` is its head."""
        from packparse.portion import take_examined

        _count, end, deltas, examined = head
        first = len(self.table)
        self.table.take_over(worker, end, deltas)
        self.deltas.take_over(worker, first)
        take_examined(worker, examined, self._examine, first)

    def take(self, entries: Iterable[Entry]) -> None:
        """Take all entries. Raises PackError: tooManyLinks, and what ``entries`` raises."""
        batch: list[Entry] = []
        most = 0
        width = self.table.width
        try:
            for entry in entries:
                batch.append(entry)
                # No object has more links than ids fit into it. So only the last entry of a batch
                # can pass their limit, and no entry after that one counts.
                most += entry.size // width
                if (
                    len(batch) == _BATCH
                    or entry.size > _BATCH_BYTES
                    or self._examine.links.total + most > self._limits.links
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
                if entry.data.startswith(POINTER):
                    self._examine(number, BLOB, entry.data)
            elif entry.base is None:
                self._examine(number, entry.kind, entry.data)
            elif number not in lost:
                self.deltas.offer(number, entry.data)
            else:
                self._lose(entry)

    def _lose(self, entry: Entry) -> None:
        self.lost += 1
        message = "no earlier entry begins where the base should be"
        self._findings.add(codes.DELTA_BAD_BASE_OFFSET, message, offset=entry.offset)
