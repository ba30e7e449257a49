"""What is done about an import that did not end: finished, or taken back, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from importer import place, quarantine, recover
from importer.errors import BASE_MISSING, STORE_CORRUPT, ImportFailed, ImportRefused
from importer.journal import opened, peeked
from importer.repository import Repository
from importer.world import World
from manifest.launch import Discarded, Event, Preparing, Publishing, Ready, Refused, Verified
from manifest.receipt import Receipt
from tests.support.launches import LAUNCH, Host, Scene, copy_host, launch, make_host
from tests.support.records import OTHER
from tests.support.worlds import Telling

STEM = "pack-" + "0f" * 20
KEEP = f"{STEM}.keep"
TEMPORARY = f"tmp_{KEEP}"


class Bench:
    """A launch that is open for recovery, and a lock that counts how often it is held."""

    def __init__(self, scene: Scene, repository: Repository, receipt: Receipt) -> None:
        self.scene = scene
        self.repository = repository
        self.receipt = receipt
        self.taken = 0
        # By the recovery that is in vain.
        self.again = 0
        self.is_held = False

    @contextmanager
    def lock(self) -> Iterator[None]:
        self.taken += 1
        self.is_held = True
        yield
        self.is_held = False

    @property
    def packs(self) -> Path:
        return self.scene.host.common / "objects" / "pack"

    @property
    def published(self) -> set[str]:
        return {path.name.removeprefix(STEM) for path in self.packs.glob(f"*{STEM}*")}

    def note(self, *events: Event) -> None:
        with opened(self.repository.state, LAUNCH, timeout=0) as file:
            for event in events:
                file.append(event)

    def settle(self) -> tuple[list[str], Receipt | None]:
        """Recover twice: what was removed, and the receipt; the second time is in vain."""
        with opened(self.repository.state, LAUNCH, timeout=0) as file:
            removed = recover.settle(self.repository, file, self.lock)
            taken = self.taken
            assert recover.settle(self.repository, file, self.lock) == []
            self.again = self.taken - taken
            self.taken = taken
            return removed, file.receipt()


@pytest.fixture(scope="module")
def mould(tmp_path_factory: pytest.TempPathFactory) -> tuple[Host, Receipt]:
    """A host that has a candidate's pack, published and let go again, and its receipt."""
    folder = tmp_path_factory.mktemp("host")
    host = make_host(folder)
    host.commit({"new.txt": b"new\n"})
    scene = launch(host, folder)
    scene.offer()
    receipt = scene.run().receipt
    packs = host.common / "objects" / "pack"
    (packs / f"{receipt.pack.name}.keep").unlink()
    for ending in (".pack", ".idx"):
        (packs / f"{receipt.pack.name}{ending}").rename(packs / f"{STEM}{ending}")
    pack = msgspec.structs.replace(receipt.pack, name=STEM)
    return host, msgspec.structs.replace(receipt, pack=pack)


@pytest.fixture
def made(mould: tuple[Host, Receipt], tmp_path: Path) -> Iterator[Bench]:
    """A launch on a copy of it, with the pack published and kept, and nothing in its journal."""
    host = copy_host(mould[0], tmp_path)
    scene = launch(host, tmp_path)
    with scene.opened(World(Telling())) as repository:
        bench = Bench(scene, repository, mould[1])
        (bench.packs / KEEP).write_text(f"git-candidate.keep/1\n{LAUNCH}\n")
        yield bench


# --- what is finished, and what is taken back -----------------------------------------------------


def test_where_nothing_was_left_nothing_is_done(made: Bench) -> None:
    made.note(Verified(at=1, artifact="a" * 64, candidate="c" * 40))
    files = made.repository.world.files
    assert isinstance(files, Telling)
    files.seen.clear()
    assert made.settle() == ([], None)
    assert (made.taken, made.again) == (0, 0)
    assert files.seen == ["create lock", "truncate lock", "write lock"]


def test_a_publication_that_is_whole_is_finished_with_the_receipt_of_the_journal(
    made: Bench,
) -> None:
    made.note(Publishing(at=1, receipt=made.receipt))
    assert made.settle() == ([], made.receipt)
    assert (made.taken, made.again) == (1, 0)
    assert made.published == {".pack", ".idx", ".keep"}


def test_a_publication_that_lost_its_keep_gets_another_one(made: Bench) -> None:
    made.note(Publishing(at=1, receipt=made.receipt))
    (made.packs / KEEP).unlink()
    assert made.settle() == ([], made.receipt)
    assert (made.packs / KEEP).read_text() == f"git-candidate.keep/1\n{LAUNCH}\n"


# A power failure may also have left it without its .keep.
HALVES = [
    (), (".keep",), (".keep", ".pack"), (".keep", ".pack", ".rev"), (".pack",), (".pack", ".rev"),
    (".idx",), (".keep", ".rev", ".idx"),
]  # fmt: skip


def _leave_only(bench: Bench, there: tuple[str, ...]) -> None:
    (bench.packs / f"{STEM}.rev").touch()
    for path in bench.packs.glob(f"{STEM}*"):
        if path.suffix not in there:
            path.unlink()


@pytest.mark.parametrize("there", HALVES, ids=repr)
def test_half_a_publication_is_taken_back(there: tuple[str, ...], made: Bench) -> None:
    made.note(Publishing(at=1, receipt=made.receipt))
    _leave_only(made, there)
    assert made.settle() == ([], None)
    assert (made.taken, made.again) == (1 if there else 0, 0)
    assert made.published == set()


def _cut(bench: Bench) -> None:
    index = bench.packs / f"{STEM}.idx"
    index.chmod(0o644)
    index.write_bytes(index.read_bytes()[:100])


def _other_commits(bench: Bench) -> None:
    bench.receipt = msgspec.structs.replace(bench.receipt, commits=["1" * 40])


def test_a_publication_with_another_index_is_told_and_left_as_it_is(made: Bench) -> None:
    _cut(made)
    made.note(Publishing(at=1, receipt=made.receipt))
    with pytest.raises(ImportFailed, match=f"{STEM}.idx has other bytes") as failed:
        made.settle()
    assert (failed.value.code, failed.value.retry) == (STORE_CORRUPT, False)
    assert made.published == {".pack", ".idx", ".keep"}


def test_a_publication_that_is_visible_and_not_what_was_meant_is_let_go(made: Bench) -> None:
    _other_commits(made)
    made.note(Publishing(at=1, receipt=made.receipt))
    assert made.settle() == ([], None)
    # Somebody may use what is visible.
    assert made.published == {".pack", ".idx"}


def test_a_publication_whose_base_is_gone_is_neither(made: Bench) -> None:
    receipt = msgspec.structs.replace(made.receipt, base="2" * 40)
    made.note(Publishing(at=1, receipt=receipt))
    with pytest.raises(ImportRefused) as refused:
        made.settle()
    assert refused.value.code is BASE_MISSING
    assert made.published == {".pack", ".idx", ".keep"}


def test_what_another_launch_published_for_both_is_kept_for_both(made: Bench) -> None:
    made.note(Publishing(at=1, receipt=made.receipt))
    (made.packs / KEEP).write_text(f"git-candidate.keep/1\n{OTHER}\n")
    assert made.settle() == ([], made.receipt)
    assert (made.packs / KEEP).read_text() == f"git-candidate.keep/1\n{LAUNCH}\n{OTHER}\n"


def test_the_last_publication_of_several_counts(made: Bench) -> None:
    other = msgspec.structs.replace(
        made.receipt, pack=msgspec.structs.replace(made.receipt.pack, name="pack-other")
    )
    made.note(Publishing(at=1, receipt=other), Refused(at=2, code="baseMissing"),
              Publishing(at=3, receipt=made.receipt))  # fmt: skip
    assert made.settle() == ([], made.receipt)


def _imported(bench: Bench) -> None:
    """Let the receipt be there, as after an import that is done."""
    bench.note(Publishing(at=1, receipt=bench.receipt))
    with opened(bench.repository.state, LAUNCH, timeout=0) as file:
        file.write_receipt(bench.receipt)


def test_an_import_that_is_done_is_left_alone(made: Bench) -> None:
    _imported(made)
    assert made.settle() == ([], made.receipt)
    assert (made.taken, made.again) == (0, 0)
    assert made.published == {".pack", ".idx", ".keep"}


@pytest.mark.parametrize("there", HALVES, ids=repr)
def test_half_of_a_repeated_publication_is_taken_back_but_for_the_bytes_of_the_receipt(
    there: tuple[str, ...], made: Bench
) -> None:
    """The pack of a receipt was lost, and the import that was to bring it again was killed.

    Or its index was lost, and nobody has the artifact any more: then the pack is the only copy.
    """
    _imported(made)
    _leave_only(made, there)
    left = set(there) if ".pack" in there else set()
    assert made.settle() == ([], made.receipt)
    assert (made.taken, made.again) == (0 if left or not there else 1, 0)
    assert made.published == left


def test_other_bytes_under_the_name_of_a_receipt_that_no_index_shows_are_taken_away(
    made: Bench,
) -> None:
    _imported(made)
    _leave_only(made, (".pack", ".keep"))
    pack = made.packs / f"{STEM}.pack"
    pack.unlink()
    pack.write_bytes(b"PACK, and something else")
    assert made.settle() == ([], made.receipt)
    assert made.published == set()


@pytest.mark.parametrize("there", [(".keep", ".pack"), (".keep",)], ids=repr)
def test_half_a_publication_that_another_launch_is_about_to_end_is_left(
    there: tuple[str, ...], made: Bench
) -> None:
    _imported(made)
    _leave_only(made, there)
    (made.packs / KEEP).write_text(f"git-candidate.keep/1\n{OTHER}\n")
    assert made.settle() == ([], made.receipt)
    assert (made.taken, made.again) == (0, 0)
    assert made.published == set(there)


@pytest.mark.parametrize("receipt", [True, False], ids=["with a receipt", "without one"])
def test_a_launch_that_was_discarded_lets_its_pack_go(receipt: bool, made: Bench) -> None:
    made.note(Publishing(at=1, receipt=made.receipt), Discarded(at=2))
    if receipt:
        with opened(made.repository.state, LAUNCH, timeout=0) as file:
            file.write_receipt(made.receipt)
    assert made.settle() == ([], made.receipt if receipt else None)
    assert made.published == {".pack", ".idx"}
    assert made.taken == 1


def test_a_launch_that_was_discarded_before_it_published_has_nothing_to_let_go(
    made: Bench,
) -> None:
    made.note(Discarded(at=2))
    assert made.settle() == ([], None)
    assert made.taken == 0
    assert made.published == {".pack", ".idx", ".keep"}


# --- what was prepared ---------------------------------------------------------------------------


def _prepared(made: Bench, mark: str = LAUNCH) -> Path:
    """The folder around the export folder, as a launch makes it; a part of it."""
    folder = made.scene.export.parent
    (folder / place.MARK).symlink_to(mark)
    (folder / place.HOME).mkdir()
    return folder / place.HOME


def _states(made: Bench) -> list[str]:
    with peeked(made.repository.state, LAUNCH) as file:
        return [str(event.__struct_config__.tag) for event in file.events]


def test_a_launch_whose_preparation_was_killed_is_given_up_once(made: Bench) -> None:
    home = _prepared(made)
    made.note(Preparing(at=1))
    assert made.settle() == ([str(home)], None)
    assert made.settle() == ([], None)
    assert _states(made) == ["launched", "preparing", "discarded"]
    assert not home.exists()


def test_a_launch_that_is_ready_is_left_alone(made: Bench) -> None:
    home = _prepared(made)
    made.note(Preparing(at=1), Ready(at=2))
    assert made.settle() == ([], None)
    assert _states(made) == ["launched", "preparing", "ready"]
    assert home.exists()


def test_that_it_was_given_up_is_durable_before_its_folder_goes(made: Bench) -> None:
    _prepared(made)
    made.note(Preparing(at=1), Discarded(at=2))
    files = made.repository.world.files
    assert isinstance(files, Telling)
    files.seen.clear()
    made.settle()
    assert files.seen.index("fsync journal") < files.seen.index("rmdir home")


@pytest.mark.parametrize("whose", ["of nobody's making", "of another launch"])
def test_a_folder_stays_that_is(whose: str, made: Bench) -> None:
    ours = whose == "of nobody's making"
    home = _prepared(made, LAUNCH if ours else OTHER)
    # Whoever recorded the first made the folder himself, whatever is called so in it.
    made.note(*([] if ours else [Preparing(at=1)]), Discarded(at=2))
    assert made.settle() == ([], None)
    assert home.exists()


# --- what is swept -------------------------------------------------------------------------------


def _leave(bench: Bench) -> list[str]:
    """What crashes leave, of this launch and of another one; the names of the first."""
    objects = bench.scene.host.common / "objects"
    ours = [f"{quarantine.prefix(LAUNCH)}{number}" for number in (1, 2)]
    for name in (*ours, f"{quarantine.prefix(OTHER)}1", "tmp_objdir-incoming-x"):
        (objects / name / "pack").mkdir(parents=True)
        (objects / name / "pack" / "tmp_pack_x").touch()
    (bench.scene.state / "launches" / LAUNCH / "tmp_staged").touch()
    return ["tmp_staged", *ours]


def test_what_it_left_is_swept_under_the_lock_and_what_others_left_is_not(made: Bench) -> None:
    left = _leave(made)
    objects = made.scene.host.common / "objects"
    assert made.settle() == (left, None)
    assert (made.taken, made.again) == (1, 0)
    assert sorted(path.name for path in objects.glob("tmp_*")) == [
        f"{quarantine.prefix(OTHER)}1", "tmp_objdir-incoming-x",
    ]  # fmt: skip


def test_nothing_of_the_store_is_removed_without_the_lock(
    made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = made.repository.world.files
    held: list[bool] = []
    remove = type(files).remove_folder

    def watched(name: str, *, at: int, **more: int) -> bool:
        if at == made.repository.objects:
            held.append(made.is_held)
        return remove(files, name, at=at, **more)

    _leave(made)
    monkeypatch.setattr(files, "remove_folder", watched)
    made.settle()
    assert held == [True, True]


def _publishing(leave: Callable[[Bench], object]) -> Callable[[Bench], None]:
    """Let an import be killed while it publishes."""

    def killed(bench: Bench) -> None:
        leave(bench)
        bench.note(Publishing(at=1, receipt=bench.receipt))

    return killed


def _unkept(bench: Bench) -> None:
    (bench.packs / KEEP).unlink()


def _unkept_with_a_receipt(bench: Bench) -> None:
    _imported(bench)
    _unkept(bench)


def _discarded(bench: Bench) -> None:
    bench.note(Publishing(at=1, receipt=bench.receipt), Discarded(at=2))


CHANGED: dict[str, Callable[[Bench], None]] = {
    "a pack without its keep": _publishing(_unkept),
    "a pack of a receipt without its keep": _unkept_with_a_receipt,
    "a pack that is not what was meant": _publishing(_other_commits),
    "half a pack": _publishing(lambda bench: _leave_only(bench, (".keep", ".pack"))),
    "a keep that was being written": _publishing(lambda bench: (bench.packs / TEMPORARY).touch()),
    "a launch that was discarded": _discarded,
}


@pytest.mark.parametrize("leave", CHANGED.values(), ids=CHANGED)
def test_no_name_beside_the_packs_comes_or_goes_without_the_lock(
    leave: Callable[[Bench], None], made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = made.repository.world.files
    held: list[bool] = []

    def watch(method: str) -> None:
        change = getattr(files, method)

        def watched(name: str, *arguments: bytes, at: int, **more: int) -> object:
            if at == made.repository.packs:
                held.append(made.is_held)
            return change(name, *arguments, at=at, **more)

        monkeypatch.setattr(files, method, watched)

    leave(made)
    for method in ("swap", "remove"):
        watch(method)
    made.settle()
    assert set(held) == {True}


def test_a_keep_that_was_being_written_is_swept(made: Bench) -> None:
    for name in (TEMPORARY, "tmp_pack-other.keep"):
        (made.packs / name).touch()
    made.note(Publishing(at=1, receipt=made.receipt))
    assert made.settle() == ([TEMPORARY], made.receipt)
    assert [path.name for path in made.packs.glob("tmp_*")] == ["tmp_pack-other.keep"]


def test_the_keep_of_a_pack_is_not_swept_for_a_launch_that_published_nothing(made: Bench) -> None:
    (made.packs / TEMPORARY).touch()
    assert made.settle() == ([], None)
    assert (made.packs / TEMPORARY).exists()


def test_it_is_durable_what_recovery_rests_on(made: Bench) -> None:
    made.note(Publishing(at=1, receipt=made.receipt))
    files = made.repository.world.files
    assert isinstance(files, Telling)
    files.seen.clear()
    made.settle()
    order = [told for told in files.seen if told.startswith(("fsync", "rename"))]
    assert order == [
        "fsync journal", "fsync pack", "fsync tmp_receipt.json",
        "rename tmp_receipt.json receipt.json", f"fsync {LAUNCH}",
    ]  # fmt: skip
