"""Every file operation of the importer, relative to open directories, following no link.

``Files`` is the one door to the file system. What changes it goes through ``_act``, so that a test
can fail, shorten or kill at any of these operations and at no other place.

A file is published by writing all of it under a temporary name, fsync, giving it its own name, and
fsync of the directory: a reader sees the whole file or none, also after the power failed.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from packparse.errors import MisuseError
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "TEMPORARY", "Files", "Identity", "UnsafeFileError", "check_path", "check_plain", "identity",
    "pieces", "read_up_to",
]  # fmt: skip

# Names of files that are not whole yet; git calls its own so as well, and sweeps them.
TEMPORARY = "tmp_"

_PRIVATE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY
_READ = os.O_RDONLY | _PRIVATE
_DIRECTORY = _READ | os.O_DIRECTORY
# Opens what its owner may not even read.
_HANDLE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | _PRIVATE
_CHUNK = 1 << 20
_MODE = 0o600
# To open a file that somebody replaces again and again.
_TRIES = 5
# Of folders in each other: a work room, a bench in it, refs in that.
_DEPTH = 8

T = TypeVar("T")


class UnsafeFileError(Exception):
    """What stands under a name is not such a file as we make; ``args[0]`` says what it is."""


class Identity(NamedTuple):
    """What the system calls a file or directory, whatever its path."""

    device: int
    inode: int


def identity(status: os.stat_result) -> Identity:
    """The identity in the answer of a stat."""
    return Identity(status.st_dev, status.st_ino)


class Files:
    """File operations. All raise OSError; ``at`` is an open directory, names have no slash."""

    def _act(self, operation: str, function: Callable[..., T], *arguments: object) -> T:
        """Do what changes the file system; ``operation`` is its name."""
        del operation
        return function(*arguments)

    # Reading

    def open_folder(self, name: str, *, at: int | None = None) -> int:
        """A descriptor of a directory that is no link."""
        return os.open(name, _DIRECTORY, dir_fd=at)

    @contextmanager
    def folder(self, name: str, *, at: int | None = None) -> Iterator[int]:
        """A directory that is no link, open inside of the block."""
        descriptor = self.open_folder(name, at=at)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def open_file(self, name: str, *, at: int, linked: bool = False) -> int:
        """A descriptor for reading a regular file, which may have other names if ``linked``.

        Raises UnsafeFileError for a link, a FIFO, a device, a folder, or a file with other names.
        """
        tries = _TRIES
        while True:
            descriptor = self._open(name, at)
            tries -= 1
            try:
                status = os.fstat(descriptor)
                # Replaced since it was opened: what has the name now is what was asked for.
                if status.st_nlink or not tries:
                    check_plain(status, linked=linked)
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _open(self, name: str, at: int) -> int:
        try:
            # O_NONBLOCK: opening a FIFO must not wait for a writer.
            return os.open(name, _READ | os.O_NONBLOCK, dir_fd=at)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENXIO, errno.ENODEV}:
                raise UnsafeFileError(self._kind(name, at)) from None
            raise

    def read(self, name: str, *, at: int, most: int, linked: bool = False) -> bytes | None:
        """The content of a regular file, as ``open_file`` opens it; None where there is none.

        Raises UnsafeFileError, also where there are more than ``most`` bytes.
        """
        try:
            descriptor = self.open_file(name, at=at, linked=linked)
        except FileNotFoundError:
            return None
        try:
            content = read_up_to(descriptor, most + 1)
        finally:
            os.close(descriptor)
        if len(content) > most:
            message = f"a file of more than {most} bytes"
            raise UnsafeFileError(message)
        return content

    def status(self, name: str, *, at: int) -> os.stat_result | None:
        """What stands under a name, links not followed; None where nothing does."""
        try:
            return os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def link_target(self, name: str, *, at: int) -> str | None:
        """The target of a symbolic link; None where there is none."""
        try:
            return os.readlink(name, dir_fd=at)
        except OSError as error:
            # EINVAL: something else has the name.
            if error.errno in {errno.ENOENT, errno.EINVAL}:
                return None
            raise

    def is_folder(self, name: str, *, at: int) -> bool:
        """Whether a directory stands under a name, links not followed."""
        status = self.status(name, at=at)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def names(self, at: int) -> list[str]:
        """The names in a directory, sorted."""
        return sorted(os.listdir(at))

    def _kind(self, name: str, at: int) -> str:
        status = self.status(name, at=at)
        return "nothing" if status is None else kind_of(status.st_mode)

    # Changing

    def create(self, name: str, *, at: int, mode: int = _MODE) -> int:
        """A descriptor for writing a file that did not exist."""
        return self._act("create", lambda: os.open(name, _NEW, mode, dir_fd=at))

    def open_shared(self, name: str, *, at: int, mode: int) -> int:
        """A descriptor of a file that several processes share; it is made where there is none."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | _PRIVATE
        return self._act("create", lambda: os.open(name, flags, mode, dir_fd=at))

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        """Write all of ``data`` where the descriptor stands."""
        view = memoryview(data)
        while view:
            view = view[self._act("write", os.write, descriptor, view) :]

    def write_new(
        self, name: str, data: bytes, *, at: int, mode: int = _MODE, durable: bool = True
    ) -> None:
        """Write a file that did not exist. The name of a durable one is not durable yet."""
        descriptor = self.create(name, at=at, mode=mode)
        try:
            self.write(descriptor, data)
            # The umask has no say in who may read it.
            self.allow(descriptor, mode)
            if durable:
                self.sync(descriptor)
        finally:
            os.close(descriptor)

    def cut(self, descriptor: int, length: int) -> None:
        """Drop what lies behind ``length`` bytes."""
        self._act("truncate", os.ftruncate, descriptor, length)

    def allow(self, descriptor: int, mode: int) -> None:
        """Set the permissions of an open file."""
        self._act("chmod", os.fchmod, descriptor, mode)

    def sync(self, descriptor: int) -> None:
        """Make an open file, or the names in an open directory, durable."""
        self._act("fsync", os.fsync, descriptor)

    def sync_all(self, descriptor: int) -> None:
        """Make all of the file system durable that an open directory lies on (syncfs(2)).

        For very many files at once, each of which would be waited for.
        """
        self._act("fsync", _syncfs, descriptor)

    def make_folder(self, name: str, *, at: int | None = None, mode: int = 0o700) -> None:
        """Make a directory."""
        self._act("mkdir", lambda: os.mkdir(name, mode, dir_fd=at))

    def link(self, name: str, new: str, *, at: int, to: int) -> None:
        """Give a file one more name, which must be free."""
        self._act(
            "link",
            lambda: os.link(name, new, src_dir_fd=at, dst_dir_fd=to, follow_symlinks=False),
        )

    def make_link(self, name: bytes, target: bytes, *, at: int) -> None:
        """Make a symbolic link, whose target is any text."""
        self._act("symlink", lambda: os.symlink(target, name, dir_fd=at))

    def rename(self, name: str, new: str, *, at: int) -> None:
        """Give a file or directory another name; a file that has it is replaced."""
        self._act("rename", lambda: os.rename(name, new, src_dir_fd=at, dst_dir_fd=at))

    def remove(self, name: str, *, at: int) -> bool:
        """Remove a name of a file; whether there was one."""
        try:
            self._act("unlink", lambda: os.unlink(name, dir_fd=at))
        except FileNotFoundError:
            return False
        return True

    def remove_folder(self, name: str, *, at: int, depth: int = _DEPTH) -> bool:
        """Remove a directory and all that is in it, following no link; whether there was one.

        Raises UnsafeFileError for folders nested deeper than any that we or git make.
        """
        if not depth:
            message = "a folder nested deeper than any of ours"
            raise UnsafeFileError(message)
        try:
            inside = self.open_folder(name, at=at)
        except FileNotFoundError:
            return False
        try:
            for entry in self.names(inside):
                status = self.status(entry, at=inside)
                if status is not None and stat.S_ISDIR(status.st_mode):
                    self.remove_folder(entry, at=inside, depth=depth - 1)
                else:
                    self.remove(entry, at=inside)
        finally:
            os.close(inside)
        try:
            self._act("rmdir", lambda: os.rmdir(name, dir_fd=at))
        except FileNotFoundError:
            return False
        return True

    def open_own(self, name: str, *, at: int) -> int:
        """A descriptor of a directory, with which its owner may do anything from then on."""
        handle = os.open(name, _HANDLE, dir_fd=at)
        try:
            if os.fstat(handle).st_mode & stat.S_IRWXU != stat.S_IRWXU:
                self._act("chmod", lambda: os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU))
            return self.open_folder(".", at=handle)
        finally:
            os.close(handle)

    def move(self, name: str, new: str, *, at: int, to: int) -> None:
        """Give a directory another name in another directory."""
        self._act("rename", lambda: os.rename(name, new, src_dir_fd=at, dst_dir_fd=to))

    def remove_empty(self, name: str, *, at: int | None = None) -> bool:
        """Remove a directory if nothing is in it; whether it is gone."""
        try:
            self._act("rmdir", lambda: os.rmdir(name, dir_fd=at))
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            return False
        return True

    def sweep(self, name: str, *, at: int, folder: bool) -> bool:
        """Remove a leftover, which is a folder or is none; whether it was there and is gone.

        What is of the other kind, or deeper than any of ours, is somebody else's and stays, and so
        does what cannot be removed: it stands in nobody's way.
        """
        try:
            if self.is_folder(name, at=at) != folder:
                return False
            return self.remove_folder(name, at=at) if folder else self.remove(name, at=at)
        except (OSError, UnsafeFileError):
            return False

    # Publishing

    def write_once(self, name: str, data: bytes, *, at: int, mode: int = _MODE) -> None:
        """Publish a file under a name that is free. Raises FileExistsError where it is not.

        The caller holds the lock that belongs to the folder.
        """
        if self.status(name, at=at) is not None:
            raise FileExistsError(errno.EEXIST, "there is one already", name)
        # A link and a removal would leave a file with two names to a crash between them.
        self.replace(name, data, at=at, mode=mode)

    def replace(self, name: str, data: bytes, *, at: int, mode: int = _MODE) -> None:
        """Publish a file in the place of one that has the name, if there is one."""
        self.swap(name, data, at=at, mode=mode)
        self.sync(at)

    def swap(self, name: str, data: bytes, *, at: int, mode: int) -> None:
        """Like :meth:`replace`; making the name durable is left to the caller."""
        temporary = TEMPORARY + name
        # Whoever publishes under a name holds a lock, so a file that is there is a leftover.
        self.remove(temporary, at=at)
        self.write_new(temporary, data, at=at, mode=mode)
        self.rename(temporary, name, at=at)


def _syncfs(descriptor: int) -> None:
    import ctypes  # noqa: PLC0415 - a launch alone needs it

    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def check_path(path: str) -> None:
    """Raise MisuseError for what can be no path on this system."""
    try:
        named = os.fsencode(path)
    except UnicodeEncodeError:
        named = b"\0"
    if not named or b"\0" in named:
        message = f"there is no such path as {shorten(path.encode('utf-8', 'backslashreplace'))!r}"
        raise MisuseError(message)


def pieces(descriptor: int, most: int | None = None) -> Iterator[bytes]:
    """What an open file holds, from its beginning, ``most`` bytes of it where that is given."""
    at = 0
    while piece := os.pread(descriptor, _CHUNK if most is None else min(most - at, _CHUNK), at):
        at += len(piece)
        yield piece


def read_up_to(descriptor: int, most: int) -> bytes:
    """What an open file holds, from its beginning, ``most`` bytes of it."""
    return b"".join(pieces(descriptor, most))


def check_plain(status: os.stat_result, *, linked: bool = False) -> None:
    """Raise UnsafeFileError for anything but a regular file, and for one with other names.

    Those are no matter if ``linked``.
    """
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeFileError(kind_of(status.st_mode))
    if status.st_nlink != 1 and not linked:
        message = f"a file with {status.st_nlink} names"
        raise UnsafeFileError(message)


def kind_of(mode: int) -> str:
    """What a mode says that something is, for messages."""
    kinds = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFDIR: "a directory",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFREG: "a regular file",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")
