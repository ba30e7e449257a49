"""What is closed does nothing, whatever has the numbers of its folders by now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from importer.launches import discard, proven, recover_all, show
from importer.repository import Repository
from importer.state import State
from importer.steps import import_candidate
from packparse.errors import MisuseError
from tests.support.faults import tree
from tests.support.gitrepo import init
from tests.support.launches import LAUNCH, Scene, launch, make_host
from tests.support.records import OTHER, launch_record

MISUSED = r"^the (state .*|repository) is closed$"


@contextmanager
def in_their_place(folder: Path, numbers: list[int]) -> Iterator[None]:
    """Somebody else's folder has the numbers of closed ones, and stays as it is."""
    # Names that would be swept from folders of ours.
    for name in ("1f" * 8, f"tmp_{LAUNCH}", f"tmp_objdir-candidate-{LAUNCH}-1"):
        (folder / name / "sub").mkdir(parents=True)
        (folder / name / "sub" / "file").write_text("precious")
    before = tree(folder)
    given: list[int] = []
    while not set(numbers) <= set(given):
        given.append(os.open(folder, os.O_RDONLY))
        assert len(given) < 100
    try:
        yield
        assert tree(folder) == before
    finally:
        for number in given:
            os.close(number)


def _enter(manager: object) -> None:
    with manager:  # type: ignore[attr-defined]
        pytest.fail("it is open")


OF_A_STATE: dict[str, Callable[[State, Path], object]] = {
    "its folder": lambda state, _: state.folder,
    "its launches": lambda state, _: state.launches,
    "its rooms": lambda state, _: state.work,
    "the names of launches": lambda state, _: state.names(),
    "a new launch": lambda state, _: state.add(launch_record(OTHER)),
    "a launch": lambda state, _: show(state, LAUNCH),
    "a room": lambda state, _: _enter(state.workroom()),
    "a sweep": lambda state, _: state.sweep(),
    "a repository": lambda state, repo: Repository(str(repo), state),
}


@pytest.mark.parametrize("ask", OF_A_STATE.values(), ids=OF_A_STATE)
def test_nothing_is_had_of_a_state_that_is_closed(
    ask: Callable[[State, Path], object], tmp_path: Path
) -> None:
    repo = init(tmp_path / "repo", bare=True)
    with State(str(tmp_path / "state")) as state:
        numbers = [state.folder, state.launches, state.work]
    (tmp_path / "precious").mkdir()
    with (
        in_their_place(tmp_path / "precious", numbers),
        pytest.raises(MisuseError, match=MISUSED),
    ):
        ask(state, repo)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("closed")
    host = make_host(folder)
    host.commit({"new.txt": b"new\n"})
    made = launch(host, folder)
    made.offer()
    return made


OF_A_REPOSITORY: dict[str, Callable[[Repository], object]] = {
    "its common folder": lambda repository: repository.common,
    "its objects": lambda repository: repository.objects,
    "its packs": lambda repository: repository.packs,
    "its room": lambda repository: repository.room,
    "its reader": lambda repository: repository.reader,
    "who may lock it": lambda repository: repository.shared_mode,
    "whether it is the one": lambda repository: repository.check(repository.folder),
    "a bench": lambda repository: _enter(repository.bench("/elsewhere")),
    "a quarantine": lambda repository: _enter(repository.quarantine_bench("q")),
    "an import": lambda repository: import_candidate(repository, LAUNCH),
    "a receipt": lambda repository: proven(repository, LAUNCH),
    "recovery": recover_all,
    "a discard": lambda repository: discard(repository, LAUNCH),
}


@pytest.mark.parametrize("ask", OF_A_REPOSITORY.values(), ids=OF_A_REPOSITORY)
def test_nothing_is_had_of_a_repository_that_is_closed(
    ask: Callable[[Repository], object], scene: Scene, tmp_path: Path
) -> None:
    with State(str(scene.state)) as state:
        with Repository(str(scene.host.repo), state) as repository:
            numbers = [repository.common, repository.objects, repository.packs]
            numbers.append(repository.room.folder)
        with in_their_place(tmp_path, numbers), pytest.raises(MisuseError, match=MISUSED):
            ask(repository)
        assert show(state, LAUNCH).state == "launched"


def test_a_repository_whose_state_was_closed_before_it_is_closed_all_the_same(
    scene: Scene, tmp_path: Path
) -> None:
    state = State(str(scene.state))
    repository = Repository(str(scene.host.repo), state)
    numbers = [state.folder, state.launches, state.work]
    numbers += [repository.common, repository.objects, repository.packs]
    state.close()
    (tmp_path / "one").mkdir()
    with in_their_place(tmp_path / "one", numbers[:3]), pytest.raises(MisuseError, match=MISUSED):
        repository.close()
    (tmp_path / "two").mkdir()
    with in_their_place(tmp_path / "two", numbers), pytest.raises(MisuseError, match=MISUSED):
        recover_all(repository)
    with State(str(scene.state)) as again:
        # Its room was left.
        assert len(again.sweep()) == 1
