"""Lists of known objects: what git prints, what is refused and at which line (PH11)."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from packparse.entry import BLOB, COMMIT, KIND_NUMBERS, TAG, TREE
from packparse.errors import MisuseError
from packparse.knownlist import KnownList
from packparse.objectformat import FORMATS, SHA1, SHA256, ObjectFormat
from packparse.options import Options
from tests.support.gitrepo import git, init, make_history

A, B, C = (bytes([number]) * 20 for number in (0xAA, 0xBB, 0xCC))
LONG = b"\xdd" * 32


def hexed(oid: bytes) -> bytes:
    return oid.hex().encode()


def listed(text: bytes, object_format: ObjectFormat = SHA1, *, cut: int = 1 << 20) -> KnownList:
    known = KnownList(object_format)
    for at in range(0, len(text), cut):
        known.feed(text[at : at + cut])
    known.close()
    return known


def kinds(known: KnownList, *oids: bytes) -> list[int | None]:
    return [known.kind(oid) for oid in oids]


def refusal(text: bytes, object_format: ObjectFormat = SHA1, *, cut: int = 1 << 20) -> str:
    with pytest.raises(MisuseError) as caught:
        listed(text, object_format, cut=cut)
    return str(caught.value)


# --- lists ----------------------------------------------------------------------------------------

LISTS: dict[str, tuple[bytes, list[int | None]]] = {
    "nothing": (b"", [None, None, None]),
    "ids alone": (b"%b\n%b\n" % (hexed(A), hexed(B)), [0, 0, None]),
    "ids and types": (
        b"%b commit\n%b tree\n%b blob\n" % (hexed(A), hexed(B), hexed(C)),
        [COMMIT, TREE, BLOB],
    ),
    "a tag, and an id alone": (b"%b tag\n%b\n" % (hexed(C), hexed(A)), [0, None, TAG]),
    "no newline at the end": (b"%b\n%b tree" % (hexed(A), hexed(B)), [0, TREE, None]),
    "lines that end in CR LF": (
        b"# x\r\n\r\n%b\r\n%b tree\r\n%b blob\r" % (hexed(A), hexed(B), hexed(C)),
        [0, TREE, BLOB],
    ),
    "comments and empty lines": (
        b"# known objects\n\n%b commit\n\n#%b tree\n" % (hexed(A), hexed(B)),
        [COMMIT, None, None],
    ),
    "one line twice": (b"%b tree\n" % hexed(A) * 2, [TREE, None, None]),
    "a type only the second time": (b"%b\n%b tree\n" % (hexed(A), hexed(A)), [TREE, None, None]),
    "a type only the first time": (b"%b tree\n%b\n" % (hexed(A), hexed(A)), [TREE, None, None]),
    "a type only the third time": (
        b"%b\n%b\n%b tag\n%b\n" % (hexed(A), hexed(A), hexed(A), hexed(A)),
        [TAG, None, None],
    ),
}


@pytest.mark.parametrize("cut", [1, 7, 41, 1 << 20])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_says_what_is_known(name: str, cut: int) -> None:
    text, expected = LISTS[name]
    known = listed(text, cut=cut)
    assert kinds(known, A, B, C) == expected
    assert len(known) == 3 - expected.count(None)


@pytest.mark.parametrize("object_format", FORMATS.values(), ids=FORMATS)
def test_what_is_not_listed_is_not_known(object_format: ObjectFormat) -> None:
    # First and last of all ids, neighbours, and ids of the other width.
    width = object_format.width
    middle = b"\xaa" * width
    known = listed(middle.hex().encode() + b" tree\n", object_format)
    near = [middle[:-1] + b"\xa9", middle[:-1] + b"\xab", b"\0" * width, b"\xff" * width]
    assert kinds(known, middle, *near) == [TREE, None, None, None, None]
    assert kinds(known, b"\xaa" * 20, b"\xaa" * 32).count(None) == 1


def test_many_ids_are_found_over_the_borders_of_pieces() -> None:
    # 40 times the size that is taken apart at one time, and a comment in one place.
    oids = [hashlib.sha1(b"%d" % number).digest() for number in range(20_000)]
    names = sorted(KIND_NUMBERS)
    lines = [b"%b %b\n" % (hexed(oid), names[n % 4]) for n, oid in enumerate(oids)]
    lines[9_000] = b"# left out\n" + lines[9_000]
    known = listed(b"".join(lines), cut=1 << 22)
    assert [known.kind(oid) for oid in oids] == [KIND_NUMBERS[names[n % 4]] for n in range(20_000)]
    assert len(known) == 20_000


def test_a_list_fits_the_options_of_a_verification() -> None:
    known = listed(b"%b tree\n" % hexed(A))
    options = Options(known=known.kind)
    assert options.known is not None
    assert options.known(A) == TREE


# --- lists that git makes -------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = init(tmp_path_factory.mktemp("repo") / "r", request.param, bare=True)
    make_history(path, 3, 4)
    git(path, "tag", "-a", "-m", "x", "v1", "main")
    return path


def objects(repo: Path) -> dict[bytes, int]:
    shown = git(repo, "cat-file", "--batch-all-objects", "--batch-check").stdout
    rows = [line.split() for line in shown.splitlines()]
    return {bytes.fromhex(row[0].decode()): KIND_NUMBERS[row[1]] for row in rows}


def format_of(repo: Path) -> ObjectFormat:
    name = git(repo, "rev-parse", "--show-object-format").stdout.decode().strip()
    return FORMATS[name]


def test_what_cat_file_lists_is_known_with_its_type(repo: Path) -> None:
    form = "--batch-check=%(objectname) %(objecttype)"
    text = git(repo, "cat-file", "--batch-all-objects", form).stdout
    known = listed(text, format_of(repo))
    wanted = objects(repo)
    assert {oid: known.kind(oid) for oid in wanted} == wanted
    assert set(wanted.values()) == {COMMIT, TREE, BLOB, TAG}


def test_what_rev_list_lists_without_names_is_known(repo: Path) -> None:
    text = git(repo, "rev-list", "--objects", "--no-object-names", "v1").stdout
    known = listed(text, format_of(repo))
    assert len(known) == len(objects(repo))
    assert {known.kind(oid) for oid in objects(repo)} == {0}


def test_what_rev_list_lists_with_names_is_refused(repo: Path) -> None:
    text = git(repo, "rev-list", "--objects", "v1").stdout
    assert "git rev-list --objects --no-object-names" in refusal(text, format_of(repo))


def test_names_that_look_like_types_are_not_taken_for_them(tmp_path: Path) -> None:
    # The root tree's line ends in a space, so no such list gets through.
    repo = init(tmp_path / "r")
    (repo / "commit").write_bytes(b"a file, and no commit\n")
    git(repo, "add", "commit")
    git(repo, "commit", "-q", "-m", "x")
    text = git(repo, "rev-list", "--objects", "HEAD").stdout
    assert text.endswith(b" commit\n")
    assert "line 2: after the id comes no type: nothing; " in refusal(text)


def test_an_object_that_git_does_not_have_is_refused(tmp_path: Path) -> None:
    form = "--batch-check=%(objectname) %(objecttype)"
    text = git(init(tmp_path / "r"), "cat-file", form, input=hexed(A) + b"\n").stdout
    assert "line 1: after the id comes no type: missing; " in refusal(text)


# --- what is refused ------------------------------------------------------------------------------

LINE = b"%b\n" % hexed(C)
REFUSED = {
    "a path after the id": (LINE + hexed(A) + b" dir/file\n", "line 2: after the id comes no type"),
    "a space after the id": (hexed(A) + b" \n", "line 1: after the id comes no type: nothing"),
    "two spaces": (hexed(A) + b"  tree\n", "line 1: after the id comes no type"),
    "a space after the type": (hexed(A) + b" tree \n", "line 1: after the id comes no type"),
    "a size after the type": (hexed(A) + b" blob 17\n", "line 1: after the id comes no type"),
    "a type in capitals": (hexed(A) + b" Tree\n", "line 1: after the id comes no type: Tree"),
    "the name of an entry that is no object": (
        hexed(A) + b" ofs-delta\n",
        "line 1: after the id comes no type: ofs-delta",
    ),
    "a comment after the id": (hexed(A) + b" # x\n", "line 1: after the id comes no type: # x"),
    "a tab": (hexed(A) + b"\ttree\n", "line 1: no id of sha1"),
    "a space first": (LINE + b" " + hexed(A) + b"\n", "line 2: no id of sha1"),
    "spaces alone": (b"  \n", "line 1: no id of sha1"),
    "capital digits": (hexed(A).upper() + b"\n", "line 1: no id of sha1"),
    "a short id": (hexed(A)[:-1] + b"\n", "line 1: no id of sha1"),
    "a long id": (hexed(A) + b"0\n", "line 1: no id of sha1"),
    "an abbreviated id": (hexed(A)[:7] + b"\n", "line 1: no id of sha1"),
    "an id of the other format": (hexed(LONG) + b" tree\n", "line 1: an id of sha256, "),
    "no digits": (b"z" * 40 + b"\n", "line 1: no id of sha1"),
    "a carriage return inside": (hexed(A) + b"\r\r\n", "line 1: no id of sha1"),
    "old line ends": (hexed(A) + b"\r" + hexed(B) + b"\r", "line 1: no id of sha1"),
    "a byte order mark": (b"\xef\xbb\xbf" + LINE, "line 1: no id of sha1"),
    "an absent object, as rev-list prints it": (b"?" + LINE, "line 1: no id of sha1: ?cccc"),
    "a boundary, as rev-list prints it": (b"-" + LINE, "line 1: no id of sha1: -cccc"),
    "a pack": (b"PACK\0\0\0\2\0\0\0\0", "line 1: no id of sha1"),
    "comments are counted": (b"# x\n\n" + LINE + b"# y\nbad\n" + LINE, "line 5: no id of sha1"),
    "the last line, without its end": (LINE + LINE + b"bad", "line 3: no id of sha1: bad"),
    "a line without an end": (LINE + b"0" * 200_000, "line 2: no id of sha1"),
    "a comment without an end": (b"#" * 200_000, "line 1: no id of sha1"),
}


@pytest.mark.parametrize("cut", [5, 1 << 20])
@pytest.mark.parametrize("name", REFUSED)
def test_a_line_that_cannot_be_read_is_refused_with_its_number(name: str, cut: int) -> None:
    text, expected = REFUSED[name]
    message = refusal(text, cut=cut)
    assert message.startswith(expected)
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 800


def test_an_id_of_the_other_format_is_refused_both_ways() -> None:
    message = refusal(hexed(A) + b" tree\n", SHA256)
    assert message == "line 1: an id of sha1, the list is read as one of sha256"


CONTRADICTIONS: dict[str, tuple[Iterable[bytes], int, str, str]] = {
    "one line after the other": ((b"tree", b"blob"), 2, "blob", "tree"),
    "with an id alone between them": ((b"tree", b"", b"blob"), 3, "blob", "tree"),
    "after the same type again": ((b"commit", b"commit", b"tag"), 3, "tag", "commit"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_an_id_with_two_types_is_refused(name: str) -> None:
    words, line, again, before = CONTRADICTIONS[name]
    # Lines without an id count as well, wherever they stand.
    text = b"# x\n\n" + b"".join((hexed(A) + b" " + word).strip() + b"\n" for word in words)
    text += b"# y\n" + LINE
    expected = f"line {line + 2}: {A.hex()} is listed as a {again}, and as a {before} before"
    assert refusal(text) == expected


def test_comments_between_and_after_two_types_are_counted_rightly() -> None:
    text = b"%b tree\n# x\n# y\n%b blob\n# z\n" % (hexed(A), hexed(A))
    assert refusal(text).startswith("line 4: ")


# --- life -----------------------------------------------------------------------------------------


def test_calls_out_of_turn_are_misuse() -> None:
    known = KnownList()
    with pytest.raises(MisuseError, match="not closed"):
        known.kind(A)
    known.close()
    known.close()
    assert known.kind(A) is None
    with pytest.raises(MisuseError, match="is closed"):
        known.feed(LINE)


@pytest.mark.heavy
def test_memory_is_a_few_bytes_an_id() -> None:
    # A set of so many ids would take nine times that; all lines in one piece make no difference.
    count = 100_000
    ids = (hashlib.sha1(b"%d" % number).hexdigest() for number in range(count))
    text = "".join(f"{oid} blob\n" for oid in ids).encode()
    tracemalloc.start()
    try:
        known = listed(text, cut=len(text))
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(known) == count
    assert peak < 40 * count + (4 << 20)
