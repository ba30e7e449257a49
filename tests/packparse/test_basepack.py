"""Base packs: every object by its id, nothing from a damaged one, and no more cost than allowed."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import pytest

from packparse import codes
from packparse.basepack import BasePack, BasePacks
from packparse.codes import Code
from packparse.errors import MisuseError, PackError
from packparse.limits import Limits
from packparse.objectformat import FORMATS, SHA1
from packparse.options import Options
from packparse.reader import EntryReader
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.bundles import bundle, honest_bundle
from tests.support.families import TEXT, Family, label, line, tangled
from tests.support.packs import Handle, PackBuilder

ReadAt = Callable[[int, int], bytes]

formats = pytest.mark.parametrize("fmt", FORMATS)


def reader(data: bytes) -> ReadAt:
    return lambda offset, length: data[offset : offset + length]


def fed(
    data: bytes, fmt: str = "sha1", *, cut: int = 1 << 20, limits: Limits | None = None
) -> BasePack:
    pack = BasePack(FORMATS[fmt], limits, name="base.pack", length=len(data))
    for at in range(0, len(data), cut):
        pack.feed(data[at : at + cut])
    return pack


def opened(data: bytes, fmt: str = "sha1", *, cut: int = 1 << 20) -> BasePack:
    pack = fed(data, fmt, cut=cut)
    pack.close(reader(data))
    return pack


def several(*datas: bytes, limits: Limits | None = None, kept: int = 8 << 20) -> BasePacks:
    base = BasePacks(limits, kept=kept)
    for data in datas:
        base.add(fed(data), reader(data))
    return base


def refusal(data: bytes, fmt: str = "sha1", *, limits: Limits | None = None) -> PackError:
    with pytest.raises(PackError) as caught:
        fed(data, fmt, limits=limits).close(reader(data))
    error = caught.value
    # Exit status 6, whatever is wrong: it is no verdict on the file that is verified.
    assert error.code.klass == 6
    assert error.offset is None
    assert "the base pack base.pack cannot be used: " in error.message
    assert error.message.isascii()
    return error


def contents(handles: Sequence[Handle]) -> dict[bytes, tuple[int, bytes]]:
    return {h.oid: (packs.KIND_NUMBERS[h.kind], h.data) for h in handles}


# --- objects by id --------------------------------------------------------------------------------


@formats
@pytest.mark.parametrize("cut", [1, 13, 1 << 20])
@pytest.mark.parametrize("kind", ["pack", "bundle"])
def test_every_object_is_given_by_its_id(fmt: str, cut: int, kind: str) -> None:
    example = packs.small_honest(fmt)
    base = opened(example.pack if kind == "pack" else honest_bundle(fmt), fmt, cut=cut)
    wanted = contents(example.handles)
    assert {oid: base.read(oid) for oid in wanted} == wanted
    assert {oid: base.kind(oid) for oid in wanted} == {oid: k for oid, (k, _) in wanted.items()}
    assert all(base.holds(oid) for oid in wanted)
    assert len(base) == len(example.handles)
    assert all(type(base.read(oid)[1]) is bytes for oid in wanted)  # type: ignore[index]


@formats
def test_what_a_pack_does_not_have_is_not_given(fmt: str) -> None:
    base = opened(packs.small_honest_pack(fmt), fmt)
    # Absent ones, first and last of all, and one of the other format's width.
    for oid in (packs.oid("blob", b"absent", fmt), b"\0" * 20, b"\xff" * 32):
        assert base.read(oid) is None
        assert base.kind(oid) is None
        assert not base.holds(oid)
        assert base.cost(oid) == (0, 0)


def test_a_large_object_is_given_whole() -> None:
    # Longer than any piece that is read at one time; blobs are not kept in the first pass.
    blob = TEXT * 1000
    data = packs.blob_pack(b"small", blob)
    assert opened(data, cut=1000).read(packs.oid("blob", blob)) == (3, blob)


def test_a_large_object_made_from_a_delta_cannot_be_changed_by_who_reads_it() -> None:
    pack = PackBuilder()
    size = (1 << 20) + 1
    made = pack.add_ofs(pack.add("blob", b"x"), packs.growing_delta(1, 64))
    made = pack.add_ofs(made, packs.growing_delta(64, 1 << 14))
    made = pack.add_ofs(made, packs.growing_delta(1 << 14, size))
    given = opened(pack.build()).read(made.oid)
    assert given == (3, b"x" * size)
    assert type(given[1]) is bytes


@pytest.mark.parametrize("seed", range(4))
def test_objects_in_tangled_chains_are_given(seed: int) -> None:
    family = tangled(60, seed)
    base = opened(family.pack.build())
    wanted = contents(family.wanted)
    assert {oid: base.read(oid) for oid in wanted} == wanted


def test_an_empty_pack_holds_nothing() -> None:
    base = opened(PackBuilder().build())
    assert len(base) == 0
    assert base.read(b"\xaa" * 20) is None


def test_an_object_that_comes_twice_is_given() -> None:
    # git reads such packs, and the trusted side's are not judged.
    base = opened(packs.blob_pack(b"twice", b"twice"))
    assert base.read(packs.oid("blob", b"twice")) == (3, b"twice")


# --- thin packs on a base pack --------------------------------------------------------------------


def thin(fmt: str = "sha1") -> tuple[bytes, bytes]:
    """Return (a base pack, a thin pack whose deltas rest on a whole object and on a delta)."""
    family = Family([0, 0, 1, 2], fmt=fmt)
    base = PackBuilder(fmt)
    whole = base.add("blob", label(0)[1])
    base.add_ofs(whole, label(1)[0])
    for number in (2, 3):
        family.write(number)
    return base.build(), family.pack.build()


def verified(data: bytes, base: BasePacks, fmt: str = "sha1") -> Report:
    return verify_bytes(data, Options(object_format=FORMATS[fmt], read_base=base.read))


@formats
def test_a_thin_pack_rests_on_a_base_pack(fmt: str) -> None:
    below, above = thin(fmt)
    base = BasePacks()
    base.add(fed(below, fmt), reader(below))
    report = verified(above, base, fmt)
    assert report.accepted
    assert report.counts["objects"] == 2
    # The neighbour: without the pack it is incomplete.
    assert verified(above, BasePacks(), fmt).klass == 5


@formats
def test_a_thin_base_pack_rests_on_one_before_it(fmt: str) -> None:
    below, above = thin(fmt)
    base = BasePacks()
    for data in (below, above):
        base.add(fed(data, fmt), reader(data))
    wanted = contents([packs.outside("blob", label(n)[1], fmt) for n in range(4)])
    assert {oid: base.read(oid) for oid in wanted} == wanted


@formats
def test_a_thin_base_pack_alone_cannot_be_used(fmt: str) -> None:
    error = refusal(thin(fmt)[1], fmt)
    assert error.code is codes.CANNOT_READ
    assert "it is thin, and no base pack before it has its bases: missingDeltaBase" in error.message
    assert error.oid == packs.oid("blob", label(1)[1], fmt)


def test_a_thin_base_pack_does_not_rest_on_one_after_it() -> None:
    below, above = thin()
    base = BasePacks()
    with pytest.raises(PackError, match="it is thin, and no base pack before it"):
        base.add(fed(above), reader(above))
    # What was refused is not asked.
    base.add(fed(below), reader(below))
    assert len(base.packs) == 1


# --- several packs --------------------------------------------------------------------------------


def test_packs_are_asked_in_order() -> None:
    both, first, second = (packs.oid("blob", text) for text in (b"both", b"first", b"second"))
    asked: list[str] = []

    def spy(name: str, data: bytes, offset: int, length: int) -> bytes:
        asked.append(name)
        return data[offset : offset + length]

    base = BasePacks(kept=0)
    for name, data in (
        ("1", packs.blob_pack(b"both", b"first")),
        ("2", packs.blob_pack(b"both", b"second")),
    ):
        base.add(fed(data), functools.partial(spy, name, data))
    assert asked == []
    assert base.read(both) == (3, b"both")
    assert asked == ["1"]
    assert base.read(second) == (3, b"second")
    assert asked == ["1", "2"]
    assert base.read(first) == (3, b"first")
    assert [base.kind(oid) for oid in (both, first, second, b"\xaa" * 20)] == [3, 3, 3, None]
    assert [base.holds(oid) for oid in (both, second, b"\xaa" * 20)] == [True, True, False]
    assert base.read(b"\xaa" * 20) is None
    assert asked == ["1", "2", "1"]


class Reads:
    """Counts the entries that are read again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        plain = EntryReader.read

        def read(entries: EntryReader, number: int) -> bytes | bytearray:
            self.count += 1
            return plain(entries, number)

        monkeypatch.setattr(EntryReader, "read", read)


def test_a_pack_is_opened_without_reading_its_deltas_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch)
    opened(Family(line(5)).write_all())
    assert reads.count == 1


def test_what_was_read_last_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [b"%d" % number * 1000 for number in range(3)]
    oids = [packs.oid("blob", text) for text in texts]
    base = several(packs.blob_pack(*texts), kept=2 * 1250)
    base._longest = 1000  # noqa: SLF001 - else one object of a cache as small as this
    reads = Reads(monkeypatch)
    for oid, count in (
        (oids[0], 1),
        (oids[0], 1),
        (oids[1], 2),
        (oids[0], 2),
        (oids[2], 3),  # now the second is let go of, the first was used later
        (oids[0], 3),
        (oids[1], 4),
        (oids[2], 5),
    ):
        assert base.read(oid) == (3, texts[oids.index(oid)])
        assert reads.count == count


def test_one_large_object_does_not_push_out_the_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = b"s" * 100, b"l" * 3000
    base = several(packs.blob_pack(small, large), kept=10_000)
    reads = Reads(monkeypatch)
    for text in (small, large, small, large):
        assert base.read(packs.oid("blob", text)) == (3, text)
    assert reads.count == 3


@pytest.mark.parametrize("kept", [0, 1, 300])
def test_next_to_no_room_changes_nothing_but_time(kept: int) -> None:
    family = tangled(40, 1)
    base = several(family.pack.build(), kept=kept)
    wanted = contents(family.wanted)
    for _ in range(2):
        assert {oid: base.read(oid) for oid in wanted} == wanted


def test_empty_objects_do_not_fill_memory_for_nothing() -> None:
    texts = [b"%d" % number for number in range(100)]
    base = several(packs.blob_pack(*texts), kept=2000)
    for text in texts:
        base.read(packs.oid("blob", text))
    assert len(base._cache) == 2000 // 252  # noqa: SLF001 - there is no other way to see it


def test_after_closing_nothing_is_given_and_all_files_are_let_go_of() -> None:
    data = packs.blob_pack(b"one")
    oid = packs.oid("blob", b"one")
    released: list[int] = []
    with several(data) as base:
        base.at_close(lambda: released.append(1))
        base.at_close(lambda: released.append(2))
        assert base.read(oid) is not None
        assert released == []
    assert released == [2, 1]
    assert (base.read(oid), base.kind(oid), base.holds(oid)) == (None, None, False)
    base.close()
    assert released == [2, 1]


# --- cost -----------------------------------------------------------------------------------------


def test_cost_counts_all_objects_on_the_way() -> None:
    family = Family(line(3))
    base = opened(family.write_all())
    size = len(TEXT)
    assert [base.cost(h.oid) for h in family.wanted] == [(size, n * size) for n in (1, 2, 3, 4)]


def bases_of_sizes(*sizes: int) -> tuple[bytes, list[bytes]]:
    """Return a chain of objects of these sizes, and their ids."""
    pack = PackBuilder()
    handle = pack.add("blob", bytes(sizes[0]))
    for before, size in itertools.pairwise(sizes):
        change = packs.growing_delta(before, size)
        handle = pack.add_ofs(handle, change)
    return pack.build(), [h.oid for h in pack.handles]


TOO_LARGE = {
    "the object itself": ((1001,), 0),
    "an object made from a delta": ((10, 1001), 1),
    "the base of a small one": ((1001, 10), 1),
    "one between": ((10, 1001, 20), 2),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_an_object_that_takes_more_memory_than_a_base_may_is_refused(name: str) -> None:
    # PI5: what a thin pack names decides what is read, so its own limits go.
    sizes, number = TOO_LARGE[name]
    for size, limit in ((max(sizes), 1001), (max(sizes), 1000)):
        data, oids = bases_of_sizes(*sizes)
        base = several(data, limits=Limits(changes={"rebuilt_object_bytes": limit}))
        if size <= limit:
            assert base.read(oids[number]) is not None
            continue
        with pytest.raises(PackError) as caught:
            base.read(oids[number])
        error = caught.value
        assert (error.code, error.oid) == (codes.REBUILT_OBJECT_TOO_LARGE, oids[number])
        assert error.limit is not None
        assert (error.limit.seen, error.limit.value) == (1001, 1000)
        assert "of the base pack base.pack takes one of 1001 bytes" in error.message


def test_all_reading_together_is_bounded_for_each_file() -> None:
    # 100,000 deltas of a hostile thin pack may each name another object at the end of a chain.
    family = Family(line(3))
    size = len(TEXT)
    limits = Limits(changes={"restored_bytes": 9 * size})
    base = several(family.write_all(), limits=limits, kept=0)
    last = family.wanted[3].oid
    for _ in range(2):
        base.renew()
        for _ in range(2):
            base.read(last)
        with pytest.raises(PackError) as caught:
            base.read(last)
        assert caught.value.code is codes.RESTORED_TOO_MUCH
        assert caught.value.limit is not None
        assert caught.value.limit.seen == 12 * size


def test_what_is_kept_costs_nothing_again() -> None:
    limits = Limits(changes={"restored_bytes": 3})
    base = several(packs.blob_pack(b"abc"), limits=limits)
    for _ in range(3):
        assert base.read(packs.oid("blob", b"abc")) == (3, b"abc")


def test_a_costly_base_is_a_refusal_of_the_thin_pack() -> None:
    below, above = thin()
    limits = Limits(changes={"rebuilt_object_bytes": len(TEXT) - 1})
    report = verified(above, several(below, limits=limits))
    assert report.klass == 4
    found = [f.code for f in report.findings.sorted() if f.severity == codes.ERROR]
    assert found == [codes.REBUILT_OBJECT_TOO_LARGE]


# --- damaged packs --------------------------------------------------------------------------------


@formats
@pytest.mark.parametrize("kind", ["pack", "bundle"])
@pytest.mark.heavy
def test_no_flipped_byte_gets_through(fmt: str, kind: str) -> None:
    data = packs.small_honest_pack(fmt) if kind == "pack" else honest_bundle(fmt)
    # A bundle's ref names are not of interest here, so a byte of them may well be another.
    start = data.index(b"PACK")
    for at in range(start, len(data)):
        error = refusal(packs.flip(data, at), fmt)
        assert error.code in {codes.CORRUPT_BASE_OBJECT, codes.CANNOT_READ}


@formats
def test_a_flipped_byte_under_a_right_checksum_gives_no_wrong_object(fmt: str) -> None:
    example = packs.small_honest(fmt)
    end = len(example.pack) - packs.oid_length(fmt)
    absent = [(handle.oid, None) for handle in example.handles]
    refused: dict[Code, int] = {}
    for at in range(12, end):
        data = packs.reseal(packs.flip(example.pack, at), fmt)
        given = {}
        try:
            base = opened(data, fmt)
            given = {handle.oid: base.read(handle.oid) for handle in example.handles}
        except PackError as error:
            refused[error.code] = at
        # An object that was damaged has another id now.
        assert given.items() <= {*contents(example.handles).items(), *absent}
    assert set(refused) == {codes.CORRUPT_BASE_OBJECT, codes.CANNOT_READ}


def _lost_base() -> bytes:
    pack = PackBuilder()
    pack.add("blob", TEXT)
    pack.add_ofs(11, label(1)[0], label(1)[1])
    return pack.build()


def _bad_delta(change: bytes) -> bytes:
    pack = PackBuilder()
    pack.add_ofs(pack.add("blob", TEXT), change, b"x")
    return pack.build()


def _cycle() -> bytes:
    pack = PackBuilder()
    pack.add_ref(b"\x11" * 20, label(1)[0], b"x")
    return pack.build()


HONEST = packs.small_honest_pack()
DAMAGED: dict[str, tuple[bytes, Code, str]] = {
    "nothing": (b"", codes.CORRUPT_BASE_OBJECT, "truncated at offset 0: the input is empty"),
    "an index": (b"\xfftOc\0\0\0\2", codes.CORRUPT_BASE_OBJECT, "badSignature at offset 0"),
    "a cut pack": (HONEST[:-21], codes.CORRUPT_BASE_OBJECT, "truncated at offset"),
    "bytes at the end": (HONEST + b"x", codes.CORRUPT_BASE_OBJECT, "trailingBytes at offset"),
    "another checksum": (
        packs.flip(HONEST, -1),
        codes.CORRUPT_BASE_OBJECT,
        "packChecksumMismatch at offset",
    ),
    "a pack of the other format": (
        packs.small_honest_pack("sha256"),
        codes.CORRUPT_BASE_OBJECT,
        "(it was read as sha1)",
    ),
    "a bundle of the other format": (
        honest_bundle("sha256"),
        codes.CORRUPT_BASE_OBJECT,
        "objectFormatMismatch at offset 0: the bundle is sha256, sha1 was asked for",
    ),
    "a bundle without a pack": (
        bundle(b"", []),
        codes.CORRUPT_BASE_OBJECT,
        "bundleMissingPack at offset",
    ),
    "a bundle that ends in its header": (
        honest_bundle()[:30],
        codes.CORRUPT_BASE_OBJECT,
        "truncated at offset 30",
    ),
    "a bundle with a bad line": (
        b"# v2 git bundle\nx\n\n" + HONEST,
        codes.CORRUPT_BASE_OBJECT,
        "bundleBadLine at offset 16",
    ),
    "a bad base offset": (_lost_base(), codes.CORRUPT_BASE_OBJECT, "deltaBadBaseOffset at offset"),
    "a delta that lies about its base": (
        _bad_delta(packs.delta(1, 3, packs.insert(b"abc"))),
        codes.CORRUPT_BASE_OBJECT,
        "deltaBaseSizeMismatch at offset",
    ),
    "a delta of two bytes": (
        _bad_delta(b"\1\1"),
        codes.CORRUPT_BASE_OBJECT,
        "deltaTruncated at offset",
    ),
    "a base that is nowhere": (_cycle(), codes.CANNOT_READ, "it is thin, and no base pack before"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_pack_is_refused_by_name(name: str) -> None:
    data, code, reason = DAMAGED[name]
    error = refusal(data)
    assert error.code is code
    assert reason in error.message


LIMITED = {
    "objects": ("tooManyObjects", 9),
    "object_bytes": ("objectTooLarge", 20),
    "rebuilt_object_bytes": ("rebuiltObjectTooLarge", 20),
    "delta_depth": ("deltaTooDeep", 1),
    "inflated_bytes": ("inflatedTooMuch", 100),
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_pack_past_a_limit_cannot_be_used(name: str) -> None:
    code, value = LIMITED[name]
    error = refusal(HONEST, limits=Limits("history", {name: value}))
    assert error.code is codes.CANNOT_READ
    assert f"{code}: {name} is " in error.message
    assert f"and {value} at most here" in error.message
    # The option would change the limits of the file that is verified.
    assert "--limit" not in error.message


def test_what_git_takes_may_be_in_a_base_pack() -> None:
    pack = PackBuilder()
    padded = pack.add("blob", TEXT, header_pad=1)
    hidden = pack.add("blob", b"x", deflate=packs.padded(b"x", 2000))
    base = opened(pack.build())
    assert base.holds(padded.oid)
    assert base.read(hidden.oid) == (3, b"x")


# --- packs that change ----------------------------------------------------------------------------


def test_a_pack_that_changes_before_it_is_closed_is_refused() -> None:
    pack = fed(HONEST)
    # The first pass keeps deltas; their bases are read again.
    with pytest.raises(PackError, match=r"base\.pack cannot be used: inputChanged") as caught:
        pack.close(lambda _at, length: bytes(length))
    assert caught.value.code is codes.CORRUPT_BASE_OBJECT


def test_a_pack_that_changes_later_gives_no_wrong_object() -> None:
    files = {"now": HONEST}
    base = fed(HONEST)
    base.close(lambda at, length: files["now"][at : at + length])
    for handle in packs.small_honest().handles:
        files["now"] = HONEST
        assert base.read(handle.oid) == contents([handle])[handle.oid]
        files["now"] = packs.flip(HONEST, handle.end - 1)
        with pytest.raises(PackError, match=r"base\.pack cannot be used: inputChanged") as caught:
            base.read(handle.oid)
        assert caught.value.code is codes.CORRUPT_BASE_OBJECT


def test_a_change_that_keeps_every_crc_is_seen_by_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    # A CRC-32 can be made to fit; the id cannot.
    for module in ("reader", "stream", "body"):
        monkeypatch.setattr(f"packparse.{module}.crc32", lambda *_: 0x1234_5678)
    first, second = PackBuilder(), PackBuilder()
    one = first.add("blob", TEXT, level=0)
    second.add("blob", TEXT.upper(), level=0)
    base = fed(first.build())
    base.close(reader(second.build()))
    with pytest.raises(PackError, match="inputChanged") as caught:
        base.read(one.oid)
    assert caught.value.code is codes.CORRUPT_BASE_OBJECT
    assert caught.value.oid == one.oid


def test_a_base_pack_that_changes_is_no_verdict_on_the_thin_pack() -> None:
    below, above = thin()
    files = {"now": below}
    base = BasePacks()
    base.add(fed(below), lambda at, length: files["now"][at : at + length])
    files["now"] = bytes(len(below))
    report = verified(above, base)
    assert report.klass == 6
    (finding,) = report.findings.sorted()
    assert finding.code is codes.CORRUPT_BASE_OBJECT
    assert "the base pack base.pack cannot be used" in finding.message


def test_what_read_at_says_is_told_as_it_is() -> None:
    # So that a failing disk is not taken for a damaged pack.
    failure = PackError(
        codes.CANNOT_READ, "the base pack base.pack cannot be read: Input/output error"
    )

    def fail(_at: int, _length: int) -> bytes:
        raise failure

    with pytest.raises(PackError) as caught:
        fed(HONEST).close(fail)
    assert caught.value is failure


# --- life -----------------------------------------------------------------------------------------


def test_calls_out_of_turn_are_misuse() -> None:
    pack = BasePack(SHA1)
    for call in (pack.read, pack.kind, pack.holds, pack.cost):
        with pytest.raises(MisuseError, match="not closed"):
            call(b"\xaa" * 20)
    for data in (b"", HONEST[:1], b"", HONEST[1:], b""):
        pack.feed(data)
    pack.close(reader(HONEST))
    pack.close(reader(HONEST))
    with pytest.raises(MisuseError, match="is closed"):
        pack.feed(b"x")


def test_a_length_that_cannot_be_true_is_seen_at_once() -> None:
    data = packs.many_objects_header(1000)
    pack = BasePack(SHA1, name="base.pack", length=len(data))
    with pytest.raises(PackError, match="implausibleObjectCount at offset 8"):
        pack.feed(data[:12])
