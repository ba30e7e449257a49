"""Files: relative to open folders, nothing followed, and published whole or not at all."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from importer.durable import (
    TEMPORARY,
    Files,
    Identity,
    UnsafeFileError,
    check_plain,
    identity,
    kind_of,
    read_up_to,
)
from tests.support.files import open_descriptors
from tests.support.worlds import T, Telling

FILES = Files()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """An open folder, empty."""
    (tmp_path / "folder").mkdir()
    with FILES.folder(str(tmp_path / "folder")) as descriptor:
        yield descriptor


@pytest.fixture
def place(tmp_path: Path, folder: int) -> Path:
    """The path of that folder."""
    assert identity(os.fstat(folder)) == identity((tmp_path / "folder").stat())
    return tmp_path / "folder"


@contextmanager
def umask(mode: int) -> Iterator[None]:
    before = os.umask(mode)
    try:
        yield
    finally:
        os.umask(before)


# --- what is opened ------------------------------------------------------------------------------


def _link(place: Path) -> None:
    (place / "target").write_bytes(b"secret")
    (place / "it").symlink_to("target")


def _socket(place: Path) -> None:
    # The path of a socket may have 107 bytes, and that of a test may be longer.
    with FILES.folder(str(place)) as at, socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{at}/it")


def _second_name(place: Path) -> None:
    (place / "first").write_bytes(b"of somebody else")
    (place / "it").hardlink_to(place / "first")


UNSAFE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a file": (_link, "a symbolic link"),
    "a link to nothing": (lambda place: (place / "it").symlink_to("none"), "a symbolic link"),
    "a link to itself": (lambda place: (place / "it").symlink_to("it"), "a symbolic link"),
    "a FIFO that nobody writes to": (lambda place: os.mkfifo(place / "it"), "a FIFO"),
    "a folder": (lambda place: (place / "it").mkdir(), "a directory"),
    "a socket": (_socket, "a socket"),
    "a file with another name": (_second_name, "a file with 2 names"),
}


@pytest.mark.parametrize(("put", "kind"), UNSAFE.values(), ids=UNSAFE)
def test_what_is_no_plain_file_is_neither_opened_nor_left_open(
    put: Callable[[Path], object], kind: str, folder: int, place: Path
) -> None:
    put(place)
    before = open_descriptors()
    with pytest.raises(UnsafeFileError) as refused:
        FILES.open_file("it", at=folder)
    assert str(refused.value) == kind
    with pytest.raises(UnsafeFileError):
        FILES.read("it", at=folder, most=100)
    assert open_descriptors() == before


def test_a_device_is_not_opened() -> None:
    with FILES.folder("/dev") as devices, pytest.raises(UnsafeFileError, match="a device"):
        FILES.open_file("null", at=devices)


def test_a_link_that_is_gone_once_it_is_looked_at_was_nothing(folder: int, place: Path) -> None:
    class Late(Files):
        def status(self, name: str, *, at: int) -> os.stat_result | None:
            os.unlink(name, dir_fd=at)
            return super().status(name, at=at)

    (place / "it").symlink_to("none")
    with pytest.raises(UnsafeFileError, match=r"^nothing$"):
        Late().open_file("it", at=folder)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        (stat.S_IFLNK, "a symbolic link"),
        (stat.S_IFBLK, "a device"),
        (stat.S_IFCHR, "a device"),
        (stat.S_IFREG, "a regular file"),
        (0, "something else"),
    ],
)
def test_every_kind_of_file_has_a_name(mode: int, kind: str) -> None:
    assert kind_of(mode | 0o644) == kind


def test_a_plain_file_is_opened_for_reading_alone(folder: int, place: Path) -> None:
    (place / "it").write_bytes(b"content")
    descriptor = FILES.open_file("it", at=folder)
    try:
        check_plain(os.fstat(descriptor))
        assert not os.get_inheritable(descriptor)
        assert os.read(descriptor, 100) == b"content"
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(descriptor, b"x")
    finally:
        os.close(descriptor)


NO_FOLDERS: dict[str, tuple[Callable[[Path], object], type[OSError]]] = {
    "a link to a folder": (lambda place: (place / "it").symlink_to("."), NotADirectoryError),
    "a link to nothing": (lambda place: (place / "it").symlink_to("none"), NotADirectoryError),
    "a file": (lambda place: (place / "it").touch(), NotADirectoryError),
    "a FIFO": (lambda place: os.mkfifo(place / "it"), NotADirectoryError),
    "nothing": (lambda place: place, FileNotFoundError),
}


@pytest.mark.parametrize(("put", "error"), NO_FOLDERS.values(), ids=NO_FOLDERS)
def test_what_is_no_folder_is_not_opened_as_one(
    put: Callable[[Path], object], error: type[OSError], folder: int, place: Path
) -> None:
    put(place)
    before = open_descriptors()
    with pytest.raises(error):
        FILES.open_folder("it", at=folder)
    with pytest.raises(error), FILES.folder(str(place / "it")):
        pass
    assert open_descriptors() == before


def test_a_folder_is_closed_after_its_block(place: Path) -> None:
    before = open_descriptors()
    with FILES.folder(str(place)):
        assert open_descriptors() == before + 1
    with pytest.raises(KeyError), FILES.folder(str(place)):
        raise KeyError
    assert open_descriptors() == before


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 9, 10])
def test_what_is_within_the_cap_is_read_whole(length: int, folder: int, place: Path) -> None:
    (place / "it").write_bytes(b"x" * length)
    assert FILES.read("it", at=folder, most=10) == b"x" * length


@pytest.mark.parametrize("length", [11, 1 << 42], ids=["by one byte", "by terabytes"])
def test_what_is_larger_than_the_cap_is_not_read(length: int, folder: int, place: Path) -> None:
    (place / "it").touch()
    os.truncate(place / "it", length)
    before = open_descriptors()
    with pytest.raises(UnsafeFileError, match="more than 10 bytes"):
        FILES.read("it", at=folder, most=10)
    assert open_descriptors() == before


def test_nothing_is_read_where_there_is_no_file(folder: int) -> None:
    assert FILES.read("it", at=folder, most=10) is None


@pytest.mark.parametrize(
    ("most", "read"), [(0, b""), (3, b"con"), (7, b"content"), (9, b"content")]
)
def test_reading_begins_at_the_beginning_wherever_a_descriptor_stands(
    most: int, read: bytes, place: Path
) -> None:
    (place / "it").write_bytes(b"content")
    with (place / "it").open("rb", buffering=0) as opened:
        opened.seek(2)
        assert read_up_to(opened.fileno(), most) == read


def test_more_than_a_chunk_is_read_in_pieces(folder: int, place: Path) -> None:
    content = os.urandom((2 << 20) + 5)
    (place / "it").write_bytes(content)
    assert FILES.read("it", at=folder, most=3 << 20) == content


def test_the_status_of_a_link_is_its_own(folder: int, place: Path) -> None:
    (place / "it").symlink_to("/")
    status = FILES.status("it", at=folder)
    assert status is not None
    assert stat.S_ISLNK(status.st_mode)
    assert FILES.status("none", at=folder) is None


def test_names_are_sorted(folder: int, place: Path) -> None:
    for name in ("b", "C", "a", ".d"):
        (place / name).touch()
    assert FILES.names(folder) == [".d", "C", "a", "b"]


def test_an_identity_is_that_of_the_folder_and_not_of_its_path(folder: int, place: Path) -> None:
    before = identity(os.fstat(folder))
    moved = place.rename(place.with_name("moved"))
    place.mkdir()
    assert identity(moved.stat()) == before == Identity(before.device, before.inode)
    assert identity(place.stat()) != before


# --- relative to descriptors, and nothing followed -----------------------------------------------

CHANGES: dict[str, Callable[[Files, int], object]] = {
    "create": lambda files, at: os.close(files.create("new", at=at)),
    "open_shared": lambda files, at: os.close(files.open_shared("new", at=at, mode=0o600)),
    "make_folder": lambda files, at: files.make_folder("new", at=at),
    "link": lambda files, at: files.link("old", "new", at=at, to=at),
    "rename": lambda files, at: files.rename("old", "new", at=at),
    "replace": lambda files, at: files.replace("old", b"", at=at),
    "write_once": lambda files, at: files.write_once("new", b"", at=at),
    "remove": lambda files, at: files.remove("old", at=at),
    "remove_folder": lambda files, at: files.remove_folder("below", at=at),
}


def _listing(place: Path) -> list[tuple[str, int]]:
    return sorted((path.name, path.lstat().st_ino) for path in place.rglob("*"))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_folder_that_takes_the_path_is_not_touched(
    change: Callable[[Files, int], object], folder: int, place: Path
) -> None:
    for where in (place, place.with_name("decoy")):
        (where / "below").mkdir(parents=True)
        (where / "below" / "deep").touch()
        (where / "old").touch()
    moved = place.rename(place.with_name("moved"))
    place.with_name("decoy").rename(place)
    before, ours = _listing(place), _listing(moved)
    change(FILES, folder)
    assert _listing(place) == before
    assert _listing(moved) != ours


# What may not be there, what a link in its place leads to, and what happens.
OVER_LINKS: dict[str, tuple[Callable[[Files, int], object], type[OSError] | None]] = {
    "a file is not created through it": (
        lambda files, at: files.create("it", at=at), FileExistsError,
    ),
    "a shared file is not opened through it": (
        lambda files, at: files.open_shared("it", at=at, mode=0o600), OSError,
    ),
    "a folder is not made through it": (
        lambda files, at: files.make_folder("it", at=at), FileExistsError,
    ),
    "it gets no second name for what it leads to": (
        lambda files, at: files.link("it", "new", at=at, to=at), None,
    ),
    "it is replaced itself": (lambda files, at: files.replace("it", b"new", at=at), None),
    "it is taken for a name that is not free": (
        lambda files, at: files.write_once("it", b"new", at=at), FileExistsError,
    ),
    "it is removed itself": (lambda files, at: files.remove("it", at=at), None),
    "nothing behind it is removed": (
        lambda files, at: files.remove_folder("it", at=at), NotADirectoryError,
    ),
    "nothing behind it is opened up": (
        lambda files, at: files.open_own("it", at=at), NotADirectoryError,
    ),
    "it is no empty folder": (
        lambda files, at: files.remove_empty("it", at=at), NotADirectoryError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", ["outside-file", "outside-folder", "none"])
@pytest.mark.parametrize(("change", "error"), OVER_LINKS.values(), ids=OVER_LINKS)
def test_of_a_link(
    change: Callable[[Files, int], object],
    error: type[OSError] | None,
    target: str,
    folder: int,
    place: Path,
) -> None:
    outside = place.parent
    (outside / "outside-file").write_bytes(b"precious")
    (outside / "outside-folder").mkdir()
    (outside / "outside-folder" / "inside").write_bytes(b"precious")
    (place / "it").symlink_to(outside / target)
    if error is None:
        change(FILES, folder)
    else:
        with pytest.raises(error):
            change(FILES, folder)
    assert (outside / "outside-file").read_bytes() == b"precious"
    assert (outside / "outside-file").stat().st_nlink == 1
    assert (outside / "outside-folder" / "inside").read_bytes() == b"precious"
    assert not (outside / "none").exists()


def test_a_link_under_the_temporary_name_is_no_way_out(folder: int, place: Path) -> None:
    (place.parent / "precious").write_bytes(b"precious")
    (place / f"{TEMPORARY}it").symlink_to(place.parent / "precious")
    FILES.replace("it", b"new", at=folder)
    assert (place.parent / "precious").read_bytes() == b"precious"
    assert (place / "it").read_bytes() == b"new"
    assert FILES.names(folder) == ["it"]


# --- removing a folder ---------------------------------------------------------------------------


def test_a_folder_is_removed_with_all_that_is_in_it_and_nothing_else(
    folder: int, place: Path
) -> None:
    outside = place.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "precious").write_bytes(b"precious")
    deep = place / "it" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    (deep / "to-folder").symlink_to(outside)
    (deep.parent / "to-file").symlink_to(outside / "deep" / "precious")
    (place / "it" / "second").hardlink_to(outside / "deep" / "precious")
    os.mkfifo(place / "it" / "fifo")
    before = open_descriptors()
    assert FILES.remove_folder("it", at=folder)
    assert FILES.names(folder) == []
    assert (outside / "deep" / "precious").read_bytes() == b"precious"
    assert not FILES.remove_folder("it", at=folder)
    assert open_descriptors() == before


def test_a_folder_from_which_somebody_else_removes_as_well_is_removed(
    folder: int, place: Path
) -> None:
    class Racing(Files):
        def names(self, at: int) -> list[str]:
            found = super().names(at)
            for name in found:
                os.unlink(name, dir_fd=at)
            return found

        def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
            if operation == "rmdir":
                (place / "it").rmdir()
            return super()._act(operation, function, *arguments)

    (place / "it").mkdir()
    (place / "it" / "file").touch()
    assert not Racing().remove_folder("it", at=folder)
    assert FILES.names(folder) == []


# --- a folder of whoever made it -----------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o000, 0o055, 0o300, 0o500, 0o600, 0o077], ids=oct)
def test_a_closed_folder_is_opened_up_for_its_owner_alone(
    mode: int, folder: int, place: Path
) -> None:
    (place / "it").mkdir()
    (place / "it").chmod(mode)
    before = open_descriptors()
    os.close(FILES.open_own("it", at=folder))
    assert stat.S_IMODE((place / "it").stat().st_mode) == 0o700
    assert open_descriptors() == before


@pytest.mark.parametrize("mode", [0o700, 0o755], ids=oct)
def test_a_folder_that_is_open_to_its_owner_stays_as_it_is(
    mode: int, folder: int, place: Path
) -> None:
    (place / "it").mkdir()
    (place / "it").chmod(mode)
    files = Telling()
    os.close(files.open_own("it", at=folder))
    assert files.seen == []
    assert stat.S_IMODE((place / "it").stat().st_mode) == mode


def test_what_takes_the_name_of_a_folder_is_neither_opened_up_nor_opened(
    folder: int, place: Path
) -> None:
    class Racing(Files):
        def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
            (place / "it").rename(place / "moved")
            (place / "it").mkdir(0o500)
            return super()._act(operation, function, *arguments)

    (place / "it").mkdir(0)
    opened = Racing().open_own("it", at=folder)
    try:
        assert identity(os.fstat(opened)) == identity((place / "moved").stat())
    finally:
        os.close(opened)
    assert stat.S_IMODE((place / "moved").stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "it").stat().st_mode) == 0o500


def test_a_folder_that_is_not_empty_is_not_removed(folder: int, place: Path) -> None:
    (place / "it" / "in").mkdir(parents=True)
    assert not FILES.remove_empty("it", at=folder)
    (place / "it" / "in").rmdir()
    assert FILES.remove_empty("it", at=folder)
    with pytest.raises(FileNotFoundError):
        FILES.remove_empty("it", at=folder)


# --- removing a file -----------------------------------------------------------------------------


def test_a_file_is_removed_once(folder: int, place: Path) -> None:
    (place / "it").touch()
    assert FILES.remove("it", at=folder)
    assert not FILES.remove("it", at=folder)


# --- writing -------------------------------------------------------------------------------------


class Short(Files):
    """Writes that take a few bytes only, as on a disk that is almost full."""

    def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
        if operation == "write":
            descriptor, data = arguments
            assert isinstance(data, memoryview)
            return function(descriptor, data[:3])
        return super()._act(operation, function, *arguments)


@pytest.mark.parametrize("length", [0, 1, 3, 4, 100])
def test_a_short_write_is_gone_on_with(length: int, folder: int, place: Path) -> None:
    content = os.urandom(length)
    Short().replace("it", content, at=folder)
    assert (place / "it").read_bytes() == content


def test_a_shared_file_is_opened_as_it_is(folder: int, place: Path) -> None:
    (place / "it").write_bytes(b"content")
    descriptor = FILES.open_shared("it", at=folder, mode=0o600)
    try:
        assert not os.get_inheritable(descriptor)
        assert os.read(descriptor, 100) == b"content"
        FILES.cut(descriptor, 3)
    finally:
        os.close(descriptor)
    assert (place / "it").read_bytes() == b"con"


# --- publishing ----------------------------------------------------------------------------------

# The content before the name, and the name before the folder.
DURABLY = [
    "unlink tmp_it", "create tmp_it", "write tmp_it", "chmod tmp_it", "fsync tmp_it",
    "rename tmp_it it", "fsync folder",
]  # fmt: skip


@pytest.mark.parametrize("name", ["replace", "write_once"])
def test_a_file_is_published_durably(name: str, folder: int, place: Path) -> None:
    files = Telling()
    (place / "tmp_it").write_bytes(b"left by a crash, and longer than what is written")
    getattr(files, name)("it", b"content", at=folder)
    assert files.seen == DURABLY
    assert (place / "it").read_bytes() == b"content"
    assert FILES.names(folder) == ["it"]


@pytest.mark.parametrize("failing", DURABLY)
@pytest.mark.parametrize("old", [b"old", None], ids=["over another", "as the first"])
def test_a_reader_sees_the_old_file_or_the_new_one_whatever_fails(
    failing: str, old: bytes | None, folder: int, place: Path
) -> None:
    if old is not None:
        (place / "it").write_bytes(old)
    before = open_descriptors()
    with pytest.raises(OSError, match="No space left"):
        Telling([failing]).replace("it", b"new", at=folder)
    assert open_descriptors() == before
    # The name is given in the last step but one.
    expected = b"new" if failing == "fsync folder" else old
    assert FILES.read("it", at=folder, most=100) == expected
    assert set(FILES.names(folder)) <= {"it", "tmp_it"}
    FILES.replace("it", b"again", at=folder)
    assert (place / "it").read_bytes() == b"again"
    assert FILES.names(folder) == ["it"]


def test_what_is_published_once_is_not_replaced(folder: int, place: Path) -> None:
    FILES.write_once("it", b"first", at=folder)
    files = Telling()
    with pytest.raises(FileExistsError) as refused:
        files.write_once("it", b"second", at=folder)
    assert refused.value.filename == "it"
    assert files.seen == []
    assert (place / "it").read_bytes() == b"first"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777], ids=oct)
@pytest.mark.parametrize("mode", [0o444, 0o600, 0o640, 0o664], ids=oct)
def test_the_umask_has_no_say_in_who_may_read_what_is_published(
    mask: int, mode: int, folder: int, place: Path
) -> None:
    with umask(mask):
        FILES.replace("it", b"content", at=folder, mode=mode)
        FILES.write_once("once", b"content", at=folder, mode=mode)
    for name in ("it", "once"):
        assert stat.S_IMODE((place / name).stat().st_mode) == mode


def test_without_a_mode_nobody_else_may_read_or_enter(folder: int, place: Path) -> None:
    with umask(0):
        os.close(FILES.create("file", at=folder))
        FILES.make_folder("made", at=folder)
        FILES.replace("published", b"", at=folder)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()}
    assert found == {"file": 0o600, "made": 0o700, "published": 0o600}


def test_a_file_system_that_cannot_be_made_durable_says_so(tmp_path: Path) -> None:
    files = Files()
    with files.folder(str(tmp_path)) as folder:
        files.sync_all(folder)
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.sync_all(folder)


def test_all_of_the_file_system_is_made_durable_and_not_the_folder_alone() -> None:
    # Its folders have no fsync; of the whole there is nothing to write, and that is done.
    with FILES.folder("/proc") as folder:
        with pytest.raises(OSError, match="Invalid argument"):
            FILES.sync(folder)
        FILES.sync_all(folder)
