"""Every pack and bundle made by hand, in every cut: the same is found however the bytes arrive."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packparse.codes import LIMIT, RULES
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from tests.differential.hostile import ACCEPTED, COSTLY, REFUSED
from tests.differential.hostile_container import Writer
from tests.support import packs
from tests.support.bundles import honest_bundle
from tests.support.feeding import (
    Verdict,
    refuses_bytes_after,
    refuses_surplus,
    verify_in_all_cuts,
)
from tests.support.test_support import LYING, ODD_BUT_VALID

HONEST: dict[str, Writer] = {
    "the small example": lambda fmt: packs.small_honest(fmt).pack,
    "a chain": lambda fmt: packs.chain(30, fmt).pack,
    "a bundle": honest_bundle,
}
# Inputs that are read byte by byte a dozen times over.
LONGEST = 64 << 10


def options(fmt: str, rules: str) -> Options:
    return Options(rules=rules, limits=Limits("history"), object_format=FORMATS[fmt])


def all_cuts(data: bytes, fmt: str, rules: str) -> Verdict:
    """The verdict in all cuts, which knowing the length before does not change."""
    verdict = verify_in_all_cuts(data, options(fmt, rules))
    known = verify_in_all_cuts(data, options(fmt, rules), length=len(data))
    assert known.klass == verdict.klass
    # A count that cannot be true is refused earlier where the length is known, nothing else is.
    if known.codes != ["implausibleObjectCount"]:
        assert known == verdict
    return verdict


rule_sets = pytest.mark.parametrize("rules", RULES)
formats = pytest.mark.parametrize("fmt", FORMATS)


@rule_sets
@formats
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_alike_in_every_cut(name: str, fmt: str, rules: str) -> None:
    assert not all_cuts(REFUSED[name](fmt)[:LONGEST], fmt, rules).accepted


@rule_sets
@pytest.mark.parametrize("name", [name for name in COSTLY if "tenth" in name])
def test_what_costs_too_much_is_refused_alike_in_every_cut(name: str, rules: str) -> None:
    assert all_cuts(COSTLY[name]("sha1"), "sha1", rules).klass == LIMIT


@rule_sets
@pytest.mark.parametrize("name", LYING)
def test_the_lies_of_the_writers_are_judged_alike_in_every_cut(name: str, rules: str) -> None:
    all_cuts(LYING[name], "sha1", rules)


# Its entries are like those of other packs, and reading it byte by byte takes half a minute.
DEEP = "a tree 2,000 folders deep"


def _accepted() -> list[tuple[str, Callable[[str], bytes]]]:
    return [*HONEST.items(), *((name, ACCEPTED[name]) for name in ACCEPTED if name != DEEP)]


@formats
@pytest.mark.parametrize(("name", "write"), _accepted(), ids=[name for name, _ in _accepted()])
def test_what_is_accepted_is_accepted_in_every_cut_and_ends_where_it_ends(
    name: str, write: Writer, fmt: str
) -> None:
    data = write(fmt)
    assert data, name
    for rules in RULES:
        # Both rule sets do not accept the same; git's accepts all of these.
        if all_cuts(data, fmt, rules).accepted:
            refuses_surplus(data, options(fmt, rules))
        else:
            assert rules == "candidate"


@pytest.mark.parametrize("name", ODD_BUT_VALID)
def test_odd_packs_of_the_writers_end_where_they_end(name: str) -> None:
    refuses_bytes_after(ODD_BUT_VALID[name], options("sha1", "git"))
