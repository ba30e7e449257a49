"""The exporter of sh: the same bytes, words and statuses as the one of Python, with less around."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from candidate.export import export, script
from candidate.workspace import PACK, SETTINGS
from manifest import ticket, v1
from manifest.atoms import COMMITS, LISTED_PATHS, LONGEST_QUOTED
from packparse.escape import quote
from tests.support.exports import Producer, copy_producer, utilities
from tests.support.fakegit import faked
from tests.support.gitrepo import EPOCH
from tests.support.launches import Scene

UTILITIES = ("awk", "cat", "cut", "env", "git", "mv", "od", "paste", "rm", "sed", "sort", "wc")
ODD: dict[str, str | bytes] = {
    "a space": " a b ",
    "quotes": '"q" it\'s',
    "a backslash": "a\\b\\n",
    "a tab": "a\tb",
    "a line feed": "a\nb\n",
    "no ASCII": "t\u00e4st \u202e",
    "no UTF-8": b"\xff\xfe",
    "a dash": "-x",
    "an escape": "\x1b[31m\x7f",
    "a dollar": "$HOME `x` %s *",
    "JSON": '","mac":"',
}


def plain(producer: Producer) -> None:
    producer.commit({"new": "new\n" * 50})


def several(producer: Producer) -> None:
    lines = [f"{number}\n" for number in range(300)]
    for number in range(4):
        lines[number] = "changed\n"
        producer.commit({"new": "".join(lines), f"dir{number}/b": "b\n", "run.sh": f"{number}"})


def merge(producer: Producer) -> None:
    producer.commit({"one": "1\n"})
    producer.git("checkout", "-q", "-b", "side", producer.ticket.base)
    producer.commit({"two": "2\n"})
    producer.git("checkout", "-q", "candidate")
    producer.git("merge", "-q", "--no-ff", "-m", "merge", "side")


def revert(producer: Producer) -> None:
    producer.commit({"dir0/file0.txt": "changed\n"})
    producer.git("revert", "--no-edit", "HEAD")


def empty(producer: Producer) -> None:
    producer.git("commit", "-q", "--allow-empty", "-m", "empty")


def odd(producer: Producer) -> None:
    plain(producer)
    producer.write(dict.fromkeys(ODD.values(), "odd\n"))


def many(producer: Producer) -> None:
    plain(producer)
    producer.write({f"many/{number:03}": "" for number in range(LISTED_PATHS + 5)})


def uncommitted(producer: Producer) -> None:
    """Everything that there is beside what is as HEAD has it, and what is ignored."""
    producer.commit({".gitignore": "*.o\n", "gone": "1\n", "moved": "2\n" * 9, "out": "3\n"})
    producer.commit({"as it was": "4\n", "on": "5\n"})
    producer.write({"staged": "1\n", "dir0/file0.txt": "changed\n", "ignored.o": "", "on": "6\n"})
    producer.git("add", "staged", "on")
    (producer.workspace / "gone").unlink()
    producer.git("mv", "moved", "to")
    # Not in the index any more, and still there: both commands tell of it.
    producer.git("rm", "-q", "--cached", "out")
    (producer.workspace / "as it was").touch()
    (producer.workspace / "on").chmod(0o755)
    producer.git("init", "-q", "inner")
    (producer.workspace / ".git" / "info").mkdir(exist_ok=True)
    (producer.workspace / ".git" / "info" / "exclude").write_text("mine\n")
    producer.write({"mine": "", "inner/x": ""})


def long(producer: Producer) -> None:
    """A path that no file system has, and so is missing; as a name of a manifest it is too long."""
    path = "/".join(["\u00e4" * 100] * 22)
    stream = (
        f"commit refs/heads/candidate\ncommitter a <a@b> {EPOCH} +0000\ndata 1\nx\n"
        f"from {producer.ticket.base}\nM 100644 inline {path}\ndata 1\nx\ndone\n"
    )
    producer.git("fast-import", "--quiet", "--done", "--force", given=stream.encode())
    producer.write({"short": ""})


def quoted(*names: str | bytes) -> list[str]:
    return sorted(quote(os.fsencode(name)) for name in names)


WORK: dict[str, tuple[Callable[[Producer], None], int, list[str]]] = {
    "one commit": (plain, 0, []),
    "several commits": (several, 0, []),
    "a merge": (merge, 0, []),
    "a revert": (revert, 0, []),
    "a commit without a change": (empty, 0, []),
    "new files with odd names": (odd, len(ODD), quoted(*ODD.values())),
    "more new files than are listed": (
        many, LISTED_PATHS + 5, [f"many/{number:03}" for number in range(LISTED_PATHS)],
    ),
    "all kinds of uncommitted work": (
        uncommitted, 8,
        ["dir0/file0.txt", "gone", "inner/", "moved", "on", "out", "staged", "to"],
    ),
    "a path that is too long to be listed": (long, 2, ["short"]),
}  # fmt: skip
CASES = [(name, "sha1") for name in WORK] + [("several commits", "sha256"), ("a merge", "sha256")]


def both(producer: Producer, capsys: pytest.CaptureFixture[str]) -> None:
    """Export with both, and compare all that they write and say."""
    assert producer.by_command() == 0
    told = capsys.readouterr().out
    written = producer.files()
    said = producer.by_script()
    # What git warns of, such as a long path, the script lets through.
    assert (said.status, said.out) == (0, told), said
    assert producer.files() == written
    assert producer.names() == {producer.ticket.artifact, v1.NAME}


@pytest.mark.parametrize(("name", "fmt"), CASES, ids=[f"{name}, {fmt}" for name, fmt in CASES])
def test_both_exporters_write_the_same(
    name: str,
    fmt: str,
    launched: dict[str, tuple[Scene, Producer]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make, dirty, paths = WORK[name]
    producer = copy_producer(launched[fmt][1], tmp_path)
    make(producer)
    both(producer, capsys)
    manifest = producer.manifest()
    assert manifest.candidate == producer.git("rev-parse", "HEAD")
    listed = producer.git("rev-list", f"{manifest.base}..HEAD").split()
    assert sorted(manifest.commits) == sorted(listed)
    assert (manifest.workspace.dirty, manifest.workspace.paths) == (dirty, paths)


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_what_the_script_wrote_is_imported(
    fmt: str, launched: dict[str, tuple[Scene, Producer]], tmp_path: Path
) -> None:
    scene, made = launched[fmt]
    producer = copy_producer(made, tmp_path)
    several(producer)
    producer.export = scene.export
    assert producer.by_script().status == 0
    receipt = scene.run().receipt
    assert (receipt.candidate, receipt.commits) == (
        producer.git("rev-parse", "HEAD"), producer.manifest().commits,
    )  # fmt: skip


# --- what is around ------------------------------------------------------------------------------


def test_nothing_that_a_workspace_configures_changes_the_bytes(
    producer: Producer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several(producer)
    odd(producer)
    both(producer, capsys)
    before = producer.files()
    for setting in CONFIGURED:
        producer.git("config", *setting.split("=", 1))
    all_files = tmp_path / "all"
    all_files.write_text("*\n")
    producer.git("config", "core.excludesFile", all_files)
    tip = producer.git("rev-parse", "HEAD")
    # A commit whose parent is another one, for whoever believes it.
    other = producer.git("commit-tree", "-m", "other", f"{tip}^{{tree}}")
    producer.git("replace", tip, other)
    info = producer.workspace / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "grafts").write_text(f"{tip}\n")
    both(producer, capsys)
    assert producer.files() == before
    # And nothing of how the objects are stored.
    producer.git("-c", "pack.window=0", "repack", "-adfq", "--depth=1")
    both(producer, capsys)
    assert producer.files() == before


CONFIGURED = (
    "core.compression=0", "pack.compression=1", "pack.window=0", "pack.depth=1",
    "pack.threads=4", "pack.packSizeLimit=1m", "core.bigFileThreshold=1", "pack.windowMemory=1",
    "pack.useSparse=true", "pack.deltaCacheSize=1", "core.quotePath=false",
    "diff.noprefix=true", "diff.renames=copies", "diff.external=false", "diff.relative=true",
    "diff.autoRefreshIndex=false", "diff.ignoreSubmodules=all", "core.pager=false",
    "core.fsmonitor=false",
    "log.showRoot=false", "status.showUntrackedFiles=no", "color.ui=always",
)  # fmt: skip


def test_it_is_run_from_anywhere_below_the_workspace(
    producer: Producer, capsys: pytest.CaptureFixture[str]
) -> None:
    uncommitted(producer)
    both(producer, capsys)
    before = producer.files()
    assert producer.by_script(at="dir0").status == 0
    assert producer.files() == before
    below = ["--workspace", str(producer.workspace / "dir0")]
    assert producer.by_command(*below) == 0
    assert producer.files() == before


def test_a_workspace_of_another_user_is_exported(
    producer: Producer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain(producer)
    variable = "GIT_TEST_ASSUME_DIFFERENT_OWNER"
    with faked(tmp_path, "rev-parse", f'{variable}=1; export {variable}; exec "$real" "$@"'):
        both(producer, capsys)


@pytest.mark.parametrize(
    "digests", ["sha256sum", "shasum", "openssl", ""], ids=lambda name: name or "awk"
)
def test_git_and_posix_utilities_are_enough_with_digests_by(
    digests: str, producer: Producer, tmp_path: Path
) -> None:
    if digests and shutil.which(digests) is None:
        pytest.skip(f"there is no {digests}")
    needed = (*UTILITIES, digests) if digests else UTILITIES
    # It is a script of perl, which it looks for by `env` or by its path.
    needed = (*needed, "perl") if digests == "shasum" else needed
    plain(producer)
    export(str(producer.workspace), str(producer.export))
    before = producer.files()
    said = producer.by_script(shutil.which("sh") or "", path=utilities(tmp_path / "bin", needed))
    assert (said.status, "awk makes the digests" in said.err) == (0, not digests), said
    assert producer.files() == before


SHELLS = {"dash": ("dash",), "busybox": ("busybox", "sh"), "bash": ("bash", "--posix")}


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_it_runs_under(
    shell: tuple[str, ...], producer: Producer, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    odd(producer)
    assert producer.by_command() == 0
    told, written = capsys.readouterr().out, producer.files()
    assert producer.by_script(*shell) == (0, told, "")
    assert producer.files() == written


@pytest.mark.parametrize("length", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_the_digest_of_awk_is_the_right_one(length: int) -> None:
    _, opening, rest = script().decode().partition("awk_sha256() {\n")
    body, closing, _ = rest.partition("\n}\n")
    data = bytes(number * 7 % 256 for number in range(length))
    done = subprocess.run(
        ["sh", "-c", f"{opening}{body}{closing}awk_sha256"],
        input=data, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == f"{hashlib.sha256(data).hexdigest()}\n"


def test_both_give_git_the_same_settings() -> None:
    text = " ".join(script().decode().replace("'", "").replace("\\\n", " ").split())
    assert " ".join(f"-c {setting}" for setting in SETTINGS) in text
    assert " ".join(PACK) in text
    assert f"-le {COMMITS} " in text
    assert f"length($0) <= {LONGEST_QUOTED} && n++ < {LISTED_PATHS}" in text


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
    plain(producer)


def no_base(producer: Producer) -> None:
    bent = msgspec.structs.replace(producer.ticket, base="1" * 40)
    (producer.export / ticket.NAME).write_bytes(ticket.write(bent))


def nothing_committed(producer: Producer) -> None:
    producer.write({"new": "", "dir0/file0.txt": ""})


def too_many(producer: Producer) -> None:
    stream = [f"reset refs/heads/candidate\nfrom {producer.ticket.base}\n"]
    stream += [
        f"commit refs/heads/candidate\ncommitter a <a@b> {EPOCH} +0000\ndata 0\n"
        for _ in range(COMMITS + 1)
    ]
    producer.git("fast-import", "--quiet", "--force", given="".join(stream).encode())


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
    "too many commits": (
        too_many, 4, "exportTooLarge: there are 10001 commits, and a manifest lists 10000\n",
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


def test_a_ticket_that_is_none_is_not_worked_with(producer: Producer) -> None:
    plain(producer)
    path = producer.export / ticket.NAME
    path.write_bytes(path.read_bytes().replace(b",", b", ", 1))
    assert producer.by_command() == 1
    assert producer.by_script()[0] == 1
    assert producer.names() == set()


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
    name: str, producer: Producer
) -> None:
    plain(producer)
    (producer.export / name).mkdir()
    assert (producer.by_command(), producer.by_script().status) == (6, 6)
    assert list((producer.export / name).iterdir()) == []
    assert producer.names() == {name}


# --- how it ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["rev-parse", "merge-base", "rev-list", "diff", "ls-files", "pack-objects"]
)
def test_an_export_whose_git_dies_leaves_what_was_there(
    command: str, producer: Producer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain(producer)
    export(str(producer.workspace), str(producer.export))
    before = producer.files()
    producer.commit({"more": "more\n"})
    with faked(tmp_path, command, "echo PACK; kill -9 $$"):
        assert producer.by_command() == 6
        assert "gitFailed: git was ended by signal 9" in capsys.readouterr().err
        said = producer.by_script()
    assert (said.status, said.out) == (6, "")
    assert said.err.endswith("git candidate: nothing was exported\n")
    assert producer.files() == before
    assert producer.names() == {producer.ticket.artifact, v1.NAME}
    both(producer, capsys)
    assert producer.files() != before


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
    number: int,
    status: int,
    left: set[str],
    producer: Producer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain(producer)
    export(str(producer.workspace), str(producer.export))
    before = producer.files()
    producer.commit({"more": "more\n"})
    with faked(tmp_path, "pack-objects", f"echo PACK; kill -{number} 0"):
        assert producer.by_script().status == status
    assert producer.files() == before
    assert producer.names() == {producer.ticket.artifact, v1.NAME} | left
    both(producer, capsys)


# Of each utility that changes the folder, the call that ends the script before it is made.
ENDED = {
    f"before call {number} of {name}": (name, number)
    for name, number in [("rm", 1), ("rm", 2), ("rm", 3), ("mv", 1), ("mv", 2)]
}


@pytest.mark.parametrize(("name", "number"), ENDED.values(), ids=ENDED)
def test_no_manifest_is_beside_another_artifact_when_it_is_killed(
    name: str,
    number: int,
    producer: Producer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain(producer)
    export(str(producer.workspace), str(producer.export))
    before = producer.files()
    producer.commit({"more": "more\n"})
    (tmp_path / "fake").mkdir()
    calls = tmp_path / "calls"
    fake = tmp_path / "fake" / name
    fake.write_text(
        f"#!/bin/sh\necho >> {calls}; [ $(wc -l < {calls}) -ne {number} ] || kill -9 0\n"
        f'exec {shutil.which(name)} "$@"\n'
    )
    fake.chmod(0o755)
    said = producer.by_script(path=f"{tmp_path / 'fake'}:{os.environ['PATH']}")
    assert said.status == -signal.SIGKILL
    left = producer.files()
    assert left.manifest is None or left == before
    both(producer, capsys)
