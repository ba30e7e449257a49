"""Trees: the entries, and the trees and blobs they link to.

Source: git's tree-walk.c (decode_tree_entry). The kind of a link follows from the mode as git
reads it: octal digits into 16 bits, of which four decide; whatever is neither a folder, a file nor
a symbolic link counts as a submodule, which links to nothing in the pack.

A tree is read in one go: taken apart by one pattern, each "mode name" looked up in a memory of
those that were judged before, and the order compared in C. What is odd about a tree is then told by
treecheck.py, which looks at one entry after the other.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import compress

from packparse import checks, late
from packparse.entry import BLOB, TREE
from packparse.errors import PackError
from packparse.memo import Memo
from packparse.objects.shape import (
    ATTRIBUTES,
    CODES,
    FLAG_SHIFT,
    GITLINK,
    LINK,
    MODULES,
    ODD,
    TO_BLOB,
    TO_TREE,
    Layout,
    Shape,
)  # fmt: skip
from packparse.signs import PLAIN_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from packparse.limits import Limits
    from packparse.objects.shape import Row
    from packparse.oddity import Oddity

__all__ = ["TreeLinks", "TreeReader", "entries", "patched_links"]

# What the four deciding bits of a mode say: S_IFDIR, and S_IFREG or S_IFLNK.
_KINDS = {0o040000: TREE, 0o100000: BLOB, 0o120000: BLOB}

# The last alternative takes all that is left where no entry follows, so that a search never starts
# anywhere but at an entry: matching stays linear on hostile bytes.
_SPLIT = {
    width: late.pattern(rb"([0-7]++ [^\0]++)\0(.{%d})|(.++)" % width, re.DOTALL)
    for width in (20, 32)
}
_USUAL = late.pattern(
    rb"(?:(40000)|100(?:644|755)) (\.gitignore|\.mailmap|" + PLAIN_NAME + b")", re.DOTALL
)
# Trees up to this many bytes are taken apart in one go, which makes five objects an entry.
_AT_ONCE = 1 << 20
# About how many bytes the remembered "mode name" pairs take.
_ROW_BYTES = 12 << 20
# Names of links that are remembered.
_REMEMBERED = 1 << 15
# The longest name of a link that is remembered; no usual file system takes more.
_LONGEST_LINK = 255
# About how many bytes the remembered shapes of trees take, by key and by length; and their layouts.
_SHAPE_BYTES = 4 << 20
# Names of a tree whose shape gets a layout, in bytes together.
_LONGEST_KEY = 64 << 10


class TreeLinks:
    """What a tree links to, and what is odd about it.

    ``trees`` and ``blobs`` are raw ids, packed, in the tree's order; ``entries`` counts all,
    submodules included. ``special`` lists (flags, raw id) of entries to be looked at later.
    ``shape`` is None for a tree that was read in little memory.
    """

    __slots__ = ("blobs", "entries", "oddities", "shape", "special", "trees")

    def __init__(
        self,
        trees: bytes,
        blobs: bytes,
        entries: int,
        special: list[tuple[int, bytes]],
        oddities: list[Oddity],
        shape: Shape | None,
    ) -> None:
        self.trees = trees
        self.blobs = blobs
        self.entries = entries
        self.special = special
        self.oddities = oddities
        self.shape = shape


class TreeReader:
    """Reads trees with ids of ``width`` raw bytes, and remembers what it has judged.

    ``longest_name`` is the length of the longest name seen, ``link_folds`` holds the fold keys of
    symbolic links' names (paths.fold), or None when there were too many, or too long ones.
    ``is_told`` says of an oddity, its ids aside, that it need not be told again.
    """

    def __init__(
        self, width: int, limits: Limits, is_told: Callable[[Oddity], bool] = lambda _odd: False
    ) -> None:
        self.width = width
        self.longest_name = 0
        self.link_folds: set[bytes] | None = set()
        self._limits = limits
        self._is_told = is_told
        self._rows: Memo[bytes, Row] = Memo(_ROW_BYTES, _ROW_BYTES >> 3)
        self._shapes: Memo[bytes, Shape] = Memo(_SHAPE_BYTES, _SHAPE_BYTES >> 1)
        # The last shape of a tree of each length: that of the next one as well, most of the time.
        self._lengths: Memo[int, Shape] = Memo(_SHAPE_BYTES, _SHAPE_BYTES >> 1)
        self._layouts: Memo[bytes, Layout] = Memo(_SHAPE_BYTES, _SHAPE_BYTES >> 1)
        self._null = bytes(width)
        self._most = limits.name_bytes + len(b"40000 ")

    def read(self, data: bytes | bytearray) -> TreeLinks:
        """Take a tree's content apart. Raises PackError: badTree, tooManyTreeEntries."""
        known = self._lengths.get(len(data))
        if known is not None and data.startswith(known.first):
            same = self._read_like(data, known)
            if same is not None:
                return same
        if len(data) > _AT_ONCE:
            return self.read_exactly(data)
        # A flat list: what is between two entries (nothing), head, id, rest, nothing, head, ...
        parts = _SPLIT[self.width].split(data)
        if len(parts) > 1 and parts[-2] is not None:
            raise _unreadable(len(data) - len(parts[-2]))
        heads, oids = parts[1::4], parts[2::4]
        count = len(heads)
        if count > self._limits.tree_entries:
            raise self._limits.passed("tree_entries", count, "a tree has")
        if not count:
            return TreeLinks(b"", b"", 0, [], [], None)
        # Most trees are a version of one that was read before.
        key = b"\0".join(heads)
        shape = self._shapes.get(key) or self._judge_shape(key, heads)
        if shape is not known:
            self._remember_length(len(data), shape)
        special: list[tuple[int, bytes]] = []
        oddities: list[Oddity] = []
        # Most trees have neither, and an empty list costs as much as two entries.
        if shape.special:
            special = [(shape.flags[number], oids[number]) for number in shape.special]
        if shape.odd or (self._null in data and self._null in oids):
            oddities = self._oddities(shape, oids)
        trees = b"".join(compress(oids, shape.trees))
        blobs = b"".join(compress(oids, shape.blobs))
        return TreeLinks(trees, blobs, count, special, oddities, shape)

    def _remember_length(self, length: int, shape: Shape) -> None:
        """Keep a shape for the next tree of that length, in the room of a heavier one if it can."""
        known = self._lengths.get(length)
        if known is not None and shape.weight <= known.weight:
            self._lengths[length] = shape
        else:
            self._lengths.keep(length, shape, shape.weight)

    def _oddities(self, shape: Shape, oids: list[bytes]) -> list[Oddity]:
        """What is odd about a tree of this shape with these ids, and not told yet."""
        from packparse.objects import treecheck

        untold = (item for item in shape.odd if not self._is_told(item[0]))
        oddities = treecheck.filled(untold, oids)
        if self._null in oids:
            names = (name for _mode, name in shape.heads())
            oddities += treecheck.null_ids(zip(names, oids, strict=True))
        return oddities

    def _read_like(self, data: bytes | bytearray, shape: Shape) -> TreeLinks | None:
        """The links of a tree of a known shape; None if it is another one, or has something odd."""
        layout = self._layouts.get(shape.key)
        if layout is None:
            # A layout takes as long as reading a tree: not for one that comes but once.
            if not shape.asked or len(shape.key) > _LONGEST_KEY:
                shape.asked = True
                return None
            layout = Layout(shape)
            self._layouts.keep(shape.key, layout, Layout.weight(shape))
        links = layout.links(data)
        if links is None or self._null in data:
            return None
        if shape.odd and not all(self._is_told(item[0]) for item in shape.odd):
            return None
        special: list[tuple[int, bytes]] = []
        if shape.special:
            ends, flags = shape.ends, shape.flags
            ids = (bytes(data[ends[n] - self.width : ends[n]]) for n in shape.special)
            special = list(zip((flags[n] for n in shape.special), ids, strict=True))
        return TreeLinks(*links, len(shape.trees), special, [], shape)

    def read_exactly(self, data: bytes | bytearray) -> TreeLinks:
        """The plain twin of :meth:`read`: one entry at a time, in little memory.

        Raises PackError as well for a name that is too long: nameTooLong.
        """
        from packparse.objects import treecheck

        packed = {TREE: bytearray(), BLOB: bytearray(), 0: bytearray()}
        special: list[tuple[int, bytes]] = []
        match_entry = treecheck.ENTRY[self.width].match
        count = pos = 0
        while pos < len(data):
            match = match_entry(data, pos)
            if match is None:
                raise _unreadable(pos)
            pos = match.end()
            count += 1
            if count > self._limits.tree_entries:
                raise self._limits.passed("tree_entries", count, "a tree has at least")
            if match.end(2) - match.start(2) > self._limits.name_bytes:
                # Before it is copied.
                length = match.end(2) - match.start(2)
                raise self._limits.passed("name_bytes", length, "a name has")
            mode, name, oid = match.groups()
            kind = target_kind(mode)
            if kind:
                packed[kind] += oid
            flags = self._flags(int(mode, 8) & 0xFFFF, name)
            if flags:
                special.append((flags, oid))
        oddities = treecheck.oddities(data, self.width, self._limits)
        return TreeLinks(bytes(packed[TREE]), bytes(packed[BLOB]), count, special, oddities, None)

    def take_over(self, longest_name: int, link_folds: Iterable[bytes] | None) -> None:
        """Put what another reader has seen of names to what this one has."""
        self.longest_name = max(self.longest_name, longest_name)
        if link_folds is None or self.link_folds is None:
            self.link_folds = None
            return
        self.link_folds.update(link_folds)
        if len(self.link_folds) > _REMEMBERED:
            self.link_folds = None

    def flags(self, mode: bytes, name: bytes) -> int:
        """LINK, MODULES, ATTRIBUTES and GITLINK of one entry, as a sum."""
        return self._flags(int(mode, 8) & 0xFFFF, name)

    def _judge_shape(self, key: bytes, heads: list[bytes]) -> Shape:
        known = self._rows.get
        rows = [known(head) or self._judge(head) for head in heads]
        shape = Shape(key, rows, self.width, self._limits)
        return self._shapes.keep(key, shape, shape.weight)

    def _judge(self, head: bytes) -> Row:
        usual = _USUAL.fullmatch(head)
        if usual and len(head) <= self._most:
            folder, name = usual.groups()
            self.longest_name = max(self.longest_name, len(name))
            code = TO_TREE if folder else TO_BLOB
            row = (name + b"/" if folder else name, name.lower(), code)
        else:
            from packparse import paths
            from packparse.objects import treecheck

            digits, _, name = head.partition(b" ")
            mode = int(digits, 8) & 0xFFFF
            kind = _KINDS.get(mode & 0o170000, 0)
            flags = self._flags(mode, name)
            if treecheck.entry_oddities(digits, name, self._limits):
                flags |= ODD
            sort = name + b"/" if kind == TREE else name
            row = (sort, paths.fold(name), flags << FLAG_SHIFT | CODES[kind])
        return self._rows.keep(head, row, 300 + 4 * len(head))

    def _flags(self, mode: int, name: bytes) -> int:
        self.longest_name = max(self.longest_name, len(name))
        kind = mode & 0o170000
        if kind == 0o120000:
            self._note_link(name)
            return LINK
        from packparse import dotnames

        flags = 0 if kind in _KINDS else GITLINK
        if dotnames.is_dotgitmodules(name):
            flags |= MODULES
        if dotnames.is_dotgitattributes(name):
            flags |= ATTRIBUTES
        return flags

    def _note_link(self, name: bytes) -> None:
        if self.link_folds is not None:
            from packparse import paths

            self.link_folds.add(paths.fold(name))
            if len(self.link_folds) > _REMEMBERED or len(name) > _LONGEST_LINK:
                self.link_folds = None


def patched_links(
    before: TreeLinks,
    base: bytes | bytearray,
    data: bytes | bytearray,
    ranges: Iterable[tuple[int, int]],
    width: int,
) -> tuple[TreeLinks, bytes, bytes] | None:
    """The links of a tree that differs from another one in nothing but ids, at the price of these.

    ``before`` are the links of the tree ``base``, which is well-formed and as long as ``data`` and
    differs from it in no byte outside ``ranges``. Most edits of a tree are of this kind, and they
    need no second reading of its entries. Returns (links, new trees, new blobs), the new ones
    packed; the links' ``special`` lists new ids alone, and ``oddities`` are those of ``before``.
    None where more than ids has changed, or an id is now zeros.
    """
    shape = before.shape
    if shape is None:
        return None
    ends = shape.ends
    trees, blobs = bytearray(before.trees), bytearray(before.blobs)
    new_trees, new_blobs = bytearray(), bytearray()
    special: list[tuple[int, bytes]] = []
    null = bytes(width)
    entry = 0
    for first, last in ranges:
        # Ranges rise, and no entry is compared twice, however many of them lie in it.
        entry = max(entry, bisect_right(ends, first))
        begin = ends[entry - 1] if entry else 0
        while begin < last:
            end = ends[entry]
            oid = bytes(data[end - width : end])
            if base[begin : end - width] != data[begin : end - width] or oid == null:
                return None
            if oid != base[end - width : end]:
                at = shape.place(entry) * width
                if shape.trees[entry]:
                    trees[at : at + width] = oid
                    new_trees += oid
                elif shape.blobs[entry]:
                    blobs[at : at + width] = oid
                    new_blobs += oid
                if shape.flags and shape.flags[entry]:
                    special.append((shape.flags[entry], oid))
            begin = end
            entry += 1
    links = TreeLinks(bytes(trees), bytes(blobs), before.entries, special, before.oddities, shape)
    return links, bytes(new_trees), bytes(new_blobs)


def entries(data: bytes | bytearray, width: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The entries of a well-formed tree, as (mode, name, raw id)."""
    from packparse.objects import treecheck

    pattern = treecheck.ENTRY[width]
    if len(data) <= _AT_ONCE:
        # In half of the time.
        return iter(pattern.findall(data))
    return _one_by_one(pattern, data)


def _one_by_one(
    pattern: re.Pattern[bytes], data: bytes | bytearray
) -> Iterator[tuple[bytes, bytes, bytes]]:
    for match in pattern.finditer(data):
        mode, name, oid = match.groups()
        yield mode, name, oid


def target_kind(mode: bytes) -> int:
    """What a mode says an entry links to: TREE, BLOB, or 0 for a submodule."""
    return _KINDS.get(int(mode, 8) & 0o170000, 0)


def _unreadable(pos: int) -> PackError:
    return PackError(checks.BAD_TREE, f"no tree entry can be read at byte {pos} of the tree")
