"""Each known difference, shown on a pack with the git that is installed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from packparse.codes import RULES
from tests.differential.compare import Ours, Theirs, ours, theirs
from tests.differential.known import KNOWN, Difference, differences_markdown
from tests.support import gitrepo
from tests.support.gitrepo import git, git_version

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "differences.md"
BY_NAME = {row.name: row for row in KNOWN}

PIPE = "bytes after the end, on a pipe"
DICTIONARY = "a preset dictionary"
RING = "a ring of deltas, one of them also there as a whole"
DEEP = "a chain of more deltas than the limit"


def row(name: str) -> Difference:
    """Return the row of a name, or skip the test where it is about other versions of git."""
    found = BY_NAME[name]
    if not found.concerns(git_version()):
        version = ".".join(map(str, git_version()))
        pytest.skip(f"this is git {version}, the difference concerns: {found.versions}")
    return found


def mine(pack: bytes) -> dict[str, Ours]:
    return {rules: ours(pack, rules) for rules in RULES}


def on_a_pipe(repo: Path, pack: bytes) -> Theirs:
    """Ask git for its verdict on a pack that it reads from its standard input."""
    done = git(repo, "index-pack", "--strict", "--stdin", input=pack, check=False)
    return Theirs(done.returncode == 0, done.returncode, done.stderr, [])


@pytest.mark.parametrize("name", BY_NAME)
def test_both_verdicts(empty: dict[str, Path], tmp_path: Path, name: str) -> None:
    known = row(name)
    pack = known.pack()
    if name == PIPE:
        verdict = on_a_pipe(gitrepo.init(tmp_path / "repo", bare=True), pack)
    else:
        verdict = theirs(empty["sha1"], pack)
    assert verdict.accepted == known.git_accepts, verdict.stderr
    found = mine(pack)
    assert {rules: found[rules].accepted for rules in RULES} == known.we_accept
    told = "candidate" if known.we_accept["git"] else "git"
    assert found[told].codes == sorted(known.codes)


def test_the_pipe_accepts_what_the_file_refuses(empty: dict[str, Path], tmp_path: Path) -> None:
    pack = row(PIPE).pack()
    repo = gitrepo.init(tmp_path / "repo", bare=True)
    done = git(repo, "index-pack", "--strict", "--stdin", input=pack)
    assert done.stdout.endswith(b"PACK or anything else")
    assert b"junk at the end" in theirs(empty["sha1"], pack).stderr


def test_the_dictionary_aborts_git(empty: dict[str, Path]) -> None:
    verdict = theirs(empty["sha1"], row(DICTIONARY).pack())
    assert verdict.rc == -signal.SIGABRT
    assert b"BUG: " in verdict.stderr


def test_the_ring_is_refused_for_another_reason(empty: dict[str, Path]) -> None:
    pack = row(RING).pack()
    assert b"already resolved" in theirs(empty["sha1"], pack).stderr
    assert not gitrepo.index_pack_strict(empty["sha1"], pack, strict=False).accepted


def test_newer_versions_resolve_the_ring(empty: dict[str, Path]) -> None:
    if git_version() < BY_NAME[RING].before:
        pytest.skip("this git refuses the ring before it looks for duplicates")
    pack = BY_NAME[RING].pack()
    assert b"appears twice" in theirs(empty["sha1"], pack).stderr
    assert gitrepo.index_pack_strict(empty["sha1"], pack, strict=False).accepted


def test_newer_versions_refuse_the_dictionary_in_order(empty: dict[str, Path]) -> None:
    if git_version() < BY_NAME[DICTIONARY].before:
        pytest.skip("this git aborts")
    assert theirs(empty["sha1"], BY_NAME[DICTIONARY].pack()).rc > 0


def test_a_limit_is_not_called_corrupt() -> None:
    assert {found.report.klass for found in mine(BY_NAME[DEEP].pack()).values()} == {4}


def test_versions_are_said_in_words() -> None:
    said = {row.name: row.versions for row in KNOWN}
    assert said[PIPE] == "all"
    assert said[DICTIONARY] == "before 2.50"
    assert said["a size in the ten bytes that 64 bits take"] == "2.55 and later"


@pytest.mark.parametrize(
    ("version", "concerned"), [((2, 49, 1), True), ((2, 50), False), ((2, 50, 0), False)]
)
def test_a_row_ends_with_the_version_that_changed_it(
    version: tuple[int, ...], *, concerned: bool
) -> None:
    assert BY_NAME[RING].concerns(version) == concerned


def test_the_page_is_up_to_date() -> None:
    if not PAGE.exists():
        pytest.skip("the documentation is not here")
    assert PAGE.read_text(encoding="utf-8") == differences_markdown(), (
        "run: python -m tests.differential.known > docs/reference/differences.md"
    )
