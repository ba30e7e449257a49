"""What the small benchmarks work on: texts, trees and commits as in a usual history, and a range.

Everything is made from a fixed seed, and small: among the tests each benchmark runs once.
"""

from __future__ import annotations

import random

from tests.support import packs
from tests.support.candidates import Candidate, Folder, on_top
from tests.support.packs import PackBuilder

WORDS = b"pack index delta base copy insert offset window chain object tree blob commit".split()


def line(rng: random.Random) -> bytes:
    return b" ".join(rng.choices(WORDS, k=8)) + b" %08x\n" % rng.getrandbits(32)


def texts(number: int, lines: int) -> list[bytes]:
    rng = random.Random(number)
    return [b"".join(line(rng) for _ in range(lines)) for _ in range(number)]


def trees(number: int, entries: int) -> list[bytes]:
    """Versions of one tree: the names stay, one id changes each time."""
    rng = random.Random(entries)
    listed = [[b"100644", b"file-%04d.txt" % i, rng.randbytes(20)] for i in range(entries)]
    listed += [[b"40000", b"folder-%02d" % i, rng.randbytes(20)] for i in range(entries // 10)]
    made = []
    for _ in range(number):
        rng.choice(listed)[2] = rng.randbytes(20)
        made.append(packs.tree_bytes((mode, name, oid) for mode, name, oid in listed))
    return made


def unlike_trees(number: int, entries: int) -> list[bytes]:
    """Trees that have no name in common, so that none is judged by what is remembered."""
    rng = random.Random(number)
    return [
        packs.tree_bytes(
            (b"100644", b"part-%d-%04d.txt" % (which, i), rng.randbytes(20)) for i in range(entries)
        )
        for which in range(number)
    ]


def commits(number: int) -> list[bytes]:
    rng = random.Random(number)
    return [
        packs.commit_bytes(rng.randbytes(20), [rng.randbytes(20)], message=line(rng) * 3)
        for _ in range(number)
    ]


def deltas(number: int) -> list[tuple[bytes, bytes]]:
    """Base and delta, each with six places of a text edited."""
    rng = random.Random(number)
    made = []
    for base in texts(number, 120):
        cuts = sorted(rng.sample(range(len(base) - 40), 6))
        parts, start = [], 0
        for cut in cuts:
            parts += [packs.copy(start, cut - start), packs.insert(line(rng)[:40])]
            start = cut
        parts.append(packs.copy(start, len(base) - start))
        made.append((base, packs.delta(len(base), len(base) + 240, *parts)))
    return made


def pack_of_chains(chains: int, depth: int) -> bytes:
    """A pack of texts, each with a chain of small edits upon it."""
    rng = random.Random(depth)
    pack = PackBuilder()
    for text in texts(chains, 100):
        last = pack.add("blob", text)
        for _ in range(depth):
            at = rng.randrange(len(last.data) - 40)
            last = pack.add_ofs(last, packs.edit(last.data, at, 40, line(rng))[0])
    return pack.build()


def candidate(number: int) -> Candidate:
    """So many commits upon a base, each with one file of a folder changed."""
    names = [b"file-%02d" % i for i in range(40)]
    rng = random.Random(number)
    files = {name: line(rng) for name in names}
    versions: list[Folder] = []
    for _ in range(number + 1):
        files = files | {rng.choice(names): line(rng)}
        versions.append({b"src": {b"inner": dict(files)}, b"README": b"as before\n"})
    return on_top(*versions)
