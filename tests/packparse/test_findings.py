"""The collection of findings: bounded, counted, in order, and judged by one rule set."""

from __future__ import annotations

import tracemalloc

import pytest

from packparse import codes
from packparse.errors import MisuseError, PackError
from packparse.findings import Finding, Findings, LimitSeen

OID = bytes(range(20))


def offsets(findings: Findings) -> list[int | None]:
    return [finding.offset for finding in findings.sorted()]


def test_a_finding_keeps_what_it_was_given() -> None:
    findings = Findings()
    limit = LimitSeen("objects", 1, 2)
    findings.add(
        codes.TOO_MANY_OBJECTS, "too many", offset=8, oid=OID, path=b"a\xff/b", limit=limit
    )
    (finding,) = findings.sorted()
    assert finding.code is codes.TOO_MANY_OBJECTS
    assert finding.severity == codes.ERROR
    assert finding.message == "too many"
    assert (finding.offset, finding.oid, finding.path) == (8, OID, b"a\xff/b")
    assert finding.limit is limit


def test_what_is_not_known_of_a_finding_is_none() -> None:
    finding = Finding(codes.TRUNCATED, codes.ERROR, "cut short")
    assert (finding.offset, finding.oid, finding.path, finding.limit) == (None,) * 4
    assert repr(finding) == "Finding(truncated, error, offset=None)"


def test_a_limit_gives_its_three_parts() -> None:
    assert LimitSeen("objects", 1, 2).as_dict() == {"name": "objects", "value": 1, "seen": 2}


# --- rule sets ----------------------------------------------------------------------------------

# (code, rules) -> severity, or None where nothing may be kept.
JUDGED = {
    "an error is one under both rule sets, candidate": (codes.BAD_DEFLATE, "candidate", "error"),
    "an error is one under both rule sets, git": (codes.BAD_DEFLATE, "git", "error"),
    "PC2 a padded number is noted in a candidate": (
        codes.NON_CANONICAL_VARINT, "candidate", "note",
    ),
    "PC2 a padded number is nothing to git": (codes.NON_CANONICAL_VARINT, "git", None),
    "PC8 a padded stream is an error in a candidate": (codes.PADDED_DEFLATE, "candidate", "error"),
    "PC8 a padded stream is nothing to git": (codes.PADDED_DEFLATE, "git", None),
    "PA7 an empty pack is noted in a candidate": (codes.EMPTY_PACK, "candidate", "note"),
    "PA7 an empty pack is noted under git's rules": (codes.EMPTY_PACK, "git", "note"),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_the_rule_set_decides_how_bad_a_code_is(name: str) -> None:
    code, rules, severity = JUDGED[name]
    findings = Findings(rules)
    findings.add(code, "seen")
    assert [finding.severity for finding in findings.sorted()] == ([severity] if severity else [])
    assert findings.raises(code) == (severity == "error")
    assert findings.classes() == ({code.klass} if severity == "error" else set())
    assert findings.count(code) == (1 if severity else 0)


def test_an_ignored_code_leaves_no_trace_however_often_it_comes() -> None:
    findings = Findings("git")
    for _ in range(1000):
        findings.add(codes.NON_CANONICAL_VARINT, "padded")
    assert findings.sorted() == []
    assert findings.counts() == {}
    assert findings.count(codes.NON_CANONICAL_VARINT) == 0


@pytest.mark.parametrize("rules", ["strict", "", "Git"])
def test_an_unknown_rule_set_is_the_callers_mistake(rules: str) -> None:
    with pytest.raises(MisuseError) as caught:
        Findings(rules)
    assert str(caught.value) == f"unknown rule set {rules!r}; known: candidate, git"


def test_the_strict_rule_set_is_the_default() -> None:
    assert Findings().raises(codes.PADDED_DEFLATE)


def test_classes_are_those_of_all_errors_and_of_no_note() -> None:
    findings = Findings()
    findings.add(codes.EMPTY_PACK, "a note of class 1")
    assert findings.classes() == set()
    findings.add(codes.ABSENT_OBJECT, "gone")
    findings.add(codes.TOO_MANY_OBJECTS, "too many")
    assert findings.classes() == {codes.INCOMPLETE, codes.LIMIT}


# --- a bounded number is kept -------------------------------------------------------------------


@pytest.mark.parametrize(("added", "kept"), [(0, 0), (99, 99), (100, 100), (101, 100)])
def test_of_each_code_100_are_kept_and_all_counted(added: int, kept: int) -> None:
    findings = Findings()
    for offset in range(added):
        findings.add(codes.BAD_TREE, "bad", offset=offset)
    assert offsets(findings) == list(range(kept))
    assert findings.count(codes.BAD_TREE) == added
    assert findings.counts() == ({"badTree": added} if added else {})


def test_one_loud_code_does_not_silence_another() -> None:
    findings = Findings()
    for _ in range(1000):
        findings.add(codes.NON_CANONICAL_VARINT, "padded", offset=1)
    findings.add(codes.BAD_TREE, "bad", offset=2)
    assert findings.sorted()[-1].code is codes.BAD_TREE
    assert findings.counts() == {"nonCanonicalVarint": 1000, "badTree": 1}


def test_an_error_that_was_not_kept_still_refuses() -> None:
    findings = Findings()
    for _ in range(101):
        findings.add(codes.ABSENT_OBJECT, "gone")
    assert findings.classes() == {codes.INCOMPLETE}


def test_a_hundred_thousand_findings_take_no_memory() -> None:
    findings = Findings()
    tracemalloc.start()
    for offset in range(100_000):
        findings.add(codes.BAD_TREE, f"bad {offset}", offset=offset)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


# --- order --------------------------------------------------------------------------------------


def test_findings_are_sorted_by_offset_and_unknown_places_come_last() -> None:
    findings = Findings()
    for offset in (500, None, 0, 1 << 63, None, 7):
        findings.add(codes.BAD_TREE, "bad", offset=offset)
    assert offsets(findings) == [0, 7, 500, 1 << 63, None, None]


def test_findings_at_one_place_stay_in_the_order_they_came() -> None:
    findings = Findings()
    for message in "cab":
        findings.add(codes.BAD_TREE, message, offset=7)
    assert [finding.message for finding in findings.sorted()] == ["c", "a", "b"]


def test_a_refusal_that_was_raised_is_kept_with_all_it_carried() -> None:
    limit = LimitSeen("objects", 1, 2)
    error = PackError(codes.TOO_MANY_OBJECTS, "too many", offset=8, oid=OID, limit=limit)
    findings = Findings()
    findings.add_error(error)
    (finding,) = findings.sorted()
    assert (finding.code, finding.message) == (codes.TOO_MANY_OBJECTS, "too many")
    assert (finding.offset, finding.oid, finding.limit) == (8, OID, limit)
