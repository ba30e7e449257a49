"""The folder of a launch that was prepared by us: what it holds, whose it is, and how it goes.

It has five parts::

    DIR/launch      a symbolic link that leads nowhere: its target is the id of the launch
    DIR/source      the tree of the base, to be read
    DIR/workspace   the private repository of the producer
    DIR/export      where the artifact may lie: the export folder of the launch record
    DIR/home        the home of a producer that runs without a sandbox

A launch whose preparation was killed is given up, and what there is of its folder is removed; of a
launch that is discarded as well. The link says whose it is. It is made at one blow, and never over
another one; a file could be there and half written.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from importer.clearing import remove_tree

if TYPE_CHECKING:
    from importer.durable import Files
    from manifest.launch import Launch

__all__ = ["EXPORT", "HOME", "MARK", "SOURCE", "WORKSPACE", "are_apart", "mark", "owner", "remove"]

SOURCE = "source"
WORKSPACE = "workspace"
EXPORT = "export"
HOME = "home"
MARK = "launch"


def are_apart(one: str, other: str) -> bool:
    """Whether neither of two folders is the other, or lies in it, links followed."""
    paths = [os.path.realpath(one), os.path.realpath(other)]
    return os.path.commonpath(paths) not in paths


def mark(files: Files, launch: str, *, at: int) -> None:
    """Note that an open folder is that of a launch. Raises FileExistsError where it has one."""
    files.make_link(MARK.encode(), launch.encode(), at=at)
    files.sync(at)


def owner(files: Files, *, at: int) -> str | None:
    """The launch that an open folder belongs to; None where it says none."""
    return files.link_target(MARK, at=at)


def remove(files: Files, record: Launch) -> list[str]:
    """Remove the folder of a launch, if it is there and still its own; what was removed.

    The number of a folder may be given again, so the id in it decides. It is removed last: until
    then this may be killed and done again. What else somebody put there stays. Raises OSError,
    UnsafeFileError.
    """
    path = os.path.dirname(record.export.location)
    try:
        folder = files.open_folder(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    try:
        if owner(files, at=folder) != record.launch:
            return []
        parts = (WORKSPACE, SOURCE, HOME, EXPORT)
        removed = [f"{path}/{part}" for part in parts if remove_tree(files, part, at=folder)]
        # Without the mark nobody would know whose the rest is that a power failure brings back.
        files.sync(folder)
        files.remove(MARK, at=folder)
    finally:
        os.close(folder)
    files.remove_empty(path)
    return removed
