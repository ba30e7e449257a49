"""Deltas on bases from outside of the pack, and on a file that changes between the passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packparse import checks, codes
from packparse.entry import TREE
from packparse.errors import MisuseError
from packparse.options import Options
from packparse.report import Report
from packparse.resolve import CACHE_BUDGET
from tests.support import packs
from tests.support.families import (
    BUDGETS,
    TEXT,
    Family,
    N,
    ReadAt,
    caterpillar,
    errors,
    ids,
    label,
    line,
    only_error,
    verified,
)
from tests.support.packs import Handle, PackBuilder

# --- bases from outside (thin packs) --------------------------------------------------------------

CRC = 0x1234_5678
OUTSIDE_BASE = packs.outside("blob", label(0)[1])


class Host:
    """The trusted side: gives its objects by id and remembers what it was asked for."""

    def __init__(self, *objects: Handle) -> None:
        self.objects = {h.oid: (packs.KIND_NUMBERS[h.kind], h.data) for h in objects}
        self.asked: list[bytes] = []

    def __call__(self, oid: bytes) -> tuple[int, bytes] | None:
        self.asked.append(oid)
        return self.objects.get(oid)


def thin_pack(order: tuple[int, ...] = (1, 2, 3, 4)) -> PackBuilder:
    """Write deltas that rest, at the last, on `OUTSIDE_BASE`: by id, by offset, by id on both."""
    family = Family([0, 0, 1, 2, 1])
    for number in order:
        family.write(number, by_id=number in {3, 4})
    return family.pack


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 1, 2), (3, 4, 2, 1)])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_thin_pack_rests_on_the_base_that_is_given(order: tuple[int, ...], budget: int) -> None:
    pack = thin_pack(order)
    verifier = verified(pack.build(), Options(read_base=Host(OUTSIDE_BASE), cache_budget=budget))
    assert verifier.report.findings.sorted() == []
    assert verifier.table.sorted_ids() == ids(pack.handles)
    assert verifier.report.delta_depth == 3
    assert verifier.report.counts["objects"] == 4


def test_without_the_base_a_thin_pack_is_incomplete() -> None:
    for host in (None, Host(), Host(packs.outside("blob", b"another object"))):
        report = verified(thin_pack().build(), Options(read_base=host)).report
        # What rests by id on objects that only the base would give is missing its base, too.
        assert {code for code, _ in errors(report)} == {codes.MISSING_DELTA_BASE}
        assert OUTSIDE_BASE.oid in {finding.oid for finding in report.findings.sorted()}
        assert report.klass == 5


def test_only_bases_that_the_pack_lacks_are_asked_for() -> None:
    example = packs.small_honest()
    host = Host(*example.handles)
    assert verified(example.pack, Options(read_base=host)).report.accepted
    assert host.asked == []


def test_the_kind_of_an_outside_base_is_that_of_its_deltas() -> None:
    base = packs.outside("commit", packs.commit_bytes(b"\x11" * 20, message=b"m" * 300))
    pack = PackBuilder()
    made = pack.add_ref(base, packs.edit(base.data, len(base.data), 0, b"n")[0])
    known = {b"\x11" * 20: 2, base.oid: 1}.get
    verifier = verified(pack.build(), Options(read_base=Host(base), known=known))
    assert verifier.report.findings.sorted() == []
    assert verifier.table.oid(0) == made.oid
    assert verifier.report.counts["commits"] == 1


@pytest.mark.parametrize("rules", ["candidate", "git"])
@pytest.mark.parametrize("budget", [0, CACHE_BUDGET])
def test_a_base_that_was_not_given_to_the_producer_is_smuggled(rules: str, budget: int) -> None:
    # A16: a delta that copies all of its base would bring another branch's content along.
    data = thin_pack().build()
    host = Host(OUTSIDE_BASE)

    def verdict(known: Callable[[bytes], int | None]) -> Report:
        options = Options(rules=rules, read_base=host, known=known, cache_budget=budget)
        return verified(data, options).report

    report = verdict(lambda _oid: None)
    finding = only_error(report)
    assert (finding.code, finding.oid) == (checks.SMUGGLED_BASE, OUTSIDE_BASE.oid)
    assert report.klass == codes.POLICY
    for kind in (0, 3):
        assert verdict({OUTSIDE_BASE.oid: kind}.get).findings.sorted() == []


LIES: dict[str, tuple[int, bytes]] = {
    "other content of the same size": (3, b"x" * N),
    "one byte more": (3, OUTSIDE_BASE.data + b"x"),
    "no content": (3, b""),
    "another kind": (2, OUTSIDE_BASE.data),
}


@pytest.mark.parametrize("name", LIES)
def test_a_base_that_does_not_hash_to_its_id_is_the_hosts_fault(name: str) -> None:
    report = verified(thin_pack().build(), Options(read_base=lambda _: LIES[name])).report
    finding = only_error(report)
    assert finding.code is codes.CORRUPT_BASE_OBJECT
    assert finding.oid == OUTSIDE_BASE.oid
    assert report.klass == 6


def test_an_outside_base_that_was_let_go_is_asked_for_again() -> None:
    family = Family(caterpillar(5))
    for number in range(1, len(family.parents)):
        family.write(number, by_id=True)
    host = Host(OUTSIDE_BASE)
    verifier = verified(family.pack.build(), Options(read_base=host, cache_budget=0))
    assert verifier.report.findings.sorted() == []
    assert verifier.table.sorted_ids() == ids(family.wanted[1:])
    assert host.asked.count(OUTSIDE_BASE.oid) > 1


@pytest.mark.parametrize("second", [None, *LIES.values()], ids=["nothing", *LIES])
def test_a_base_that_is_another_one_the_second_time_is_the_hosts_fault(
    second: tuple[int, bytes] | None,
) -> None:
    # With no budget the base is let go while the deltas below its first one are rebuilt.
    family = Family(caterpillar(5))
    for number in range(1, len(family.parents)):
        family.write(number, by_id=True)
    answers = [(3, OUTSIDE_BASE.data)]

    def read_base(oid: bytes) -> tuple[int, bytes] | None:
        assert oid == OUTSIDE_BASE.oid
        return answers.pop() if answers else second

    report = verified(family.pack.build(), Options(read_base=read_base, cache_budget=0)).report
    assert answers == []
    finding = only_error(report)
    assert (finding.code, finding.oid) == (codes.CORRUPT_BASE_OBJECT, OUTSIDE_BASE.oid)
    assert report.klass == 6


@pytest.mark.parametrize(
    "given",
    [
        (True, b"x"), (0, b"x"), (5, b"x"), ("blob", b"x"), (3, "x"), (3, None), (3,),
        (3, b"x", 1), [3, b"x"], b"x", False,
    ],
    ids=repr,
)  # fmt: skip
def test_an_answer_that_is_no_object_is_the_callers_mistake(given: object) -> None:
    options = Options(read_base=lambda _oid: given)  # type: ignore[arg-type,return-value]
    with pytest.raises(MisuseError, match="read_base: the answer is None, or a kind from 1 to 4"):
        verified(thin_pack().build(), options)


def test_an_outside_base_may_be_a_bytearray() -> None:
    answers = {OUTSIDE_BASE.oid: (3, bytearray(OUTSIDE_BASE.data))}
    options = Options(read_base=answers.get)  # type: ignore[arg-type]
    assert verified(thin_pack().build(), options).report.accepted


def test_links_of_a_tree_made_from_an_outside_tree_are_all_checked() -> None:
    # Large enough for any quick way through trees that differ in few places.
    names = [b"name%04d" % n for n in range(200)]
    listed = [(b"100644", name, packs.oid("blob", name)) for name in names]
    base = packs.outside("tree", packs.tree_bytes(listed))
    pack = PackBuilder()
    blob = pack.add("blob", b"the one new blob")
    at = base.data.index(names[7]) + len(names[7]) + 1
    pack.add_ref(base, packs.edit(base.data, at, 20, blob.oid)[0])
    base_known = {base.oid: TREE}.get
    nothing_else = verified(pack.build(), Options(read_base=Host(base), known=base_known))
    assert nothing_else.report.findings.count(checks.ABSENT_OBJECT) == 199
    known = {oid: 3 for _mode, _name, oid in listed} | {base.oid: 2}
    assert verified(pack.build(), Options(read_base=Host(base), known=known.get)).report.accepted


# --- files that change between the passes ---------------------------------------------------------

READERS: dict[str, Callable[[bytes], ReadAt]] = {
    "nothing": lambda _: lambda _at, _length: b"",
    "one byte less": lambda pack: lambda at, length: pack[at : at + length][:-1],
    "one byte only": lambda pack: lambda at, _length: pack[at : at + 1],
    "zeros": lambda _: lambda _at, length: bytes(length),
    "ones": lambda _: lambda _at, length: b"\xff" * length,
    "one bit flipped": lambda pack: lambda at, length: packs.flip(pack[at : at + length], -1),
    "a file that is now shorter": lambda pack: lambda at, length: pack[:20][at : at + length],
    "a shifted file": lambda pack: lambda at, length: pack[at + 1 : at + 1 + length],
}


@pytest.mark.parametrize("budget", [0, CACHE_BUDGET])
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_changes_between_the_passes_is_refused(name: str, budget: int) -> None:
    family = Family(caterpillar(6))
    family.write(12)  # by id and first, so that its base is late in the file
    for number in range(12):
        family.write(number)
    pack = family.pack.build()
    report = verified(pack, Options(cache_budget=budget), READERS[name](pack)).report
    finding = only_error(report)
    assert finding.code is codes.INPUT_CHANGED
    assert report.findings.count(codes.INPUT_CHANGED) == 1
    assert report.klass == 6
    assert finding.offset in {handle.offset for handle in family.pack.handles}


@pytest.mark.parametrize("changed", range(7))
def test_the_entry_that_changed_is_named(changed: int) -> None:
    family = Family(line(6))
    pack = family.write_all()
    handle = family.written[changed]
    other = packs.flip(pack, handle.end - 1)
    read_at: ReadAt = lambda at, length: other[at : at + length]  # noqa: E731 - one of two readers
    report = verified(pack, Options(cache_budget=0), read_at).report
    assert errors(report) == [(codes.INPUT_CHANGED, handle.offset)]


def test_an_entry_exchanged_for_another_valid_one_is_refused() -> None:
    one, two = (PackBuilder() for _ in range(2))
    for pack, text in ((one, TEXT), (two, TEXT.upper())):
        whole = pack.add("blob", text, level=0)
        pack.add_ofs(whole, label(1)[0])
    first, second = one.build(), two.build()
    assert len(first) == len(second)
    report = verified(first, read_at=lambda at, length: second[at : at + length]).report
    assert errors(report) == [(codes.INPUT_CHANGED, 12)]


def test_a_file_without_deltas_and_findings_is_not_read_again() -> None:
    pack = packs.blob_pack(b"one", b"two")

    def read_at(_offset: int, _length: int) -> bytes:
        pytest.fail("there is nothing to look for")

    assert verified(pack, read_at=read_at).report.accepted


def test_a_base_with_a_forged_checksum_is_refused_by_its_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A CRC-32 can be made to fit; the id cannot.
    monkeypatch.setattr("packparse.reader.crc32", lambda *_: CRC)
    monkeypatch.setattr("packparse.stream.crc32", lambda *_: CRC)
    monkeypatch.setattr("packparse.body.crc32", lambda *_: CRC)
    pack, other = PackBuilder(), PackBuilder()
    for builder, text in ((pack, TEXT), (other, TEXT.upper())):
        base = builder.add("blob", text, level=0)
        builder.add_ofs(base, label(1)[0])
    data, changed = pack.build(), other.build()
    report = verified(data, read_at=lambda at, length: changed[at : at + length]).report
    finding = only_error(report)
    assert (finding.code, finding.offset) == (codes.INPUT_CHANGED, 12)
    assert finding.oid == pack.handles[0].oid
