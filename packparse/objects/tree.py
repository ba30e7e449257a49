"""Trees: the entries, and the trees and blobs they link to.

Source: git's tree-walk.c (decode_tree_entry). The kind of a link follows from the mode as git
reads it: octal digits into 32 bits, of which four decide; whatever is neither a folder, a file nor
a symbolic link counts as a submodule, which links to nothing in the pack.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

from packparse import codes
from packparse.entry import BLOB, TREE
from packparse.errors import PackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packparse.limits import Limits

__all__ = ["TreeLinks", "entries", "links", "links_exactly", "patched_links"]

# What the four deciding bits of a mode say: S_IFDIR, and S_IFREG or S_IFLNK.
_KINDS = {0o040000: TREE, 0o100000: BLOB, 0o120000: BLOB}

_ENTRY = {
    width: re.compile(rb"([0-7]++) ([^\0]++)\0(.{%d})" % width, re.DOTALL) for width in (20, 32)
}
# The modes that git writes or once wrote (each branch beginning with a literal, which is quicker),
# with a group for the ids of trees and one for those of
# blobs. The last alternative takes all that is left where no such entry follows, so that a search
# never starts anywhere but at an entry: matching stays linear on hostile bytes.
_USUAL = {
    width: re.compile(
        rb"40000 [^\0]++\0(.{%d})|1(?:00644|00755|20000|00664) [^\0]++\0(.{%d})"
        rb"|160000 [^\0]++\0.{%d}|(.++)" % (width, width, width),
        re.DOTALL,
    )
    for width in (20, 32)
}
# Trees up to this many bytes are taken apart in one go, which makes four objects an entry.
_AT_ONCE = 96 << 10


class TreeLinks:
    """What a tree links to: raw ids of ``trees`` and of ``blobs``, packed, in the tree's order.

    ``entries`` counts all, submodules included.
    """

    __slots__ = ("blobs", "entries", "shape", "trees")

    def __init__(self, trees: bytes, blobs: bytes, entries: int) -> None:
        self.trees = trees
        self.blobs = blobs
        self.entries = entries
        self.shape: _Shape | None = None  # made when a patch asks for it


class _Shape:
    """Where the entries of a tree end, and the place of each one's id in the packed links.

    Trees that differ in ids alone share one. ``ends`` are byte offsets; ``kinds`` and ``places``
    go with them.
    """

    __slots__ = ("ends", "kinds", "places")

    def __init__(self, data: bytes | bytearray, width: int) -> None:
        self.ends = array("I")
        self.kinds = bytearray()
        self.places = array("I")
        counts = {TREE: 0, BLOB: 0, 0: 0}
        for match in _ENTRY[width].finditer(data):
            kind = _target_kind(match[1])
            self.ends.append(match.end())
            self.kinds.append(kind)
            self.places.append(counts[kind])
            counts[kind] += 1


def links(data: bytes | bytearray, width: int, limits: Limits) -> TreeLinks:
    """The links of a tree's content; ``width`` is that of a raw id.

    Raises PackError: badTree, tooManyTreeEntries.
    """
    if len(data) <= _AT_ONCE:
        # A flat list: what is between two entries (nothing), tree, blob, rest, nothing, tree, ...
        parts = _USUAL[width].split(data)
        usual = len(parts) == 1 or parts[-2] is None
        if usual and len(parts) <= limits.tree_entries << 2:
            trees, blobs = (b"".join(filter(None, parts[n::4])) for n in (1, 2))
            return TreeLinks(trees, blobs, len(parts) >> 2)
    return links_exactly(data, width, limits)


def links_exactly(data: bytes | bytearray, width: int, limits: Limits) -> TreeLinks:
    """The plain twin of :func:`links`: one entry at a time, any mode, little memory."""
    packed = {TREE: bytearray(), BLOB: bytearray(), 0: bytearray()}
    match_entry = _ENTRY[width].match
    count = pos = 0
    while pos < len(data):
        match = match_entry(data, pos)
        if match is None:
            raise PackError(codes.BAD_TREE, f"no tree entry can be read at byte {pos} of the tree")
        pos = match.end()
        count += 1
        if count > limits.tree_entries:
            raise limits.passed("tree_entries", count, "a tree has at least")
        kind = _target_kind(match[1])
        if kind:
            packed[kind] += match[3]
    return TreeLinks(bytes(packed[TREE]), bytes(packed[BLOB]), count)


def patched_links(
    before: TreeLinks,
    base: bytes | bytearray,
    data: bytes | bytearray,
    ranges: Iterable[tuple[int, int]],
    width: int,
) -> tuple[TreeLinks, bytes, bytes] | None:
    """The links of a tree that differs from another one in nothing but ids, at the price of these.

    ``before`` are the links of the well-formed tree ``base``, which is as long as ``data`` and
    differs from it in no byte outside ``ranges``. Most edits of a tree are of this kind, and they
    need no second reading of its entries. Returns (links, new trees, new blobs), the new ones
    packed; None where more than ids has changed.
    """
    shape = before.shape
    if shape is None:
        shape = before.shape = _Shape(base, width)
    ends = shape.ends
    packed = {TREE: bytearray(before.trees), BLOB: bytearray(before.blobs), 0: None}
    new = {TREE: bytearray(), BLOB: bytearray(), 0: bytearray()}
    entry = 0
    for first, last in ranges:
        # Ranges rise, and no entry is compared twice, however many of them lie in it.
        entry = max(entry, bisect_right(ends, first))
        begin = ends[entry - 1] if entry else 0
        while begin < last:
            end = ends[entry]
            if base[begin : end - width] != data[begin : end - width]:
                return None
            oid = data[end - width : end]
            kind = shape.kinds[entry]
            ids = packed[kind]
            if ids is not None and oid != base[end - width : end]:
                at = shape.places[entry] * width
                ids[at : at + width] = oid
                new[kind] += oid
            begin = end
            entry += 1
    links = TreeLinks(bytes(packed[TREE] or b""), bytes(packed[BLOB] or b""), before.entries)
    links.shape = shape
    return links, bytes(new[TREE]), bytes(new[BLOB])


def entries(data: bytes | bytearray, width: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The entries of a well-formed tree, as (mode, name, raw id)."""
    for match in _ENTRY[width].finditer(data):
        mode, name, oid = match.groups()
        yield mode, name, oid


def _target_kind(mode: bytes) -> int:
    """What a mode says an entry links to: TREE, BLOB, or 0 for a submodule."""
    return _KINDS.get(int(mode, 8) & 0o170000, 0)
