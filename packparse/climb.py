"""How deep the folders lie that name given blobs: near the root a link that goes up leaves a tree.

In a candidate's pack all folders are gone through once, from the roots down. For the objects of a
large history there is no room to look up every link; there, going upwards from the folders in
question, as many levels as the links climb, is one pass over the packed links a level.
"""

from __future__ import annotations

from packparse.entry import BLOB, TREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from packparse.pack import Pack

__all__ = ["least_depths"]

# With more objects than this a look-up by id would take too much memory.
_FEW = 1 << 18
# Going up from few trees takes a pass over the links for each folder; from so many on, going down
# from the roots is quicker.
_HIGH = 6


def least_depths(
    pack: Pack, climbs: Mapping[bytes, int], most: int
) -> Iterator[tuple[int, bytes, int]]:
    """Yield (entry of a tree, blob that it names, folders between a root and that tree at least).

    ``climbs`` maps the blobs asked for to a depth that is of interest: trees that nowhere lie less
    deep than the greatest of them are left out. A tree that nothing in the pack names counts as a
    root, and so does what lies ``most`` folders above: no tree may be deeper.
    """
    table = pack.table
    holders = list(pack.links.columns[BLOB].links_to(set(climbs)))
    if not holders:
        return
    levels = max(climbs.values())
    if len(table) <= _FEW and levels >= min(_HIGH, most):
        least = _from_roots(pack)
    else:
        trees = {number for number, _blob in holders}
        least = _Depths(pack, trees, levels, most).least
    for number, blob in holders:
        if table.kinds[number] == TREE and number in least:
            yield number, blob, least[number]


def _from_roots(pack: Pack) -> dict[int, int]:
    """The least depth of every tree by entry number, going down from all roots at once."""
    table, numbers = pack.table, pack.numbers()
    below = {
        number: [numbers[oid] for oid in targets if oid in numbers]
        for number in range(len(table))
        if (targets := pack.targets(TREE, number))
    }
    named: set[int] = set()
    level: list[int] = []
    for number, children in below.items():
        if table.kinds[number] == TREE:
            named.update(children)
        else:
            level += children
    level += (n for n, kind in enumerate(table.kinds) if kind == TREE and n not in named)
    least: dict[int, int] = {}
    depth = 0
    while level:
        level = [number for number in dict.fromkeys(level) if number not in least]
        least.update(dict.fromkeys(level, depth))
        level = [child for number in level for child in below.get(number, ())]
        depth += 1
    return least


class _Depths:
    """The least depth of trees, going ``levels`` upwards: ``least`` by entry number."""

    def __init__(self, pack: Pack, trees: set[int], levels: int, most: int) -> None:
        self.least: dict[int, int] = {}
        self._pack = pack
        self._below: dict[int, list[int]] = {}
        frontier = {pack.table.oid(number): number for number in trees}
        seen = set(frontier)
        for _ in range(min(levels, most)):
            if not frontier:
                break
            above = self._parents(frontier)
            frontier = {oid: number for oid, number in above.items() if oid not in seen}
            seen.update(frontier)
        if levels > most:
            self.least.update(dict.fromkeys(frontier.values(), 0))
        self._descend()

    def _parents(self, frontier: dict[bytes, int]) -> dict[bytes, int]:
        """The trees that name those of ``frontier``; those that no tree names are roots."""
        table = self._pack.table
        above: dict[bytes, int] = {}
        unnamed = set(frontier)
        for source, oid in self._pack.links.columns[TREE].links_to(set(frontier)):
            unnamed.discard(oid)
            if table.kinds[source] == TREE:
                above[table.oid(source)] = source
                self._below.setdefault(source, []).append(frontier[oid])
            else:
                self.least[frontier[oid]] = 0
        for oid in unnamed:
            self.least[frontier[oid]] = 0
        return above

    def _descend(self) -> None:
        level = list(self.least)
        depth = 0
        while level:
            depth += 1
            following = []
            for number in level:
                for child in self._below.get(number, ()):
                    if child not in self.least:
                        self.least[child] = depth
                        following.append(child)
            level = following
