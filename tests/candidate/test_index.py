"""The index of a workspace: what git reads in it, and that it has nothing to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from candidate.index import index
from candidate.tree import Written
from packparse.objectformat import FORMATS
from tests.candidate.test_tree import ODD, planned
from tests.support.candidates import submodule
from tests.support.gitrepo import git, init

FIELDS = ("ctime", "mtime", "dev", "ino", "uid", "gid", "size")


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_git_finds_every_file_as_it_was_written(tmp_path: Path, fmt: str) -> None:
    work = init(tmp_path / "work", fmt)
    width = FORMATS[fmt].width
    folder = {**ODD, b"mod": submodule(b"\x07" * width), b"d": {b"deep": {b"e": b"e"}}, b"d-": b""}
    with planned(tmp_path, folder, fmt) as made:
        # The folder of a repository may have its .git in it.
        written = made.write(work)
        root = made.root.hex()
    (work / ".git" / "index").write_bytes(index(reversed(written), FORMATS[fmt]))
    listed = git(work, "ls-files", "-z", "--stage").stdout.split(b"\0")
    host = git(tmp_path / "host", "ls-tree", "-r", "-z", root).stdout.split(b"\0")
    # ls-tree names a kind as well, and modes as they stand in the tree.
    expected = [re.sub(rb"^(\d+) \w+ (\w+)\t", rb"\1 \2 0\t", line) for line in host]
    assert listed == [line.replace(b"100664", b"100644") for line in expected]
    told = git(work, "ls-files", "--debug", "-z").stdout.decode("utf-8", "surrogateescape")
    for entry in (entry for entry in written if entry.status is not None):
        status = entry.status
        assert status is not None
        numbers = re.findall(r"(ctime|mtime|dev|ino|uid|gid|size): (\d+)", _of(told, entry))
        assert dict(numbers) == {
            "ctime": str(status.st_ctime_ns // 10**9),
            "mtime": str(status.st_mtime_ns // 10**9),
            **{name: str(getattr(status, f"st_{name}")) for name in FIELDS[2:]},
        }


def _of(told: str, entry: Written) -> str:
    """What git says of one file."""
    name = entry.path.decode("utf-8", "surrogateescape")
    at = told.index(f"{name}\0  ctime")
    return told[at : told.index("flags:", at)]


def test_the_index_of_an_empty_tree_is_one(tmp_path: Path) -> None:
    work = init(tmp_path / "work")
    (work / ".git" / "index").write_bytes(index([], FORMATS["sha1"]))
    assert git(work, "ls-files").stdout == b""
    assert git(work, "status", "--porcelain").stdout == b""


@pytest.mark.parametrize("length", range(1, 12))
def test_entries_are_filled_up_to_eight_bytes_and_have_a_nul(length: int) -> None:
    entry = Written(b"p" * length, 0o100644, b"\1" * 20, None)
    data = index([entry], FORMATS["sha1"])
    body = data[12:-20]
    assert len(body) % 8 == 0
    assert body[62 : 62 + length + 1] == b"p" * length + b"\0"
    assert body[62 + length :].strip(b"\0") == b""
    assert 1 <= len(body) - 62 - length <= 8
