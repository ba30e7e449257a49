"""Families of deltas shared between processes: who rebuilds which, and how they are put together.

The families are cut into runs in the order of their roots, one for each process. The main process
takes the first, then what the others found, in that order: so all comes in the order of one process
alone. Where a worker gave up, or a limit would be passed, it rebuilds that run by itself.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import partial
from itertools import compress
from operator import ne

from packparse.entry import REF_DELTA, TREE
from packparse.errors import PackError
from packparse.examine import Unusual
from packparse.portion import examined, examined_head, fits, take_examined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.resolve import Resolver
    from packparse.table import EntryTable
    from packparse.workers import Column, Send, Worker, Workers

__all__ = ["SharedFamilies", "runs"]

# So many deltas for each process, or starting one costs more than it saves.
_REPAYS = 1_000
# What rebuilding costs, in nanoseconds: a family, a delta, and a byte of its object (as much as its
# root has), which is hashed, and taken apart in a tree.
_FAMILY = 40_000
_DELTA = 16_000
_BYTE = 1
_TREE_BYTE = 6
# The main process has to take over what the others found: a bit less for it.
_LESS = 0.04


class SharedFamilies:
    """Rebuilds families of deltas with the help of ``workers``."""

    def __init__(self, resolver: Resolver, table: EntryTable, workers: Workers) -> None:
        self._resolver = resolver
        self._table = table
        self._workers = workers

    def rebuild(self, roots: array[int]) -> None:
        """Rebuild the families of all of them. Raises PackError as Resolver.run."""
        jobs = min(self._workers.jobs, self._table.unresolved // _REPAYS)
        weights = self._resolver.chains.weigh(roots)
        first, *others = runs(self._table, roots, weights, jobs)
        started = [(run, self._workers.start(partial(self._send, run))) for run in others]
        self._resolver.families(first)
        for run, worker in started:
            if not self._take_over(worker):
                self._resolver.families(run)

    def _send(self, run: array[int], send: Send) -> None:
        """In a worker: rebuild families, and send what came of it; None where it is unusual."""
        table, resolver = self._table, self._resolver
        before = bytes(table.kinds)
        examiner = resolver.work_apart()
        try:
            resolver.families(run)
        except (PackError, Unusual, OSError):
            resolver.broken += 1
        if resolver.broken:
            # The main process comes to it, and says what it is.
            send(None, [])
            return
        done = array("I", compress(range(len(before)), map(ne, before, table.kinds)))
        columns: list[Column] = [
            done,
            array("I", (table.sizes[number] for number in done)),
            array("I", (table.bases[number] for number in done)),
            bytes(table.kinds[number] for number in done),
            b"".join(map(table.oid, done)),
        ]
        head = resolver.totals(), examined_head(examiner)
        send(head, [*columns, *examined(examiner)])

    def _take_over(self, worker: Worker) -> bool:
        """Take over what a worker found; whether all is usual, and within the limits."""
        table, resolver = self._table, self._resolver
        head = worker.head()
        if head is None:
            worker.end()
            return False
        totals, found = head
        if not (resolver.fits(totals) and fits(found, resolver.examiner)):
            worker.stop()
            return False
        done, sizes, bases = array("I"), array("I"), array("I")
        kinds, ids = bytearray(), bytearray()
        for column in (done, sizes, bases, kinds, ids):
            worker.column(column)
        if any(map(self._was_tried, done)):
            worker.stop()
            return False
        at = 0
        for number, size, base, kind in zip(done, sizes, bases, kinds, strict=True):
            if table.kinds[number] == REF_DELTA:
                resolver.chains.take(number)
            table.resolve(number, kind, bytes(ids[at : at + table.width]), base, size)
            resolver.deltas.take(number)
            at += table.width
        resolver.add(totals)
        take_examined(worker, found, resolver.examiner, 0)
        worker.end()
        return True

    def _was_tried(self, number: int) -> bool:
        """Whether a delta was tried before, on another object of the same id."""
        if self._table.kinds[number] == REF_DELTA:
            return self._resolver.chains.is_taken(number)
        return self._table.is_resolved(number)


def runs(table: EntryTable, roots: array[int], weights: array[int], jobs: int) -> list[array[int]]:
    """``roots`` cut into ``jobs`` runs of about as much work each, or into fewer.

    ``weights`` says how many deltas rest on each of them by offset. What rests on a root by
    reference shows only later: in a pack of these, each root counts alike.
    """
    if jobs < 2:
        return [roots]
    kinds, sizes = table.kinds, table.sizes
    costs = (
        _FAMILY + weight * (_DELTA + sizes[root] * (_TREE_BYTE if kinds[root] == TREE else _BYTE))
        for root, weight in zip(roots, weights, strict=True)
    )
    # Of each family its middle: it goes where most of it lies.
    middles, total = array("Q"), 0
    for cost in costs:
        middles.append(total + (cost >> 1))
        total += cost
    each = total / (jobs - _LESS)
    cuts = [bisect_left(middles, each * (number - _LESS)) for number in range(1, jobs)]
    found = (roots[a:b] for a, b in zip([0, *cuts], [*cuts, len(roots)], strict=True))
    # One family may be more than a share, and nobody waits for nothing.
    return [run for run in found if run] or [roots]
