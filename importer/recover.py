"""What is done about an import that did not end.

The journal says how far it came. Before `publishing` nothing is in the shared store but a
quarantine; after it the receipt that was to be written is in the journal, so either all of the
publication is there and the receipt is written, or what there is of it is taken back. Everything
here may be done twice, and killed at any point.

What a process that died has written may not be durable yet, though everybody sees it. So it is made
durable before anything is done that rests on it and would outlive it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from importer import place, publish, quarantine
from importer.lock import taken
from manifest.launch import Discarded, Preparing, Publishing, Ready

if TYPE_CHECKING:
    from importer.journal import LaunchFile
    from importer.lock import Lock
    from importer.repository import Repository
    from manifest.receipt import Receipt

__all__ = ["settle"]


def settle(repository: Repository, file: LaunchFile, lock: Lock) -> list[str]:
    """Finish or take back what an import left; the names of what was removed.

    Raises ImportRefused: baseMissing, where all of the publication is there and its base is not.
    """
    removed = file.sweep()
    if file.last(Preparing) and not file.last(Ready, Discarded):
        # Whoever prepared it held the lock that we hold now.
        file.append(Discarded(at=repository.world.seconds()))
    publishing = file.last(Publishing)
    removed += _sweep_store(repository, file, publishing, lock)
    if file.last(Discarded) is not None:
        removed += _give_up(repository, file, publishing, lock)
    elif publishing is not None and file.receipt() is None:
        _end(repository, file, publishing.receipt, lock)
    elif publishing is not None and publish.is_loose(repository, publishing.receipt):
        # Somebody took the .keep away; without it the next collection takes the pack.
        with taken(lock):
            publish.hold(repository, publishing.receipt)
    elif publishing is not None:
        # What a receipt speaks of stays in any case, visible or not: it may be the only copy.
        _take_back(repository, publishing.receipt, lock, unless_whole=True)
    return removed


def _give_up(
    repository: Repository, file: LaunchFile, publishing: Publishing | None, lock: Lock
) -> list[str]:
    """Let nothing rest on a launch that was discarded, and remove the folder that we made."""
    file.harden()
    if publishing is not None:
        with taken(lock):
            publish.release(repository, publishing.receipt.pack.name, file.record.launch)
    if file.last(Preparing) is None:
        return []
    return place.remove(repository.world.files, file.record)


def _end(repository: Repository, file: LaunchFile, receipt: Receipt, lock: Lock) -> None:
    """End a publication that has no receipt yet, one way or the other."""
    stem = receipt.pack.name
    file.harden()
    if publish.is_visible(repository, stem):
        with taken(lock):
            publish.hold(repository, receipt)
        if publish.is_whole(repository, receipt):
            file.write_receipt(receipt)
            return
        with taken(lock):
            publish.release(repository, stem, receipt.launch)
    else:
        _take_back(repository, receipt, lock)


def _take_back(
    repository: Repository, receipt: Receipt, lock: Lock, *, unless_whole: bool = False
) -> None:
    """Take away what there is of a publication that is not visible, first or repeated."""
    stem = receipt.pack.name
    if not publish.has_parts(repository, stem, receipt.launch):
        return
    # A pack is hashed only where something may have to go.
    if not (unless_whole and publish.has_bytes(repository, receipt.pack)):
        with taken(lock):
            publish.release(repository, stem, receipt.launch)


def _sweep_store(
    repository: Repository, file: LaunchFile, publishing: Publishing | None, lock: Lock
) -> list[str]:
    """Remove quarantines of a launch, whose lock we hold, and a ``.keep`` that was not whole yet.

    Nobody works in such a quarantine: git inherits the lock.
    """
    files = repository.world.files
    ours = quarantine.prefix(file.record.launch)
    names = [name for name in files.names(repository.objects) if name.startswith(ours)]
    unfinished = [] if publishing is None else publish.unfinished(repository, publishing.receipt)
    if not (names or unfinished):
        return []
    with taken(lock):
        removed = [name for name in names if files.sweep(name, at=repository.objects, folder=True)]
        removed += [
            name for name in unfinished if files.sweep(name, at=repository.packs, folder=False)
        ]
    return removed
