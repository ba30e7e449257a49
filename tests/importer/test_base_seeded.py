"""The seeded set: what a launch gave its producer, by git's word, and found as it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path

import pytest

from importer import base
from importer.base import SeededSet, StoreReader
from importer.errors import (
    BASE_MISSING,
    SEED_TOO_LARGE,
    STORE_CORRUPT,
    ImportFailed,
    ImportRefused,
)
from importer.repository import Repository
from importer.state import State
from packparse.entry import BLOB, COMMIT, KIND_NAMES, TAG, TREE
from packparse.objectformat import FORMATS
from tests.support.gitrepo import git, init
from tests.support.launches import commit

SHA1 = FORMATS["sha1"]


class Store:
    """Objects in memory, which count how often they are read."""

    def __init__(self) -> None:
        self.objects: dict[bytes, tuple[int, bytes]] = {}
        self.read: list[bytes] = []
        self.looked: list[bytes] = []

    def put(self, kind: int, content: bytes) -> bytes:
        prefix = f"{KIND_NAMES[kind]} {len(content)}\0".encode()
        oid = sha1(prefix + content).digest()
        self.objects[oid] = (kind, content)
        return oid

    def tree(self, **entries: bytes) -> bytes:
        """A tree of objects that are there, and of submodules, which are not."""
        modes = {TREE: b"40000", BLOB: b"100644"}
        return self.put(TREE, b"".join(
            (modes[self.objects[oid][0]] if oid in self.objects else b"160000")
            + b" " + name.encode() + b"\0" + oid
            for name, oid in sorted(entries.items())
        ))  # fmt: skip

    def commit(self, tree: bytes, *parents: bytes) -> bytes:
        lines = [b"tree " + tree.hex().encode()]
        lines += [b"parent " + parent.hex().encode() for parent in parents]
        lines += [b"author a <b> 1 +0000", b"committer a <b> 1 +0000", b"", b"it"]
        return self.put(COMMIT, b"\n".join(lines))

    def read_all(self, oids: Iterable[bytes]) -> Iterator[tuple[int, bytes] | None]:
        for oid in oids:
            self.read.append(oid)
            yield self.objects.get(oid)

    def about(self, oid: bytes) -> tuple[int, int] | None:
        self.looked.append(oid)
        found = self.objects.get(oid)
        return None if found is None else (found[0], len(found[1]))

    def seeded(
        self, *bases: bytes, full: bool = False, boundary: Iterable[bytes] = ()
    ) -> SeededSet:
        reader: StoreReader = self  # type: ignore[assignment]
        return SeededSet(reader, SHA1, bases, full=full, boundary=frozenset(boundary))


class Chain:
    """Three commits; each changes a file, and drops the one that the commit before had."""

    def __init__(self) -> None:
        self.store = Store()
        put = self.store.put
        self.kept, self.deep = put(BLOB, b"kept"), put(BLOB, b"deep")
        self.blobs = [put(BLOB, b"blob %d" % number) for number in range(3)]
        self.below = self.store.tree(deep=self.deep)
        self.submodule = bytes(19) + b"\7"
        self.roots = [
            self.store.tree(kept=self.kept, below=self.below, blob=blob, module=self.submodule)
            for blob in self.blobs
        ]
        self.commits: list[bytes] = []
        for root in self.roots:
            self.commits.append(self.store.commit(root, *self.commits[-1:]))

    @property
    def given(self) -> set[bytes]:
        """What the last commit has."""
        return {
            self.commits[2], self.roots[2], self.below, self.kept, self.deep, self.blobs[2],
        }  # fmt: skip


@pytest.fixture
def chain() -> Chain:
    return Chain()


def members(chain: Chain, seeded: SeededSet) -> set[bytes]:
    return {oid for oid in chain.store.objects if seeded.kind(oid) is not None}


# --- what is in it -------------------------------------------------------------------------------


def test_of_depth_one_it_is_the_base_and_its_tree(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2])
    assert members(chain, seeded) == chain.given
    assert seeded.kind(chain.submodule) is None
    assert seeded.kind(bytes(20)) is None


def test_a_full_one_is_all_that_the_base_reaches(chain: Chain) -> None:
    later = chain.store.commit(chain.roots[0], chain.commits[2])
    stray = chain.store.put(BLOB, b"of another branch")
    seeded = chain.store.seeded(chain.commits[2], full=True)
    assert members(chain, seeded) == set(chain.store.objects) - {later, stray}
    assert seeded.kind(chain.submodule) is None


def test_each_object_has_its_kind(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2], full=True)
    for oid, (kind, _content) in chain.store.objects.items():
        assert seeded.kind(oid) == kind


def test_parents_of_the_boundary_were_not_given(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2], full=True, boundary=[chain.commits[1]])
    without = {chain.commits[0], chain.roots[0], chain.blobs[0]}
    assert members(chain, seeded) == set(chain.store.objects) - without


def test_of_several_bases_everything_is_in_it(chain: Chain) -> None:
    both = {chain.commits[0], chain.roots[0], chain.blobs[0]} | chain.given
    seeded = chain.store.seeded(chain.commits[0], chain.commits[2], chain.commits[0])
    assert members(chain, seeded) == both


def test_all_parents_of_a_merge_are_in_a_full_one(chain: Chain) -> None:
    blob = chain.store.put(BLOB, b"aside")
    side = chain.store.commit(chain.store.tree(aside=blob), chain.commits[0])
    merge = chain.store.commit(chain.roots[2], chain.commits[2], side)
    seeded = chain.store.seeded(merge, full=True)
    assert members(chain, seeded) == set(chain.store.objects)
    assert members(chain, chain.store.seeded(merge)) == chain.given - {chain.commits[2]} | {merge}


def test_an_empty_tree_and_a_commit_without_files_are_in_it() -> None:
    store = Store()
    empty = store.tree()
    tip = store.commit(empty)
    seeded = store.seeded(tip, full=True)
    assert (seeded.kind(tip), seeded.kind(empty)) == (COMMIT, TREE)
    assert seeded.kind(bytes(20)) is None


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_it_is_what_git_lists(fmt: str, tmp_path: Path) -> None:
    repo = init(tmp_path / "repo", fmt, bare=True)
    first = commit(repo, git_empty(repo), {"a": b"a\n", "d/e/f": b"f\n", "d/g": b"g\n"})
    second = commit(repo, first, {"a": b"aa\n", "d/g": None, "120000 link": b"a", "755/x": b"x\n"})
    tip = commit(repo, second, {"d/e/f": b"ff\n"}, 3)
    with seeded_of(repo, tip, full=False, folder=tmp_path) as found:
        assert found == objects_of(repo, "--no-walk", tip)
    with seeded_of(repo, tip, full=True, folder=tmp_path) as found:
        assert found == objects_of(repo, tip)


def git_empty(repo: Path) -> str:
    tree = git(repo, "hash-object", "-t", "tree", "-w", "--stdin").stdout.decode().strip()
    return git(repo, "commit-tree", "-m", "root", tree).stdout.decode().strip()


def objects_of(repo: Path, *revs: str) -> set[str]:
    listed = git(repo, "rev-list", "--objects", *revs).stdout.decode().splitlines()
    return {line.split()[0] for line in listed}


@contextmanager
def seeded_of(repo: Path, tip: str, *, full: bool, folder: Path) -> Iterator[set[str]]:
    """The objects of a repository that are in the seeded set of a commit."""
    every = git(repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    names = every.stdout.decode().split()
    with State(str(folder / "state")) as state, Repository(str(repo), state) as repository:
        seeded = SeededSet(
            repository.reader, repository.object_format, [bytes.fromhex(tip)], full=full
        )
        yield {name for name in names if seeded.kind(bytes.fromhex(name)) is not None}


# --- found as it is asked for --------------------------------------------------------------------


def test_nothing_is_read_before_it_is_asked_for(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2], full=True)
    assert seeded.kind(chain.commits[2]) == COMMIT
    assert chain.store.read == []


def test_no_more_is_read_than_the_answer_takes(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2], full=True)
    assert seeded.kind(chain.blobs[2]) == BLOB
    assert chain.store.read == [chain.commits[2], chain.roots[2]]
    assert seeded.kind(chain.deep) == BLOB
    assert chain.store.read[2:] == [chain.below]
    assert seeded.kind(chain.commits[1]) == COMMIT
    assert len(chain.store.read) == 3
    assert seeded.kind(chain.blobs[0]) == BLOB
    assert chain.store.read[3:] == [chain.commits[1], chain.roots[1], chain.commits[0],
                                    chain.roots[0]]  # fmt: skip


def test_nothing_is_read_twice(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2], full=True)
    for _ in range(2):
        members(chain, seeded)
        assert seeded.kind(bytes(20)) is None
    assert len(chain.store.read) == len(set(chain.store.read)) == 7


def test_of_depth_one_the_store_is_not_asked_for_what_is_not_in_it(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2])
    assert seeded.kind(chain.blobs[0]) is None
    assert seeded.kind(bytes(20)) is None
    assert chain.store.looked == []


def test_what_was_made_up_costs_no_walk_through_the_history(chain: Chain) -> None:
    seeded = chain.store.seeded(chain.commits[2], full=True)
    assert seeded.kind(b"\1" * 20) is None
    assert chain.store.looked == [b"\1" * 20]
    assert len(chain.store.read) == 3
    assert seeded.kind(b"\2" * 20) is None
    assert len(chain.store.read) == 3


def test_a_history_without_end_is_not_walked_to_its_end(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_MOST", 7)
    stray = chain.store.put(BLOB, b"of another branch")
    seeded = chain.store.seeded(chain.commits[2], full=True)
    assert seeded.kind(chain.roots[2]) == TREE
    with pytest.raises(ImportRefused, match="among the 7 that were looked at") as refused:
        seeded.kind(stray)
    assert refused.value.code is SEED_TOO_LARGE


# --- what is missing, or is not what it should be -------------------------------------------------


@pytest.mark.parametrize("part", ["commits", "roots", "below"])
def test_a_part_that_is_gone_is_told(part: str, chain: Chain) -> None:
    found = getattr(chain, part)
    gone = found if isinstance(found, bytes) else found[-1]
    del chain.store.objects[gone]
    with pytest.raises(ImportRefused) as refused:
        chain.store.seeded(chain.commits[2]).kind(chain.deep)
    assert refused.value.code is BASE_MISSING
    assert refused.value.message.startswith(f"{gone.hex()}, which the launch was given")


def test_a_parent_that_is_gone_is_told_when_it_is_needed(chain: Chain) -> None:
    del chain.store.objects[chain.commits[0]]
    seeded = chain.store.seeded(chain.commits[2], full=True)
    assert seeded.kind(chain.blobs[1]) == BLOB
    with pytest.raises(ImportRefused, match=chain.commits[0].hex()):
        seeded.kind(chain.blobs[0])


def test_what_is_given_in_the_place_of_a_commit_is_no_commit(chain: Chain) -> None:
    tag = chain.store.put(TAG, b"object " + chain.commits[2].hex().encode() + b"\n")
    for other in (tag, chain.roots[2], chain.kept):
        with pytest.raises(ImportRefused, match="is not in the repository"):
            chain.store.seeded(other).kind(chain.deep)


MALFORMED = {
    "empty": b"",
    "without a tree": b"author a <b> 1 +0000\n\nit",
    "with a tree of another format": b"tree " + b"a" * 64 + b"\nauthor a <b> 1 +0000\n\nit",
    "with a parent that is no id": b"tree " + b"a" * 40 + b"\nparent main\nauthor a\n\nit",
    "that ends after its tree": b"tree " + b"a" * 40 + b"\n",
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_a_commit_is_malformed(content: bytes) -> None:
    store = Store()
    made_up = os.urandom(20)
    with pytest.raises(ImportFailed, match="which the launch was given, is malformed") as failed:
        store.seeded(store.put(COMMIT, content)).kind(made_up)
    assert (failed.value.code, failed.value.retry) == (STORE_CORRUPT, False)


def test_an_octopus_of_any_size_is_followed() -> None:
    store = Store()
    empty = store.tree()
    blobs = [store.put(BLOB, b"%d" % number) for number in range(100)]
    parents = [store.commit(store.tree(a=blob)) for blob in blobs]
    assert store.seeded(store.commit(empty, *parents), full=True).kind(blobs[99]) == BLOB
