"""What hostile files may cost: peak memory and time of the whole command, read by its parent.

A file that a limit or its first bytes refuse stays below 128 MiB. One that stays just within the
limits of ``candidate`` stays below 256 MiB, whatever it claims. (Design, sections 6 and 7.)
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import packs
from tests.support.bundles import Text, bundle
from tests.support.packs import MAX_COPY, PackBuilder, copy, delta, insert

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
# Generous: each ends within a few seconds on an idle machine.
TIMEOUT = 30.0
CHEAP = 128
DEAR = 256
OID = b"a" * 40


@dataclass(frozen=True)
class Cost:
    """How a run of the command ended."""

    status: int
    output: str
    peak_mib: float
    cpu: float  # in seconds


def spend(folder: Path, file: Path, *options: str, timeout: float = TIMEOUT) -> Cost:
    """Run ``packcheck verify`` beneath a small interpreter that reads its peak memory."""
    # Coverage in the child would be counted as memory and time of the command.
    env = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    env["PYTHONPATH"] = str(ROOT)
    stdout, stderr = folder / "stdout", folder / "stderr"
    measure = str(ROOT / "bench" / "measure.py")
    helper = [sys.executable, "-I", "-S", measure, str(stdout), str(stderr)]
    command = [sys.executable, "-m", "packparse", "verify", *options, str(file)]
    # A group of its own, so that a run that takes too long is ended with its child.
    with subprocess.Popen(
        [*helper, *command], env=env, stdout=subprocess.PIPE, text=True, process_group=0
    ) as child:
        try:
            line, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            raise
    assert child.returncode == 0
    assert stderr.read_text("utf-8") == ""
    _, user, system, peak, status = line.split()
    cpu = float(user) + float(system)
    return Cost(int(status), stdout.read_text("ascii"), int(peak) / 1024, cpu)


# --- hostile files ------------------------------------------------------------------------------


def one(kind: str, content: bytes) -> bytes:
    """A pack of one object."""
    pack = PackBuilder()
    # Level 1 is five times as quick and its packs are small enough.
    pack.add(kind, content, level=1)
    return pack.build()


@functools.cache
def blob_bomb(size: int) -> bytes:
    pack = PackBuilder()
    pack.add("blob", b"", declared_size=size, deflate=packs.bomb(size))
    return pack.build()


@functools.cache
def many_bombs() -> bytes:
    pack = PackBuilder()
    for number in range(200):
        pack.add("blob", b"%04d" % number + bytes(MIB), level=1)
    return pack.build()


def filled(head: bytes, fill: bytes, size: int) -> bytes:
    return head + fill * ((size - len(head)) // len(fill))


def copies(start: int, end: int) -> list[bytes]:
    """Instructions that copy these bytes of the base."""
    return [copy(at, min(MAX_COPY, end - at)) for at in range(start, end, MAX_COPY)]


def rebuilt(kind: str, base: bytes, kids: int) -> bytes:
    """A large object and deltas on it that copy all of it and add four bytes."""
    pack = PackBuilder()
    handle = pack.add(kind, base, level=1)
    size = len(base)
    for number in range(kids):
        pack.add_ofs(
            handle,
            delta(size, size + 4, *copies(0, size), insert(b"%04d" % number)),
            b"",
            kind=kind,
        )
    return pack.build()


def comb(size: int, depth: int) -> bytes:
    """A chain of large deltas, each with another delta on it that comes up on the way back."""
    pack = PackBuilder()
    chain = [pack.add("blob", b"x" * size, level=1)]

    def step(number: int) -> bytes:
        return delta(size, size, insert(b"%08d" % number), *copies(8, size))

    for number in range(depth):
        chain.append(pack.add_ofs(chain[-1], step(number), b""))
    for number in range(depth):
        pack.add_ofs(chain[number], step(1000 + number), b"")
    return pack.build()


def straight(size: int, depth: int) -> bytes:
    pack = PackBuilder()
    handle = pack.add("blob", b"x" * size, level=1)
    for number in range(depth):
        ops = delta(size, size, insert(b"%08d" % number), *copies(8, size))
        handle = pack.add_ofs(handle, ops, b"")
    return pack.build()


def long_line() -> bytes:
    return b"# v2 git bundle\n" + OID + b" refs/heads/" + b"x" * (50 * MIB) + b"\n\nPACK"


def endless_refs() -> bytes:
    refs: list[tuple[Text, Text] | bytes] = [(OID, f"refs/heads/{n}") for n in range(100_000)]
    return bundle(b"", refs)


@dataclass(frozen=True)
class Bomb:
    """A file, how it is verified, and what must come of it."""

    make: Callable[[], bytes]
    status: int
    code: str
    most: int
    options: tuple[str, ...] = ()


HISTORY = ("--limits", "history")
MANY = functools.partial(packs.many_objects_header, 0xFFFF_FFFF)
MOST_OBJECTS = 0xFFFF_FFF0  # the largest value of the limit
TREE_ENTRY = b"100644 a\0" + bytes(range(20))
PARENT = b"parent " + OID + b"\n"
NEAR = 99 * MIB  # just under object_bytes
NEAR_DELTA = 63 * MIB  # just under rebuilt_object_bytes

BOMBS = {
    "a claim of 4,294,967,295 objects": Bomb(MANY, 4, "tooManyObjects", CHEAP),
    "the same claim against the limits of history": Bomb(MANY, 4, "tooManyObjects", CHEAP, HISTORY),
    "as many objects as the limit can be raised to": Bomb(
        lambda: packs.many_objects_header(MOST_OBJECTS),
        1,
        "implausibleObjectCount",
        CHEAP,
        ("--limit", f"objects={MOST_OBJECTS}"),
    ),
    "a delta bomb of 512 MiB": Bomb(
        lambda: packs.delta_bomb(512 * MIB), 4, "rebuiltObjectTooLarge", CHEAP
    ),
    "a blob bomb of 400 MiB": Bomb(lambda: blob_bomb(400 * MIB), 4, "objectTooLarge", CHEAP),
    "a blob bomb of 400 MiB within the limits of history": Bomb(
        lambda: blob_bomb(400 * MIB), 0, "accepted", CHEAP, HISTORY
    ),
    "a blob just under the limit": Bomb(lambda: blob_bomb(NEAR), 0, "accepted", CHEAP),
    "many small bombs": Bomb(many_bombs, 0, "accepted, 200 objects", CHEAP),
    "many small bombs over a limit on all": Bomb(
        many_bombs, 4, "inflatedTooMuch", CHEAP, ("--limit", "inflated_bytes=150M")
    ),
    "a header line of 50 MB": Bomb(long_line, 4, "bundleLineTooLong", CHEAP),
    "a header line of 50 MB against the limits of history": Bomb(
        long_line, 4, "bundleLineTooLong", CHEAP, HISTORY
    ),
    "a header of 100,000 refs": Bomb(endless_refs, 4, "tooManyRefs", CHEAP),
    "a header of 100,000 refs and no pack": Bomb(
        endless_refs, 1, "bundleMissingPack", CHEAP, HISTORY
    ),
    "a tree of 3,500,000 entries": Bomb(
        lambda: one("tree", filled(b"", TREE_ENTRY, NEAR)), 4, "tooManyTreeEntries", DEAR
    ),
    "a tree that is one name": Bomb(
        lambda: one("tree", filled(b"100644 ", b"x", NEAR)), 1, "badTree", DEAR
    ),
    "a commit of 2,000,000 parents": Bomb(
        lambda: one("commit", filled(b"tree " + OID + b"\n", PARENT, NEAR)),
        4,
        "tooManyParents",
        DEAR,
    ),
    "a commit of 2,000,000 parents and a bad one": Bomb(
        lambda: one("commit", filled(b"tree " + OID + b"\n", PARENT, NEAR) + b"parent x\n"),
        1,
        "badParentSha1",
        DEAR,
    ),
    "a commit with a message of 99 MiB": Bomb(
        lambda: one("commit", filled(b"tree " + OID + b"\n\n", b"x", NEAR)),
        4,
        "messageTooLong",
        DEAR,
    ),
    "a tag whose type is 99 MiB long": Bomb(
        lambda: one("tag", filled(b"object " + OID + b"\ntype ", b"x", NEAR) + b"\n"),
        1,
        "badType",
        DEAR,
    ),
    "a tag whose object is 99 MiB long": Bomb(
        lambda: one("tag", filled(b"object ", b"a", NEAR) + b"\n"), 1, "badObjectSha1", DEAR
    ),
    "blobs rebuilt just under the limit": Bomb(
        lambda: rebuilt("blob", b"x" * NEAR_DELTA, 4), 0, "accepted, 5 objects", DEAR
    ),
    "trees rebuilt just under the limit": Bomb(
        lambda: rebuilt("tree", filled(b"100644 ", b"x", NEAR_DELTA), 2), 1, "badTree", DEAR
    ),
    "tags rebuilt just under the limit": Bomb(
        lambda: rebuilt("tag", filled(b"object " + OID + b"\ntype ", b"x", NEAR_DELTA), 2),
        1,
        "missingType",
        DEAR,
    ),
    "commits rebuilt just under the limit": Bomb(
        lambda: rebuilt("commit", filled(b"tree " + OID + b"\n", PARENT, NEAR_DELTA), 2),
        4,
        "tooManyParents",
        DEAR,
    ),
    "a comb of chains just under the limit": Bomb(
        lambda: comb(NEAR_DELTA, 4), 0, "8 of them as deltas, 4 deep", DEAR
    ),
    "a chain that rebuilds too much": Bomb(
        lambda: straight(NEAR_DELTA, 10),
        4,
        "rebuiltTooMuch",
        DEAR,
        ("--limit", "rebuilt_bytes=500M"),
    ),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_stays_within_its_bounds(tmp_path: Path, bomb: Bomb) -> None:
    file = tmp_path / "x.pack"
    file.write_bytes(bomb.make())
    cost = spend(tmp_path, file, *bomb.options)
    assert cost.status == bomb.status, cost.output
    assert bomb.code in cost.output
    assert cost.peak_mib <= bomb.most


def test_the_delta_bomb_is_as_small_as_it_should_be() -> None:
    assert len(packs.delta_bomb(512 * MIB)) <= 1_100


def test_a_delta_bomb_within_the_limits_of_history_costs_what_is_promised(tmp_path: Path) -> None:
    # Interpreter, cache budget, three times the largest object: the promise of design, section 5.
    file = tmp_path / "x.pack"
    file.write_bytes(packs.delta_bomb(256 * MIB))
    cost = spend(tmp_path, file, *HISTORY)
    assert (cost.status, "accepted, " in cost.output) == (0, True)
    assert cost.peak_mib <= 32 + 32 + 3 * 256
    # A limit that is raised is obeyed to the byte as well.
    raised = spend(tmp_path, file, "--limit", f"rebuilt_object_bytes={256 * MIB - 1}")
    assert raised.status == 4
    assert f"the limit is {256 * MIB - 1}" in raised.output


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [((), 4, "packTooLarge"), (HISTORY, 1, "badSignature")],
    ids=["candidate", "history"],
)
def test_a_sparse_file_of_10_gib_is_not_read(
    tmp_path: Path, options: tuple[str, ...], status: int, code: str
) -> None:
    file = tmp_path / "x.pack"
    with file.open("wb") as stream:
        stream.truncate(10 << 30)
    try:
        cost = spend(tmp_path, file, *options, timeout=10)
    finally:
        file.unlink()
    assert (cost.status, code in cost.output) == (status, True)
    assert cost.peak_mib <= CHEAP


# --- memory: what an object costs ----------------------------------------------------------------


def sealed(count: int, entries: list[bytes]) -> bytes:
    """A pack of entries that are written already, which is quicker than a builder."""
    head = b"PACK" + (2).to_bytes(4) + count.to_bytes(4)
    content = head + b"".join(entries)
    return content + hashlib.sha1(content).digest()


def blob_entry(data: bytes) -> bytes:
    return packs.varint_size(3, len(data)) + zlib.compress(data, 0)


def test_200_000_small_blobs_take_little_memory(tmp_path: Path) -> None:
    # 64 bytes an object, and an interpreter: an object must not cost a Python object.
    count = 200_000
    file = tmp_path / "x.pack"
    file.write_bytes(sealed(count, [blob_entry(b"%07d" % number) for number in range(count)]))
    cost = spend(tmp_path, file, *HISTORY)
    assert cost.status == 0
    assert f"accepted, {count} objects" in cost.output
    assert cost.peak_mib <= 64


# --- time: nothing grows with the square of the input -------------------------------------------


def copies_of_a_base() -> bytes:
    """One blob 100,000 times, and as many deltas that wait for its id."""
    count = 100_000
    base = packs.outside("blob", b"same")
    entries = [blob_entry(base.data)] * count
    for number in range(count):
        change = delta(4, 6, insert(b"%06d" % number))
        head = packs.varint_size(packs.REF_DELTA, len(change)) + base.oid
        entries.append(head + zlib.compress(change, 0))
    return sealed(2 * count, entries)


def reversed_references() -> bytes:
    """A chain of 60,000 deltas by id, each base later in the file than what rests on it."""
    count = 60_000
    entries = []
    base = packs.outside("blob", b"%06d" % 0)
    entries.append(blob_entry(base.data))
    for number in range(1, count + 1):
        made = packs.outside("blob", b"%06d" % number)
        change = delta(6, 6, insert(made.data))
        head = packs.varint_size(packs.REF_DELTA, len(change)) + base.oid
        entries.append(head + zlib.compress(change, 0))
        base = made
    return sealed(count + 1, entries[::-1])


def links_and_prerequisites() -> bytes:
    """As many prerequisites as links that leave the file."""
    count = 200_000
    ids = [number.to_bytes(20) for number in range(1, 2 * count + 1)]
    pack = PackBuilder()
    folders = []
    for first in range(0, count, 50_000):
        names = enumerate(ids[first : first + 50_000])
        listed = b"".join(b"100644 %06d\0" % number + oid for number, oid in names)
        folders.append((b"40000", b"%06d" % first, pack.add("tree", listed).oid))
    tree = pack.add("tree", packs.tree_bytes(folders))
    commit = pack.add("commit", packs.commit_bytes(tree.oid, [ids[count]]))
    gone = [oid.hex() for oid in ids[count:]]
    return bundle(pack.build(), [(commit.hex, "refs/heads/main")], gone)


SQUARES = {
    "copies of one base": Bomb(copies_of_a_base, 1, "duplicateObject", CHEAP, HISTORY),
    "a chain in reverse": Bomb(
        reversed_references, 0, "60000 deep", CHEAP, (*HISTORY, "--limit", "delta_depth=60k")
    ),
    "links times prerequisites": Bomb(links_and_prerequisites, 0, "uncheckedLinks", CHEAP, HISTORY),
}


@pytest.mark.parametrize("bomb", SQUARES.values(), ids=SQUARES)
def test_the_time_does_not_grow_with_the_square(tmp_path: Path, bomb: Bomb) -> None:
    # Linear work takes seconds on any machine, quadratic work takes minutes on every one.
    file = tmp_path / "x.pack"
    file.write_bytes(bomb.make())
    cost = spend(tmp_path, file, *bomb.options, timeout=60)
    assert (cost.status, bomb.code in cost.output) == (bomb.status, True)
    assert cost.peak_mib <= bomb.most
