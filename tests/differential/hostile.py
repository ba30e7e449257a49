"""Packs made by hand to be refused, and odd ones that must not be: name to writer, by subject.

A writer takes the name of an object format and returns the pack.
"""

from __future__ import annotations

from tests.differential.hostile_container import CONTAINER, ENTRIES, ODD_ENTRIES, Writer
from tests.differential.hostile_deltas import DELTAS, DUPLICATES, ODD_DELTAS
from tests.differential.hostile_grammar import GRAMMAR, ODD_GRAMMAR, WARNED, Row
from tests.differential.hostile_objects import (
    COSTLY,
    MALFORMED,
    MISMATCHES,
    MISSING,
    ODD_OBJECTS,
)

__all__ = ["ACCEPTED", "BY_ID", "COSTLY", "REFUSED", "WARNED"]


def _writers(rows: dict[str, Row]) -> dict[str, Writer]:
    return {name: write for name, (_, write) in rows.items()}


# Refused for the grammar of an object, each with the id.
BY_ID: dict[str, Row] = MALFORMED | GRAMMAR

# Refused by us, and by git; but see known.py for grammar that came with later versions of git.
REFUSED: dict[str, Writer] = {
    **CONTAINER,
    **ENTRIES,
    **DELTAS,
    **DUPLICATES,
    **MISSING,
    **MISMATCHES,
    **_writers(BY_ID),
}

# Odd, and accepted by git.
ACCEPTED: dict[str, Writer] = {
    **ODD_ENTRIES,
    **ODD_DELTAS,
    **ODD_OBJECTS,
    **ODD_GRAMMAR,
    **_writers(WARNED),
}
