"""How the command ends, whatever stops it: never with 1, corrupt, for mistakes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from candidate import cli
from candidate.commands import listing
from tests.candidate.conftest import Run
from tests.support.commands import closing
from tests.support.launches import LAUNCH, Scene

ROOT = Path(__file__).resolve().parents[2]


def child(arguments: list[str], stdout: int | None, *, close: bool = False) -> tuple[int, str]:
    """The status of a command with this standard output, or with none; and its complaints."""
    done = subprocess.run(
        [sys.executable, "-m", "candidate", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=(lambda: os.close(1)) if close else None,
        check=False,
    )
    return done.returncode, done.stderr.decode()


COMMANDS: dict[str, Callable[[Scene], list[str]]] = {
    "an answer": lambda scene: ["list", "--state", str(scene.state)],
    "an error as JSON": lambda scene: [
        "show", "f" * 32, "--state", str(scene.state), "--format", "json",
    ],
    "a mistyped argument as JSON": lambda _scene: [
        "check", "x", "--base", "main", "--format", "json",
    ],
    "the version": lambda _scene: ["--version"],
}  # fmt: skip


@pytest.mark.parametrize("make", COMMANDS.values(), ids=COMMANDS)
def test_where_nobody_reads_it_is_class_6_and_no_traceback(
    make: Callable[[Scene], list[str]], scene: Scene
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        status, err = child(make(scene), writer)
    finally:
        os.close(writer)
    assert (status, "Traceback" in err) == (6, False), err
    with Path("/dev/full").open("wb") as full:
        status, err = child(make(scene), full.fileno())
    assert (status, "Traceback" in err) == (6, False), err
    assert "No space left on device" in err
    status, err = child(make(scene), None, close=True)
    assert (status, err) == (6, "git candidate: standard output is closed\n")


def _import_nothing(scene: Scene) -> list[str]:
    (scene.export / "manifest.json").unlink()
    return ["import", LAUNCH, "--state", str(scene.state)]


ENDS: dict[str, tuple[Callable[[Scene], list[str]], int]] = {
    "nothing to import yet": (_import_nothing, 5),
    "an import": (lambda scene: ["import", LAUNCH, "--state", str(scene.state)], 0),
    "no such launch": (lambda scene: ["show", "f" * 32, "--state", str(scene.state)], 2),
    "no such option": (lambda _scene: ["list", "--nope"], 2),
    "no such code": (lambda _scene: ["explain", "nope"], 2),
    "an answer": (lambda scene: ["list", "--state", str(scene.state)], 0),
}


@pytest.mark.parametrize("name", ENDS)
def test_where_nobody_hears_what_is_wrong_the_status_says_it(name: str, scene: Scene) -> None:
    make, status = ENDS[name]
    done = subprocess.run(
        [*closing("<&- 2>&-"), sys.executable, "-m", "candidate", *make(scene)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, b"")
    assert bool(done.stdout) == (status == 0)


def test_a_mistake_of_ours_is_class_6_and_asks_for_a_report(
    scene: Scene, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_state: object) -> None:
        raise RuntimeError("not thought of")

    monkeypatch.setattr(listing, "listed", fail)
    status, out, err = run("list")
    assert (status, out) == (6, "")
    assert "RuntimeError: not thought of\n" in err
    assert err.endswith("git candidate: internal error, please report it\n")
    assert scene.record.key not in err


HOSTILE = "\x1b[31mred\x9b\u202e"


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "x", "--base", HOSTILE],
        ["check", "x", "--base", "1" * 40, "--tip", HOSTILE],
        ["check", "x", "--base", "1" * 40, "--limit", HOSTILE],
        ["check", "x", "--base", "1" * 40, "--repo", HOSTILE],
        ["list", HOSTILE],
        ["list", "--format", HOSTILE],
        ["list", "--state", HOSTILE],
        ["show", HOSTILE],
        ["explain", HOSTILE],
        [HOSTILE],
    ],
    ids=lambda arguments: " ".join(arguments[:-1][-2:]).replace(HOSTILE, "") or "no command",
)
def test_no_argument_speaks_to_the_terminal(
    arguments: list[str], scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id may come from a manifest that somebody hostile wrote."""
    if arguments[0] == "show":
        arguments = [*arguments, "--state", str(scene.state)]
    try:
        status = cli.main(arguments)
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    told = capsys.readouterr()
    assert (status, told.out) == (2, "")
    assert "red" in told.err
    assert all(c.isprintable() or c == "\n" for c in told.err)


@pytest.mark.parametrize("command", ["show", "discard"])
def test_an_empty_place_is_not_taken_for_the_recorded_one(
    command: str, scene: Scene, run: Run
) -> None:
    scene.run()
    status, out, err = run(command, LAUNCH, "--repo", "")
    assert status == 2
    assert "there is no such path" in out + err


@pytest.mark.parametrize("inside", [True, False], ids=["in a repository", "beside one's files"])
def test_check_works_wherever_temporary_files_are(
    inside: bool, scene: Scene, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = scene.host.repo if inside else scene.folder / "tmp"
    place.mkdir(exist_ok=True)
    if not inside:
        (place / ".git").touch()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    bundle = str(scene.export / scene.record.artifact)
    before = sorted(place.iterdir())
    args = ["check", bundle, "--repo", str(scene.host.repo), "--base", scene.host.base]
    assert run(*args)[0] == 0
    assert sorted(place.iterdir()) == before
