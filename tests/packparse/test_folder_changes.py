"""A folder of loose objects that changes while it is verified, or cannot be read."""

from __future__ import annotations

import os
import random
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from packparse import codes, folder
from packparse.folder import verify_folder
from packparse.loose import LooseVerifier
from tests.support import packs
from tests.support.files import one_error, open_descriptors
from tests.support.loose import Loose, history, loose, of, whole, write
from tests.support.packs import PackBuilder, commit_bytes, tree_bytes
from tests.support.reports import messages, names

MIB = 1 << 20
BLOB = loose("blob", b"an object\n")


@pytest.fixture(autouse=True)
def _no_descriptor_is_left() -> Iterator[None]:
    before = open_descriptors()
    yield
    assert open_descriptors() == before


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    return write(tmp_path / "objects", history())


# --- what changes while it is verified ----------------------------------------------------------


def _rewrite(path: Path, item: Loose) -> None:
    (path / item.path).write_bytes(item.file)


CHANGES: dict[str, Callable[[Path, Loose], object]] = {
    "written to": _rewrite,
    "longer": lambda path, item: (path / item.path).write_bytes(item.file + b"x"),
    "gone": lambda path, item: (path / item.path).unlink(),
    "a link now": lambda path, item: _exchange(path / item.path, Path.symlink_to),
    "a FIFO now": lambda path, item: _exchange(path / item.path, lambda at, _: os.mkfifo(at)),
    "another file of the same content": lambda path, item: _exchange(
        path / item.path, lambda at, old: shutil.copyfile(old, at)
    ),
    "in a folder that is a link now": lambda path, item: _exchange(
        (path / item.path).parent, Path.symlink_to
    ),
    "in a folder that is gone": lambda path, item: shutil.rmtree((path / item.path).parent),
}


def _exchange(path: Path, make: Callable[[Path, Path], object]) -> None:
    """Put something else in the place of what is there, which is kept under another name."""
    old = path.with_name("old")
    path.rename(old)
    make(path, old)


def _let_time_pass(path: Path) -> None:
    """Wait until the clock of the disk shows another time than anything in the folder has."""
    newest = max(place.lstat().st_ctime_ns for place in [path, *path.rglob("*")])
    probe = path.parent / "probe"
    probe.touch()
    while probe.stat().st_ctime_ns <= newest:
        probe.touch()


def _after(
    monkeypatch: pytest.MonkeyPatch, path: Path, method: str, act: Callable[[], object]
) -> None:
    """Do something once the folder was listed (survey), or all is done (finish)."""
    owner = folder._Folder if method == "survey" else LooseVerifier  # noqa: SLF001
    real = getattr(owner, method)
    acts = iter([act])

    def call(*arguments: object) -> object:
        result = real(*arguments)
        for first in acts:
            _let_time_pass(path)
            first()
        return result

    monkeypatch.setattr(owner, method, call)


@pytest.mark.parametrize("when", ["survey", "finish"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_is_refused(
    honest: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    change: Callable[[Path, Loose], object],
) -> None:
    item = history()[0]
    _after(monkeypatch, honest, when, lambda: change(honest, item))
    if when == "survey":
        # Found as the file is opened, not only at the end.
        monkeypatch.setattr(folder._Folder, "compare", lambda _self: None)  # noqa: SLF001
    report = verify_folder(str(honest))
    assert report.klass == codes.ENVIRONMENT
    assert names(report) == ["inputChanged"]


NEW: dict[str, Callable[[Path], object]] = {
    "a new object": lambda path: write(path, [loose("blob", b"new")]),
    "a new object beside others": lambda path: shutil.copyfile(
        path / history()[0].path, (path / history()[0].path).with_name(BLOB.path[3:])
    ),
    "a folder": lambda path: (path / "info").mkdir(),
    "a file": lambda path: (path / "new").touch(),
}


@pytest.mark.parametrize("add", NEW.values(), ids=NEW)
def test_what_is_put_in_meanwhile_is_refused(
    honest: Path, monkeypatch: pytest.MonkeyPatch, add: Callable[[Path], object]
) -> None:
    _after(monkeypatch, honest, "finish", lambda: add(honest))
    assert names(verify_folder(str(honest))) == ["inputChanged"]


def test_what_is_put_into_an_empty_info_meanwhile_is_refused(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (honest / "info").mkdir()
    _after(monkeypatch, honest, "finish", (honest / "info" / "alternates").touch)
    assert names(verify_folder(str(honest))) == ["inputChanged"]


@pytest.mark.parametrize("more", [-1, 1])
def test_a_file_that_is_cut_or_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    item = loose("blob", random.Random(2).randbytes(600_000), level=0)
    path = write(tmp_path / "objects", [item])
    real = os.read

    def read(descriptor: int, length: int) -> bytes:
        data = real(descriptor, length)
        os.truncate(path / item.path, len(item.file) + more)
        return data

    monkeypatch.setattr(os, "read", read)
    monkeypatch.setattr(folder._Folder, "compare", lambda _self: None)  # noqa: SLF001
    report = verify_folder(str(path))
    assert names(report) == ["inputChanged"]


def test_a_second_look_sees_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two that differ in their content alone: as if nobody looked at the times.
    pack = PackBuilder()
    link = pack.add("blob", b"/etc/passwd")
    tree = pack.add("tree", tree_bytes([(b"120000", b"link", link.oid)]))
    pack.add("commit", commit_bytes(tree.oid))
    (item,) = of([link])
    path = write(tmp_path / "objects", of(pack.handles))
    monkeypatch.setattr(folder, "_stamp", lambda status: (status.st_size, 0, 0))
    real = os.read
    good = zlib.compress(whole("blob", b"etc/passwd_"), 1)
    assert len(good) == len(item.file)

    def read(descriptor: int, length: int) -> bytes:
        data = real(descriptor, length)
        if data == item.file:
            (path / item.path).write_bytes(good)
        return data

    monkeypatch.setattr(os, "read", read)
    report = verify_folder(str(path))
    assert names(report) == ["inputChanged"]
    assert item.path in messages(report)[0]


# --- what cannot be read ------------------------------------------------------------------------


def _is_file(path: Path) -> Path:
    path.write_bytes(packs.small_honest_pack())
    return path


def _is_link(path: Path) -> Path:
    write(path.with_name("real"), history())
    path.symlink_to("real")
    return path


def _is_fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


UNREADABLE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "nothing": (lambda path: path, "No such file or directory"),
    "a file": (_is_file, "Not a directory"),
    "a FIFO": (_is_fifo, "Not a directory"),
    "case 64: a link to a folder": (_is_link, "it is a symbolic link, which is not followed"),
    "a name with a NUL": (lambda path: path.with_name("a\0b"), "embedded null byte"),
}


@pytest.mark.parametrize(("make", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_folder_is_class_6(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    report = verify_folder(str(make(tmp_path / "it")))
    assert one_error(report) == ("cannotRead", f"the folder cannot be read: {reason}")
    assert (report.klass, report.kind, report.bytes) == (6, None, None)


def test_a_folder_behind_a_link_may_be_named(tmp_path: Path) -> None:
    # A link on the way is the caller's own.
    _is_link(tmp_path / "it")
    (tmp_path / "real" / "objects").mkdir()
    assert verify_folder(f"{tmp_path}/it/objects").accepted
    assert verify_folder(f"{tmp_path}/it/.").klass == codes.POLICY


@pytest.mark.parametrize("call", ["open", "fstat", "read", "scandir", "stat"])
def test_a_failing_disk_is_class_6(
    honest: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_arguments: object, **_named: object) -> None:
        raise OSError(5, os.strerror(5))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        report = verify_folder(str(honest))
    code, message = one_error(report)
    assert (report.klass, code) == (6, "cannotRead")
    assert message.endswith(f" cannot be read: {os.strerror(5)}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_class_6(honest: Path) -> None:
    (honest / history()[0].path).chmod(0)
    code, message = one_error(verify_folder(str(honest)))
    assert code == "cannotRead"
    assert message.startswith(f"{history()[0].path} cannot be read")
