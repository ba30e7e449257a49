"""Real launches: a host with any tree, an order, and a producer that commits and exports."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from candidate import sandbox
from candidate.errors import CandidateError
from candidate.launch import Order, launch
from importer.repository import Repository
from importer.state import State
from importer.world import World
from manifest.launch import Launch, PolicyText
from tests.support.candidates import Folder, Store
from tests.support.gate import make_host
from tests.support.gitrepo import clean_env, git

# Whatever the host says of itself, so that a producer can be asked whether it sees any of it.
IDENTITY = ("-c", "user.name=P", "-c", "user.email=p@example.invalid")


def order(base: str, *, full: bool = False, limits: dict[str, int] | None = None) -> Order:
    """An order for a launch from a base."""
    return Order(
        base=base,
        policy=PolicyText("candidate"),
        limits=limits or {},
        issue="owner/repo#269",
        run="run-7",
        phase="FIX",
        repository="owner/repo",
        full=full,
    )


@dataclass
class Launched:
    """A launch in a folder of its own, and the state and the host that it belongs to."""

    repo: Path
    state: Path
    folder: Path
    record: Launch

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def export(self) -> Path:
        return self.folder / "export"

    def commit(self, message: str = "work") -> str:
        """Let the producer commit all that is in the workspace; the id."""
        git(self.workspace, "add", "-A", "-f")
        git(self.workspace, *IDENTITY, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.workspace, "rev-parse", "HEAD").stdout.decode().strip()

    def hand_back(self) -> None:
        """Let the producer export, by the script that it finds."""
        subprocess.run(
            ["sh", str(self.export / "export.sh")],
            cwd=self.workspace,
            env=clean_env(self.workspace),
            check=True,
            capture_output=True,
        )

    @contextmanager
    def opened(self, world: World | None = None) -> Iterator[Repository]:
        with State(str(self.state), world) as state, Repository(str(self.repo), state) as opened:
            yield opened


def launched(
    repo: Path, base: str, into: Path, *, full: bool = False, world: World | None = None
) -> Launched:
    """Launch from a base of a repository, into ``into / "launch"``, with its state beside it."""
    state = into / "state"
    with State(str(state), world) as opened, Repository(str(repo), opened) as repository:
        record = launch(repository, str(into / "launch"), order(base, full=full))
    return Launched(repo, state, into / "launch", record)


@contextmanager
def host_with(
    folder: Path, tree: Folder | Callable[[Store], bytes], fmt: str = "sha1"
) -> Iterator[tuple[Repository, bytes]]:
    """A host whose base has this tree, open; and the raw id of the base."""
    make = tree if callable(tree) else lambda store: store.tree(tree)
    _, names = make_host(folder, "sha256" if fmt == "sha256" else "sha1", make)
    with (
        State(str(folder / "state")) as state,
        Repository(str(folder / "host"), state) as repository,
    ):
        yield repository, names.base


def bubblewrap() -> str:
    """The program, where it makes sandboxes here; else the test is skipped, with the reason."""
    try:
        return sandbox.bubblewrap()
    except CandidateError as error:
        pytest.skip(f"no sandbox here: {error.message}")


def has_sandbox() -> bool:
    """Whether bubblewrap makes sandboxes here."""
    try:
        sandbox.bubblewrap()
    except CandidateError:
        return False
    return True
