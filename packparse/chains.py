"""Who rests on whom: the families of deltas below each base, without recursion.

An offset delta names its base by place, so its family is known after the first pass. A reference
delta names it by id, and the id of a base that is a delta itself is known only once it is rebuilt;
so these wait in an index by base id until an object of that id comes up.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

from packparse.entry import OFS_DELTA, REF_DELTA
from packparse.table import NO_ENTRY, OUTSIDE, IdIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from packparse.table import EntryTable

__all__ = ["Chains"]


class Chains:
    """The deltas that rest on each entry, and those that wait for an id.

    The deltas of one base form a list through ``following``: from :meth:`first_kid` on, each entry
    leads to the next, up to NO_ENTRY; the one with most deltas below it is the last. Eight bytes
    an entry (twelve until :meth:`weigh`), and nine for each reference delta beside its base's id.
    """

    def __init__(self, table: EntryTable) -> None:
        self.following = array("I", [NO_ENTRY]) * len(table)
        self._first = array("I", [NO_ENTRY]) * len(table)
        # How many deltas rest on an entry, however deep, and itself; until all is shared out.
        self._weights = array("I")
        self._table = table
        self._references = array("I")  # the entry of each id in table.waiting
        self._link()
        self._index = IdIndex(table.waiting, table.width) if self._references else None
        self._taken = bytearray(len(self._references))

    def _link(self) -> None:
        first, following, bases = self._first, self.following, self._table.bases
        kinds = self._table.kinds
        weights = self._weights = array("I", [1]) * len(first)
        # From the back, so that an entry's weight is known when it joins the list of its base. The
        # heaviest delta of a base is the first of its list until first_kid() makes it the last.
        number = kinds.rfind(OFS_DELTA)
        while number >= 0:
            base = bases[number]
            if base != NO_ENTRY:
                weights[base] += weights[number]
                head = first[base]
                if head == NO_ENTRY or weights[number] > weights[head]:
                    following[number] = head
                    first[base] = number
                else:
                    following[number] = following[head]
                    following[head] = number
            number = kinds.rfind(OFS_DELTA, 0, number)
        number = kinds.find(REF_DELTA)
        while number >= 0:
            self._references.append(number)
            number = kinds.find(REF_DELTA, number + 1)

    def weigh(self, roots: array[int]) -> array[int]:
        """How many deltas rest on each of ``roots`` by offset, however deep. To be asked once."""
        weights, self._weights = self._weights, array("I")
        return array("I", [weights[root] - 1 for root in roots])

    def possible_bases(self) -> Iterator[int]:
        """The entries that deltas rest on, or may turn out to."""
        if self._index is not None:
            return iter(range(len(self._first)))
        return (number for number, kid in enumerate(self._first) if kid != NO_ENTRY)

    def first_kid(self, number: int, oid: bytes) -> int:
        """The first delta that rests on an object whose id is now known, or NO_ENTRY.

        ``number`` is its entry, or OUTSIDE; to be asked once for each. Reference deltas that wait
        for the id join the list of the first object that has it.
        """
        kid = NO_ENTRY if number == OUTSIDE else self._heaviest_last(self._first[number])
        if self._index is None:
            return kid
        # All that wait for one id are taken together, so the first tells for the others.
        first = self._index.first(oid)
        if first is None or self._taken[first]:
            return kid
        for position in reversed(list(self._index.find(oid))):
            self._taken[position] = 1
            reference = self._references[position]
            self.following[reference] = kid
            kid = reference
        return kid

    def _heaviest_last(self, head: int) -> int:
        # While the others are served their base must be kept. For the last one it need not be, so
        # no more objects wait on a path than the logarithm of all deltas.
        following = self.following
        if head == NO_ENTRY or following[head] == NO_ENTRY:
            return head
        kid = last = following[head]
        while following[last] != NO_ENTRY:
            last = following[last]
        following[last] = head
        following[head] = NO_ENTRY
        return kid

    def take(self, number: int) -> None:
        """Say that another process has rebuilt the reference delta ``number``."""
        self._taken[bisect_left(self._references, number)] = 1

    def is_taken(self, number: int) -> bool:
        """Whether the reference delta ``number`` was given out, whatever became of it."""
        return bool(self._taken[bisect_left(self._references, number)])

    def below(self, numbers: list[int]) -> Iterator[int]:
        """These entries and all offset deltas that rest on them, however deep."""
        todo = list(reversed(numbers))
        while todo:
            number = todo.pop()
            yield number
            kid = self._first[number]
            while kid != NO_ENTRY:
                todo.append(kid)
                kid = self.following[kid]

    def still_waiting(self) -> dict[bytes, list[int]]:
        """Base ids that never came up, each with the reference deltas that wait for it."""
        bases: dict[bytes, list[int]] = {}
        for position, number in enumerate(self._references):
            if not self._taken[position]:
                bases.setdefault(self._table.base_id(number), []).append(number)
        return bases
