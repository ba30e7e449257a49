"""Rooms of the importer in use: a host of a test's own, and a pack in its quarantine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from importer import quarantine
from importer.quarantine import Indexed
from importer.repository import Repository
from importer.state import State
from importer.world import World
from packparse.limits import Limits
from tests.support.gitrepo import git
from tests.support.launches import Host
from tests.support.records import LAUNCH


class Quarantined(NamedTuple):
    """A pack in the quarantine of a launch: the path of its folder, that open, and its facts."""

    path: Path
    folder: int
    indexed: Indexed


@contextmanager
def opened(host: Host, folder: Path, world: World | None = None) -> Iterator[Repository]:
    """A host, open for imports, with a state folder below `folder`."""
    with State(str(folder / "state"), world) as state, Repository(str(host.repo), state) as made:
        yield made


def brought(host: Host) -> set[bytes]:
    """The ids of all objects between the base and the candidate of a producer."""
    told = git(host.producer, "rev-list", "--objects", host.candidate, f"^{host.base}").stdout
    return {bytes.fromhex(line.split()[0].decode()) for line in told.splitlines()}


@contextmanager
def in_quarantine(
    repository: Repository,
    bundle: bytes,
    expected: Iterable[bytes],
    *,
    bases: Iterable[bytes] = (),
    relaxed: Iterable[str] = (),
    keep: Iterable[int] = (),
    limits: Limits | None = None,
    launch: str = LAUNCH,
) -> Iterator[Quarantined]:
    """The pack of a bundle, indexed into a quarantine of a repository."""
    files = repository.world.files
    staged = Path(repository.room.path) / "staged"
    staged.write_bytes(bundle)
    with (
        staged.open("rb") as copy,
        quarantine.quarantined(repository, launch) as name,
        files.folder(name, at=repository.objects) as folder,
        repository.quarantine_bench(name) as bench,
    ):
        indexed = quarantine.index(
            bench,
            folder,
            copy.fileno(),
            begin=bundle.index(b"PACK"),
            repository=repository,
            limits=limits or Limits(),
            relaxed=relaxed,
            expected=expected,
            bases=bases,
            keep=keep,
        )
        path = Path(repository.path) / "objects" / name
        yield Quarantined(path, folder, indexed)
