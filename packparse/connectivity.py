"""Whether everything that is linked to is there, and is what the link says it is."""

from __future__ import annotations

from itertools import compress

from packparse import codes
from packparse.entry import KIND_NAMES
from packparse.errors import MisuseError
from packparse.table import split_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from packparse.codes import Code
    from packparse.findings import Findings
    from packparse.graph import LinkColumn, LinkTable
    from packparse.locate import Locator
    from packparse.table import EntryTable

    # raw id -> kind of an object of the trusted side, 0 if the kind is not known, None if unknown.
    Known = Callable[[bytes], int | None]

__all__ = ["check_links", "checked_kind"]

# Ids that are Python objects at one time, about 12 MiB of them; in large packs an eighth of the
# objects, so that the passes over the table stay in proportion to the links.
_BATCH = 1 << 17
_PIECE = 1 << 13
# Findings that get a path: finding one goes through all links once for each folder on the way.
_LOCATED = 10


def check_links(
    table: EntryTable,
    links: LinkTable,
    findings: Findings,
    *,
    known: Known,
    open_ended: bool,
    locator: Locator,
) -> int:
    """Find every link whose target is neither in the pack nor known, or has another kind.

    ``known`` answers for objects outside the pack. What it does not know either is absent, or with
    ``open_ended`` (there are prerequisites whose objects nobody listed) counted as unchecked.
    Returns how many were. ``locator`` finds the place of a target, for the finding.
    """
    unchecked = 0
    for kind, column in links.columns.items():
        judged: set[bytes] = set()
        for batch in _outside(column, table, kind):
            elsewhere = _kinds_in_pack(batch, table)
            for oid in sorted(batch - judged):
                # A target may come again in a later batch. Past this many, it may count twice.
                if len(judged) < _BATCH:
                    judged.add(oid)
                actual = elsewhere.get(oid) or known(oid)
                if actual in (0, kind):
                    continue
                if actual is None and open_ended:
                    unchecked += 1
                    continue
                code, message = _describe(kind, actual)
                offset = path = None
                if findings.count(code) < _LOCATED:
                    offset, path = locator.find(kind, oid)
                findings.add(code, message, offset=offset, oid=oid, path=path)
    return unchecked


def checked_kind(answer: object) -> int | None:
    """An answer of ``known``, or MisuseError: a truth value would be taken for a kind."""
    if answer is None or (type(answer) is int and (answer == 0 or answer in KIND_NAMES)):
        return answer
    message = f"known: the answer is None, 0 or a kind from 1 to 4, not {answer!r}"
    raise MisuseError(message)


def _describe(kind: int, actual: int | None) -> tuple[Code, str]:
    name = KIND_NAMES[kind]
    if actual is None:
        message = f"a {name} that is linked to is neither in the pack nor a prerequisite"
        return codes.ABSENT_OBJECT, message
    message = f"linked to as a {name}, and is a {KIND_NAMES[actual]}"
    return codes.LINK_KIND_MISMATCH, message


def _outside(column: LinkColumn, table: EntryTable, kind: int) -> Iterator[set[bytes]]:
    """Targets of the column that are no object of ``kind`` in the pack, in batches."""
    wanted = bytes(number == kind for number in range(256))
    for targets in _batches(column, max(_BATCH, len(table) // 8)):
        for ids, kinds in _pieces(table):
            targets.difference_update(compress(ids, kinds.translate(wanted)))
        if targets:
            yield targets


def _batches(column: LinkColumn, most: int) -> Iterator[set[bytes]]:
    """All targets of the column, each batch a set; one target may be in several."""
    width = column.width
    batch: set[bytes] = set()
    for view in column.distinct_runs():
        for at in range(0, len(view), _PIECE * width):
            batch.update(split_ids(view[at : at + _PIECE * width], width))
            if len(batch) >= most:
                yield batch
                batch = set()
    yield batch


def _pieces(table: EntryTable) -> Iterator[tuple[tuple[bytes, ...], bytearray]]:
    """The ids and kinds of the pack, a batch at a time."""
    width = table.width
    view = memoryview(table.ids)
    for at in range(0, len(table), _PIECE):
        ids = split_ids(view[at * width : (at + _PIECE) * width], width)
        yield ids, table.kinds[at : at + _PIECE]


def _kinds_in_pack(batch: set[bytes], table: EntryTable) -> dict[bytes, int]:
    """Those of ``batch`` that are in the pack after all, and their kinds."""
    found: dict[bytes, int] = {}
    for ids, kinds in _pieces(table):
        present = batch.intersection(ids)
        if present:
            found.update(
                (oid, kind) for oid, kind in zip(ids, kinds, strict=True) if oid in present
            )
    return found
