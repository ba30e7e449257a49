"""Writing a tree from verified objects: what is written, and what is never written."""

from __future__ import annotations

import os
import resource
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from candidate import tree
from candidate.errors import CandidateError
from importer.base import StoreReader
from importer.durable import Files
from importer.errors import ImporterError, ImportRefused
from importer.repository import Repository
from packparse.entry import TREE
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objectformat import SHA1
from packparse.objects import commit as commits
from tests.support.candidates import Entry, Folder, Store, existing, link, program, submodule
from tests.support.gitrepo import git
from tests.support.launched import host_with

Tree = Folder | Callable[[Store], bytes]


@contextmanager
def planned(
    folder: Path, of: Tree, fmt: str = "sha1", limits: dict[str, int] | None = None
) -> Iterator[Plans]:
    with host_with(folder, of, fmt) as (repository, base):
        yield Plans(repository, base, limits or {})


class Plans:
    """The tree of a host's base, to be written."""

    def __init__(self, repository: Repository, base: bytes, limits: dict[str, int]) -> None:
        self.repository = repository
        self.files = repository.world.files
        given = repository.reader.read(base)
        assert given is not None
        width = repository.object_format.width
        self.root, _ = commits.links(given[1], width, Limits())
        self._limits = Limits("candidate", limits)

    def plan(self) -> tree.Plan:
        return tree.plan(
            self.repository.reader, self.repository.object_format, self.root, self._limits
        )

    def write(self, *into: Path, sealed: bool = False) -> list[tree.Written]:
        opened = [os.open(path, os.O_RDONLY) for path in into]
        try:
            places = [tree.Place(folder, sealed) for folder in opened]
            return tree.write(self.files, self.repository.reader, self.plan(), places)
        finally:
            for folder in opened:
                os.close(folder)


def found(folder: Path) -> dict[bytes, tuple[str, bytes]]:
    """What is below a folder: its kind, and its content or target."""
    return {os.fsencode(path.relative_to(folder)): _look(path) for path in folder.rglob("*")}


def _look(path: Path) -> tuple[str, bytes]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "link", os.fsencode(path.readlink())
    if stat.S_ISDIR(mode):
        return "folder", b""
    return "program" if mode & 0o111 else "file", path.read_bytes()


ODD: Folder = {
    b"empty": b"",
    b"run.sh": program(b"#!/bin/sh\r\n"),
    b"up": link(b"../../../etc/passwd"),
    b"nowhere": link(b"a b\nc"),
    b"mod": submodule(),
    b"old": Entry(b"100664", b"group may write\n"),
    b"a b\t\"'\\": b"quotes\n",
    b"\xff\xfe": b"no UTF-8\n",
    b"\xc3\xa4": {b"-rf": {b"...": b"deep\n"}},
    b"n" * 255: b"long\n",
    b".gitattributes": b"* filter=lfs eol=crlf ident\n",
    b"pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    b"ident": b"$Id$\n",
    b"large": b"0123456789abcdef" * (1 << 15),
    b"none": {},
}


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_everything_is_written_as_it_stands_in_the_objects(tmp_path: Path, fmt: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    width = 20 if fmt == "sha1" else 32
    with planned(tmp_path, {**ODD, b"mod": submodule(b"\x07" * width)}, fmt) as made:
        written = made.write(one, two)
    expected = {
        b"empty": ("file", b""),
        b"run.sh": ("program", b"#!/bin/sh\r\n"),
        b"up": ("link", b"../../../etc/passwd"),
        b"nowhere": ("link", b"a b\nc"),
        b"mod": ("folder", b""),
        b"old": ("file", b"group may write\n"),
        b"a b\t\"'\\": ("file", b"quotes\n"),
        b"\xff\xfe": ("file", b"no UTF-8\n"),
        b"\xc3\xa4": ("folder", b""),
        b"\xc3\xa4/-rf": ("folder", b""),
        b"\xc3\xa4/-rf/...": ("file", b"deep\n"),
        b"n" * 255: ("file", b"long\n"),
        b".gitattributes": ("file", b"* filter=lfs eol=crlf ident\n"),
        b"pointer": ("file", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
        b"ident": ("file", b"$Id$\n"),
        b"large": ("file", b"0123456789abcdef" * (1 << 15)),
        b"none": ("folder", b""),
    }
    assert found(one) == found(two) == expected
    assert {entry.path for entry in written} == {
        path for path, (kind, _) in expected.items() if kind != "folder"
    } | {b"mod"}
    for entry in written:
        status = (one / os.fsdecode(entry.path)).lstat()
        assert entry.status is None or os.path.samestat(entry.status, status)


def test_what_is_sealed_is_for_its_user_alone_and_written_to_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    all_kinds: Folder = {b"a": b"a\n", b"b": {b"run": program(b"x")}, b"mod": submodule(b"\7" * 20)}
    with planned(tmp_path, all_kinds) as made:
        made.write(tmp_path / "one", sealed=True)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) & (0o777 if path.is_dir() else 0o700)
        for path in [tmp_path / "one", *(tmp_path / "one").rglob("*")]
    }
    assert modes == {"one": 0o500, "a": 0o400, "b": 0o500, "run": 0o500, "mod": 0o500}


@pytest.mark.parametrize("there", ["a file", "a link", "a folder that is one", "a link to one"])
def test_nothing_is_overwritten_and_nothing_followed(tmp_path: Path, there: str) -> None:
    outside, place = tmp_path / "outside", tmp_path / "place"
    outside.mkdir()
    place.mkdir()
    name = "f" if there in {"a file", "a link"} else "d"
    path = place / name
    if there == "a file":
        path.write_bytes(b"mine\n")
    elif there == "a link":
        path.symlink_to(outside / "f")
    elif there == "a folder that is one":
        path.mkdir()
    else:
        path.symlink_to(outside)
    before = found(place)
    with (
        planned(tmp_path, {b"f": b"theirs\n", b"d": {b"g": b"theirs\n"}}) as made,
        pytest.raises(FileExistsError),
    ):
        made.write(place)
    assert found(place).items() >= before.items()
    assert list(outside.iterdir()) == []


def _twice(store: Store) -> bytes:
    blob = store.put("blob", b"x")
    return store.raw_tree((b"100644", b"a", blob), (b"100755", b"a", blob), ordered=False)


def _file_and_folder(store: Store) -> bytes:
    below = store.tree({b"x": b"x"})
    blob = store.put("blob", b"x")
    return store.raw_tree((b"100644", b"a", blob), (b"40000", b"a", below), ordered=False)


def _through_a_link(store: Store) -> bytes:
    below = store.tree({b"x": b"x"})
    target = store.put("blob", b"/tmp")
    return store.raw_tree((b"120000", b"a", target), (b"40000", b"a", below), ordered=False)


def _device(store: Store) -> bytes:
    return store.raw_tree((b"20644", b"a", store.put("blob", b"x")))


UNSAFE: dict[str, Tree] = {
    "a folder of git's own": {b".git": {b"config": b"x"}},
    "a folder that some take for git's": {b".GIT": {b"config": b"x"}},
    "the folder itself": {b".": b"x"},
    "the one above": {b"d": {b"..": b"x"}},
    "a path for a name": {b"a/b": b"x"},
    "an absolute path": {b"/tmp/x": b"x"},
    "one name twice": _twice,
    "a file and a folder of one name": _file_and_folder,
    "a folder behind a link": _through_a_link,
    "a device": _device,
    "a link to nothing": {b"a": link(b"")},
    "a link to what no path can be": {b"a": link(b"a\0b")},
    "a link that is too long": {b"a": link(b"a" * 4_096)},
}


@pytest.mark.parametrize("name", UNSAFE)
def test_a_tree_that_cannot_be_files_is_refused(tmp_path: Path, name: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with planned(tmp_path, UNSAFE[name]) as made, pytest.raises(CandidateError) as refused:
        made.write(place)
    assert refused.value.code.name == "treeUnsafe"
    assert found(place) == {}


@pytest.mark.parametrize(
    "content",
    [b"100644 \0" + b"\7" * 20, b"100644 a\0short", b"no tree at all", b"100644 a\0" + b"\7" * 23],
    ids=["no name", "half an id", "no entry", "something behind"],
)
def test_a_tree_that_nobody_can_read_is_no_tree_with_less_in_it(content: bytes) -> None:
    class Reader(StoreReader):
        def __init__(self) -> None:
            """There is no git behind it."""

        def read_all(self, oids: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
            return iter([(TREE, content) for _ in oids])

    with pytest.raises(CandidateError, match="treeUnsafe: the tree 0707"):
        tree.plan(Reader(), SHA1, b"\7" * 20, Limits())


LIMITS: dict[str, tuple[Folder, str, int, str]] = {
    "folders in folders": ({b"a": {b"b": {b"c": b"x"}}}, "tree_depth", 2, "treeTooDeep"),
    "a long path": ({b"a" * 40: {b"b" * 40: b"x"}}, "path_bytes", 80, "pathTooLong"),
    "files": ({b"%d" % n: b"x" for n in range(5)}, "files", 4, "tooManyFiles"),
    "files and folders": ({b"a": {b"b": {b"c": b"x"}}, b"d": b"x"}, "files", 3, "tooManyFiles"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_larger_than_the_launch_allows_is_refused(tmp_path: Path, name: str) -> None:
    folder, limit, most, code = LIMITS[name]
    with (
        planned(tmp_path, folder, limits={limit: most}) as made,
        pytest.raises(PackError) as refused,
    ):
        made.plan()
    assert refused.value.code.name == code
    with planned(tmp_path / "again", folder, limits={limit: most + 1}) as made:
        made.plan()


def _deep(depth: int) -> Callable[[Store], bytes]:
    def tree_of(store: Store) -> bytes:
        oid = store.tree({b"file": b"x"})
        for _ in range(depth - 1):
            oid = store.tree({b"a": existing(b"40000", oid)})
        return oid

    return tree_of


def test_a_tree_may_be_deeper_than_calls_can_be(tmp_path: Path) -> None:
    depth = sys.getrecursionlimit() + 100
    with planned(tmp_path, _deep(depth), limits={"tree_depth": depth}) as made:
        steps = made.plan().steps
    path = b"a/" * (depth - 1) + b"file"
    assert [step.path for step in steps if step.mode][-1] == path
    assert steps[-1].path == b"a"


def test_a_tree_may_be_deeper_than_files_may_be_open(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    theirs = resource.getrlimit(resource.RLIMIT_NOFILE)
    with planned(tmp_path, _deep(300), limits={"tree_depth": 300}) as made:
        free = os.open(tmp_path, os.O_RDONLY)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (free + 20, theirs[1]))
            made.write(place)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, theirs)
            os.close(free)
    assert (place / ("a/" * 299) / "file").read_bytes() == b"x"


def test_a_folder_that_is_moved_away_leads_nowhere_else(tmp_path: Path) -> None:
    place, outside = tmp_path / "place", tmp_path / "outside"
    place.mkdir()
    outside.mkdir()

    class Moving(Files):
        def create(self, name: str, *, at: int, mode: int = 0o600) -> int:
            if name == "in":
                (place / "d").rename(outside / "d")
            return super().create(name, at=at, mode=mode)

    with planned(tmp_path, {b"d": {b"in": b"x"}, b"e": b"y"}) as made:
        made.files = Moving()
        with pytest.raises(CandidateError, match="folderUnsafe: a folder was moved away"):
            made.write(place)
    assert list(outside.iterdir()) == [outside / "d"]


KINDS: dict[str, Callable[[Store], Entry]] = {
    "an empty file for a folder": lambda store: existing(b"40000", store.put("blob", b"")),
    "a folder for a file": lambda store: existing(b"100644", store.tree({b"x": b"x"})),
}


@pytest.mark.parametrize("name", KINDS)
def test_an_object_of_another_kind_is_not_taken_for_the_one_that_is_missing(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "place").mkdir()
    with (
        planned(tmp_path, lambda store: store.tree({b"a": KINDS[name](store)})) as made,
        pytest.raises(ImportRefused) as refused,
    ):
        made.write(tmp_path / "place")
    assert refused.value.code.name == "baseMissing"


def test_a_tree_is_read_once_wherever_it_stands(tmp_path: Path) -> None:
    below: Folder = {b"x": b"x"}
    with planned(tmp_path, {b"a": below, b"b": {b"c": below, b"d": {b"e": below}}}) as made:
        reader, asked = made.repository.reader, []
        read_all = reader.read_all

        def counting(oids: Iterable[bytes]) -> Iterator[tuple[int, bytes] | None]:
            wanted = list(oids)
            asked.extend(wanted)
            return read_all(wanted)

        reader.read_all = counting  # type: ignore[method-assign]
        made.plan()
    assert len(asked) == len(set(asked)) == 4


@pytest.mark.parametrize("lost", ["a file", "a tree"])
def test_what_the_host_lacks_is_the_base_that_is_missing(tmp_path: Path, lost: str) -> None:
    (tmp_path / "place").mkdir()
    entry = existing(b"100644" if lost == "a file" else b"40000", b"\x11" * 20)
    with planned(tmp_path, {b"a": entry}) as made, pytest.raises(ImportRefused) as refused:
        made.write(tmp_path / "place")
    assert refused.value.code.name == "baseMissing"
    assert "11" * 20 in refused.value.message


@pytest.mark.parametrize("size", [100, 1 << 20], ids=["small", "in many pieces"])
def test_a_file_that_is_not_what_its_id_says_is_noticed(tmp_path: Path, size: int) -> None:
    (tmp_path / "place").mkdir()
    oid = ""

    def loose(store: Store) -> bytes:
        nonlocal oid
        root = store.tree({b"a": b"x" * size})
        # Not in the pack of the host: it is put there as a loose file that lies.
        name = next(name for name, (kind, data) in store.objects.items() if data == b"x" * size)
        oid = name.hex()
        return root

    with planned(tmp_path, loose) as made:
        objects = tmp_path / "host" / ".git" / "objects"
        git(tmp_path / "host", "unpack-objects", "-q", input=_packs(objects))
        other = git(tmp_path / "host", "hash-object", "-w", "--stdin", input=b"y" * size)
        lying = objects / oid[:2] / oid[2:]
        wrong = other.stdout.decode().strip()
        lying.chmod(0o600)
        lying.write_bytes((objects / wrong[:2] / wrong[2:]).read_bytes())
        # It has the pack open that was there.
        made.repository.reader.close()
        with pytest.raises(ImporterError) as refused:
            made.write(tmp_path / "place")
    assert refused.value.code.name == "storeCorrupt"


def _packs(objects: Path) -> bytes:
    """The one pack of a host, which it has no more."""
    (pack,) = (objects / "pack").glob("*.pack")
    data = pack.read_bytes()
    for path in (objects / "pack").iterdir():
        path.unlink()
    return data
