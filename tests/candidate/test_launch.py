"""Launching: the whole way of a candidate, where a launch may lie, what becomes of a bad one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from candidate.errors import CandidateError
from candidate.launch import Order, launch
from candidate.sandbox import bare, run
from importer.durable import Files
from importer.errors import GIT_FAILED, ImporterError, ImportFailed
from importer.launches import discard, listed, recover_all, show
from importer.repository import Repository
from importer.state import State
from importer.steps import import_candidate
from importer.world import World
from manifest import ticket
from manifest.launch import Launch, PolicyText
from packparse.errors import MisuseError, PackError
from tests.support.aftermath import names
from tests.support.candidates import Folder, link, program, submodule
from tests.support.gitrepo import git
from tests.support.launched import Launched, host_with, launched, order
from tests.support.launches import Format, commit, make_host
from tests.support.untouched import only_packs_added, untouched
from tests.support.worlds import Telling


def imported(made: Launched, tip: str) -> None:
    """Import what the producer exported: the host has it, and nothing else is another there."""
    with made.opened() as repository:
        common = Path(repository.path)
        with only_packs_added(made.repo, common):
            receipt = import_candidate(repository, made.record.launch).receipt
    assert receipt.candidate == tip
    assert git(made.repo, "fsck", "--full", "--strict", "--no-dangling").stdout == b""
    assert git(made.repo, "cat-file", "-t", tip).stdout == b"commit\n"


# --- the whole way ------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True], ids=["depth one", "full"])
@pytest.mark.parametrize("shape", ["plain", "bare", "shallow", "worktree"])
@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_a_candidate_comes_the_whole_way(
    tmp_path: Path, fmt: Format, shape: str, full: bool
) -> None:
    host = make_host(tmp_path, fmt, shape=shape)
    made = launched(host.repo, host.base, tmp_path, full=full)
    (made.workspace / "dir0" / "file0.txt").write_bytes(b"changed\n")
    (made.workspace / "new").symlink_to("dir0/file0.txt")
    tip = made.commit()
    made.hand_back()
    imported(made, tip)


def _nothing(_made: Launched) -> None:
    """A commit that changes nothing."""


def _odd_names(made: Launched) -> None:
    for name in (b"a b", b"-rf", b"q\"'", "ä".encode()):
        Path(made.workspace, os.fsdecode(name)).write_bytes(b"x\n")


def _modes(made: Launched) -> None:
    (made.workspace / "run.sh").chmod(0o644)
    (made.workspace / "a").chmod(0o755)
    (made.workspace / "link").unlink()
    (made.workspace / "link").symlink_to("run.sh")


def _all_gone(made: Launched) -> None:
    git(made.workspace, "rm", "-rq", ".")


def _merge(made: Launched) -> None:
    git(made.workspace, "switch", "-qc", "side")
    (made.workspace / "side").write_bytes(b"side\n")
    made.commit("side")
    git(made.workspace, "switch", "-q", "candidate")
    (made.workspace / "a").write_bytes(b"main\n")
    made.commit("main")
    git(made.workspace, "-c", "user.name=P", "-c", "user.email=p@x", "merge", "-q", "side")


def _revert(made: Launched) -> None:
    (made.workspace / "a").write_bytes(b"changed\n")
    made.commit("changed")
    git(made.workspace, "-c", "user.name=P", "-c", "user.email=p@x", "revert", "--no-edit", "HEAD")


def _restored(made: Launched) -> None:
    # It stood in the commit before the base, which the producer was not given.
    (made.workspace / "old").write_bytes(b"was deleted before the base\n")


def _new_submodule(made: Launched) -> None:
    (made.workspace / ".gitmodules").write_bytes(
        b'[submodule "mod"]\n\tpath = mod\n\turl = https://example.com/mod\n'
    )
    git(made.workspace, "update-index", "--add", "--cacheinfo", f"160000,{'7' * 40},mod")


BASE: Folder = {
    b"a": b"a\n",
    b"run.sh": program(b"#!/bin/sh\n"),
    b"link": link(b"a"),
    b"pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 5\n"
    % (b"0" * 64),
    b".gitattributes": b"pointer filter=lfs diff=lfs merge=lfs -text\n",
}
WORK: dict[str, tuple[Folder, Callable[[Launched], None]]] = {
    "nothing but a message": (BASE, _nothing),
    "odd names": (BASE, _odd_names),
    "executable bits and links": (BASE, _modes),
    "an empty tree": (BASE, _all_gone),
    "from an empty tree": ({}, _odd_names),
    "a merge": (BASE, _merge),
    "a revert": (BASE, _revert),
    "an old file that is restored": (BASE, _restored),
    "beside a submodule": (
        {
            **BASE,
            b"mod": submodule(),
            b".gitmodules": b'[submodule "mod"]\n\tpath = mod\n\turl = https://example.com/mod\n',
        },
        _modes,
    ),
}


@pytest.mark.parametrize("full", [False, True], ids=["depth one", "full"])
@pytest.mark.parametrize("name", WORK)
def test_any_work_comes_the_whole_way(tmp_path: Path, name: str, full: bool) -> None:
    folder, work = WORK[name]
    with host_with(tmp_path, folder) as (_, base):
        pass
    made = launched(tmp_path / "host", base.hex(), tmp_path, full=full)
    work(made)
    tip = made.commit()
    made.hand_back()
    imported(made, tip)


def test_a24_nothing_of_the_host_runs_and_contents_are_those_of_the_objects(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    touch = f"touch {canary}; cat"
    host = make_host(tmp_path)
    base = commit(host.repo, host.base, {".gitattributes": b"* filter=x eol=crlf\n", "a": b"a\n"})
    for setting in (
        "filter.x.smudge",
        "filter.x.clean",
        "core.fsmonitor",
        "uploadpack.packObjectsHook",
    ):
        git(host.repo, "config", setting, touch)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        path = host.common / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{touch}\n")
        path.chmod(0o755)
    made = launched(host.repo, base, tmp_path)
    assert (made.source / "a").read_bytes() == (made.workspace / "a").read_bytes() == b"a\n"
    assert not canary.exists()


def test_a_sparse_host_gives_the_whole_tree(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    git(host.repo, "sparse-checkout", "set", "--cone", "dir0")
    made = launched(host.repo, host.base, tmp_path)
    listed_paths = git(host.repo, "ls-tree", "-r", "--name-only", host.base).stdout.decode().split()
    assert all((made.source / path).is_file() for path in listed_paths)


def test_the_host_is_only_read(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    with untouched(host.repo):
        launched(host.repo, host.base, tmp_path)


# --- what is recorded ---------------------------------------------------------------------------


def test_the_launch_is_recorded_with_all_that_an_import_needs(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    made = launched(host.repo, host.base, tmp_path)
    with State(str(made.state)) as state:
        shown = show(state, made.record.launch)
    assert shown.record == made.record
    assert shown.state == "ready"
    status = made.export.stat()
    assert (made.record.export.device, made.record.export.inode) == (status.st_dev, status.st_ino)
    assert made.record.export.location == str(made.export)
    assert os.fspath((made.folder / "launch").readlink()) == made.record.launch
    told = ticket.read((made.export / ticket.NAME).read_bytes())
    assert told == ticket.Ticket.of(made.record)


def test_no_two_launches_share_an_id_or_a_key(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:
        one, two = (
            launch(repository, str(tmp_path / name), order(host.base)) for name in ("one", "two")
        )
    assert one.launch != two.launch
    assert one.key != two.key


def test_the_record_is_durable_before_there_is_anything_to_start_from(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    seen: list[str] = []

    def look(stage: str) -> None:
        with State(str(tmp_path / "state")) as state:
            seen.extend(f"{stage}: {one.state}" for one in listed(state).shown)

    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:
        launch(repository, str(tmp_path / "one"), order(host.base), on_stage=look)
        look("done")
    assert seen == [
        "writing the tree: preparing",
        "writing the repository: preparing",
        "done: ready",
    ]


# --- where it may lie ---------------------------------------------------------------------------


def _in_the_host(tmp_path: Path) -> Path:
    return tmp_path / "host" / "sub"


def _in_the_git_folder(tmp_path: Path) -> Path:
    return tmp_path / "host" / ".git" / "launch"


def _in_the_state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "launch"


def _around_the_state(tmp_path: Path) -> Path:
    return tmp_path


def _full(tmp_path: Path) -> Path:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_bytes(b"mine\n")
    return tmp_path / "full"


def _no_folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"mine\n")
    return tmp_path / "file"


def _link(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    return tmp_path / "link"


def _open(tmp_path: Path) -> Path:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    return tmp_path / "open"


def _full_export(tmp_path: Path) -> Path:
    (tmp_path / "used" / "export").mkdir(parents=True)
    (tmp_path / "used" / "export" / "candidate.bundle").write_bytes(b"mine\n")
    return tmp_path / "used"


PLACES = {
    "in a repository": (_in_the_host, "folderUnsafe"),
    "in a git folder": (_in_the_git_folder, "folderUnsafe"),
    "in the state folder": (_in_the_state, "folderUnsafe"),
    "around the state folder": (_around_the_state, "folderUnsafe"),
    "where others may write": (_open, "folderUnsafe"),
    "where something is": (_full, "folderTaken"),
    "where a file is": (_no_folder, "folderTaken"),
    "where a link is": (_link, "folderTaken"),
    "where an export is": (_full_export, "folderTaken"),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_launch_lies_in_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    where, code = PLACES[name]
    host = make_host(tmp_path)
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:
        path = where(tmp_path)
        with untouched(host.repo), pytest.raises(CandidateError) as refused:
            launch(repository, str(path), order(host.base))
        assert refused.value.code.name == code
        assert state.names() == []


def test_a_folder_of_somebody_else_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host(tmp_path)
    (tmp_path / "launch").mkdir()
    another = os.geteuid() + 1
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:
        monkeypatch.setattr("candidate.launch.os.geteuid", lambda: another)
        with pytest.raises(CandidateError, match=r"folderUnsafe: .* you alone may write to"):
            launch(repository, str(tmp_path / "launch"), order(host.base))


def test_what_is_noted_of_a_launch_is_on_the_disk_before(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    files = Telling()
    made = launched(host.repo, host.base, tmp_path, world=World(files))
    synced = [n for n, line in enumerate(files.seen) if line == "fsync launch"]
    launch_id = made.record.launch
    recorded = files.seen.index(f"rename tmp_{launch_id} {launch_id}")
    ready = files.seen.index("write journal", recorded)
    # The folder that the record names; its mark; all that is in it.
    assert len(synced) == 3
    assert synced[0] < recorded < synced[1] < synced[2] < ready


def test_nobody_else_may_read_the_key_of_a_producer(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    made = launched(host.repo, host.base, tmp_path)
    assert stat.S_IMODE((made.export / "ticket.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(made.export.stat().st_mode) == 0o700


@pytest.mark.parametrize("there", ["an empty folder", "an empty export folder"])
def test_what_a_launch_left_that_was_never_recorded_is_taken_over(
    tmp_path: Path, there: str
) -> None:
    host = make_host(tmp_path)
    (tmp_path / "launch").mkdir()
    if there == "an empty export folder":
        (tmp_path / "launch" / "export").mkdir()
    made = launched(host.repo, host.base, tmp_path)
    assert (made.source / "dir0").is_dir()


def test_of_two_launches_into_one_folder_one_wins(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    into = str(tmp_path / "launch")
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:

        def rival(stage: str) -> None:
            if stage == "reading the base":
                return

        class Racing(Files):
            began = False

            def make_folder(self, name: str, *, at: int | None = None, mode: int = 0o700) -> None:
                super().make_folder(name, at=at, mode=mode)
                # The other one comes between the look and the mark.
                if name == "export" and not Racing.began:
                    Racing.began = True
                    winner.append(launch(repository, into, order(host.base), on_stage=rival))

        winner: list[object] = []
        with (
            State(str(tmp_path / "state"), World(Racing())) as second,
            Repository(str(host.repo), second) as other,
            pytest.raises(CandidateError, match="folderTaken"),
        ):
            launch(other, into, order(host.base))
        states = {one.record.launch: one.state for one in listed(state).shown}
        (won,) = winner
        assert sorted(states.values()) == ["discarded", "ready"]
        assert states[won.launch] == "ready"  # type: ignore[attr-defined]
        assert recover_all(repository)
    assert names(tmp_path / "launch") == {"export", "home", "launch", "source", "workspace"}


# --- what ends otherwise ------------------------------------------------------------------------


def test_a_launch_that_fails_leaves_nothing_but_a_record_that_it_was_given_up(
    tmp_path: Path,
) -> None:
    host = make_host(tmp_path)

    def stop(stage: str) -> None:
        if stage == "writing the repository":
            raise KeyboardInterrupt

    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:
        with pytest.raises(KeyboardInterrupt):
            launch(repository, str(tmp_path / "one"), order(host.base), on_stage=stop)
        (shown,) = listed(state).shown
        assert shown.state == "discarded"
        assert not (tmp_path / "one").exists()
        with pytest.raises(ImporterError, match="launchDiscarded"):
            import_candidate(repository, shown.record.launch)
        launch(repository, str(tmp_path / "one"), order(host.base))
    assert (tmp_path / "one" / "workspace").is_dir()


def test_a_launch_that_somebody_discards_meanwhile_is_not_made(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    with State(str(tmp_path / "state")) as other, Repository(str(host.repo), other) as another:

        class Hasty(State):
            def add(self, launch: Launch, *, preparing: bool = False) -> None:
                super().add(launch, preparing=preparing)
                discard(another, launch.launch)

        with (
            Hasty(str(tmp_path / "state")) as state,
            Repository(str(host.repo), state) as repository,
            pytest.raises(ImporterError, match="launchDiscarded"),
        ):
            launch(repository, str(tmp_path / "one"), order(host.base))
    assert names(tmp_path / "one") == {"export"}


def test_a_launch_that_fails_and_cannot_be_swept_says_what_went_wrong_first(
    tmp_path: Path,
) -> None:
    host = make_host(tmp_path)

    class Stuck(Files):
        stuck = False

        def remove(self, name: str, *, at: int) -> bool:
            if Stuck.stuck:
                raise PermissionError(13, "Permission denied", name)
            return super().remove(name, at=at)

    def stop(stage: str) -> None:
        if stage == "writing the repository":
            Stuck.stuck = True
            raise ImportFailed(GIT_FAILED, "what went wrong first")

    with (
        State(str(tmp_path / "state"), World(Stuck())) as state,
        Repository(str(host.repo), state) as repository,
    ):
        with pytest.raises(ImportFailed, match="what went wrong first") as failed:
            launch(repository, str(tmp_path / "one"), order(host.base), on_stage=stop)
        assert "git candidate recover" in failed.value.__notes__[0]
        Stuck.stuck = False
        (recovered,) = recover_all(repository)
    assert recovered.state == "discarded"
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("imported_before", [False, True], ids=["as it is", "after an import"])
def test_discarding_a_launch_removes_its_folder_whatever_its_producer_made(
    tmp_path: Path, imported_before: bool
) -> None:
    host = make_host(tmp_path)
    made = launched(host.repo, host.base, tmp_path)
    if imported_before:
        tip = made.commit()
        made.hand_back()
        imported(made, tip)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_bytes(b"mine\n")
    (made.workspace / "link").symlink_to(outside)
    at = os.open(made.workspace, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 200, dir_fd=at)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    closed = made.workspace / "closed"
    closed.mkdir()
    (closed / "f").write_bytes(b"x")
    closed.chmod(0)
    with made.opened() as repository:
        assert discard(repository, made.record.launch).state == "discarded"
        assert discard(repository, made.record.launch).state == "discarded"
    assert not made.folder.exists()
    assert (outside / "mine").read_bytes() == b"mine\n"


def _by_a_link(mark: Path) -> None:
    mark.symlink_to("00" * 16)


def _by_a_file(mark: Path) -> None:
    mark.write_bytes(b"mine\n")


@pytest.mark.parametrize(
    "other", [_by_a_link, _by_a_file, None], ids=["another launch", "a file", "nobody"]
)
def test_a_folder_that_is_no_more_that_of_the_launch_stays_as_it_is(
    tmp_path: Path, other: Callable[[Path], None] | None
) -> None:
    host = make_host(tmp_path)
    made = launched(host.repo, host.base, tmp_path)
    (made.folder / "launch").unlink()
    if other:
        other(made.folder / "launch")
    with made.opened() as repository, untouched(made.folder):
        assert discard(repository, made.record.launch).state == "discarded"


@pytest.mark.parametrize("there", ["nothing", "a file"])
def test_a_launch_whose_folder_went_elsewhere_can_be_discarded(tmp_path: Path, there: str) -> None:
    host = make_host(tmp_path)
    made = launched(host.repo, host.base, tmp_path)
    made.folder.rename(tmp_path / "elsewhere")
    if there == "a file":
        made.folder.write_bytes(b"mine\n")
    with made.opened() as repository, untouched(tmp_path / "elsewhere"):
        assert discard(repository, made.record.launch).state == "discarded"


def test_the_home_of_a_producer_without_a_sandbox_goes_with_its_launch(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    made = launched(host.repo, host.base, tmp_path)
    run(bare(str(made.folder), ["sh", "-c", "echo x > ~/.history"]))
    assert names(made.folder / "home") == {".history"}
    with made.opened() as repository:
        discard(repository, made.record.launch)
    assert not made.folder.exists()


def test_what_somebody_else_put_into_the_folder_stays(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    made = launched(host.repo, host.base, tmp_path)
    (made.folder / "notes.txt").write_bytes(b"mine\n")
    with made.opened() as repository:
        discard(repository, made.record.launch)
    assert names(made.folder) == {"notes.txt"}


def test_a_policy_that_git_cannot_follow_is_said_before_anything_is_made(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    policy = PolicyText.of("mine", '[severity]\nnulInHeader = "warning"\n')
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:
        with pytest.raises(ImporterError, match="notRelaxable"):
            launch(repository, str(tmp_path / "one"), order(host.base)._replace(policy=policy))
        assert state.names() == []


ORDERS: dict[str, tuple[Callable[[Order], Order], type[Exception], str]] = {
    "a name that is none": (lambda o: o._replace(issue="a b"), ImporterError, "recordInvalid"),
    "a limit that is none": (lambda o: o._replace(limits={"no": 1}), MisuseError, "unknown limit"),
    "a tree that is too large": (
        lambda o: o._replace(limits={"files": 1}), PackError, "tooManyFiles"
    ),
    "an id of another width": (lambda o: o._replace(base="12" * 32), ImporterError, "baseMissing"),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_cannot_be_met_leaves_no_launch(tmp_path: Path, name: str) -> None:
    change, error, match = ORDERS[name]
    host = make_host(tmp_path)
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as repository:
        with pytest.raises(error, match=match):
            launch(repository, str(tmp_path / "one"), change(order(host.base)))
        assert state.names() == []
