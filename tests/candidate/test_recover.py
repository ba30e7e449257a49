"""``git candidate recover``: every launch is told of, wherever its repository is now."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from importer.state import State
from manifest.launch import Launch
from tests.candidate.conftest import Run, as_json
from tests.support.launches import LAUNCH, Scene, launch, make_host

SECOND, THIRD = "cd" * 16, "ef" * 16


def record(scene: Scene, name: str, *, path: Path | None = None) -> Launch:
    """One more launch; its repository was recorded at ``path``."""
    made = msgspec.structs.replace(scene.record, launch=name)
    if path is not None:
        place = msgspec.structs.replace(made.common_dir, path=str(path))
        made = msgspec.structs.replace(made, common_dir=place)
    with State(str(scene.state)) as state:
        state.add(made)
    return made


def left_by(scene: Scene, name: str) -> Path:
    """A quarantine that a launch left."""
    left = scene.host.common / "objects" / f"tmp_objdir-candidate-{name}-0123"
    left.mkdir()
    return left


def test_recover_tells_what_it_removed_and_may_be_run_again(scene: Scene, run: Run) -> None:
    left = scene.host.common / "objects" / f"tmp_objdir-candidate-{LAUNCH}-0123"
    (left / "pack").mkdir(parents=True)
    (left / "pack" / "tmp_pack_x").write_bytes(b"half")
    assert run("recover")[1] == f"{LAUNCH}: launched, removed {left.name}\n"
    assert not left.exists()
    assert run("recover")[1] == f"{LAUNCH}: launched\n"


def test_half_a_launch_is_swept_also_where_no_repository_is_left(scene: Scene, run: Run) -> None:
    half = scene.state / "launches" / f"tmp_{SECOND}"
    half.mkdir()
    scene.host.repo.rename(scene.folder / "elsewhere")
    assert run("recover")[0] == 2
    assert not half.exists()


def test_every_launch_of_a_repository_that_is_gone_is_told(scene: Scene, run: Run) -> None:
    record(scene, SECOND)
    (scene.folder / "else").mkdir()
    other = launch(make_host(scene.folder / "else"), scene.folder, name=THIRD)
    scene.host.repo.rename(scene.folder / "elsewhere")
    status, out, _ = run("recover")
    assert status == 2
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert [line[:48] for line in lines] == [
        f"{LAUNCH}: notARepository", f"{SECOND}: notARepository", f"{THIRD}: launched",
    ]  # fmt: skip
    told = {one["launch"]: one for one in as_json(run, "recover")["launches"]}
    assert {name: one["error"] and one["error"]["code"] for name, one in told.items()} == {
        LAUNCH: "notARepository", SECOND: "notARepository", other.record.launch: None,
    }  # fmt: skip
    assert told[LAUNCH]["state"] == "launched"


@pytest.mark.parametrize(
    ("ending", "code", "status"),
    [(".pack", "storeCorrupt", 6), (".idx", "receiptContradicted", 5)],
    ids=["a pack that rotted", "an index that is gone"],
)
def test_a_receipt_that_is_not_true_any_more_is_told(
    ending: str, code: str, status: int, scene: Scene, run: Run
) -> None:
    receipt = scene.run().receipt
    assert run("recover") == (0, f"{LAUNCH}: imported\n", "")
    path = scene.host.common / "objects" / "pack" / f"{receipt.pack.name}{ending}"
    path.chmod(0o600)
    content = path.read_bytes()
    if ending == ".pack":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        path.unlink()
    found, out, _ = run("recover")
    assert found == status
    assert out.startswith(f"{LAUNCH}: imported, but {code}: {path.name}")
    (told,) = as_json(run, "recover")["launches"]
    assert (told["state"], told["error"]["code"]) == ("imported", code)
    # Nobody rests on what was given up.
    run("discard", LAUNCH)
    assert run("recover")[0] == 0


def test_of_several_errors_the_highest_class_is_the_status(scene: Scene, run: Run) -> None:
    (scene.folder / "else").mkdir()
    host = make_host(scene.folder / "else")
    host.commit({"new.txt": b"new\n"})
    other = launch(host, scene.folder, name=THIRD)
    other.offer()
    name = other.run().receipt.pack.name
    (host.common / "objects" / "pack" / f"{name}.idx").unlink()
    scene.host.repo.rename(scene.folder / "elsewhere")
    status, out, _ = run("recover")
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert f"{LAUNCH}: notARepository" in lines[0]
    assert f"{THIRD}: imported, but receiptContradicted" in lines[1]
    assert status == 5


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_repository_is_looked_for_at_each_path_that_a_launch_recorded(
    first: bool, scene: Scene, run: Run
) -> None:
    # One was recorded before the repository was moved, one after.
    moved = scene.host.repo.rename(scene.folder / "moved")
    scene.host.repo = moved
    name = "00" * 16 if first else "ff" * 16
    record(scene, name, path=moved / ".git")
    left = left_by(scene, LAUNCH)
    status, out, _ = run("recover")
    told = {f"{LAUNCH}: launched, removed {left.name}", f"{name}: launched"}
    assert (status, set(out.splitlines())) == (0, told)


def test_of_a_repository_that_is_at_no_path_the_first_one_is_told(scene: Scene, run: Run) -> None:
    record(scene, SECOND, path=scene.folder / "never")
    scene.host.repo.rename(scene.folder / "elsewhere")
    status, out, _ = run("recover")
    assert (status, out.count(f"notARepository: {scene.record.common_dir.path}: ")) == (2, 2)


def test_a_place_where_another_repository_is_now_is_not_taken_for_it(
    scene: Scene, run: Run
) -> None:
    moved = scene.host.repo.rename(scene.folder / "moved")
    make_host_beside(scene).rename(scene.host.repo)
    status, out, _ = run("recover")
    assert (status, f"{LAUNCH}: repositoryChanged" in out) == (3, True)
    assert run("recover", "--repo", str(moved))[:2] == (0, f"{LAUNCH}: launched\n")


def test_a_launch_of_a_folder_with_the_same_number_on_another_disk_is_told(
    scene: Scene, run: Run
) -> None:
    # The folder of the record had the same inode, and lay on another file system.
    place = scene.record.common_dir
    far = msgspec.structs.replace(place, device=place.device + 1)
    with State(str(scene.state)) as state:
        state.add(msgspec.structs.replace(scene.record, launch=SECOND, common_dir=far))
    status, out, _ = run("recover")
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert (status, lines[0]) == (3, f"{LAUNCH}: launched")
    assert [line[:51] for line in lines[1:]] == [f"{SECOND}: repositoryChanged"]


def make_host_beside(scene: Scene) -> Path:
    (scene.folder / "beside").mkdir()
    return make_host(scene.folder / "beside").repo


@pytest.mark.parametrize("command", ["recover", "show", "discard"])
def test_a_repository_that_was_moved_is_given(scene: Scene, run: Run, command: str) -> None:
    scene.run()
    moved = str(scene.host.repo.rename(scene.folder / "moved"))
    words = [command] if command == "recover" else [command, LAUNCH]
    status, out, err = run(*words)
    assert (status, "notARepository" in out + err) == (2, True)
    beside = str(make_host_beside(scene))
    status, out, err = run(*words, "--repo", beside)
    assert (status, "repositoryChanged" in out + err) == (3, True)
    status, out, _ = run(*words, "--repo", moved)
    assert status == 0
    assert {"recover": f"{LAUNCH}: imported\n", "show": "the repository has all of it\n",
            "discard": f"launch {LAUNCH}: discarded\n"}[command] in out  # fmt: skip
