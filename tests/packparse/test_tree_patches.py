"""Trees that differ in ids alone from one that was read before: links at the price of these."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse.limits import Limits
from packparse.objects import tree
from packparse.objects.tree import TreeReader
from tests.support.packs import tree_bytes

quick = settings(derandomize=True, database=None, deadline=None, max_examples=200)

Entries = list[tuple[bytes, bytes, bytes]]


def oid(number: int, width: int = 20) -> bytes:
    return number.to_bytes(width, "big")


def reader(width: int = 20) -> TreeReader:
    return TreeReader(width, Limits())


LISTED: Entries = sorted(
    [
        (b"100644", b".gitattributes", oid(91)),
        (b"100644", b".gitmodules", oid(92)),
        (b"160000", b"lib", oid(93)),
        (b"120000", b"link", oid(94)),
        *((b"40000" if n % 5 == 2 else b"100644", b"n%03d" % n, oid(n + 1)) for n in range(60)),
    ],
    key=lambda entry: entry[1],
)


@quick
@given(
    st.sampled_from([20, 32]),
    st.dictionaries(st.integers(0, len(LISTED) - 1), st.integers(1, (1 << 159)), max_size=6),
    st.data(),
)
def test_a_patched_tree_has_the_links_of_the_whole_one(
    width: int, changes: dict[int, int], data: st.DataObject
) -> None:
    listed = [(m, n, oid(int.from_bytes(o, "big"), width)) for m, n, o in LISTED]
    made = [
        (m, n, oid(changes[at], width) if at in changes else o)
        for at, (m, n, o) in enumerate(listed)
    ]
    base, content = tree_bytes(listed), tree_bytes(made)
    remembering = reader(width)
    before, wanted = remembering.read(base), remembering.read(content)
    # Ranges rise, may be wider than what changed, and may lie within one entry.
    ranges = []
    for at in sorted(changes):
        end = len(tree_bytes(made[: at + 1]))
        cut = data.draw(st.integers(1, width - 1))
        begin = end - width - data.draw(st.integers(0, 3))
        ranges += [(begin, end - cut), (end - cut, end)]
    patched = tree.patched_links(before, base, content, ranges, width)
    assert patched is not None
    links, new_trees, new_blobs = patched
    assert (links.trees, links.blobs) == (wanted.trees, wanted.blobs)
    assert (links.entries, links.shape) == (wanted.entries, wanted.shape)
    assert links.oddities == before.oddities
    changed = [made[at] for at in sorted(changes) if made[at] != listed[at]]
    assert new_trees == b"".join(o for m, _n, o in changed if m == b"40000")
    assert new_blobs == b"".join(o for m, _n, o in changed if m in {b"100644", b"120000"})
    flagged = [(remembering.flags(m, n), o) for m, n, o in changed]
    assert links.special == [(flags, o) for flags, o in flagged if flags]


def _patch(change: Callable[[Entries], Entries]) -> object:
    base, content = tree_bytes(LISTED), tree_bytes(change(LISTED), ordered=False)
    assert len(base) == len(content)
    before = reader().read(base)
    return tree.patched_links(before, base, content, [(0, len(content))], 20)


def _replaced(at: int, entry: tuple[bytes, bytes, bytes]) -> Callable[[Entries], Entries]:
    return lambda listed: [*listed[:at], entry, *listed[at + 1 :]]


NOT_PATCHED: dict[str, Callable[[Entries], Entries]] = {
    "a name": _replaced(9, (b"100644", b"m005", oid(6))),
    "a mode": _replaced(9, (b"100755", b"n005", oid(6))),
    "an id that is zeros now": _replaced(9, (b"100644", b"n005", bytes(20))),
    "the border between two entries": _replaced(9, (b"40000", b"n0051", oid(6))),
}


@pytest.mark.parametrize("name", NOT_PATCHED)
def test_where_more_than_ids_changed_the_tree_is_to_be_read(name: str) -> None:
    assert LISTED[9] == (b"100644", b"n005", oid(6))
    assert _patch(_replaced(9, (b"100644", b"n005", oid(7)))) is not None
    assert _patch(NOT_PATCHED[name]) is None


def test_a_tree_that_was_read_in_little_memory_is_no_base_of_patches() -> None:
    base = tree_bytes(LISTED)
    before = reader().read_exactly(base)
    assert tree.patched_links(before, base, base, [], 20) is None
