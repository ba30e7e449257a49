"""The exporter of sh, where there is nothing to export, or it is ended: as the one of Python."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from candidate import workspace
from manifest import ticket, v1
from manifest.atoms import COMMITS
from tests.support.exports import UTILITIES, Producer, utilities
from tests.support.fakegit import faked

NAMES = {"candidate.bundle", v1.NAME}

# --- what is refused -----------------------------------------------------------------------------


def nothing(_producer: Producer) -> None:
    """As it is."""


def no_ticket(producer: Producer) -> None:
    (producer.export / ticket.NAME).unlink()


def no_workspace(producer: Producer) -> None:
    shutil.rmtree(producer.workspace / ".git")


def no_work_tree(producer: Producer) -> None:
    producer.git("config", "core.bare", "true")


def no_commit(producer: Producer) -> None:
    producer.git("checkout", "-q", "--orphan", "none")


def another_history(producer: Producer) -> None:
    producer.git("checkout", "-q", "--orphan", "none")
    producer.commit({"new": "new\n"})


def no_base(producer: Producer) -> None:
    bent = msgspec.structs.replace(producer.ticket, base="1" * 40)
    (producer.export / ticket.NAME).write_bytes(ticket.write(bent))


def nothing_committed(producer: Producer) -> None:
    producer.write({"new": "", "dir0/file0.txt": ""})


REFUSED: dict[str, tuple[Callable[[Producer], None], int, str]] = {
    "no ticket": (no_ticket, 5, "ticketMissing: there is no ticket.json"),
    "no repository": (no_workspace, 2, "noWorkspace: fatal: not a git repository (or any "),
    "no work tree": (no_work_tree, 2, "noWorkspace: the folder lies in no work tree"),
    "no commit": (no_commit, 2, "tipUnknown: HEAD is no commit of the workspace"),
    "another history": (another_history, 3, "notOnBase: HEAD does not descend from "),
    "no base": (no_base, 3, f"notOnBase: HEAD does not descend from {'1' * 40}"),
    "no work": (nothing, 5, "nothingToExport: HEAD is the base\n"),
    "nothing committed": (
        nothing_committed, 5, "nothingToExport: HEAD is the base; uncommitted paths: 2\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("bend", "status", "said"), REFUSED.values(), ids=REFUSED)
def test_both_refuse_with_the_same_words_where_there_is(
    bend: Callable[[Producer], None],
    status: int,
    said: str,
    producer: Producer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bend(producer)
    assert producer.by_command() == status
    told = capsys.readouterr()
    assert told.err.startswith(f"git candidate: {said}")
    assert producer.by_script() == (status, "", told.err)
    assert producer.names() == set()


def test_both_refuse_with_the_same_words_where_there_are_too_many_commits(
    ready: Producer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "COMMITS", 1)
    path = ready.export / ticket.SCRIPT
    path.write_text(path.read_text().replace(f"{COMMITS}", "1"))
    assert ready.by_command() == 4
    told = capsys.readouterr().err
    assert "exportTooLarge: there are 2 commits, and a manifest lists 1\n" in told
    assert ready.by_script() == (4, "", told)


def test_a_ticket_that_is_none_is_not_worked_with(ready: Producer) -> None:
    before = ready.files()
    path = ready.export / ticket.NAME
    path.write_bytes(path.read_bytes().replace(b",", b", ", 1))
    assert (ready.by_command(), ready.by_script().status) == (1, 1)
    assert ready.files() == before


def test_without_git_both_say_so(
    producer: Producer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = utilities(tmp_path / "bin", [name for name in UTILITIES if name != "git"])
    said = producer.by_script(shutil.which("sh") or "", path=path)
    monkeypatch.setenv("PATH", path)
    assert producer.by_command() == said.status == 6
    assert said.err == capsys.readouterr().err


@pytest.mark.parametrize("name", ["candidate.bundle", "manifest.json", "tmp_manifest.json"])
def test_a_folder_under_the_name_of_a_file_stays_and_nothing_goes_into_it(
    name: str, ready: Producer
) -> None:
    for there in ready.names():
        (ready.export / there).unlink()
    (ready.export / name).mkdir()
    assert (ready.by_command(), ready.by_script().status) == (6, 6)
    assert list((ready.export / name).iterdir()) == []
    assert ready.names() == {name}


# --- how it ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["rev-parse", "merge-base", "rev-list", "diff", "ls-files", "pack-objects"]
)
def test_an_export_whose_git_dies_leaves_what_was_there(
    command: str, ready: Producer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = ready.files()
    with faked(tmp_path, command, "echo PACK; kill -9 $$"):
        assert ready.by_command() == 6
        assert "gitFailed: git was ended by signal 9" in capsys.readouterr().err
        said = ready.by_script()
    assert (said.status, said.out) == (6, "")
    assert said.err.endswith("git candidate: nothing was exported\n")
    assert (ready.files(), ready.names()) == (before, NAMES)


@pytest.mark.parametrize(
    ("number", "status", "left"),
    [
        (signal.SIGTERM, 6, set()),
        (signal.SIGINT, 6, set()),
        (signal.SIGKILL, -9, {"tmp_candidate.bundle"}),
    ],
    ids=["asked to end", "interrupted", "killed"],
)
def test_a_script_that_ends_in_the_middle_is_run_again(
    number: int, status: int, left: set[str], ready: Producer, tmp_path: Path
) -> None:
    before = ready.files()
    with faked(tmp_path, "pack-objects", f"echo PACK; kill -{number} 0"):
        assert ready.by_script().status == status
    assert (ready.files(), ready.names()) == (before, NAMES | left)
    assert ready.by_script().status == 0
    assert (ready.files(), ready.names()) == (ready.expected, NAMES)


# Of what changes the export folder, the call before which the script is killed.
ENDED = [("rm", 1), ("rm", 2), ("rm", 3), ("mv", 1), ("mv", 2)]


@pytest.mark.parametrize(("name", "number"), ENDED, ids=str)
def test_no_manifest_is_beside_another_artifact_when_it_is_killed(
    name: str, number: int, ready: Producer, tmp_path: Path
) -> None:
    before = ready.files()
    (tmp_path / "fake").mkdir()
    calls, fake = tmp_path / "calls", tmp_path / "fake" / name
    fake.write_text(
        f"#!/bin/sh\necho >> {calls}; [ $(wc -l < {calls}) -ne {number} ] || kill -9 0\n"
        f'exec {shutil.which(name)} "$@"\n'
    )
    fake.chmod(0o755)
    said = ready.by_script(path=f"{fake.parent}:{os.environ['PATH']}")
    assert said.status == -signal.SIGKILL
    left = ready.files()
    assert left.manifest is None or left == before
    assert ready.by_script().status == 0
    assert (ready.files(), ready.names()) == (ready.expected, NAMES)
