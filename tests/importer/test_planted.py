"""Names that the importer is going to use, and that somebody else has planted before it comes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

import pytest

from importer import quarantine
from importer.errors import (
    REPOSITORY_CHANGED,
    STATE_CORRUPT,
    STORE_CORRUPT,
    ImportFailed,
    ImportRefused,
)
from importer.launches import discard, proven, recover_all
from importer.steps import Step, import_candidate
from tests.support.faults import tree
from tests.support.gitrepo import git
from tests.support.launches import LAUNCH, Host, Scene, copy_host, launch, make_host
from tests.support.records import OTHER


class Foreseen(NamedTuple):
    """What a producer knows of its own publication: names and files."""

    host: Host
    bundle: bytes
    pack: bytes
    idx: bytes

    def stem(self, number: int = 0) -> str:
        text = f"git-candidate {number} pack-{self.pack[-20:].hex()}"
        return f"pack-{sha1(text.encode(), usedforsecurity=False).hexdigest()}"


@pytest.fixture(scope="module")
def foreseen(tmp_path_factory: pytest.TempPathFactory) -> Foreseen:
    folder = tmp_path_factory.mktemp("foreseen")
    host = make_host(folder)
    host.commit({"good": b"the verified content\n", "evil": b"other content in its place\n"})
    bundle = host.bundle()
    pack = bundle[bundle.index(b"PACK") :]
    (folder / "own.pack").write_bytes(pack)
    git(folder, "index-pack", str(folder / "own.pack"))
    return Foreseen(host, bundle, pack, (folder / "own.idx").read_bytes())


@pytest.fixture
def scene(foreseen: Foreseen, tmp_path: Path) -> Iterator[Scene]:
    made = launch(copy_host(foreseen.host, tmp_path), tmp_path)
    made.offer(foreseen.bundle)
    yield made
    # Deeper than what pytest can remove.
    subprocess.run(["rm", "-rf", str(made.host.common / "objects")], check=True)


def packs_of(scene: Scene) -> Path:
    return scene.host.common / "objects" / "pack"


def _other_index(foreseen: Foreseen) -> bytes:
    """An index as long as ours, by which git reads one blob for another."""
    content = bytearray(foreseen.idx)
    count = int.from_bytes(content[8 + 255 * 4 : 8 + 256 * 4], "big")
    ids = 8 + 256 * 4
    places = []
    for text in (b"the verified content\n", b"other content in its place\n"):
        oid = sha1(b"blob %d\0%b" % (len(text), text), usedforsecurity=False).digest()
        places.append((content.index(oid, ids) - ids) // 20)
    for begin in (ids + 20 * count, ids + 24 * count):
        good, evil = (slice(begin + 4 * place, begin + 4 * place + 4) for place in places)
        content[good] = content[evil]
    content[-20:] = sha1(content[:-20], usedforsecurity=False).digest()
    return bytes(content)


# What is planted, and under which ending.
PLANTED: dict[str, tuple[str, Callable[[Path, Foreseen], object]]] = {
    "an index of the same size that swaps two blobs": (
        ".idx", lambda path, foreseen: path.write_bytes(_other_index(foreseen)),
    ),
    "an index that is a link to the right one": (
        ".idx", lambda path, foreseen: _linked(path, foreseen.idx),
    ),
    "an index that is a FIFO": (".idx", lambda path, _: os.mkfifo(path)),
    "an index that is a folder": (".idx", lambda path, _: path.mkdir()),
    "a pack of another size": (".pack", lambda path, foreseen: path.write_bytes(foreseen.pack[1:])),
    "a pack that is a link to the right one": (
        ".pack", lambda path, foreseen: _linked(path, foreseen.pack),
    ),
    "a pack that is a link to nothing": (".pack", lambda path, _: path.symlink_to("nowhere")),
    "a pack that is a FIFO": (".pack", lambda path, _: os.mkfifo(path)),
    "a pack that is a folder": (".pack", lambda path, _: path.mkdir()),
    "a reverse index that git did not make": (".rev", lambda path, _: path.write_bytes(b"junk")),
}  # fmt: skip


def _linked(path: Path, content: bytes) -> None:
    path.with_name("right").write_bytes(content)
    path.symlink_to("right")


def _git_says(scene: Scene, name: str) -> bytes:
    return git(scene.host.repo, "show", f"{scene.host.candidate}:{name}").stdout


@pytest.mark.parametrize(("ending", "plant"), PLANTED.values(), ids=PLANTED)
def test_a_number_under_which_anything_stands_that_we_do_not_keep_is_passed_over(
    ending: str, plant: Callable[[Path, Foreseen], object], scene: Scene, foreseen: Foreseen
) -> None:
    plant(packs_of(scene) / f"{foreseen.stem()}{ending}", foreseen)
    before = tree(packs_of(scene))
    receipt = scene.run().receipt
    assert receipt.pack.name == foreseen.stem(1)
    assert before.items() <= tree(packs_of(scene)).items()
    assert _git_says(scene, "good") == b"the verified content\n"


@pytest.mark.parametrize(("ending", "plant"), PLANTED.values(), ids=PLANTED)
def test_what_stands_beside_a_keep_of_ours_is_the_same_or_nothing_is_changed(
    ending: str, plant: Callable[[Path, Foreseen], object], scene: Scene, foreseen: Foreseen
) -> None:
    plant(packs_of(scene) / f"{foreseen.stem()}{ending}", foreseen)
    (packs_of(scene) / f"{foreseen.stem()}.keep").write_text(f"git-candidate.keep/1\n{OTHER}\n")
    before = tree(scene.host.common / "objects")
    with scene.opened() as repository:
        for _ in range(2):
            with pytest.raises(ImportFailed) as failed:
                import_candidate(repository, LAUNCH)
            assert (failed.value.code, failed.value.retry) == (STORE_CORRUPT, False)
            assert (failed.value.step, foreseen.stem() in failed.value.message) == (9, True)
            assert [one.error for one in recover_all(repository)] == [None]
            assert tree(scene.host.common / "objects") == before
        discard(repository, LAUNCH)
    assert tree(scene.host.common / "objects") == before


def test_a_reverse_index_of_another_git_is_no_matter_once_its_pack_is_published(
    scene: Scene, tmp_path: Path
) -> None:
    first = scene.run().receipt
    path = packs_of(scene) / f"{first.pack.name}.rev"
    if not path.exists():
        # As a newer git makes one unasked.
        git(scene.host.repo, "index-pack", "--rev-index", str(path.with_suffix(".pack")))
    again = launch(scene.host, tmp_path, name=OTHER)
    again.offer((scene.export / scene.record.artifact).read_bytes())
    assert again.run().receipt.pack == first.pack
    assert path.exists()


KEEPS: dict[str, Callable[[Path], object]] = {
    "somebody else's": lambda path: path.write_text("mine"),
    "a FIFO": os.mkfifo,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a folder": lambda path: path.mkdir(),
    "longer than any of ours": lambda path: _sparse(path, (1 << 20) + 1),
}


def _sparse(path: Path, size: int) -> None:
    path.touch()
    os.truncate(path, size)


@pytest.mark.parametrize("plant", KEEPS.values(), ids=KEEPS)
def test_a_keep_that_is_not_ours_is_corrupt_and_stays(
    plant: Callable[[Path], object], scene: Scene, foreseen: Foreseen
) -> None:
    plant(packs_of(scene) / f"{foreseen.stem()}.keep")
    before = tree(packs_of(scene))
    with scene.opened() as repository:
        for _ in range(2):
            with pytest.raises(ImportFailed) as failed:
                import_candidate(repository, LAUNCH)
            assert (failed.value.code, failed.value.retry) == (STATE_CORRUPT, False)
            assert tree(packs_of(scene)) == before


# --- names of a quarantine ------------------------------------------------------------------------


def _deep(path: Path) -> None:
    path.mkdir()
    at = os.open(path, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=at)
        inside = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inside
    os.close(at)


NO_QUARANTINES: dict[str, Callable[[Path], object]] = {
    "folders nested 1,500 deep": _deep,
    "a file": Path.touch,
    "a link to a folder": lambda path: path.symlink_to(path.parent / "pack"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a FIFO": os.mkfifo,
}


@pytest.mark.parametrize("plant", NO_QUARANTINES.values(), ids=NO_QUARANTINES)
def test_what_is_no_quarantine_is_left_and_stands_in_nobodys_way(
    plant: Callable[[Path], object], scene: Scene
) -> None:
    path = scene.host.common / "objects" / f"{quarantine.prefix(LAUNCH)}1"
    plant(path)
    before = path.lstat()
    with scene.opened() as repository:
        receipt = import_candidate(repository, LAUNCH).receipt
        (one,) = recover_all(repository)
        assert (one.error, one.state, one.removed) == (None, "imported", [])
        assert proven(repository, LAUNCH) == receipt
        discard(repository, LAUNCH)
    after = path.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


# --- other folders under the names of the repository's --------------------------------------------


def _copied(path: Path) -> None:
    path.rename(path.with_name("aside"))
    shutil.copytree(path.with_name("aside"), path, symlinks=True)


def _linked_away(path: Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to("aside")


@pytest.mark.parametrize("step", [Step.PUBLISH, Step.READ_BACK], ids=lambda step: step.name)
@pytest.mark.parametrize("swap", [_copied, _linked_away], ids=["a copy", "a link to itself"])
@pytest.mark.parametrize("name", ["objects", "objects/pack"])
def test_an_import_whose_store_was_swapped_says_so_and_is_done_once_it_is_back(
    name: str, swap: Callable[[Path], None], step: Step, scene: Scene
) -> None:
    place = scene.host.common / name

    def on_step(begun: Step) -> None:
        if begun is step:
            swap(place)

    with scene.opened() as repository, pytest.raises(ImportRefused) as refused:
        import_candidate(repository, LAUNCH, on_step=on_step)
    assert (refused.value.code, refused.value.step) == (REPOSITORY_CHANGED, step)
    if place.is_symlink():
        place.unlink()
    else:
        shutil.rmtree(place)
    place.with_name("aside").rename(place)
    assert scene.run().receipt.candidate == scene.host.candidate
    assert git(scene.host.repo, "fsck", "--full").returncode == 0


def test_half_a_pack_that_another_launch_keeps_is_ended_by_the_one_that_comes(
    scene: Scene, foreseen: Foreseen
) -> None:
    """What is there and the same is taken over."""
    (packs_of(scene) / f"{foreseen.stem()}.pack").write_bytes(foreseen.pack)
    keep = packs_of(scene) / f"{foreseen.stem()}.keep"
    keep.write_text(f"git-candidate.keep/1\n{OTHER}\n")
    assert scene.run().receipt.pack.name == foreseen.stem()
    assert keep.read_text() == f"git-candidate.keep/1\n{LAUNCH}\n{OTHER}\n"
