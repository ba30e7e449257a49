"""Whether everything that is linked to is there, and is what the link says it is."""

from __future__ import annotations

from itertools import compress

from packparse import checks
from packparse.entry import KIND_NAMES
from packparse.graph import BATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from packparse.codes import Code
    from packparse.findings import Findings
    from packparse.graph import LinkColumn, LinkTable
    from packparse.outside import Outside
    from packparse.places import Places
    from packparse.table import EntryTable

__all__ = ["check_links"]

# For so many objects the other side is asked whether it has them after all, though they were not
# given; reading each of a million would take minutes, and the file is refused all the same.
_MOST_ASKED = 1_000


def check_links(
    table: EntryTable,
    links: LinkTable,
    findings: Findings,
    *,
    outside: Outside,
    places: Places,
) -> tuple[int, int]:
    """Find every link whose target is neither in the pack nor known, or has another kind.

    ``outside`` answers for objects outside the pack. What the producer was not given is absent, or
    smuggled where the other side has it after all; where nobody listed what was given, it is
    counted as unchecked. Returns how many were, and how many are known without their kind.
    ``places`` is asked for where the targets stand.
    """
    unchecked = untyped = asked = 0
    for kind, column in links.columns.items():
        judged: set[bytes] = set()
        for batch in _outside(column, table, kind):
            elsewhere = _kinds_in_pack(batch, table)
            for oid in sorted(batch - judged):
                # A target may come again in a later batch. Past this many, it may count twice.
                if len(judged) < BATCH:
                    judged.add(oid)
                actual = elsewhere.get(oid) or outside.kind(oid)
                untyped += actual == 0
                if actual in (0, kind):
                    continue
                if actual is None and outside.open_ended:
                    unchecked += 1
                    continue
                asked += actual is None
                held = actual is None and asked <= _MOST_ASKED and outside.holds(oid)
                code, message = _describe(kind, actual, outside, held=held)
                places.want(findings.add(code, message, oid=oid), kind, oid)
    return unchecked, untyped


def _describe(kind: int, actual: int | None, outside: Outside, *, held: bool) -> tuple[Code, str]:
    what = f"a {KIND_NAMES[kind]} that is linked to is"
    if actual is None and held and outside.listed:
        message = f"{what} in the repository, and was not given to the producer"
        return checks.SMUGGLED_BASE, message
    if actual is None and held:
        message = f"{what} in a base pack alone; say with --base or --known what was given"
        return checks.ABSENT_OBJECT, message
    if actual is None:
        other = "among the known objects" if outside.listed else "a prerequisite"
        return checks.ABSENT_OBJECT, f"{what} neither in the file nor {other}"
    name = KIND_NAMES[kind]
    message = f"linked to as a {name}, and is a {KIND_NAMES[actual]}"
    return checks.LINK_KIND_MISMATCH, message


def _outside(column: LinkColumn, table: EntryTable, kind: int) -> Iterator[set[bytes]]:
    """Targets of the column that are no object of ``kind`` in the pack, in batches."""
    wanted = bytearray(256)
    wanted[kind] = 1
    for targets in column.batches(max(BATCH, len(table) // 8)):
        for ids, kinds in table.pieces():
            targets.difference_update(compress(ids, kinds.translate(wanted)))
        if targets:
            yield targets


def _kinds_in_pack(batch: set[bytes], table: EntryTable) -> dict[bytes, int]:
    """Those of ``batch`` that are in the pack after all, and their kinds."""
    found: dict[bytes, int] = {}
    for ids, kinds in table.pieces():
        present = batch.intersection(ids)
        if present:
            found.update(
                (oid, kind) for oid, kind in zip(ids, kinds, strict=True) if oid in present
            )
    return found
