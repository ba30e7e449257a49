"""What is inherited is the very same: kinds, targets and contents; and what several bases cost."""

from __future__ import annotations

import time

import pytest

from packparse import checks, pathcodes
from packparse.codes import ERROR, WARNING
from packparse.limits import Limits
from packparse.options import Options
from packparse.policy import Policy
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.candidates import (
    TIP,
    Candidate,
    Folder,
    Store,
    existing,
    link,
    on_top,
    refusals,
)
from tests.support.packs import PackBuilder

# --- what a detail has to say -------------------------------------------------------------------

SWAPPED: dict[str, tuple[Folder, Folder, str | None]] = {
    "a file and a folder change places": (
        {b"A": {b"f": b"1"}, b"a": b"1"}, {b"A": b"1", b"a": {b"f": b"1"}}, "caseCollision",
    ),
    "a file and a link change places": (
        {b"A": link(b"x"), b"a": b"x"}, {b"A": b"x", b"a": link(b"x")}, "caseCollision",
    ),
    "the content of a file changes": (
        {b"A": b"1", b"a": b"1"}, {b"A": b"1", b"a": b"2"}, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SWAPPED)
def test_names_that_collide_are_inherited_with_their_kinds(name: str) -> None:
    before, after, code = SWAPPED[name]
    found = [found for found, _path in refusals(on_top(before, after).verify())]
    assert found == ([code] if code else [])


@pytest.mark.parametrize("odd", [b"git~2", b"-rf", b"aux"])
@pytest.mark.parametrize("becomes", ["a folder", "a link", "another file"])
def test_an_odd_name_is_inherited_with_its_kind(odd: bytes, becomes: str) -> None:
    strict = Policy(
        severities=dict.fromkeys(
            (pathcodes.SHORT_NAME_ALIAS, pathcodes.DASH_NAME, pathcodes.WINDOWS_DEVICE_NAME), ERROR
        )
    )
    after: dict[str, Folder] = {
        "a folder": {odd: {b"config": b"1"}}, "a link": {odd: link(b"x")},
        "another file": {odd: b"2"},
    }  # fmt: skip
    report = on_top({odd: b"1"}, after[becomes]).verify(policy=strict)
    assert report.accepted is (becomes == "another file")


@pytest.mark.parametrize("link_first", [True, False])
@pytest.mark.parametrize("changes", ["the link", "the folder", "nothing"])
def test_a_link_beside_a_folder_of_its_name_is_inherited_with_both(
    link_first: bool, changes: str
) -> None:
    mild = Policy(severities={checks.DUPLICATE_ENTRIES: WARNING})
    host, new = Store(), Store()

    def tree(store: Store, target: bytes, content: bytes) -> bytes:
        entries = [
            (b"120000", b"a", store.put("blob", target)),
            (b"40000", b"a", store.tree({b"f": content})),
        ]
        other = (b"100644", b"b", store.put("blob", store.fmt.encode()))
        return store.raw_tree(*(entries if link_first else entries[::-1]), other, ordered=False)

    start = host.commit(tree(host, b"x", b"1"))
    root = tree(new, b"y" if changes == "the link" else b"x",
                b"2" if changes == "the folder" else b"1")  # fmt: skip
    tip = new.commit(root, start, message=b"next\n")
    made = Candidate(host, new, (start,), {TIP: tip}, host.seed(start))
    found = {code for code, _ in refusals(made.verify(policy=mild))}
    assert found == (set() if changes == "nothing" else {"symlinkDirectoryCollision"})


# --- several bases ------------------------------------------------------------------------------


@pytest.mark.heavy
def test_many_bases_that_lack_a_folder_cost_no_more_than_one() -> None:
    host, new = Store(), Store()
    folders = [b"%02d" % n for n in range(10)]
    blob = host.put("blob", b"1")
    wide = {b"%05d" % n: existing(b"100644", blob) for n in range(10_000)}
    first = host.commit({name: {b"f": b"1"} for name in folders})
    others = [host.commit({b"n": b"%d" % n}, message=b"%d\n" % n) for n in range(300)]
    tip = new.commit(dict.fromkeys(folders, wide), first)

    def seconds(*bases: bytes) -> float:
        made = Candidate(host, new, bases, {TIP: tip}, host.seed(first, *others))
        begin = time.process_time()
        assert made.verify().accepted
        return time.process_time() - begin

    assert seconds(first, *others) < 4 * seconds(first) + 1


@pytest.mark.parametrize(("files", "accepted"), [(20_000, True), (10_000, False)])
def test_each_base_that_is_looked_at_counts(files: int, accepted: bool) -> None:
    host, new = Store(), Store()
    blob = host.put("blob", b"1")
    entries: Folder = {b"%04d" % n: existing(b"100644", blob) for n in range(1_000)}
    bases = tuple(host.commit({**entries, b"n": b"%d" % n}, message=b"%d\n" % n) for n in range(50))
    tip = new.commit({**entries, b"n": b"new"}, *bases[:2])
    made = Candidate(host, new, bases, {TIP: tip}, host.seed(*bases))
    # A thousand entries are looked for in fifty trees, which have as many: 101,000 look-ups.
    report = made.verify(limits=Limits(changes={"files": files, "parents": 50}))
    assert report.accepted is accepted
    assert report.findings.count(checks.TOO_MANY_FILES) == (not accepted)


def test_a_base_without_the_folder_is_not_asked_for() -> None:
    host, new = Store(), Store()
    bases = host.commit({b"d": {b"-x": b"1"}}), host.commit({b"e": b"1"}, message=b"2\n")
    tip = new.commit({b"d": {b"-x": b"2"}, b"e": b"1"}, *bases)
    asked: list[bytes] = []

    def reader(oid: bytes) -> tuple[int, bytes] | None:
        asked.append(oid)
        return host.read(oid)

    given = host.seed(*bases)
    options = Options(
        tips={TIP: tip}, bases=frozenset(bases), read_base=reader,
        known=lambda oid: 0 if oid in given else None,
    )  # fmt: skip
    data = Candidate(host, new, bases, {TIP: tip}, given).pack()[0]
    assert verify_bytes(data, options).accepted
    assert b"" not in asked


@pytest.mark.parametrize("how", ["whole", "as a delta"])
def test_a_warning_is_new_where_it_is_new_however_the_tree_is_packed(how: str) -> None:
    host, new = Store(), Store()
    folder: Folder = {**{b"q%05d" % n: b"same" for n in range(60)}, b"-warn": b"1"}
    start = host.commit({b"d": folder})
    edited = new.tree({**folder, b"q00000": b"changed"})
    beside = new.tree({**folder, b"q00000": b"changed once more"})
    tip = new.commit(new.raw_tree((b"40000", b"d", edited), (b"40000", b"e", beside)), start)
    given = host.seed(start)
    pack = PackBuilder()
    for oid, (kind, data) in new.objects.items():
        if oid not in given and oid not in (edited, beside):
            pack.add(kind, data)
    one, two = new.objects[edited][1], new.objects[beside][1]
    handle = pack.add("tree", one)
    if how == "whole":
        pack.add("tree", two)
    else:
        places = [at for at in range(len(one)) if one[at] != two[at]]
        first, last = places[0], places[-1] + 1
        ops = (
            packs.copy(0, first), packs.insert(two[first:last]),
            packs.copy(last, len(one) - last),
        )  # fmt: skip
        pack.add_ofs(handle, packs.delta(len(one), len(two), *ops), two)
    made = Candidate(host, new, (start,), {TIP: tip}, given)
    (finding,) = [
        f for f in made.verify(data=pack.build()).findings.sorted() if f.code.name == "dashName"
    ]
    assert (finding.severity, finding.inherited, finding.path) == ("warning", False, b"e/-warn")


MANY: dict[str, tuple[Folder, bool]] = {
    "nothing": ({}, True),
    "another content of a plain file": ({b"x0": b"2"}, True),
    "another file": ({b"new": b"1"}, False),
    "another collision": ({b"x0": b"1", b"y": b"1", b"Y": b"1"}, False),
}


@pytest.mark.parametrize("name", MANY)
def test_more_oddities_than_are_listed_are_inherited_where_all_names_are_the_same(
    name: str,
) -> None:
    changed, accepted = MANY[name]
    folder: Folder = {
        name % n: b"1" for n in range(1_200) for name in (b"a%04d", b"A%04d")
    } | {b"x0": b"1"}  # fmt: skip
    made = on_top({b"d": folder, b"n": b"1"}, {b"d": {**folder, **changed}, b"n": b"2"})
    assert made.verify().accepted is accepted
