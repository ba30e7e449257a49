"""What a producer is given: exactly the seeded set, and a repository with nothing of the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from candidate import seed
from importer.errors import ImporterError
from importer.repository import Repository
from importer.state import State
from packparse.entry import KIND_NAMES
from tests.support.fakegit import faked
from tests.support.gitrepo import git
from tests.support.launched import launched
from tests.support.launches import Format, commit, make_host


def objects(repo: Path) -> set[str]:
    """The ids of all objects that a repository has."""
    told = git(repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").stdout
    return set(told.decode().split())


def reachable(repo: Path, *revisions: str) -> set[str]:
    told = git(repo, "rev-list", "--objects", "--no-object-names", *revisions).stdout
    return set(told.decode().split())


@pytest.mark.parametrize("full", [False, True], ids=["the base alone", "all of its history"])
@pytest.mark.parametrize("shape", ["plain", "bare", "shallow", "worktree"])
@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_a_private_repository_holds_the_seeded_set_and_nothing_else(
    tmp_path: Path, fmt: Format, shape: str, full: bool
) -> None:
    host = make_host(tmp_path, fmt, shape=shape)
    git(host.repo, "branch", "other")
    made = launched(host.repo, host.base, tmp_path, full=full)
    work = made.workspace
    expected = (
        reachable(host.repo, host.base) if full else reachable(host.repo, f"{host.base}^{{tree}}")
    )
    assert objects(work) == expected | {host.base}
    assert git(work, "fsck", "--full", "--strict").stdout == b""
    assert (
        git(work, "for-each-ref").stdout == f"{host.base} commit\trefs/heads/candidate\n".encode()
    )
    assert git(work, "symbolic-ref", "HEAD").stdout == b"refs/heads/candidate\n"
    assert git(work, "status", "--porcelain", "--ignored").stdout == b""
    assert git(work, "rev-parse", "--show-object-format").stdout == f"{fmt}\n".encode()
    assert (git(work, "diff-files", "--name-only").stdout) == b""
    # Where the history ends in the host it ends here as well.
    cut = shape == "shallow" or not full
    assert made.record.seed.boundary == ([host.base] if cut else [])
    assert (work / ".git" / "shallow").exists() == cut
    assert git(work, "rev-list", "--count", "HEAD").stdout == (b"1\n" if cut else b"3\n")


def test_objects_decide_and_not_what_the_host_puts_in_their_place(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    expected = reachable(host.repo, host.base)
    # Another repository, which has all of its objects elsewhere, and says otherwise of some.
    repo = tmp_path / "sharing"
    git(tmp_path, "clone", "-q", "--shared", "host", "sharing")
    root = git(repo, "rev-list", "--max-parents=0", "HEAD").stdout.decode().strip()
    lie = commit(repo, "", {"lie.txt": b"a lie\n"})
    git(repo, "replace", host.base, lie)
    (repo / ".git" / "info" / "grafts").write_text(f"{host.base} {lie}\n{root} {lie}\n")
    made = launched(repo, host.base, tmp_path, full=True)
    assert objects(made.workspace) == expected
    assert (made.source / "dir0" / "file0.txt").is_file()
    assert not (made.source / "lie.txt").exists()
    assert git(made.workspace, "rev-list", "--count", "HEAD").stdout == b"3\n"


def test_where_another_branch_ends_is_no_boundary_of_this_one(tmp_path: Path) -> None:
    host = make_host(tmp_path, shape="shallow")
    other = commit(host.repo, "", {"other.txt": b"x\n"})
    with (host.common / "shallow").open("a") as listed:
        listed.write(f"{other}\n")
    made = launched(host.repo, host.base, tmp_path, full=True)
    assert made.record.seed.boundary == [host.base]
    assert (made.workspace / ".git" / "shallow").read_text() == f"{host.base}\n"


def test_a_base_without_parents_has_no_boundary(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    root = git(host.repo, "rev-list", "--max-parents=0", "HEAD").stdout.decode().strip()
    made = launched(host.repo, root, tmp_path)
    assert made.record.seed.boundary == []
    assert not (made.workspace / ".git" / "shallow").exists()
    assert git(made.workspace, "fsck", "--full", "--strict").stdout == b""


def test_the_files_of_the_private_repository_are_these(tmp_path: Path) -> None:
    made = launched(make_host(tmp_path).repo, make_base(tmp_path), tmp_path)
    private = made.workspace / ".git"
    there = {str(path.relative_to(private)) for path in private.rglob("*") if path.is_file()}
    packs = {name for name in there if name.startswith("objects/pack/pack-")}
    assert there - packs == {"HEAD", "config", "index", "shallow", "refs/heads/candidate"}
    assert {Path(name).suffix for name in packs} >= {".pack", ".idx"}
    assert git(made.workspace, "config", "--local", "--list").stdout == (
        b"core.repositoryformatversion=0\ncore.filemode=true\ncore.bare=false\n"
        b"user.name=producer\nuser.email=producer@candidate.invalid\n"
    )


def make_base(folder: Path) -> str:
    return git(folder / "host", "rev-parse", "HEAD").stdout.decode().strip()


def _no_commit(host: Path) -> str:
    return git(host, "rev-parse", "HEAD^{tree}").stdout.decode().strip()


def _no_object(_host: Path) -> str:
    return "12" * 20


@pytest.mark.parametrize("base", [_no_commit, _no_object], ids=["a tree", "nothing"])
def test_what_is_no_commit_of_the_host_is_no_base(
    tmp_path: Path, base: Callable[[Path], str]
) -> None:
    host = make_host(tmp_path)
    with pytest.raises(ImporterError, match="baseMissing"):
        launched(host.repo, base(host.repo), tmp_path)
    assert not (tmp_path / "launch").exists()


@pytest.mark.parametrize("full", [False, True], ids=["of the base", "of its history"])
def test_a_partial_clone_that_lacks_a_file_is_no_host_and_fetches_nothing(
    tmp_path: Path, full: bool
) -> None:
    host = make_host(tmp_path, shape="partial")
    if full:
        # What the base needs is there, and older files are not.
        git(host.repo, "checkout", "-q", host.base)
    before = objects(host.repo)
    with pytest.raises(ImporterError, match=r"baseMissing: .* is not in the repository"):
        launched(host.repo, host.base, tmp_path, full=full)
    assert objects(host.repo) == before


DAMAGE = {"no id": b"nonsense\n", "an id of another width": b"12" * 32 + b"\n"}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_list_of_shallow_commits_is_not_guessed_at(tmp_path: Path, name: str) -> None:
    host = make_host(tmp_path)
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as opened:
        (host.common / "shallow").write_bytes(DAMAGE[name])
        with pytest.raises(ImporterError, match="storeCorrupt"):
            seed.gather(opened, bytes.fromhex(host.base), full=False)


@pytest.mark.parametrize("of", ["the base", "its history alone"])
def test_an_object_that_lies_about_its_id_is_not_given_to_anybody(tmp_path: Path, of: str) -> None:
    host = make_host(tmp_path)
    base = commit(host.repo, commit(host.repo, host.base, {"x": b"old\n"}), {"x": b"new\n"})
    revision = base if of == "the base" else f"{base}~1"
    blob = git(host.repo, "rev-parse", f"{revision}:x").stdout.decode().strip()
    for pack in (host.common / "objects" / "pack").glob("*.pack"):
        content = pack.read_bytes()
        for path in pack.parent.glob(f"{pack.stem}.*"):
            path.unlink()
        git(host.repo, "unpack-objects", "-q", input=content)
    lying = host.common / "objects" / blob[:2] / blob[2:]
    other = git(host.repo, "hash-object", "-w", "--stdin", input=b"lie\n").stdout.decode().strip()
    lying.chmod(0o600)
    lying.write_bytes((host.common / "objects" / other[:2] / other[2:]).read_bytes())
    with pytest.raises(ImporterError) as refused:
        launched(host.repo, base, tmp_path, full=True)
    assert refused.value.code.name == "storeCorrupt"
    assert list(tmp_path.glob("launch/*")) == []


def test_a_pack_that_has_not_what_was_listed_is_not_given_to_anybody(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    # It leaves the last one out.
    short = 'head -n 3 > list; exec "$real" "$@" < list'
    with faked(tmp_path, "pack-objects", short), pytest.raises(ImporterError) as refused:
        launched(host.repo, host.base, tmp_path)
    assert refused.value.code.name == "storeCorrupt"
    assert "not what was listed" in refused.value.message


def test_a_base_that_is_malformed_is_a_damaged_store(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    made = git(
        host.repo, "hash-object", "-w", "-t", "commit", "--literally", "--stdin", input=b"none\n"
    )
    with pytest.raises(ImporterError, match=r"storeCorrupt: .* is malformed"):
        launched(host.repo, made.stdout.decode().strip(), tmp_path)


def test_a_git_that_fails_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    with (
        faked(tmp_path, "pack-objects", "echo 'fatal: no' >&2; exit 128"),
        pytest.raises(ImporterError, match="gitFailed: git pack-objects: fatal: no"),
    ):
        launched(host.repo, host.base, tmp_path)
    assert list(tmp_path.glob("launch/*")) == []


def test_kinds_are_those_of_git(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    with State(str(tmp_path / "state")) as state, Repository(str(host.repo), state) as opened:
        seeded = seed.gather(opened, bytes.fromhex(host.base), full=True)
    for oid, kind in seeded.kinds.items():
        assert (
            git(host.repo, "cat-file", "-t", oid.hex()).stdout.decode().strip() == KIND_NAMES[kind]
        )
