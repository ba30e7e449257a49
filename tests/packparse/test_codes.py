"""The registry of codes: a promise to those who build on it, so its form is held here."""

from __future__ import annotations

import re

import pytest

from packparse import checks, codes, pathcodes
from packparse.checks import CATALOG
from packparse.codes import Code

RANKS = [codes.IGNORE, codes.NOTE, codes.WARNING, codes.ERROR]
# The constants of the three modules that the registry is made of.
CONSTANTS = {
    (module.__name__, name): value
    for module in (codes, pathcodes, checks)
    for name, value in vars(module).items()
    if isinstance(value, Code)
}
every_code = pytest.mark.parametrize("code", CATALOG.values(), ids=list(CATALOG))

# Names that are released. Classes and names never change; new ones are added here.
CLASSES = {
    codes.CORRUPT: """
        badSignature badPackVersion truncated implausibleObjectCount objectCountMismatch
        packChecksumMismatch trailingBytes duplicateObject varintOverflow unknownEntryType
        inflatedSizeMismatch badDeflate presetDictionary paddedDeflate
    """,
    codes.LIMIT: """
        packTooLarge tooManyObjects objectTooLarge rebuiltObjectTooLarge inflatedTooMuch
        treeTooDeep tooManyFiles pathTooLong
    """,
    codes.INCOMPLETE: "missingDeltaBase absentObject missingTip missingPrerequisite",
    codes.POLICY: """
        branchNotCommit dashRefName replaceRef stowawayObject smuggledBase notDescendant emptyRange
        rootCommit tagObject unexpectedRefs unexpectedPrerequisites symlinkEscapes hasDotgit
        caseCollision identityNotAllowed pathNotAllowed
    """,
    codes.ENVIRONMENT: "inputChanged cannotRead corruptBaseObject",
}


@every_code
def test_a_name_is_camel_case(code: Code) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*([A-Z][a-z0-9]*)+|truncated", code.name)


def test_names_are_unique_and_lead_to_their_code() -> None:
    assert all(CATALOG[code.name] is code for code in CONSTANTS.values())
    assert len(CONSTANTS) == len(CATALOG)
    assert set(CONSTANTS.values()) == set(CATALOG.values())
    assert len({name.lower() for name in CATALOG}) == len(CATALOG)


def test_the_registry_of_files_is_completed_by_that_of_objects() -> None:
    assert CATALOG is codes.BY_NAME
    first = next(iter(CATALOG.values()))
    assert first is codes.BAD_SIGNATURE


@every_code
def test_a_class_is_an_exit_status_that_an_error_can_have(code: Code) -> None:
    assert code.klass in {1, 3, 4, 5, 6}
    assert code.klass != codes.USAGE


def test_the_classes_are_the_exit_statuses_of_the_command() -> None:
    numbers = (codes.CORRUPT, codes.USAGE, codes.POLICY, codes.LIMIT)
    assert (*numbers, codes.INCOMPLETE, codes.ENVIRONMENT) == (1, 2, 3, 4, 5, 6)


def test_every_class_has_a_name_and_says_what_it_covers() -> None:
    assert list(codes.CLASSES) == [1, 2, 3, 4, 5, 6]
    names = [name for name, _ in codes.CLASSES.values()]
    assert names == ["corrupt", "usage", "policy", "limit", "incomplete", "environment"]
    for klass, (_, text) in codes.CLASSES.items():
        assert text.isascii()
        assert bool(text) == (klass != codes.USAGE), "usage says all by its name"


def test_the_rule_sets_are_those_that_severities_are_given_for() -> None:
    assert codes.RULES == ("candidate", "git")


@pytest.mark.parametrize(
    ("name", "klass"), [(name, klass) for klass, names in CLASSES.items() for name in names.split()]
)
def test_a_known_name_keeps_its_class(name: str, klass: int) -> None:
    assert CATALOG[name].klass == klass


@every_code
def test_a_severity_is_known_and_git_rules_are_never_the_stricter(code: Code) -> None:
    candidate, git = code.severity("candidate"), code.severity("git")
    # Merges are no fault in themselves, and a policy may still ask for none.
    if code is checks.MERGE_COMMIT:
        assert (candidate, git, code.free) == (codes.IGNORE, codes.IGNORE, True)
        return
    assert RANKS.index(git) <= RANKS.index(candidate)
    assert candidate != codes.IGNORE, "a code that no rule set reports is dead"


@every_code
def test_a_policy_may_not_touch_what_the_verifier_cannot_go_on_without(code: Code) -> None:
    # What is no error is free to be one; where going on would lose objects, it stays an error.
    if not code.free:
        assert code.severity("candidate") == codes.ERROR
    if code.klass in {codes.LIMIT, codes.ENVIRONMENT}:
        assert not code.free


@every_code
def test_a_version_of_git_is_a_version(code: Code) -> None:
    assert re.fullmatch(r"(2\.\d+(\.\d+)?)?", code.since)


# What git has under the same id, and since when.
SINCE = {
    "badTree": "2.10",
    "hasDotgit": "2.10",
    "gitmodulesName": "2.18",
    "gitattributesLineLength": "2.39.1",
    "largePathname": "2.43",
    "badGpgsig": "2.52",
    "trailingBytes": "",
    "symlinkEscapes": "",
    # Of refs in a repository, which is something else.
    "badRefName": "",
}


@pytest.mark.parametrize("name", SINCE)
def test_a_code_of_gits_fsck_says_since_when(name: str) -> None:
    assert CATALOG[name].since == SINCE[name]


def test_a_new_code_is_an_error_that_no_policy_may_touch() -> None:
    code = Code("someThing", codes.CORRUPT, "It is.", "Do it.")
    assert (code.severity("candidate"), code.severity("git")) == (codes.ERROR, codes.ERROR)
    assert (code.since, code.free) == ("", False)
    assert "someThing" not in CATALOG


@every_code
def test_a_code_says_what_it_means_and_what_to_do(code: Code) -> None:
    for text in (code.meaning, code.remedy):
        assert text.isascii()
        assert text.endswith(".")
        assert text[0].isupper()
        assert "  " not in text


@every_code
def test_only_a_limit_tells_to_raise_a_limit(code: Code) -> None:
    assert (code.remedy == codes.RAISE_LIMIT) == (code.klass == codes.LIMIT)
    assert "--limit NAME=VALUE" in codes.RAISE_LIMIT


# PC2, PC8, PA7: where the two rule sets differ, and where none refuses.
SEVERITIES = {
    "nonCanonicalVarint": (codes.NOTE, codes.IGNORE),
    "paddedDeflate": (codes.ERROR, codes.IGNORE),
    "emptyPack": (codes.NOTE, codes.NOTE),
    "trailingBytes": (codes.ERROR, codes.ERROR),
    "duplicateObject": (codes.ERROR, codes.ERROR),
    "presetDictionary": (codes.ERROR, codes.ERROR),
    # A14 to A18
    "stowawayObject": (codes.ERROR, codes.IGNORE),
    "smuggledBase": (codes.ERROR, codes.ERROR),
    "alreadyInBase": (codes.NOTE, codes.IGNORE),
    "linksNotChecked": (codes.NOTE, codes.NOTE),
    "badFilemode": (codes.WARNING, codes.WARNING),
    "gitlinkEntry": (codes.NOTE, codes.IGNORE),
    "symlinkEscapes": (codes.ERROR, codes.IGNORE),
    "hasDotgit": (codes.ERROR, codes.ERROR),
}


@pytest.mark.parametrize("name", SEVERITIES)
def test_the_rule_sets_judge_as_documented(name: str) -> None:
    code = CATALOG[name]
    assert (code.severity("candidate"), code.severity("git")) == SEVERITIES[name]


@every_code
def test_a_code_shows_its_name(code: Code) -> None:
    assert repr(code) == f"Code({code.name})"
