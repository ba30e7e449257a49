"""Bundles as a whole: damage in the pack, and what git itself writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import gitrepo, packs
from tests.support.headers import V2, errors, judge, notes

# --- case 2: verified means the pack too --------------------------------------------------------


def test_a_byte_changed_in_a_stream_is_refused_at_its_entry() -> None:
    whole = V2.make(V2.ref())
    start = whole.index(b"PACK")
    handle = V2.example.handles[1]
    data = packs.flip(whole, start + handle.end - 1)
    assert errors(judge(data)) == [("badDeflate", start + handle.offset)]


def test_a_bundle_cut_25_bytes_short_is_truncated() -> None:
    whole = V2.make(V2.ref())
    last = whole.index(b"PACK") + V2.example.handles[-1].offset
    assert errors(judge(whole[:-25])) == [("truncated", last)]


# --- real bundles -------------------------------------------------------------------------------


def _git_bundle(repo: Path, *args: str) -> bytes:
    target = repo / "out.bundle"
    gitrepo.git(repo, "bundle", "create", "-q", *args[:-1], target, *args[-1].split())
    return target.read_bytes()


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for fmt in ("sha1", "sha256"):
        repo = gitrepo.init(tmp_path_factory.mktemp(fmt), fmt)
        gitrepo.make_history(repo, commits=12, files=6)
        gitrepo.git(repo, "tag", "-a", "v1", "-m", "one", "main~3")
        gitrepo.git(repo, "branch", "topic/one", "main~5")
        made[fmt] = repo
    return made


REAL = {
    "everything": ("--all",),
    "one branch": ("main",),
    "a tag alone": ("v1",),
    "version 3": ("--version=3", "--all"),
    "with a prerequisite": ("main ^main~4",),
    "with several prerequisites": ("--all ^main~6 ^topic/one~2",),
    "filtered": ("--version=3", "--all --filter=tree:0"),
}


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
@pytest.mark.parametrize("arguments", REAL.values(), ids=REAL)
def test_a_bundle_that_git_wrote(
    repositories: dict[str, Path], fmt: str, arguments: tuple[str, ...]
) -> None:
    repo = repositories[fmt]
    data = _git_bundle(repo, *arguments)
    report = judge(data)
    heads = gitrepo.git(repo, "bundle", "list-heads", repo / "out.bundle").stdout.decode()
    listed = [line.split(" ", 1) for line in heads.splitlines()]
    assert [[oid.hex(), name.decode()] for name, oid in report.tips.items()] == listed
    assert report.object_format == fmt
    assert {code for code, _ in errors(report)} <= {"missingDeltaBase", "absentObject"}
    thin = b"\n-" in data[: data.index(b"\n\n")]
    if b"\n@filter=" in data:
        # What the filter left out is absent, and said to be.
        assert report.klass == 5
        assert "filteredBundle" in notes(report)
    elif thin:
        # git makes such packs thin: a delta may rest on an object that only the receiver has.
        assert report.klass in {0, 5}
    else:
        assert report.klass == 0
        assert (errors(report), notes(report)) == ([], [])


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_a_bundle_with_git_written_prerequisites_names_them(
    repositories: dict[str, Path], fmt: str
) -> None:
    repo = repositories[fmt]
    base = gitrepo.git(repo, "rev-parse", "main~4").stdout.decode().strip()
    head = b"# v2 git bundle\n" if fmt == "sha1" else b"# v3 git bundle\n@object-format=sha256\n"
    header = _git_bundle(repo, "main ^main~4").partition(b"\n\n")[0] + b"\n\n"
    pack = gitrepo.pack_revs(repo, "main", "^main~4")
    assert header.startswith(head + b"-" + base.encode())
    report = judge(header + pack)
    # Not thin, so nothing is missing; the trees of the base are out of sight.
    assert (errors(report), notes(report)) == ([], ["uncheckedLinks"])
    assert report.prerequisites == [bytes.fromhex(base)]


def test_a_commit_without_a_subject_gives_an_empty_comment(tmp_path: Path) -> None:
    repo = gitrepo.init(tmp_path)
    tree = gitrepo.git(repo, "mktree").stdout.decode().strip()
    made = gitrepo.git(repo, "commit-tree", tree).stdout.decode().strip()
    child = gitrepo.git(repo, "commit-tree", tree, "-p", made, "-m", "x").stdout.decode().strip()
    gitrepo.git(repo, "update-ref", "refs/heads/main", child)
    data = _git_bundle(repo, f"main ^{made}")
    assert b"-%s \n" % made.encode() in data
    report = judge(data)
    assert report.klass == 0
    assert report.prerequisites == [bytes.fromhex(made)]
