"""Shapes: what trees have in common that differ in ids alone, and how such a tree is read at once.

Most trees of a pack are versions of one that was read before. So all modes and names of a tree are
judged once; and where a tree is as long as one that was read before, structs tell whether it has
the same shape, and take its ids out, several times as fast as a pattern does.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from operator import lt
from struct import Struct

from packparse.entry import BLOB, TREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packparse.limits import Limits
    from packparse.objects.treecheck import Template

    # Of one "mode name": sort key, fold key, and a code: kind of the target and flags, as below.
    Row = tuple[bytes, bytes, int]

__all__ = [
    "ATTRIBUTES", "CODES", "FLAG_SHIFT", "GITLINK", "LINK", "MODULES", "ODD", "TO_BLOB", "TO_TREE",
    "Layout", "Shape",
]  # fmt: skip

# Flags of entries whose content or place has to be looked at once all objects are known.
LINK = 1
MODULES = 2
ATTRIBUTES = 4
GITLINK = 8
ODD = 16
# The lowest two bits of a code say what an entry links to, those above are its flags.
TO_TREE = 1
TO_BLOB = 2
FLAG_SHIFT = 2
CODES = {TREE: TO_TREE, BLOB: TO_BLOB, 0: 0}
_TREES_OF = bytes(code & TO_TREE for code in range(256))
_BLOBS_OF = bytes((code & TO_BLOB) // TO_BLOB for code in range(256))
_FLAGS_OF = bytes(code >> FLAG_SHIFT for code in range(256))
# Without any flag, and linking to something.
_USUAL_CODES = bytes((TO_TREE, TO_BLOB))


class Shape:
    """What trees have in common that differ in ids alone: all modes and names, in their order.

    ``trees`` and ``blobs`` have a 1 for each entry that links to one; ``flags`` those of each
    entry, or nothing where no entry has any; ``special`` numbers the entries that have. ``odd`` is
    what is odd, ids aside. ``key`` has the modes and names, with NULs between, and ``first`` the
    first of them; ``asked`` is whether a second such tree may have come. ``weight`` is about how
    many bytes all of it takes.
    """

    __slots__ = (
        "_ends", "_places", "asked", "blobs", "first", "flags", "key", "odd", "special", "trees",
        "weight", "width",
    )  # fmt: skip

    def __init__(self, key: bytes, rows: Sequence[Row], width: int, limits: Limits) -> None:
        sorts, folds, listed = zip(*rows)  # noqa: B905 - of one length
        self.width = width
        self.first = key.partition(b"\0")[0] + b"\0"
        self.asked = False
        codes = bytes(listed)
        self.trees, self.blobs = codes.translate(_TREES_OF), codes.translate(_BLOBS_OF)
        # Folds that are all different rule out duplicates and collisions alike.
        distinct = set(folds)
        plain = all(map(lt, sorts, sorts[1:])) and len(distinct) == len(folds)
        if b"head" in distinct and _is_repository(distinct):
            plain = False
        self.flags = b""
        self.special: Sequence[int] = ()
        if codes.strip(_USUAL_CODES):
            flags = codes.translate(_FLAGS_OF)
            plain = plain and not any(flag & ODD for flag in flags)
            self.flags = bytes(flag & ~ODD for flag in flags)
            self.special = [number for number, flag in enumerate(self.flags) if flag]
        self.key = key
        self.odd: Sequence[Template] = ()
        if not plain or self.special:
            self.odd = self._templates(limits, plain=plain)
        self.weight = len(key) + len(self.first) + len(rows) * 28 + 500
        self.weight += sum(500 + 8 * len(numbers) for _oddity, numbers in self.odd)
        self._ends: array[int] | None = None
        self._places: array[int] | None = None

    def _templates(self, limits: Limits, *, plain: bool) -> list[Template]:
        """What is odd; ``plain`` says that it can be submodules alone."""
        # Most trees of a small pack have nothing of the kind.
        from packparse.objects import treecheck

        if not plain or len(self.special) > treecheck.KEPT:
            return treecheck.templates(self.heads(), limits)
        # Submodules alone are common, and need no slow reading of all that is beside them.
        numbers = [number for number in self.special if self.flags[number] & GITLINK]
        names = [name for _mode, name in self.heads()]
        return [treecheck.gitlink(names[number], number) for number in numbers]

    def heads(self) -> Iterator[tuple[bytes, bytes]]:
        """Mode and name of each entry."""
        for head in self.key.split(b"\0"):
            mode, _, name = head.partition(b" ")
            yield mode, name

    @property
    def ends(self) -> array[int]:
        """Where each entry ends in a tree's content; made when it is asked for."""
        if self._ends is None:
            heads = self.key.split(b"\0")
            self._ends = array("I", accumulate(len(head) + 1 + self.width for head in heads))
        return self._ends

    def place(self, entry: int) -> int:
        """The place of an entry's id in the packed links of its kind."""
        if self._places is None:
            of_trees, of_blobs = accumulate(self.trees), accumulate(self.blobs)
            kinds = zip(self.trees, of_trees, of_blobs, strict=True)
            places = (t - 1 if is_tree else max(b - 1, 0) for is_tree, t, b in kinds)
            self._places = array("I", places)
        return self._places[entry]


def _is_repository(folds: set[bytes]) -> bool:
    from packparse.objects import treecheck

    return treecheck.is_repository(folds)


class Layout:
    """How a tree of one shape is taken apart: structs of its heads, and of two sorts of ids."""

    __slots__ = ("_blobs", "_heads", "_key", "_trees")

    def __init__(self, shape: Shape) -> None:
        width = shape.width
        lengths = [len(head) + 1 for head in shape.key.split(b"\0")]
        self._key = shape.key + b"\0"
        self._heads = Struct("".join(f"{length}s{width}x" for length in lengths)).unpack
        self._trees = _struct(lengths, shape.trees, width).unpack
        self._blobs = _struct(lengths, shape.blobs, width).unpack

    def links(self, data: bytes | bytearray) -> tuple[bytes, bytes] | None:
        """The packed ids of trees and of blobs; None where the tree has another shape.

        ``data`` is as long as a tree of this shape.
        """
        if b"".join(self._heads(data)) != self._key:
            return None
        return b"".join(self._trees(data)), b"".join(self._blobs(data))

    @staticmethod
    def weight(shape: Shape) -> int:
        """About how many bytes one takes: 32 for each part of a struct, and the key twice."""
        return 1_000 + 64 * len(shape.trees) + 2 * len(shape.key)


def _struct(lengths: Sequence[int], wanted: bytes, width: int) -> Struct:
    """One that gives the ids of the entries that are ``wanted``."""
    return Struct(
        "".join(
            f"{length}x{width}s" if there else f"{length + width}x"
            for length, there in zip(lengths, wanted, strict=True)
        )
    )
