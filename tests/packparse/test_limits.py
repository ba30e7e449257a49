"""The table of limits: each has a reason and a code, and says how to raise it."""

from __future__ import annotations

import pytest

from packparse import checks, codes
from packparse.errors import MisuseError
from packparse.limits import PRESETS, SPECS, Limits, LimitSpec

# Entries and links are numbered in 32 bits, with a few numbers of a meaning of their own.
LARGEST = {"objects": 0xFFFF_FFF0, "links": 0xFFFF_FFF0}

every_limit = pytest.mark.parametrize("spec", SPECS.values(), ids=list(SPECS))


@every_limit
def test_a_limit_has_a_reason_and_a_unit(spec: LimitSpec) -> None:
    assert len(spec.reason.split()) >= 5
    assert spec.reason.endswith(".")
    assert spec.unit.strip() == spec.unit != ""


@every_limit
def test_a_limit_refuses_with_a_code_of_its_class_that_is_an_error_everywhere(
    spec: LimitSpec,
) -> None:
    assert spec.code.klass == codes.LIMIT
    assert spec.code.severity("candidate") == spec.code.severity("git") == codes.ERROR


def test_each_limit_has_its_own_code_and_each_such_code_its_limit() -> None:
    used = [spec.code.name for spec in SPECS.values()]
    assert len(set(used)) == len(used)
    assert set(used) == {code.name for code in checks.CATALOG.values() if code.klass == codes.LIMIT}


@every_limit
def test_history_allows_at_least_what_candidate_does(spec: LimitSpec) -> None:
    assert 0 < spec.candidate <= spec.history


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_the_column_of_the_table(preset: str) -> None:
    limits = Limits(preset)
    expected = {name: getattr(spec, preset) for name, spec in SPECS.items()}
    assert limits.as_dict() == expected
    assert list(limits.as_dict()) == list(SPECS)
    assert all(getattr(limits, name) == value for name, value in expected.items())


def test_pi9_the_strict_preset_is_the_default() -> None:
    assert Limits().as_dict() == Limits("candidate").as_dict()


@every_limit
def test_one_limit_can_be_changed_and_the_others_stay(spec: LimitSpec) -> None:
    for value in (0, 1, LARGEST.get(spec.name, 2**53 - 1)):
        changed = Limits("history", {spec.name: value}).as_dict()
        assert changed == {**Limits("history").as_dict(), spec.name: value}


def test_changing_a_limit_leaves_the_preset_alone() -> None:
    before = Limits().as_dict()
    Limits(changes={"objects": 1})
    assert Limits().as_dict() == before


@pytest.mark.parametrize(
    ("preset", "changes", "wrong"),
    [
        ("huge", {}, "huge"),
        ("", {}, "preset"),
        ("candidate", {"object": 1}, "object"),
        ("candidate", {"Objects": 1}, "Objects"),
        ("candidate", {"objects": -1}, "objects must be from 0 to 4294967280"),
        ("candidate", {"objects": LARGEST["objects"] + 1}, "objects must be from 0 to 4294967280"),
        ("history", {"links": LARGEST["links"] + 1}, "links must be from 0 to 4294967280"),
        ("history", {"pack_bytes": 2**53}, "pack_bytes must be from 0 to 9007199254740991"),
        ("candidate", {"refs": -1}, "refs must be from 0 to 9007199254740991"),
    ],
    ids=[
        "unknown preset",
        "empty preset",
        "unknown limit",
        "wrong case",
        "negative objects",
        "more objects than numbers",
        "more links than numbers",
        "more bytes than JSON can say",
        "negative refs",
    ],
)
def test_a_limit_that_makes_no_sense_is_misuse_and_named(
    preset: str, changes: dict[str, int], wrong: str
) -> None:
    with pytest.raises(MisuseError, match=wrong):
        Limits(preset, changes)


@every_limit
def test_pi10_a_refusal_says_what_was_seen_the_limit_and_how_to_raise_it(spec: LimitSpec) -> None:
    value = 17
    error = Limits(changes={spec.name: value}).passed(spec.name, 4711, "something has")
    assert error.code is spec.code
    assert error.message == (
        f"something has 4711 {spec.unit}, the limit is 17; raise it with --limit {spec.name}=VALUE"
    )
    assert error.limit is not None
    assert error.limit.as_dict() == {"name": spec.name, "value": value, "seen": 4711}
    assert error.offset is None
