"""What is asked of launches beside an import: recover, show, list, discard.

All of it may be done twice, gives the same answer then, and may be killed at any point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from importer import publish, recover
from importer.errors import NO_RECEIPT, ImporterError, ImportRefused, translated
from importer.journal import opened, peeked
from importer.lock import PATIENCE
from manifest.launch import Discarded, Preparing, Publishing, Ready, Refused, Verified

if TYPE_CHECKING:
    from importer.journal import LaunchFile
    from importer.lock import Lock
    from importer.repository import Repository
    from importer.state import State
    from manifest.launch import Launch
    from manifest.receipt import Receipt, Refusal

__all__ = [
    "Listing", "Recovered", "Shown", "discard", "listed", "proven", "recover_all",
    "show",
]  # fmt: skip

# Whoever works on a launch recovers it as well, so it is not waited for until it has ended.
_SHORT_PATIENCE = 10.0


class Shown(NamedTuple):
    """A launch as it is now.

    ``state`` is what happened last: launched, preparing, ready, verified, publishing, imported,
    refused or discarded. Of launched and ready ones the producer may be at work.
    """

    record: Launch
    state: str
    at: int
    receipt: Receipt | None
    refusal: Refusal | None


class Listing(NamedTuple):
    """All launches: those that can be read, and by their ids why the others cannot."""

    shown: list[Shown]
    damaged: dict[str, ImporterError]


class Recovered(NamedTuple):
    """What recovery did for a launch: its state then, names that were removed, and what failed.

    ``state`` is empty where it could not be told. With ``imported`` an ``error`` says why the
    receipt is not true, or could not be proven.
    """

    launch: str
    state: str
    removed: list[str]
    error: ImporterError | None


def show(state: State, launch: str) -> Shown:
    """What is recorded of a launch; no repository is asked.

    Raises ImportRefused (launchUnknown), ImportFailed (stateCorrupt, fileFailed).
    """
    with translated(), peeked(state, launch) as file:
        return _shown(file)


def listed(state: State) -> Listing:
    """What is recorded of every launch, the oldest first; one that is damaged hides no other.

    Raises ImportFailed: fileFailed.
    """
    shown: list[Shown] = []
    damaged: dict[str, ImporterError] = {}
    with translated():
        names = state.names()
    for name in names:
        try:
            shown.append(show(state, name))
        except ImporterError as error:
            damaged[name] = error
    return Listing(sorted(shown, key=lambda one: (one.at, one.record.launch)), damaged)


def proven(repository: Repository, launch: str) -> Receipt:
    """The receipt of a launch, once the repository was asked whether it is still true.

    Raises ImportRefused (noReceipt, receiptContradicted, baseMissing), ImportFailed.
    """
    with translated(), peeked(repository.state, launch) as file:
        repository.check(file.record.common_dir)
        receipt = None if file.last(Discarded) else file.receipt()
        if receipt is None:
            raise ImportRefused(NO_RECEIPT, f"launch {launch} has none")
        publish.read_back(repository, receipt)
        return receipt


def recover_all(
    repository: Repository, *, lock: Lock | None = None, prove: bool = False
) -> list[Recovered]:
    """Finish or take back what imports left that were killed, for each launch of the repository.

    Launches of other repositories are left alone, and not waited for. What cannot be recovered is
    told, and the others are gone on with. ``prove``: each receipt is proven as well, as
    :func:`proven` does, which reads every published pack; one that is not true is such an error.
    """
    with translated():
        repository.state.sweep()
        found = [_recover(repository, name, lock, prove=prove) for name in repository.state.names()]
    return [one for one in found if one is not None]


def _recover(
    repository: Repository, launch: str, lock: Lock | None, *, prove: bool
) -> Recovered | None:
    try:
        with translated(), peeked(repository.state, launch) as file:
            if not repository.is_of(file.record.common_dir):
                return None
        with translated(), opened(repository.state, launch, timeout=_SHORT_PATIENCE) as file:
            l1 = repository.l1(lock, launch, PATIENCE)
            removed = recover.settle(repository, file, l1)
            state = _state_of(file)
            receipt = file.receipt() if prove and state == "imported" else None
            error = None if receipt is None else _untrue(repository, receipt)
            return Recovered(launch, state, removed, error)
    except ImporterError as error:
        return Recovered(launch, "", [], error)


def _untrue(repository: Repository, receipt: Receipt) -> ImporterError | None:
    """What the repository says against a receipt."""
    try:
        with translated():
            publish.read_back(repository, receipt)
    except ImporterError as error:
        return error
    return None


def discard(
    repository: Repository, launch: str, *, lock: Lock | None = None, patience: float = PATIENCE
) -> Shown:
    """Let nothing rest on a launch any more: its line in the ``.keep`` of its pack goes.

    From then on the pack is git's to collect, unless another launch rests on it. The journal and
    the receipt stay, as a record; a folder that was prepared for the producer is removed. An import
    that is under way, and L1, are waited for ``patience`` seconds each. Raises ImportRefused
    (launchUnknown, repositoryChanged), ImportFailed.
    """
    with translated(), opened(repository.state, launch, timeout=patience) as file:
        repository.check(file.record.common_dir)
        if file.last(Discarded) is None:
            file.append(Discarded(at=repository.world.seconds()))
        recover.settle(repository, file, repository.l1(lock, launch, patience))
        return _shown(file)


def _shown(file: LaunchFile) -> Shown:
    return Shown(file.record, _state_of(file), file.launched, file.receipt(), file.refusal())


def _state_of(file: LaunchFile) -> str:
    """What the journal says last; that an import is done is said by its receipt alone."""
    if file.last(Discarded) is not None:
        return "discarded"
    if file.receipt() is not None:
        return "imported"
    last = file.last(Preparing, Ready, Verified, Publishing, Refused)
    return "launched" if last is None else str(last.__struct_config__.tag)
