"""Steps 1 to 5: each name is opened once, looked at before it is read, and read once."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from importer import durable, intake
from importer.durable import Files
from importer.errors import (
    ARTIFACT_CHANGED,
    ARTIFACT_HASH_MISMATCH,
    ARTIFACT_MISSING,
    ARTIFACT_SIZE_MISMATCH,
    ORIGIN_CHANGED,
    ORIGIN_UNSAFE,
    ImportRefused,
)
from importer.repository import folder_record
from importer.world import World
from manifest import v1
from manifest.errors import MANIFEST_MISSING, MANIFEST_TOO_LARGE, RecordError
from manifest.launch import Folder
from manifest.v1 import Artifact, Manifest, Workspace
from tests.support.files import open_descriptors
from tests.support.records import BASE, CANDIDATE, KEY, LAUNCH
from tests.support.worlds import Telling

NAME = "candidate.bundle"
CONTENT = os.urandom(3_000)
SECRET = bytes.fromhex(KEY)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    (tmp_path / "export").mkdir()
    return tmp_path / "export"


@pytest.fixture
def at(export: Path) -> Iterator[int]:
    with Files().folder(str(export)) as descriptor:
        yield descriptor


@pytest.fixture
def private(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "private").mkdir()
    with Files().folder(str(tmp_path / "private")) as descriptor:
        yield descriptor


def artifact(content: bytes = CONTENT, name: str = NAME) -> Artifact:
    return Artifact(name=name, bytes=len(content), sha256=sha256(content).hexdigest(), objects=3)


def manifest(**changes: object) -> Manifest:
    fields: dict[str, object] = {
        "issue": "owner/repo#269",
        "run": "run-7",
        "phase": "FIX",
        "launch": LAUNCH,
        "repository": "owner/repo",
        "object_format": "sha1",
        "base": BASE,
        "candidate": CANDIDATE,
        "artifact": artifact(),
        "commits": [CANDIDATE],
        "state": "offered",
        "workspace": Workspace(dirty=0, paths=[]),
    }
    return Manifest(**(fields | changes))  # type: ignore[arg-type]


def _link(path: Path) -> None:
    path.with_name("target").write_bytes(CONTENT)
    path.symlink_to("target")


def _second_name(path: Path) -> None:
    path.with_name("first").write_bytes(CONTENT)
    path.hardlink_to(path.with_name("first"))


def _socket(path: Path) -> None:
    with Files().folder(str(path.parent)) as at, socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{at}/{path.name}")


UNSAFE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a file": (_link, "a symbolic link"),
    "a link to nothing": (lambda path: path.symlink_to("none"), "a symbolic link"),
    "a FIFO": (os.mkfifo, "a FIFO"),
    "a folder": (lambda path: path.mkdir(), "a directory"),
    "a socket": (_socket, "a socket"),
    "a file with another name": (_second_name, "a file with 2 names"),
}


# --- 1: the folder -------------------------------------------------------------------------------


def record(path: Path) -> Folder:
    with Files().folder(str(path)) as descriptor:
        return folder_record(str(path), descriptor)


@pytest.mark.parametrize("name", [b"export", b'an odd: "export"', b"a\nb", b"\xff"], ids=repr)
def test_the_folder_of_the_record_is_opened(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    path.mkdir()
    before = open_descriptors()
    with intake.open_origin(World(), record(path)) as descriptor:
        assert os.fstat(descriptor).st_ino == path.stat().st_ino
        assert not os.get_inheritable(descriptor)
    with pytest.raises(KeyError), intake.open_origin(World(), record(path)):
        raise KeyError
    assert open_descriptors() == before


def _other(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.mkdir()


def _linked(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def _file(path: Path) -> None:
    path.rmdir()
    path.touch()


REPLACED: dict[str, Callable[[Path], object]] = {
    "another folder": _other,
    "a link to itself, elsewhere": _linked,
    "a file": _file,
    "nothing": lambda path: path.rmdir(),
}


@pytest.mark.parametrize("replace", REPLACED.values(), ids=REPLACED)
def test_it_is_not_opened_where_its_path_leads_to(
    replace: Callable[[Path], object], export: Path
) -> None:
    recorded = record(export)
    replace(export)
    before = open_descriptors()
    with pytest.raises(ImportRefused) as refused, intake.open_origin(World(), recorded):
        pytest.fail("it is opened")
    assert refused.value.code is ORIGIN_CHANGED
    assert refused.value.message.startswith(str(export))
    assert open_descriptors() == before


@pytest.mark.parametrize("number", ["device", "inode"])
def test_a_folder_is_known_by_both_of_its_numbers(number: str, export: Path) -> None:
    # Every file system counts its inodes from the same number on.
    recorded = record(export)
    other = msgspec.structs.replace(recorded, **{number: getattr(recorded, number) + 1})
    with pytest.raises(ImportRefused) as refused, intake.open_origin(World(), other):
        pytest.fail("it is opened")
    assert refused.value.code is ORIGIN_CHANGED


# --- 2: the manifest -----------------------------------------------------------------------------


def test_the_manifest_is_read_with_the_key_of_the_launch(export: Path, at: int) -> None:
    (export / v1.NAME).write_bytes(v1.write(manifest(), SECRET))
    before = open_descriptors()
    assert intake.read_manifest(World(), SECRET, at=at) == manifest()
    with pytest.raises(RecordError, match="manifestForged"):
        intake.read_manifest(World(), bytes(32), at=at)
    assert open_descriptors() == before


def test_a_manifest_that_is_not_there_is_missing(at: int) -> None:
    with pytest.raises(ImportRefused, match=r"there is no manifest\.json") as refused:
        intake.read_manifest(World(), SECRET, at=at)
    assert refused.value.code is MANIFEST_MISSING


@pytest.mark.parametrize(("put", "kind"), UNSAFE.values(), ids=UNSAFE)
def test_a_manifest_is_not_read_that_is(
    put: Callable[[Path], object], kind: str, export: Path, at: int
) -> None:
    put(export / v1.NAME)
    before = open_descriptors()
    with pytest.raises(ImportRefused, match=rf"manifest\.json is {kind}") as refused:
        intake.read_manifest(World(), SECRET, at=at)
    assert refused.value.code is ORIGIN_UNSAFE
    assert open_descriptors() == before


@pytest.mark.parametrize("more", [1, 1 << 40])
def test_a_manifest_that_is_too_large_is_not_read(
    more: int, export: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (export / v1.NAME).touch()
    os.truncate(export / v1.NAME, v1.LARGEST + more)
    monkeypatch.setattr(os, "pread", lambda *_args: pytest.fail("it is read"))
    before = open_descriptors()
    with pytest.raises(ImportRefused) as refused:
        intake.read_manifest(World(), SECRET, at=at)
    assert refused.value.code is MANIFEST_TOO_LARGE
    assert open_descriptors() == before


class Changing(Files):
    """Files of which one is changed once it is open."""

    def __init__(self, change: Callable[[], object]) -> None:
        self._change = change

    def open_file(self, name: str, *, at: int, **options: bool) -> int:
        descriptor = super().open_file(name, at=at, **options)
        self._change()
        return descriptor


def test_a_manifest_that_is_replaced_once_it_is_open_is_the_one_that_was_opened(
    export: Path, at: int
) -> None:
    (export / v1.NAME).write_bytes(v1.write(manifest(), SECRET))
    (export / "other").write_bytes(v1.write(manifest(run="run-8"), SECRET))
    world = World(Changing(lambda: (export / "other").replace(export / v1.NAME)))
    assert intake.read_manifest(world, SECRET, at=at).run == "run-7"


@pytest.mark.parametrize("grow", [True, False], ids=["grows", "shrinks"])
def test_a_manifest_is_not_taken_that(
    grow: bool, export: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = export / v1.NAME
    path.write_bytes(v1.write(manifest(), SECRET))
    size = path.stat().st_size
    read = os.pread

    def change(descriptor: int, length: int, at: int) -> bytes:
        monkeypatch.undo()
        os.truncate(path, size + 5 if grow else size - 5)
        return read(descriptor, length, at)

    before = open_descriptors()
    monkeypatch.setattr(os, "pread", change)
    with pytest.raises(ImportRefused, match=f"had {size} bytes when it was opened") as refused:
        intake.read_manifest(World(), SECRET, at=at)
    assert refused.value.code is ARTIFACT_CHANGED
    assert open_descriptors() == before


# --- 4: the artifact, before it is read ----------------------------------------------------------


def test_the_artifact_is_opened_and_not_read(
    export: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (export / NAME).write_bytes(CONTENT)
    monkeypatch.setattr(os, "pread", lambda *_args: pytest.fail("it is read"))
    before = open_descriptors()
    with intake.open_artifact(World(), artifact(), at=at) as opened:
        assert opened.status.st_ino == (export / NAME).stat().st_ino
        assert os.fstat(opened.descriptor) == opened.status
    with pytest.raises(KeyError), intake.open_artifact(World(), artifact(), at=at):
        raise KeyError
    assert open_descriptors() == before


def test_an_artifact_that_is_not_there_is_missing(at: int) -> None:
    with (
        pytest.raises(ImportRefused, match="there is no candidate") as refused,
        intake.open_artifact(World(), artifact(), at=at),
    ):
        pytest.fail("it is opened")
    assert refused.value.code is ARTIFACT_MISSING


@pytest.mark.parametrize(("put", "kind"), UNSAFE.values(), ids=UNSAFE)
def test_an_artifact_is_not_opened_that_is(
    put: Callable[[Path], object], kind: str, export: Path, at: int
) -> None:
    put(export / NAME)
    before = open_descriptors()
    with (
        pytest.raises(ImportRefused, match=f"{NAME} is {kind}") as refused,
        intake.open_artifact(World(), artifact(), at=at),
    ):
        pytest.fail("it is opened")
    assert refused.value.code is ORIGIN_UNSAFE
    assert open_descriptors() == before


@pytest.mark.parametrize("length", [0, len(CONTENT) - 1, len(CONTENT) + 1, 1 << 42])
def test_an_artifact_of_another_size_is_not_read(
    length: int, export: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (export / NAME).touch()
    os.truncate(export / NAME, length)
    monkeypatch.setattr(os, "pread", lambda *_args: pytest.fail("it is read"))
    before = open_descriptors()
    with (
        pytest.raises(ImportRefused) as refused,
        intake.open_artifact(World(), artifact(), at=at),
    ):
        pytest.fail("it is opened")
    assert refused.value.code is ARTIFACT_SIZE_MISMATCH
    assert refused.value.message == f"{length} bytes, and {len(CONTENT)} by the manifest"
    assert open_descriptors() == before


@pytest.mark.parametrize("name", [v1.NAME, NAME])
def test_a_file_that_lies_on_another_file_system_is_not_read(
    name: str, export: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As one that was mounted onto the name does.
    (export / name).write_bytes(CONTENT)
    fstat = os.fstat

    def elsewhere(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        fields = list(status)
        if stat.S_ISREG(status.st_mode):
            fields[2] += 1
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", elsewhere)
    with pytest.raises(ImportRefused, match="lies on another file system") as refused:
        _read_either(name, at)
    assert refused.value.code is ORIGIN_UNSAFE


def _read_either(name: str, at: int) -> None:
    if name == v1.NAME:
        intake.read_manifest(World(), SECRET, at=at)
    else:
        with intake.open_artifact(World(), artifact(), at=at):
            pytest.fail("it is opened")


# --- 5: the artifact is read ---------------------------------------------------------------------


@contextmanager
def staged(
    export: Path,
    private: int,
    *,
    content: bytes = CONTENT,
    feed: Callable[[bytes], None] = lambda _piece: None,
    files: Files | None = None,
) -> Iterator[int]:
    """The private copy of an artifact that is there."""
    (export / NAME).write_bytes(content)
    world = World(files)
    with (
        world.files.folder(str(export)) as at,
        intake.open_artifact(world, artifact(), at=at) as opened,
        intake.stage(world, opened, artifact(), feed, at=private) as copy,
    ):
        yield copy


def test_every_piece_is_fed_and_copied(
    export: Path, private: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "_CHUNK", 256)
    pieces: list[bytes] = []
    before = open_descriptors()
    with staged(export, private, feed=pieces.append) as copy:
        assert os.pread(copy, 1 << 20, 0) == CONTENT
    assert b"".join(pieces) == CONTENT
    assert max(map(len, pieces)) == 256
    assert open_descriptors() == before


def test_the_copy_has_no_name_and_is_nobody_elses(export: Path, private: int) -> None:
    os.close(Files().create("tmp_staged", at=private))
    files = Telling()
    with staged(export, private, files=files) as copy:
        status = os.fstat(copy)
        assert status.st_nlink == 0
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert Files().names(private) == []
        (export / NAME).write_bytes(b"written to later")
        assert os.pread(copy, 1 << 20, 0) == CONTENT
    assert files.seen == [
        "unlink tmp_staged", "create tmp_staged", "unlink tmp_staged", "write tmp_staged",
    ]  # fmt: skip


@pytest.mark.parametrize("failing", ["create tmp_staged", "unlink tmp_staged", "write tmp_staged"])
def test_where_it_cannot_be_copied_nothing_stays(failing: str, export: Path, private: int) -> None:
    before = open_descriptors()
    with (
        pytest.raises(OSError, match="No space left"),
        staged(export, private, files=Telling([failing])),
    ):
        pytest.fail("it is copied")
    assert open_descriptors() == before


def test_a_feed_that_refuses_is_told_and_nothing_stays(export: Path, private: int) -> None:
    def refuse(_piece: bytes) -> None:
        raise KeyError("refused")

    before = open_descriptors()
    with pytest.raises(KeyError, match="refused"), staged(export, private, feed=refuse):
        pytest.fail("it is copied")
    assert open_descriptors() == before
    assert Files().names(private) == []


def test_other_bytes_of_the_same_length_are_refused(export: Path, private: int) -> None:
    other = bytes([CONTENT[0] ^ 1]) + CONTENT[1:]
    before = open_descriptors()
    with (
        pytest.raises(ImportRefused) as refused,
        staged(export, private, content=other),
    ):
        pytest.fail("it is copied")
    assert refused.value.code is ARTIFACT_HASH_MISMATCH
    assert open_descriptors() == before


def _append(path: Path) -> None:
    with path.open("ab") as opened:
        opened.write(b"more")


def _write_over(path: Path) -> None:
    with path.open("r+b") as opened:
        opened.write(CONTENT[:1])
    os.utime(path, ns=(1, 1))


CHANGES: dict[str, Callable[[Path], object]] = {
    "grows": _append,
    "is cut": lambda path: os.truncate(path, 100),
    "is written over with the same bytes": _write_over,
    "gets another name": lambda path: path.with_name("second").hardlink_to(path),
    "gets another time": lambda path: os.utime(path, ns=(1, 1)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_artifact_is_refused_that_while_it_is_read(
    change: Callable[[Path], object],
    export: Path,
    private: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(durable, "_CHUNK", 2_000)
    fed: list[int] = []

    def feed(piece: bytes) -> None:
        fed.append(len(piece))
        if len(fed) == 1:
            change(export / NAME)

    before = open_descriptors()
    with pytest.raises(ImportRefused) as refused, staged(export, private, feed=feed):
        pytest.fail("it is copied")
    assert refused.value.code is ARTIFACT_CHANGED
    assert refused.value.message == f"{NAME} was written to while it was read"
    # Of one that grows for ever no more is read than it had, and a byte.
    assert sum(fed) <= len(CONTENT) + 1
    assert open_descriptors() == before


def test_an_artifact_that_is_replaced_once_it_is_open_is_the_one_that_was_opened(
    export: Path, private: int
) -> None:
    (export / "other").write_bytes(b"x" * len(CONTENT))
    files = Changing(lambda: (export / "other").replace(export / NAME))
    with staged(export, private, files=files) as copy:
        assert os.pread(copy, 1 << 20, 0) == CONTENT
    assert (export / NAME).read_bytes() == b"x" * len(CONTENT)
