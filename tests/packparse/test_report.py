"""The result: its class, and that notes and warnings never refuse."""

from __future__ import annotations

import itertools

import pytest

from packparse import checks, codes, pathcodes
from packparse.findings import Findings
from packparse.limits import Limits
from packparse.report import COUNTED, Report, leading_class

RANKED = (6, 1, 4, 5, 3)


def _report(rules: str, *found: codes.Code) -> Report:
    findings = Findings(rules)
    for code in found:
        findings.add(code, "seen")
    return Report("x", rules, Limits(), findings)


@pytest.mark.parametrize("size", range(1, 6))
def test_of_several_classes_the_first_in_rank_counts(size: int) -> None:
    for classes in itertools.combinations(RANKED, size):
        assert leading_class(set(classes)) == min(classes, key=RANKED.index)


def test_no_class_is_0() -> None:
    assert leading_class(set()) == 0


def test_the_classes_are_the_exit_statuses() -> None:
    assert (codes.CORRUPT, codes.USAGE, codes.POLICY) == (1, 2, 3)
    assert (codes.LIMIT, codes.INCOMPLETE, codes.ENVIRONMENT) == (4, 5, 6)


@pytest.mark.parametrize("rules", ["candidate", "git"])
@pytest.mark.parametrize("code", checks.CATALOG.values(), ids=lambda c: c.name)
def test_a_code_refuses_exactly_if_it_is_an_error_of_the_rules(
    code: codes.Code, rules: str
) -> None:
    report = _report(rules, code)
    refused = code.severity(rules) == "error"
    assert report.klass == (code.klass if refused else 0)
    assert report.accepted is not refused


def test_corrupt_outranks_what_follows_from_it() -> None:
    found = (checks.ABSENT_OBJECT, checks.BRANCH_NOT_COMMIT, codes.DUPLICATE_OBJECT)
    assert _report("candidate", *found).klass == 1
    assert _report("candidate", *found[:2]).klass == 5


def test_a_new_report_claims_nothing() -> None:
    report = _report("candidate")
    assert report.accepted
    assert tuple(report.counts) == COUNTED
    assert set(report.counts.values()) == {0}
    facts = (report.kind, report.object_format, report.bytes, report.sha256, report.pack_checksum)
    assert facts == (None,) * 5
    assert (report.seconds, report.peak_rss_bytes) == (None, None)
    assert (report.policy, report.changes) == ("candidate", None)
    assert (report.tips, report.prerequisites, report.unchecked_links) == ({}, [], 0)


def test_what_is_inherited_refuses_nothing() -> None:
    report = _report("candidate", pathcodes.HAS_DOTGIT, checks.ABSENT_OBJECT)
    inherited, other = report.findings.sorted()
    assert (report.klass, report.accepted) == (5, False)
    report.findings.inherit(inherited)
    assert report.klass == 5
    report.findings.inherit(other)
    assert (report.klass, report.accepted) == (0, True)


@pytest.mark.parametrize(
    ("severity", "klass"), [("error", 3), ("warning", 0), ("note", 0), ("ignore", 0)]
)
def test_the_severity_of_a_policy_decides(severity: str, klass: int) -> None:
    findings = Findings("candidate", {pathcodes.GITLINK: severity})
    findings.add(pathcodes.GITLINK, "seen")
    assert Report("x", "candidate", Limits(), findings).klass == klass
