"""Packs made by hand: what git refuses for its container, deltas or links we refuse as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from packparse.codes import BY_NAME, RULES
from packparse.objectformat import FORMATS
from tests.differential.compare import INVALID_TAG, ours, theirs
from tests.differential.hostile import ACCEPTED, NEXT_ISSUE, REFUSED
from tests.support.test_support import LYING

# Of the examples that the writers are tested with, those that break the grammar of objects only.
LYING_IN_GRAMMAR = {
    "tree order": "treeNotSorted",
    "tree name": "hasDotgit",
    "gitmodules, blob first": "gitmodulesName",
    "gitmodules, tree first": "gitmodulesName",
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(empty: dict[str, Path], fmt: str, name: str) -> None:
    pack = REFUSED[name](fmt)
    assert not theirs(empty[fmt], pack, fmt).accepted
    for rules in RULES:
        assert not ours(pack, rules, fmt).accepted, rules


@pytest.mark.parametrize("name", sorted(LYING.keys() - LYING_IN_GRAMMAR.keys()))
def test_both_refuse_the_lies_of_the_writers(empty: dict[str, Path], name: str) -> None:
    assert not theirs(empty["sha1"], LYING[name]).accepted
    for rules in RULES:
        assert not ours(LYING[name], rules).accepted, rules


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", ACCEPTED)
def test_both_accept(empty: dict[str, Path], fmt: str, name: str) -> None:
    pack = ACCEPTED[name](fmt)
    verdict, mine = theirs(empty[fmt], pack, fmt), ours(pack, "git", fmt)
    assert verdict.accepted, verdict.stderr
    assert mine.accepted, mine.codes
    assert mine.oids == verdict.oids


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", NEXT_ISSUE)
def test_git_refuses_for_grammar(empty: dict[str, Path], fmt: str, name: str) -> None:
    message_id, write = NEXT_ISSUE[name]
    _check_grammar(empty[fmt], write(fmt), fmt, message_id)


@pytest.mark.parametrize("name", LYING_IN_GRAMMAR)
def test_git_refuses_the_lies_in_grammar(empty: dict[str, Path], name: str) -> None:
    _check_grammar(empty["sha1"], LYING[name], "sha1", LYING_IN_GRAMMAR[name])


def _check_grammar(repo: Path, pack: bytes, fmt: str, message_id: str) -> None:
    verdict = theirs(repo, pack, fmt)
    assert not verdict.accepted
    assert message_id in verdict.grammar, verdict.stderr
    for rules in RULES:
        mine = ours(pack, rules, fmt)
        assert mine.accepted, f"refused now ({mine.codes}): this case belongs to REFUSED"


def test_what_is_left_to_the_next_issue_has_no_code_yet() -> None:
    ids = {message_id for message_id, _ in NEXT_ISSUE.values()} | set(LYING_IN_GRAMMAR.values())
    assert not ids & BY_NAME.keys()
    assert INVALID_TAG in ids
