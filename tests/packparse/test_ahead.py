"""Several processes scan one pack: each finds its part, or leaves it to the main process."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from packparse import ahead
from packparse.ahead import Part, shares
from packparse.codes import RULES
from packparse.examine import Unusual
from packparse.findings import Findings
from packparse.forks import Forks
from packparse.limits import Limits
from packparse.objectformat import FORMATS, SHA1
from packparse.options import Options
from packparse.verify import Verifier
from tests.support import jobs, packs
from tests.support.aside import aside
from tests.support.jobs import copied, summary, told, verified
from tests.support.packs import PackBuilder, copy, delta, insert

TEXT = b"a line that comes again and again\n" * 12
N = len(TEXT) + 4

formats = pytest.mark.parametrize("fmt", FORMATS)
together = pytest.mark.parametrize("number", [2, 4], ids="{} jobs".format)

if TYPE_CHECKING:
    from packparse.workers import Worker

eagerly = pytest.mark.usefixtures("eager")


def history(fmt: str = "sha1", commits: int = 10, mode: bytes = b"100644") -> PackBuilder:
    """Commits, their trees, and files that are whole, or deltas of either sort."""
    pack = PackBuilder(fmt)
    files = [pack.add("blob", b"%04d" % number + TEXT) for number in range(commits)]
    for number, file in enumerate(list(files)):
        change = delta(N, N, insert(b"D%03d" % number), copy(4, N - 4))
        add = pack.add_ofs if number % 3 else pack.add_ref
        files.append(add(file, change))
    parents: list[bytes] = []
    for number in range(commits):
        entries = [(mode, b"f%02d-%d" % (n, number), file.oid) for n, file in enumerate(files)]
        tree = pack.add("tree", packs.tree_bytes(entries))
        made = pack.add("commit", packs.commit_bytes(tree.oid, parents))
        parents = [made.oid]
    return pack


def part_of(pack: bytes, fmt: str = "sha1") -> Part:
    return Part(lambda at, length: pack[at : at + length], Limits(), FORMATS[fmt], Findings())


# --- the place where an entry begins ------------------------------------------------------------


@formats
def test_an_entry_is_found_from_any_byte_on(fmt: str) -> None:
    built = history(fmt)
    pack = built.build()
    end = len(pack) - packs.oid_length(fmt)
    begins = [handle.offset for handle in built.handles[1:]] + [end]
    part = part_of(pack, fmt)
    # Behind the last but one there is no second entry to end at.
    for at in range(12, begins[-2], 7):
        # The first stream that begins behind ``at`` is that of this entry or of the next one.
        after = [begin for begin in begins if begin > at]
        assert part.find_entry(at, end) in after[:2]


def nested(level: int) -> tuple[bytes, PackBuilder]:
    """A pack in a blob of a pack; with level 0 it stands there byte by byte."""
    inner = history().build()
    outer = PackBuilder()
    outer.add("blob", b"before")
    outer.add("blob", inner * 3, level=level)
    for number in range(30):
        outer.add("blob", b"behind %d" % number)
    return inner, outer


@eagerly
def test_a_pack_in_a_blob_leads_to_a_wrong_place_and_no_wrong_report() -> None:
    _inner, outer = nested(0)
    pack = outer.build()
    blob = outer.handles[1]
    found = part_of(pack).find_entry(blob.offset + 30, len(pack) - 20)
    # The bytes say the same as those of a pack do.
    assert found is not None
    assert found not in [handle.offset for handle in outer.handles]
    alone = told(verified(pack, jobs=1).report)
    for number in (2, 3, 4):
        assert told(verified(pack, jobs=number).report) == alone


def test_what_looks_like_a_stream_or_an_entry_is_passed() -> None:
    noise = random.Random(5).randbytes(500).replace(b"\x78", b"\x79")
    bait = b"\x78\x9c" + noise + zlib.compress(b"alone") + noise + b"\x78\x01"
    built = history()
    pack = PackBuilder()
    pack.add("blob", bait, level=0)
    last = pack.add("blob", b"behind")
    pack.raw(built.build()[12:-20])
    data = pack.build()
    # The stream of the first one began before.
    assert part_of(data).find_entry(20, len(data) - 20) == last.end


@eagerly
def test_a_pack_in_which_no_entry_is_found_is_scanned_by_one_process() -> None:
    noise = random.Random(6).randbytes(4_000).replace(b"\x78", b"\x79")
    pack = PackBuilder()
    pack.add("blob", noise, level=0)
    shared = copied(pack.build(), jobs=3)
    assert told(shared.report) == told(verified(pack.build(), jobs=1).report)
    assert shared.table.sorted_ids() == [pack.handles[0].oid]


def test_nothing_is_found_in_what_holds_no_stream() -> None:
    noise = random.Random(1).randbytes(50_000).replace(b"\x78", b"\x79")
    assert part_of(noise).find_entry(0, len(noise)) is None


def test_a_search_ends_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_INFLATED", 1 << 20)
    monkeypatch.setattr(ahead, "_FOLLOWING", 1 << 30)
    bomb = zlib.compress(bytes(1 << 21)) + b"\xff"
    begun: list[int] = []

    def read_at(at: int, length: int) -> bytes:
        begun.append(at)
        return (bomb * 40)[at : at + length]

    assert Part(read_at, Limits(), SHA1, Findings()).find_entry(0, len(bomb) * 40) is None
    assert len(begun) < 10


def test_what_is_inflated_behind_a_place_counts_as_well() -> None:
    """Streams that end, and an entry behind each that inflates to much and then is none."""
    bomb = zlib.compress(bytes(3 << 20), 9)
    # A blob of 3 MiB and a byte, whose stream has one byte less.
    lie = packs.varint_size(3, (3 << 20) + 1) + bomb
    looked: list[int] = []
    data = (zlib.compress(b"a place") + lie) * 400

    def read_at(at: int, length: int) -> bytes:
        looked.append(at)
        return data[at : at + length]

    assert Part(read_at, Limits(), SHA1, Findings()).find_entry(0, len(data)) is None
    assert len(looked) < 100


def test_a_file_that_became_shorter_has_no_entry() -> None:
    looked: list[int] = []

    def read_at(at: int, _length: int) -> bytes:
        looked.append(at)
        return b""

    assert Part(read_at, Limits(), SHA1, Findings()).find_entry(0, 1 << 24) is None
    assert looked == [0]


def test_a_stream_across_the_pieces_of_a_search_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_CHUNK", 3)
    built = history()
    pack = built.build()
    begins = [handle.offset for handle in built.handles]
    place = part_of(pack).find_entry(40, len(pack) - 20)
    assert place in begins


# --- how a pack is cut --------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 3, 4, 7])
def test_the_parts_are_about_as_much_work(number: int) -> None:
    dense = zlib.compress(b"a small object") * 60_000
    sparse = bytes(8 << 20)
    data = dense + sparse
    begins = shares(lambda at, length: data[at : at + length], 0, len(data), number)
    assert len(begins) == number - 1
    work = [dense.count(b"\x78\x9c", 0, at) * 1_000 + at for at in (*begins, len(data))]
    parts = [after - before for before, after in pairwise([0, *work])]
    assert max(parts) < 1.35 * min(parts)


@pytest.mark.parametrize(
    ("size", "number", "cuts"),
    [
        pytest.param(1 << 19, 4, 0, id="a small pack is not cut"),
        pytest.param(1 << 21, 1, 0, id="one process takes all"),
        pytest.param(1 << 21, 8, 1, id="a middling pack is cut for two"),
    ],
)
def test_a_pack_is_cut_where_it_repays(size: int, number: int, cuts: int) -> None:
    assert len(shares(lambda _at, length: bytes(length), 0, size, number)) == cuts


# --- the whole of it ----------------------------------------------------------------------------


def cases(fmt: str) -> Iterator[tuple[str, bytes]]:
    built = history(fmt)
    pack = built.build()
    yield "honest", pack
    yield "links of unusual modes", history(fmt, mode=b"100664").build()
    for name, at in (("early", 3), ("in the middle", 20), ("late", -2)):
        handle = built.handles[at]
        yield f"a flipped bit {name}", packs.reseal(packs.flip(pack, handle.body + 5), fmt)
        yield f"a cut {name}", packs.reseal(pack[: handle.body + 4] + bytes(32), fmt)
    yield "a wrong checksum", packs.flip(pack, len(pack) - 1)
    yield "a byte behind it", pack + b"\0"
    yield "a count too low", built.build(count=len(built.handles) - 3)
    yield "a count too high", built.build(count=len(built.handles) + 3)
    for name, lie in (
        ("padded sizes", {"header_pad": 1}),
        ("a stream that is padded", {"deflate": packs.padded(TEXT, 4_000)}),
        ("a size that is wrong", {"declared_size": len(TEXT) + 1}),
    ):
        odd = history(fmt)
        odd.add("blob", TEXT, **lie)
        odd.add("blob", b"behind")
        yield name, odd.build()
    for name, base in (("a base before the pack", 1 << 20), ("a base at no entry", 5)):
        odd = history(fmt)
        odd.add_ofs(base, delta(N, 1, copy(0, 1)))
        yield name, odd.build()
    odd = history(fmt)
    odd.add("commit", b"tree of nothing\n")
    odd.add("tree", b"100644 a")
    yield "malformed objects", odd.build()
    twice = history(fmt)
    first = twice.handles[0]
    twice.add("blob", first.data)
    twice.add_ref(first, delta(N, N, insert(b"last"), copy(4, N - 4)))
    yield "an object that comes twice", twice.build()


CASES = {f"{name}, {fmt}": (fmt, pack) for fmt in FORMATS for name, pack in cases(fmt)}


@eagerly
@together
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", CASES)
def test_the_report_is_that_of_one_process(name: str, rules: str, number: int) -> None:
    fmt, pack = CASES[name]
    options = Options(rules=rules, object_format=FORMATS[fmt])
    alone = summary(verified(pack, options, jobs=1))
    assert aside(jobs.outcome, pack, fmt, rules, "candidate", jobs=number) == alone
    assert summary(copied(pack, options, jobs=number)) == alone


LIMITS = {
    "objects": 20, "inflated_bytes": 6_000, "commits": 5, "links": 100, "tree_entries": 10,
    "object_bytes": 300, "name_bytes": 4, "rebuilt_bytes": 2_000, "copied_bytes": 2_000,
    "delta_bytes": 60, "rebuilt_object_bytes": 300, "delta_depth": 0, "pack_bytes": 3_000,
}  # fmt: skip


@eagerly
@together
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_passed_at_the_same_place(name: str, number: int) -> None:
    pack = history().build()
    options = Options(limits=Limits(changes={name: LIMITS[name]}))
    alone = verified(pack, options, jobs=1).report
    assert not alone.accepted
    assert told(verified(pack, options, jobs=number).report) == told(alone)
    assert told(copied(pack, options, jobs=number).report) == told(alone)


@eagerly
@together
@pytest.mark.parametrize("budget", [0, 500, 1 << 20])
def test_the_budget_changes_nothing(budget: int, number: int) -> None:
    pack = history().build()
    alone = told(verified(pack, jobs=1).report)
    options = Options(cache_budget=budget)
    assert told(verified(pack, options, jobs=number).report) == alone


@eagerly
@together
def test_a_bundle_is_shared_as_well(number: int) -> None:
    example = packs.small_honest()
    tag = example.tag or example.commit
    bundle = b"# v2 git bundle\n%s refs/tags/v1\n\n%s" % (tag.hex.encode(), example.pack)
    alone = verified(bundle, jobs=1).report
    assert alone.accepted
    assert told(verified(bundle, jobs=number).report) == told(alone)


@eagerly
@pytest.mark.parametrize("chunk", [1, 7, 1_000, 1 << 20])
def test_the_report_does_not_depend_on_the_cut(chunk: int) -> None:
    pack = history().build()
    assert told(verified(pack, jobs=3, chunk=chunk).report) == told(verified(pack, jobs=1).report)


@eagerly
def test_a_pack_that_is_no_larger_than_one_part_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = history().build()
    for smallest in range(len(pack) // 3, len(pack), 97):
        monkeypatch.setattr(ahead, "REPAYS", smallest)
        assert verified(pack, jobs=2).report.klass == verified(pack, jobs=1).report.klass


@eagerly
def test_parts_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would pass as well if every worker gave up."""
    taken: list[bool] = []
    take_over = ahead.Ahead._take_over  # noqa: SLF001 - what cannot be seen from outside

    def noted(self: ahead.Ahead, worker: Worker) -> int | None:
        end = take_over(self, worker)
        taken.append(end is not None)
        return end

    monkeypatch.setattr(ahead.Ahead, "_take_over", noted)
    verifier = verified(history(commits=20).build(), jobs=3)
    assert verifier.report.accepted
    assert taken == [True, True]


@pytest.mark.parametrize("at", [0, 30, 800])
@eagerly
def test_bytes_that_change_before_they_are_hashed_are_no_verdict(at: int) -> None:
    built = history(commits=20)
    pack = built.build()
    options = Options()
    verifier = Verifier(options, length=len(pack))
    # The worker reads the pack as it is; what is fed is another one from some entry on.
    place = next(h.body for h in built.handles if h.offset > len(pack) // 2) + at
    fed = packs.reseal(packs.flip(pack, place))
    with Forks(2) as workers:
        verifier.share(workers, lambda offset, length: pack[offset : offset + length])
        for begin in range(0, len(fed), jobs.CHUNK):
            verifier.feed(fed[begin : begin + jobs.CHUNK])
        report = verifier.finish(lambda offset, length: pack[offset : offset + length])
    assert [f.code.name for f in report.findings.sorted()] == ["inputChanged"]


@eagerly
def test_a_file_that_a_worker_cannot_read_is_read_by_the_main_process() -> None:
    pack = history().build()
    main = os.getpid()

    def read_at(offset: int, length: int) -> bytes:
        if os.getpid() != main:
            raise OSError
        return pack[offset : offset + length]

    verifier = Verifier(Options(), length=len(pack))
    with Forks(3) as workers:
        verifier.share(workers, read_at)
        for begin in range(0, len(pack), jobs.CHUNK):
            verifier.feed(pack[begin : begin + jobs.CHUNK])
        report = verifier.finish(read_at)
    assert told(report) == told(verified(pack, jobs=1).report)


@eagerly
def test_a_search_that_cannot_read_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object) -> int:
        raise OSError

    monkeypatch.setattr(Part, "find_entry", fail)
    pack = history().build()
    assert told(copied(pack, jobs=3).report) == told(verified(pack, jobs=1).report)


@eagerly
@together
def test_what_is_told_once_is_counted_once(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main process has no room to remember more, and a worker begins with all of it."""
    monkeypatch.setattr("packparse.findings._REMEMBERED", 6)
    pack = PackBuilder()
    for _ in range(20):
        pack.add("blob", random.Random(1).randbytes(40), level=0)
    names = [b"-%02d" % n for n in range(12)]
    blob = pack.handles[0].oid
    pack.add("tree", packs.tree_bytes([(b"100644", name, blob) for name in names]))
    for n in range(60):
        # Behind the cut: one odd name in many trees.
        pack.add("tree", packs.tree_bytes([(b"100644", b"-late", packs.oid("blob", b"%d" % n))]))
    alone = told(verified(pack.build(), jobs=1).report)
    assert alone["finding_counts"]["dashName"] > 60
    assert told(verified(pack.build(), jobs=number).report) == alone
    assert told(copied(pack.build(), jobs=number).report) == alone


@eagerly
def test_a_place_inside_of_an_entry_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever follows there, and however well it fits."""
    built = history()
    longest = max(built.handles[20:], key=lambda handle: handle.end - handle.offset)
    monkeypatch.setattr(Part, "find_entry", lambda *_words: longest.body + 3)
    monkeypatch.setattr(ahead, "shares", lambda *_words: [longest.offset + 1])
    asked: list[bool] = []
    monkeypatch.setattr(ahead.Ahead, "_take_over", lambda *_words: asked.append(True))
    shared = copied(built.build(), jobs=2)
    assert told(shared.report) == told(verified(built.build(), jobs=1).report)
    assert asked == []


@pytest.mark.parametrize("processes", [2, 8, 100])
def test_no_part_begins_in_what_was_read(processes: int) -> None:
    data = zlib.compress(b"dense") * 4_000 + bytes(200 << 20)
    begins = shares(lambda at, length: data[at : at + length], 1 << 16, len(data), processes)
    assert all(before < after for before, after in pairwise([1 << 16, *begins]))


# --- what a worker does -------------------------------------------------------------------------


def test_a_part_is_read_from_an_entry_to_an_entry() -> None:
    built = history()
    pack = built.build()
    third, last = built.handles[3], built.handles[-1]
    stream = part_of(pack).stream(third.offset)
    # Up to a byte in the one before the last.
    entries = list(part_of(pack).entries(stream, third.offset, last.offset - 1))
    assert [entry.offset for entry in entries] == [h.offset for h in built.handles[3:-1]]
    assert not stream.findings.counts()


def test_a_part_of_a_file_that_became_shorter_is_unusual() -> None:
    built = history()
    pack = built.build()[: built.handles[-1].offset + 3]
    stream = part_of(pack).stream(built.handles[3].offset)
    with pytest.raises(Unusual):
        list(part_of(pack).entries(stream, built.handles[3].offset, len(pack) + 100))


@pytest.mark.parametrize(
    ("size", "level"),
    [
        pytest.param(300_000, 0, id="a long stream"),
        pytest.param(3 << 20, 0, id="a stream longer than what is looked at behind a place"),
        pytest.param(30 << 20, 9, id="a stream that inflates to much"),
    ],
)
def test_long_entries_are_found_and_passed(size: int, level: int) -> None:
    pack = PackBuilder()
    pack.add("blob", b"first")
    for number in range(3):
        pack.add("blob", b"%d" % number + bytes(size), level=level)
    built = pack.build()
    places = [handle.offset for handle in pack.handles]
    part = part_of(built)
    for before, after in pairwise(places[1:]):
        # From within its head, so that its stream is the first.
        assert part.find_entry(before, len(built) - 20) == after
    assert part.find_entry(places[-1] + 30, len(built) - 20) is None


def test_one_process_is_never_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise AssertionError

    monkeypatch.setattr("os.fork", fork)
    assert verified(history().build(), jobs=1).report.accepted
    with Forks(1) as workers:
        assert workers.jobs == 1


@eagerly
@pytest.mark.parametrize("where", ["find_entry", "entries"])
def test_a_worker_that_dies_is_no_verdict(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def die(*_args: object) -> int:
        jobs.die()
        return 0

    monkeypatch.setattr(Part, where, die)
    report = verified(history().build(), jobs=2).report
    assert not report.accepted
    assert [f.code.name for f in report.findings.sorted()] == ["workerFailed"]
    assert report.klass == 6
