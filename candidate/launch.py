"""Launching: everything that a producer is given, made before it can start.

From an exact base commit of the host, in a folder of the launch's own (importer/place.py)::

    1  gather the seeded set, read the base's tree, and check all names of it
    2  make the export folder, and journal the launch record as `preparing`
    3  write the base's tree into `source` and `workspace`, from verified objects
    4  write the private repository of the workspace, and the ticket
    5  make all of it durable, and journal `ready`

Killed before `ready` it is found by recovery, given up and swept. The producer gets nothing else of
the host; docs/concepts/launch.md says what becomes of submodules, LFS, filters, sparse and partial
clones.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from candidate import export, seed, tree
from candidate.errors import FOLDER_TAKEN, FOLDER_UNSAFE, CandidateError
from candidate.index import index
from importer import place, recover
from importer.errors import LAUNCH_DISCARDED, ImportRefused, translated
from importer.journal import opened
from importer.lock import PATIENCE
from importer.repository import folder_record
from importer.state import repository_around
from importer.verdict import check_policy
from manifest import ticket
from manifest.launch import Discarded, Launch, Ready, Seed
from packparse.escape import shorten
from packparse.objectformat import SHA1

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from importer.journal import LaunchFile
    from importer.repository import Repository
    from manifest.launch import PolicyText

__all__ = ["ARTIFACT", "Order", "launch"]

ARTIFACT = "candidate.bundle"
_GIT = ".git"


class Order(NamedTuple):
    """What a controller asks for: the base, by its full id, and what the launch is called.

    ``full``: the whole history of the base is given, and not the base alone. ``limits`` are those
    that differ from the policy's.
    """

    base: str
    policy: PolicyText
    limits: dict[str, int]
    issue: str
    run: str
    phase: str
    repository: str
    full: bool = False


def launch(
    repository: Repository,
    folder: str,
    order: Order,
    *,
    on_stage: Callable[[str], None] = lambda _stage: None,
) -> Launch:
    """Make a launch in a folder that is empty or not there; its record.

    ``on_stage`` is told what is done as it begins. When this returns the producer may start. Raises
    CandidateError (folderTaken, folderUnsafe, treeUnsafe), PackError (a limit that the tree of the
    base passes), ImportRefused (baseMissing, seedTooLarge), ImportFailed. Then nothing is left but
    the record of a launch that was given up, if it came that far.
    """
    path = os.path.abspath(folder)
    with translated():
        _check_apart(path, repository)
        on_stage("reading the base")
        seeded = seed.gather(repository, bytes.fromhex(order.base), full=order.full)
        policy = order.policy.made()
        check_policy(policy)
        limits = policy.made_limits(None, order.limits)
        wanted = tree.plan(repository.reader, repository.object_format, seeded.root, limits)
        with _begun(repository, path, order, seeded) as (record, at):
            with opened(repository.state, record.launch, timeout=PATIENCE) as file:
                _prepare(_Launching(repository, file, at, path, on_stage), seeded, wanted)
            return record


def _check_apart(path: str, repository: Repository) -> None:
    """Refuse a folder in which the producer could come to what is not its own."""
    around = repository_around(path)
    if around is not None:
        message = f"{_shown(path)} lies in the repository at {_shown(around)}"
        raise CandidateError(FOLDER_UNSAFE, message)
    if not place.are_apart(path, repository.state.path):
        message = f"{_shown(path)} lies in the state folder, or the state folder in it"
        raise CandidateError(FOLDER_UNSAFE, message)


@contextmanager
def _begun(
    repository: Repository, path: str, order: Order, seeded: seed.Seeded
) -> Iterator[tuple[Launch, int]]:
    """Step 2: the folder with an export folder in it, and the record that knows it."""
    files = repository.world.files
    with suppress(FileExistsError):
        files.make_folder(path)
    try:
        at = files.open_folder(path)
    except NotADirectoryError:
        raise CandidateError(FOLDER_TAKEN, f"{_shown(path)} is no folder") from None
    try:
        _check_free(repository, path, at)
        with suppress(FileExistsError):
            files.make_folder(place.EXPORT, at=at)
        with files.folder(place.EXPORT, at=at) as exported:
            record = _record(repository, f"{path}/{place.EXPORT}", exported, order, seeded)
        # The journal must not know a folder that a power failure takes away.
        files.sync(at)
        repository.state.add(record, preparing=True)
        yield record, at
    finally:
        os.close(at)


def _check_free(repository: Repository, path: str, at: int) -> None:
    """Refuse a folder with anything in it, but for what a launch that never was recorded left."""
    files = repository.world.files
    status = os.fstat(at)
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        message = f"{_shown(path)} is not a folder that you alone may write to"
        raise CandidateError(FOLDER_UNSAFE, message)
    names = files.names(at)
    if names == [place.EXPORT] and files.is_folder(place.EXPORT, at=at):
        with files.folder(place.EXPORT, at=at) as exported:
            names = files.names(exported)
    if names:
        raise CandidateError(FOLDER_TAKEN, f"{_shown(path)} has {len(names)} things in it")


def _record(
    repository: Repository, path: str, exported: int, order: Order, seeded: seed.Seeded
) -> Launch:
    return Launch(
        launch=repository.world.token(16).hex(),
        issue=order.issue,
        run=order.run,
        phase=order.phase,
        repository=order.repository,
        object_format="sha1" if repository.object_format is SHA1 else "sha256",
        base=order.base,
        seed=Seed(
            kind="full" if order.full else "depth-one",
            boundary=sorted(oid.hex() for oid in seeded.boundary),
        ),
        export=folder_record(path, exported),
        common_dir=repository.folder,
        artifact=ARTIFACT,
        policy=order.policy,
        limits=order.limits,
        key=repository.world.token(32).hex(),
    )


class _Launching(NamedTuple):
    """A launch under way: its journal, and its folder, which is open and has a path."""

    repository: Repository
    file: LaunchFile
    folder: int
    path: str
    on_stage: Callable[[str], None]


def _prepare(it: _Launching, seeded: seed.Seeded, wanted: tree.Plan) -> None:
    """Steps 3 to 5, or nothing at all."""
    repository, file = it.repository, it.file
    launch = file.record.launch
    if file.last(Discarded):
        raise ImportRefused(LAUNCH_DISCARDED, f"launch {launch} was given up meanwhile")
    try:
        try:
            place.mark(repository.world.files, launch, at=it.folder)
        except FileExistsError:
            raise CandidateError(FOLDER_TAKEN, f"{_shown(it.path)} was taken meanwhile") from None
        _fill(it, seeded, wanted)
        repository.world.files.sync_all(it.folder)
        file.append(Ready(at=repository.world.seconds()))
    except BaseException as error:
        try:
            recover.settle(repository, file, repository.l1(None, launch, PATIENCE))
        except Exception as later:  # noqa: BLE001 - what went wrong first is what is told
            error.add_note(f"what it left is for git candidate recover: {later}")
        raise


def _fill(it: _Launching, seeded: seed.Seeded, wanted: tree.Plan) -> None:
    repository, record = it.repository, it.file.record
    files = repository.world.files
    for name in (place.SOURCE, place.WORKSPACE, place.HOME):
        files.make_folder(name, at=it.folder)
    with (
        files.folder(place.SOURCE, at=it.folder) as source,
        files.folder(place.WORKSPACE, at=it.folder) as workspace,
        files.folder(place.EXPORT, at=it.folder) as exported,
    ):
        it.on_stage("writing the tree")
        places = (tree.Place(workspace, sealed=False), tree.Place(source, sealed=True))
        written = tree.write(files, repository.reader, wanted, places)
        it.on_stage("writing the repository")
        files.make_folder(_GIT, at=workspace)
        with files.folder(_GIT, at=workspace) as private:
            made = index(written, repository.object_format)
            seed.write_settings(files, seeded, repository.object_format, made, at=private)
            with files.folder("objects", at=private) as objects:
                where = f"{it.path}/{place.WORKSPACE}/{_GIT}/objects"
                seed.write_pack(repository, seeded, objects, where)
        ticketed = ticket.write(ticket.Ticket.of(record))
        files.write_new(ticket.NAME, ticketed, at=exported, durable=False)
        files.write_new(ticket.SCRIPT, export.script(), at=exported, mode=0o755, durable=False)


def _shown(path: str) -> str:
    return shorten(os.fsencode(path))
