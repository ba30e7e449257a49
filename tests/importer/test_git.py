"""Native git: what it is given and what it is not, and that nothing of it stays behind."""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from importer import git, layout
from importer.errors import GIT_FAILED, ImportFailed
from importer.world import GIT_SECONDS, World
from packparse.objectformat import FORMATS
from tests.support.files import open_descriptors
from tests.support.gitrepo import git as real_git
from tests.support.gitrepo import init, make_history
from tests.support.scriptgit import ODD_NAMES, FakeGit, bench
from tests.support.worlds import Telling


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "room").mkdir()
    return tmp_path / "room"


def told(fake: FakeGit, room: Path, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - as they are
    """What a git was started with, as it tells itself."""
    fake.tell()
    with bench(room) as made:
        outcome = git.run(made, ["index-pack", "--stdin"], **options)
    assert (outcome.status, outcome.stderr) == (0, b"")
    return fake.told()


# --- what git is given ---------------------------------------------------------------------------


@pytest.mark.usefixtures("hostile")
def test_a49_nothing_of_the_caller_is_in_its_environment(
    fake: FakeGit, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/tmp/elsewhere")  # noqa: S108 - nothing is put there
    environment = told(fake, room)["environment"]
    assert environment == {
        "PATH": os.environ["PATH"],
        "TMPDIR": "/tmp/elsewhere",  # noqa: S108 - as above
        "LC_ALL": "C",
        "GIT_DIR": f"{room}/bench",
        "GIT_OBJECT_DIRECTORY": "/none",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }


def test_a_variable_that_the_caller_has_not_is_not_made_up(
    fake: FakeGit, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    assert "TMPDIR" not in told(fake, room)["environment"]


def test_a49_the_switches_stand_before_the_command(fake: FakeGit, room: Path) -> None:
    arguments = told(fake, room)["arguments"]
    assert arguments[-2:] == ["index-pack", "--stdin"]
    assert {
        "--no-replace-objects", "core.commitGraph=false", "core.hooksPath=/dev/null",
        "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false", "protocol.allow=never",
        "core.fsync=none", "core.packedGitWindowSize=1m", "core.packedGitLimit=64m",
    } == set(arguments[:-2]) - {"-c"}  # fmt: skip


def test_it_works_in_its_private_folder_in_a_group_of_its_own(fake: FakeGit, room: Path) -> None:
    seen = told(fake, room)
    assert seen["folder"] == f"{room}/bench"
    assert seen["group"] == seen["pid"] != os.getpgrp()


def test_it_has_no_terminal_and_nothing_to_read(fake: FakeGit, room: Path) -> None:
    seen = told(fake, room)
    assert seen["terminals"] == []
    assert seen["stdin"] == "/dev/null"


def test_it_reads_what_it_is_given_from_where_that_stands(fake: FakeGit, room: Path) -> None:
    fake.script("cat")
    (room / "input").write_bytes(b"skipped\0\xffread")
    with (room / "input").open("rb", buffering=0) as given, bench(room) as made:
        given.seek(7)
        assert git.run(made, [], stdin=given.fileno()).stdout == b"\0\xffread"
        assert not given.closed


def test_it_inherits_what_it_is_to_keep_and_nothing_else(fake: FakeGit, room: Path) -> None:
    with (room / "kept").open("wb") as kept, (room / "other").open("wb") as other:
        os.set_inheritable(other.fileno(), True)
        seen = set(told(fake, room, keep=[kept.fileno()])["open"])
        # The three that every process has, and the one that tells whether it lives.
        assert {0, 1, 2, kept.fileno()} < seen
        assert other.fileno() not in seen
    assert len(seen) == 5


# --- its limits ----------------------------------------------------------------------------------


def test_it_gets_the_limits_that_it_is_given(fake: FakeGit, room: Path) -> None:
    caps = git.Caps(memory=700 << 20, file=5 << 20, seconds=9)
    assert told(fake, room, caps=caps)["limits"] == {
        "AS": [700 << 20] * 2, "FSIZE": [5 << 20] * 2, "CPU": [9] * 2, "CORE": [0] * 2,
    }  # fmt: skip


@contextmanager
def lowered(kind: int, most: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@pytest.mark.parametrize(("most", "expected"), [(3 << 20, 3 << 20), (9 << 20, 5 << 20)])
def test_a_lower_limit_of_the_caller_stays(
    most: int, expected: int, fake: FakeGit, room: Path
) -> None:
    with lowered(resource.RLIMIT_FSIZE, most):
        limits = told(fake, room, caps=git.Caps(file=5 << 20))["limits"]
    assert limits["FSIZE"] == [expected] * 2


def test_what_it_writes_beyond_its_limit_is_not_written(fake: FakeGit, room: Path) -> None:
    fake.script(f"head -c 2000000 /dev/zero > {room}/written; ls -s {room}/written")
    with bench(room) as made:
        outcome = git.run(made, [], caps=git.Caps(file=1 << 20))
    assert (room / "written").stat().st_size == 1 << 20
    assert b"File too large" in outcome.stderr


# --- how it ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", -9), ("kill -15 $$", -15)],
)
def test_its_status_is_for_the_caller_to_judge(
    script: str, status: int, fake: FakeGit, room: Path
) -> None:
    fake.script(f"echo out; echo err >&2; {script}")
    before = open_descriptors()
    with bench(room) as made:
        assert git.run(made, []) == (status, b"out\n", b"err\n")
    assert open_descriptors() == before


def test_of_what_it_writes_the_beginning_is_read(fake: FakeGit, room: Path) -> None:
    fake.script("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2")
    with bench(room) as made:
        outcome = git.run(made, [])
    assert outcome == (0, bytes(64 << 10), bytes(64 << 10))


def test_all_that_it_writes_is_in_the_file_that_it_is_given(fake: FakeGit, room: Path) -> None:
    fake.script("head -c 300000 /dev/zero; echo err >&2")
    before = open_descriptors()
    with git.given() as out, bench(room) as made:
        assert git.run(made, [], stdout=out) == (0, b"", b"err\n")
        assert os.fstat(out).st_size == 300_000
    assert open_descriptors() == before


def test_in_a_folder_of_somebody_else_it_reads_what_it_is_given(fake: FakeGit, room: Path) -> None:
    fake.script('pwd; echo "$GIT_DIR $GRAFTS"; cat')
    place = git.workplace(World(), str(room), GRAFTS="none")
    with git.given(b"given") as data:
        assert git.run(place, [], stdin=data).stdout == f"{room}\n none\ngiven".encode()


@pytest.mark.usefixtures("hostile")
def test_a49_nothing_of_the_caller_is_there_either(fake: FakeGit, room: Path) -> None:
    usual = set(told(fake, room)["environment"]) - {"GIT_DIR", "GIT_OBJECT_DIRECTORY"}
    git.run(git.workplace(World(), str(room), GRAFTS="none"), ["version"])
    seen = fake.told()
    assert set(seen["environment"]) == usual | {"GRAFTS"}
    assert not any("hostile" in value for value in seen["environment"].values())
    assert "protocol.allow=never" in seen["arguments"]


@pytest.mark.usefixtures("hasty")
def test_it_has_the_patience_that_it_is_given(fake: FakeGit, room: Path) -> None:
    fake.script("exec sleep 100")
    with bench(room, seconds=0.3) as made, pytest.raises(ImportFailed, match=r"within 0\.1 sec"):
        git.run(made, [], patience=0.1)


TOLD = {
    "lines": (b"fatal: bad\n  object\n", "fatal: bad object"),
    "nothing": (b"", ""),
    "escapes": (b"\x1b]0;owned\x07", r'"\033]0;owned\a"'),
    "bidirectional marks": ("a\u202eb".encode(), r'"a\342\200\256b"'),
    "very much": (b"x" * 9_000, "x" * 200 + "... (500 bytes)"),
}


@pytest.mark.parametrize(("stderr", "shown"), TOLD.values(), ids=TOLD)
def test_a50_what_it_says_is_shown_in_printable_words(stderr: bytes, shown: str) -> None:
    assert git.Outcome(1, b"", stderr).told() == shown


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_GRACE", 0.1)


# Each holds descriptor 9, the other end of which the test looks at.
STUBBORN = {
    "it sleeps": "sleep 100",
    "it ignores that it is asked to end": "trap '' TERM; sleep 100 & wait; sleep 100",
    "what it started does so": "(trap '' TERM; sleep 100; sleep 100) & wait",
    "it has ended, and what it started has not": "(trap '' TERM; sleep 100; sleep 100) & exit 0",
    "it stopped itself": "kill -STOP $$",
}


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("script", STUBBORN.values(), ids=STUBBORN)
def test_a50_what_takes_too_long_is_ended_with_all_that_it_started_where(
    script: str, fake: FakeGit, room: Path
) -> None:
    fake.script(script)
    before = open_descriptors()
    alive, held = os.pipe()
    try:
        with bench(room, seconds=0.15) as made, pytest.raises(ImportFailed) as failed:
            git.run(made, [], keep=[held])
        os.close(held)
        # The end of the pipe comes once nobody holds the other one.
        assert select.select([alive], [], [], 5)[0]
        assert os.read(alive, 1) == b""
    finally:
        os.close(alive)
    assert (failed.value.code, failed.value.retry) == (GIT_FAILED, True)
    assert failed.value.message == "git did not end within 0.15 seconds, and was killed"
    assert open_descriptors() == before
    assert list(room.iterdir()) == []


def test_what_it_left_running_is_waited_for(fake: FakeGit, room: Path) -> None:
    fake.script("(sleep 0.1; echo late) & exit 3")
    with bench(room) as made:
        assert git.run(made, []) == (3, b"late\n", b"")


@pytest.mark.usefixtures("hasty")
def test_it_does_not_outlive_somebody_who_stops_to_wait(
    fake: FakeGit, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_descriptor: int, seconds: float) -> bool:
        monkeypatch.undo()
        assert seconds == GIT_SECONDS
        raise KeyboardInterrupt

    fake.script("sleep 100")
    before = open_descriptors()
    alive, held = os.pipe()
    with bench(room) as made:
        monkeypatch.setattr(git, "readable", interrupt)
        with pytest.raises(KeyboardInterrupt):
            git.run(made, [], keep=[held])
    os.close(held)
    assert select.select([alive], [], [], 5)[0]
    os.close(alive)
    assert open_descriptors() == before


def test_ending_what_has_ended_does_nothing(fake: FakeGit, room: Path) -> None:
    fake.script("exit 4")
    with bench(room) as made, (room / "out").open("wb") as out:
        process = git.start(made, [], stdin=None, stdout=out.fileno(), stderr=out.fileno())
        assert process.wait(GIT_SECONDS) == 4
        process.end()
        process.end()
        assert process.wait(GIT_SECONDS) == 4


def test_it_works_where_descriptors_are_above_those_that_select_takes(
    fake: FakeGit, room: Path
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1_200:
        pytest.skip("this user may not open that many files")
    fake.script("echo out")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1_200), hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1_050)]
    try:
        with bench(room) as made:
            assert git.run(made, []).stdout == b"out\n"
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- a git that cannot be started ----------------------------------------------------------------


def _program(content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(0o755)

    return make


# And whether sh leaves two descriptors open at each try, which nobody can close.
UNSTARTABLE: dict[str, tuple[Callable[[Path], object], bool]] = {
    "there is none": (lambda path: path, False),
    "it is a folder": (lambda path: path.mkdir(), False),
    "it may not be started": (lambda path: path.write_text("#!/bin/sh\n"), False),
    "it is no program": (_program(b"\0garbage"), True),
    "its interpreter is not there": (_program(b"#!/none/sh\n"), True),
}


@pytest.mark.parametrize(("make", "leaves"), UNSTARTABLE.values(), ids=UNSTARTABLE)
def test_it_fails_by_code_where(
    make: Callable[[Path], object],
    leaves: bool,
    room: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    make(tmp_path / "bin" / "git")
    before = open_descriptors()
    with bench(room) as made, pytest.raises(ImportFailed) as failed:
        git.run(made, ["version"])
    with pytest.raises(ImportFailed):
        layout.version()
    assert failed.value.code is GIT_FAILED
    assert failed.value.message.startswith("git cannot be started: ")
    assert open_descriptors() == before + (4 if leaves else 0)


# Two files for what it writes, two ends of a pipe, and what it reads from.
@pytest.mark.parametrize("more", range(5))
def test_a_file_too_many_leaves_no_other_one_open(more: int, room: Path) -> None:
    with bench(room) as made:
        before = open_descriptors()
        opened: list[int] = []
        while not opened or opened[-1] < before + 20:
            opened.append(os.open("/dev/null", os.O_RDONLY))
        try:
            with (
                lowered(resource.RLIMIT_NOFILE, opened[-1] + 1 + more),
                pytest.raises(OSError, match="Too many open files"),
            ):
                git.run(made, ["version"])
        finally:
            for descriptor in opened:
                os.close(descriptor)
        assert open_descriptors() == before


# --- its private folder --------------------------------------------------------------------------


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_a48_it_reads_no_configuration_but_ours(
    fmt: str, room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n\tworktree = /hostile\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with bench(room, objects=str(room), fmt=fmt) as made:
        listed = git.run(made, ["config", "--list", "--show-scope"])
        format_of = git.run(made, ["rev-parse", "--show-object-format"])
    assert listed.status == 0, listed.stderr
    lines = listed.stdout.decode().splitlines()
    assert {line.split("\t")[0] for line in lines} == {"local", "command"}
    local = {line.split("\t")[1] for line in lines if line.startswith("local")}
    more = set() if fmt == "sha1" else {"extensions.objectformat=sha256"}
    assert local == {"core.repositoryformatversion=1", "core.bare=true"} | more
    assert format_of.stdout.decode() == f"{fmt}\n"


def test_it_is_there_inside_of_the_block(room: Path) -> None:
    before = open_descriptors()
    with bench(room) as made:
        assert os.fstat(made.folder).st_ino == (room / "bench").stat().st_ino
        found = sorted(path.name for path in (room / "bench").iterdir())
        assert found == ["HEAD", "config", "refs"]
    with pytest.raises(KeyError), bench(room):
        raise KeyError
    assert list(room.iterdir()) == []
    assert open_descriptors() == before


@pytest.mark.parametrize(
    "failing", ["mkdir bench", "mkdir refs", "create HEAD", "write HEAD", "write config"]
)
def test_where_it_cannot_be_made_nothing_of_it_stays(failing: str, room: Path) -> None:
    world = World(Telling([failing]))
    before = open_descriptors()
    with world.files.folder(str(room)) as at:
        making = git.bench(
            world, "bench", at=at, path=str(room), object_format=FORMATS["sha1"], objects="/none"
        )
        with pytest.raises(OSError, match="No space left"), making:
            pytest.fail("it is made")
    assert list(room.iterdir()) == []
    assert open_descriptors() == before


@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES)
def test_its_folder_and_its_object_folders_may_have(name: bytes, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(name)
    repo = init(odd / "repo", bare=True)
    (tip,) = make_history(repo, 1, 1)
    (odd / "new").mkdir()
    world = World()
    with (
        world.files.folder(str(odd)) as at,
        git.bench(
            world, "bench", at=at, path=str(odd), object_format=FORMATS["sha1"],
            objects=f"{odd}/new", alternates=f"{repo}/objects",
        ) as made,
    ):  # fmt: skip
        kind = git.run(made, ["cat-file", "-t", tip])
        (odd / "content").write_bytes(b"content")
        with (odd / "content").open("rb") as content:
            written = git.run(made, ["hash-object", "-w", "--stdin"], stdin=content.fileno())
    assert (kind.status, kind.stdout) == (0, b"commit\n"), kind.stderr
    assert written.status == 0, written.stderr
    oid = written.stdout.decode().strip()
    assert (odd / "new" / oid[:2] / oid[2:]).exists()
    assert real_git(repo, "cat-file", "-e", oid, check=False).returncode != 0


def test_a_git_that_is_killed_before_it_is_one_could_not_be_started(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In the child of sh, between fork and exec.
    monkeypatch.setattr(os, "setpgid", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with bench(room) as made, pytest.raises(ImportFailed) as failed:
        git.run(made, ["version"])
    assert failed.value.message == "git cannot be started: it ended before it began"
    assert (failed.value.code, failed.value.retry) == (GIT_FAILED, True)
