"""Work that a small pack can ask for again and again: its limits, and what honest packs need."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from packparse import codes
from packparse.delta import rebuild
from packparse.limits import Limits
from packparse.options import Options
from packparse.reader import EntryReader
from packparse.report import Report
from packparse.scan import verify_path
from packparse.verify import Verifier, verify_bytes
from tests.support import packs
from tests.support.packs import PackBuilder, copy, delta, insert

MEBIBYTE = 1 << 20


def found(report: Report) -> list[str]:
    return [f.code.name for f in report.findings.sorted() if f.severity == codes.ERROR]


def grafted(size: int, kids: int) -> bytes:
    """A large base with small deltas on it, each with a delta of its own."""
    pack = PackBuilder()
    root = pack.add("blob", bytes(size))
    for number in range(kids):
        kid = pack.add_ofs(root, delta(size, 5, copy(0, 1), insert(b"%04x" % number)))
        pack.add_ofs(kid, delta(5, 6, copy(0, 5), insert(b"z")))
    return pack.build()


def options(**limits: int) -> Options:
    return Options(limits=Limits(changes=limits), cache_budget=MEBIBYTE)


def test_making_bases_again_has_a_limit() -> None:
    pack = grafted(MEBIBYTE, 12)
    assert found(verify_bytes(pack, options(restored_bytes=5 * MEBIBYTE))) == ["restoredTooMuch"]
    assert verify_bytes(pack, options(restored_bytes=12 * MEBIBYTE)).accepted


def test_a_base_that_fits_into_the_cache_is_made_once() -> None:
    pack = grafted(MEBIBYTE, 12)
    limits = Limits(changes={"restored_bytes": 0})
    assert verify_bytes(pack, Options(limits=limits)).accepted


def test_instructions_of_all_deltas_have_a_limit() -> None:
    pack = PackBuilder()
    base = pack.add("blob", b"x" * 100)
    for number in range(10):
        pack.add_ofs(base, delta(100, 90, insert(b"%090d" % number)))
    built = pack.build()
    # Three bytes of sizes and opcode, and 90 of data, ten times.
    assert verify_bytes(built, options(delta_bytes=930)).accepted
    assert found(verify_bytes(built, options(delta_bytes=929))) == ["deltasTooLong"]


@pytest.mark.parametrize(("size", "accepted"), [(4096, True), (4097, False)])
def test_the_base_of_a_delta_has_the_limit_of_its_result(size: int, accepted: bool) -> None:
    pack = PackBuilder()
    base = pack.add("blob", bytes(size))
    pack.add_ofs(base, delta(size, 5, copy(0, 1), insert(b"tiny")))
    other = pack.add("blob", b"an object that is small enough")
    pack.add_ofs(other, packs.edit(other.data, 0, 2, b"An")[0])
    report = verify_bytes(pack.build(), options(rebuilt_object_bytes=4096))
    assert report.accepted == accepted
    if not accepted:
        # The other family is not lost with it.
        assert found(report) == ["rebuiltObjectTooLarge"]
        assert report.findings.sorted()[-1].message.endswith("not known: 1")


def test_a_delta_has_half_the_limit_of_its_result() -> None:
    pack = PackBuilder()
    base = pack.add("blob", b"x")
    data = bytes(range(256)) * 2
    built = delta(1, 512, insert(data))
    pack.add_ofs(base, built)
    limit = len(built) * 2
    assert verify_bytes(pack.build(), options(rebuilt_object_bytes=limit)).accepted
    report = verify_bytes(pack.build(), options(rebuilt_object_bytes=limit - 1))
    assert found(report) == ["rebuiltObjectTooLarge"]


@pytest.mark.parametrize("depth", [50, 200])
def test_a_comb_of_large_objects_is_built_once_each(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On each link of a chain rests one more delta: the chain goes on last, so no base need wait.
    calls = 0

    def counted(
        instructions: bytes | bytearray, start: int, base: bytes | bytearray, size: int
    ) -> tuple[bytes | bytearray, int]:
        nonlocal calls
        calls += 1
        return rebuild(instructions, start, base, size)

    monkeypatch.setattr("packparse.resolve.rebuild", counted)
    size = 1 << 16
    pack = PackBuilder()
    spine = pack.add("blob", bytes(size))
    for number in range(depth):
        rest = copy(8, size - 8)
        pack.add_ofs(spine, delta(size, size, insert(b"l%07d" % number), rest))
        spine = pack.add_ofs(spine, delta(size, size, insert(b"s%07d" % number), rest))
    report = verify_bytes(pack.build(), options())
    assert report.accepted
    assert calls == report.counts["deltas"] == 2 * depth


def test_a_file_that_is_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.pack"
    file.write_bytes(packs.small_honest_pack())
    assert verify_path(str(file)).accepted
    read = EntryReader.read

    def touched(reader: EntryReader, number: int) -> bytes | bytearray:
        # The same bytes, so that nothing but the times can tell.
        file.write_bytes(packs.small_honest_pack())
        return read(reader, number)

    monkeypatch.setattr(EntryReader, "read", touched)
    report = verify_path(str(file))
    assert found(report) == ["inputChanged"]
    assert report.klass == codes.ENVIRONMENT


def test_a_base_with_a_forged_crc_is_refused() -> None:
    pack = PackBuilder()
    content = b"the base as it was at first, long enough"
    honest = pack.add("blob", content, deflate=packs.stored(content))
    pack.add_ofs(honest, packs.edit(honest.data, 0, 3, b"one")[0])
    built = pack.build()
    evil = b"the base as it is the second time, long."
    assert len(evil) == len(honest.data)
    entry = packs.varint_size(3, len(evil)) + packs.stored(evil)

    verifier = Verifier(Options(), length=len(built))
    verifier.feed(built)
    # As if the CRC-32 had been forged: the table is made to expect the other entry.
    start, length = verifier.table.span(0)
    assert len(entry) == length
    verifier.table.crcs[0] = crc32(entry)
    changed = built[:start] + entry + built[start + length :]
    report = verifier.finish(lambda at, size: changed[at : at + size])
    assert found(report) == ["inputChanged"]
