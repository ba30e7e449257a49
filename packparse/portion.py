"""What another process found out about a part of a pack: how it is sent, and put to the rest.

A worker looks at its part as the main process would. What came of it is taken over only where all
of it was usual: at the first thing that is not, the worker gives up and the main process looks at
that part itself. So every refusal, and all that a report says, is the same for any number of jobs.
"""

from __future__ import annotations

from array import array

from packparse.checks import CATALOG
from packparse.findings import LimitSeen
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.examine import Examiner
    from packparse.graph import LinkColumn
    from packparse.workers import Column, Worker

    # Of an oddity: name of its code, detail, message, limit that was passed, entry, kind.
    Noted = tuple[str, bytes, str, tuple[str, int, int] | None, int, int]
    # Commits, links, longest name, fold keys of links' names, oddities.
    Examined = tuple[int, int, int, list[bytes] | None, list[Noted]]

__all__ = ["examined", "examined_head", "fits", "take_examined"]


def examined_head(examiner: Examiner) -> Examined:
    """What an examiner that works apart found out, but for its columns."""
    reader = examiner.reader
    folds = None if reader.link_folds is None else list(reader.link_folds)
    oddities = [
        (odd.code.name, odd.detail, odd.message, _limit(odd), number, kind)
        for odd, number, kind in examiner.noted or ()
    ]
    return examiner.commits, examiner.links.total, reader.longest_name, folds, oddities


def examined(examiner: Examiner) -> list[Column]:
    """The columns of an examiner that works apart."""
    columns: list[Column] = [b"".join(examiner.submodules), *examiner.special.columns()]
    for column in examiner.links.columns.values():
        columns += (column.ids, column.sources, column.ends, column.derived, column.exchanged)
    return columns


def fits(head: Examined, examiner: Examiner) -> bool:
    """Whether what :func:`examined_head` made fits to what is here already."""
    commits, total, _longest_name, _folds, oddities = head
    return examiner.fits(commits, total, len(oddities))


def take_examined(worker: Worker, head: Examined, examiner: Examiner, first: int) -> None:
    """Take over what :func:`examined_head` and :func:`examined` sent.

    ``first`` is the number of the entry that was entry 0 to the worker. The entries are in the
    table already.
    """
    commits, total, longest_name, folds, oddities = head
    submodules = bytearray()
    worker.column(submodules)
    special = [bytearray() for _ in examiner.special.columns()]
    for ids in special:
        worker.column(ids)
    for column in examiner.links.columns.values():
        _take_links(worker, column, first)
    examiner.links.total += total
    examiner.commits += commits
    examiner.take_over(submodules, special, longest_name, folds)
    for name, detail, message, limit, number, kind in oddities:
        seen = None if limit is None else LimitSeen(*limit)
        examiner.find(Oddity(CATALOG[name], detail, message, seen), first + number, kind)


def _limit(oddity: Oddity) -> tuple[str, int, int] | None:
    seen = oddity.limit
    return None if seen is None else (seen.name, seen.value, seen.seen)


def _take_links(worker: Worker, column: LinkColumn, first: int) -> None:
    before = len(column)
    worker.column(column.ids)
    rows = len(column.sources)
    worker.column(column.sources)
    worker.column(column.ends)
    if first:
        column.sources[rows:] = array("I", (n + first for n in column.sources[rows:]))
    if before:
        column.ends[rows:] = array("I", (end + before for end in column.ends[rows:]))
    worker.column(column.derived)
    worker.column(column.exchanged)
