"""What a tree links to: folders and files by their modes as git reads them, nothing else."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse import codes
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objects import tree
from tests.support.packs import tree_bytes

quick = settings(derandomize=True, database=None, deadline=None, max_examples=200)

Entries = list[tuple[bytes, bytes, bytes]]

TREES, BLOBS, NOTHING = "trees", "blobs", "nothing"


def oid(number: int, width: int = 20) -> bytes:
    return number.to_bytes(width, "big")


def links(data: bytes, width: int = 20, limits: Limits | None = None) -> tuple[bytes, bytes]:
    """Return the packed ids of (trees, blobs)."""
    found = tree.links(data, width, limits or Limits())
    return bytes(found.trees), bytes(found.blobs)


def links_exactly(
    data: bytes, width: int = 20, limits: Limits | None = None
) -> tuple[bytes, bytes]:
    found = tree.links_exactly(data, width, limits or Limits())
    return bytes(found.trees), bytes(found.blobs)


WAYS = {"the quick way": links, "the plain twin": links_exactly}


def refusal(data: bytes, width: int = 20, limits: Limits | None = None) -> str:
    """Return the code with which both ways refuse."""
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


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("width", [20, 32])
@pytest.mark.parametrize("mode", MODES, ids=bytes.decode)
def test_modes_say_what_an_entry_links_to(
    mode: bytes, width: int, way: Callable[[bytes, int], tuple[bytes, bytes]]
) -> None:
    # Alone, and between entries of other kinds.
    expected = {TREES: b"", BLOBS: b"", NOTHING: b""}
    expected[MODES[mode]] = oid(7, width)
    assert way(tree_bytes([(mode, b"name", oid(7, width))]), width) == (
        expected[TREES],
        expected[BLOBS],
    )
    between = [
        (b"100644", b"a", oid(1, width)),
        (mode, b"b", oid(7, width)),
        (b"40000", b"c", oid(2, width)),
        (b"160000", b"d", oid(3, width)),
        (b"120000", b"e", oid(4, width)),
    ]
    assert way(tree_bytes(between), width) == (
        expected[TREES] + oid(2, width),
        oid(1, width) + expected[BLOBS] + oid(4, width),
    )


ACCEPTED: dict[str, Entries] = {
    "no entry": [],
    "one file": [(b"100644", b"a", oid(1))],
    "a name of one space": [(b"100644", b" ", oid(1))],
    "a name with a newline": [(b"100644", b"a\nb", oid(1))],
    "a name that looks like an entry": [(b"100644", b"40000 x", oid(1))],
    "a name that is no text": [(b"100644", b"\xff\xfe", oid(1))],
    "a name of 100,000 bytes": [(b"100644", b"n" * 100_000, oid(1))],
    "an id of NULs": [(b"100644", b"a", bytes(20)), (b"100644", b"b", oid(2))],
    "an id that looks like an entry": [
        (b"100644", b"a", b"100644 b\0" + b"x" * 11),
        (b"100644", b"c", b"\n40000 z\0" + b"y" * 11),
    ],
    "entries out of order": [(b"100644", b"b", oid(1)), (b"100644", b"a", oid(2))],
    "the same name twice": [(b"100644", b"a", oid(1)), (b"100644", b"a", oid(2))],
    "the same id twice": [(b"100644", b"a", oid(1)), (b"100644", b"b", oid(1))],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", ACCEPTED)
def test_names_and_ids_may_be_any_bytes(
    name: str, way: Callable[[bytes], tuple[bytes, bytes]]
) -> None:
    listed = ACCEPTED[name]
    data = tree_bytes(listed, ordered=False)
    assert way(data) == (b"", b"".join(target for _mode, _name, target in listed))
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
    assert refusal(data) == codes.BAD_TREE.name


@pytest.mark.parametrize("cut", range(1, len(GOOD)))
def test_a_tree_cut_anywhere_is_a_bad_tree_but_between_entries(cut: int) -> None:
    boundary = len(b"100644 first\0") + 20
    if cut == boundary:
        assert links(GOOD[:cut]) == (b"", oid(1))
    else:
        assert refusal(GOOD[:cut]) == codes.BAD_TREE.name


def test_a_tree_of_the_other_format_is_a_bad_tree() -> None:
    wide = tree_bytes([(b"100644", b"a", b"\xff" * 32), (b"100644", b"b", b"\xff" * 32)])
    assert refusal(wide, 20) == codes.BAD_TREE.name
    narrow = tree_bytes([(b"100644", b"a", b"\xff" * 20)])
    assert refusal(narrow, 32) == codes.BAD_TREE.name


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
@pytest.mark.parametrize("count", [2_500, 4_095, 4_096, 4_097, 8_192, 20_000])
@pytest.mark.parametrize(
    "modes",
    [[b"100644"], [b"40000"], [b"100644", b"40000", b"160000"], list(MODES)],
    ids=["files", "folders", "usual modes", "any modes"],
)
def test_large_trees_give_what_small_ones_give(count: int, modes: list[bytes], width: int) -> None:
    content, trees, blobs = many_entries(count, modes, width)
    assert links(content, width) == (trees, blobs)
    assert links_exactly(content, width) == (trees, blobs)


@quick
@given(
    st.sampled_from([20, 32]),
    st.lists(
        st.tuples(
            st.sampled_from(sorted(MODES)),
            st.binary(min_size=1, max_size=12).map(lambda name: name.replace(b"\0", b"0")),
            st.integers(0, 1 << 159),
        ),
        max_size=12,
    ),
    st.data(),
)
def test_both_ways_agree_on_any_bytes(
    width: int, listed: list[tuple[bytes, bytes, int]], data: st.DataObject
) -> None:
    content = tree_bytes(((m, n, oid(t, width)) for m, n, t in listed), ordered=False)
    by_kind = {
        wanted: b"".join(oid(t, width) for m, _n, t in listed if MODES[m] == wanted)
        for wanted in (TREES, BLOBS)
    }
    assert links(content, width) == (by_kind[TREES], by_kind[BLOBS])
    assert links_exactly(content, width) == (by_kind[TREES], by_kind[BLOBS])
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
            results.append(error.code)
    assert results[0] == results[1]


@pytest.mark.parametrize("count", [10, 5_000])
@pytest.mark.parametrize("modes", [[b"100644"], [b"100600", b"160000"]], ids=["usual", "odd"])
def test_the_number_of_entries_has_a_limit(count: int, modes: list[bytes]) -> None:
    content, trees, blobs = many_entries(count, modes, 20) if modes == [b"100644"] else (b"",) * 3
    if not content:
        content = b"".join(b"%s %06d\0" % (modes[n % 2], n) + oid(n) for n in range(count))
        blobs = b"".join(oid(n) for n in range(0, count, 2))
    exact = Limits(changes={"tree_entries": count})
    assert links(content, limits=exact) == links_exactly(content, limits=exact) == (trees, blobs)
    below = Limits(changes={"tree_entries": count - 1})
    assert refusal(content, limits=below) == codes.TOO_MANY_TREE_ENTRIES.name
    assert codes.TOO_MANY_TREE_ENTRIES.klass == 4


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


def attempt(data: bytes) -> set[str]:
    """Return the codes with which the two ways refuse."""
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
    assert attempt(small) == {codes.BAD_TREE.name}
    base = min(seconds(lambda: attempt(small)) for _ in range(3))
    # Sixteen times the bytes; quadratic work would take 256 times as long.
    assert seconds(lambda: attempt(large)) < 0.25 + 80 * base
