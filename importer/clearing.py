"""Removing what a producer left: a directory that anybody may have filled with anything."""

from __future__ import annotations

import errno
import os
from itertools import count
from typing import TYPE_CHECKING

from importer.durable import TEMPORARY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from importer.durable import Files

__all__ = ["remove_tree"]

# A producer that was not stopped may put something there between the last look and the removal.
_TRIES = 5


def remove_tree(files: Files, name: str, *, at: int) -> bool:
    """Remove a directory of the open one ``at``, however deep it is; whether there was one.

    Directories in directories are moved up, so that neither the stack nor the number of open files
    grows with the depth. Those that may not be entered or written to are opened up first. No link
    is followed. Raises OSError, also where somebody goes on putting things there; may be killed at
    any point and done again.
    """
    try:
        top = files.open_own(name, at=at)
    except FileNotFoundError:
        return False
    fresh = (f"{TEMPORARY}{number}" for number in count())
    free = (name for name in fresh if files.status(name, at=top) is None)
    try:
        for _ in range(_TRIES):
            while folders := _clear(files, top):
                for folder in folders:
                    _flatten(files, folder, top, free)
            if files.remove_empty(name, at=at):
                return True
    finally:
        os.close(top)
    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), name)


def _flatten(files: Files, folder: str, top: int, free: Iterator[str]) -> None:
    """Remove a directory; those in it are moved up to ``top``, to names that are free there."""
    inside = files.open_own(folder, at=top)
    try:
        for below in _clear(files, inside):
            # Only a directory that its owner may write to can be moved.
            os.close(files.open_own(below, at=inside))
            files.move(below, next(free), at=inside, to=top)
    finally:
        os.close(inside)
    files.remove_empty(folder, at=top)


def _clear(files: Files, folder: int) -> list[str]:
    """Remove everything but directories from an open one; the names of these."""
    folders: list[str] = []
    for name in files.names(folder):
        if files.is_folder(name, at=folder):
            folders.append(name)
        else:
            files.remove(name, at=folder)
    return folders
