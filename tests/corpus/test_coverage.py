"""The corpus covers what it has to: rows, CVEs, codes; each hostile file has its neighbour."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from corpus import build
from corpus.model import CLASSES
from corpus.rows import BUGS, NOT_APPLICABLE, ROWS, WITHOUT_CASE
from packparse import checks
from packparse.codes import CORRUPT, ERROR

INDEX: dict[str, dict[str, Any]] = build.load_index()
HOSTILE = {name: row for name, row in INDEX.items() if row["expected"]["verdict"] == "refused"}
CODES = checks.CATALOG
ORIGINS = {origin for row in INDEX.values() for origin in row["origin"]}
REFUSING = sorted(name for name, code in CODES.items() if code.severity("candidate") == ERROR)


def test_there_are_at_least_300_hostile_files() -> None:
    assert len(HOSTILE) >= 300
    assert len({row["sha256"] for row in HOSTILE.values()}) >= 300


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_has_an_honest_neighbour(name: str) -> None:
    row = HOSTILE[name]
    neighbour = INDEX[row["neighbour"]]
    assert neighbour["expected"]["verdict"] == "accepted"
    assert (neighbour["sha256"], neighbour["arguments"]) != (row["sha256"], row["arguments"])


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_a_case_or_a_reason(row: str) -> None:
    assert (row in ORIGINS) != (row in NOT_APPLICABLE)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_has_a_case_or_a_reason(bug: str) -> None:
    assert (bug in ORIGINS) != (bug in NOT_APPLICABLE)


def test_all_reasons_are_needed() -> None:
    assert NOT_APPLICABLE.keys() <= ROWS.keys() | set(BUGS)
    assert WITHOUT_CASE.keys() <= set(REFUSING)


@pytest.mark.parametrize("code", REFUSING)
def test_a_code_that_refuses_has_a_case_or_a_reason(code: str) -> None:
    found = {row["expected"]["code"] for row in HOSTILE.values() if row["rules"] == "candidate"}
    assert (code in found) != (code in WITHOUT_CASE)


def test_the_classes_said_here_are_those_of_the_registry() -> None:
    used: defaultdict[str, set[int]] = defaultdict(set)
    for row in HOSTILE.values():
        expected = row["expected"]
        for code in (expected["code"], *expected["also"]):
            used[code].add(CLASSES.get(code, CORRUPT))
    assert {code: classes.pop() for code, classes in used.items()} == {
        code: CODES[code].klass for code in used
    }


def test_classes_are_said_of_no_unknown_code() -> None:
    assert CLASSES.keys() <= CODES.keys()


def test_both_object_formats_are_there() -> None:
    other = [name for name, row in HOSTILE.items() if "sha256" in row["arguments"]]
    assert len(other) >= 40
