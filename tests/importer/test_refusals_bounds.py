"""Rows A7 to A11: what is large, or says that it is, costs nothing; what is damaged is refused."""

from __future__ import annotations

import os
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from importer.errors import ImportRefused
from importer.launches import show
from importer.steps import import_candidate
from manifest.launch import PolicyText
from manifest.receipt import FINDINGS
from packparse.escape import quote
from tests.support import packs
from tests.support.candidates import Folder, link
from tests.support.gate import CORRUPT, FOLDER, LIMIT, POLICY, Gate, Offer, made_gate
from tests.support.manifests import Document
from tests.support.packs import PackBuilder, delta_varint

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# Nobody reads this in the time that is allowed, nor holds it.
HUGE = 64 * GIB
SECONDS = 10


@contextmanager
def costing(*, memory: int, read: int = 16 * MIB) -> Iterator[None]:
    """What happens inside of the block allocates and reads at most so many bytes, and is quick."""
    began = time.monotonic()
    before = _read_so_far()
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < memory, peak
    assert _read_so_far() - before < read
    assert time.monotonic() - began < SECONDS


def _read_so_far() -> int:
    """Bytes that this process has read, and those of it that have ended."""
    for line in Path("/proc/self/io").read_text().splitlines():
        name, _, value = line.partition(": ")
        if name == "rchar":
            return int(value)
    pytest.fail("the kernel does not count what is read")


def _claim(bytes_claimed: int) -> Callable[[Document], None]:
    def forge(document: Document) -> None:
        artifact = document["artifact"]
        assert isinstance(artifact, dict)
        artifact["bytes"] = bytes_claimed

    return forge


# --- A7: the size comes before the first read ---------------------------------------------------

SPARSE: dict[str, tuple[int, int | None, tuple[str, int, int]]] = {
    "A7 an artifact of 64 GiB, and a manifest that says nothing of it": (
        HUGE, None, ("artifactSizeMismatch", POLICY, 4),
    ),
    "A7 an artifact of 64 GiB, and a manifest that claims as many": (
        HUGE, HUGE, ("claimTooLarge", LIMIT, 3),
    ),
    "A7 an artifact of a byte more than the limit": (
        256 * MIB + 1, 256 * MIB + 1, ("claimTooLarge", LIMIT, 3),
    ),
    "A7 an artifact of 64 GiB that claims to be as long as the limit": (
        HUGE, 256 * MIB, ("artifactSizeMismatch", POLICY, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARSE)
def test_a7_an_artifact_that_is_too_large_is_refused_before_it_is_read(
    name: str, gate: Gate
) -> None:
    size, claimed, expected = SPARSE[name]
    scene = gate.launch()
    offer = gate.honest()
    gate.put(scene, offer, None if claimed is None else _claim(claimed))
    os.truncate(scene.export / scene.record.artifact, size)
    with costing(memory=8 * MIB):
        gate.refuse(scene, *expected)


@pytest.mark.parametrize("size", [(4 << 20) + 1, HUGE], ids=["a byte more", "64 GiB"])
def test_a7_a_manifest_that_is_too_large_is_refused_before_it_is_read(
    size: int, gate: Gate
) -> None:
    scene = gate.launch()
    gate.put(scene, gate.honest())
    os.truncate(scene.export / "manifest.json", size)
    with costing(memory=8 * MIB):
        gate.refuse(scene, "manifestTooLarge", LIMIT, 2)


def test_a7_a_manifest_of_the_largest_size_is_read_and_refused_for_what_it_is(
    gate: Gate,
) -> None:
    scene = gate.launch()
    gate.put(scene, gate.honest())
    os.truncate(scene.export / "manifest.json", 4 << 20)
    with costing(memory=24 * MIB):
        gate.refuse(scene, "recordInvalid", CORRUPT, 2)


def test_a7_the_limit_of_the_launch_is_the_one_that_counts(gate: Gate) -> None:
    offer = gate.honest()
    length = len(offer.bundle)
    scene = gate.launch(limits={"pack_bytes": length - 1})
    gate.put(scene, offer)
    gate.refuse(scene, "claimTooLarge", LIMIT, 3)
    scene = gate.launch(limits={"pack_bytes": length})
    gate.put(scene, offer)
    assert gate.accept(scene).receipt.artifact.bytes == length


# --- A8 and A9: numbers that the pack claims ----------------------------------------------------


def _counted(count: int) -> Callable[[Gate], Offer]:
    return lambda gate: gate.odd(count=count)


def _entry(add: Callable[[PackBuilder], object]) -> Callable[[Gate], Offer]:
    return lambda gate: gate.odd(add)


def _declaring(size: int) -> Callable[[PackBuilder], object]:
    return lambda pack: pack.add("blob", b"x", declared_size=size)


def _delta_of(size: int) -> Callable[[PackBuilder], object]:
    """A delta of ten bytes that says that it makes ``size`` of them."""

    def add(pack: PackBuilder) -> object:
        base = pack.add("blob", b"base of a delta\n")
        ops = delta_varint(len(base.data)) + delta_varint(size) + packs.copy(0, 4)
        return pack.add_ofs(base, ops)

    return add


Claims = dict[str, tuple[Callable[[Gate], Offer], dict[str, int], tuple[str, int, int]]]
MANY = ("tooManyObjects", LIMIT, 6)
CLAIMS: Claims = {
    "A8 a count of 0xffffffff": (_counted(0xFFFFFFFF), {}, MANY),
    "A8 a count of 200,000,000": (_counted(200_000_000), {}, MANY),
    "A8 a count of one more than the limit": (_counted(100_001), {}, MANY),
    "A8 a count that the limit allows and the file cannot hold": (
        _counted(0xFFFFFFF0), {"objects": 0xFFFFFFF0}, ("implausibleObjectCount", CORRUPT, 6),
    ),
    "A8 a count of one more than there are": (
        _counted(4), {}, ("objectCountMismatch", CORRUPT, 6),
    ),
    "A8 a count of one less than there are": (
        _counted(2), {}, ("objectCountMismatch", CORRUPT, 6),
    ),
    "A9 an object that says 4 GiB": (
        _entry(_declaring(4 * GIB)), {}, ("objectTooLarge", LIMIT, 6),
    ),
    "A9 an object of a byte more than the limit": (
        _entry(_declaring(100 * MIB + 1)), {}, ("objectTooLarge", LIMIT, 6),
    ),
    "A9 an object that inflates to 64 MiB and says one byte": (
        _entry(lambda pack: pack.add("blob", b"x", deflate=packs.bomb(64 * MIB))), {},
        ("inflatedSizeMismatch", CORRUPT, 6),
    ),
    "A9 objects that inflate to more than the limit": (
        _entry(lambda pack: pack.add("blob", bytes(MIB))), {"inflated_bytes": MIB},
        ("inflatedTooMuch", LIMIT, 6),
    ),
    "A9 a delta that says 4 GiB": (
        _entry(_delta_of(4 * GIB)), {}, ("rebuiltObjectTooLarge", LIMIT, 6),
    ),
    "A9 a delta of a byte more than the limit": (
        _entry(_delta_of(64 * MIB + 1)), {}, ("rebuiltObjectTooLarge", LIMIT, 6),
    ),
    "A9 a delta that makes less than it says": (
        _entry(_delta_of(5)), {}, ("deltaResultSizeMismatch", CORRUPT, 6),
    ),
    "A9 a size that no number holds": (
        lambda gate: gate.odd(lambda pack: pack.raw(b"\xbf" + b"\xff" * 12), count=4), {},
        ("varintOverflow", CORRUPT, 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a8_a9_a_pack_that_claims_much_is_refused_for_the_claim(name: str, gate: Gate) -> None:
    make, limits, expected = CLAIMS[name]
    scene = gate.launch(limits=limits)
    offer = make(gate)
    # The manifest says what is there: the lie is the pack's alone.
    gate.put(scene, offer, lambda document: _count(document, 3))
    with costing(memory=8 * MIB):
        gate.refuse(scene, *expected)


def _count(document: Document, objects: int) -> None:
    artifact = document["artifact"]
    assert isinstance(artifact, dict)
    artifact["objects"] = objects


def test_a8_a9_numbers_that_are_the_limit_are_no_reason_to_refuse(gate: Gate) -> None:
    content = bytes(4 * KIB)
    candidate = gate.upon({**FOLDER, b"large": content + gate.fresh()})
    largest = max(len(data) for _kind, data in candidate.new.objects.values())
    scene = gate.launch(limits={"objects": 3, "object_bytes": largest})
    gate.put(scene, gate.offered(candidate))
    assert gate.accept(scene).receipt.objects.count == 3


def test_a19_commits_are_counted_whatever_the_manifest_lists(gate: Gate) -> None:
    trees = [{**FOLDER, b"new": gate.fresh()} for _ in range(3)]
    offer = gate.offered(gate.upon(*trees))
    scene = gate.launch(limits={"commits": 2})
    gate.put(scene, offer)
    gate.refuse(scene, "claimTooLarge", LIMIT, 3)
    gate.put(scene, replace(offer, commits=offer.commits[:2]))
    gate.refuse(scene, "tooManyCommits", LIMIT, 6)
    scene = gate.launch(limits={"commits": 3})
    gate.put(scene, offer)
    assert gate.accept(scene).receipt.commits == offer.commits


def test_a_path_that_a_refusal_has_no_room_for_is_left_out_of_it(gate: Gate) -> None:
    """Higher limits of a launch let paths of a megabyte through."""
    below: Folder = {b"x": link(b"/etc/passwd")}
    for _ in range(30):
        below = {b"\x01" * 200: below}
    policy = PolicyText(name="ours", text=quote(b'[severity]\ncontrolInName = "warning"\n'))
    scene = gate.launch(limits={"path_bytes": MIB}, policy=policy)
    gate.put(scene, gate.offered(gate.upon({**FOLDER, b"long": below})))
    gate.refuse(scene, "symlinkAbsolute", POLICY, 6)
    refusal = show(gate.repository.state, scene.record.launch).refusal
    assert refusal is not None
    assert [finding.path for finding in refusal.findings] == [None]


def test_of_more_errors_than_a_refusal_has_room_for_it_lists_the_first(gate: Gate) -> None:
    scene = gate.launch()
    # Of each code a report shows as many as a refusal has room for.
    targets = [b"/etc/%d", b"../etc/%d"]
    links: Folder = {
        b"%d-%03d" % (kind, number): link(target % number)
        for kind, target in enumerate(targets)
        for number in range(FINDINGS)
    }
    gate.put(scene, gate.offered(gate.upon({**FOLDER, **links})))
    error = gate.refuse(scene, "symlinkAbsolute", POLICY, 6)
    assert isinstance(error, ImportRefused)
    assert error.report is not None
    assert len(error.report.findings.sorted()) > FINDINGS
    refusal = show(gate.repository.state, scene.record.launch).refusal
    assert refusal is not None
    assert len(refusal.findings) == FINDINGS


# --- A10: damage --------------------------------------------------------------------------------


def _cut(keep: Callable[[bytes], int]) -> Callable[[Gate], Offer]:
    def make(gate: Gate) -> Offer:
        offer = gate.honest()
        return replace(offer, bundle=offer.bundle[: keep(offer.bundle)])

    return make


def _packed(change: Callable[[bytes], bytes]) -> Callable[[Gate], Offer]:
    """An honest bundle whose pack was changed."""

    def make(gate: Gate) -> Offer:
        offer = gate.honest()
        at = offer.bundle.index(b"PACK")
        return replace(offer, bundle=offer.bundle[:at] + change(offer.bundle[at:]))

    return make


def _version(number: int) -> Callable[[bytes], bytes]:
    return lambda pack: packs.reseal(pack[:4] + number.to_bytes(4, "big") + pack[8:])


def _whole(make: Callable[[bytes], bytes]) -> Callable[[Gate], Offer]:
    """Another file than a bundle, made of an honest one."""

    def changed(gate: Gate) -> Offer:
        offer = gate.honest()
        return replace(offer, bundle=make(offer.bundle))

    return changed


def _deflated(stream: Callable[[bytes], bytes]) -> Callable[[Gate], Offer]:
    return _entry(lambda pack: pack.add("blob", b"damaged\n", deflate=stream(b"damaged\n")))


TRUNCATED = ("truncated", CORRUPT, 6)
DAMAGE: dict[str, tuple[Callable[[Gate], Offer], tuple[str, int, int]]] = {
    "A10 the last byte is gone": (_cut(lambda data: len(data) - 1), TRUNCATED),
    "A10 the checksum is gone": (_cut(lambda data: len(data) - 20), TRUNCATED),
    "A10 half of the pack is gone": (
        _cut(lambda data: (data.index(b"PACK") + len(data)) // 2), TRUNCATED,
    ),
    "A10 all but the header of the pack is gone": (
        _cut(lambda data: data.index(b"PACK") + 12), TRUNCATED,
    ),
    "A10 half of the header of the pack is gone": (
        _cut(lambda data: data.index(b"PACK") + 6), TRUNCATED,
    ),
    "A10 the pack is gone": (
        _cut(lambda data: data.index(b"PACK")), ("bundleMissingPack", CORRUPT, 6),
    ),
    "A10 half of the header is gone": (_cut(lambda _data: 60), TRUNCATED),
    "A10 all is gone": (_cut(lambda _data: 0), TRUNCATED),
    "A10 a bit of the checksum": (
        _packed(lambda pack: packs.flip(pack, -1)), ("packChecksumMismatch", CORRUPT, 6),
    ),
    "A10 a bit of an object": (
        _packed(lambda pack: packs.flip(pack, 20)), ("badDeflate", CORRUPT, 6),
    ),
    "A10 pack version 4": (_packed(_version(4)), ("badPackVersion", CORRUPT, 6)),
    "A10 pack version 1": (_packed(_version(1)), ("badPackVersion", CORRUPT, 6)),
    "A10 a byte behind the pack": (
        _packed(lambda pack: pack + b"\n"), ("trailingBytes", CORRUPT, 6),
    ),
    "A10 a second pack behind the pack": (
        _packed(lambda pack: pack + pack), ("trailingBytes", CORRUPT, 6),
    ),
    "A10 another signature of the pack": (
        _packed(lambda pack: packs.reseal(b"JUNK" + pack[4:])), ("badSignature", CORRUPT, 6),
    ),
    "A10 a wrong Adler-32": (_deflated(packs.bad_adler), ("badDeflate", CORRUPT, 6)),
    "A10 a zlib stream that is padded": (
        _deflated(lambda data: packs.padded(data, 2_000)), ("paddedDeflate", CORRUPT, 6),
    ),
    "A10 a preset dictionary": (
        _deflated(packs.with_dictionary), ("presetDictionary", CORRUPT, 6),
    ),
    "A10 a type that git does not have": (
        _entry(lambda pack: pack.add(5, b"x")), ("unknownEntryType", CORRUPT, 6),
    ),
    "A10 bundle version 4": (
        _whole(lambda data: data.replace(b"# v2", b"# v4")), ("badSignature", CORRUPT, 6),
    ),
    "A10 a pack and no bundle": (
        _whole(lambda data: data[data.index(b"PACK") :]), ("notABundle", POLICY, 6),
    ),
    "A10 text": (_whole(lambda _data: b"hello\n" * 20), ("badSignature", CORRUPT, 6)),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a10_an_artifact_that_is_damaged_is_refused(name: str, gate: Gate) -> None:
    make, expected = DAMAGE[name]
    scene = gate.launch()
    gate.put(scene, make(gate))
    gate.refuse(scene, *expected)


def test_a10_packs_of_both_versions_that_are_whole_are_imported(gate: Gate) -> None:
    for number in (2, 3):
        scene = gate.launch()
        gate.put(scene, _packed(_version(number))(gate))
        gate.accept(scene)


# --- A11: in bounded pieces ---------------------------------------------------------------------


def test_a11_a_large_candidate_is_never_whole_in_memory(tmp_path: Path) -> None:
    """24 MiB that do not compress, in eight blobs: none of them is held either."""
    rng = random.Random(11)
    folder = {b"large-%d" % number: rng.randbytes(3 * MIB) for number in range(8)}
    with made_gate(tmp_path) as gate:
        scene = gate.launch()
        candidate = gate.upon({**FOLDER, **folder})
        # Not compressed, which takes no time to make.
        pack = gate.packing(candidate, level=0).build()
        gate.put(scene, gate.offered(candidate, pack=pack))
        with costing(memory=12 * MIB, read=256 * MIB):
            result = import_candidate(gate.repository, scene.record.launch)
    assert result.receipt.artifact.bytes > 24 * MIB
