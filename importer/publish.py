"""Steps 9 and 10: a pack of the quarantine becomes one of the shared store, and is read back.

A pack is visible once its index is, so the order is keep, pack, rev, idx (contract A33). Nothing of
this depends on the size of the pack: the files were made durable in the quarantine, and are given
a second name on the same file system.

The name is ours and not the one that git gives the same bytes. A ``git fetch`` of the same bundle
makes a pack of git's name that nothing keeps, and a ``git repack`` that is under way may have noted
it as one to remove (cases 9: a ``.keep`` that appears too late saves nothing). A pack of our name
is there with its ``.keep`` or not at all; where it has lost that, the next number makes another.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from importer import keep
from importer.durable import TEMPORARY, UnsafeFileError
from importer.errors import (
    BASE_MISSING,
    RECEIPT_CONTRADICTED,
    STORE_CORRUPT,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.quarantine import digest
from packparse.entry import COMMIT, KIND_NAMES

if TYPE_CHECKING:
    from importer.quarantine import Indexed
    from importer.repository import Repository
    from manifest.receipt import Pack, Receipt
    from packparse.codes import Code

__all__ = [
    "check_base",
    "choose",
    "has_bytes",
    "has_parts",
    "hold",
    "is_loose",
    "is_visible",
    "is_whole",
    "link",
    "read_back",
    "release",
    "unfinished",
]

_ENDINGS = (".pack", ".rev", ".idx")
_KEEP = ".keep"


def choose(repository: Repository, indexed: Indexed) -> str:
    """The stem of the name for a pack: one that is free, or that of the same pack, kept by us.

    To be called under L1.
    """
    files = repository.world.files
    number = 0
    while True:
        text = f"git-candidate {number} {indexed.stem}".encode()
        stem = f"pack-{repository.object_format.new(text).hexdigest()}"
        kept = keep.read(files, stem + _KEEP, at=repository.packs)
        if kept is not None or not _parts(repository, stem):
            return stem
        number += 1


def _parts(repository: Repository, stem: str) -> list[str]:
    """The endings of what stands under a name."""
    status = repository.world.files.status
    return [ending for ending in _ENDINGS if status(stem + ending, at=repository.packs)]


def link(repository: Repository, indexed: Indexed, pack: Pack, launch: str, *, at: int) -> None:
    """Give the files of a quarantine's open folder their names in the shared store, durably.

    To be called under L1, and may be called again. Raises ImportFailed: storeCorrupt, where another
    file has one of the names; then nothing was changed. Where something else fails, what was done
    is taken back.
    """
    there = _parts(repository, pack.name)
    for ending in there:
        if ending == ".rev" and ending not in indexed.digests and ".idx" in there:
            # Published by a git that makes one; the git that is here now does not.
            continue
        _check_same(repository, indexed, ending, pack.name + ending)
    try:
        _link(repository, indexed, pack.name, launch, at=at, there=there)
    except Exception:
        # Where this fails too, recovery does it.
        with suppress(OSError, ImporterError):
            release(repository, pack.name, launch)
        raise


def _link(
    repository: Repository, indexed: Indexed, stem: str, launch: str, *, at: int, there: list[str]
) -> None:
    files = repository.world.files
    packs = repository.packs
    mode = _mode(repository, f"{indexed.stem}.pack", at)
    keep.add(files, stem + _KEEP, launch, at=packs, mode=mode)
    # After a power failure as well no pack of ours is visible without its .keep: a repack that is
    # under way would have noted it as one to remove.
    files.sync(packs)
    for ending in _ENDINGS:
        if ending in indexed.digests and ending not in there:
            files.link(indexed.stem + ending, stem + ending, at=at, to=packs)
    files.sync(packs)


def _check_same(repository: Repository, indexed: Indexed, ending: str, published: str) -> None:
    """What is there was published before, or by another launch, and has to be the same.

    Of the pack the size is enough here: its bytes are read back once L1 is free again.
    """
    descriptor = _opened(repository, published)
    try:
        if ending == ".pack":
            same = os.fstat(descriptor).st_size == indexed.bytes
        else:
            same = digest(descriptor) == indexed.digests.get(ending)
    finally:
        os.close(descriptor)
    if not same:
        message = f"{published} is there already, and is another file"
        raise ImportFailed(STORE_CORRUPT, message, retry=False)


def _opened(repository: Repository, name: str) -> int:
    """A published file, open. Raises ImportFailed: storeCorrupt, where it is something else."""
    try:
        # A clone on the same file system gives every file of the store another name.
        return repository.world.files.open_file(name, at=repository.packs, linked=True)
    except UnsafeFileError as error:
        raise ImportFailed(STORE_CORRUPT, f"{name} is {error}", retry=False) from None


def is_visible(repository: Repository, stem: str) -> bool:
    """Whether git sees a pack of this name."""
    status = repository.world.files.status
    return all(status(stem + ending, at=repository.packs) for ending in (".idx", ".pack"))


def is_loose(repository: Repository, receipt: Receipt) -> bool:
    """Whether git sees the pack of a receipt, and its ``.keep`` does not name the launch."""
    kept = keep.read(repository.world.files, receipt.pack.name + _KEEP, at=repository.packs)
    return receipt.launch not in (kept or ()) and is_visible(repository, receipt.pack.name)


def hold(repository: Repository, receipt: Receipt) -> None:
    """Make the names of a visible publication durable, and let its launch rest on it.

    To be called under L1, before a receipt speaks of a publication that this process did not make.
    """
    files = repository.world.files
    packs = repository.packs
    name = receipt.pack.name
    mode = _mode(repository, f"{name}.pack", packs)
    keep.add(files, name + _KEEP, receipt.launch, at=packs, mode=mode)
    files.sync(packs)


def _mode(repository: Repository, name: str, at: int) -> int:
    """The permissions of a pack, as git gave them: those of its ``.keep`` as well."""
    status = repository.world.files.status(name, at=at)
    return 0o444 if status is None else status.st_mode & 0o777


def read_back(repository: Repository, receipt: Receipt) -> None:
    """Step 10: the store has what the receipt says, by reading it.

    The published pack has its digest; each commit of the range is there and has its hash, and so
    is the base. Raises ImportRefused (receiptContradicted, baseMissing), ImportFailed.
    """
    _check_pack(repository, receipt.pack)
    repository.reader.refresh()
    _check_commits(repository, receipt.commits, RECEIPT_CONTRADICTED)
    _check_commits(repository, [receipt.base], BASE_MISSING)


def is_whole(repository: Repository, receipt: Receipt) -> bool:
    """Whether the store still has what a receipt says.

    Raises as :func:`read_back` does for anything else than what is simply not there.
    """
    try:
        read_back(repository, receipt)
    except ImportRefused as refused:
        if refused.code is not RECEIPT_CONTRADICTED:
            raise
        return False
    return True


def check_base(repository: Repository, base: str) -> None:
    """That the base is there and has its hash. Raises ImportRefused: baseMissing."""
    repository.reader.refresh()
    _check_commits(repository, [base], BASE_MISSING)


def _check_pack(repository: Repository, pack: Pack) -> None:
    """That a pack and its index are there with the bytes that were published.

    git believes an index, and does not hash what it reads through one.
    """
    for ending, expected in ((".pack", pack.sha256), (".idx", pack.index)):
        name = pack.name + ending
        try:
            descriptor = _opened(repository, name)
        except FileNotFoundError:
            raise ImportRefused(RECEIPT_CONTRADICTED, f"{name} is not there") from None
        try:
            found = digest(descriptor)
        finally:
            os.close(descriptor)
        if found != expected:
            message = f"{name} has other bytes than were published"
            raise ImportFailed(STORE_CORRUPT, message, retry=False)


def _check_commits(repository: Repository, oids: list[str], code: Code) -> None:
    wanted = [bytes.fromhex(oid) for oid in oids]
    for oid, given in zip(oids, repository.reader.read_all(wanted), strict=True):
        if given is None:
            raise ImportRefused(code, f"the commit {oid} is not in the repository")
        if given[0] != COMMIT:
            raise ImportRefused(code, f"{oid} is a {KIND_NAMES[given[0]]}, and no commit")


def unfinished(repository: Repository, receipt: Receipt) -> list[str]:
    """The name of a ``.keep`` that was being written, if there is one beside the pack."""
    name = f"{TEMPORARY}{receipt.pack.name}{_KEEP}"
    status = repository.world.files.status(name, at=repository.packs)
    return [name] if status is not None and not stat.S_ISDIR(status.st_mode) else []


def has_bytes(repository: Repository, pack: Pack) -> bool:
    """Whether the bytes of a pack are there, be it visible or not."""
    try:
        descriptor = _opened(repository, f"{pack.name}.pack")
    except FileNotFoundError:
        return False
    try:
        return digest(descriptor) == pack.sha256
    finally:
        os.close(descriptor)


def has_parts(repository: Repository, stem: str, launch: str) -> bool:
    """Whether something of a publication is there that no pack will ever be made of."""
    if is_visible(repository, stem):
        return False
    kept = keep.read(repository.world.files, stem + _KEEP, at=repository.packs)
    return launch in (kept or ()) or (kept is None and bool(_parts(repository, stem)))


def _remove(repository: Repository, name: str) -> None:
    """Remove a file of ours; a folder under its name is not one, and is left."""
    status = repository.world.files.status(name, at=repository.packs)
    if status is not None and not stat.S_ISDIR(status.st_mode):
        repository.world.files.remove(name, at=repository.packs)


def release(repository: Repository, stem: str, launch: str) -> None:
    """Let a launch rest on a pack no more, and take away what a crash left of half a pack.

    A power failure may have left it without its ``.keep``. A pack that is visible stays, since
    somebody may use it by now; without a ``.keep`` it is git's to collect. To be called under L1.
    """
    files = repository.world.files
    packs = repository.packs
    kept = keep.read(files, stem + _KEEP, at=packs)
    if (kept is None or kept == {launch}) and not is_visible(repository, stem):
        # The index first, so that no moment shows half a pack.
        for ending in reversed(_ENDINGS):
            _remove(repository, stem + ending)
    keep.drop(files, stem + _KEEP, launch, at=packs)
    files.sync(packs)
