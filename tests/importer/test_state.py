"""The state folder: private, outside of every repository, and whole whatever is killed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from importer.durable import Files
from importer.errors import (
    LAUNCH_UNKNOWN,
    STATE_CORRUPT,
    STATE_MISSING,
    STATE_UNSAFE,
    ImporterError,
    ImportFailed,
    ImportRefused,
)
from importer.frames import frames
from importer.state import State, repository_around
from importer.world import World
from manifest.launch import Folder, Launched, PolicyText, Preparing, decode_event
from tests.support.files import open_descriptors, tree
from tests.support.gitrepo import git, init, make_history
from tests.support.records import KEY, LAUNCH, OTHER, launch_record
from tests.support.worlds import Clock, Telling


def refusal(path: Path) -> ImportRefused:
    """The refusal to open a state folder there, which leaves nothing open and nothing behind."""
    refused = error(path)
    assert isinstance(refused, ImportRefused)
    return refused


def error(path: Path) -> ImporterError:
    """Why a state folder cannot be opened there, which leaves nothing open and nothing behind."""
    before, descriptors = tree(path.parent), open_descriptors()
    with pytest.raises(ImporterError) as raised:
        State(str(path))
    assert tree(path.parent) == before
    assert open_descriptors() == descriptors
    return raised.value


# --- opening -------------------------------------------------------------------------------------


def test_it_is_made_private_whatever_the_umask_is(tmp_path: Path) -> None:
    before = open_descriptors()
    mask = os.umask(0)
    try:
        with State(str(tmp_path / "state")) as state:
            assert state.names() == []
    finally:
        os.umask(mask)
    assert tree(tmp_path / "state") == ["format", "launches", "lock", "work"]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {
        "state": 0o700, "launches": 0o700, "work": 0o700, "format": 0o600, "lock": 0o600,
    }  # fmt: skip
    assert open_descriptors() == before


def test_it_is_opened_again_without_a_change(tmp_path: Path) -> None:
    State(str(tmp_path / "state")).close()
    files = Telling()
    State(str(tmp_path / "state"), World(files)).close()
    assert files.seen == [f"mkdir {tmp_path}/state", "mkdir launches", "mkdir work"]


@pytest.mark.parametrize("there", [False, True], ids=["that is not there", "that is empty"])
def test_none_is_made_of_a_folder_unasked(there: bool, tmp_path: Path) -> None:
    place = tmp_path / "state"
    if there:
        place.mkdir(mode=0o700)
    with pytest.raises(ImportRefused, match=str(place)) as refused:
        State(str(place), make=False)
    assert refused.value.code is STATE_MISSING
    assert (place.exists(), [*place.glob("*")]) == (there, [])
    State(str(place)).close()
    State(str(place), make=False).close()


def test_its_path_does_not_depend_on_where_the_process_is_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with State("state") as state:
        assert state.path == f"{tmp_path}/state"


ODD_NAMES = {
    "blanks and quotes": b'it\'s a "state"',
    "a colon": b"a:b",
    "a line feed": b"a\nb",
    "no UTF-8": b"\xff\xfe",
}


@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES)
def test_its_path_may_have(name: bytes, tmp_path: Path) -> None:
    with State(f"{tmp_path}/{os.fsdecode(name)}") as state:
        state.add(launch_record())
        with state.workroom() as room:
            assert Path(room.path).is_dir()
        assert state.names() == [LAUNCH]


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o707, 0o740, 0o755, 0o777], ids=oct)
def test_a_folder_that_others_may_enter_is_refused(mode: int, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)
    refused = refusal(tmp_path / "state")
    assert refused.code is STATE_UNSAFE
    assert "you alone may enter" in refused.message


def test_a_folder_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert refusal(tmp_path / "state").code is STATE_UNSAFE


def _link(path: Path) -> None:
    path.with_name("private").mkdir(0o700)
    path.symlink_to("private")


def _linked_part(name: str) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        State(str(path)).close()
        Files().remove_folder(str(path / name), at=0)
        (path / name).symlink_to(path.parent)

    return put


NO_FOLDERS: dict[str, Callable[[Path], object]] = {
    "a link to a private folder": _link,
    "a link to nothing": lambda path: path.symlink_to("none"),
    "a file": lambda path: path.touch(),
    "a FIFO": os.mkfifo,
    "a folder whose launches are a link": _linked_part("launches"),
    "a folder whose work room is a link": _linked_part("work"),
}


@pytest.mark.parametrize("put", NO_FOLDERS.values(), ids=NO_FOLDERS)
def test_what_is_no_folder_of_its_own_is_refused(
    put: Callable[[Path], object], tmp_path: Path
) -> None:
    put(tmp_path / "state")
    refused = refusal(tmp_path / "state")
    assert refused.code is STATE_UNSAFE
    assert refused.message.endswith("or a part of it is a link, or no folder")


def _dangling(folder: Path) -> Path:
    (folder / ".git").symlink_to("none")
    return folder


def _worktree(folder: Path) -> Path:
    make_history(init(folder / "main"), 1, 1)
    git(folder / "main", "worktree", "add", "-q", "--detach", str(folder / "linked"), "main")
    return folder / "linked"


def _through_a_link(folder: Path) -> Path:
    (init(folder / "main") / "below").mkdir()
    (folder / "link").symlink_to("main/below")
    return folder / "link"


INSIDE: dict[str, Callable[[Path], Path]] = {
    "a repository": lambda folder: init(folder / "repo"),
    "its .git": lambda folder: init(folder / "repo") / ".git",
    "its objects": lambda folder: init(folder / "repo") / ".git" / "objects",
    "a bare one": lambda folder: init(folder / "repo", bare=True),
    "the refs of a bare one": lambda folder: init(folder / "repo", bare=True) / "refs",
    "a linked worktree": _worktree,
    "a repository, by a link to a folder in it": _through_a_link,
    "a folder whose .git leads to nothing": _dangling,
}


@pytest.mark.parametrize("below", ["state", "a/b/state"])
@pytest.mark.parametrize("make", INSIDE.values(), ids=INSIDE)
def test_it_does_not_lie_in(make: Callable[[Path], Path], below: str, tmp_path: Path) -> None:
    path = make(tmp_path) / below
    path.parent.mkdir(parents=True, exist_ok=True)
    refused = refusal(path)
    assert refused.code is STATE_UNSAFE
    assert "lies in the repository at" in refused.message


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
def test_what_has_not_all_parts_of_a_repository_is_none(missing: str, tmp_path: Path) -> None:
    for name in {"HEAD", "objects", "refs"} - {missing}:
        (tmp_path / name).mkdir()
    assert repository_around(str(tmp_path / "state")) is None
    with State(str(tmp_path / "state")) as state:
        assert state.names() == []


def test_a_folder_that_is_a_repository_itself_is_none(tmp_path: Path) -> None:
    assert refusal(init(tmp_path / "repo", bare=True)).code is STATE_UNSAFE


@pytest.mark.parametrize("name", ["notes.txt", "launches", "work", ".hidden"])
def test_a_folder_of_something_else_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(0o700)
    (tmp_path / "state" / name).mkdir()
    refused = refusal(tmp_path / "state")
    assert refused.code is STATE_UNSAFE
    assert refused.message.endswith("holds something else than the state of an importer")


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (b"packcheck.state/2\n", r"packcheck.state/2\n"),
        (b"packcheck.state/1", "packcheck.state/1"),
        (b"", ""),
        (b"\x1b[2J", r"\033[2J"),
    ],
    ids=["a later version", "no line feed", "empty", "escapes"],
)
def test_a_label_that_is_not_known_is_corrupt(label: bytes, shown: str, tmp_path: Path) -> None:
    State(str(tmp_path / "state")).close()
    (tmp_path / "state" / "format").write_bytes(label)
    failed = error(tmp_path / "state")
    assert isinstance(failed, ImportFailed)
    assert (failed.code, failed.retry) == (STATE_CORRUPT, False)
    assert shown in failed.message
    assert failed.message.isprintable()


def test_a_label_that_is_a_link_is_corrupt(tmp_path: Path) -> None:
    State(str(tmp_path / "state")).close()
    (tmp_path / "state" / "format").rename(tmp_path / "label")
    (tmp_path / "state" / "format").symlink_to(tmp_path / "label")
    before = open_descriptors()
    with pytest.raises(ImporterError) as refused:
        State(str(tmp_path / "state"))
    assert refused.value.code is STATE_CORRUPT
    assert open_descriptors() == before


MAKING = [
    "mkdir PATH", "create lock", "truncate lock", "write lock", "fsync PARENT", "unlink tmp_format",
    "create tmp_format", "write tmp_format", "chmod tmp_format", "fsync tmp_format",
    "rename tmp_format format", "fsync state", "mkdir launches", "mkdir work",
]  # fmt: skip


def test_it_is_labelled_before_anything_is_in_it(tmp_path: Path) -> None:
    files = Telling()
    State(str(tmp_path / "state"), World(files)).close()
    seen = [told.replace(f"{tmp_path}/state", "PATH") for told in files.seen]
    assert [told.replace(tmp_path.name, "PARENT") for told in seen] == MAKING


def test_its_name_is_durable_also_where_the_one_that_made_it_was_killed(tmp_path: Path) -> None:
    files = Telling()
    (tmp_path / "state").mkdir(0o700)
    State(str(tmp_path / "state"), World(files)).close()
    assert f"fsync {tmp_path.name}" in files.seen
    files.seen.clear()
    State(str(tmp_path / "state"), World(files)).close()
    assert f"fsync {tmp_path.name}" not in files.seen


def test_it_is_made_in_a_folder_that_may_not_be_read(tmp_path: Path) -> None:
    class Blind(Telling):
        def open_folder(self, name: str, *, at: int | None = None) -> int:
            if name == str(tmp_path):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return super().open_folder(name, at=at)

    files = Blind()
    State(str(tmp_path / "state"), World(files)).close()
    assert "rename tmp_format format" in files.seen
    assert f"fsync {tmp_path.name}" not in files.seen


# That a note cannot be left in a lock keeps nobody from holding it.
NOTES = {"truncate lock", "write lock"}


@pytest.mark.parametrize("failing", [told for told in MAKING if told not in NOTES])
def test_whatever_fails_while_it_is_made_the_next_one_makes_it(
    failing: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "state")
    before = open_descriptors()
    told = failing.replace("PATH", path).replace("PARENT", tmp_path.name)
    with pytest.raises(ImportFailed, match="fileFailed: No space left"):
        State(path, World(Telling([told])))
    assert open_descriptors() == before
    State(path).close()
    assert tree(tmp_path / "state") == ["format", "launches", "lock", "work"]


def test_two_that_make_it_at_once_both_have_it(tmp_path: Path) -> None:
    for number in range(15):
        path = str(tmp_path / f"state-{number}")
        child = os.fork()
        if not child:
            with suppress(BaseException):
                State(path).close()
                os._exit(0)
            os._exit(1)
        try:
            State(path).close()
        finally:
            status = os.waitpid(child, 0)[1]
        assert status == 0


@pytest.mark.parametrize("operation", ["names", "open_shared"])
def test_one_that_was_labelled_between_two_looks_is_taken(operation: str, tmp_path: Path) -> None:
    path = str(tmp_path / "state")

    class Beaten(Files):
        def names(self, at: int) -> list[str]:
            if operation == "names":
                State(path).close()
            return super().names(at)

        def open_shared(self, name: str, *, at: int, mode: int) -> int:
            if operation == "open_shared":
                State(path).close()
            return super().open_shared(name, at=at, mode=mode)

    with State(path, World(Beaten())) as state:
        state.add(launch_record())
    assert tree(tmp_path / "state") == [
        "format", "launches", f"launches/{LAUNCH}", f"launches/{LAUNCH}/journal", "lock", "work",
        "work/lock",
    ]  # fmt: skip


# --- launches ------------------------------------------------------------------------------------


def test_a_launch_is_its_journal_with_the_record(tmp_path: Path) -> None:
    with State(str(tmp_path / "state"), Clock(77).world()) as state:
        state.add(launch_record(OTHER))
        state.add(launch_record())
        assert state.names() == [LAUNCH, OTHER]
    journal = tmp_path / "state" / "launches" / LAUNCH / "journal"
    (payload,), end = frames(journal.read_bytes())
    assert end == journal.stat().st_size
    assert decode_event(payload) == Launched(at=77, record=launch_record())
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.parent.stat().st_mode) == 0o700


ADDING = [
    "create lock", "truncate lock", "write lock", f"rmdir tmp_{LAUNCH}", f"mkdir tmp_{LAUNCH}",
    "create journal", "write journal", "chmod journal", "fsync journal", f"fsync tmp_{LAUNCH}",
    f"rename tmp_{LAUNCH} {LAUNCH}", "fsync launches", "fsync state",
]  # fmt: skip


@pytest.mark.parametrize("preparing", [False, True], ids=["made", "to be prepared"])
def test_a_launch_is_durable_before_it_has_its_name(preparing: bool, tmp_path: Path) -> None:
    files = Telling()
    with State(str(tmp_path / "state"), World(files)) as state:
        # What a crash left of the last one.
        (tmp_path / "state" / "launches" / f"tmp_{LAUNCH}").mkdir()
        files.seen.clear()
        state.add(launch_record(), preparing=preparing)
    # At no moment may the producer of one start that is to be prepared.
    assert files.seen == ADDING
    journal = (tmp_path / "state" / "launches" / LAUNCH / "journal").read_bytes()
    events = [decode_event(payload) for payload in frames(journal)[0]]
    assert [type(event) for event in events] == [Launched, *([Preparing] if preparing else [])]


@pytest.mark.parametrize(
    "failing", [told for told in ADDING if not told.startswith("rmdir") and told not in NOTES]
)
def test_a_launch_is_there_whole_or_not_at_all_whatever_fails(failing: str, tmp_path: Path) -> None:
    files = Telling()
    with State(str(tmp_path / "state"), World(files)) as state:
        before = open_descriptors()
        files.failing.add(failing)
        with pytest.raises(ImportFailed, match="fileFailed: No space left"):
            state.add(launch_record())
        assert open_descriptors() == before
        files.failing.clear()
        # The name is there when all that failed is to make it durable.
        assert state.names() == ([LAUNCH] if failing in ADDING[-2:] else [])
        if not state.names():
            state.add(launch_record())
        state.sweep()
        assert tree(tmp_path / "state" / "launches") == [LAUNCH, f"{LAUNCH}/journal"]


def test_a_launch_is_added_once(tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state:
        state.add(launch_record())
        journal = tmp_path / "state" / "launches" / LAUNCH / "journal"
        before = journal.read_bytes()
        with pytest.raises(ImportRefused, match=f"launchExists: there is a launch {LAUNCH}"):
            state.add(launch_record(run="run-8"))
        assert journal.read_bytes() == before
        assert tree(tmp_path / "state" / "launches") == [LAUNCH, f"{LAUNCH}/journal"]


INVALID: dict[str, dict[str, object]] = {
    "an id that is a path": {"launch": "../../escape"},
    "a limit that does not exist": {"limits": {"patience": 1}},
    "a base of another format": {"base": "b" * 64},
    "a key that is too short": {"key": "5e"},
    "a folder that no system has": {"export": Folder(path=r'"/a\000b"', device=1, inode=2)},
    "a limit beyond all numbers": {
        "policy": PolicyText.of("ours", "[limits]\npack_bytes = 9007199254740992\n")
    },
}


@pytest.mark.parametrize("changes", INVALID.values(), ids=INVALID)
def test_a_record_that_could_not_be_read_again_is_not_added(
    changes: dict[str, object], tmp_path: Path
) -> None:
    with State(str(tmp_path / "state")) as state:
        before = tree(tmp_path)
        with pytest.raises(ImportRefused, match=r"recordInvalid|badObjectId"):
            state.add(launch_record(**changes))  # type: ignore[arg-type]
        assert tree(tmp_path) == before


NO_IDS = {
    "the folder itself": ".",
    "the folder above": "..",
    "a path": f"../launches/{LAUNCH}",
    "an absolute path": "/",
    "nothing": "",
    "a slash at the end": f"{LAUNCH}/",
    "a line feed at the end": f"{LAUNCH}\n",
    "a NUL": f"{LAUNCH[:-1]}\0",
    "upper case": LAUNCH.upper(),
    "a digit less": LAUNCH[:-1],
    "what is being made": f"tmp_{LAUNCH}",
    "a lone surrogate": "\udcff" * 32,
    "one that is not there": OTHER,
    "a file": "11" * 16,
    "a link to a launch": "22" * 16,
}


@pytest.mark.parametrize("name", NO_IDS.values(), ids=NO_IDS)
def test_no_launch_is(name: str, tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state:
        state.add(launch_record())
        launches = tmp_path / "state" / "launches"
        (launches / ("11" * 16)).touch()
        (launches / ("22" * 16)).symlink_to(LAUNCH)
        before = open_descriptors()
        with pytest.raises(ImportRefused) as refused, state.launch_folder(name):
            pytest.fail("it is opened")
        assert open_descriptors() == before
    assert refused.value.code is LAUNCH_UNKNOWN
    assert refused.value.message.startswith("there is no launch")
    assert refused.value.message.isprintable()
    assert refused.value.message.isascii()


def test_the_folder_of_a_launch_is_closed_after_its_block(tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state:
        state.add(launch_record())
        before = open_descriptors()
        with state.launch_folder(LAUNCH) as folder:
            assert state.read("journal", at=folder, most=1 << 20)
        with pytest.raises(KeyError), state.launch_folder(LAUNCH):
            raise KeyError
        assert open_descriptors() == before


def test_a_file_of_ours_that_is_none_is_corrupt(tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state:
        os.mkfifo(tmp_path / "state" / "fifo")
        with pytest.raises(ImportFailed) as failed:
            state.read("fifo", at=state.folder, most=10)
    assert (failed.value.code, failed.value.retry) == (STATE_CORRUPT, False)
    assert failed.value.message == "fifo is a FIFO"


def test_the_key_is_in_the_journal_and_nowhere_else(tmp_path: Path) -> None:
    with State(str(tmp_path / "state")) as state:
        state.add(launch_record())
    found = [path.name for path in tmp_path.rglob("*") if path.is_file()
             and KEY.encode() in path.read_bytes()]  # fmt: skip
    assert found == ["journal"]
