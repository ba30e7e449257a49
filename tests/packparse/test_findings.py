"""The collection of findings: bounded, counted, in order, and judged by one rule set."""

from __future__ import annotations

import hashlib
import tracemalloc

import pytest

from packparse import checks, codes, pathcodes
from packparse.codes import IGNORE
from packparse.errors import MisuseError, PackError
from packparse.findings import KEPT_PER_CODE, Finding, Findings, LimitSeen

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
    findings.add(checks.ABSENT_OBJECT, "gone")
    findings.add(codes.TOO_MANY_OBJECTS, "too many")
    assert findings.classes() == {codes.INCOMPLETE, codes.LIMIT}


# --- a bounded number is kept -------------------------------------------------------------------


@pytest.mark.parametrize(("added", "kept"), [(0, 0), (99, 99), (100, 100), (101, 100)])
def test_of_each_code_100_are_kept_and_all_counted(added: int, kept: int) -> None:
    findings = Findings()
    for offset in range(added):
        findings.add(checks.BAD_TREE, "bad", offset=offset)
    assert offsets(findings) == list(range(kept))
    assert findings.count(checks.BAD_TREE) == added
    assert findings.counts() == ({"badTree": added} if added else {})


def test_one_loud_code_does_not_silence_another() -> None:
    findings = Findings()
    for _ in range(1000):
        findings.add(codes.NON_CANONICAL_VARINT, "padded", offset=1)
    findings.add(checks.BAD_TREE, "bad", offset=2)
    assert findings.sorted()[-1].code is checks.BAD_TREE
    assert findings.counts() == {"nonCanonicalVarint": 1000, "badTree": 1}


def test_an_error_that_was_not_kept_still_refuses() -> None:
    findings = Findings()
    for _ in range(101):
        findings.add(checks.ABSENT_OBJECT, "gone")
    assert findings.classes() == {codes.INCOMPLETE}


@pytest.mark.heavy
def test_a_hundred_thousand_findings_take_no_memory() -> None:
    findings = Findings()
    tracemalloc.start()
    for offset in range(100_000):
        findings.add(checks.BAD_TREE, f"bad {offset}", offset=offset)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


# --- order --------------------------------------------------------------------------------------


def test_findings_are_sorted_by_offset_and_unknown_places_come_last() -> None:
    findings = Findings()
    for offset in (500, None, 0, 1 << 63, None, 7):
        findings.add(checks.BAD_TREE, "bad", offset=offset)
    assert offsets(findings) == [0, 7, 500, 1 << 63, None, None]


def test_findings_at_one_place_stay_in_the_order_they_came() -> None:
    findings = Findings()
    for message in "cab":
        findings.add(checks.BAD_TREE, message, offset=7)
    assert [finding.message for finding in findings.sorted()] == ["c", "a", "b"]


def test_a_refusal_that_was_raised_is_kept_with_all_it_carried() -> None:
    limit = LimitSeen("objects", 1, 2)
    error = PackError(codes.TOO_MANY_OBJECTS, "too many", offset=8, oid=OID, limit=limit)
    findings = Findings()
    findings.add_error(error)
    (finding,) = findings.sorted()
    assert (finding.code, finding.message) == (codes.TOO_MANY_OBJECTS, "too many")
    assert (finding.offset, finding.oid, finding.limit) == (8, OID, limit)


# --- what comes back, and what is inherited -----------------------------------------------------


def test_a_finding_comes_back_where_it_is_kept() -> None:
    findings = Findings("git")
    kept = [findings.add(checks.BAD_TREE, f"bad {n}") for n in range(101)]
    assert kept[:100] == findings.sorted()
    assert kept[100] is None
    assert findings.add(codes.NON_CANONICAL_VARINT, "nothing to git") is None


def test_an_inherited_error_is_a_note_and_refuses_no_more() -> None:
    findings = Findings()
    old, new = (findings.add(pathcodes.HAS_DOTGIT, text) for text in ("old", "new"))
    assert old is not None
    assert new is not None
    findings.inherit(old)
    assert (old.severity, old.inherited) == (codes.NOTE, True)
    assert (new.severity, new.inherited) == (codes.ERROR, False)
    # The other one still does.
    assert findings.classes() == {codes.POLICY}
    findings.inherit(new)
    assert findings.classes() == set()
    # Nothing is forgotten.
    assert findings.count(pathcodes.HAS_DOTGIT) == 2
    assert findings.sorted() == [old, new]


def test_a_finding_is_inherited_once() -> None:
    findings = Findings()
    old = findings.add(pathcodes.HAS_DOTGIT, "old")
    findings.add(pathcodes.HAS_DOTGIT, "new")
    assert old is not None
    for _ in range(3):
        findings.inherit(old)
    assert findings.classes() == {codes.POLICY}


@pytest.mark.parametrize("code", [pathcodes.GITLINK, pathcodes.DASH_NAME], ids=["note", "warning"])
def test_what_is_no_error_is_a_note_when_it_is_inherited(code: codes.Code) -> None:
    findings = Findings()
    finding = findings.add(code, "seen")
    assert finding is not None
    findings.inherit(finding)
    assert (finding.severity, finding.inherited) == (codes.NOTE, True)
    assert findings.classes() == set()


def test_errors_that_were_not_kept_cannot_be_inherited() -> None:
    findings = Findings()
    kept = [findings.add(pathcodes.HAS_DOTGIT, "again") for _ in range(101)]
    for finding in kept[:100]:
        assert finding is not None
        findings.inherit(finding)
    assert findings.classes() == {codes.POLICY}


# --- repetitions --------------------------------------------------------------------------------


# severity of the code -> how often one detail counts.
@pytest.mark.parametrize(
    ("code", "counted"),
    [(pathcodes.GITLINK, 1), (pathcodes.DASH_NAME, 1), (pathcodes.HAS_DOTGIT, 5)],
    ids=["a note", "a warning", "an error"],
)
def test_one_detail_counts_once_where_it_is_no_error(code: codes.Code, counted: int) -> None:
    findings = Findings()
    for offset in range(5):
        findings.add(code, "seen", offset=offset, detail=b"name")
    assert findings.count(code) == counted
    assert offsets(findings) == list(range(counted))


def test_other_details_and_other_codes_count_for_themselves() -> None:
    findings = Findings()
    for code in (pathcodes.DASH_NAME, pathcodes.NOT_UTF8_NAME):
        for detail in (b"-a", b"-b", b"-a"):
            findings.add(code, "seen", detail=detail)
    assert findings.counts() == {"dashName": 2, "notUtf8Name": 2}


@pytest.mark.parametrize("detail", [None, b""], ids=repr)
def test_without_a_detail_everything_counts(detail: bytes | None) -> None:
    findings = Findings()
    for _ in range(3):
        findings.add(pathcodes.DASH_NAME, "seen", detail=detail)
    assert findings.count(pathcodes.DASH_NAME) == 3


def test_a_policy_that_makes_an_error_of_a_note_makes_every_one_count() -> None:
    findings = Findings(severities={pathcodes.GITLINK: codes.ERROR})
    for _ in range(3):
        findings.add(pathcodes.GITLINK, "seen", detail=b"lib")
    assert findings.count(pathcodes.GITLINK) == 3
    assert findings.classes() == {codes.POLICY}


def test_details_past_those_that_are_remembered_count_again() -> None:
    findings = Findings()
    for _ in range(2):
        for number in range(10_001):
            findings.add(pathcodes.GITLINK, "seen", detail=b"%d" % number)
    assert findings.count(pathcodes.GITLINK) == 10_002


def test_long_details_take_no_memory_and_are_told_apart() -> None:
    findings = Findings()
    tracemalloc.start()
    for number in range(1_000):
        findings.add(pathcodes.GITLINK, "seen", detail=b"%d" % number + bytes(100_000))
        findings.add(pathcodes.HAS_DOTGIT, "seen", detail=b"%d" % number + bytes(100_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20
    assert findings.count(pathcodes.GITLINK) == 1_000
    findings.add(pathcodes.GITLINK, "seen", detail=b"1" + bytes(100_000))
    assert findings.count(pathcodes.GITLINK) == 1_000


@pytest.mark.parametrize("size", [4_096, 4_097])
def test_a_very_long_detail_is_kept_by_its_hash(size: int) -> None:
    findings = Findings()
    finding = findings.add(pathcodes.HAS_DOTGIT, "seen", detail=b"d" * size)
    assert finding is not None
    wanted = b"d" * size if size == 4_096 else hashlib.sha256(b"d" * size).digest()
    assert finding.detail == wanted


# --- severities of a policy ---------------------------------------------------------------------


def test_the_severities_of_a_policy_go_before_those_of_the_rules() -> None:
    set_to = {
        pathcodes.HAS_DOTGIT: codes.WARNING,
        pathcodes.DASH_NAME: codes.ERROR,
        pathcodes.GITLINK: codes.IGNORE,
    }
    findings = Findings(severities=set_to)
    for code in set_to:
        findings.add(code, "seen", detail=b"name")
    assert {f.code: f.severity for f in findings.sorted()} == {
        pathcodes.HAS_DOTGIT: "warning",
        pathcodes.DASH_NAME: "error",
    }
    assert not findings.raises(pathcodes.HAS_DOTGIT)
    assert findings.raises(pathcodes.DASH_NAME)
    assert findings.severity(pathcodes.EMPTY_NAME) == "error"
    assert findings.counts() == {"hasDotgit": 1, "dashName": 1}


# --- room to spare ------------------------------------------------------------------------------


@pytest.mark.parametrize(("spare", "kept"), [(0, 100), (503, 100), (504, 101), (5_040, 110)])
def test_where_there_is_room_more_are_kept_than_are_shown(spare: int, kept: int) -> None:
    # Each takes 500 bytes and its texts.
    findings = Findings(spare=spare)
    added = [findings.add(pathcodes.HAS_DOTGIT, "seen") for _ in range(200)]
    assert sum(finding is not None for finding in added) == kept
    assert len(findings.sorted()) == 100
    assert findings.count(pathcodes.HAS_DOTGIT) == 200


def test_room_to_spare_is_for_all_codes_together() -> None:
    findings = Findings(spare=5_040)
    for code in (pathcodes.HAS_DOTGIT, pathcodes.EMPTY_NAME):
        added = [findings.add(code, "seen") for _ in range(106)]
        assert sum(finding is not None for finding in added) in {106, 104}


def test_an_error_is_shown_before_a_hundred_that_are_inherited() -> None:
    findings = Findings(spare=1 << 20)
    for offset in range(150):
        finding = findings.add(pathcodes.HAS_DOTGIT, "seen", offset=offset)
        assert finding is not None
        if offset != 149:
            findings.inherit(finding)
    shown = findings.sorted()
    assert len(shown) == 100
    assert [finding.offset for finding in shown] == [*range(99), 149]
    assert findings.classes() == {codes.POLICY}


TOLD = {
    "a warning once more": (pathcodes.DASH_NAME, b"-a", True),
    "a warning with other ids": (pathcodes.DASH_NAME, b"-a\x00other", True),
    "another warning": (pathcodes.DASH_NAME, b"-b", False),
    "an error once more": (pathcodes.HAS_DOTGIT, b".git", False),
    "a warning without a detail": (pathcodes.DASH_NAME, b"", False),
    "what leaves no trace": (pathcodes.CASE_COLLISION, b"x", True),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told_neither_counts_nor_is_kept_again(name: str) -> None:
    code, detail, told = TOLD[name]
    findings = Findings(severities={pathcodes.CASE_COLLISION: IGNORE})
    for known, about in ((pathcodes.DASH_NAME, b"-a"), (pathcodes.HAS_DOTGIT, b".git")):
        findings.add(known, "message", detail=about)
    assert findings.is_told(code, detail) is told
    counts = findings.counts()
    findings.add(code, "message", detail=detail)
    assert (findings.counts() == counts) is told


def test_a_finding_that_is_not_kept_is_not_taken_for_the_next_one() -> None:
    findings = Findings()
    for number in range(KEPT_PER_CODE):
        assert findings.add(pathcodes.DASH_NAME, "kept", detail=b"%d" % number) is not None
    assert findings.add(pathcodes.DASH_NAME, "not kept", detail=b"first") is None
    other = findings.add(codes.BAD_DEFLATE, "another code")
    assert other is not None
    assert findings.add(pathcodes.DASH_NAME, "again", detail=b"first") is None
