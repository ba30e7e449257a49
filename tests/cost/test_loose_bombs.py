"""What hostile folders of loose objects may cost, as test_bombs.py says it of files."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from packparse import codes
from tests.cost.test_bombs import spend
from tests.support import packs
from tests.support.loose import Loose, loose, whole, write

MIB = 1 << 20
BLOB = loose("blob", b"an object\n")


def test_a_bomb_is_refused_by_what_it_declares(tmp_path: Path) -> None:
    # PI4: what would be 512 MiB, in a file of 1 KiB.
    size = 512 * MIB
    stream = zlib.compressobj(9)
    file = stream.compress(b"blob %d\0" % size + bytes(MIB))
    item = Loose(packs.oid("blob", b""), (file + stream.flush())[:1024])
    path = write(tmp_path / "objects", [item])
    cost = spend(tmp_path, path, timeout=5)
    assert cost.status == codes.LIMIT
    assert "objectTooLarge" in cost.output
    assert cost.peak_mib < 64


HOSTILE: dict[str, Callable[[], list[Loose]]] = {
    "a bomb that declares little": lambda: [
        Loose(BLOB.oid, zlib.compress(b"blob 10\0" + bytes(64 * MIB), 9))
    ],
    "a bomb without a header": lambda: [Loose(BLOB.oid, zlib.compress(b"b" * (64 * MIB), 9))],
    "bombs up to the limit on one object": lambda: [
        loose("blob", b"%02d" % n + bytes(99 * MIB), level=1) for n in range(3)
    ],
    "damage after 16 KiB, in many files": lambda: [
        Loose(packs.oid("blob", b"%d" % n), _damaged_late(n)) for n in range(300)
    ],
    "trees of as many bytes as there may be": lambda: [
        loose("tree", b"100644 " + b"a" * (99 * MIB), level=1),
        Loose(packs.oid("tree", b"1"), packs.bad_adler(whole("tree", b"b" * (99 * MIB)))),
    ],
}


def _damaged_late(seed: int) -> bytes:
    noise = random.Random(seed).randbytes(16_000)
    file = bytearray(zlib.compress(whole("blob", noise), 0))
    file[-1] ^= 1
    return bytes(file)


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_folders_are_cheap(tmp_path: Path, make: Callable[[], list[Loose]]) -> None:
    cost = spend(tmp_path, write(tmp_path / "objects", make()), timeout=20)
    assert cost.status in (0, codes.CORRUPT)
    assert cost.peak_mib < 256
