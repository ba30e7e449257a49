"""What a dead process wrote may not be durable: recovery makes it so before it rests on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from importer.durable import Files, identity
from importer.launches import discard, recover_all, show
from importer.state import State
from importer.steps import Step
from importer.world import World
from tests.support import dying
from tests.support.gitrepo import git
from tests.support.launches import LAUNCH, Scene, launch, make_host


class Noting(Files):
    """Files that note what is made durable, published and removed."""

    def __init__(self) -> None:
        self.noted: list[object] = []

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.noted.append(identity(os.fstat(descriptor)))

    def rename(self, name: str, new: str, *, at: int) -> None:
        super().rename(name, new, at=at)
        self.noted.append(new)

    def remove(self, name: str, *, at: int) -> bool:
        self.noted.append(name)
        return super().remove(name, at=at)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    host = make_host(tmp_path)
    host.commit({"new.txt": b"new\n"})
    made = launch(host, tmp_path)
    made.offer()
    return made


def recovered(scene: Scene, files: Files | None = None) -> str:
    with scene.opened(World(files)) as repository:
        (one,) = recover_all(repository)
    assert one.error is None
    return one.state


def keeps(scene: Scene) -> list[Path]:
    return sorted((scene.host.common / "objects" / "pack").glob("*.keep"))


def journal(scene: Scene) -> Path:
    return scene.state / "launches" / LAUNCH / "journal"


def test_names_are_durable_before_a_receipt_says_so(scene: Scene) -> None:
    dying.die_linking(scene, ".idx", after=True)
    files = Noting()
    assert recovered(scene, files) == "imported"
    receipt = files.noted.index("receipt.json")
    for path in (scene.host.common / "objects" / "pack", journal(scene)):
        assert files.noted.index(identity(path.stat())) < receipt


def test_a_keep_that_the_power_failure_took_is_there_again(scene: Scene) -> None:
    dying.die_at(scene, Step.READ_BACK)
    (keep,) = keeps(scene)
    before = keep.read_bytes()
    keep.unlink()
    assert recovered(scene) == "imported"
    assert [path.read_bytes() for path in keeps(scene)] == [before]
    git(scene.host.repo, "gc", "--prune=now", "-q")
    assert git(scene.host.repo, "cat-file", "-t", scene.host.candidate).stdout == b"commit\n"


def test_a_keep_that_somebody_took_away_is_there_again(scene: Scene) -> None:
    receipt = scene.run().receipt
    (keep,) = keeps(scene)
    before = keep.read_bytes()
    for restore in (lambda: scene.run().receipt, lambda: recovered(scene)):
        keep.unlink()
        assert restore() in (receipt, "imported")
        assert keep.read_bytes() == before


def test_a_launch_rests_on_the_pack_that_another_one_published_for_it(scene: Scene) -> None:
    dying.die_linking(scene, ".idx")
    assert recovered(scene) == "publishing"
    other = launch(scene.host, scene.folder, name="cd" * 16)
    other.offer()
    other.run()
    with scene.opened() as repository:
        assert [one.state for one in recover_all(repository)] == ["imported", "imported"]
        discard(repository, other.record.launch)
    assert [path.read_text() for path in keeps(scene)] == [f"git-candidate.keep/1\n{LAUNCH}\n"]


def test_a_discard_is_durable_before_its_line_goes(scene: Scene) -> None:
    scene.run()
    with State(str(scene.state)) as state:
        assert show(state, LAUNCH).state == "imported"
    (keep,) = keeps(scene)
    with pytest.raises(dying.Died), scene.opened(World(_DyingAtTheJournal())) as repository:
        discard(repository, LAUNCH)
    assert keeps(scene) == [keep]
    files = Noting()
    assert recovered(scene, files) == "discarded"
    assert not keeps(scene)
    order = files.noted
    assert order.index(identity(journal(scene).stat())) < order.index(keep.name)


class _DyingAtTheJournal(dying.Dying):
    """Files of a process that dies before its first event is durable."""

    def __init__(self) -> None:
        super().__init__()
        self._synced = False

    def sync(self, descriptor: int) -> None:
        # What was there before is made durable first.
        if self._synced:
            self.die()
        super().sync(descriptor)
        self._synced = True
