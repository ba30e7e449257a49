"""What a tree links to, what is odd about it, and that every way of reading it says the same."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse import checks, codes, paths
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objects import tree
from packparse.objects.shape import ATTRIBUTES, GITLINK, LINK, MODULES
from packparse.objects.tree import TreeLinks, TreeReader
from packparse.oddity import Oddity
from tests.support.packs import tree_bytes

quick = settings(derandomize=True, database=None, deadline=None, max_examples=200)

Entries = list[tuple[bytes, bytes, bytes]]
# Code, detail, message, limit.
Odd = tuple[str, bytes, str, dict[str, str | int] | None]
# All that is said of a tree: trees, blobs, entries, special, oddities.
Said = tuple[bytes, bytes, int, list[tuple[int, bytes]], list[Odd]]

TREES, BLOBS, NOTHING = "trees", "blobs", "nothing"


def oid(number: int, width: int = 20) -> bytes:
    return number.to_bytes(width, "big")


def said(links: TreeLinks) -> Said:
    return links.trees, links.blobs, links.entries, links.special, plain(links.oddities)


def plain(oddities: list[Oddity]) -> list[Odd]:
    """The oddities as values that can be compared."""
    return [
        (odd.code.name, odd.detail, odd.message, None if odd.limit is None else odd.limit.as_dict())
        for odd in oddities
    ]


def reader(width: int = 20, limits: Limits | None = None) -> TreeReader:
    return TreeReader(width, limits or Limits())


def read_quickly(data: bytes, width: int = 20, limits: Limits | None = None) -> Said:
    return said(reader(width, limits).read(data))


def read_exactly(data: bytes, width: int = 20, limits: Limits | None = None) -> Said:
    return said(reader(width, limits).read_exactly(data))


def read_again(data: bytes, width: int = 20, limits: Limits | None = None) -> Said:
    """Read a tree with a reader that has seen its names before."""
    remembering = reader(width, limits)
    with contextlib.suppress(PackError):
        remembering.read(data)
    return said(remembering.read(data))


WAYS = {
    "the quick way": read_quickly,
    "the quick way once more": read_again,
    "the plain twin": read_exactly,
}
Way = Callable[..., Said]
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def read(data: bytes, width: int = 20, limits: Limits | None = None) -> Said:
    """Return what all ways say of a tree."""
    first, *others = (way(data, width, limits) for way in WAYS.values())
    assert all(other == first for other in others)
    return first


def refusal(data: bytes, width: int = 20, limits: Limits | None = None) -> str:
    """Return the code with which all ways refuse."""
    found = set()
    for way in WAYS.values():
        with pytest.raises(PackError) as caught:
            way(data, width, limits)
        found.add(caught.value.code.name)
    assert len(found) == 1
    return found.pop()


# What git's canon_mode and object_type make of a mode.
MODES = {
    b"40000": TREES,
    b"040000": TREES,
    b"000040000": TREES,
    b"40755": TREES,
    b"47777": TREES,
    b"100644": BLOBS,
    b"100755": BLOBS,
    b"0100644": BLOBS,
    b"100664": BLOBS,
    b"100600": BLOBS,
    b"100000": BLOBS,
    b"104755": BLOBS,
    b"107777": BLOBS,
    b"120000": BLOBS,
    b"0120000": BLOBS,
    b"120777": BLOBS,
    b"160000": NOTHING,
    b"0160000": NOTHING,
    b"160755": NOTHING,
    b"0": NOTHING,
    b"644": NOTHING,
    b"755": NOTHING,
    b"10000": NOTHING,
    b"20000": NOTHING,
    b"30000": NOTHING,
    b"50000": NOTHING,
    b"60000": NOTHING,
    b"110644": NOTHING,
    b"130000": NOTHING,
    b"140000": NOTHING,
    b"170000": NOTHING,
    # Digits past 32 bits fall off the front, as in git.
    b"40000100644": BLOBS,
    b"37777777777100644": BLOBS,
    b"7777777777777777777740000": NOTHING,
    b"200040000": TREES,
    b"1" + b"0" * 50 + b"40000": TREES,
    b"1" + b"0" * 50 + b"160000": NOTHING,
    b"1" * 60 + b"0040000": TREES,
}


@every_way
@pytest.mark.parametrize("width", [20, 32])
@pytest.mark.parametrize("mode", MODES, ids=bytes.decode)
def test_modes_say_what_an_entry_links_to(mode: bytes, width: int, way: Way) -> None:
    # Alone, and between entries of other kinds.
    expected = {TREES: b"", BLOBS: b"", NOTHING: b""}
    expected[MODES[mode]] = oid(7, width)
    alone = way(tree_bytes([(mode, b"name", oid(7, width))]), width)
    assert alone[:3] == (expected[TREES], expected[BLOBS], 1)
    between = [
        (b"100644", b"a", oid(1, width)),
        (mode, b"b", oid(7, width)),
        (b"40000", b"c", oid(2, width)),
        (b"160000", b"d", oid(3, width)),
        (b"120000", b"e", oid(4, width)),
    ]
    assert way(tree_bytes(between), width)[:3] == (
        expected[TREES] + oid(2, width),
        oid(1, width) + expected[BLOBS] + oid(4, width),
        5,
    )


ACCEPTED: dict[str, Entries] = {
    "no entry": [],
    "one file": [(b"100644", b"a", oid(1))],
    "a name of one space": [(b"100644", b" ", oid(1))],
    "a name with a newline": [(b"100644", b"a\nb", oid(1))],
    "a name that looks like an entry": [(b"100644", b"40000 x", oid(1))],
    "a name that is no text": [(b"100644", b"\xff\xfe", oid(1))],
    "a name of 255 bytes": [(b"100644", b"n" * 255, oid(1))],
    "an id of NULs": [(b"100644", b"a", bytes(20)), (b"100644", b"b", oid(2))],
    "an id that looks like an entry": [
        (b"100644", b"a", b"100644 b\0" + b"x" * 11),
        (b"100644", b"c", b"\n40000 z\0" + b"y" * 11),
    ],
    "entries out of order": [(b"100644", b"b", oid(1)), (b"100644", b"a", oid(2))],
    "the same name twice": [(b"100644", b"a", oid(1)), (b"100644", b"a", oid(2))],
    "the same id twice": [(b"100644", b"a", oid(1)), (b"100644", b"b", oid(1))],
}


@every_way
@pytest.mark.parametrize("name", ACCEPTED)
def test_names_and_ids_may_be_any_bytes(name: str, way: Way) -> None:
    listed = ACCEPTED[name]
    data = tree_bytes(listed, ordered=False)
    packed = b"".join(target for _mode, _name, target in listed)
    assert way(data)[:3] == (b"", packed, len(listed))
    assert list(tree.entries(data, 20)) == listed


GOOD = tree_bytes([(b"100644", b"first", oid(1)), (b"40000", b"second", oid(2))])
MALFORMED = {
    "no mode": b" name\0" + oid(1),
    "a mode that is no number": b"x name\0" + oid(1),
    "a digit that is not octal": b"100648 name\0" + oid(1),
    "a sign": b"-100644 name\0" + oid(1),
    "a mode in another base": b"0o100644 name\0" + oid(1),
    "a blank before the mode": b" 100644 name\0" + oid(1),
    "no space after the mode": b"100644name\0" + oid(1),
    "a NUL after the mode": b"100644\0name\0" + oid(1),
    "an empty name": b"100644 \0" + oid(1),
    "no NUL after the name": b"100644 name" + b"\x01" * 20,
    "an id without its last byte": b"100644 name\0" + oid(1)[:-1],
    "no id": b"100644 name\0",
    "no name": b"100644 ",
    "a mode and nothing else": b"100644",
    "one byte": b"1",
    "one byte of rubbish": b"\xff",
    "one NUL": b"\0",
    "a newline": b"\n",
}


@pytest.mark.parametrize("place", ["alone", "after good entries", "between", "in a large tree"])
@pytest.mark.parametrize("name", MALFORMED)
def test_what_cannot_be_taken_apart_is_a_bad_tree(name: str, place: str) -> None:
    many = b"".join(b"100644 %06d\0" % n + oid(n) for n in range(6_000))
    data = {
        "alone": MALFORMED[name],
        "after good entries": GOOD + MALFORMED[name],
        "between": GOOD + MALFORMED[name] + GOOD,
        "in a large tree": many + MALFORMED[name],
    }[place]
    if place == "between" and name in {"an id without its last byte", "no id", "no name"}:
        data += b"\xff"  # what follows is taken for its rest, so that the end does not fit
    if place == "between" and name in {"a mode and nothing else", "one byte"}:
        data = GOOD + MALFORMED[name] + b"\n" + GOOD
    if place == "between" and name == "no NUL after the name":
        data = GOOD + b"100644 name" + oid(0xFF << 152)  # the name ends inside of its id
    assert refusal(data) == checks.BAD_TREE.name


@pytest.mark.parametrize("cut", range(1, len(GOOD)))
def test_a_tree_cut_anywhere_is_a_bad_tree_but_between_entries(cut: int) -> None:
    boundary = len(b"100644 first\0") + 20
    if cut == boundary:
        assert read(GOOD[:cut])[:3] == (b"", oid(1), 1)
    else:
        assert refusal(GOOD[:cut]) == checks.BAD_TREE.name


def test_a_tree_of_the_other_format_is_a_bad_tree() -> None:
    wide = tree_bytes([(b"100644", b"a", b"\xff" * 32), (b"100644", b"b", b"\xff" * 32)])
    assert refusal(wide, 20) == checks.BAD_TREE.name
    narrow = tree_bytes([(b"100644", b"a", b"\xff" * 20)])
    assert refusal(narrow, 32) == checks.BAD_TREE.name


# --- many entries ---------------------------------------------------------------------------------


def many_entries(count: int, modes: list[bytes], width: int) -> tuple[bytes, bytes, bytes]:
    """Return (content, ids of trees, ids of blobs) of a tree of `count` entries."""
    rng = random.Random(count)
    content, trees, blobs = [], [], []
    for number in range(count):
        mode, target = rng.choice(modes), rng.randbytes(width)
        content.append(b"%s %06d\0%s" % (mode, number, target))
        if MODES[mode] == TREES:
            trees.append(target)
        elif MODES[mode] == BLOBS:
            blobs.append(target)
    return b"".join(content), b"".join(trees), b"".join(blobs)


@pytest.mark.parametrize("width", [20, 32])
@pytest.mark.parametrize("count", [30_840, 30_841])
@pytest.mark.parametrize(
    "modes",
    [[b"100644"], [b"40000"], [b"100644", b"40000", b"160000"], list(MODES)],
    ids=["files", "folders", "usual modes", "any modes"],
)
@pytest.mark.heavy
def test_large_trees_give_what_small_ones_give(count: int, modes: list[bytes], width: int) -> None:
    content, trees, blobs = many_entries(count, modes, width)
    assert read(content, width)[:3] == (trees, blobs, count)


@pytest.mark.parametrize("size", [tree._AT_ONCE, tree._AT_ONCE + 1])  # noqa: SLF001 - the border
@pytest.mark.heavy
def test_the_border_between_the_ways_changes_nothing(size: int) -> None:
    listed = [(b"100644", b"%06d" % n, oid(n + 1)) for n in range(30_839)]
    rest = size - len(tree_bytes(listed)) - len(b"120000 \0") - 20
    listed.append((b"120000", b"z" * rest, oid(7)))
    content = tree_bytes(listed)
    assert len(content) == size
    trees, blobs, count, special, oddities = read(content)
    assert (trees, blobs, count) == (b"", b"".join(o for _m, _n, o in listed), 30_840)
    assert (special, oddities) == ([(LINK, oid(7))], [])


@pytest.mark.parametrize("width", [20, 32])
def test_entries_are_the_same_in_one_go_and_one_by_one(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [(mode, b"%d \xff" % n, bytes([n + 1]) * width) for n, mode in enumerate(MODES)]
    content = tree_bytes(listed)
    found = list(tree.entries(content, width))
    monkeypatch.setattr(tree, "_AT_ONCE", 0)
    assert found == list(tree.entries(content, width))
    assert sorted(found) == sorted(listed)


NAMES = (
    b"a", b"A", b"b", b"a.", b"-", b"x y", b".git", b".GIT", b"git~1", b".gitmodules", b"GITMOD~1",
    b".GITMODULES", b".gitattributes", b".gitattributes ", b".gitignore", b".mailmap", b"nul",
    b"HEAD", b"objects", b"refs", b"s\xcc\x81", b"\xc5\x9b", b"\xe2\x80\x8ba", b"\x1b", b"\xff",
    b"a\\..", b"..", b".", b"a/b", b"40000 x",
)  # fmt: skip
any_name = st.sampled_from(NAMES) | st.binary(min_size=1, max_size=12).map(
    lambda name: name.replace(b"\0", b"0")
)
any_target = st.sampled_from([0, 1]) | st.integers(0, (1 << 160) - 1)
usual_modes = st.sampled_from([b"100644", b"100755", b"40000", b"120000", b"160000"])
any_entry = st.tuples(usual_modes | st.sampled_from(sorted(MODES)), any_name, any_target)


@quick
@given(st.sampled_from([20, 32]), st.lists(any_entry, max_size=12), st.data())
@pytest.mark.heavy
def test_all_ways_agree_on_any_bytes(
    width: int, listed: list[tuple[bytes, bytes, int]], data: st.DataObject
) -> None:
    content = tree_bytes(
        ((m, n, oid(t, width)) for m, n, t in listed), ordered=data.draw(st.booleans())
    )
    found = read(content, width)
    for packed, wanted in ((found[0], TREES), (found[1], BLOBS)):
        targets = sorted(t for m, _n, t in listed if MODES[m] == wanted)
        assert sorted(packed[at : at + width] for at in range(0, len(packed), width)) == [
            oid(t, width) for t in targets
        ]
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(0, 2))):
        if changed:
            at = data.draw(st.integers(0, len(changed) - 1))
            changed[at] = data.draw(st.sampled_from(b"\0 047x\xff"))
    end = data.draw(st.integers(0, len(changed)))
    results: list[object] = []
    for way in WAYS.values():
        try:
            results.append(way(bytes(changed[:end]), width))
        except PackError as error:
            results.append((error.code, error.message))
    assert all(result == results[0] for result in results)


@quick
@given(st.lists(st.lists(any_entry, max_size=6), max_size=6), st.booleans())
@pytest.mark.heavy
def test_no_memory_of_a_reader_changes_what_it_says(
    trees: list[list[tuple[bytes, bytes, int]]], ordered: bool
) -> None:
    remembering = reader()
    exact = reader()
    for listed in trees + trees:
        content = tree_bytes(((m, n, oid(t)) for m, n, t in listed), ordered=ordered)
        assert said(remembering.read(content)) == said(exact.read_exactly(content))
    assert remembering.longest_name == exact.longest_name
    assert remembering.link_folds == exact.link_folds


@pytest.mark.parametrize("count", [10, 5_000])
@pytest.mark.parametrize("modes", [[b"100644"], [b"100600", b"160000"]], ids=["usual", "odd"])
def test_the_number_of_entries_has_a_limit(count: int, modes: list[bytes]) -> None:
    content, trees, blobs = many_entries(count, modes, 20) if modes == [b"100644"] else (b"",) * 3
    if not content:
        content = b"".join(b"%s %06d\0" % (modes[n % 2], n) + oid(n) for n in range(count))
        blobs = b"".join(oid(n) for n in range(0, count, 2))
    exact = Limits(changes={"tree_entries": count})
    assert read(content, limits=exact)[:3] == (trees, blobs, count)
    below = Limits(changes={"tree_entries": count - 1})
    assert refusal(content, limits=below) == codes.TOO_MANY_TREE_ENTRIES.name
    assert codes.TOO_MANY_TREE_ENTRIES.klass == 4


# --- what is odd, and what has to be looked at later ----------------------------------------------


def files(*names: bytes, mode: bytes = b"100644") -> Entries:
    return [(mode, name, oid(number)) for number, name in enumerate(names, 1)]


def behind(names: bytes, *numbers: int) -> bytes:
    """The detail of names for whose oddity the content counts."""
    return b"\0".join((names, *(oid(number).hex().encode() for number in numbers)))


# entries -> (code, detail); the neighbours are beside them.
ODD: dict[str, tuple[Entries, list[tuple[str, bytes]]]] = {
    "nothing": (files(b"a", b"a.b", b"a0"), []),
    "an id of zeros": ([(b"100644", b"a", bytes(20))], [("nullSha1", b"a")]),
    "A12 a mode with a zero before it": (
        [(b"0100644", b"a", oid(1))], [("zeroPaddedFilemode", b"a\x000100644")],
    ),
    "A14 other permission bits": (files(b"a", mode=b"100664"), [("badFilemode", b"a\x00100664")]),
    "a mode of no kind": (
        files(b"a", mode=b"30000"),
        [
            ("badFilemode", b"a\x0030000\x0030000"),
            ("unknownFilemode", b"a\x0030000\x0030000"),
        ],
    ),
    "a file in 16 bits": (files(b"a", mode=b"200100644"), [("unknownFilemode", b"a\x00200100644")]),
    "A12 names out of order": (files(b"b", b"a", b"c"), [("treeNotSorted", b"a")]),
    "a folder where a file would stand": (
        [(b"40000", b"a", oid(1)), (b"100644", b"a.b", oid(2))], [("treeNotSorted", b"a.b")],
    ),
    "a folder in its place": ([(b"100644", b"a.b", oid(2)), (b"40000", b"a", oid(1))], []),
    # Where the content decides how much harm a name does, the ids belong to the detail.
    "A12 a name twice": (
        files(b"a", b"a"), [("duplicateEntries", behind(b"a\x00100644\x00100644", 1, 2))],
    ),
    "a name as file and folder": (
        [(b"100644", b"a", oid(1)), (b"100644", b"a.b", oid(2)), (b"40000", b"a", oid(3))],
        [("duplicateEntries", behind(b"a\x00100644\x0040000", 1, 3))],
    ),
    "two names that differ in case": (
        files(b"A", b"a"), [("caseCollision", b"A\0a\x00100000,100000")],
    ),
    "A12 .git": (files(b".git"), [("hasDotgit", behind(b".git", 1))]),
    "a link and a folder in one case": (
        [(b"120000", b"A", oid(1)), (b"40000", b"a", oid(2))],
        [("symlinkDirectoryCollision", behind(b"A\0a\x00120000,40000", 1, 2))],
    ),
    "a bare repository": (
        [*files(b"HEAD"), *files(b"objects", b"refs", mode=b"40000")],
        [("embeddedRepository", behind(b"HEAD", 1, 1, 2))],
    ),
    "a bare repository in capitals, of files": (
        files(b"Head", b"OBJECTS", b"config", b"refs"),
        [("embeddedRepository", behind(b"HEAD", 1, 3, 2, 4))],
    ),
    "a folder that git sends to another one": (
        files(b"HEAD", b"commondir"), [("embeddedRepository", behind(b"HEAD", 1, 2))],
    ),
    "a bare repository in letters that fold to others": (
        files(b"HEAD", b"object\xc5\xbf", b"refs"),
        [("embeddedRepository", behind(b"HEAD", 1, 2, 3))],
    ),
    "a bare repository with dots that Windows drops": (
        files(b"HEAD", b"objects" + b"." * 80, b"refs"),
        [
            ("windowsForbiddenName", b"objects" + b"." * 80),
            ("embeddedRepository", behind(b"HEAD", 1, 2, 3)),
        ],
    ),
    "a link and a folder of one name": (
        [(b"120000", b"a", oid(1)), (b"40000", b"a", oid(2))],
        [
            ("duplicateEntries", behind(b"a\x00120000\x0040000", 1, 2)),
            ("symlinkDirectoryCollision", behind(b"a\x00120000,40000", 1, 2)),
        ],
    ),
    "a folder whose name is odd": (
        [(b"40000", b"-f", oid(1))], [("dashName", b"-f\x0040000")],
    ),
    "a bare repository without its refs": (
        [*files(b"HEAD"), *files(b"objects", mode=b"40000")], [],
    ),
    "A14 a submodule": (files(b"lib", mode=b"160000"), [("gitlinkEntry", behind(b"lib", 1))]),
    "a name of 255 bytes": (files(b"n" * 255), []),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_about_a_tree_is_said_with_the_name(name: str) -> None:
    listed, wanted = ODD[name]
    oddities = read(tree_bytes(listed, ordered=False))[4]
    assert [(code, detail) for code, detail, _message, _limit in oddities] == wanted
    assert all(message.isascii() and message.isprintable() for _c, _d, message, _l in oddities)


@pytest.mark.parametrize("size", [256, 4_097, 2_000_000])
def test_a_name_that_is_too_long_is_found_and_not_kept(size: int) -> None:
    # The quick way tells it as an oddity, for what else is odd about the tree; the plain twin
    # refuses, before the name is copied.
    data = tree_bytes([*files(b".git"), (b"100644", b"n" * size, oid(1))])
    assert len(data) < tree._AT_ONCE or size == 2_000_000  # noqa: SLF001 - the border
    limit = {"name": "name_bytes", "value": 255, "seen": size}
    with pytest.raises(PackError) as caught:
        read_exactly(data)
    assert caught.value.code is checks.NAME_TOO_LONG
    assert caught.value.limit is not None
    assert caught.value.limit.as_dict() == limit
    if size == 2_000_000:
        with pytest.raises(PackError):
            read_quickly(data)
        return
    told = {code: (detail, seen) for code, detail, _message, seen in read_quickly(data)[4]}
    assert told["nameTooLong"] == (b"n" * 256, limit)
    assert "hasDotgit" in told
    long = Limits(changes={"name_bytes": size})
    assert "nameTooLong" not in [code for code, *_rest in read(data, limits=long)[4]]


FLAGS = {
    (b"120000", b"link"): LINK,
    (b"120755", b"link"): LINK,
    (b"160000", b"lib"): GITLINK,
    (b"30000", b"lib"): GITLINK,
    (b"100644", b".gitmodules"): MODULES,
    (b"100644", b".GitModules"): MODULES,
    (b"40000", b".gitmodules"): MODULES,
    (b"160000", b".gitmodules"): MODULES | GITLINK,
    (b"100755", b".gitattributes"): ATTRIBUTES,
    (b"100644", b"GITATT~1"): ATTRIBUTES,
    # A link of this name is a finding of its own, and its target is looked at as one.
    (b"120000", b".gitmodules"): LINK,
    (b"100644", b".gitignore"): 0,
    (b"100644", b"gitmodules"): 0,
    (b"40000", b"folder"): 0,
}


@pytest.mark.parametrize(("mode", "name"), FLAGS, ids=repr)
def test_entries_to_be_looked_at_later_are_listed(mode: bytes, name: bytes) -> None:
    flags = FLAGS[mode, name]
    listed = [*files(b"a"), (mode, name, oid(7)), *files(b"zz")]
    assert read(tree_bytes(listed))[3] == ([(flags, oid(7))] if flags else [])
    assert reader().flags(mode, name) == flags


def test_links_are_remembered_by_what_a_file_system_makes_of_their_names() -> None:
    remembering = reader()
    remembering.read(tree_bytes(files(b"Link", b"other.", mode=b"120000")))
    remembering.read(tree_bytes(files(b"file")))
    remembering.read_exactly(tree_bytes(files(b"third", mode=b"120000")))
    assert remembering.link_folds == {b"link", b"other", b"third"}
    assert paths.fold(b"LINK") in remembering.link_folds
    assert remembering.longest_name == 6


@pytest.mark.parametrize("size", [255, 256])
def test_the_names_of_links_are_let_go_where_they_take_too_much_memory(size: int) -> None:
    remembering = reader()
    for number in range(tree._REMEMBERED):  # noqa: SLF001 - the bound itself
        remembering.flags(b"120000", b"%0*d" % (size if number == 9 else 6, number))
    assert (remembering.link_folds is None) == (size > 255)
    remembering.flags(b"120000", b"one too many")
    assert remembering.link_folds is None


@pytest.mark.parametrize("constant", ["_REMEMBERED", "_SHAPE_BYTES", "_ROW_BYTES"])
def test_a_reader_that_may_remember_nothing_says_the_same(
    monkeypatch: pytest.MonkeyPatch, constant: str
) -> None:
    monkeypatch.setattr(tree, constant, 2)
    forgetful = reader()
    for number in range(30):
        listed = [(b"100644", b"%02d" % (number % 7), oid(number)), *files(b"zz", b"ZZ", b"zz")]
        content = tree_bytes(listed, ordered=False)
        assert said(forgetful.read(content)) == read_exactly(content)


@pytest.mark.parametrize("room", [100, 2_000, 1 << 20])
def test_whatever_room_there_is_for_shapes_the_same_is_said(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(tree, "_SHAPE_BYTES", room)
    remembering = reader()
    for number in range(60):
        names = [b"%02d-%d" % (n, number % 9) for n in range(number % 4)]
        content = tree_bytes([*files(*names), (b"100644", b"zz", oid(number + 99))])
        assert said(remembering.read(content)) == read_exactly(content)


# --- hostile bytes --------------------------------------------------------------------------------

HOSTILE: dict[str, Callable[[int], bytes]] = {
    "digits without end": lambda n: b"1" * n,
    "zeros and spaces": lambda n: b"0 " * (n // 2),
    "modes without a name": lambda n: b"100644 " * (n // 7),
    "names that do not end": lambda n: b"40000 a" * (n // 7),
    "entries without ids": lambda n: b"100644 a\0" * (n // 9),
    "NULs": bytes,
    "the highest byte": lambda n: b"\xff" * n,
    "good entries, then a name that does not end": lambda n: (
        b"".join(b"1 a\0" + b"1 a\0" * 5 for _ in range(n // 48)) + b"100644 " + b"a" * (n // 2)
    ),
    "an endless mode that is good": lambda n: b"1" * (n - 22) + b" \xff\0" + b"x" * 19,
}


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


# Well-formed trees of about so many bytes in which everything is odd.
CROWDED: dict[str, Callable[[int], bytes]] = {
    "one name again and again": lambda n: b"100644 a\0%s" % oid(1) * (n // 29),
    "names that all collide": lambda n: b"".join(
        b"100644 a%s\0%s" % (b"." * (number % 50), oid(1)) for number in range(n // 54)
    ),
    "pairs that collide": lambda n: b"".join(
        b"100644 a%06d%s\0%s" % (number // 2, b". "[number % 2 :], oid(1))
        for number in range(n // 37)
    ),
    "names that fall": lambda n: b"".join(
        b"100644 %08d\0%s" % (n - number, oid(1)) for number in range(n // 36)
    ),
    "links": lambda n: b"".join(b"120000 %08d\0%s" % (m, oid(1)) for m in range(n // 36)),
    "submodules": lambda n: b"".join(b"160000 %08d\0%s" % (m, oid(1)) for m in range(n // 36)),
    "ids of zeros": lambda n: b"".join(b"100644 %08d\0%s" % (m, bytes(20)) for m in range(n // 36)),
    "names that are .gitmodules": lambda n: b"100644 .gitmodules\0%s" % oid(1) * (n // 39),
    "letters with marks": lambda n: (
        b"100644 %s\0%s" % ("a\u0301\u0323".encode() * (n // 5), oid(1))
    ),
    "a mode without end": lambda n: b"1" * n + b" a\0" + oid(1),
    "a name without end": lambda n: b"100644 " + b"." * n + b"\0" + oid(1),
}


TOO_LONG = ("letters with marks", "a name without end")


def attempt(data: bytes) -> set[str]:
    """Return the codes with which the ways refuse."""
    refused = set()
    for way in WAYS.values():
        try:
            way(data)
        except PackError as error:
            refused.add(error.code.name)
    return refused


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_take_linear_time(name: str) -> None:
    small, large = (HOSTILE[name](size) for size in (1 << 16, 1 << 20))
    assert attempt(small) == {checks.BAD_TREE.name}
    base = min(seconds(lambda: attempt(small)) for _ in range(3))
    # Sixteen times the bytes; quadratic work would take 256 times as long.
    assert seconds(lambda: attempt(large)) < 0.25 + 80 * base


@pytest.mark.parametrize("name", CROWDED)
@pytest.mark.heavy
def test_odd_trees_take_linear_time(name: str) -> None:
    small, large = (CROWDED[name](size) for size in (1 << 15, 1 << 19))
    wanted = {checks.NAME_TOO_LONG.name} if name in TOO_LONG else set()
    assert attempt(small) == wanted
    assert wanted or read(small)[4] or name == "links"
    base = min(seconds(lambda: attempt(small)) for _ in range(3))
    assert seconds(lambda: attempt(large)) < 0.5 + 80 * base
