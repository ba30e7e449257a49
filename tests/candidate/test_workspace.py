"""What git is asked about a workspace, where it does not answer as usual."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from candidate.errors import CandidateError
from candidate.workspace import Workspace
from importer.errors import ImportFailed
from importer.world import World
from tests.support.exports import Producer, copy_producer
from tests.support.fakegit import faked
from tests.support.files import open_descriptors

ASKED: dict[str, Callable[[Workspace, str], object]] = {
    "rev-parse": lambda work, base: work.commit(base),
    "rev-list": lambda work, base: work.range(base, "HEAD"),
    "merge-base": lambda work, base: work.range(base, "HEAD"),
    "diff": lambda work, _base: work.uncommitted(),
    "ls-files": lambda work, _base: work.uncommitted(),
}


@pytest.mark.parametrize(("command", "ask"), ASKED.items(), ids=ASKED)
def test_what_git_says_is_told_where_it_fails(
    command: str, ask: Callable[[Workspace, str], object], producer: Producer, tmp_path: Path
) -> None:
    work = Workspace(World(), str(producer.workspace))
    before = open_descriptors()
    with (
        faked(tmp_path, command, "echo fatal: no >&2; exit 128"),
        pytest.raises(ImportFailed, match=f"gitFailed: git {command}: fatal: no"),
    ):
        ask(work, producer.ticket.base)
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("tip", "known"),
    [
        *[(tip, True) for tip in ("HEAD", "candidate", "HEAD~1", "-x", "v1", "v1^0")],
        *[(tip, False) for tip in ("", "-y", "--all", "HEAD:new", "HEAD\n", "1" * 40, "a..b", "v")],
    ],
)
def test_a_tip_is_what_names_a_commit(tip: str, known: bool, tagged: Producer) -> None:
    work = Workspace(World(), str(tagged.workspace))
    if known:
        named = tagged.git("rev-parse", "--verify", "--end-of-options", f"{tip}^{{}}")
        assert work.range(tagged.ticket.base, tip)[-1] == named
        return
    with pytest.raises(CandidateError) as caught:
        work.range(tagged.ticket.base, tip)
    assert caught.value.code.name == "tipUnknown"
    assert caught.value.message.isprintable()


@pytest.fixture(scope="module")
def tagged(ready_once: Producer, tmp_path_factory: pytest.TempPathFactory) -> Producer:
    """Nothing is changed in its workspace."""
    producer = copy_producer(ready_once, tmp_path_factory.mktemp("tagged"))
    producer.git("tag", "-a", "-m", "tag", "v1")
    producer.git("update-ref", "refs/heads/-x", "HEAD")
    return producer


@pytest.mark.parametrize("answer", ["", "echo", "echo false", "echo no"])
def test_a_folder_of_which_git_says_nothing_else_is_no_workspace(
    answer: str, producer: Producer, tmp_path: Path
) -> None:
    with (
        faked(tmp_path, "rev-parse", f"{answer}\nexit 0"),
        pytest.raises(CandidateError, match="noWorkspace: the folder lies in no work tree"),
    ):
        Workspace(World(), str(producer.workspace))


def test_a_file_is_no_workspace(producer: Producer) -> None:
    path = producer.export / "ticket.json"
    for place in (path, path.with_name("none")):
        with pytest.raises(CandidateError, match=r"noWorkspace: .*: it is no folder"):
            Workspace(World(), str(place))


def test_a_git_that_takes_too_long_is_ended(producer: Producer, tmp_path: Path) -> None:
    work = Workspace(World(git_seconds=0.2), str(producer.workspace))
    with (
        faked(tmp_path, "diff", "exec sleep 60"),
        pytest.raises(ImportFailed, match=r"did not end within 0\.2 seconds"),
    ):
        work.uncommitted()


def test_all_that_git_tells_is_read(producer: Producer) -> None:
    """More than 64 KiB, of which an answer has the beginning alone."""
    names = [f"{'long' * 40}/{number:04}" for number in range(800)]
    producer.write(dict.fromkeys(names, ""))
    assert Workspace(World(), str(producer.workspace)).uncommitted() == names
