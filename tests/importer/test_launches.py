"""What is asked of launches beside an import: show, list, prove, recover, discard."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from importer.errors import (
    BASE_MISSING,
    LAUNCH_UNKNOWN,
    LOCK_BUSY,
    NO_RECEIPT,
    RECEIPT_CONTRADICTED,
    REPOSITORY_CHANGED,
    STATE_CORRUPT,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.journal import opened
from importer.launches import Listing, discard, listed, proven, recover_all, show
from importer.lock import L1
from importer.repository import Repository
from importer.state import State
from importer.steps import Step, import_candidate
from importer.world import World
from manifest.launch import Event, Preparing, Publishing, Ready, Refused, Verified
from tests.support import dying
from tests.support.files import open_descriptors
from tests.support.gitrepo import git
from tests.support.launches import LAUNCH, Host, Scene, copy_host, launch
from tests.support.records import OTHER, launch_record, receipt_record
from tests.support.worlds import Clock

THIRD = "ef" * 16


@pytest.fixture
def scene(host: Host, tmp_path: Path) -> Scene:
    made = launch(host, tmp_path, world=Clock(5).world())
    made.offer()
    return made


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    """A state folder without a repository, and one launch in it, of second 5."""
    with State(str(tmp_path / "state"), Clock(5).world()) as made:
        made.add(launch_record())
        yield made


def note(state: State, *events: Event, name: str = LAUNCH) -> None:
    with opened(state, name, timeout=0) as file:
        for event in events:
            file.append(event)


def keeps(host: Host) -> dict[str, str]:
    return {path.name: path.read_text()
            for path in (host.common / "objects" / "pack").glob("*.keep")}  # fmt: skip


# --- show and list -------------------------------------------------------------------------------

VERIFIED = Verified(at=6, artifact="a" * 64, candidate="c" * 40)
REFUSED = Refused(at=7, code="originUnsafe")
STATES: dict[str, tuple[list[Event], str]] = {
    "nothing": ([], "launched"),
    "a preparation": ([Preparing(at=6)], "preparing"),
    "the end of a preparation": ([Preparing(at=6), Ready(at=7)], "ready"),
    "a verdict": ([VERIFIED], "verified"),
    "a refusal": ([REFUSED], "refused"),
    "a refusal after a verdict": ([VERIFIED, REFUSED], "refused"),
    "a verdict after a refusal": ([REFUSED, VERIFIED], "verified"),
    "a publication": ([VERIFIED, Publishing(at=8, receipt=receipt_record())], "publishing"),
}


@pytest.mark.parametrize(("events", "name"), STATES.values(), ids=STATES)
def test_the_state_of_a_launch_is_what_happened_last(
    events: list[Event], name: str, state: State
) -> None:
    note(state, *events)
    before = open_descriptors()
    shown = show(state, LAUNCH)
    assert shown == (launch_record(), name, 5, None, None)
    assert open_descriptors() == before


def test_a_receipt_says_that_an_import_is_done_and_a_discard_comes_last(scene: Scene) -> None:
    receipt = scene.run().receipt
    with scene.opened() as repository:
        shown = show(repository.state, LAUNCH)
        assert (shown.state, shown.receipt, shown.refusal) == ("imported", receipt, None)
        note(repository.state, REFUSED)
        assert show(repository.state, LAUNCH).state == "imported"
        assert discard(repository, LAUNCH).state == "discarded"
        assert show(repository.state, LAUNCH) == shown._replace(state="discarded")


@pytest.mark.parametrize("name", [OTHER, "..", "a/b", ""])
def test_a_launch_that_is_not_there_is_unknown_to_all(name: str, scene: Scene) -> None:
    with scene.opened() as repository:
        for ask in (
            lambda: show(repository.state, name),
            lambda: proven(repository, name),
            lambda: discard(repository, name),
            lambda: import_candidate(repository, name),
        ):
            with pytest.raises(ImportRefused) as refused:
                ask()
            assert refused.value.code is LAUNCH_UNKNOWN


def test_a_launch_may_be_shown_while_somebody_works_on_it(state: State) -> None:
    with opened(state, LAUNCH, timeout=0) as file:
        file.append(VERIFIED)
        assert show(state, LAUNCH).state == "verified"


def test_launches_are_listed_by_their_age_and_then_by_their_names(tmp_path: Path) -> None:
    for name, second in ((THIRD, 1), (OTHER, 3), (LAUNCH, 3)):
        with State(str(tmp_path / "state"), Clock(second).world()) as made:
            made.add(launch_record(name))
    with State(str(tmp_path / "state")) as made:
        listing = listed(made)
        assert [one.record.launch for one in listing.shown] == [THIRD, LAUNCH, OTHER]
        assert [one.at for one in listing.shown] == [1, 3, 3]
        assert listing.damaged == {}


def _no_journal(place: Path) -> None:
    (place / "journal").unlink()


def _cut(place: Path) -> None:
    os.truncate(place / "journal", 20)


def _bad_receipt(place: Path) -> None:
    (place / "receipt.json").write_bytes(b"{}\n")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "without a journal": _no_journal,
    "whose journal is cut": _cut,
    "whose receipt is damaged": _bad_receipt,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_launch_is_told_of_and_hides_no_other(
    damage: Callable[[Path], None], state: State, tmp_path: Path
) -> None:
    state.add(launch_record(OTHER))
    damage(tmp_path / "state" / "launches" / LAUNCH)
    before = open_descriptors()
    listing = listed(state)
    assert [one.record.launch for one in listing.shown] == [OTHER]
    assert {name: error.code for name, error in listing.damaged.items()} == {LAUNCH: STATE_CORRUPT}
    with pytest.raises(ImportFailed, match="stateCorrupt"):
        show(state, LAUNCH)
    assert open_descriptors() == before


def test_launches_that_cannot_be_listed_are_a_failure_by_code(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_at: int) -> list[str]:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(state.world.files, "names", fail)
    with pytest.raises(ImportFailed, match="fileFailed: Input/output error"):
        listed(state)


def test_a_state_without_launches_lists_none(tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as made:
        assert listed(made) == Listing([], {})


# --- proven --------------------------------------------------------------------------------------


def _refusal(ask: Callable[[], object]) -> ImporterError:
    with pytest.raises(ImporterError) as raised:
        ask()
    return raised.value


def test_a35_a_receipt_is_proven_each_time_it_is_asked_for(scene: Scene) -> None:
    receipt = scene.run().receipt
    with scene.opened() as repository:
        assert proven(repository, LAUNCH) == receipt
        assert proven(repository, LAUNCH) == receipt
        index = scene.host.common / "objects" / "pack" / f"{receipt.pack.name}.idx"
        index.unlink()
        assert _refusal(lambda: proven(repository, LAUNCH)).code is RECEIPT_CONTRADICTED
        # It was only asked; the receipt stays as a record.
        assert show(repository.state, LAUNCH).receipt == receipt


def test_the_base_is_proven_as_well(scene: Scene) -> None:
    # The pack does not keep it: it may go once no ref leads to it any more.
    scene.run()
    for path in (scene.host.common / "objects" / "pack").iterdir():
        if f"{path.stem}.keep" not in keeps(scene.host):
            path.unlink()
    with scene.opened() as repository:
        assert _refusal(lambda: proven(repository, LAUNCH)).code is BASE_MISSING


def test_without_a_receipt_nothing_is_proven(scene: Scene) -> None:
    with scene.opened() as repository:
        assert _refusal(lambda: proven(repository, LAUNCH)).code is NO_RECEIPT
        import_candidate(repository, LAUNCH)
        discard(repository, LAUNCH)
        assert _refusal(lambda: proven(repository, LAUNCH)).code is NO_RECEIPT


def test_another_repository_proves_nothing_and_discards_nothing(
    scene: Scene, made_host: Host, tmp_path: Path
) -> None:
    scene.run()
    (tmp_path / "second").mkdir()
    other = copy_host(made_host, tmp_path / "second")
    before = keeps(scene.host)
    with State(str(scene.state)) as made, Repository(str(other.repo), made) as repository:
        assert _refusal(lambda: proven(repository, LAUNCH)).code is REPOSITORY_CHANGED
        assert _refusal(lambda: discard(repository, LAUNCH)).code is REPOSITORY_CHANGED
        assert show(made, LAUNCH).state == "imported"
    assert keeps(scene.host) == before


# --- recover all ---------------------------------------------------------------------------------


def test_every_launch_is_recovered_and_told(scene: Scene, tmp_path: Path) -> None:
    dying.die_at(scene, Step.READ_BACK)
    second = launch(scene.host, tmp_path, name=OTHER)
    second.offer()
    before = open_descriptors()
    with scene.opened() as repository:
        found = {one.launch: one for one in recover_all(repository)}
        assert {name: (one.state, one.error) for name, one in found.items()} == {
            LAUNCH: ("imported", None), OTHER: ("launched", None),
        }  # fmt: skip
        assert [one.removed for one in recover_all(repository)] == [[], []]
    assert open_descriptors() == before


def test_launches_of_other_repositories_are_left_alone(
    scene: Scene, made_host: Host, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    other = copy_host(made_host, tmp_path / "second")
    shutil.copytree(scene.state, tmp_path / "second" / "state")
    foreign = launch(other, tmp_path / "second", name=OTHER)
    foreign.offer()
    dying.die_at(scene, Step.READ_BACK)
    place = tmp_path / "second" / "state" / "launches" / OTHER
    shutil.copytree(place, scene.state / "launches" / OTHER)
    (scene.state / "launches" / OTHER / "tmp_staged").touch()
    with scene.opened() as repository:
        assert [one.launch for one in recover_all(repository)] == [LAUNCH]
    assert (scene.state / "launches" / OTHER / "tmp_staged").exists()


def test_launches_of_a_repository_that_was_moved_are_recovered(scene: Scene) -> None:
    dying.die_at(scene, Step.READ_BACK)
    scene.host.repo = scene.host.repo.rename(scene.folder / "moved")
    with scene.opened() as repository:
        (one,) = recover_all(repository)
    assert (one.launch, one.state, one.error) == (LAUNCH, "imported", None)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_launch_that_cannot_be_recovered_does_not_stop_the_others(
    damage: Callable[[Path], None], scene: Scene, tmp_path: Path
) -> None:
    dying.die_at(scene, Step.READ_BACK)
    # Its id stands before and after the other one.
    for name in ("00" * 16, "ff" * 16):
        launch(scene.host, tmp_path, name=name)
        damage(scene.state / "launches" / name)
    with scene.opened() as repository:
        first, one, last = recover_all(repository)
    assert (one.launch, one.state) == (LAUNCH, "imported")
    for other in (first, last):
        assert (other.state, other.removed) == ("", [])
        assert other.error is not None
        assert other.error.code is STATE_CORRUPT


def test_a_launch_that_somebody_works_on_is_told_and_not_touched(scene: Scene) -> None:
    (scene.state / "launches" / LAUNCH / "tmp_staged").touch()
    clock = Clock(step=1)
    with State(str(scene.state)) as busy, opened(busy, LAUNCH, timeout=0):
        with scene.opened(clock.world()) as repository:
            (one,) = recover_all(repository)
        assert one.error is not None
        assert one.error.code is LOCK_BUSY
        # Whoever works on it recovers it as well.
        assert sum(clock.slept) <= 10
        assert (scene.state / "launches" / LAUNCH / "tmp_staged").exists()


def test_a_launch_of_another_repository_is_not_waited_for(
    scene: Scene, made_host: Host, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    other = copy_host(made_host, tmp_path / "second")
    clock = Clock()
    with (
        State(str(scene.state)) as busy,
        opened(busy, LAUNCH, timeout=0),
        State(str(scene.state), clock.world()) as made,
        Repository(str(other.repo), made) as repository,
    ):
        assert recover_all(repository) == []
    assert clock.slept == []


def test_half_a_launch_whose_making_was_killed_is_swept_as_well(scene: Scene) -> None:
    half = scene.state / "launches" / f"tmp_{OTHER}"
    half.mkdir()
    (half / "journal").write_bytes(b"half")
    with scene.opened() as repository:
        assert [one.launch for one in recover_all(repository)] == [LAUNCH]
    assert not half.exists()


def test_rooms_of_dead_processes_are_swept_as_well(scene: Scene) -> None:
    (scene.state / "work" / ("de" * 8)).mkdir()
    with scene.opened() as repository:
        recover_all(repository)
    assert [path.name for path in (scene.state / "work").iterdir()] == ["lock"]


def test_the_lock_of_an_engine_is_taken_for_recovery_and_discarding(scene: Scene) -> None:
    taken = []

    @contextmanager
    def lock() -> Iterator[None]:
        taken.append("in")
        yield
        taken.append("out")

    dying.die_linking(scene, ".idx")
    (scene.host.common / L1).unlink()
    with scene.opened() as repository:
        recover_all(repository, lock=lock)
        # For the quarantine, and for half of a pack.
        assert taken == ["in", "out"] * 2
        import_candidate(repository, LAUNCH, lock=lock)
        taken.clear()
        discard(repository, LAUNCH, lock=lock)
        assert taken == ["in", "out"]
    assert not (scene.host.common / L1).exists()


# --- discard -------------------------------------------------------------------------------------


def test_a_launch_is_discarded_once_and_the_answer_stays_the_same(scene: Scene) -> None:
    receipt = scene.run().receipt
    with scene.opened(Clock(9).world()) as repository:
        first = discard(repository, LAUNCH)
        assert (first.state, first.receipt) == ("discarded", receipt)
        assert keeps(scene.host) == {}
        journal = (scene.state / "launches" / LAUNCH / "journal").read_bytes()
        assert discard(repository, LAUNCH) == first
        assert (scene.state / "launches" / LAUNCH / "journal").read_bytes() == journal
    git(scene.host.repo, "gc", "-q", "--prune=now")
    gone = git(scene.host.repo, "cat-file", "-e", receipt.candidate, check=False)
    assert gone.returncode != 0


def test_a_launch_that_imported_nothing_is_discarded(scene: Scene) -> None:
    with scene.opened() as repository:
        assert discard(repository, LAUNCH).state == "discarded"
        (one,) = recover_all(repository)
        assert one.state == "discarded"
    assert not (scene.host.common / L1).exists()


def test_a_pack_stays_while_another_launch_rests_on_it(scene: Scene, tmp_path: Path) -> None:
    second = launch(scene.host, tmp_path, name=OTHER)
    second.offer()
    first = scene.run().receipt
    assert second.run().receipt.pack == first.pack
    with scene.opened() as repository:
        discard(repository, LAUNCH)
        git(scene.host.repo, "gc", "-q", "--prune=now")
        assert proven(repository, OTHER).candidate == first.candidate
        assert list(keeps(scene.host).values()) == [f"git-candidate.keep/1\n{OTHER}\n"]
        discard(repository, OTHER)
    assert keeps(scene.host) == {}


# --- our own lock --------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o022, 0o077], ids=oct)
def test_all_who_share_a_repository_can_hold_its_lock(mask: int, scene: Scene) -> None:
    objects = scene.host.common / "objects"
    objects.chmod(0o2775)
    before = os.umask(mask)
    try:
        with scene.opened(World()) as repository, repository.lock(LAUNCH, 0):
            path = scene.host.common / L1
            assert path.stat().st_mode & 0o777 == 0o660
            assert path.read_text().startswith(f"process {os.getpid()} for launch {LAUNCH} since")
    finally:
        os.umask(before)
