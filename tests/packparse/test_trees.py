"""Trees by id, taken apart: from the pack or from the trusted side, and few of them in memory."""

from __future__ import annotations

import contextlib

import pytest

from packparse import trees
from packparse.entry import BLOB, COMMIT, TREE
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objectformat import SHA1
from packparse.outside import Outside
from packparse.trees import Trees
from tests.support import packs
from tests.support.candidates import Store, opened
from tests.support.packs import PackBuilder


class Side:
    """A pack, and a host that counts what is read of it."""

    def __init__(self, new: Store, host: Store | None = None, limits: Limits | None = None) -> None:
        self.host = host or Store()
        self.asked: list[bytes] = []
        builder = PackBuilder()
        for kind, data in new.objects.values():
            builder.add(kind, data)
        outside = Outside(
            SHA1,
            known=None,
            read_base=self._read,
            base_info=None,
            bases=frozenset(),
            prerequisites=frozenset(),
        )
        self.trees = Trees(opened(builder.build()), outside, limits or Limits())

    def _read(self, oid: bytes) -> tuple[int, bytes] | None:
        self.asked.append(oid)
        return self.host.read(oid)


def test_a_tree_is_the_same_from_the_pack_and_from_the_host() -> None:
    new, host = Store(), Store()
    mine = new.tree({b"a": b"1", b"d": {b"f": b"2"}})
    theirs = host.tree({b"a": b"1", b"d": {b"f": b"3"}})
    side = Side(new, host)
    wanted = {b"a": (0o100644, packs.oid("blob", b"1"))}
    for tree, below in ((mine, b"2"), (theirs, b"3")):
        folder = packs.oid("tree", packs.tree_bytes([(b"100644", b"f", packs.oid("blob", below))]))
        assert side.trees.entries(tree) == wanted | {b"d": (0o40000, folder)}


def test_what_the_pack_has_is_not_asked_for() -> None:
    new = Store()
    tree = new.tree({b"a": b"1"})
    side = Side(new, new)
    assert side.trees.entries(tree)
    assert side.trees.content(packs.oid("blob", b"1"), BLOB) == b"1"
    assert side.asked == []


@pytest.mark.parametrize("where", ["pack", "host"])
def test_another_kind_is_nothing(where: str) -> None:
    store, empty = Store(), Store()
    blob = store.put("blob", b"100644 a\0" + bytes(20))
    tree = store.tree({b"a": b"1"})
    commit = store.commit(tree)
    side = Side(store, empty) if where == "pack" else Side(empty, store)
    trees = side.trees
    assert trees.entries(blob) is None
    assert trees.entries(commit) is None
    assert trees.content(tree, BLOB) is None
    assert trees.content(blob, TREE) is None
    assert trees.root(tree) is None
    assert trees.root(commit) == tree
    assert trees.content(commit, COMMIT) == store.objects[commit][1]


def test_what_is_nowhere_is_nothing() -> None:
    side = Side(Store())
    gone = b"\x22" * 20
    assert side.trees.entries(gone) is None
    assert side.trees.content(gone, BLOB) is None
    assert side.trees.root(gone) is None
    assert side.trees.size(gone) == 0


def test_of_two_entries_with_one_name_the_first_counts() -> None:
    new = Store()
    first, second = (new.put("blob", text) for text in (b"1", b"2"))
    tree = new.raw_tree((b"100644", b"a", first), (b"120000", b"a", second))
    assert Side(new).trees.entries(tree) == {b"a": (0o100644, first)}


@pytest.mark.parametrize(
    ("mode", "read"), [(b"0100644", 0o100644), (b"040000", 0o40000), (b"7777777", 0o177777)]
)
def test_a_mode_is_read_as_git_reads_it(mode: bytes, read: int) -> None:
    new = Store()
    oid = new.put("blob", b"1")
    assert Side(new).trees.entries(new.raw_tree((mode, b"a", oid))) is None
    tree = new.raw_tree((mode, b"a", oid))
    assert Side(new).trees.entries(tree) == {b"a": (read, oid)}


def test_more_spellings_of_modes_than_are_remembered_are_read_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trees, "_MOST_MODES", 3)
    new = Store()
    oid = new.put("blob", b"1")
    modes = {b"%d" % n: b"%o" % (0o100000 + n) for n in range(10)}
    tree = new.raw_tree(*((mode, name, oid) for name, mode in modes.items()))
    wanted = {name: (int(mode, 8), oid) for name, mode in modes.items()}
    side = Side(new)
    assert side.trees.entries(tree) == wanted
    assert len(side.trees._modes) == 3  # noqa: SLF001 - what is bounded


def test_an_empty_tree_is_a_tree() -> None:
    new = Store()
    assert Side(new).trees.entries(packs.oid("tree", b"")) is None
    tree = new.tree({})
    assert Side(new).trees.entries(tree) == {}


@pytest.mark.parametrize("data", [b"", b"tree\n", b"tree " + b"a" * 39 + b"\n\n", b"nothing"])
def test_a_malformed_commit_of_the_host_has_no_tree(data: bytes) -> None:
    host = Store()
    assert Side(Store(), host).trees.root(host.put("commit", data)) is None


def test_a_base_may_have_more_parents_than_a_candidate() -> None:
    # The largest octopus of a public history has 66.
    host = Store()
    parents = [packs.oid("commit", b"%d" % n) for n in range(66)]
    tree = host.tree({b"a": b"1"})
    commit = host.commit(tree, *parents)
    assert Side(Store(), host).trees.root(commit) == tree


def test_a_tampered_object_of_the_host_is_no_answer() -> None:
    host = Store()
    tree = host.tree({b"a": b"1"})
    host.objects[tree] = ("tree", host.objects[tree][1].replace(b"a\0", b"b\0"))
    with pytest.raises(PackError) as caught:
        Side(Store(), host).trees.entries(tree)
    assert caught.value.code.name == "corruptBaseObject"


def test_trees_are_kept_and_the_host_is_asked_once() -> None:
    host = Store()
    trees = [host.tree({b"%d" % n: b"1"}) for n in range(50)]
    side = Side(Store(), host)
    for _ in range(3):
        for tree in trees:
            assert side.trees.entries(tree)
    assert side.asked == trees


def test_few_entries_are_kept_in_memory_and_large_trees_not_at_all() -> None:
    host = Store()
    trees = [host.tree({b"%d-%d" % (k, n): b"1" for n in range(1_000)}) for k in range(120)]
    side = Side(Store(), host)
    for tree in trees:
        side.trees.entries(tree)
    assert sum(map(len, side.trees._kept.values())) <= 50_000  # noqa: SLF001 - the bound itself
    large = host.tree({b"%05d" % n: b"1" for n in range(30_000)})
    for _ in range(2):
        assert len(side.trees.entries(large) or {}) == 30_000
    assert side.asked.count(large) == 2


@pytest.mark.parametrize("where", ["pack", "host"])
def test_sizes_are_those_of_the_contents(where: str) -> None:
    store, empty = Store(), Store()
    blob = store.put("blob", b"12345")
    side = Side(store, empty) if where == "pack" else Side(empty, store)
    assert [side.trees.size(blob) for _ in range(3)] == [5, 5, 5]
    assert len(side.asked) == (1 if where == "host" else 0)


def test_of_sizes_few_are_kept_and_all_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_KEPT", 2)
    host = Store()
    oids = [host.put("blob", bytes(size)) for size in range(5)]
    side = Side(Store(), host)
    assert [side.trees.size(oid) for oid in oids] == [0, 1, 2, 3, 4]
    assert [side.trees.size(oid) for oid in oids[::-1]] == [4, 3, 2, 1, 0]
    # The last one was kept, and none of the others.
    assert side.asked == [*oids, *oids[-2::-1]]
    assert [side.trees.blob(oid, 3) for oid in oids[3:]] == [bytes(3), None]


@pytest.mark.parametrize("times", [7, 9])
def test_trees_that_are_taken_apart_again_and_again_have_a_limit(times: int) -> None:
    host = Store()
    wide = host.raw_tree(*((b"100644", b"%05d" % n, bytes([1]) * 20) for n in range(30_000)))
    side = Side(Store(), host, Limits(changes={"files": 18_000}))
    # Each of them is too large to be kept; an entry has 32 bytes here.
    seen = 0
    with contextlib.suppress(PackError):
        for _ in range(times):
            side.trees.entries(wide)
            seen += 1
    assert seen == min(times, 8)


@pytest.mark.parametrize("told", [True, False], ids=["kinds are told", "objects are read"])
def test_what_is_of_another_kind_is_not_read_again_and_again(told: bool) -> None:
    host = Store()
    large = host.put("blob", bytes(1_000_000))
    asked: list[bytes] = []

    def reader(oid: bytes) -> tuple[int, bytes] | None:
        asked.append(oid)
        return host.read(oid)

    builder = PackBuilder()
    builder.add("blob", b"x")
    outside = Outside(
        SHA1, known=None, read_base=reader, bases=frozenset(), prerequisites=frozenset(),
        base_info={large: (BLOB, 1_000_000)}.get if told else None,
    )  # fmt: skip
    trees = Trees(opened(builder.build()), outside, Limits())
    assert [trees.entries(large) for _ in range(5)] == [None] * 5
    assert trees.root(large) is None
    assert len(asked) == (0 if told else 2)
    assert trees.blob(large, 999_999) is None


def test_of_what_is_missing_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_KEPT", 2)
    side = Side(Store())
    wanted = [bytes([n]) * 20 for n in range(1, 5)]
    for _ in range(2):
        assert [side.trees.content(oid, TREE) for oid in wanted] == [None] * 4
    assert side.asked == wanted * 2


def test_trees_by_folded_names_are_kept_like_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_KEPT", 3)
    host = Store()
    oids = [host.tree({b"A%d" % n: b"1", b"a%d" % n: b"2"}) for n in range(4)]
    side = Side(Store(), host)
    for _ in range(2):
        for number, oid in enumerate(oids):
            folded = side.trees.folded(oid)
            assert {name: len(entries) for name, entries in folded.items()} == {b"a%d" % number: 2}
    assert side.trees.folded(b"\x01" * 20) == {}


@pytest.mark.parametrize(
    ("names", "files"),
    [
        ([b"%05d" % n for n in range(1_000)], 120),
        (["\u00e9".encode() * 160 + b"%d" % n for n in range(10)], 56),
    ],
    ids=["of many names", "of long names beyond ASCII"],
)
def test_folding_the_names_of_a_tree_counts_as_well(names: list[bytes], files: int) -> None:
    host = Store()
    tree = host.tree(dict.fromkeys(names, b"1"))
    side = Side(Store(), host, Limits(changes={"files": files}))
    assert len(side.trees.entries(tree) or {}) == len(names)
    with pytest.raises(PackError, match="reading trees again and again"):
        side.trees.folded(tree)
