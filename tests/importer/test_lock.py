"""Locks: waited for with a clock that is turned by hand, and on nothing but a plain file."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from importer.durable import Files
from importer.errors import LOCK_BUSY, LOCK_UNSAFE, ImportFailed, ImportRefused
from importer.lock import L1, held, taken
from importer.world import World
from packparse.errors import MisuseError
from tests.support.files import is_held, open_descriptors
from tests.support.worlds import Clock, Telling


@pytest.fixture
def at(tmp_path: Path) -> Iterator[int]:
    with Files().folder(str(tmp_path)) as descriptor:
        yield descriptor


@contextmanager
def somebody_else(path: Path, note: bytes = b"") -> Iterator[int]:
    """Hold the lock as another process does: on a descriptor of its own."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, note)
        yield descriptor
    finally:
        os.close(descriptor)


# --- holding -------------------------------------------------------------------------------------


def test_it_is_held_inside_of_the_block_and_never_deleted(at: int, tmp_path: Path) -> None:
    before = open_descriptors()
    with held(World(), L1, at=at, who="launch 1", timeout=0) as descriptor:
        assert is_held(tmp_path / L1)
        assert os.fstat(descriptor).st_ino == (tmp_path / L1).stat().st_ino
        assert not os.get_inheritable(descriptor)
    assert not is_held(tmp_path / L1)
    assert (tmp_path / L1).exists()
    assert open_descriptors() == before


def test_it_is_free_after_an_error_in_the_block(at: int, tmp_path: Path) -> None:
    before = open_descriptors()
    with pytest.raises(KeyError), held(World(), "lock", at=at, who="it", timeout=0):
        raise KeyError
    assert not is_held(tmp_path / "lock")
    assert open_descriptors() == before


def test_who_holds_it_leaves_a_note_that_replaces_the_last_one(at: int, tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"x" * 500)
    inode = (tmp_path / "lock").stat().st_ino
    with held(Clock(1234.5).world(), "lock", at=at, who="launch 1", timeout=0):
        note = f"process {os.getpid()} for launch 1 since 1970-01-01T00:20:34Z\n"
        assert (tmp_path / "lock").read_text() == note
    assert (tmp_path / "lock").stat().st_ino == inode


def test_a_note_is_not_long(at: int, tmp_path: Path) -> None:
    with held(World(), "lock", at=at, who="x" * 1000, timeout=0):
        assert (tmp_path / "lock").stat().st_size == 200


def test_only_what_holds_it_changes_the_file(at: int) -> None:
    files = Telling()
    with held(World(files), "lock", at=at, who="it", timeout=0):
        assert files.seen == ["create lock", "truncate lock", "write lock"]


def test_it_is_not_held_where_it_cannot_be_made(at: int, tmp_path: Path) -> None:
    before = open_descriptors()
    world = World(Telling(["create lock"]))
    with (
        pytest.raises(OSError, match="No space left"),
        held(world, "lock", at=at, who="it", timeout=0),
    ):
        pytest.fail("it is held")
    assert open_descriptors() == before
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize("failing", ["truncate lock", "write lock"])
def test_it_is_held_also_where_its_note_cannot_be_left(
    failing: str, at: int, tmp_path: Path
) -> None:
    before = open_descriptors()
    world = World(Telling([failing]))
    with held(world, "lock", at=at, who="it", timeout=0):
        assert is_held(tmp_path / "lock")
    assert not is_held(tmp_path / "lock")
    assert open_descriptors() == before


@pytest.mark.parametrize("mode", [0o600, 0o664], ids=oct)
@pytest.mark.parametrize("mask", [0o022, 0o077], ids=oct)
@pytest.mark.parametrize("there", [True, False], ids=["there before", "made new"])
def test_the_umask_has_no_say_in_who_may_wait_for_it(
    mask: int, mode: int, there: bool, at: int, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        if there:
            (tmp_path / "lock").touch(0o600)
        with held(World(), "lock", at=at, who="it", timeout=0, mode=mode):
            assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == mode
    finally:
        os.umask(before)


def test_permissions_that_cannot_be_given_leave_nothing_open(at: int, tmp_path: Path) -> None:
    (tmp_path / "lock").touch(0o600)
    before = open_descriptors()
    world = World(Telling(["chmod lock"], number=errno.EPERM))
    with (
        pytest.raises(PermissionError),
        held(world, "lock", at=at, who="it", timeout=0, mode=0o664),
    ):
        pytest.fail("it is held")
    assert open_descriptors() == before


# --- waiting -------------------------------------------------------------------------------------


def test_it_is_waited_for_until_it_is_free(at: int, tmp_path: Path) -> None:
    clock = Clock()
    with somebody_else(tmp_path / "lock") as other:

        def let_go_after_a_while() -> None:
            if len(clock.slept) == 9:
                fcntl.flock(other, fcntl.LOCK_UN)

        clock.on_sleep = let_go_after_a_while
        with held(clock.world(), "lock", at=at, who="it", timeout=10):
            assert is_held(tmp_path / "lock")
    # A lock is held for milliseconds; one that is held for longer is looked at now and then.
    assert clock.slept == [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.05, 0.05, 0.05]


@pytest.mark.parametrize(
    ("note", "who"),
    [
        (b"process 7 for launch 1 since 5\n", "process 7 for launch 1 since 5"),
        (b"", "somebody who left no note"),
        (b"\n \n", "somebody who left no note"),
        (b"\x1b]0;me\x07", r'"\033]0;me\a"'),
        (b"\xe2\x80\xae" * 90, '"' + r"\342\200\256" * 66 + r'\342\200"'),
    ],
    ids=["a note", "none", "blanks", "escapes", "more than a note"],
)
def test_after_the_deadline_it_says_who_holds_it(
    note: bytes, who: str, at: int, tmp_path: Path
) -> None:
    clock = Clock()
    before = open_descriptors()
    with somebody_else(tmp_path / "lock", note):
        waiting = held(clock.world(), "lock", at=at, who="it", timeout=2.5)
        with pytest.raises(ImportFailed) as failed, waiting:
            pytest.fail("it is held")
    assert (failed.value.code, failed.value.retry) == (LOCK_BUSY, True)
    assert failed.value.message == f"lock is held by {who}"
    assert 2.5 <= sum(clock.slept) < 2.6
    assert open_descriptors() == before
    assert (tmp_path / "lock").read_bytes() == note


def test_without_patience_it_is_tried_once(at: int, tmp_path: Path) -> None:
    clock = Clock()
    with (
        somebody_else(tmp_path / "lock"),
        pytest.raises(ImportFailed, match="lockBusy"),
        held(clock.world(), "lock", at=at, who="it", timeout=0),
    ):
        pytest.fail("it is held")
    assert clock.slept == []


def test_somebody_who_stops_to_wait_leaves_nothing_open(at: int, tmp_path: Path) -> None:
    clock = Clock()

    def interrupt() -> None:
        raise KeyboardInterrupt

    clock.on_sleep = interrupt
    before = open_descriptors()
    with (
        somebody_else(tmp_path / "lock"),
        pytest.raises(KeyboardInterrupt),
        held(clock.world(), "lock", at=at, who="it", timeout=9),
    ):
        pytest.fail("it is held")
    assert open_descriptors() == before


def test_it_is_free_once_its_holder_is_dead(at: int, tmp_path: Path) -> None:
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            with held(World(), "lock", at=at, who="the dead", timeout=0):
                os.write(tell, b"held")
                signal.pause()
        finally:
            os._exit(1)
    try:
        assert select.select([told], [], [], 30)[0]
        assert is_held(tmp_path / "lock")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(told)
        os.close(tell)
    with held(World(), "lock", at=at, who="it", timeout=0):
        assert f"process {os.getpid()} for it" in (tmp_path / "lock").read_text()


# --- a name that leads elsewhere once it was waited for -------------------------------------------


@pytest.mark.parametrize("there", [True, False], ids=["replaced", "removed"])
def test_a_file_that_lost_its_name_while_it_was_waited_for_is_no_lock(
    there: bool, at: int, tmp_path: Path
) -> None:
    clock = Clock()
    path = tmp_path / "lock"
    before = open_descriptors()
    with somebody_else(path) as other:

        def swap_and_let_go() -> None:
            path.unlink()
            if there:
                path.touch()
            fcntl.flock(other, fcntl.LOCK_UN)

        clock.on_sleep = swap_and_let_go
        with held(clock.world(), "lock", at=at, who="it", timeout=9) as descriptor:
            assert os.fstat(descriptor).st_ino == path.stat().st_ino
            assert os.fstat(descriptor).st_ino != os.fstat(other).st_ino
            assert is_held(path)
    assert len(clock.slept) == 1
    assert open_descriptors() == before


def test_what_takes_the_name_meanwhile_is_looked_at_as_well(at: int, tmp_path: Path) -> None:
    clock = Clock()
    path = tmp_path / "lock"
    (tmp_path / "precious").write_bytes(b"precious")
    before = open_descriptors()
    with somebody_else(path) as other:

        def plant_and_let_go() -> None:
            path.unlink()
            path.symlink_to("precious")
            fcntl.flock(other, fcntl.LOCK_UN)

        clock.on_sleep = plant_and_let_go
        waiting = held(clock.world(), "lock", at=at, who="it", timeout=9)
        with pytest.raises(ImportRefused, match="lockUnsafe"), waiting:
            pytest.fail("it is held")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert open_descriptors() == before


# --- what is no plain file -----------------------------------------------------------------------


def _linked(path: Path) -> None:
    path.with_name("precious").write_bytes(b"precious")
    path.symlink_to("precious")


def _second_name(path: Path) -> None:
    path.with_name("precious").write_bytes(b"precious")
    path.hardlink_to(path.with_name("precious"))


UNSAFE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a file": (_linked, "no plain file"),
    "a link to nothing": (lambda path: path.symlink_to("none"), "no plain file"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "no plain file"),
    "a folder": (lambda path: path.mkdir(), "no plain file"),
    "a FIFO": (os.mkfifo, "a FIFO"),
    "a file with another name": (_second_name, "a file with 2 names"),
}


@pytest.mark.parametrize(("put", "kind"), UNSAFE.values(), ids=UNSAFE)
def test_what_is_no_plain_file_is_refused_and_left_as_it_is(
    put: Callable[[Path], object], kind: str, at: int, tmp_path: Path
) -> None:
    put(tmp_path / "lock")
    before = sorted((path.name, path.lstat()) for path in tmp_path.iterdir())
    descriptors = open_descriptors()
    with (
        pytest.raises(ImportRefused) as refused,
        held(World(), "lock", at=at, who="it", timeout=0, mode=0o666),
    ):
        pytest.fail("it is held")
    assert refused.value.code is LOCK_UNSAFE
    assert refused.value.message == f"lock is {kind}"
    assert open_descriptors() == descriptors
    after = sorted((path.name, path.lstat()) for path in tmp_path.iterdir())
    assert _without_access(after) == _without_access(before)


def _without_access(found: list[tuple[str, os.stat_result]]) -> list[tuple[str, int, int, int]]:
    return [(name, status.st_ino, status.st_mode, status.st_mtime_ns) for name, status in found]


def test_a_device_is_refused() -> None:
    with (
        Files().folder("/dev") as devices,
        pytest.raises(ImportRefused, match="null is a device"),
        held(World(), "null", at=devices, who="it", timeout=0),
    ):
        pytest.fail("it is held")


def test_what_may_not_be_opened_is_a_file_operation_that_fails(at: int) -> None:
    world = World(Telling(["create lock"], number=errno.EACCES))
    with pytest.raises(PermissionError), held(world, "lock", at=at, who="it", timeout=0):
        pytest.fail("it is held")


# --- that of an engine ---------------------------------------------------------------------------


def raising(error: Exception) -> AbstractContextManager[None]:
    raise error


BUSY = {
    "it gave up": (
        TimeoutError("the engine is busy"),
        "the lock that was given: the engine is busy",
    ),
    "it did not wait": (BlockingIOError(11, "busy"), "the lock that was given: [Errno 11] busy"),
    "whatever it likes": (RuntimeError("no\x1b[2J"), r'the lock that was given: "no\033[2J"'),
    "no text": (KeyError(), "the lock that was given: "),
    "what is no text": (ValueError("a\udcff"), r'the lock that was given: "a\\udcff"'),
}


@pytest.mark.parametrize(("error", "message"), BUSY.values(), ids=BUSY)
def test_it_is_busy_where_an_engine_raises(error: Exception, message: str) -> None:
    with pytest.raises(ImportFailed) as failed, taken(lambda: raising(error)):
        pytest.fail("it is held")
    assert (failed.value.code, failed.value.retry) == (LOCK_BUSY, True)
    assert failed.value.message == message
    assert failed.value.__cause__ is error


OTHERS: list[Exception] = [
    ImportRefused(LOCK_UNSAFE, "a link"),
    ImportFailed(LOCK_BUSY, "held by somebody"),
    OSError(errno.ENOSPC, "no room"),
    MisuseError("closed"),
]


@pytest.mark.parametrize("error", OTHERS, ids=repr)
def test_what_is_no_matter_of_an_engine_is_raised_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, taken(lambda: raising(error)):
        pytest.fail("it is held")
    assert raised.value is error


def _ending(error: Exception) -> AbstractContextManager[None]:
    @contextmanager
    def lock() -> Iterator[None]:
        try:
            yield
        finally:
            raise error

    return lock()


@pytest.mark.parametrize(("error", "message"), BUSY.values(), ids=BUSY)
def test_it_is_told_where_an_engine_raises_at_the_end(error: Exception, message: str) -> None:
    with pytest.raises(ImportFailed) as failed, taken(lambda: _ending(error)):
        pass
    assert (failed.value.code, failed.value.message) == (LOCK_BUSY, message)


def test_what_is_raised_under_it_goes_before_what_the_lock_raises() -> None:
    with pytest.raises(KeyError, match="mine"), taken(lambda: _ending(RuntimeError("its own"))):
        raise KeyError("mine")


def test_a_lock_that_swallows_errors_swallows_none_of_ours() -> None:
    with pytest.raises(KeyError), taken(lambda: suppress(KeyError)):
        raise KeyError


def test_what_is_raised_under_it_is_no_matter_of_the_lock() -> None:
    given: list[str] = []

    @contextmanager
    def lock() -> Iterator[None]:
        try:
            yield
        finally:
            given.append("back")

    with pytest.raises(RuntimeError, match="it went wrong"), taken(lock):
        raise RuntimeError("it went wrong")
    assert given == ["back"]
