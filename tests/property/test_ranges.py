"""Histories made at random by a model of their own: what is honest is accepted, and nothing else.

The model knows for each commit which files it has. So it can tell what a pack from a base to a tip
has to hold, what changed between them, and how large a tree is once it is written out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from packparse import checks
from packparse.codes import INCOMPLETE, LIMIT, POLICY
from packparse.entry import KIND_NUMBERS
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.bundles import bundle
from tests.support.packs import PackBuilder, commit_bytes, edit, tag_bytes, tree_bytes

FILE, PROGRAM, LINK, FOLDER = b"100644", b"100755", b"120000", b"40000"
# Path to (mode, content).
Files = dict[bytes, tuple[bytes, bytes]]
# Raw id to (kind, content).
Objects = dict[bytes, tuple[str, bytes]]

formats = pytest.mark.parametrize("fmt", FORMATS)
seeds = pytest.mark.parametrize("seed", range(12))


class History:
    """A linear history of random edits, and a branch beside it."""

    def __init__(
        self, rng: random.Random, fmt: str, length: int, start: Files | None = None
    ) -> None:
        """``start`` are files that all commits have."""
        self.fmt = fmt
        self._rng = rng
        self._fixed = dict(start or {})
        self.objects: Objects = {}
        # What each tree and commit names.
        self.named: dict[bytes, list[bytes]] = {}
        self.commits: list[bytes] = []
        self.files: list[Files] = []
        # What each commit reaches.
        self.reached: list[set[bytes]] = []
        files: Files = {}
        for _ in range(length):
            for _ in range(rng.randrange(1, 5)):
                self._change(files)
            self.commit({**files, **self._fixed}, self.commits[-1:])

    def put(self, kind: str, content: bytes, into: set[bytes]) -> bytes:
        """Add an object; ``into`` collects what is reached."""
        oid = packs.oid(kind, content, self.fmt)
        self.objects[oid] = kind, content
        into.add(oid)
        return oid

    def _change(self, files: Files) -> None:
        rng = self._rng
        if files and rng.random() < 0.5:
            path = rng.choice(sorted(files))
            if rng.random() < 0.4:
                del files[path]
                return
        else:
            depth = rng.choice((0, 0, 1, 1, 2, 3))
            path = b"/".join(
                [b"d%d" % rng.randrange(3) for _ in range(depth)] + [b"f%d" % rng.randrange(9)]
            )
        # A link next to its target stays in the tree, wherever both stand.
        mode = rng.choice((FILE, FILE, FILE, PROGRAM, LINK))
        files[path] = mode, b"f1" if mode == LINK else b"%d\n" % rng.randrange(40)

    def commit(self, files: Files, parents: list[bytes]) -> None:
        """Add a commit of these files."""
        reached = set(self.reached[-1]) if self.reached else set()
        root = self.tree(files, reached)
        text = commit_bytes(root, parents, message=b"commit %d\n" % len(self.commits))
        self.commits.append(self.put("commit", text, reached))
        self.named[self.commits[-1]] = [root, *parents]
        self.files.append(files)
        self.reached.append(reached)

    def tree(self, files: Files, reached: set[bytes]) -> bytes:
        """Write the trees and blobs of these files; return the id of the root."""
        entries: list[tuple[bytes, bytes, bytes]] = []
        below: dict[bytes, Files] = {}
        for path, (mode, content) in files.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(name, {})[rest] = mode, content
            else:
                entries.append((mode, name, self.put("blob", content, reached)))
        entries += [(FOLDER, name, self.tree(listed, reached)) for name, listed in below.items()]
        oid = self.put("tree", tree_bytes(entries), reached)
        self.named[oid] = [target for _mode, _name, target in entries]
        return oid


class Range:
    """What is between two commits of a history, and how it is verified."""

    def __init__(self, history: History, first: int, last: int) -> None:
        self.history = history
        self.base, self.tip = history.commits[first], history.commits[last]
        self.known = history.reached[first]
        self.new = sorted(history.reached[last] - self.known)
        self.before, self.after = history.files[first], history.files[last]

    def options(self, **changes: object) -> Options:
        """Options for a pack that is to be exactly this range."""
        objects = {oid: self.history.objects[oid] for oid in self.known}
        given: dict[str, object] = {
            "object_format": FORMATS[self.history.fmt],
            "bases": frozenset([self.base]),
            "tips": {b"refs/heads/x": self.tip},
            "known": lambda oid: KIND_NUMBERS[objects[oid][0].encode()] if oid in objects else None,
            "read_base": lambda oid: (
                (KIND_NUMBERS[objects[oid][0].encode()], objects[oid][1])
                if oid in objects
                else None
            ),
        }
        return Options(**(given | changes))  # type: ignore[arg-type]

    def packed(self, rng: random.Random, oids: list[bytes], more: list[tuple[str, bytes]]) -> bytes:
        """Write objects in any order, some of them as deltas of each other."""
        listed = [self.history.objects[oid] for oid in oids] + more
        rng.shuffle(listed)
        pack = PackBuilder(self.history.fmt)
        bases: dict[str, packs.Handle] = {}
        for kind, content in listed:
            base = bases.get(kind)
            if base is not None and rng.random() < 0.5 and len(content) > 4:
                same = len(base.data) if content.startswith(base.data) else 0
                change, result = edit(base.data, same, len(base.data) - same, content[same:])
                assert result == content
                bases[kind] = rng.choice((pack.add_ofs, pack.add_ref))(base, change, content)
            else:
                bases[kind] = pack.add(kind, content)
        return pack.build()


def random_range(rng: random.Random, fmt: str) -> Range:
    history = History(rng, fmt, rng.randrange(2, 12))
    first = rng.randrange(len(history.commits) - 1)
    return Range(history, first, rng.randrange(first + 1, len(history.commits)))


def errors(report: Report) -> set[str]:
    return {f.code.name for f in report.findings.sorted() if f.severity == "error"}


# --- exactly the range --------------------------------------------------------------------------


@formats
@seeds
def test_an_honest_range_is_accepted_and_told_as_the_model_knows_it(fmt: str, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        between = random_range(rng, fmt)
        pack = between.packed(rng, between.new, [])
        report = verify_bytes(pack, between.options())
        assert errors(report) == set()
        assert report.accepted
        before, after = between.before, between.after
        differing = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
        changes = report.changes
        assert changes is not None
        assert changes.files == len(differing)
        assert {path for path, _ in changes.symlinks} == {
            path for path in differing if path in after and after[path][0] == LINK
        }
        assert {path for path, _ in changes.executables} == {
            path
            for path in differing & after.keys()
            if after[path][0] == PROGRAM and (path not in before or before[path][0] != PROGRAM)
        }


@formats
@seeds
def test_a_bundle_of_a_range_is_accepted(fmt: str, seed: int) -> None:
    rng = random.Random(seed)
    between = random_range(rng, fmt)
    refs = [(between.tip.hex(), "refs/heads/x")]
    capabilities = [f"object-format={fmt}"]
    for oids, prerequisites in (
        (between.new, [between.base.hex()]),
        (sorted(between.known | {*between.new}), []),
    ):
        pack = between.packed(rng, oids, [])
        data = bundle(pack, refs, prerequisites, version=3, capabilities=capabilities)
        for rules in ("candidate", "git"):
            report = verify_bytes(data, Options(rules=rules))
            assert report.accepted, errors(report)
        if prerequisites:
            assert verify_bytes(data, between.options(object_format=None)).accepted


@formats
@seeds
def test_a_range_without_one_of_its_objects_is_refused(fmt: str, seed: int) -> None:
    rng = random.Random(seed)
    between = random_range(rng, fmt)
    for missing in rng.sample(between.new, min(len(between.new), 8)):
        oids = [oid for oid in between.new if oid != missing]
        report = verify_bytes(between.packed(rng, oids, []), between.options())
        assert report.klass == INCOMPLETE
        assert errors(report) & {"absentObject", "missingTip"}


STOWAWAYS = ("blob", "tree", "commit", "tag")


@formats
@seeds
@pytest.mark.parametrize("kind", STOWAWAYS)
def test_a_range_with_one_object_more_is_refused(fmt: str, seed: int, kind: str) -> None:
    rng = random.Random(seed)
    between = random_range(rng, fmt)
    root = packs.oid("tree", b"", fmt)
    content = {
        "blob": b"nobody names this\n",
        "tree": tree_bytes(
            [(FOLDER, b"d", root), (FILE, b"stowaway", packs.oid("blob", b"", fmt))]
        ),
        "commit": commit_bytes(root, [between.base], message=b"beside\n"),
        "tag": tag_bytes(between.tip),
    }[kind]
    more = [(kind, content)]
    more += (
        [("tree", b""), ("blob", b"")] if kind == "tree" else [("tree", b"")] * (kind == "commit")
    )
    there = {between.history.objects[oid] for oid in between.new}
    more = [one for one in more if one not in there]
    report = verify_bytes(between.packed(rng, between.new, more), between.options())
    assert report.klass == POLICY
    assert "stowawayObject" in errors(report)
    oid = packs.oid(kind, content, fmt)
    assert oid in {f.oid for f in report.findings.sorted() if f.code.name == "stowawayObject"}


@formats
@seeds
def test_an_object_that_the_other_side_has_is_no_stowaway_where_it_is_used(
    fmt: str, seed: int
) -> None:
    rng = random.Random(seed)
    between = random_range(rng, fmt)
    named = {target for oid in between.new for target in between.history.named.get(oid, ())}
    used = {oid for oid in named if between.history.objects[oid][0] != "commit"}
    for again in rng.sample(sorted(between.known), min(len(between.known), 6)):
        report = verify_bytes(between.packed(rng, [*between.new, again], []), between.options())
        if again in used:
            assert report.accepted, errors(report)
            assert report.findings.count(checks.ALREADY_IN_BASE) == 1
        else:
            assert "stowawayObject" in errors(report)


@formats
@seeds
def test_a_range_is_no_other_range(fmt: str, seed: int) -> None:
    rng = random.Random(seed)
    history = History(rng, fmt, 8)
    between = Range(history, 2, 5)
    pack = between.packed(rng, between.new, [])
    for base, tip in ((2, 4), (2, 6), (1, 5), (3, 5), (5, 2), (5, 5), (6, 7)):
        other = Range(history, base, tip)
        report = verify_bytes(pack, other.options())
        assert not report.accepted, (base, tip)
    assert verify_bytes(pack, between.options()).accepted


# --- what the base has --------------------------------------------------------------------------

# Each is refused where it is new.
HOSTILE: Files = {
    b"escape\x1b": (FILE, b"1\n"),
    b".git": (FILE, b"gitdir: x\n"),
    b"absolute": (LINK, b"/etc/passwd"),
    b"up": (LINK, b"../../../../../../x"),
    b".gitmodules": (FILE, b'[submodule "../x"]\n\tpath = x\n\turl = y\n'),
    b"right\xe2\x80\xaeleft": (FILE, b"2\n"),
    b".gitattributes": (FILE, b"a" * 2_048),
    b"dot. ": (LINK, b"dir/.git/hooks"),
}
PLACES = (b"", b"d0/", b"d1/d2/", b"other/")


@formats
@pytest.mark.parametrize("name", HOSTILE)
def test_what_the_base_has_at_a_path_is_refused_at_every_other_path(fmt: str, name: bytes) -> None:
    rng = random.Random(name)
    for _ in range(6):
        here, there = rng.sample(PLACES, 2)
        history = History(rng, fmt, rng.randrange(2, 6), {here + name: HOSTILE[name]})
        between = Range(history, 0, len(history.commits) - 1)
        report = verify_bytes(between.packed(rng, between.new, []), between.options())
        assert report.accepted, errors(report)
        files = history.files[-1]
        history.commit({**files, there + name: HOSTILE[name]}, history.commits[-1:])
        moved = Range(history, 0, len(history.commits) - 1)
        report = verify_bytes(moved.packed(rng, moved.new, []), moved.options())
        assert not report.accepted, (here, there)


# --- how large a tree is ------------------------------------------------------------------------


class Woven:
    """Trees that share folders, so that they are larger than their pack; links that climb."""

    def __init__(self, rng: random.Random, fmt: str) -> None:
        self.pack = PackBuilder(fmt)
        self.blobs = [self.pack.add("blob", b"y" * n).oid for n in (0, 1, 7, 30)]
        self.targets = {self._link(climbs): climbs for climbs in range(5)}
        self.trees: list[tuple[bytes, list[tuple[bytes, bytes, bytes]]]] = []
        for level in range(rng.randrange(1, 9)):
            names = rng.sample([b"%b%d" % (b"n" * rng.randrange(1, 6), n) for n in range(9)], 5)
            below = [(FOLDER, n, rng.choice(self.trees)[0]) for n in names[:2]] if level else []
            links = [(LINK, n, rng.choice(list(self.targets))) for n in names[2:3]]
            files = [(FILE, n, rng.choice(self.blobs)) for n in names[3 : rng.randrange(3, 6)]]
            entries = below[: rng.randrange(3)] + links * (rng.random() < 0.6) + files
            content = tree_bytes(entries)
            oid = packs.oid("tree", content, fmt)
            if oid not in {tree for tree, _ in self.trees}:
                self.pack.add("tree", content)
                self.trees.append((oid, entries))
        self.root = self.trees[-1][0]
        self._entries = dict(self.trees)

    def _link(self, climbs: int) -> bytes:
        return self.pack.add("blob", b"../" * climbs + b"x").oid

    def paths(self, oid: bytes, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes, bytes]]:
        """Give (mode, path, id) of all that a tree has once it is written out."""
        for mode, name, target in self._entries[oid]:
            yield mode, prefix + name, target
            if mode == FOLDER:
                yield from self.paths(target, prefix + name + b"/")

    def committed(self) -> bytes:
        self.pack.add("commit", commit_bytes(self.root))
        return self.pack.build()


def limited(pack: bytes, fmt: str, name: str, value: int) -> Report:
    limits = Limits(changes={name: value})
    return verify_bytes(pack, Options(rules="git", limits=limits, object_format=FORMATS[fmt]))


@formats
@pytest.mark.parametrize("seed", range(40))
def test_a_tree_is_as_large_as_the_files_that_it_makes(fmt: str, seed: int) -> None:
    woven = Woven(random.Random(seed), fmt)
    pack = woven.committed()
    sizes = {handle.oid: len(handle.data) for handle in woven.pack.handles}
    # Trees that no commit names are looked at as well.
    listed = [[(FOLDER, b"", oid), *woven.paths(oid)] for oid, _ in woven.trees]
    bytes_of = [sum(sizes[o] for mode, _, o in paths if mode != FOLDER) for paths in listed]
    depths = [
        path.count(b"/") + bool(path) for paths in listed for m, path, _ in paths if m == FOLDER
    ]
    largest = {
        "files": max(map(len, listed)) - 1,
        "expanded_bytes": max(bytes_of),
        "tree_depth": max(depths) + 1,
        "path_bytes": max(len(path) for paths in listed for _, path, _ in paths),
    }
    for name, value in largest.items():
        assert limited(pack, fmt, name, value).accepted, name
        if value:
            assert limited(pack, fmt, name, value - 1).klass == LIMIT, name


@formats
@pytest.mark.parametrize("way", ["down", "up"])
@pytest.mark.parametrize("seed", range(40))
def test_a_link_escapes_where_it_stands_too_near_to_a_root(
    monkeypatch: pytest.MonkeyPatch, fmt: str, way: str, seed: int
) -> None:
    if way == "up":
        # As in a pack of very many objects.
        monkeypatch.setattr("packparse.climb._FEW", 0)
    woven = Woven(random.Random(seed), fmt)
    escapes = {
        target
        for oid, _ in woven.trees
        for mode, path, target in woven.paths(oid)
        if mode == LINK and woven.targets[target] > path.count(b"/") and _is_root(woven, oid)
    }
    report = verify_bytes(woven.committed(), Options(object_format=FORMATS[fmt]))
    found = {f.oid for f in report.findings.sorted() if f.code.name == "symlinkEscapes"}
    assert found == escapes


def _is_root(woven: Woven, oid: bytes) -> bool:
    """Whether a commit names the tree, or nothing does."""
    named = {target for _, entries in woven.trees for mode, _, target in entries if mode == FOLDER}
    return oid == woven.root or oid not in named
