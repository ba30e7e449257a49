"""The registry of codes: a promise to those who build on it, so its form is held here."""

from __future__ import annotations

import re

import pytest

from packparse import codes
from packparse.codes import BY_NAME, Code

RANKS = [codes.IGNORE, codes.NOTE, codes.WARNING, codes.ERROR]
CONSTANTS = {name: value for name, value in vars(codes).items() if isinstance(value, Code)}
every_code = pytest.mark.parametrize("code", BY_NAME.values(), ids=list(BY_NAME))

# Names that are released. Classes and names never change; new ones are added here.
CLASSES = {
    codes.CORRUPT: """
        badSignature badPackVersion truncated implausibleObjectCount objectCountMismatch
        packChecksumMismatch trailingBytes duplicateObject varintOverflow unknownEntryType
        inflatedSizeMismatch badDeflate presetDictionary paddedDeflate
    """,
    codes.LIMIT: "packTooLarge tooManyObjects objectTooLarge rebuiltObjectTooLarge inflatedTooMuch",
    codes.INCOMPLETE: "missingDeltaBase absentObject missingTip",
    codes.POLICY: "branchNotCommit dashRefName replaceRef",
    codes.ENVIRONMENT: "inputChanged cannotRead corruptBaseObject",
}


@every_code
def test_a_name_is_camel_case(code: Code) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*([A-Z][a-z0-9]*)+|truncated", code.name)


def test_names_are_unique_and_lead_to_their_code() -> None:
    assert all(BY_NAME[code.name] is code for code in CONSTANTS.values())
    assert len(CONSTANTS) == len(BY_NAME)
    assert set(CONSTANTS.values()) == set(BY_NAME.values())
    assert len({name.lower() for name in BY_NAME}) == len(BY_NAME)


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
    assert BY_NAME[name].klass == klass


@every_code
def test_a_severity_is_known_and_git_rules_are_never_the_stricter(code: Code) -> None:
    candidate, git = code.severity("candidate"), code.severity("git")
    assert RANKS.index(git) <= RANKS.index(candidate)
    assert candidate != codes.IGNORE, "a code that no rule set reports is dead"


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


# PC2, PC8, PA7: where the two rule sets differ for the container, and where none refuses.
SEVERITIES = {
    "nonCanonicalVarint": (codes.NOTE, codes.IGNORE),
    "paddedDeflate": (codes.ERROR, codes.IGNORE),
    "emptyPack": (codes.NOTE, codes.NOTE),
    "trailingBytes": (codes.ERROR, codes.ERROR),
    "duplicateObject": (codes.ERROR, codes.ERROR),
    "presetDictionary": (codes.ERROR, codes.ERROR),
}


@pytest.mark.parametrize("name", SEVERITIES)
def test_the_rule_sets_judge_the_container_as_documented(name: str) -> None:
    code = BY_NAME[name]
    assert (code.severity("candidate"), code.severity("git")) == SEVERITIES[name]


@every_code
def test_a_code_shows_its_name(code: Code) -> None:
    assert repr(code) == f"Code({code.name})"
