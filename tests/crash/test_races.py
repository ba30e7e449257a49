"""Two imports at once, and imports beside what people and timers do in a repository."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from importer import keep
from importer.durable import Files
from importer.errors import ImportFailed, ImportRefused
from importer.launches import discard, proven
from importer.lock import L1
from importer.repository import Repository
from importer.steps import ImportResult, import_candidate
from manifest.receipt import Receipt, read_receipt, write_receipt
from tests.support.aftermath import Ground, facts, names, outcome, saying
from tests.support.faults import Saved, ended, started
from tests.support.gitrepo import clean_env, git
from tests.support.launches import Host, Scene, copy_host, launch

ROUNDS = 50
OTHER = "cd" * 16


def _tell(ground: Ground, place: Path) -> None:
    place.write_bytes(write_receipt(ground.run().receipt))


def _both(grounds: tuple[Ground, Ground], folder: Path) -> list[Receipt]:
    """Import twice at once; the receipts."""
    places = [folder / "first", folder / "second"]
    pids = [started(_tell, one, place) for one, place in zip(grounds, places, strict=True)]
    assert [ended(pid) for pid in pids] == [0, 0]
    return [read_receipt(place.read_bytes()) for place in places]


def test_two_imports_of_a_launch_are_one(ground: Ground, tmp_path: Path) -> None:
    for number in range(ROUNDS // 2):
        with saying(f"round {number}"):
            first, second = _both((ground, ground), tmp_path)
            assert first == second
            assert ground.announced() == [first]
            ground.check_imported(first)
            ground.undo()


@pytest.fixture(scope="module")
def both_grounds(
    small_host: Host, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Ground, Ground]:
    """Two launches on one host that bring the same pack."""
    folder = tmp_path_factory.mktemp("pair")
    host = copy_host(small_host, folder)
    return Ground(host, folder), Ground(host, folder, name=OTHER)


@pytest.fixture
def pair(both_grounds: tuple[Ground, Ground]) -> Iterator[tuple[Ground, Ground]]:
    yield both_grounds
    # The second one has seen both launches.
    both_grounds[1].undo()


def _resting(ground: Ground, receipt: Receipt) -> set[str] | None:
    """The launches that rest on a pack."""
    files = Files()
    with files.folder(str(ground.packs)) as packs:
        return keep.read(files, f"{receipt.pack.name}.keep", at=packs)


def test_two_imports_of_the_same_pack_publish_it_once(
    pair: tuple[Ground, Ground], tmp_path: Path
) -> None:
    first, other = pair
    for number in range(ROUNDS // 2):
        with saying(f"round {number}"):
            receipts = _both(pair, tmp_path)
            told = [facts(receipt) for receipt in receipts]
            assert told == [first.facts, other.facts]
            assert told[0] | {"launch": OTHER} == told[1]
            stem = receipts[0].pack.name
            assert _resting(first, receipts[0]) == {first.launch, OTHER}
            changed = other.saved.changed(other.common) - {L1}
            endings = {path.removeprefix(f"objects/pack/{stem}") for path in changed}
            assert endings - {".rev"} == {".keep", ".pack", ".idx"}
            assert names(other.state / "work") == {"lock"}
            assert other.fsck() == b""
            other.undo()


def test_a_pack_stays_until_the_last_launch_that_rests_on_it_is_discarded(
    pair: tuple[Ground, Ground],
) -> None:
    first, other = pair
    repo, candidate = first.host.repo, first.host.candidate
    receipt = first.run().receipt
    other.run()
    with other.opened() as repository:
        discard(repository, first.launch)
        git(repo, "gc", "-q", "--prune=now")
        assert _resting(first, receipt) == {OTHER}
        assert proven(repository, OTHER).candidate == candidate
        found = outcome(proven, repository, first.launch)
        assert isinstance(found, ImportRefused)
        discard(repository, OTHER)
        assert _resting(first, receipt) is None
        assert git(repo, "cat-file", "-e", candidate, check=False).returncode == 0
        git(repo, "gc", "-q", "--prune=now")
        assert git(repo, "cat-file", "-e", candidate, check=False).returncode == 1
    assert other.fsck() == b""


# Beside git that works on the same objects

# For each of four; what is in $bundles is fetched in turn.
IMPORTS = 13
GIT = {
    "git gc": "git gc -q",
    "git repack -ad": "git repack -adq",
    "git fetch": 'for each in $bundles; do git fetch -q "$each" refs/heads/candidate; done',
    "git gc --prune=now": "git gc -q --prune=now",
}


class Many:
    """A host and many launches, each of which brings a candidate of its own."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.repo = host.repo
        self.scenes: list[Scene] = []
        for number in range(IMPORTS):
            one = Host(host.repo, host.base, host.fmt, host.producer)
            one.commit({f"dir0/new{number}.txt": b"%d\n" % number})
            self.scenes.append(launch(one, folder, name=f"{number:032x}"))
            self.scenes[-1].offer()
        self.saved = Saved(host.common, folder / "state")
        candidates = [scene.host.candidate for scene in self.scenes]
        made = git(host.producer, "rev-list", "--objects", "--no-object-names", *candidates).stdout
        every = git(host.repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        self._objects = made + every.stdout
        self._kept = self._known()

    def _known(self) -> list[bytes]:
        """What no import and no maintenance changes."""
        folder = self.repo / ".git"
        refs = git(self.repo, "for-each-ref").stdout
        return [refs, *((folder / name).read_bytes() for name in ("HEAD", "config", "index"))]

    def check(self, repository: Repository) -> None:
        """All that the host had and all that was imported is there, and every receipt is true."""
        assert self._known() == self._kept
        told = git(self.repo, "cat-file", "--batch-check", input=self._objects).stdout
        assert [line for line in told.splitlines() if line.endswith(b"missing")] == []
        done = git(self.repo, "fsck", "--full", "--strict", "--no-dangling", check=False)
        assert done.stdout + done.stderr == b""
        for scene in self.scenes:
            assert proven(repository, scene.record.launch).candidate == scene.host.candidate
        objects = self.repo / ".git" / "objects"
        assert list(objects.glob("tmp_*")) + list(objects.glob("pack/tmp_*")) == []


@pytest.fixture(scope="module")
def all_launches(small_host: Host, tmp_path_factory: pytest.TempPathFactory) -> Many:
    folder = tmp_path_factory.mktemp("many")
    return Many(copy_host(small_host, folder), folder)


@pytest.fixture
def many(all_launches: Many) -> Iterator[Many]:
    yield all_launches
    all_launches.saved.restore()


@contextmanager
def _repeated(many: Many, folder: Path, command: str) -> Iterator[None]:
    """Inside of the block git does something in the repository again and again."""
    going = folder / "going"
    going.touch()
    bundles = " ".join(str(scene.export / scene.record.artifact) for scene in many.scenes)
    script = f"bundles={shlex.quote(bundles)}; while [ -e {going} ]; do {command}; done"
    process = subprocess.Popen(["sh", "-ec", script], cwd=many.repo, env=clean_env(many.repo))
    try:
        yield
    finally:
        going.unlink()
        assert process.wait(60) == 0


def _import(repository: Repository, name: str) -> int:
    """Import, as often as it fails because its quarantine is swept; how often it did."""
    for failures in range(1_000):
        found = outcome(import_candidate, repository, name)
        if isinstance(found, ImportResult):
            return failures
        assert isinstance(found, ImportFailed)
        assert found.retry
    pytest.fail("it is swept each time")


@pytest.mark.parametrize("command", GIT.values(), ids=GIT)
def test_nothing_is_lost_beside(many: Many, tmp_path: Path, command: str) -> None:
    with many.scenes[0].opened() as repository:
        with _repeated(many, tmp_path, command):
            swept = sum(_import(repository, scene.record.launch) for scene in many.scenes)
        assert not swept or "prune" in command
        many.check(repository)
        git(many.repo, "gc", "-q", "--prune=now")
        many.check(repository)
