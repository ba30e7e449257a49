"""A folder of loose objects: the room that lists it and opens its files, by descriptor.

The layout is that of ``.git/objects`` without packs. Everything is opened by one name in an open
folder, and no link is followed: a folder that somebody else filled may be made to lead anywhere
(CVE-2022-39253, alternates). Whatever is no plain object is reported and not read, leftovers of git
(tmp_obj_*) included. A hard link is reported as well, since the file can be written by its other
name; its content is verified all the same.

What was seen of each file and folder as it was listed must hold when it is opened, and at the end.
"""

from __future__ import annotations

import errno
import os
import stat
from array import array
from binascii import unhexlify
from bisect import bisect_left

from packparse import codes, late
from packparse.errors import PackError, unreadable
from packparse.escape import shorten
from packparse.loose import LooseVerifier, file_path
from packparse.objectformat import SHA1, SHA256
from packparse.options import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    from packparse.progress import Progress
    from packparse.report import Report

    # Size, inode, time of the last change.
    Stamp = tuple[int, int, int]

__all__ = ["verify_folder"]

_CHUNK = 256 << 10
# Folders of objects, and the two that git makes in each new folder. Only as they were made, empty,
# is there nothing in these to verify: packs, or the names of other folders (alternates).
_FOLDER = late.pattern(rb"[0-9a-f]{2}|info|pack")
# git takes capitals in such a name for an object that it then cannot find.
_OBJECT = late.pattern(rb"[0-9a-f]{2}/(?:[0-9a-f]{38}|[0-9a-f]{62})")
_FOLDER_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
# What opening a file or folder may end in when it is none any more.
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
_MASK = (1 << 64) - 1
# What a folder has that is the one above, or the repository's.
_HINT = "; of a repository give the folder .git/objects"
_EMPTY = (b"info", b"pack")
_PACKS_HINT = "; verify each pack by itself, and loose objects without packs"
_HINTS = dict.fromkeys((b".git", b"objects", b"HEAD"), _HINT)


def verify_folder(
    path: str, options: Options | None = None, progress: Progress | None = None
) -> Report:
    """Verify the loose objects in the folder at ``path``.

    What cannot be read is a finding of class 6, and so is a path whose last part is a symbolic
    link. ``progress`` is told how far the work is.
    """
    folder = _Folder()
    verifier = LooseVerifier(options or Options(), folder.read, name=path)
    verifier.on_progress = progress
    try:
        folder.open(path)
        try:
            folder.survey(verifier)
            for oid in folder.ids():
                verifier.take(oid)
            report = verifier.finish()
            if not report.findings.count(codes.INPUT_CHANGED):
                folder.compare()
        finally:
            folder.close()
    except OSError as error:
        verifier.refuse(unreadable("the folder", error))
    except PackError as error:
        verifier.refuse(error)
    else:
        return report
    # What was found before stays in the report.
    return verifier.finish()


class _Names:
    """The objects of one format in a folder: ids packed, in rising order, and a stamp of each."""

    def __init__(self, width: int) -> None:
        self.bytes = 0
        self._width = width
        self._ids = bytearray()
        self._stamps = array("Q")
        self._next = 0

    def __len__(self) -> int:
        return len(self._ids) // self._width

    def __iter__(self) -> Iterator[bytes]:
        return map(self._oid, range(len(self)))

    def _oid(self, number: int) -> bytes:
        return bytes(self._ids[number * self._width : (number + 1) * self._width])

    def add(self, oid: bytes, stamp: Stamp) -> None:
        self.bytes += stamp[0]
        self._ids += oid
        self._stamps.extend(stamp)

    def stamp(self, oid: bytes) -> Stamp:
        """What the file of an object was when the folder was listed."""
        # Mostly they are asked for in their order.
        number = self._next
        if self._oid(number) != oid:
            number = bisect_left(range(len(self)), oid, key=self._oid)
        self._next = number + 1
        size, inode, time = self._stamps[number * 3 : number * 3 + 3]
        return size, inode, time


class _Folder:
    """One folder: what is in it, and its files by id.

    Raises OSError where the folder cannot be read, PackError (cannotRead) where one file cannot
    be, and PackError (inputChanged).
    """

    def __init__(self) -> None:
        self._root = -1
        # The last folder that a file was opened in.
        self._fan = (b"", -1)
        self._folders: dict[bytes, Stamp] = {}
        self._names = {fmt: _Names(fmt.width) for fmt in (SHA1, SHA256)}
        self._chosen = self._names[SHA1]

    def open(self, path: str) -> None:
        try:
            self._root = os.open(path, _FOLDER_FLAGS)
        except ValueError as error:
            # A name with a NUL.
            raise OSError(str(error)) from None
        except OSError:
            if not os.path.islink(path):
                raise
            message = "it is a symbolic link, which is not followed"
            raise OSError(message) from None

    def close(self) -> None:
        self._close_fan()
        os.close(self._root)

    def ids(self) -> Iterator[bytes]:
        """The raw ids of all objects, in rising order."""
        return iter(self._chosen)

    # Listing

    def survey(self, verifier: LooseVerifier) -> None:
        """Look at everything in the folder, and tell the verifier what is there."""
        self._folders[b""] = _stamp(os.fstat(self._root))
        folders = []
        for name in _list(self._root, verifier.count, _FOLDER):
            status = self._status(self._root, name, name)
            if not _FOLDER.fullmatch(name):
                verifier.unexpected(name, _describe(status) + _HINTS.get(name, ""))
            elif not stat.S_ISDIR(status.st_mode):
                verifier.unexpected(name, f"{_describe(status)} where a folder belongs")
            else:
                folders.append(name)
        for name in folders:
            self._survey_folder(name, verifier)
        chosen = verifier.choose({fmt: len(names) for fmt, names in self._names.items()})
        for fmt, names in self._names.items():
            if fmt is not chosen:
                for oid in names:
                    verifier.unexpected(
                        file_path(oid).encode(), f"a {fmt.name} name among those of {chosen.name}"
                    )
        self._chosen = self._names[chosen]
        verifier.begin(self._chosen.bytes)

    def _survey_folder(self, folder: bytes, verifier: LooseVerifier) -> None:
        descriptor = self._open(folder, _FOLDER_FLAGS, self._root, folder)
        try:
            self._folders[folder] = _stamp(os.fstat(descriptor))
            for name in _list(descriptor, verifier.count):
                path = folder + b"/" + name
                status = self._status(descriptor, name, path)
                if not _OBJECT.fullmatch(path) or not stat.S_ISREG(status.st_mode):
                    hint = _PACKS_HINT if folder in _EMPTY else ""
                    verifier.unexpected(path, _describe(status) + hint)
                    continue
                if status.st_nlink != 1:
                    verifier.unexpected(path, f"a file of {status.st_nlink} names (hard links)")
                oid = unhexlify(folder + name)
                names = self._names[SHA1 if len(oid) == SHA1.width else SHA256]
                names.add(oid, _stamp(status))
        finally:
            os.close(descriptor)

    def _status(self, folder: int, name: bytes, path: bytes) -> os.stat_result:
        try:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise _refusal(path, error) from None

    # Reading

    def read(self, oid: bytes, feed: Callable[[bytes], None]) -> None:
        """Give the bytes of an object's file to ``feed``."""
        path = file_path(oid).encode()
        stamp = self._chosen.stamp(oid)
        folder, name = self._fan_out(path)
        descriptor = self._open(name, _FILE_FLAGS, folder, path)
        try:
            if _stamp(os.fstat(descriptor)) != stamp:
                raise _changed(path)
            left = stamp[0]
            while chunk := _read(descriptor, min(_CHUNK, left + 1), path):
                left -= len(chunk)
                if left < 0:
                    raise _changed(path)
                feed(chunk)
            if left:
                raise _changed(path)
        finally:
            os.close(descriptor)

    def _fan_out(self, path: bytes) -> tuple[int, bytes]:
        """The open folder of a file, and the file's name in it."""
        folder, _, name = path.partition(b"/")
        if self._fan[0] != folder:
            self._close_fan()
            self._fan = folder, self._open(folder, _FOLDER_FLAGS, self._root, path)
        return self._fan[1], name

    def _open(self, name: bytes, flags: int, folder: int, path: bytes) -> int:
        """Open what was seen to be there."""
        try:
            return os.open(name, flags, dir_fd=folder)
        except OSError as error:
            raise _refusal(path, error) from None

    def _close_fan(self) -> None:
        if self._fan[1] >= 0:
            os.close(self._fan[1])
            self._fan = b"", -1

    # The end

    def compare(self) -> None:
        """Refuse a folder in which anything is not as it was when it was listed."""
        for folder, stamp in self._folders.items():
            status = self._status(self._root, folder, folder) if folder else os.fstat(self._root)
            if _stamp(status) != stamp:
                raise _changed(folder)
        for oid in self._chosen:
            path = file_path(oid).encode()
            if _stamp(self._status(*self._fan_out(path), path)) != self._chosen.stamp(oid):
                raise _changed(path)


def _list(
    descriptor: int, count: Callable[[], None], apart: re.Pattern[bytes] | None = None
) -> list[bytes]:
    """All names in an open folder, sorted; each is counted, but for those that match ``apart``."""
    names = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            name = os.fsencode(entry.name)
            if apart is None or not apart.fullmatch(name):
                # Before it is kept: this may refuse.
                count()
            names.append(name)
    return sorted(names)


def _read(descriptor: int, length: int, path: bytes) -> bytes:
    try:
        return os.read(descriptor, length)
    except OSError as error:
        raise _refusal(path, error) from None


def _stamp(status: os.stat_result) -> Stamp:
    """Size, inode and the time of the last change, which nobody can set."""
    return status.st_size, status.st_ino & _MASK, status.st_ctime_ns & _MASK


def _describe(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a special file")


_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


def _changed(path: bytes) -> PackError:
    what = shorten(path) if path else "the folder"
    message = f"{what} is not what it was when the folder was listed"
    return PackError(codes.INPUT_CHANGED, message)


def _refusal(path: bytes, error: OSError) -> PackError:
    """The refusal where something that was listed cannot be had."""
    return _changed(path) if error.errno in _GONE else unreadable(shorten(path), error)
