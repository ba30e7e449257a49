"""The ``.keep`` beside a published pack: git leaves the pack alone, and we know who rests on it.

Two launches may bring the same pack. Each has a line; the last one that is discarded takes the
file with it, and from then on the pack is git's to collect. The text is a label and the sorted ids
of launches, so a file that somebody else made is never taken for ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from importer.durable import UnsafeFileError
from importer.errors import KEEP_FULL, STATE_CORRUPT, ImportFailed
from manifest.atoms import is_launch_id

if TYPE_CHECKING:
    from importer.durable import Files

__all__ = ["add", "drop", "read"]

_LABEL = "git-candidate.keep/1"
# What is read, and so what is written: some thirty thousand launches.
_LARGEST = 1 << 20


def read(files: Files, name: str, *, at: int) -> set[str] | None:
    """The launches that rest on a pack; None where there is no such file.

    Raises ImportFailed (stateCorrupt) for a file that is not ours.
    """
    try:
        # A clone on the same file system gives every file of the store another name.
        data = files.read(name, at=at, most=_LARGEST, linked=True)
    except UnsafeFileError as error:
        raise ImportFailed(STATE_CORRUPT, f"{name} is {error}", retry=False) from None
    if data is None:
        return None
    label, *lines = data.decode("ascii", "replace").split("\n")
    launches = lines[:-1]
    well = label == _LABEL and lines[-1:] == [""] and launches == sorted(set(launches))
    if not (well and all(map(is_launch_id, launches))):
        raise ImportFailed(STATE_CORRUPT, f"{name} is not one that we made", retry=False)
    return set(launches)


def add(files: Files, name: str, launch: str, *, at: int, mode: int) -> None:
    """Let a launch rest on a pack. The names in the folder are the caller's to make durable.

    Raises ImportFailed: keepFull, stateCorrupt.
    """
    launches = read(files, name, at=at) or set()
    if launch not in launches:
        _write(files, name, launches | {launch}, at=at, mode=mode)


def drop(files: Files, name: str, launch: str, *, at: int) -> bool:
    """Let a launch rest on a pack no more; whether another one does."""
    launches = read(files, name, at=at)
    if launches is None:
        return False
    others = launches - {launch}
    if not others:
        files.remove(name, at=at)
    elif others != launches:
        status = files.status(name, at=at)
        _write(files, name, others, at=at, mode=0o444 if status is None else status.st_mode & 0o777)
    return bool(others)


def _write(files: Files, name: str, launches: set[str], *, at: int, mode: int) -> None:
    data = "\n".join([_LABEL, *sorted(launches), ""]).encode()
    if len(data) > _LARGEST:
        message = f"{name} has no room for another launch; discard some of the {len(launches) - 1}"
        raise ImportFailed(KEEP_FULL, message, retry=False)
    files.swap(name, data, at=at, mode=mode)
