"""Links that go up again after a name (PG10, A13): followed in the whole tree of each commit."""

from __future__ import annotations

import time

import pytest

from packparse import checks, winding
from packparse.limits import Limits
from packparse.options import Options
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.candidates import (
    TIP,
    Candidate,
    Entry,
    Folder,
    Store,
    inherited,
    link,
    on_top,
    refusals,
    submodule,
)
from tests.support.packs import PackBuilder

ESCAPES = "symlinkEscapes"
WINDS = link(b"d/../x")
OUT = link(b"../q/d/../../x")

# What the base has, what the candidate has, and the paths of links that leave the tree by it.
CASES: dict[str, tuple[Folder, Folder, list[bytes]]] = {
    "through a folder": ({}, {b"p": {b"L": WINDS, b"d": {b"f": b""}}}, []),
    "through a name that is not there": ({}, {b"p": {b"L": WINDS}}, []),
    "through a file": ({}, {b"p": {b"L": WINDS, b"d": b"file"}}, []),
    "through a link that stays": (
        {}, {b"p": {b"L": WINDS, b"d": link(b"e"), b"e": {b"f": b""}}}, [],
    ),
    "through a link to the folder above": (
        {}, {b"L": WINDS, b"d": link(b"."), b"p": {b"f": b""}}, [b"L"],
    ),
    "through a link up": (
        {}, {b"p": {b"L": link(b"d/../etc/passwd"), b"d": link(b"..")}}, [b"p/L"],
    ),
    "through a link in a mode that git reads as one": (
        {},
        {b"p": {b"L": Entry(b"120777", b"d/../etc/passwd"), b"d": Entry(b"120777", b"..")}},
        [b"p/L"],
    ),
    "through a link of another case": (
        {}, {b"p": {b"L": link(b"D/../../x"), b"d": link(b"..")}}, [b"p/L"],
    ),
    "through a link whose target has backslashes": (
        {}, {b"p": {b"q": {b"L": link(b"d/../../../x"), b"d": link(b"..\\..")}}}, [b"p/q/L"],
    ),
    "a link of the base, by a folder that becomes a link": (
        {b"p": {b"L": OUT}, b"q": {b"d": {b"f": b""}}},
        {b"p": {b"L": OUT}, b"q": {b"d": link(b"..")}},
        [b"p/L"],
    ),
    "a link of the base, by a folder that stays one": (
        {b"p": {b"L": OUT}, b"q": {b"d": {b"f": b""}}},
        {b"p": {b"L": OUT}, b"q": {b"d": {b"g": b""}}},
        [],
    ),
    "a link of the base, and a new link elsewhere": (
        {b"p": {b"L": OUT}, b"q": {b"d": {b"f": b""}}},
        {b"p": {b"L": OUT}, b"q": {b"d": {b"f": b""}, b"e": link(b"..")}},
        [],
    ),
    "a folder of the base that is moved up": (
        {b"a": {b"b": {b"p": {b"L": link(b"d/../../x"), b"d": link(b"..")}}}},
        {b"p": {b"L": link(b"d/../../x"), b"d": link(b"..")}},
        [b"p/L"],
    ),
    "a folder of the base that is moved down": (
        {b"a": {b"p": {b"L": link(b"d/../x"), b"d": {b"f": b""}}}},
        {b"a": {b"b": {b"p": {b"L": link(b"d/../x"), b"d": {b"f": b""}}}}},
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_link_that_winds_is_followed(name: str) -> None:
    base, changed, leaving = CASES[name]
    report = on_top({b"x": b"x", **base}, {b"x": b"x", **changed}).verify()
    found = [path for code, path in refusals(report) if code == ESCAPES]
    # A file that is read as a link by its mode has a warning for that.
    assert found == leaving
    assert report.accepted == (not leaving)


def test_what_left_the_base_is_inherited() -> None:
    base = {b"p": {b"L": link(b"d/../../x"), b"d": link(b"..")}}
    report = on_top({b"x": b"x", **base}, {b"x": b"y", **base, b"l": link(b"x")}).verify()
    assert refusals(report) == []


def test_a_link_of_the_base_that_is_touched_stays_inherited() -> None:
    base: Folder = {b"L": link(b"d/../../x"), b"d": link(b".")}
    report = on_top(base, {**base, b"new": b"file"}).verify()
    assert refusals(report) == []
    assert (ESCAPES, b"L") in inherited(report)


def test_a_merge_that_takes_its_halves_from_two_bases() -> None:
    # Each base is sound, and so is every folder: together they lead out (nothing is in the pack).
    host = Store()
    left = host.commit({b"p": {b"L": OUT}, b"q": {b"d": {b"f": b""}}})
    right = host.commit({b"p": {b"f": b""}, b"q": {b"d": link(b"..")}})
    new = Store()
    p, q = (host.tree(tree) for tree in ({b"L": OUT}, {b"d": link(b"..")}))
    root = new.raw_tree((b"40000", b"p", p), (b"40000", b"q", q))
    tip = new.commit(root, left, right)
    made = Candidate(host, new, (left, right), {TIP: tip}, host.seed(left, right))
    assert refusals(made.verify()) == [(ESCAPES, b"p/L")]


WHOLE: dict[str, tuple[Folder, bool]] = {
    "a link of that name elsewhere": (
        {b"a": {b"d": link(b"e"), b"e": b""}, b"b": {b"L": WINDS, b"d": {b"f": b""}}}, True,
    ),
    "a link of that name there": (
        {b"b": {b"L": link(b"d/../../x"), b"d": link(b"..")}}, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_in_a_whole_pack_links_are_followed_as_well(name: str) -> None:
    tree, accepted = WHOLE[name]
    store, pack = Store(), PackBuilder()
    store.commit(tree)
    for kind, data in store.objects.values():
        pack.add(kind, data)
    assert verify_bytes(pack.build()).accepted == accepted


def test_too_many_to_follow_is_a_limit_where_the_base_may_be_concerned() -> None:
    base: Folder = {b"p%02d" % n: {b"L": WINDS, b"d": {b"f": b""}} for n in range(40)}
    made = on_top(base, {**base, b"new": link(b"p00")})
    assert made.verify().accepted
    report = made.verify(limits=Limits(changes={"files": 170}))
    assert refusals(report) == [("tooManyFiles", None)]


def test_known_objects_without_a_base_may_be_links() -> None:
    host = Store()
    base = host.commit({b"q": {b"d": link(b"..")}})
    new = Store()
    tree = new.raw_tree(
        (b"40000", b"p", new.tree({b"L": OUT})), (b"40000", b"q", host.tree({b"d": link(b"..")}))
    )
    tip = new.commit(tree, base)
    pack = PackBuilder()
    for kind, data in new.objects.values():
        pack.add(kind, data)
    given = host.seed(base)
    options = Options(tips={TIP: tip}, known=lambda oid: 0 if oid in given else None)
    assert refusals(verify_bytes(pack.build(), options)) == [(ESCAPES, b"p/L")]


def test_a_ring_of_links_leads_nowhere_and_an_absolute_one_leads_out() -> None:
    ring: Folder = {b"L": link(b"a/../x"), b"a": link(b"b"), b"b": link(b"a")}
    assert refusals(on_top({}, ring).verify()) == []
    out: Folder = {b"L": link(b"/a/../x"), b"a": b"f"}
    assert refusals(on_top({}, out).verify()) == [("symlinkAbsolute", b"L"), (ESCAPES, b"L")]


@pytest.mark.parametrize("most", [2, 3])
def test_more_places_than_are_followed_all_count_as_leaving(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(winding, "_MOST_PLACES", most)
    tree: Folder = {
        b"d": link(b"e"), b"e": {b"f": b"f"},
        b"p": {b"a": WINDS, b"b": WINDS, b"c": WINDS, b"d": link(b"q"), b"q": {b"f": b"g"}},
    }  # fmt: skip
    store, pack = Store(), PackBuilder()
    store.commit(tree)
    for kind, data in store.objects.values():
        pack.add(kind, data)
    found = refusals(verify_bytes(pack.build()))
    assert found == ([] if most == 3 else [(ESCAPES, b"p/a")])


LATER: dict[str, tuple[Folder, Folder, list[bytes]]] = {
    # In the base the way leads through a link that is gone then.
    "a link that becomes a folder": (
        {
            b"deep": {b"a": {b"b": {b"f": b"1"}}},
            b"z": {b"m": link(b"../deep/a/b")},
            b"q": {b"r": link(b"../z/m/.."), b"l": link(b"r/../../x")},
        },
        {b"z": {b"m": {b"f": b"1"}}},
        [b"q/l"],
    ),
    "a link that becomes a file": (
        {b"s": link(b"a/b"), b"a": {b"b": {b"f": b"1"}}, b"q": {b"l": link(b"../s/../../x")}},
        {b"s": b"file"},
        [b"q/l"],
    ),
    "a link that is taken out": (
        {b"s": link(b"a/b"), b"a": {b"b": {b"f": b"1"}}, b"q": {b"l": link(b"../s/../../x")}},
        {},
        [b"q/l"],
    ),
    "another link that is taken out": (
        {b"s": link(b"a"), b"a": {b"f": b"1"}, b"q": {b"l": link(b"../a/../x")}},
        {},
        [],
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_a_link_of_the_base_is_bent_by_what_another_one_becomes(name: str) -> None:
    before, changed, leaving = LATER[name]
    gone = {b"s", b"z"} & before.keys()
    after = {**{key: node for key, node in before.items() if key not in gone}, **changed}
    report = on_top(before, after).verify()
    assert refusals(report) == [(ESCAPES, path) for path in leaving]


SUBMODULE: dict[str, tuple[bytes, bool]] = {
    "back over the submodule": (b"s/../x", True),
    "into the submodule": (b"s/l/y", True),
    "back over what is in it": (b"s/l/../../etc/passwd", False),
    "back over what is in it and no further": (b"s/l/..", False),
}


@pytest.mark.parametrize("name", SUBMODULE)
def test_what_is_in_a_submodule_may_be_a_link(name: str) -> None:
    target, accepted = SUBMODULE[name]
    tree: Folder = {b"s": submodule(), b"x": link(target)}
    report = on_top({b"a": b"1"}, tree).verify()
    assert refusals(report) == ([] if accepted else [(ESCAPES, b"x")])


WAY = b"../s/l/../../etc/passwd"
ONTO: dict[str, tuple[Folder, Folder, list[bytes]]] = {
    "a submodule is added": (
        {b"d": {b"x": link(WAY)}}, {b"d": {b"x": link(WAY)}, b"s": submodule()}, [b"d/x"],
    ),
    "a folder becomes a submodule": (
        {b"d": {b"x": link(WAY)}, b"s": {b"l": {b"f": b"1"}}},
        {b"d": {b"x": link(WAY)}, b"s": submodule()},
        [b"d/x"],
    ),
    "another submodule is added": (
        {b"d": {b"x": link(WAY)}}, {b"d": {b"x": link(WAY)}, b"t": submodule()}, [],
    ),
    "a submodule stays where it was": (
        {b"d": {b"x": link(WAY)}, b"s": submodule()},
        {b"d": {b"x": link(WAY)}, b"s": submodule(), b"l": link(b"d")},
        [],
    ),
    "a submodule goes to another commit": (
        {b"d": {b"x": link(WAY)}, b"s": submodule()},
        {b"d": {b"x": link(WAY)}, b"s": submodule(b"\x09" * 20)},
        [b"d/x"],
    ),
    "what was not known is an escape now": (
        {b"d": {b"x": link(WAY)}, b"s": submodule()},
        {b"d": {b"x": link(WAY)}, b"s": {b"l": link(b"..")}},
        [b"d/x"],
    ),
    "an escape leads elsewhere": (
        {b"a": {b"b": {b"L": link(b"../d/../../x")}, b"d": link(b"..")}},
        {b"a": {b"b": {b"L": link(b"../d/../../x")}, b"d": link(b"../..")}},
        [b"a/b/L", b"a/d"],
    ),
    "an escape stays what it was": (
        {b"a": {b"b": {b"L": link(b"../d/../../x")}, b"d": link(b"..")}},
        {b"a": {b"b": {b"L": link(b"../d/../../x")}, b"d": link(b"..")}, b"l": link(b"a")},
        [],
    ),
    "a link beside a file of its name": (
        {b"p": {b"d": b"1", b"D": link(b"..")}},
        {b"p": {b"d": b"1", b"D": link(b"..")}, b"q": {b"L": link(b"../p/d/../../x")}},
        [b"q/L"],
    ),
    "two folders of one name": (
        {b"Foo": {b"f": b"1"}, b"foo": {b"d": link(b"..")}},
        {b"Foo": {b"f": b"1"}, b"foo": {b"d": link(b"..")}, b"q": {b"L": link(b"../Foo/d/../x")}},
        [b"q/L"],
    ),
    "a file beside a folder of its name": (
        {b"Foo": {b"f": b"1"}, b"foo": b"1"},
        {b"Foo": {b"f": b"1"}, b"foo": b"1", b"q": {b"L": link(b"../Foo/f/../x")}},
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONTO)
def test_a_way_is_inherited_only_where_it_is_the_same(name: str) -> None:
    before, after, leaving = ONTO[name]
    report = on_top(before, after).verify()
    assert sorted(refusals(report)) == [(ESCAPES, path) for path in leaving]


@pytest.mark.parametrize(("length", "accepted"), [(3, True), (39, True), (41, True), (120, False)])
@pytest.mark.parametrize("out", [False, True], ids=["stays", "leaves"])
def test_long_chains_of_links_are_followed_to_their_end(
    length: int, accepted: bool, out: bool
) -> None:
    chain: dict[bytes, bytes | Entry | Folder] = {
        b"%03d" % n: link(b"%03d" % (n + 1)) for n in range(length)
    }
    chain[b"%03d" % length] = link(b".") if out else {b"f": b"1"}
    tree = {**chain, b"L": link(b"000/../x")}
    found = refusals(on_top({b"a": b"1"}, tree).verify())
    assert found == ([] if accepted and not out else [(ESCAPES, b"L")])


@pytest.mark.parametrize("what", ["the links", "a folder"])
def test_what_cannot_be_read_is_said_where_links_may_lead_elsewhere(what: str) -> None:
    folder: Folder = {b"L": link(b"../e/../x")}
    before: Folder = {b"d": folder, b"e": {b"f": b"1"}, b"n": {b"g": b"1"}}
    made = on_top(before, {**before, b"n": link(b"e")})
    unread = {
        "the links": packs.oid("blob", b"../e/../x"), "a folder": made.host.tree(folder),
    }[what]  # fmt: skip
    given = made.given or set()
    options = Options(
        tips=made.tips, bases=frozenset(made.bases),
        known=lambda oid: 0 if oid in given else None,
        read_base=lambda oid: None if oid == unread else made.host.read(oid),
    )  # fmt: skip
    report = verify_bytes(made.pack()[0], options)
    assert report.findings.count(checks.BASE_NOT_COMPARED) == 1
    assert report.changes is not None
    assert not report.changes.compared
    assert made.verify().findings.count(checks.BASE_NOT_COMPARED) == 0


def test_long_ways_of_nothing_cost_what_they_are() -> None:
    dots = b"/" * 4_000
    tree: Folder = {
        **{b"%02d" % n: link(b"%02d%b" % (n + 1, dots)) for n in range(40)},
        **{b"L%d" % n: link(b"00/../x%d" % n) for n in range(10)},
    }
    begin = time.process_time()
    on_top({b"a": b"1"}, tree).verify()
    assert time.process_time() - begin < 10
