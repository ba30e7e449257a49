"""Any bytes at all: a verdict comes out, never an exception, and damage is never accepted."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse import codes
from packparse.codes import RULES
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.verify import verify_bytes
from tests.support import bundles, packs
from tests.support.feeding import (
    Cut,
    Verdict,
    at_places,
    randomly,
    run_stream,
    run_verifier,
    verdict_of,
    verify_in_all_cuts,
)

FIXED = settings(derandomize=True, database=None, deadline=None)
MASKS = (0x01, 0x10, 0x20, 0x80)

formats = pytest.mark.parametrize("fmt", FORMATS)
rule_sets = pytest.mark.parametrize("rules", RULES)


def _odd_pack(fmt: str) -> bytes:
    """Return a valid pack of oddities: padded sizes, stored, flushed and padded streams."""
    pack = packs.PackBuilder(fmt, version=3)
    text = b"some text " * 9
    base = pack.add("blob", text, header_pad=2, deflate=packs.several_flushes(text))
    delta, _result = packs.edit(text, 4, 2, b"delta")
    pack.add_ofs(base, delta, header_pad=1, deflate=packs.stored(delta))
    pack.add("blob", b"", deflate=packs.padded(b"", 5))
    return pack.build()


PACKS: dict[str, Callable[[str], bytes]] = {
    "every kind of entry": packs.small_honest_pack,
    "odd but valid": _odd_pack,
    "a short chain": lambda fmt: packs.chain_pack(3, fmt),
    "empty": lambda fmt: packs.PackBuilder(fmt).build(),
}
FILES = {**PACKS, "bundle": bundles.honest_bundle}


def judge(data: bytes, fmt: str = "sha1", rules: str = "candidate") -> Verdict:
    # A bundle says its own format, and says it of a pack's format too.
    asked = None if data[:1] == b"#" else FORMATS[fmt]
    return verdict_of(verify_bytes(data, Options(rules=rules, object_format=asked)))


@formats
@rule_sets
@pytest.mark.parametrize("what", FILES)
def test_the_examples_are_accepted_to_begin_with(what: str, fmt: str, rules: str) -> None:
    verdict = judge(FILES[what](fmt), fmt, rules)
    assert verdict.accepted, verdict.findings


# --- cut short at every place -------------------------------------------------------------------

CUT_CODES = {
    codes.TRUNCATED.name,
    codes.IMPLAUSIBLE_OBJECT_COUNT.name,
    codes.BUNDLE_MISSING_BLANK_LINE.name,
    codes.BUNDLE_MISSING_PACK.name,
}


@formats
@rule_sets
@pytest.mark.parametrize("what", FILES)
def test_a_file_that_is_cut_anywhere_is_refused_for_that(what: str, fmt: str, rules: str) -> None:
    data = FILES[what](fmt)
    for length in range(len(data)):
        verdict = judge(data[:length], fmt, rules)
        assert len(verdict.codes) == 1, length
        assert set(verdict.codes) <= CUT_CODES, (length, verdict.codes)
        assert verdict.klass == codes.CORRUPT


@formats
@pytest.mark.parametrize("what", PACKS)
def test_a_pack_of_unknown_length_that_is_cut_anywhere_is_truncated(what: str, fmt: str) -> None:
    data = PACKS[what](fmt)
    whole = run_stream(data, fmt=fmt)
    starts = [entry.offset for entry in whole.entries]
    for length in range(len(data)):
        outcome = run_stream(data[:length], fmt=fmt)
        assert outcome.code == codes.TRUNCATED.name, length
        # The offset is that of the entry, the checksum or the header that is not all there.
        begun = [at for at in (0, *starts, whole.entries_end) if at <= length]
        assert outcome.offset == (begun[-1] if length >= packs.HEADER_LENGTH else 0), length


# --- one byte changed ---------------------------------------------------------------------------


@formats
@rule_sets
@pytest.mark.parametrize("what", PACKS)
def test_a_pack_with_any_byte_changed_is_refused(what: str, fmt: str, rules: str) -> None:
    # No change is harmless: the checksum covers every byte before it, and is one itself.
    data = PACKS[what](fmt)
    for at in range(len(data)):
        for mask in MASKS:
            verdict = judge(packs.flip(data, at, mask), fmt, rules)
            assert not verdict.accepted, (at, mask)


@formats
@rule_sets
def test_a_bundle_with_any_byte_changed_is_refused_or_says_other_names(
    fmt: str, rules: str
) -> None:
    data = bundles.honest_bundle(fmt)
    pack = data.index(b"PACK")
    honest = judge(data, fmt, rules)
    accepted = set()
    for at in range(len(data)):
        for mask in MASKS:
            verdict = judge(packs.flip(data, at, mask), fmt, rules)
            if verdict.accepted:
                accepted.add(at)
                assert at < pack, "no change in the pack is harmless"
                assert verdict.pack_checksum == honest.pack_checksum
                assert verdict.counts == honest.counts
                assert {oid for _, oid in verdict.tips} <= {oid for _, oid in honest.tips}
                assert rules == "git" or len(verdict.tips) == len(honest.tips)
    # Nothing seals the header. What may change unseen is a ref's name (to git also the end of its
    # line, since it takes any name), and the version, where 3 without capabilities says the same.
    lines = [b" " + name + b"\n" for name, _ in honest.tips]
    end = 0 if rules == "git" else 1
    names = {at for line in lines for at in range(*_inside(data, line, end))}
    assert accepted <= names | ({3} if fmt == "sha1" else set())
    assert accepted & names, "a flip of a letter's case gives another valid name"


def _inside(data: bytes, line: bytes, end: int) -> tuple[int, int]:
    at = data.index(line)
    return at + 1, at + len(line) - end


@formats
@rule_sets
@pytest.mark.parametrize("what", [name for name in PACKS if name != "empty"])
def test_a_sealed_pack_with_any_byte_changed_gives_a_verdict(
    what: str, fmt: str, rules: str
) -> None:
    # The checksum is made right again, so what is found is found behind it.
    data = PACKS[what](fmt)
    honest = judge(data, fmt, rules)
    for at in range(packs.HEADER_LENGTH, len(data) - packs.oid_length(fmt)):
        mask = MASKS[at % len(MASKS)]
        verdict = judge(packs.reseal(packs.flip(data, at, mask), fmt), fmt, rules)
        # An offset outside the file would send a reader nowhere.
        assert all(one.offset is None or 0 <= one.offset <= len(data) for one in verdict.findings)
        if verdict.accepted:
            assert verdict.counts[0] == honest.counts[0], at


# --- random bytes -------------------------------------------------------------------------------

starts = st.sampled_from((
    b"",
    b"PACK",
    b"PACK\0\0\0\2\0\0\0\1",
    b"PACK\0\0\0\3\0\0\0\2\x33",
    b"PACK\0\0\0\2\0\0\0\1\x33\x78\x9c",
    b"# v2 git bundle\n",
    b"# v3 git bundle\n@object-format=sha256\n",
    b"# v2 git bundle\n\nPACK\0\0\0\2",
))  # fmt: skip


@given(start=starts, tail=st.binary(max_size=200), fmt=st.sampled_from(sorted(FORMATS)))
@settings(FIXED, max_examples=250)
def test_random_bytes_give_the_same_refusal_in_every_cut(
    start: bytes, tail: bytes, fmt: str
) -> None:
    data = start + tail
    for rules in RULES:
        options = Options(rules=rules, object_format=FORMATS[fmt])
        unknown = verify_in_all_cuts(data, options)
        known = run_verifier(data, randomly(len(data)), options, length=len(data))
        assert not unknown.accepted
        assert not known.accepted


@st.composite
def mutations(draw: st.DrawFn) -> tuple[bytes, str]:
    """Return an example with a few bytes replaced, inserted or cut out, and its format."""
    fmt = draw(st.sampled_from(sorted(FORMATS)))
    what = draw(st.sampled_from(sorted(FILES)))
    data = bytearray(FILES[what](fmt))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.integers(0, 4))
        data[at : at + cut] = draw(st.binary(max_size=4))
    sealed = draw(st.booleans()) and len(data) > packs.oid_length(fmt)
    if sealed and data[:1] == b"#":
        begin = max(0, data.find(b"PACK"))
        return bytes(data[:begin]) + packs.reseal(bytes(data[begin:]), fmt), fmt
    return (packs.reseal(bytes(data), fmt) if sealed else bytes(data)), fmt


@given(mutations())
@settings(FIXED, max_examples=250)
def test_mutations_with_a_right_checksum_give_the_same_verdict_in_every_cut(
    mutation: tuple[bytes, str],
) -> None:
    data, fmt = mutation
    asked = None if data[:1] == b"#" else FORMATS[fmt]
    verdicts = {
        rules: verify_in_all_cuts(data, Options(rules=rules, object_format=asked))
        for rules in RULES
    }
    # What a candidate may do is part of what git allows.
    if verdicts["candidate"].accepted:
        assert verdicts["git"].accepted
    for verdict in verdicts.values():
        assert verdict.accepted == (not verdict.codes)
        assert verdict.klass in {0, 1, 3, 4, 5}


@given(mutation=mutations(), budget=st.sampled_from((0, 200, 2000)))
@settings(FIXED, max_examples=80)
def test_no_verdict_depends_on_the_budget_of_the_cache(
    mutation: tuple[bytes, str], budget: int
) -> None:
    data, fmt = mutation
    asked = None if data[:1] == b"#" else FORMATS[fmt]
    small = Options(object_format=asked, cache_budget=budget)
    assert verdict_of(verify_bytes(data, small)) == verdict_of(
        verify_bytes(data, Options(object_format=asked))
    )


@given(
    mutation=mutations(), name=st.sampled_from(sorted(Limits.__slots__)), value=st.integers(0, 300)
)
@settings(FIXED, max_examples=150)
def test_a_limit_of_any_value_refuses_alike_in_every_cut(
    mutation: tuple[bytes, str], name: str, value: int
) -> None:
    data, fmt = mutation
    asked = None if data[:1] == b"#" else FORMATS[fmt]
    options = Options(object_format=asked, limits=Limits(changes={name: value}))
    verify_in_all_cuts(data, options)
    verify_in_all_cuts(data, options, length=len(data))


def test_a_header_without_its_blank_line_is_judged_alike_however_close_its_limits_are() -> None:
    # Which of the two is found, the limit or the missing line, may depend on the limit alone.
    header = bundles.honest_bundle().partition(b"\n\n")[0] + b"\n"
    tight = [Limits(changes={"bundle_header_bytes": len(header) + n}) for n in range(-2, 7)]
    tight += [Limits(changes={"bundle_line_bytes": n}) for n in range(7)]
    for limits in tight:
        for data in (header, b"# v2 git bundle\n"):
            verdict = verify_in_all_cuts(data + packs.small_honest_pack(), Options(limits=limits))
            assert len(verdict.codes) == 1, verdict.codes


@rule_sets
@pytest.mark.parametrize("trees", [6, 200], ids=["a few trees", "many trees"])
def test_a_limit_that_ends_the_run_names_its_entry_and_none_that_come_after(
    trees: int, rules: str
) -> None:
    # All entries are noted for their sizes, if they are read; each tree has three links.
    pack = packs.PackBuilder()
    blob = pack.add("blob", b"linked to")
    for number in range(trees):
        entries = [(b"100644", b"%d-%d" % (number, n), blob.oid) for n in range(3)]
        pack.add("tree", packs.tree_bytes(entries), header_pad=1)
    pack.add("blob", b"last", header_pad=1)
    data, total = pack.build(), 3 * trees
    for links in {0, 2, 3, 10, total // 2, total - 1}:
        options = Options(rules=rules, limits=Limits(changes={"links": links}))
        verdict = verify_in_all_cuts(data, options)
        tree = pack.handles[1 + links // 3]
        assert verdict.codes == ["tooManyLinks"]
        assert verdict.at("tooManyLinks") == [tree.offset]
        assert [one.oid for one in verdict.findings if one.severity == codes.ERROR] == [tree.oid]
    allowed = Options(rules=rules, limits=Limits(changes={"links": total}))
    assert verify_in_all_cuts(data, allowed).accepted


# --- random cuts --------------------------------------------------------------------------------


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    if draw(st.booleans()):
        return randomly(draw(st.integers(0, 10**6)))
    # Few cuts, close to the borders of the header, the first entries and the checksum.
    return at_places(*draw(st.lists(st.integers(0, 300), max_size=6)))


@given(cut=cuts(), fmt=st.sampled_from(sorted(FORMATS)), what=st.sampled_from(sorted(FILES)))
@settings(FIXED, max_examples=200)
def test_any_cut_of_an_honest_file_equals_feeding_it_whole(cut: Cut, fmt: str, what: str) -> None:
    data = FILES[what](fmt)
    asked = None if data[:1] == b"#" else FORMATS[fmt]
    options = Options(object_format=asked)
    assert run_verifier(data, cut, options) == run_verifier(data, options=options)
    assert run_verifier(data, cut, options, length=len(data)).accepted
    if what in PACKS:
        assert run_stream(data, cut, fmt=fmt) == run_stream(data, fmt=fmt)


@given(cut=cuts(), seed=st.integers(0, 10**6), fmt=st.sampled_from(sorted(FORMATS)))
@settings(FIXED, max_examples=200)
def test_any_cut_of_a_sealed_mutation_gives_the_same_entries(cut: Cut, seed: int, fmt: str) -> None:
    rng = random.Random(seed)
    data = packs.small_honest_pack(fmt)
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(packs.HEADER_LENGTH, len(data) - packs.oid_length(fmt))
        data = packs.flip(data, at, 1 << rng.randrange(8))
    data = packs.reseal(data, fmt)
    assert run_stream(data, cut, fmt=fmt) == run_stream(data, fmt=fmt)
