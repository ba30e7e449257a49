"""Depths: where a link that goes up leaves the tree, near the root of any commit (A13, PG10)."""

from __future__ import annotations

import random

import pytest

from packparse import climb, pathcodes
from packparse.climb import least_depths
from packparse.limits import Limits
from tests.support import packs
from tests.support.candidates import (
    TIP,
    Candidate,
    Folder,
    Store,
    existing,
    link,
    opened,
    refusals,
)  # fmt: skip
from tests.support.packs import PackBuilder


def alone(*trees: Folder) -> Candidate:
    """A history of commits with these trees."""
    new = Store()
    tip: tuple[bytes, ...] = ()
    for tree in trees:
        tip = (new.commit(tree, *tip),)
    return Candidate(Store(), new, (), {TIP: tip[0]}, None)


def deep(depth: int, folder: Folder) -> Folder:
    for number in range(depth):
        folder = {b"d%d" % number: folder}
    return folder


@pytest.mark.parametrize("climbs", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_link_leaves_the_tree_where_it_climbs_more_than_it_is_deep(
    climbs: int, more: int
) -> None:
    depth = climbs + more
    report = alone(deep(depth, {b"l": link(b"../" * climbs + b"x")})).verify()
    path = b"".join(b"d%d/" % n for n in reversed(range(depth))) + b"l"
    assert refusals(report) == ([("symlinkEscapes", path)] if more < 0 else [])


def test_the_place_nearest_to_the_root_counts() -> None:
    folder: Folder = {b"l": link(b"../../x")}
    far = deep(5, folder)
    assert refusals(alone(far).verify()) == []
    near: Folder = {**far, b"n": folder}
    assert [code for code, _ in refusals(alone(near).verify())] == ["symlinkEscapes"]
    # In any commit, also one that is past.
    assert [code for code, _ in refusals(alone(near, far).verify())] == ["symlinkEscapes"]
    assert [code for code, _ in refusals(alone(far, near).verify())] == ["symlinkEscapes"]


def test_a_folder_that_is_a_root_somewhere_is_as_near_as_can_be() -> None:
    folder: Folder = {b"l": link(b"../x")}
    assert refusals(alone({b"d": folder}).verify()) == []
    assert refusals(alone({b"d": folder}, folder).verify()) == [("symlinkEscapes", b"l")]


def test_a_tree_that_only_a_tag_names_is_a_root() -> None:
    made = alone({b"d": {b"l": link(b"../x")}})
    tree = made.new.tree({b"l": link(b"../x")})
    tag = made.new.put("tag", packs.tag_bytes(tree, b"tree"))
    made.tips[b"refs/tags/t"] = tag
    assert [code for code, _ in refusals(made.verify())] == ["symlinkEscapes"]


def test_a_tree_that_nothing_names_is_a_root() -> None:
    new = Store()
    new.tree({b"l": link(b"../x")})
    made = Candidate(Store(), new, (), {}, None)
    assert refusals(made.verify()) == [("symlinkEscapes", None)]


def test_a_file_of_the_same_content_nearer_to_the_root_is_no_link() -> None:
    target = b"../../x"
    tree: Folder = {b"f": target, b"d": {b"f": target, b"e": {b"l": link(target)}}}
    assert refusals(alone(tree).verify()) == []


def test_past_so_many_trees_a_blob_counts_as_the_link_that_it_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each folder near the root has to be read to learn that it is a file there.
    target = b"../../x"
    tree: Folder = {b"d": {b"e": {b"l": link(target)}}}
    many: Folder = {**tree, **{b"%03d" % n: {b"f": target, b"n": b"%d" % n} for n in range(20)}}
    assert refusals(alone(many).verify()) == []
    monkeypatch.setattr("packparse.special._CONFIRMED", 10)
    assert [code for code, _ in refusals(alone(many).verify())] == ["symlinkEscapes"]


def test_one_finding_is_made_for_a_link_at_many_places() -> None:
    tree: Folder = {b"%02d" % n: link(b"../x") for n in range(50)}
    report = alone(tree).verify()
    assert report.findings.count(pathcodes.SYMLINK_ESCAPES) == 1


# --- the search itself ----------------------------------------------------------------------------


def random_forest(seed: int) -> tuple[bytes, dict[bytes, int], dict[bytes, int]]:
    """A pack of folders in folders, climbs of its blobs, and the least depth of every tree."""
    rng = random.Random(seed)
    pack = PackBuilder()
    blobs = [pack.add("blob", b"%d" % n).oid for n in range(4)]
    below: dict[bytes, list[bytes]] = {}
    trees: list[bytes] = []
    for number in range(40):
        chosen = rng.sample(trees[-8:], min(len(trees), rng.randrange(3)))
        files = [(b"100644", b"f%d" % n, oid) for n, oid in enumerate(rng.sample(blobs, 2))]
        entries = [*files, *((b"40000", b"t%d" % n, oid) for n, oid in enumerate(chosen))]
        unique = pack.add("blob", b"only %d" % number).oid
        tree = pack.add("tree", packs.tree_bytes([*entries, (b"100644", b"z", unique)])).oid
        below[tree] = chosen
        trees.append(tree)
    roots = rng.sample(trees, 3)
    for root in roots:
        pack.add("commit", packs.commit_bytes(root))
    named = {child for children in below.values() for child in children}
    level = [*roots, *(tree for tree in trees if tree not in named)]
    least: dict[bytes, int] = {}
    depth = 0
    while level:
        for tree in level:
            least.setdefault(tree, depth)
        level = [c for tree in dict.fromkeys(level) for c in below[tree] if c not in least]
        depth += 1
    return pack.build(), {oid: rng.randrange(1, 6) for oid in blobs}, least


@pytest.mark.parametrize("few", [True, False], ids=["from the roots", "upwards"])
@pytest.mark.parametrize("seed", range(20))
def test_both_ways_find_the_least_depth(
    seed: int, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, climbs, least = random_forest(seed)
    monkeypatch.setattr(climb, "_FEW", 1 << 18 if few else 0)
    monkeypatch.setattr(climb, "_HIGH", 0)
    pack = opened(data)
    found = {
        (pack.table.oid(number), blob): depth
        for number, blob, depth in least_depths(pack, climbs, 100)
    }
    most = max(climbs.values())
    for (tree, _blob), depth in found.items():
        assert depth == least[tree] or (depth >= most and least[tree] >= most)
    wanted = {
        (pack.table.oid(number), blob)
        for number, blob in pack.links.columns[3].links_to(set(climbs))
        if least[pack.table.oid(number)] < most
    }
    assert wanted <= found.keys()


def test_nothing_is_searched_for_where_no_tree_names_the_blobs() -> None:
    pack = opened(packs.small_honest_pack())
    assert list(least_depths(pack, {b"\x11" * 20: 3}, 100)) == []


def test_a_link_beyond_the_greatest_depth_is_refused_for_its_depth() -> None:
    new = Store()
    tree = new.tree({b"l": link(b"../" * 1_300 + b"x")})
    for _ in range(1_500):
        tree = new.raw_tree((b"40000", b"d", tree))
    report = Candidate(Store(), new, (), {TIP: new.commit(tree)}, None).verify()
    assert [code for code, _ in refusals(report)] == ["treeTooDeep"]


@pytest.mark.parametrize("few", [True, False], ids=["from the roots", "upwards"])
def test_what_is_deeper_than_any_tree_may_be_counts_as_a_root(
    few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(climb, "_FEW", 1 << 18 if few else 0)
    monkeypatch.setattr(climb, "_HIGH", 0)
    made = alone(deep(30, {b"l": link(b"../" * 20 + b"x")}))
    report = made.verify(limits=Limits(changes={"tree_depth": 10}))
    assert "treeTooDeep" in [code for code, _ in refusals(report)]
    assert refusals(made.verify(limits=Limits(changes={"tree_depth": 40}))) == []


def test_known_folders_are_not_looked_for() -> None:
    # Their links stand where they stood.
    host, new = Store(), Store()
    folder = host.tree({b"l": link(b"../../x")})
    base = host.commit({b"a": {b"b": existing(b"40000", folder)}})
    tip = new.commit({b"a": {b"b": existing(b"40000", folder), b"c": b"1"}}, base)
    assert Candidate(host, new, (base,), {TIP: tip}, host.seed(base)).verify().accepted
