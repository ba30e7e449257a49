"""Packs made by hand: what git refuses we refuse as well, and under its rules nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from packparse.checks import CATALOG
from packparse.codes import IGNORE, LIMIT, RULES, WARNING
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from tests.differential.compare import UNREADABLE, Theirs, is_known_to, ours, theirs
from tests.differential.hostile import ACCEPTED, BY_ID, COSTLY, REFUSED, WARNED
from tests.differential.hostile_grammar import special
from tests.support.gitrepo import git_version
from tests.support.test_support import LYING

# Of the examples that the writers are tested with, those that break the grammar of objects only.
LYING_IN_GRAMMAR = {
    "tree order": "treeNotSorted",
    "tree name": "hasDotgit",
    "gitmodules, blob first": "gitmodulesName",
    "gitmodules, tree first": "gitmodulesName",
}

# Ids that git does not come to say: it asks for something else first, or leaves it to its caller to
# look for what is missing.
BEHIND = {"badGpgsig": "unterminatedHeader", "badHeaderContinuation": "unterminatedHeader"}
LEFT_TO_THE_CALLER = "gitmodulesMissing"

# Ids that have no row: a name is looked at only where it is not empty, and what is too large to
# be looked at costs more than a row may.
WITHOUT_A_ROW = {"emptyName", "gitattributesLarge", "gitmodulesLarge"}

formats = pytest.mark.parametrize("fmt", FORMATS)


def refuses_for(verdict: Theirs, name: str) -> bool:
    """Whether git refuses for what our code of this name stands for, and for nothing else."""
    if name in UNREADABLE:
        return verdict.stderr.rstrip().endswith((b"fatal: invalid commit", b"fatal: invalid tag"))
    if name == LEFT_TO_THE_CALLER:
        return verdict.rc == 0 and not verdict.grammar
    return set(verdict.grammar) == {BEHIND.get(name, name)}


@formats
@pytest.mark.parametrize("name", [name for name in REFUSED if name not in BY_ID])
def test_both_refuse(empty: dict[str, Path], fmt: str, name: str) -> None:
    pack = REFUSED[name](fmt)
    assert not theirs(empty[fmt], pack, fmt).accepted
    for rules in RULES:
        assert not ours(pack, rules, fmt).accepted, rules


@formats
@pytest.mark.parametrize("name", BY_ID)
def test_both_refuse_for_the_same_reason(empty: dict[str, Path], fmt: str, name: str) -> None:
    message_id, write = BY_ID[name]
    pack = write(fmt)
    for rules in RULES:
        assert message_id in ours(pack, rules, fmt).errors, rules
    verdict = theirs(empty[fmt], pack, fmt)
    # An id that came with a later version is a row of known.py.
    assert not (verdict.accepted and is_known_to(message_id, git_version()))
    assert verdict.accepted or refuses_for(verdict, message_id), verdict.stderr


@pytest.mark.parametrize("name", sorted(LYING.keys() - LYING_IN_GRAMMAR.keys()))
def test_both_refuse_the_lies_of_the_writers(empty: dict[str, Path], name: str) -> None:
    assert not theirs(empty["sha1"], LYING[name]).accepted
    for rules in RULES:
        assert not ours(LYING[name], rules).accepted, rules


@pytest.mark.parametrize("name", LYING_IN_GRAMMAR)
def test_both_refuse_the_lies_in_grammar(empty: dict[str, Path], name: str) -> None:
    assert set(theirs(empty["sha1"], LYING[name]).grammar) == {LYING_IN_GRAMMAR[name]}
    for rules in RULES:
        assert ours(LYING[name], rules).errors == {LYING_IN_GRAMMAR[name]}, rules


@formats
@pytest.mark.parametrize("name", ACCEPTED)
def test_both_accept(empty: dict[str, Path], fmt: str, name: str) -> None:
    pack = ACCEPTED[name](fmt)
    verdict, mine = theirs(empty[fmt], pack, fmt), ours(pack, "git", fmt)
    assert verdict.accepted, verdict.stderr
    assert mine.accepted, mine.codes
    assert mine.oids == verdict.oids
    # Of what git only warns, we warn as well.
    assert set(verdict.warned) <= set(mine.codes)


@formats
@pytest.mark.parametrize("name", WARNED)
def test_both_warn_of_the_same(empty: dict[str, Path], fmt: str, name: str) -> None:
    message_id, write = WARNED[name]
    pack = write(fmt)
    assert set(theirs(empty[fmt], pack, fmt).warned) == {message_id}
    assert message_id in ours(pack, "git", fmt).codes


@formats
@pytest.mark.parametrize("name", COSTLY)
def test_what_costs_too_much_is_refused_for_that_alone(
    empty: dict[str, Path], fmt: str, name: str
) -> None:
    pack = COSTLY[name](fmt)
    assert theirs(empty[fmt], pack, fmt).accepted
    for rules in RULES:
        mine = ours(pack, rules, fmt)
        assert mine.report.klass == LIMIT
        assert {CATALOG[name].klass for name in mine.errors} == {LIMIT}


@pytest.mark.parametrize("tree_first", [False, True])
def test_a_gitmodules_that_is_too_large_to_be_read_is_refused(
    empty: dict[str, Path], *, tree_first: bool
) -> None:
    # By default git reads 512 MiB.
    spare = b"# spare\n" * 1_000
    pack = special(b".gitmodules", spare, tree_first=tree_first)("sha1")
    said = theirs(empty["sha1"], pack, "sha1", "core.bigFileThreshold=1k")
    assert said.grammar == ["gitmodulesLarge"]
    for limit, errors in ((len(spare) - 1, {"specialFileTooLarge"}), (len(spare), set())):
        options = Options(rules="git", limits=Limits("history", {"special_bytes": limit}))
        assert ours(pack, options=options).errors == errors


def test_every_id_of_git_that_a_pack_can_have_has_its_row() -> None:
    ids = {name for name, code in CATALOG.items() if code.since}
    refused = {message_id for message_id, _ in BY_ID.values()}
    warned = {message_id for message_id, _ in WARNED.values()}
    silent = {name for name in ids if CATALOG[name].severity("git") == IGNORE}
    assert silent == {"extraHeaderEntry"}
    assert warned == {name for name in ids if CATALOG[name].severity("git") == WARNING}
    assert ids - refused - warned - silent == WITHOUT_A_ROW
    assert refused - ids == {"tagTooShort"}
