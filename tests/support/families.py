"""Families of deltas in any order and shape, and what the resolver does with them, counted."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

import pytest

from packparse.codes import Code
from packparse.delta import rebuild
from packparse.findings import Finding
from packparse.options import Options
from packparse.reader import EntryReader
from packparse.report import Report
from packparse.resolve import CACHE_BUDGET
from packparse.table import IdIndex
from packparse.verify import Verifier
from tests.support import packs
from tests.support.packs import Handle, PackBuilder, copy, delta, insert

ReadAt = Callable[[int, int], bytes]

K = 1 << 10
M = 1 << 20
TEXT = b"some text that deltas are made against, " * 30
N = len(TEXT)
BUDGETS = (0, 1, 4 * K, CACHE_BUDGET)


def verified(
    pack: bytes, options: Options | None = None, read_at: ReadAt | None = None
) -> Verifier:
    """Return a verifier that is through with the pack; `read_at` serves its second look."""
    verifier = Verifier(options or Options(), length=len(pack))
    verifier.feed(pack)
    verifier.finish(read_at or (lambda offset, length: pack[offset : offset + length]))
    return verifier


def errors(report: Report) -> list[tuple[Code, int | None]]:
    found = report.findings.sorted()
    return [(f.code, f.offset) for f in found if f.severity == "error"]


def only_error(report: Report) -> Finding:
    found = [f for f in report.findings.sorted() if f.severity == "error"]
    assert len(found) == 1
    return found[0]


def numbers(message: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", message)]


def ids(handles: Iterable[Handle]) -> list[bytes]:
    return sorted(handle.oid for handle in handles)


def label(number: int, size: int = N) -> tuple[bytes, bytes]:
    """Return (delta, content): a text whose first bytes are a number, made from any such text."""
    mark = b"%012d" % number
    body = (TEXT * (size // N + 1))[12:size]
    return delta(size, size, insert(mark), copy(12, size - 12)), mark + body


class Family:
    """Numbered texts that rest on each other, written in any order and with any kind of delta."""

    def __init__(self, parents: list[int], size: int = N, fmt: str = "sha1") -> None:
        self.size = size
        self.parents = parents
        self.pack = PackBuilder(fmt)
        self.wanted = [packs.outside("blob", label(n, size)[1], fmt) for n in range(len(parents))]
        self.written: dict[int, Handle] = {}

    def write(self, number: int, *, by_id: bool = False) -> Handle:
        """Append a member; its parent by offset if it may be, else by id. The first is whole."""
        change, content = label(number, self.size)
        parent = self.parents[number]
        if number == 0:
            handle = self.pack.add("blob", content)
        elif by_id or parent not in self.written:
            handle = self.pack.add_ref(self.wanted[parent], change, content)
        else:
            handle = self.pack.add_ofs(self.written[parent], change, content)
        self.written[number] = handle
        return handle

    def write_all(self, *, by_id: bool = False, backwards: bool = False) -> bytes:
        numbers = range(len(self.parents))
        for number in reversed(numbers) if backwards else numbers:
            self.write(number, by_id=by_id)
        return self.pack.build()


def line(depth: int) -> list[int]:
    """Parents of a chain: each member rests on the one before."""
    return [0, *range(depth)]


def star(width: int) -> list[int]:
    return [0] * (width + 1)


def caterpillar(depth: int) -> list[int]:
    """Parents of a chain whose every link carries a leaf that is served after the rest."""
    parents = [0]
    spine = 0
    for _ in range(depth):
        parents += [spine, spine]
        spine = len(parents) - 2
    return parents


def binary(levels: int) -> list[int]:
    return [0, *((n - 1) // 2 for n in range(1, 2**levels - 1))]


def tangled(count: int, seed: int) -> Family:
    """A random family in a random order with random kinds of deltas."""
    rng = random.Random(seed)
    family = Family([0, *(rng.randrange(max(0, n - 9), n) for n in range(1, count))], 200)
    for number in rng.sample(range(count), count):
        family.write(number, by_id=rng.random() < 0.5)
    return family


class Work:
    """Counts what the resolver does: deltas run, entries read again, ids looked up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rebuilt = 0
        self.read: list[int] = []
        self.found = 0
        plain_read, plain_find = EntryReader.read, IdIndex.find

        def count_rebuild(
            delta_bytes: bytes, start: int, base: bytes, size: int
        ) -> tuple[bytes | bytearray, int]:
            self.rebuilt += 1
            return rebuild(delta_bytes, start, base, size)

        def count_read(reader: EntryReader, number: int) -> bytes | bytearray:
            self.read.append(number)
            return plain_read(reader, number)

        def count_find(index: IdIndex, oid: bytes) -> object:
            self.found += 1
            return plain_find(index, oid)

        monkeypatch.setattr("packparse.resolve.rebuild", count_rebuild)
        monkeypatch.setattr(EntryReader, "read", count_read)
        monkeypatch.setattr(IdIndex, "find", count_find)
