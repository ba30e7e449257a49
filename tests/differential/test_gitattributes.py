"""The content of .gitattributes: git refuses it where we do, and does what we call active."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from packparse.codes import ERROR
from packparse.objects import gitattributes
from tests.differential.compare import Theirs, theirs
from tests.support.gitrepo import git, git_version, init
from tests.support.packs import PackBuilder, tree_bytes

# Since when git looks into the file.
SINCE = (2, 39, 1)
LARGEST = 100 << 20

BOUND = 2048
ENDS = (b"", b"\n", b"\r\n", b"\0", b"\0\n", b"\n\0", b"\n*.c text\n")
STARTS = (b"", b"\n", b"\0", b"\0\n", b"*.c text\n", b"*.c\0\n", b"\xef\xbb\xbf")


def contents() -> Iterator[bytes]:
    """Give contents whose lines have about as many bytes as git takes."""
    for start, end in itertools.product(STARTS, ENDS):
        yield start + b"x" * (BOUND - 1) + end
        yield start + b"x" * BOUND + end
    yield from (b"", b"\n" * 5000, b" " * 5000, b"\r" * 2048, b"\xff" * 3000, b"* " + b"a " * 1023)
    yield b"* filter=x merge=x [attr]m $ -\n"
    rng = random.Random(6)
    for _ in range(40):
        pieces = (b"x" * rng.randrange(2040, 2050), b"\n", b"\r\n", b"\0", b"a\n", b"\n")
        yield b"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 7)))


def verdict(repo: Path, content: bytes) -> Theirs:
    """Ask git about a tree with such a file."""
    pack = PackBuilder()
    blob = pack.add("blob", content)
    pack.add("tree", tree_bytes([(b"100644", b".gitattributes", blob.oid)]))
    return theirs(repo, pack.build())


def our_errors(content: bytes) -> set[str]:
    """The codes for which we refuse a content under the rules of git."""
    oddities = gitattributes.read(content).oddities
    return {oddity.code.name for oddity in oddities if oddity.code.severity("git") == ERROR}


@pytest.fixture(scope="module", autouse=True)
def _looking() -> None:
    if git_version() < SINCE:
        pytest.skip("this git does not look into the file")


def test_git_refuses_the_contents_that_we_refuse(empty: dict[str, Path]) -> None:
    listed = list(contents())
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda content: verdict(empty["sha1"], content), listed))
    refused = 0
    for content, said in zip(listed, verdicts, strict=True):
        errors = our_errors(content)
        assert (set(said.grammar), said.accepted) == (errors, not errors), content
        refused += bool(errors)
    # Neither side of the comparison is empty.
    assert 20 < refused < len(listed) - 20


@pytest.mark.parametrize(("size", "accepted"), [(LARGEST, True), (LARGEST + 1, False)])
def test_git_takes_100_mib_and_not_a_byte_more(
    empty: dict[str, Path], size: int, *, accepted: bool
) -> None:
    content = bytes(size)
    said = verdict(empty["sha1"], content)
    assert said.accepted is accepted
    assert set(said.grammar) == our_errors(content)


# --- what git does ------------------------------------------------------------------------------

NAMES = (b"filter", b"merge", b"diff", b"export-subst", b"working-tree-encoding")
BOM = b"\xef\xbb\xbf"

# Contents that git reads, with the file that it is asked about.
LINES: dict[str, tuple[bytes, bytes]] = {
    "a filter": (b"*.c filter=x", b"a.c"),
    "a harmless setting": (b"*.c text", b"a.c"),
    "a comment": (b"#a.c filter=x", b"a.c"),
    "a comment after white space": (b" \t#a.c filter=x", b"a.c"),
    "white space before": (b" \t\r*.c filter=x", b"a.c"),
    "the end CR LF": (b"*.c filter=x\r\n", b"a.c"),
    "a filter set": (b"*.c filter", b"a.c"),
    "a filter unset with a value": (b"*.c -filter=x", b"a.c"),
    "a filter without a name": (b"*.c filter=", b"a.c"),
    "a merge": (b"*.c merge=x", b"a.c"),
    "words of the commit": (b"*.c export-subst", b"a.c"),
    "words of the commit with a value": (b"*.c export-subst=1", b"a.c"),
    "an encoding": (b"*.c working-tree-encoding=UTF-16", b"a.c"),
    "an encoding unset": (b"*.c -working-tree-encoding", b"a.c"),
    "an encoding without a name": (b"*.c working-tree-encoding=", b"a.c"),
    "a quoted pattern": (b'"a b.c" filter=x', b"a b.c"),
    "a quoted pattern and nothing between": (b'"a b.c"filter=x', b"a b.c"),
    "escapes": (b'"\\141\\t\\"" filter=x', b'a\t"'),
    "a quote that does not end": (b'"a filter=x', b'"a'),
    "a quote with an unknown escape": (b'"[a]\\x" filter=x', b'"ax"'),
    "a quoted setting": (b'"a.c filter=x"', b"a.c"),
    "a form feed": (b"a.c text\ffilter=x", b"a.c"),
    "a form feed in a value": (b"a.c filter=x\fy", b"a.c"),
    "the second line": (b"a.c text\nb.c filter=x", b"b.c"),
    "a mark": (BOM + b"a.c filter=x", b"a.c"),
    "a mark and a comment": (b"\n" + BOM + b"#a filter=x", BOM + b"#a"),
    "a line after a NUL": (b"a.c\0text\na.c filter=x", b"a.c"),
    "a macro": (b"[attr]m filter=x\na.c m", b"a.c"),
    "a macro in a macro": (b"a.c n\n[attr]n m\n[attr]m merge=x", b"a.c"),
    "a macro that is unset": (b"[attr]m text\na.c -m", b"a.c"),
    "a macro spelled by escapes": (b'"\\133attr]m" filter=x\na.c m', b"a.c"),
    "a quoted macro with blanks": (b'"[attr] m n" filter=x\na.c m', b"a.c"),
    "a macro of the name of an attribute": (b"[attr]diff filter=x\na.c diff", b"a.c"),
    "the built-in macro": (b"a.c binary", b"a.c"),
    "the built-in macro made anew": (b"[attr]binary filter=x\na.c binary", b"a.c"),
    "the prefix of a macro alone": (b"[attr] m filter=x", b"a"),
}
# What we report although git, as it is installed, does nothing.
MORE: dict[str, tuple[bytes, bytes]] = {
    "a setting that is taken back": (b"a.c filter=x\na.c -filter", b"a.c"),
    "a line with a bad name": (b"a.c filter=x $", b"a.c"),
    "a pattern that begins with !": (b"!a.c filter=x", b"!a.c"),
    "a NUL as a blank": (b"a.c\0filter=x", b"a.c"),
    "a macro that is used nowhere": (b"[attr]m filter=x", b"a.c"),
    "a mark and a comment, which the index keeps": (BOM + b"#a filter=x", BOM + b"#a"),
}
UNSET = {b"unspecified", b"unset", b"set"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return init(tmp_path_factory.mktemp("attributes"))


def git_does(work: Path, content: bytes, file: bytes, *options: str) -> bool:
    """Whether git, asked about a file, has a setting for it that is active."""
    (work / ".gitattributes").write_bytes(content)
    done = git(work, "check-attr", "-z", *options, *NAMES, b"--", file)
    fields = done.stdout.split(b"\0")[:-1]
    values = dict(zip(fields[1::3], fields[2::3], strict=True))
    assert len(values) == len(NAMES)
    named = any(values[name] not in UNSET for name in (b"filter", b"merge", b"diff"))
    encoding = values[b"working-tree-encoding"] not in {b"unspecified", b""}
    return named or encoding or values[b"export-subst"] == b"set"


@pytest.mark.parametrize("name", LINES)
def test_a_content_is_active_where_git_does_something(work: Path, name: str) -> None:
    content, file = LINES[name]
    assert bool(gitattributes.read(content).active) is git_does(work, content, file)


@pytest.mark.parametrize("name", MORE)
def test_some_contents_are_reported_although_this_git_does_nothing(work: Path, name: str) -> None:
    content, file = MORE[name]
    assert gitattributes.read(content).active
    assert not git_does(work, content, file)


def test_the_index_is_read_without_a_look_for_a_mark(work: Path) -> None:
    # This is how a checkout reads it, and why a mark hides no comment.
    content, file = MORE["a mark and a comment, which the index keeps"]
    (work / ".gitattributes").write_bytes(content)
    git(work, "add", ".gitattributes")
    assert git_does(work, content, file, "--cached")


def test_git_stops_at_an_encoding_that_is_none(work: Path) -> None:
    (work / ".gitattributes").write_bytes(b"a.c working-tree-encoding\n")
    (work / "a.c").write_bytes(b"x")
    done = git(work, "add", "a.c", check=False)
    assert done.returncode == 128
    assert b"no valid working-tree-encodings" in done.stderr
