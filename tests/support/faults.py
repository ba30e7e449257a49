"""Let file operations fail, fall short or end the process: at the n-th one, for every n.

All that changes the file system goes through one method of ``Files``, which :class:`Faulty`
counts and strikes. A process that is to be killed is a copy of this one (:func:`forked`), so it
needs no start-up and has what the test has; :class:`Saved` brings folders back to what they were.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
import traceback
import warnings
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from errno import EACCES, ENOSPC, EROFS
from pathlib import Path
from typing import TypeVar

from importer.durable import Files

T = TypeVar("T")

WRITES = frozenset({"write"})
# What takes up room on a disk. Truncating and removing give some back.
TAKES_ROOM = frozenset({"create", "write", "fsync", "mkdir", "link", "rename"})
# The status of a copy that ended by an exception.
RAISED = 70


@dataclass(frozen=True)
class Fault:
    """What an operation meets: an error, or the end of the process where ``errno`` is 0.

    It strikes the operations that ``only`` names, and no others are counted; None means all.
    ``short``: half of what is to be written is written first. ``lasting``: every later operation
    fails as well, until it is mended.
    """

    errno: int = 0
    only: frozenset[str] | None = None
    short: bool = False
    lasting: bool = False

    def strikes(self, operation: str) -> bool:
        return self.only is None or operation in self.only


KILLED = Fault()
KILLED_IN_A_WRITE = Fault(only=WRITES, short=True)
ERRORS = {
    "the disk is full from there on": Fault(ENOSPC, TAKES_ROOM, lasting=True),
    "the disk is full after half of a write": Fault(ENOSPC, WRITES, short=True),
    "permission is denied once": Fault(EACCES),
    "nothing can be changed from there on": Fault(EROFS, lasting=True),
}


class Faulty(Files):
    """Files whose n-th operation meets a fault. Without one they are counted.

    ``seen`` are the names of the operations that count, ``struck`` says whether the fault did, and
    ``target`` is the name of the open file that it struck, if it was one.
    """

    def __init__(self, fault: Fault = KILLED, at: int = 0) -> None:
        self.arm(fault, at)

    def arm(self, fault: Fault, at: int) -> None:
        """Begin to count again, and strike at operation ``at``."""
        self._fault = fault
        self._at = at
        self.seen: list[str] = []
        self.target = ""

    def mend(self) -> None:
        self.arm(KILLED, 0)

    @property
    def struck(self) -> bool:
        return 0 < self._at <= len(self.seen)

    def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
        if self._fault.strikes(operation):
            self.seen.append(operation)
            if len(self.seen) == self._at:
                self._strike(*arguments)
            if self._fault.lasting and self.struck:
                raise _error(self._fault.errno)
        return function(*arguments)

    def _strike(self, *arguments: object) -> None:
        if arguments:
            self.target = Path(f"/proc/self/fd/{arguments[0]}").readlink().name
        if self._fault.short:
            descriptor, data = arguments
            assert isinstance(descriptor, int)
            assert isinstance(data, memoryview)
            os.write(descriptor, data[: len(data) // 2])
        if not self._fault.errno:
            die()
        raise _error(self._fault.errno)


class Halving(Files):
    """Files of a system that writes half of what it is asked to."""

    def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
        if operation == "write":
            descriptor, data = arguments
            assert isinstance(data, memoryview)
            arguments = (descriptor, data[: (len(data) + 1) // 2])
        return function(*arguments)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def die() -> None:
    """End this process with no warning."""
    os.kill(os.getpid(), signal.SIGKILL)


def started(task: Callable[..., object], *arguments: object) -> int:
    """Start a copy of this process that does a task and nothing else; its id."""
    with warnings.catch_warnings():
        # Newer versions warn of threads: those of pytest are not needed in the copy.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    status = RAISED
    try:
        task(*arguments)
        status = 0
    except BaseException:  # noqa: BLE001 - nothing of the test may run in the copy
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    """The exit status of a copy that was started, once it has ended; negative: a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def forked(task: Callable[..., object], *arguments: object) -> int:
    """Let a copy of this process do a task; its exit status, negative for a signal."""
    return ended(started(task, *arguments))


# Folders


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """All that is in a folder: paths, with their modes and contents."""
    return dict(_entries(folder))


def _entries(folder: Path) -> Iterator[tuple[str, tuple[int, bytes]]]:
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
        if stat.S_ISLNK(mode):
            content = os.fsencode(path.readlink())
        yield str(path.relative_to(folder)), (mode, content)


class Saved:
    """What folders held; they keep their identity when it is brought back."""

    def __init__(self, *folders: Path) -> None:
        self._trees = {folder: tree(folder) for folder in folders}

    def changed(self, folder: Path) -> set[str]:
        """The paths in a folder that are new, gone, or not what they were."""
        before, now = self._trees[folder], tree(folder)
        return {name for name in before | now if before.get(name) != now.get(name)}

    def restore(self, leave: Container[Path] = ()) -> None:
        """Bring them back, but not the folders to be left as they are."""
        for folder, before in self._trees.items():
            for name in sorted(self.changed(folder)):
                path = folder / name
                if path not in leave and not any(parent in leave for parent in path.parents):
                    _remove(path)
            for name in sorted(before):
                _put(folder / name, *before[name])


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _put(path: Path, mode: int, content: bytes) -> None:
    if os.path.lexists(path):
        return
    if stat.S_ISDIR(mode):
        path.mkdir()
    elif stat.S_ISLNK(mode):
        path.symlink_to(os.fsdecode(content))
        return
    else:
        path.write_bytes(content)
    path.chmod(stat.S_IMODE(mode))
