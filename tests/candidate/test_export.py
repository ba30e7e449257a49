"""The exporter of Python and its command: which commit, which files, in which order."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from candidate import cli
from candidate.commands import export as command
from candidate.export import Exported, export, script
from importer.errors import ImporterError, ImportFailed
from importer.world import World
from manifest import ticket, v1
from packparse.errors import MisuseError
from tests.support.exports import Producer
from tests.support.worlds import Telling


def done(producer: Producer, *, tip: str = "HEAD", world: World | None = None) -> Exported:
    return export(str(producer.workspace), str(producer.export), tip=tip, world=world)


@contextmanager
def masked(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_what_is_answered_is_what_was_written(producer: Producer) -> None:
    candidate = producer.commit({"new": "new\n"})
    link = producer.export.parent / "link"
    link.symlink_to(producer.export)
    exported = export(str(producer.workspace), str(link))
    assert exported == (producer.manifest(), os.path.realpath(producer.export))
    assert exported.manifest.candidate == candidate
    assert exported.manifest.commits == [candidate]


def test_whoever_imports_may_read_what_another_user_wrote(producer: Producer) -> None:
    producer.commit({"new": "new\n"})
    with masked(0o077):
        for write in (lambda: done(producer), producer.by_script):
            write()
            modes = {stat.S_IMODE((producer.export / name).stat().st_mode)
                     for name in producer.names()}  # fmt: skip
            assert modes == {0o644}


def test_another_tip_than_head_may_be_exported(ready: Producer) -> None:
    wanted = ready.git("rev-parse", "HEAD~1")
    assert done(ready, tip="HEAD~1").manifest.commits == [wanted]


def test_the_old_manifest_goes_before_the_new_artifact_comes(ready: Producer) -> None:
    (ready.export / "tmp_manifest.json").write_text("of one that was killed")
    files = Telling()
    done(ready, world=World(files))
    bundle, manifest, folder = "candidate.bundle", "manifest.json", "export"
    assert files.seen == [
        f"unlink tmp_{bundle}", f"unlink tmp_{manifest}",
        f"create tmp_{bundle}", f"write tmp_{bundle}", f"chmod tmp_{bundle}", f"fsync tmp_{bundle}",
        f"create tmp_{manifest}", f"write tmp_{manifest}", f"chmod tmp_{manifest}",
        f"fsync tmp_{manifest}",
        f"unlink {manifest}", f"fsync {folder}",
        f"rename tmp_{bundle} {bundle}", f"fsync {folder}",
        f"rename tmp_{manifest} {manifest}", f"fsync {folder}",
    ]  # fmt: skip
    assert ready.files() == ready.expected


def test_an_export_that_fails_leaves_nothing_half_done(ready: Producer) -> None:
    """Each operation is tried in tests/crash."""
    with pytest.raises(ImportFailed, match="fileFailed"):
        done(ready, world=World(Telling(["rename tmp_manifest.json manifest.json"])))
    assert ready.names() == {"candidate.bundle"}


def gone(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def no_folder(folder: Path) -> None:
    gone(folder)
    folder.touch()


def replaced(data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / ticket.NAME).write_bytes(data)


def a_folder(folder: Path) -> None:
    (folder / ticket.NAME).unlink()
    (folder / ticket.NAME).mkdir()


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder that is not there": (gone, "ticketMissing"),
    "a folder that is none": (no_folder, "ticketMissing"),
    "a ticket of another version": (
        replaced(b'{"format":"packcheck.ticket/2"}\n'), "recordVersion",
    ),
    "a ticket that is none": (replaced(b"{}\n"), "recordInvalid"),
    "a ticket that is too long": (replaced(b" " * (ticket.LARGEST + 1)), "fileFailed"),
    "a ticket that is a folder": (a_folder, "fileFailed"),
}  # fmt: skip


@pytest.mark.parametrize(("bend", "code"), UNUSABLE.values(), ids=UNUSABLE)
def test_nothing_is_exported_to(
    bend: Callable[[Path], object], code: str, producer: Producer
) -> None:
    bend(producer.export)
    with pytest.raises(ImporterError) as caught:
        done(producer)
    assert caught.value.code.name == code


@pytest.mark.parametrize("place", ["", "a\0b"])
def test_what_can_be_no_path_is_a_misuse(place: str, producer: Producer) -> None:
    for places in ((place, str(producer.export)), (str(producer.workspace), place)):
        with pytest.raises(MisuseError, match="no such path"):
            export(*places)


def test_the_script_is_the_one_that_lies_beside_the_module() -> None:
    path = Path(command.__file__).parents[1] / "exporter.sh"
    assert script() == path.read_bytes()
    assert script().startswith(b"#!/bin/sh\n")


# --- the command ---------------------------------------------------------------------------------


def test_the_command_tells_what_is_left_behind(
    producer: Producer, capsys: pytest.CaptureFixture[str]
) -> None:
    candidate = producer.commit({"one": "1\n"})
    producer.write({"b\tb": "", "a": ""})
    assert producer.by_command() == 0
    artifact = producer.manifest().artifact
    assert capsys.readouterr().out == (
        f"exported candidate {candidate}\n"
        f"  1 commits, 3 objects, {artifact.bytes} bytes\n"
        "2 uncommitted paths are NOT exported:\n"
        '  "b\\tb"\n'
        "  a\n"
    )


def test_the_command_tells_machines_the_same(
    producer: Producer, capsys: pytest.CaptureFixture[str]
) -> None:
    candidate = producer.commit({"one": "1\n"})
    producer.write({"a": ""})
    assert producer.by_command("--format", "json") == 0
    artifact = producer.manifest().artifact
    assert json.loads(capsys.readouterr().out) == {
        "schema": "git-candidate.export/1",
        "launch": producer.ticket.launch,
        "base": producer.ticket.base,
        "candidate": candidate,
        "commits": 1,
        "artifact": {
            "name": "candidate.bundle",
            "bytes": artifact.bytes,
            "sha256": artifact.sha256,
            "objects": 3,
        },
        "workspace": {"dirty": 1, "paths": ["a"]},
    }


PLACES: dict[str, tuple[list[str], str, str]] = {
    "the option": (["--to", "/a"], "/b", "/a"),
    "the variable": ([], "/b", "/b"),
    "the usual one": ([], "", "/export"),
}


@pytest.mark.parametrize(("options", "variable", "expected"), PLACES.values(), ids=PLACES)
def test_the_export_folder_is_that_of(
    options: list[str],
    variable: str,
    expected: str,
    producer: Producer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    producer.commit({"one": "1\n"})
    exported = done(producer)
    asked: list[object] = []

    def fake(*arguments: object, **more: object) -> Exported:
        asked.append((*arguments, more))
        return exported

    monkeypatch.setattr(command, "export", fake)
    monkeypatch.setenv("GIT_CANDIDATE_EXPORT", variable)
    assert cli.main(["export", *options, "--tip", "x"]) == 0
    assert asked == [(".", expected, {"tip": "x"})]


def test_names_of_files_do_not_speak_to_the_terminal(
    producer: Producer, capsys: pytest.CaptureFixture[str]
) -> None:
    producer.commit({"one": "1\n"})
    producer.write({"\x1b[31mred\u202e": ""})
    assert producer.by_command() == 0
    assert all(c.isprintable() or c == "\n" for c in capsys.readouterr().out)
    assert v1.NAME in producer.names()
