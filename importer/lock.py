"""Locks: ``flock`` on a file of our own, which the kernel releases when its holder dies.

L1 is the lock around every change of the shared store (contracts A28 to A30). It lies in the
repository's common folder under a name of its own, since the folder itself may be what an engine
locks (design, section 8), and is never deleted: two processes would hold two locks. What stands
under its name is looked at before it is trusted, and not touched if it is anything but a plain
file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from importer.durable import UnsafeFileError, check_plain, identity
from importer.errors import LOCK_BUSY, LOCK_UNSAFE, ImporterError, ImportFailed, ImportRefused
from importer.world import time_text
from packparse.errors import MisuseError
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from importer.world import World

    # What waits for a lock, and holds it inside of a `with` block: ours, or that of an engine.
    Lock = Callable[[], AbstractContextManager[object]]

__all__ = ["L1", "PATIENCE", "Lock", "held", "taken"]

# What our own lock raises, and what that of an engine does where it gives up.
_OURS = (ImporterError, MisuseError, OSError)
_BUSY = (TimeoutError, BlockingIOError)

# The name of L1 in a repository's common folder.
L1 = "git-candidate.lock"
# Seconds to wait for another import of the launch, and for L1, where nobody says otherwise.
PATIENCE = 60.0
_LONGEST_NOTE = 200
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


@contextmanager
def held(
    world: World, name: str, *, at: int, who: str, timeout: float, mode: int = 0o600
) -> Iterator[int]:
    """Hold the lock ``name`` of the open folder ``at`` inside of the block.

    Gives the descriptor that holds it. ``who`` is left in the file for those who wait. Raises
    ImportRefused (lockUnsafe), ImportFailed (lockBusy) after ``timeout`` seconds.
    """
    deadline = world.tick() + timeout
    descriptor = _locked(world, name, at, mode, deadline)
    try:
        note = f"process {os.getpid()} for {who} since {time_text(world.seconds())}\n".encode()
        # It is for people: a full disk must not keep recovery from what makes room.
        with suppress(OSError):
            world.files.cut(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            world.files.write(descriptor, note[:_LONGEST_NOTE])
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def taken(lock: Lock) -> Iterator[None]:
    """Hold ours or that of an engine, which raises what it likes where it cannot be had.

    Raises ImportFailed: lockBusy.
    """
    held_by = ExitStack()
    with _translated():
        held_by.enter_context(lock())
    try:
        yield
    except BaseException:
        # Whatever the lock makes of it, this is what is told.
        with suppress(Exception):
            held_by.__exit__(*sys.exc_info())
        raise
    with _translated():
        held_by.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(error, _OURS) and not isinstance(error, _BUSY):
            raise
        reason = shorten(str(error).encode("utf-8", "backslashreplace"))
        raise ImportFailed(LOCK_BUSY, f"the lock that was given: {reason}") from error


def _locked(world: World, name: str, at: int, mode: int, deadline: float) -> int:
    """A descriptor of the file that has the name, and that nobody else has locked."""
    while True:
        descriptor = _open(world, name, at, mode)
        try:
            _wait(world, descriptor, name, deadline)
            status = world.files.status(name, at=at)
            if status is not None and identity(status) == identity(os.fstat(descriptor)):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # Somebody removed the file while we waited: what was locked has no name any more.
        os.close(descriptor)


def _open(world: World, name: str, at: int, mode: int) -> int:
    try:
        descriptor = world.files.open_shared(name, at=at, mode=mode)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV}:
            raise ImportRefused(LOCK_UNSAFE, f"{name} is no plain file") from None
        raise
    try:
        status = os.fstat(descriptor)
        if status.st_nlink:
            # Else it has lost its name since, and is opened again once it is locked.
            check_plain(status)
        if mode & ~status.st_mode and status.st_uid == os.geteuid():
            # The umask has no say in who may wait for it as well.
            world.files.allow(descriptor, mode)
    except UnsafeFileError as error:
        os.close(descriptor)
        raise ImportRefused(LOCK_UNSAFE, f"{name} is {error}") from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _wait(world: World, descriptor: int, name: str, deadline: float) -> None:
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if world.tick() >= deadline:
                holder = os.pread(descriptor, _LONGEST_NOTE, 0).strip()
                message = f"{name} is held by {shorten(holder) or 'somebody who left no note'}"
                raise ImportFailed(LOCK_BUSY, message) from None
            world.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return
