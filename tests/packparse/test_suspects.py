"""Findings that the base may have as well: which become notes, and which stay."""

from __future__ import annotations

import pytest

from packparse import checks, pathcodes, suspects
from packparse.codes import ERROR, NOTE, WARNING, Code
from packparse.findings import Finding, Findings
from packparse.suspects import Suspects

ONE, TWO = b"\x01" * 20, b"\x02" * 20


class Made:
    """Findings and suspects, filled by name."""

    def __init__(self, severities: dict[Code, str] | None = None) -> None:
        self.findings = Findings(severities=severities)
        self.suspects = Suspects()

    def add(self, oid: bytes, code: Code = checks.ZERO_PADDED_FILEMODE, flags: int = 0) -> Finding:
        finding = self.findings.add(code, "message", oid=oid, detail=b"name")
        assert finding is not None
        self.suspects.add(oid, flags, finding)
        return finding


def test_what_was_met_and_is_not_new_is_inherited() -> None:
    made = Made()
    finding = made.add(ONE)
    assert made.findings.classes() == {finding.code.klass}
    made.suspects.visit(ONE)
    made.suspects.settle(made.findings)
    assert (finding.severity, finding.inherited) == (NOTE, True)
    assert made.findings.classes() == set()
    assert made.findings.count(finding.code) == 1


def test_what_was_not_met_stays() -> None:
    # A walk that never came to an object can say nothing of it.
    made = Made()
    finding = made.add(ONE)
    made.suspects.visit(TWO)
    made.suspects.settle(made.findings)
    assert (finding.severity, finding.inherited) == (ERROR, False)
    assert made.findings.classes() == {finding.code.klass}


@pytest.mark.parametrize("order", ["met first", "refused first"])
def test_what_is_new_somewhere_stays_wherever_else_it_is_inherited(order: str) -> None:
    made = Made()
    finding = made.add(ONE)
    if order == "met first":
        made.suspects.visit(ONE)
    made.suspects.refuse(finding, b"new/path")
    made.suspects.visit(ONE)
    made.suspects.settle(made.findings)
    assert (finding.severity, finding.inherited, finding.path) == (ERROR, False, b"new/path")


def test_the_first_new_path_is_told() -> None:
    made = Made()
    finding = made.add(ONE)
    made.suspects.refuse(finding, b"first")
    made.suspects.refuse(finding, b"second")
    assert finding.path == b"first"


def test_of_two_findings_on_one_object_each_is_judged() -> None:
    made = Made()
    old, new = made.add(ONE), made.add(ONE, pathcodes.CONTROL_IN_NAME)
    made.suspects.visit(ONE)
    made.suspects.refuse(new, b"x")
    made.suspects.settle(made.findings)
    assert (old.inherited, new.inherited) == (True, False)
    assert made.findings.classes() == {new.code.klass}


def test_of_more_findings_than_are_kept_none_is_inherited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suspects, "_MOST", 2)
    made = Made()
    first, second, third = made.add(ONE), made.add(TWO), made.add(ONE)
    for oid in (ONE, TWO):
        made.suspects.visit(oid)
    made.suspects.settle(made.findings)
    assert [f.inherited for f in (first, second, third)] == [True, True, False]


def test_settling_twice_counts_once() -> None:
    made = Made()
    made.add(ONE)
    made.add(TWO)
    made.suspects.visit(ONE)
    made.suspects.settle(made.findings)
    made.suspects.settle(made.findings)
    assert made.findings.classes() == {checks.ZERO_PADDED_FILEMODE.klass}
    made.suspects.visit(TWO)
    made.suspects.settle(made.findings)
    assert made.findings.classes() == set()


def test_a_warning_that_is_inherited_is_a_note_as_well() -> None:
    made = Made({checks.ZERO_PADDED_FILEMODE: WARNING})
    finding = made.add(ONE)
    made.suspects.visit(ONE)
    made.suspects.settle(made.findings)
    assert (finding.severity, finding.inherited) == (NOTE, True)
    assert made.findings.classes() == set()


def test_what_nobody_asked_about_takes_no_memory() -> None:
    suspects = Suspects()
    for number in range(1_000):
        suspects.visit(number.to_bytes(20, "big"))
    assert suspects.visited == set()


def test_where_none_is_wanted_none_is_kept() -> None:
    unwanted = Suspects(wanted=False)
    finding = Made().add(ONE)
    unwanted.add(ONE, 0, finding)
    unwanted.visit(ONE)
    assert (unwanted.by_id, unwanted.visited) == ({}, set())
