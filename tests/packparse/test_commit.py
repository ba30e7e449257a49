"""What a commit links to, or git's id for what is wrong; and who made it."""

from __future__ import annotations

import tracemalloc

import pytest

from packparse import checks, codes
from packparse.codes import Code
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objects import commit
from tests.support.packs import IDENT, commit_bytes

WIDTHS = (20, 32)


def oid(number: int, width: int = 20) -> bytes:
    return bytes([number]) * width


def links(data: bytes | bytearray, width: int, parents: int = 1_000_000) -> tuple[bytes, bytes]:
    """Return (tree, packed parents) of a commit; the limit on parents is high unless given."""
    return commit.links(data, width, Limits(changes={"parents": parents}))


HEX = oid(0xAB).hex().encode()


def refusal(data: bytes | bytearray, width: int = 20) -> Code:
    with pytest.raises(PackError) as caught:
        links(data, width)
    return caught.value.code


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [0, 1, 2, 66])
def test_the_tree_and_all_parents_are_links_in_their_order(width: int, count: int) -> None:
    parents = [oid(n + 1, width) for n in range(count)]
    data = commit_bytes(oid(0xAB, width), parents)
    assert links(data, width) == (oid(0xAB, width), b"".join(parents))
    assert links(bytearray(data), width) == (oid(0xAB, width), b"".join(parents))


ACCEPTED = {
    "nothing but an empty line after the tree": (b"tree " + HEX + b"\n\n", 0),
    "one byte after the parent": (b"tree " + HEX + b"\nparent " + HEX + b"\n\0", 1),
    "an id in capitals, as git reads it": (b"tree " + HEX.upper() + b"\n\n", 0),
    "a parent line after another header is none": (
        b"tree " + HEX + b"\nauthor x\nparent " + HEX + b"\n\n",
        0,
    ),
    "a bad parent line after another header is none": (
        b"tree " + HEX + b"\nauthor x\nparent nonsense\n\n",
        0,
    ),
    "a parent line in the message is none": (b"tree " + HEX + b"\n\nparent " + HEX + b"\n", 0),
    "a second tree line links to nothing": (b"tree " + HEX + b"\ntree " + HEX + b"\n", 0),
    "a header that only begins like parent": (b"tree " + HEX + b"\nparents x\n\n", 0),
    "the same parent twice": (b"tree " + HEX + b"\n" + (b"parent " + HEX + b"\n") * 2 + b"\n", 2),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_parents_are_the_lines_directly_after_the_tree(name: str) -> None:
    data, parents = ACCEPTED[name]
    assert links(data, 20) == (oid(0xAB), oid(0xAB) * parents)


REFUSED = {
    "no content": (b"", checks.MISSING_TREE),
    "an author line first": (b"author x\ntree " + HEX + b"\n", checks.MISSING_TREE),
    "a parent line first": (b"parent " + HEX + b"\n", checks.MISSING_TREE),
    "an empty line first": (b"\ntree " + HEX + b"\n", checks.MISSING_TREE),
    "a blank before the line": (b" tree " + HEX + b"\n", checks.MISSING_TREE),
    "capitals": (b"TREE " + HEX + b"\n", checks.MISSING_TREE),
    "no space": (b"tree" + HEX + b"\n", checks.MISSING_TREE),
    "a tab in place of the space": (b"tree\t" + HEX + b"\n", checks.MISSING_TREE),
    "no id": (b"tree \n", checks.BAD_TREE_SHA1),
    "the line cut after the word": (b"tree ", checks.BAD_TREE_SHA1),
    "an id without its last digit": (b"tree " + HEX[:-1] + b"\n", checks.BAD_TREE_SHA1),
    "an id with a digit more": (b"tree " + HEX + b"0\n", checks.BAD_TREE_SHA1),
    "an id of the other format": (
        b"tree " + oid(1, 32).hex().encode() + b"\n",
        checks.BAD_TREE_SHA1,
    ),
    "an id that is no number": (b"tree " + b"g" * 40 + b"\n", checks.BAD_TREE_SHA1),
    "a tree line without its end": (b"tree " + HEX, checks.BAD_TREE_SHA1),
    "a tree line that ends in CR LF": (b"tree " + HEX + b"\r\n", checks.BAD_TREE_SHA1),
    "two spaces": (b"tree  " + HEX + b"\n", checks.BAD_TREE_SHA1),
    "a NUL in the id": (b"tree " + HEX[:-1] + b"\0\n", checks.BAD_TREE_SHA1),
    "nothing after the tree line, where git says: bogus commit": (
        b"tree " + HEX + b"\n",
        checks.BAD_TREE_SHA1,
    ),
    "a parent without an id": (b"tree " + HEX + b"\nparent \n", checks.BAD_PARENT_SHA1),
    "a short parent": (b"tree " + HEX + b"\nparent " + HEX[:-1] + b"\n", checks.BAD_PARENT_SHA1),
    "a long parent": (b"tree " + HEX + b"\nparent " + HEX + b"0\n", checks.BAD_PARENT_SHA1),
    "a parent line without its end": (b"tree " + HEX + b"\nparent " + HEX, checks.BAD_PARENT_SHA1),
    "a bad second parent": (
        b"tree " + HEX + b"\nparent " + HEX + b"\nparent " + b"g" * 40 + b"\n",
        checks.BAD_PARENT_SHA1,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_commit_is_refused_with_gits_id(name: str) -> None:
    data, code = REFUSED[name]
    assert refusal(data) is code
    assert refusal(bytearray(data)) is code
    assert code.klass == 1


def test_git_names() -> None:
    assert checks.MISSING_TREE.name == "missingTree"
    assert checks.BAD_TREE_SHA1.name == "badTreeSha1"
    assert checks.BAD_PARENT_SHA1.name == "badParentSha1"


def test_a_commit_of_the_other_format_is_refused() -> None:
    assert refusal(commit_bytes(oid(1, 20)), 32) is checks.BAD_TREE_SHA1
    assert refusal(commit_bytes(oid(1, 32)), 20) is checks.BAD_TREE_SHA1


def memory_of(data: bytes) -> int:
    tracemalloc.start()
    try:
        links(data, 20)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_hundred_thousand_header_lines_cost_nothing() -> None:
    data = commit_bytes(oid(1), [oid(2)], extra=b"header value\n" * 100_000)
    assert links(data, 20) == (oid(1), oid(2))
    assert memory_of(data) < 4096


@pytest.mark.parametrize("end", [b"\n", b"parent nonsense\n"], ids=["honest", "hostile"])
def test_a_hundred_thousand_parents_take_no_more_memory_than_a_few_copies(end: bytes) -> None:
    count = 100_000
    data = commit_bytes(oid(1), [oid(2)] * count, author=None, committer=None, separator=end)
    if end == b"\n":
        assert links(data, 20) == (oid(1), oid(2) * count)
        assert memory_of(data) < 6 * len(data)
    else:
        assert refusal(data) is checks.BAD_PARENT_SHA1


def test_a_flood_of_parents_is_counted_and_not_taken_apart() -> None:
    data = commit_bytes(oid(1), [oid(2)] * 100_000)
    found: list[Code] = []
    tracemalloc.start()
    try:
        links(data, 20, parents=16)
    except PackError as error:
        found.append(error.code)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [codes.TOO_MANY_PARENTS]
    # One copy of the lines at most.
    assert peak < 2 * len(data)


# --- identities -----------------------------------------------------------------------------------

LINES = b"tree " + HEX + b"\nparent " + HEX + b"\n"
AUTHOR = b"author " + IDENT + b"\n"
COMMITTER = b"committer " + IDENT + b"\n"
NAME = IDENT[: IDENT.index(b">") + 1]

IDENTITIES = {
    "both": (
        LINES + b"author A <a@x> 1 +0000\ncommitter B <b@x> 2 +0000\n\n",
        (b"A <a@x>", b"B <b@x>"),
    ),
    "no author": (LINES + COMMITTER + b"\n", (b"", NAME)),
    "no committer": (LINES + AUTHOR + b"\n", (NAME, b"")),
    "the first of two": (
        LINES + AUTHOR + COMMITTER + b"committer B <b@x> 2 +0000\nauthor B <b@x> 2 +0000\n\n",
        (NAME, NAME),
    ),
    "none but in the message": (LINES + b"\nx\n" + AUTHOR + COMMITTER, (b"", b"")),
    "none but in a continued line": (LINES + b"x y\n " + AUTHOR + b"\n", (b"", b"")),
    "bytes as they are": (LINES + b"author \xff\x1b <\0> 1 +0000\n\n", (b"\xff\x1b <\0>", b"")),
    "no date": (LINES + b"author A <a@x>\ncommitter B <b@x>\n\n", (b"A <a@x>", b"B <b@x>")),
    "no address": (LINES + b"author A\ncommitter \n\n", (b"A", b"")),
    "the end right behind": (LINES + b"author A <a@x>", (b"A <a@x>", b"")),
    "the end in place of a name": (LINES + b"author ", (b"", b"")),
    "nothing": (b"", (b"", b"")),
    "a hundred thousand authors": (LINES + AUTHOR * 100_000, (NAME, b"")),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_are_had_without_their_dates(name: str) -> None:
    data, expected = IDENTITIES[name]
    assert commit.identities(data) == expected
    assert commit.identities(bytearray(data)) == expected
    assert all(isinstance(part, bytes) for part in commit.identities(bytearray(data)))
