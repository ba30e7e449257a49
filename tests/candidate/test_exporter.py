"""The exporter of sh: the same bytes, words and statuses as the one of Python, with less around."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from candidate.export import script
from candidate.workspace import PACK, SETTINGS
from manifest.atoms import COMMITS, LISTED_PATHS, LONGEST_QUOTED
from packparse.escape import quote
from tests.support.exports import UTILITIES, Producer, both, copy_producer, utilities
from tests.support.fakegit import faked
from tests.support.gitrepo import EPOCH
from tests.support.launches import Scene

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
CASES = [(name, "sha1") for name in WORK] + [("several commits", "sha256")]


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
    all_files = tmp_path / "all"
    all_files.write_text("*\n")
    with (producer.workspace / ".git" / "config").open("a") as config:
        for setting in (*CONFIGURED, f"core.excludesFile={all_files}"):
            section, _, variable = setting.partition(".")
            config.write(f"[{section}]\n{variable}\n")
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


def test_it_is_run_from_anywhere_below_the_workspace(producer: Producer) -> None:
    uncommitted(producer)
    assert producer.by_command() == 0
    before = producer.files()
    assert producer.by_script(at="dir0").status == 0
    assert producer.files() == before
    assert producer.by_command("--workspace", str(producer.workspace / "dir0")) == 0
    assert producer.files() == before


def test_a_workspace_of_another_user_is_exported(
    ready: Producer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variable = "GIT_TEST_ASSUME_DIFFERENT_OWNER"
    with faked(tmp_path, "rev-parse", f'{variable}=1; export {variable}; exec "$real" "$@"'):
        both(ready, capsys)
    assert ready.files() == ready.expected


@pytest.mark.parametrize(
    "digests", ["sha256sum", "shasum", "openssl", ""], ids=lambda name: name or "awk"
)
def test_git_and_posix_utilities_are_enough_with_digests_by(
    digests: str, ready: Producer, tmp_path: Path
) -> None:
    if digests and shutil.which(digests) is None:
        pytest.skip(f"there is no {digests}")
    needed = (*UTILITIES, digests) if digests else UTILITIES
    # It is a script of perl, which it looks for in the search path or at a fixed one.
    if digests == "shasum" and shutil.which("perl"):
        needed = (*needed, "perl")
    said = ready.by_script(shutil.which("sh") or "", path=utilities(tmp_path / "bin", needed))
    assert (said.status, "awk makes the digests" in said.err) == (0, not digests), said
    assert ready.files() == ready.expected


SHELLS = {"dash": ("dash",), "busybox": ("busybox", "sh"), "bash": ("bash", "--posix")}


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_it_runs_under(shell: tuple[str, ...], ready: Producer) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    said = ready.by_script(*shell)
    assert (said.status, said.err) == (0, "")
    assert ready.files() == ready.expected


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
