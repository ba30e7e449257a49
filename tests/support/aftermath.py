"""What must hold after an import that did not end: one ground that it is tried on again and again.

Whatever happened, the host has what it had; what is published is whole; nothing is left over once
recovery has been there; and what a receipt or the journal promised is what the next import gives.
"""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from importer.durable import Files
from importer.errors import ImporterError
from importer.frames import frames
from importer.launches import Recovered, proven, recover_all
from importer.lock import L1
from importer.repository import Repository
from importer.steps import ImportResult, Step, import_candidate
from importer.world import GIT_SECONDS, World
from manifest.launch import Publishing, decode_event
from manifest.receipt import Receipt, read_receipt
from tests.support.faults import Fault, Faulty, Saved, tree
from tests.support.gitrepo import EPOCH, git
from tests.support.launches import LAUNCH, Host, launch

T = TypeVar("T")

_LAUNCH_FILES = {"lock", "journal", "receipt.json", "refusal.json"}
_ENDINGS = (".idx", ".keep", ".pack", ".rev")
# What an import that was cut short may have left in the folder of objects.
_MAY_BE_LEFT = re.compile(r"objects/(tmp_objdir-candidate-.*|pack/tmp_pack-[0-9a-f]+\.keep)")


@contextmanager
def saying(what: str) -> Iterator[None]:
    """Let whatever goes wrong inside say what it was about."""
    try:
        yield
    except BaseException as error:
        error.add_note(what)
        raise


def outcome(task: Callable[..., T], *arguments: object) -> T | ImporterError:
    """What a task gives, or the error that it ends with."""
    try:
        return task(*arguments)
    except ImporterError as error:
        return error


def facts(receipt: Receipt) -> dict[str, Any]:
    """What a receipt says, without when."""
    told: dict[str, Any] = msgspec.to_builtins(receipt)
    del told["times"]
    return told


class Ground:
    """A host, one launch and its honest export; all of it can be brought back to before the import.

    ``facts`` are those of an import that nothing disturbed, ``operations`` the names of what it
    did to the file system. Its clock never shows the same second twice.
    """

    def __init__(self, host: Host, folder: Path, *, name: str = LAUNCH, thin: bool = False) -> None:
        self.host = host
        self.launch = name
        self.common = host.common
        self.packs = self.common / "objects" / "pack"
        self._seconds = count(EPOCH + 1_000_000)
        self.scene = launch(host, folder, name=name)
        self.scene.offer(host.bundle(thin=thin))
        self.state = self.scene.state
        self._folder = self.state / "launches" / name
        self._found: dict[bytes, bytes] = {}
        self.saved = Saved(self.common, self.state)
        files = Faulty()
        receipt = self.run(files).receipt
        self.facts = facts(receipt)
        self.operations = files.seen
        self._published = {f"objects/pack/{receipt.pack.name}{ending}" for ending in _ENDINGS}
        self.saved.restore()

    def struck_by(self, fault: Fault) -> Iterator[tuple[int, str]]:
        """The numbers and names of the operations of an import that a fault can strike."""
        return enumerate((name for name in self.operations if fault.strikes(name)), 1)

    def lose(self) -> None:
        """Let it be as after an import whose pack was lost: that is what it is brought back to."""
        receipt = self.run().receipt
        for ending in _ENDINGS:
            (self.packs / f"{receipt.pack.name}{ending}").unlink(missing_ok=True)
        self.saved = Saved(self.common, self.state)
        files = Faulty()
        assert self.run(files).receipt == receipt
        self.operations = files.seen
        self.undo()

    # Importing

    def world(self, files: Files | None = None, *, git_seconds: float = GIT_SECONDS) -> World:
        return World(files, now=lambda: float(next(self._seconds)), git_seconds=git_seconds)

    @contextmanager
    def opened(
        self, files: Files | None = None, *, git_seconds: float = GIT_SECONDS
    ) -> Iterator[Repository]:
        with self.scene.opened(self.world(files, git_seconds=git_seconds)) as repository:
            yield repository

    def run(
        self, files: Files | None = None, on_step: Callable[[Step], None] | None = None
    ) -> ImportResult:
        """Import, in a repository that is opened for it."""
        with self.opened(files) as repository:
            return import_candidate(repository, self.launch, on_step=on_step)

    def recover(self, files: Files | None = None) -> list[Recovered]:
        with self.opened(files) as repository:
            return recover_all(repository)

    def undo(self, repository: Repository | None = None) -> None:
        """Bring host and state back to before the import; what an open repository uses stays."""
        rooms = set() if repository is None else {Path(repository.room.path)}
        self.saved.restore(rooms)

    def wait_for_git(self) -> None:
        """Wait for the git of a process that was killed, which holds the lock of the launch."""
        with suppress(FileNotFoundError), (self._folder / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    # What was durable when it stopped

    def promised(self) -> Receipt | None:
        """The receipt that is there, or that the journal has for a pack that is visible."""
        written = self._folder / "receipt.json"
        if written.exists():
            return read_receipt(written.read_bytes())
        announced = self.announced()
        return announced[-1] if announced and self.is_visible(announced[-1]) else None

    def announced(self) -> list[Receipt]:
        """The receipts that the journal says are about to be true, in their order."""
        payloads, _ = frames((self._folder / "journal").read_bytes())
        events = [decode_event(payload) for payload in payloads]
        return [event.receipt for event in events if isinstance(event, Publishing)]

    def is_visible(self, receipt: Receipt) -> bool:
        return (self.packs / f"{receipt.pack.name}.idx").exists()

    # What must hold

    def check_host(self) -> None:
        """At any time: the host has what it had, and nothing new that git sees but a whole pack."""
        changed = self.saved.changed(self.common) - self._published - {L1}
        assert {name for name in changed if not _MAY_BE_LEFT.fullmatch(name)} == set()
        stems = {path.stem for path in self.packs.glob("*.idx")}
        assert [stem for stem in stems if not (self.packs / f"{stem}.pack").exists()] == []
        if any((self.common / name).exists() for name in self._published):
            assert self.fsck() == b""

    def check_recovered(self, repository: Repository) -> None:
        """After recovery: no leftovers; a receipt that is true, or no publication at all."""
        found = outcome(proven, repository, self.launch)
        if isinstance(found, Receipt):
            self.check_imported(found, repository)
        else:
            assert found.code.name == "noReceipt"
            self.check_no_leftovers(set(), repository)

    def there(self) -> set[str]:
        """The files of the publication that there are."""
        return {name for name in self._published if (self.common / name).exists()}

    def check_imported(self, receipt: Receipt, repository: Repository | None = None) -> None:
        """After an import: the whole publication and nothing else."""
        assert facts(receipt) == self.facts
        there = self.there()
        assert {Path(name).suffix for name in there} >= {".keep", ".pack", ".idx"}
        self.check_no_leftovers(there, repository)
        assert self.promised() == receipt
        assert self.fsck() == b""

    def check_discarded(self, repository: Repository) -> None:
        """After discarding: a pack that git may collect, or none."""
        there = self.there()
        assert {Path(name).suffix for name in there} in ({".idx", ".pack"}, set())
        self.check_no_leftovers(there, repository)
        assert self.fsck() == b""

    def check_no_leftovers(self, published: set[str], repository: Repository | None) -> None:
        assert self.saved.changed(self.common) - {L1} == published
        assert names(self.state) == {"format", "launches", "lock", "work"}
        assert names(self.state / "launches") == {self.launch}
        assert names(self._folder) <= _LAUNCH_FILES
        # What is in the room of an open repository goes with it.
        rooms = set() if repository is None else {Path(repository.room.path).name}
        assert names(self.state / "work") == {"lock"} | rooms

    def fsck(self) -> bytes:
        """What git fsck finds: nothing, unless something is wrong. It is asked once of a tree."""
        key = sha256(repr(sorted(tree(self.common).items())).encode()).digest()
        if key not in self._found:
            done = git(self.host.repo, "fsck", "--full", "--strict", "--no-dangling", check=False)
            self._found[key] = done.stdout + done.stderr
        return self._found[key]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
