"""The repository that candidates are imported into, held open by its identity.

Bare ones, shallow ones, linked worktrees and both object formats are all the same here: what
counts is the common folder and its objects. Nothing of a worktree is ever looked at.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from importer import git, layout
from importer.base import StoreReader
from importer.durable import check_path, identity
from importer.errors import NOT_A_REPOSITORY, REPOSITORY_CHANGED, ImportRefused, translated
from importer.folders import Folders
from importer.lock import L1, held
from manifest.atoms import pack_path
from manifest.launch import Folder
from packparse.escape import shorten
from packparse.objectformat import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Self

    from importer.lock import Lock
    from importer.state import State, Workroom

__all__ = ["Repository", "folder_record"]


class Repository:
    """An open repository, and one process that reads its objects.

    ``path`` is a folder of a repository, as git takes it with ``-C``. To be closed, or used in a
    ``with`` block; kept open it serves any number of imports. ``object_format.name`` and
    ``folder``, its common folder, are for launch records. Raises ImportRefused
    (notARepository), ImportFailed (gitFailed, fileFailed). Once it is closed, whatever is asked of
    it raises MisuseError.
    """

    def __init__(self, path: str, state: State) -> None:
        check_path(path)
        self.state = state
        self.world = state.world
        self._open = ExitStack()
        self._folders = Folders(self.world.files, "the repository")
        # Last of all, once nothing uses them any more.
        self._open.callback(self._folders.close)
        try:
            with translated():
                self._open_all(path)
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process that reads, and close the folders; nothing can be done with it then."""
        self._open.close()

    def _open_all(self, path: str) -> None:
        found = layout.layout(path)
        self.object_format = FORMATS[found.object_format]
        self.path = found.common_dir
        self._objects_path = f"{found.common_dir}/objects"
        self._shared = found.shared
        # L1 and the packs are reached through these, whatever the paths lead to later.
        self._folder("common", found.common_dir, None)
        # Its own objects, and no link to those of another one that has another lock.
        self._folder("objects", "objects", self.common)
        self._folder("packs", "pack", self.objects)
        self.folder = folder_record(found.common_dir, self.common)
        self._room = self._open.enter_context(self.state.workroom())
        bench = self._open.enter_context(self._bench("reader", self._objects_path))
        self._reader = StoreReader(bench, self.object_format)
        self._open.callback(self._reader.close)

    @property
    def common(self) -> int:
        """The common folder, open. Raises MisuseError once the repository is closed."""
        return self._folders["common"]

    @property
    def objects(self) -> int:
        """The folder of objects, open."""
        return self._folders["objects"]

    @property
    def packs(self) -> int:
        """The folder of packs, open."""
        return self._folders["packs"]

    @property
    def room(self) -> Workroom:
        """The folder for its temporary files."""
        self._folders.check()
        return self._room

    @property
    def reader(self) -> StoreReader:
        """The process that reads its objects."""
        self._folders.check()
        return self._reader

    def _folder(self, key: str, name: str, at: int | None) -> None:
        shown = shorten(os.fsencode(name))
        try:
            self._folders.open(key, name, at=at)
        except (FileNotFoundError, NotADirectoryError):
            message = f"{shown} is not there, is a symbolic link, or is no folder"
            raise ImportRefused(NOT_A_REPOSITORY, message) from None

    @property
    def shared_mode(self) -> int:
        """The permissions of L1: for those who may write to the store, and nobody else.

        Who may read a file may lock it.
        """
        mode = os.fstat(self.objects).st_mode
        return 0o600 | (0o060 if mode & 0o020 else 0) | (0o006 if mode & 0o002 else 0)

    @contextmanager
    def lock(self, launch: str, patience: float) -> Iterator[object]:
        """L1 of the repository, held for a launch inside of the block.

        Raises ImportRefused (lockUnsafe), ImportFailed (lockBusy) after ``patience`` seconds.
        """
        who = f"launch {launch}"
        mode = self.shared_mode
        with held(
            self.world, L1, at=self.common, who=who, timeout=patience, mode=mode
        ) as descriptor:
            yield descriptor

    def l1(self, lock: Lock | None, launch: str, patience: float) -> Lock:
        """What holds L1 for a launch: the lock of an engine if there is one, else ours."""
        return lock or (lambda: self.lock(launch, patience))

    def is_of(self, recorded: Folder) -> bool:
        """Whether this is the repository of a record, wherever it lies now."""
        return (recorded.device, recorded.inode) == (self.folder.device, self.folder.inode)

    def check(self, expected: Folder) -> None:
        """Check that this is the repository of a launch, and that its names still lead to it.

        Raises ImportRefused: repositoryChanged.
        """
        files = self.world.files
        places = (
            (self.path, self.common, self.common),
            ("objects", self.common, self.objects),
            ("pack", self.objects, self.packs),
        )
        found = [(files.status(name, at=at), opened) for name, at, opened in places]
        moved = any(
            status is None or identity(status) != identity(os.fstat(opened))
            for status, opened in found
        )
        if moved or not self.is_of(expected):
            message = f"{self.folder.path} is not the repository of the launch"
            raise ImportRefused(REPOSITORY_CHANGED, message)

    def quarantine_bench(self, name: str) -> AbstractContextManager[git.Bench]:
        """A bench whose objects go to the folder ``name`` inside the shared store's own."""
        return self.bench(f"{self._objects_path}/{name}")

    def bench(self, objects: str, *, alone: bool = False) -> AbstractContextManager[git.Bench]:
        """A bench whose objects go to the folder ``objects``.

        It reads those of the shared store as well, unless it is to be ``alone`` with its own.
        """
        name = f"bench-{self.world.token(4).hex()}"
        return self._bench(name, objects, "" if alone else self._objects_path)

    def _bench(
        self, name: str, objects: str, alternates: str = ""
    ) -> AbstractContextManager[git.Bench]:
        return git.bench(
            self.world,
            name,
            at=self.room.folder,
            path=self.room.path,
            object_format=self.object_format,
            objects=objects,
            alternates=alternates,
            shared=self._shared,
        )


def folder_record(path: str, descriptor: int) -> Folder:
    """An open folder, for a launch record; ``path`` is an absolute one that leads to it."""
    device, inode = identity(os.fstat(descriptor))
    return Folder(path=pack_path(path), device=device, inode=inode)
