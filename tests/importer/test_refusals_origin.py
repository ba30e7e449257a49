"""Row A22: an artifact comes from the export folder of its launch, as a plain file, unchanged.

The producer may do anything to that folder, also while the import runs. Where that has to happen
between two steps, the import itself is made to do it: it tells when a step begins.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from importer import durable, intake
from importer.errors import ImporterError
from importer.steps import Step, import_candidate
from tests.support.files import open_descriptors
from tests.support.gate import (
    ENVIRONMENT,
    FOLDER,
    INCOMPLETE,
    POLICY,
    USAGE,
    Gate,
    opened_gate,
)
from tests.support.launches import Scene
from tests.support.untouched import untouched

# --- what stands under a name -------------------------------------------------------------------


def _symlink(path: Path) -> None:
    real = path.with_name("real")
    path.rename(real)
    path.symlink_to(real.name)


def _symlink_out(path: Path) -> None:
    real = path.parent.with_name(f"{path.parent.name}-{path.name}")
    path.rename(real)
    path.symlink_to(real)


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _hard_link(path: Path) -> None:
    path.with_name("second").hardlink_to(path)


def _hard_link_out(path: Path) -> None:
    """A file of the host's, by another name: it would be read as if the producer had made it."""
    real = path.parent.with_name(f"{path.parent.name}-{path.name}")
    real.write_bytes(path.read_bytes())
    path.unlink()
    path.hardlink_to(real)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _socket(path: Path) -> None:
    path.unlink()
    # The address of a socket is short: it is bound from inside of the folder.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def _device(path: Path) -> None:
    path.unlink()
    try:
        os.mknod(path, 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def _gone(path: Path) -> None:
    path.unlink()


PLANTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a symbolic link beside it": (_symlink, "a symbolic link"),
    "a symbolic link to a path of the host": (_symlink_out, "a symbolic link"),
    "a symbolic link to nowhere": (_dangling, "a symbolic link"),
    "a FIFO": (_fifo, "a FIFO"),
    "a file with two names": (_hard_link, "2 names"),
    "a file of the host by another name": (_hard_link_out, "2 names"),
    "a folder": (_folder, "a directory"),
    "a socket": (_socket, "a socket"),
    "a device": (_device, "a device"),
}


@pytest.mark.parametrize("what", PLANTS)
@pytest.mark.parametrize(
    ("name", "step"), [("candidate.bundle", 4), ("manifest.json", 2)], ids=["artifact", "manifest"]
)
def test_a22_what_is_no_plain_file_is_refused_and_not_waited_for(
    what: str, name: str, step: int, gate: Gate
) -> None:
    plant, told = PLANTS[what]
    scene = gate.launch()
    gate.put(scene, gate.honest())
    plant(scene.export / name)
    before = open_descriptors()
    error = gate.refuse(scene, "originUnsafe", POLICY, step)
    assert told in error.message
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("name", "code", "step"),
    [("candidate.bundle", "artifactMissing", 4), ("manifest.json", "manifestMissing", 2)],
    ids=["A22 no artifact", "A22 no manifest"],
)
def test_a22_what_is_not_there_is_refused(name: str, code: str, step: int, gate: Gate) -> None:
    scene = gate.launch()
    gate.put(scene, gate.honest())
    (scene.export / name).unlink()
    gate.refuse(scene, code, INCOMPLETE, step)


class _OtherDevice:
    """The system as ``intake`` sees it, where plain files lie on another file system."""

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def fstat(self, descriptor: int) -> os.stat_result | SimpleNamespace:
        status = os.fstat(descriptor)
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112 - no path of ours
            return status
        return SimpleNamespace(st_dev=status.st_dev + 1, st_size=status.st_size)


def test_a22_a_file_of_another_file_system_is_refused(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = gate.launch()
    gate.put(scene, gate.honest())
    with monkeypatch.context() as patch:
        patch.setattr(intake, "os", _OtherDevice())
        gate.refuse(scene, "originUnsafe", POLICY, 2)
    gate.accept(scene)


# --- which folder it is -------------------------------------------------------------------------


def _moved(export: Path) -> Path:
    aside = export.with_name(f"{export.name}-aside")
    export.rename(aside)
    return aside


def _replaced(scene: Scene, _other: Scene) -> None:
    """A new folder with the very same files."""
    shutil.copytree(_moved(scene.export), scene.export)


def _linked(scene: Scene, _other: Scene) -> None:
    """A link to the folder itself, which was moved."""
    scene.export.symlink_to(_moved(scene.export))


def _linked_to_another(scene: Scene, other: Scene) -> None:
    _moved(scene.export)
    scene.export.symlink_to(other.export)


def _swapped_with_another(scene: Scene, other: Scene) -> None:
    _moved(scene.export)
    other.export.rename(scene.export)


def _gone_altogether(scene: Scene, _other: Scene) -> None:
    _moved(scene.export)


def _a_file(scene: Scene, _other: Scene) -> None:
    _moved(scene.export)
    scene.export.write_bytes(b"")


def _a_fifo(scene: Scene, _other: Scene) -> None:
    _moved(scene.export)
    os.mkfifo(scene.export)


ORIGINS: dict[str, Callable[[Scene, Scene], None]] = {
    "A22 another folder with the same files": _replaced,
    "A22 a link to the folder": _linked,
    "A22 a link to the folder of another launch": _linked_to_another,
    "A22 the folder of another launch": _swapped_with_another,
    "A22 no folder": _gone_altogether,
    "A22 a file": _a_file,
    "A22 a FIFO": _a_fifo,
}


@pytest.mark.parametrize("name", ORIGINS)
def test_a22_the_export_folder_is_the_one_of_the_record(name: str, gate: Gate) -> None:
    scene, other = gate.launch(), gate.launch()
    offer = gate.honest()
    gate.put(scene, offer)
    gate.put(other, offer)
    ORIGINS[name](scene, other)
    gate.refuse(scene, "originChanged", POLICY, 1)


def test_a22_a_folder_that_comes_back_is_the_one_of_the_record_again(gate: Gate) -> None:
    scene = gate.launch()
    gate.put(scene, gate.honest())
    aside = _moved(scene.export)
    gate.refuse(scene, "originChanged", POLICY, 1)
    aside.rename(scene.export)
    gate.accept(scene)


@pytest.mark.parametrize(
    ("key", "code", "step"),
    [("6f" * 32, "manifestForged", 2), ("5e" * 32, "bindingMismatch", 3)],
    ids=["A22 A2 under its own key", "A22 A2 under a key that both have"],
)
def test_a22_what_another_launch_planted_is_refused(
    key: str, code: str, step: int, gate: Gate
) -> None:
    scene, other = gate.launch(), gate.launch(key=key)
    gate.put(other, gate.honest())
    for name in ("candidate.bundle", "manifest.json"):
        (other.export / name).rename(scene.export / name)
    gate.refuse(scene, code, POLICY, step)


def test_a22_an_artifact_that_another_launch_planted_beside_our_manifest_is_refused(
    gate: Gate,
) -> None:
    """It is as long as the one that the manifest speaks of."""
    scene, other = gate.launch(), gate.launch()
    for one, content in ((scene, b"ours\n"), (other, b"its!\n")):
        candidate = gate.upon({**FOLDER, b"new": content})
        gate.put(one, gate.offered(candidate, pack=gate.packing(candidate, level=0).build()))
    (other.export / "candidate.bundle").rename(scene.export / "candidate.bundle")
    gate.refuse(scene, "artifactHashMismatch", POLICY, 5)


# --- what changes while it is read --------------------------------------------------------------


def _at(step: Step, change: Callable[[], object]) -> Callable[[Step], None]:
    """Do something as a step begins."""

    def on_step(begun: Step) -> None:
        if begun == step:
            change()

    return on_step


def _wait_for_the_clock(path: Path) -> None:
    """Let a tick pass, so that whatever is done to a file now has another time than it has."""
    probe = path.with_name("probe")
    while True:
        probe.write_bytes(b"")
        later = probe.stat().st_ctime_ns > path.stat().st_ctime_ns
        probe.unlink()
        if later:
            return


def _swap(path: Path) -> None:
    """Another file of the same bytes takes its name."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    _wait_for_the_clock(path)
    other.rename(path)


def _grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def _shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _rewrite(path: Path) -> None:
    """The same number of other bytes, and the time that it had."""
    status = path.stat()
    _wait_for_the_clock(path)
    path.write_bytes(bytes(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@dataclass(frozen=True)
class Change:
    """What is done to the artifact as a step begins."""

    step: Step
    change: Callable[[Path], None]
    expected: tuple[str, int, int]


CHANGED = ("artifactChanged", ENVIRONMENT, 5)
CHANGES = {
    "A22 swapped between check and read": Change(Step.READ, _swap, CHANGED),
    "A22 grown between check and read": Change(Step.READ, _grow, CHANGED),
    "A22 shortened between check and read": Change(Step.READ, _shorten, CHANGED),
    "A22 emptied between check and read": Change(Step.READ, _empty, CHANGED),
    "A22 rewritten between check and read": Change(Step.READ, _rewrite, CHANGED),
    "A22 grown between manifest and check": Change(
        Step.LOOK, _grow, ("artifactSizeMismatch", POLICY, 4)
    ),
    "A22 rewritten between manifest and check": Change(
        Step.LOOK, _rewrite, ("artifactHashMismatch", POLICY, 5)
    ),
    "A22 a FIFO between manifest and check": Change(Step.LOOK, _fifo, ("originUnsafe", POLICY, 4)),
    "A22 gone between manifest and check": Change(
        Step.LOOK, _gone, ("artifactMissing", INCOMPLETE, 4)
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a22_an_artifact_that_changes_on_the_way_is_refused(name: str, gate: Gate) -> None:
    case = CHANGES[name]
    scene = gate.launch()
    gate.put(scene, gate.honest())
    path = scene.export / "candidate.bundle"
    on_step = _at(case.step, lambda: case.change(path))
    gate.refuse(scene, *case.expected, bent=True, on_step=on_step)


@pytest.mark.parametrize("change", [_grow, _shorten], ids=["grown", "shortened"])
def test_a22_a_manifest_that_changes_while_it_is_read_is_refused(
    change: Callable[[Path], None], gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = gate.launch()
    gate.put(scene, gate.honest())

    class Bent:
        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

        def pread(self, descriptor: int, length: int, at: int) -> bytes:
            if not changed and os.path.sameopenfile(descriptor, opened.fileno()):
                change(scene.export / "manifest.json")
                changed.append(descriptor)
            return os.pread(descriptor, length, at)

    changed: list[int] = []
    with (scene.export / "manifest.json").open("rb") as opened, monkeypatch.context() as patch:
        patch.setattr(durable, "os", Bent())
        gate.refuse(scene, "artifactChanged", ENVIRONMENT, 2, bent=True)
    assert changed


@pytest.mark.parametrize(("name", "step"), [("manifest.json", 2), ("candidate.bundle", 4)])
def test_a22_a_file_that_its_writer_keeps_is_one_that_changes(
    name: str, step: int, gate: Gate
) -> None:
    """A lease keeps whoever opens the file waiting, or away (fcntl(2), F_SETLEASE)."""
    scene = gate.launch()
    gate.put(scene, gate.honest())
    # Who holds a lease is told that somebody opens the file.
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        with (scene.export / name).open("rb+") as kept:
            fcntl.fcntl(kept, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            gate.refuse(scene, "artifactChanged", ENVIRONMENT, step)
    finally:
        signal.signal(signal.SIGIO, before)
    gate.accept(scene)


def test_a22_what_was_read_is_what_is_imported_whatever_comes_later(gate: Gate) -> None:
    """Folder, manifest and artifact are opened once: who replaces them later changes nothing."""
    scene = gate.launch()
    offer = gate.honest()
    gate.put(scene, offer)

    def on_step(step: Step) -> None:
        if step == Step.BIND:
            _moved(scene.export)
            scene.export.mkdir()
        elif step == Step.VERIFY:
            aside = scene.export.with_name(f"{scene.export.name}-aside")
            for name in ("candidate.bundle", "manifest.json"):
                (aside / name).write_bytes(b"something else\n")

    assert gate.accept(scene, on_step=on_step).receipt.candidate == offer.candidate


# --- which launch, which repository -------------------------------------------------------------


def test_a22_a_launch_that_is_not_recorded_is_unknown(gate: Gate) -> None:
    names = ("ff" * 16, "AB" * 16, "ab" * 15, "../launches", "", "a\udcffb")
    for name in names:
        with untouched(gate.repo), pytest.raises(ImporterError) as caught:
            import_candidate(gate.repository, name)
        code = caught.value.code
        assert (code.name, code.klass) == ("launchUnknown", USAGE), name


def test_a22_a_launch_of_another_repository_is_refused(own: Gate, tmp_path: Path) -> None:
    """A copy of the repository is another one, though every byte of it is the same."""
    scene = own.launch()
    own.put(scene, own.honest())
    place = tmp_path / "elsewhere"
    shutil.copytree(own.repo, place / "host", symlinks=True)
    with opened_gate(place, own.store, own.names) as other:
        record = scene.record
        other.repository.state.add(record)
        stranger = Scene(scene.host, place, record)
        other.refuse(stranger, "repositoryChanged", POLICY, 0)
    own.accept(scene)


@pytest.mark.parametrize("step", [None, Step.PUBLISH], ids=["before", "before step 9"])
def test_a22_a_repository_that_is_replaced_is_refused(step: Step | None, own: Gate) -> None:
    scene = own.launch()
    own.put(scene, own.honest())
    aside = own.repo.with_name("aside")

    def replace() -> None:
        own.repo.rename(aside)
        shutil.copytree(aside, own.repo, symlinks=True)

    if step is None:
        replace()
        own.refuse(scene, "repositoryChanged", POLICY, 0)
        return
    with pytest.raises(ImporterError) as caught:
        own.run(scene, on_step=_at(step, replace))
    assert (caught.value.code.name, caught.value.step) == ("repositoryChanged", 9)
    for repo in (own.repo, aside):
        assert len(list((repo / ".git/objects/pack").iterdir())) == 2
