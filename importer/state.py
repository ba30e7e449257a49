"""The state folder: launches with their keys and receipts, and a room for work in progress.

It belongs to the controller alone (mode 0700) and lies outside of every repository, so that no
producer on the same host can read a key or forge a receipt. ::

    format                  what the layout is: a label with a version
    lock                    held while a new folder is labelled
    launches/ID/lock        held by whoever works on the launch, and by the git that it runs
    launches/ID/journal     the launch record, and what happened since (journal.py)
    launches/ID/receipt.json, refusal.json
    work/lock               held while a launch or a room is made, and while leftovers are swept
    work/NAME/lock          held by the process whose room it is
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from importer.durable import TEMPORARY, UnsafeFileError, check_path
from importer.errors import (
    LAUNCH_EXISTS,
    LAUNCH_UNKNOWN,
    STATE_CORRUPT,
    STATE_MISSING,
    STATE_UNSAFE,
    ImportFailed,
    ImportRefused,
    translated,
)
from importer.folders import Folders
from importer.frames import frame
from importer.lock import held
from importer.world import World
from manifest.atoms import is_launch_id
from manifest.launch import Launched, Preparing, encode_event
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from manifest.launch import Launch

__all__ = ["JOURNAL", "State", "Workroom", "repository_around"]

JOURNAL = "journal"
_FORMAT = b"packcheck.state/1\n"
_LOCK = "lock"
# What else stands among the rooms is not ours to sweep.
_ROOM = re.compile(r"[0-9a-f]{16}")
# Making or sweeping a room takes milliseconds.
_PATIENCE = 10.0


class State:
    """An open state folder. To be closed, or used in a ``with`` block.

    It is made where there is none, for the first launch; with ``make=False``, for whoever expects
    launches in it, ImportRefused (stateMissing) is raised instead. Raises ImportRefused
    (stateUnsafe) where it is not private, ImportFailed (fileFailed, lockBusy, stateCorrupt). Once
    it is closed, whatever is asked of it raises MisuseError. ``world`` is for tests. With
    ``apart=False`` it may lie in a repository: it goes again at once, and holds no launch.
    """

    def __init__(
        self, path: str, world: World | None = None, *, make: bool = True, apart: bool = True
    ) -> None:
        check_path(path)
        self.world = world or World()
        self.path = os.path.abspath(path)
        self._make = make
        self._apart = apart
        self._folders = Folders(self.world.files, f"the state {self._shown()}")
        try:
            with translated():
                self._open_folders()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; nothing can be done with it then."""
        self._folders.close()

    def _open_folders(self) -> None:
        files = self.world.files
        if self._apart:
            _check_outside(self.path)
        if self._make:
            with suppress(FileExistsError):
                files.make_folder(self.path)
        elif not os.path.lexists(self.path):
            raise ImportRefused(STATE_MISSING, f"there is no folder {self._shown()}")
        self._keep("state", self.path, at=None)
        status = os.fstat(self.folder)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            message = f"{self._shown()} is not a folder that you alone may enter (mode 0700)"
            raise ImportRefused(STATE_UNSAFE, message)
        self._check_format()
        for name in ("launches", "work"):
            with suppress(FileExistsError):
                files.make_folder(name, at=self.folder)
            self._keep(name, name, at=self.folder)

    @property
    def folder(self) -> int:
        """The folder itself, open. Raises MisuseError once the state is closed."""
        return self._folders["state"]

    @property
    def launches(self) -> int:
        """The folder of launches, open."""
        return self._folders["launches"]

    @property
    def work(self) -> int:
        """The folder of work rooms, open."""
        return self._folders["work"]

    def _keep(self, key: str, name: str, *, at: int | None) -> None:
        try:
            self._folders.open(key, name, at=at)
        except NotADirectoryError:
            message = f"{self._shown()} or a part of it is a link, or no folder"
            raise ImportRefused(STATE_UNSAFE, message) from None

    def _sync_parent(self) -> None:
        """Make the name of a new folder durable, where its parent may be read."""
        with (
            suppress(PermissionError),
            self.world.files.folder(os.path.dirname(os.path.realpath(self.path))) as parent,
        ):
            self.world.files.sync(parent)

    def _check_format(self) -> None:
        label = self._label() or self._new_label()
        if label != _FORMAT:
            message = f"{self._shown()} is labelled {shorten(label)}, which is not known here"
            raise ImportFailed(STATE_CORRUPT, message, retry=False)

    def _label(self) -> bytes | None:
        return self.read("format", at=self.folder, most=100)

    def _new_label(self) -> bytes:
        """Label a folder that has nothing in it, or find that somebody else just did."""
        files = self.world.files
        if not set(files.names(self.folder)) - {"tmp_format", _LOCK}:
            if not self._make:
                raise ImportRefused(STATE_MISSING, f"{self._shown()} is empty")
            with held(self.world, _LOCK, at=self.folder, who="a new label", timeout=_PATIENCE):
                if self._label() is None:
                    # Also for a process that made the folder and was killed.
                    self._sync_parent()
                    files.replace("format", _FORMAT, at=self.folder)
        label = self._label()
        if label is None:
            message = f"{self._shown()} holds something else than the state of an importer"
            raise ImportRefused(STATE_UNSAFE, message)
        return label

    def _shown(self) -> str:
        return shorten(os.fsencode(self.path))

    # Launches

    def names(self) -> list[str]:
        """The ids of all launches, sorted."""
        return [name for name in self.world.files.names(self.launches) if is_launch_id(name)]

    def add(self, launch: Launch, *, preparing: bool = False) -> None:
        """Make a launch durable: from here on its producer may start.

        ``preparing``: it may not yet, since what it is given is only made after this.

        Raises ImportRefused: launchExists where there is one of that id, recordInvalid or
        badObjectId where the record could not be read again; ImportFailed (lockBusy, fileFailed).
        The base is not looked for: the state knows no repository.
        """
        with translated():
            now = self.world.seconds()
            data = frame(encode_event(Launched(at=now, record=launch)), 0)
            if preparing:
                data += frame(encode_event(Preparing(at=now)), len(data))
            with self._work_lock("a launch"):
                self._add(launch, data)

    def _add(self, launch: Launch, data: bytes) -> None:
        files = self.world.files
        if files.status(launch.launch, at=self.launches) is not None:
            raise ImportRefused(LAUNCH_EXISTS, f"there is a launch {launch.launch}")
        # No id begins like this, so what a crash leaves is no launch.
        temporary = TEMPORARY + launch.launch
        files.remove_folder(temporary, at=self.launches)
        files.make_folder(temporary, at=self.launches)
        with files.folder(temporary, at=self.launches) as folder:
            files.write_new(JOURNAL, data, at=folder)
            files.sync(folder)
        files.rename(temporary, launch.launch, at=self.launches)
        files.sync(self.launches)
        # Whoever made the folders may have been killed before they were durable.
        files.sync(self.folder)

    @contextmanager
    def launch_folder(self, name: str) -> Iterator[int]:
        """The open folder of a launch. Raises ImportRefused: launchUnknown."""
        unknown = ImportRefused(
            LAUNCH_UNKNOWN, f"there is no launch {shorten(name.encode('utf-8', 'replace'))}"
        )
        if not is_launch_id(name):
            raise unknown
        try:
            descriptor = self.world.files.open_folder(name, at=self.launches)
        except (FileNotFoundError, NotADirectoryError):
            raise unknown from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, name: str, *, at: int, most: int) -> bytes | None:
        """A file of ours. Raises ImportFailed (stateCorrupt) where it is not as we make it."""
        try:
            return self.world.files.read(name, at=at, most=most)
        except UnsafeFileError as error:
            raise ImportFailed(STATE_CORRUPT, f"{name} is {error}", retry=False) from None

    # Work in progress

    @contextmanager
    def workroom(self) -> Iterator[Workroom]:
        """A folder for temporary files, removed afterwards whatever happens.

        Where it cannot be removed, and where a process was killed, the next one is made after it
        was.
        """
        files = self.world.files
        name = self.world.token(8).hex()
        with ExitStack() as inside:
            with self._work_lock("a work room"):
                self._sweep_rooms()
                files.make_folder(name, at=self.work)
                folder = inside.enter_context(files.folder(name, at=self.work))
                lock = files.open_shared(_LOCK, at=folder, mode=0o600)
                inside.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield Workroom(f"{self.path}/work/{name}", folder)
            finally:
                files.sweep(name, at=self.work, folder=True)

    def sweep(self) -> list[str]:
        """Remove the rooms of processes that have ended, and launches half made; their names."""
        files = self.world.files
        with self._work_lock("a sweep"):
            begun = [name for name in files.names(self.launches) if name.startswith(TEMPORARY)]
            swept = [name for name in begun if files.sweep(name, at=self.launches, folder=True)]
            return swept + self._sweep_rooms()

    def _sweep_rooms(self) -> list[str]:
        files = self.world.files
        names = [name for name in files.names(self.work) if _ROOM.fullmatch(name)]
        ended = [name for name in names if not self._is_in_use(name)]
        return [name for name in ended if files.sweep(name, at=self.work, folder=True)]

    @contextmanager
    def _work_lock(self, who: str) -> Iterator[int]:
        with held(self.world, _LOCK, at=self.work, who=who, timeout=_PATIENCE) as descriptor:
            yield descriptor

    def _is_in_use(self, name: str) -> bool:
        """Whether a process works in a room; True as well of what is no room of ours."""
        try:
            with self.world.files.folder(name, at=self.work) as folder:
                lock = self.world.files.open_file(_LOCK, at=folder)
        except FileNotFoundError:
            return False
        except (OSError, UnsafeFileError):
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False


class Workroom:
    """A folder for temporary files: its path, and an open descriptor of it."""

    def __init__(self, path: str, folder: int) -> None:
        self.path = path
        self.folder = folder


def _check_outside(path: str) -> None:
    """Refuse a folder that lies in a repository, where whoever may write there could change it."""
    around = repository_around(path)
    if around is not None:
        message = (
            f"{shorten(os.fsencode(path))} lies in the repository at {shorten(os.fsencode(around))}"
        )
        raise ImportRefused(STATE_UNSAFE, message)


def repository_around(path: str) -> str | None:
    """The innermost folder, from ``path`` upwards, that looks like a repository; None if none."""
    at = os.path.realpath(path)
    while True:
        parts = ("HEAD", "objects", "refs")
        if os.path.lexists(f"{at}/.git") or all(os.path.lexists(f"{at}/{part}") for part in parts):
            return at
        parent = os.path.dirname(at)
        if parent == at:
            return None
        at = parent
