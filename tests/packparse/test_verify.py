"""The numbered checklist: its order, what each step leaves out, and what the report says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from packparse.entry import COMMIT
from packparse.errors import MisuseError
from packparse.limits import Limits
from packparse.objectformat import SHA256
from packparse.options import Options
from packparse.report import Report
from packparse.verify import Verifier, verify_bytes
from tests.support import packs
from tests.support.bundles import Text, bundle, honest_bundle
from tests.support.feeding import verify_in_all_cuts
from tests.support.packs import PackBuilder, copy, delta, insert, outside

GONE = b"\xab" * 20


def codes(report: Report, severity: str = "error") -> list[str]:
    return [f.code.name for f in report.findings.sorted() if f.severity == severity]


def in_bundle(pack: bytes, tip: bytes, *names: str) -> bytes:
    refs: list[tuple[Text, Text] | bytes] = [(tip.hex(), name) for name in names]
    return bundle(pack, refs)


def never(_offset: int, _length: int) -> bytes:
    message = "read although nothing was to be read"
    raise AssertionError(message)


# --- what each step leaves out ------------------------------------------------------------------


def _everything_wrong(
    *, before: Callable[[PackBuilder], object] = lambda _: None, **build: object
) -> bytes:
    """A pack with a duplicate, an absent blob and what no ref names, in a bundle of two bad refs.

    One names what is absent, the other is a branch and no commit. ``before`` adds what an earlier
    step finds.
    """
    pack = PackBuilder()
    blob = pack.add("blob", b"blob\n")
    before(pack)
    pack.add("blob", b"blob\n")
    pack.add("tree", packs.tree_bytes([(b"100644", b"f", GONE)]))
    refs: list[tuple[Text, Text] | bytes] = [
        (blob.hex, "refs/heads/blob"),
        (GONE.hex(), "refs/tags/gone"),
    ]
    return bundle(pack.build(**build), refs)  # type: ignore[arg-type]


def _bad_delta(pack: PackBuilder) -> None:
    pack.add_ofs(pack.handles[0], delta(5, 5, copy(1, 5)))


def _bad_object(pack: PackBuilder) -> None:
    pack.add("commit", b"no commit\n")


@dataclass(frozen=True)
class Stop:
    """An input in which everything later is wrong as well, and all that is said of it."""

    data: bytes
    errors: list[str]
    notes: list[str]


LINKS = ["absentObject"]
TIPS = ["branchNotCommit", "missingTip"]
STOPS = {
    "2 the header of the bundle": Stop(
        _everything_wrong().replace(b" refs/tags", b"\trefs/tags"), ["bundleBadLine"], []
    ),
    "3 the count": Stop(_everything_wrong(count=200_000), ["tooManyObjects"], []),
    "4 an entry": Stop(
        _everything_wrong(before=lambda p: p.add("blob", b"x", deflate=packs.bad_adler(b"x"))),
        ["badDeflate"],
        [],
    ),
    "5 the checksum": Stop(_everything_wrong(trailer=bytes(20)), ["packChecksumMismatch"], []),
    "5 bytes after the end": Stop(_everything_wrong(trailing=b"!"), ["trailingBytes"], []),
    "5 the count": Stop(_everything_wrong(count=5), ["objectCountMismatch"], []),
    "6 a delta": Stop(
        _everything_wrong(before=_bad_delta),
        ["deltaCopyOutOfRange", "duplicateObject"],
        ["linksNotChecked"],
    ),
    "6 a base that is no entry": Stop(
        _everything_wrong(before=lambda p: p.add_ofs(3, delta(5, 5, copy(0, 5)))),
        ["deltaBadBaseOffset", "duplicateObject"],
        ["linksNotChecked"],
    ),
    "6 a base that is nowhere": Stop(
        _everything_wrong(before=lambda p: p.add_ref(GONE, delta(5, 5, copy(0, 5)))),
        ["missingDeltaBase", "duplicateObject"],
        ["linksNotChecked"],
    ),
    # Behind what is absent nothing is reached, so nothing is said of what is not.
    "7 a duplicate leaves out nothing": Stop(
        _everything_wrong(), ["duplicateObject", *LINKS, *TIPS], []
    ),
    "4 a malformed object leaves out the range and what follows": Stop(
        _everything_wrong(before=_bad_object),
        ["missingTree", "duplicateObject", *LINKS, *TIPS],
        ["linksNotChecked"],
    ),
}


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_what_follows_from_an_earlier_finding_is_left_out(stop: Stop) -> None:
    report = verify_bytes(stop.data)
    assert codes(report) == stop.errors
    assert codes(report, "note") == stop.notes
    assert not report.accepted


def test_a_damaged_delta_and_a_missing_base_are_one_finding() -> None:
    # An object lost to damage is not reported as missing, too: who rests on it is not known.
    pack = PackBuilder()
    blob = pack.add("blob", b"base of all\n")
    bad = pack.add_ofs(blob, delta(12, 12, copy(5, 12)))
    pack.add_ofs(bad, delta(12, 12, copy(0, 12)))
    pack.add_ref(b"\x12" * 20, delta(12, 12, copy(0, 12)))
    report = verify_bytes(pack.build())
    assert codes(report) == ["deltaCopyOutOfRange"]
    assert report.klass == 1


def test_every_malformed_object_is_found_not_only_the_first() -> None:
    # PK4
    pack = PackBuilder()
    bad = [pack.add("commit", b"no commit %d\n" % n) for n in range(3)]
    bad.append(pack.add("tag", b"no tag\n"))
    found = verify_bytes(pack.build()).findings.sorted()
    assert [(f.code.name, f.offset, f.oid) for f in found] == [
        ("missingTree", bad[0].offset, bad[0].oid),
        ("missingTree", bad[1].offset, bad[1].oid),
        ("missingTree", bad[2].offset, bad[2].oid),
        ("missingObject", bad[3].offset, bad[3].oid),
        ("linksNotChecked", None, None),
    ]
    assert found[-1].message == ("ranges and sizes were not checked; objects that are malformed: 4")


# --- step 1: the size ---------------------------------------------------------------------------


def test_a_length_over_the_limit_refuses_before_anything_is_fed() -> None:
    verifier = Verifier(Options(), name="x.pack", length=(256 << 20) + 1)
    assert verifier.refused
    report = verifier.finish(never)
    assert codes(report) == ["packTooLarge"]
    assert report.klass == 4
    assert (report.bytes, report.sha256, report.kind) == ((256 << 20) + 1, None, None)
    assert (report.object_format, report.pack_checksum) == (None, None)
    assert set(report.counts.values()) == {0}
    (finding,) = report.findings.sorted()
    assert finding.limit is not None
    assert finding.limit.as_dict() == {
        "name": "pack_bytes",
        "value": 256 << 20,
        "seen": (256 << 20) + 1,
    }


def test_a_length_at_the_limit_is_accepted() -> None:
    data = packs.small_honest_pack()
    assert verify_bytes(data, Options(limits=Limits(changes={"pack_bytes": len(data)}))).accepted


def test_an_unknown_length_is_counted_while_it_is_fed() -> None:
    data = packs.small_honest_pack()
    options = Options(limits=Limits(changes={"pack_bytes": len(data) - 1}))
    verifier = Verifier(options)
    refused = []
    for piece in (data[:-1], data[-1:]):
        verifier.feed(piece)
        refused.append(verifier.refused)
    assert refused == [False, True]
    report = verifier.finish(never)
    assert codes(report) == ["packTooLarge"]
    assert report.bytes == len(data)
    assert report.sha256 == hashlib.sha256(data).hexdigest()


# --- classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "klass"),
    [
        (packs.small_honest_pack(), 0),
        (honest_bundle(), 0),
        (_everything_wrong(), 1),
        (_everything_wrong(count=200_000), 4),
        (in_bundle(packs.small_honest_pack(), GONE, "refs/tags/x"), 5),
        (in_bundle(packs.small_honest_pack(), GONE, "refs/tags/-x"), 5),
        (
            in_bundle(packs.small_honest_pack(), packs.small_honest().commit.oid, "refs/tags/-x"),
            3,
        ),
        (
            in_bundle(
                packs.small_honest().pack, packs.small_honest().commit.oid, "refs/x", "refs/x.lock"
            ),
            1,
        ),
    ],
    ids=[
        "an honest pack is 0",
        "an honest bundle is 0",
        "corrupt outranks incomplete and policy",
        "a limit",
        "incomplete",
        "incomplete outranks policy",
        "policy",
        "a bad name is corrupt",
    ],
)
def test_the_class_is_that_of_the_worst_finding(data: bytes, klass: int) -> None:
    report = verify_bytes(data)
    assert report.klass == klass
    assert report.accepted == (klass == 0)


# --- what the report is filled with -------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_the_report_of_an_honest_pack_is_filled(fmt: str) -> None:
    example = packs.small_honest(fmt)
    report = verify_bytes(
        example.pack, Options(object_format=SHA256 if fmt == "sha256" else None), name="it"
    )
    assert (report.name, report.kind, report.rules) == ("it", "pack", "candidate")
    assert report.object_format == fmt
    assert report.bytes == len(example.pack)
    assert report.sha256 == hashlib.sha256(example.pack).hexdigest()
    assert report.pack_checksum == example.pack[-packs.oid_length(fmt) :].hex()
    assert report.counts == {
        "objects": 10,
        "commits": 2,
        "trees": 2,
        "blobs": 5,
        "tags": 1,
        "deltas": 3,
    }
    deltas = [h for h in example.handles if example.pack[h.offset] >> 4 & 7 in {6, 7}]
    assert report.rebuilt_bytes == sum(len(h.data) for h in deltas)
    assert 0 < report.copied_bytes < report.rebuilt_bytes
    assert report.delta_depth == 2
    whole = sum(len(h.data) for h in example.handles if h not in deltas)
    assert whole < report.inflated_bytes < whole + report.rebuilt_bytes
    assert (report.tips, report.prerequisites, report.unchecked_links) == ({}, [], 0)
    assert report.findings.sorted() == []


def test_the_same_object_as_pack_and_bundle_counts_the_same() -> None:
    pack = verify_bytes(packs.small_honest_pack())
    inside = verify_bytes(honest_bundle())
    assert (inside.kind, inside.counts) == ("bundle", pack.counts)
    assert inside.pack_checksum == pack.pack_checksum
    assert inside.sha256 != pack.sha256


def test_tips_and_bases_of_the_caller_are_added_to_those_of_the_header() -> None:
    # A branch by two names: that of the header, and that which was asked for.
    example = packs.small_honest(tagged=False, base=GONE)
    tip, other = example.commit.oid, b"\xcd" * 20
    data = bundle(example.pack, [(tip.hex(), "refs/heads/main")], [GONE.hex()])
    options = Options(tips={b"candidate": tip}, bases=frozenset({GONE, other}))
    report = verify_bytes(data, options)
    assert report.tips == {b"refs/heads/main": tip, b"candidate": tip}
    assert report.prerequisites == [GONE, other]
    assert report.accepted
    lacking = verify_bytes(data, Options(tips={b"refs/tags/v1": other, b"candidate": tip}))
    assert lacking.tips == {b"refs/heads/main": tip, b"refs/tags/v1": other, b"candidate": tip}
    assert codes(lacking) == ["missingTip"]


def test_prerequisites_are_listed_in_order_of_their_ids() -> None:
    example = packs.small_honest(tagged=False, base=GONE)
    data = bundle(example.pack, [(example.commit.hex, "HEAD")], ["cd" * 20, "ab" * 20])
    report = verify_bytes(data)
    assert report.accepted
    assert report.prerequisites == [GONE, b"\xcd" * 20]


def test_a_refused_file_is_hashed_to_its_end() -> None:
    data = b"neither\n" * 100
    verifier = Verifier(Options(), length=len(data))
    verifier.feed(data[:50])
    assert verifier.refused
    verifier.feed(data[50:])
    report = verifier.finish(never)
    assert report.sha256 == hashlib.sha256(data).hexdigest()


PACK_V2 = b"PACK\0\0\0\2"
# input -> (code, offset, kind): what it is stays open until signature and version were read.
EARLY: dict[bytes, tuple[str, int, str | None]] = {
    b"": ("truncated", 0, None),
    b"P": ("truncated", 0, None),
    b"PACK": ("truncated", 0, None),
    PACK_V2[:7]: ("truncated", 0, None),
    PACK_V2: ("truncated", 0, "pack"),
    PACK_V2 + b"\0\0\0\0": ("truncated", 12, "pack"),
    b"PACK\0\0\0\4\0\0\0\0": ("badPackVersion", 4, "pack"),
    b"PUCK\0\0\0\2\0\0\0\0": ("badSignature", 0, None),
    b"#": ("truncated", 1, None),
    b"# v2 git bundle": ("truncated", 15, None),
    b"# v2 git bundle\n": ("bundleMissingBlankLine", 16, "bundle"),
    b"# v4 git bundle\n": ("badSignature", 0, None),
    b"# v2 git bundle\n\n": ("bundleMissingPack", 17, "bundle"),
    b"neither": ("badSignature", 0, None),
}


@pytest.mark.parametrize(("data", "expected"), EARLY.items(), ids=map(repr, EARLY))
def test_an_input_that_ends_too_early_is_corrupt(
    data: bytes, expected: tuple[str, int, str | None]
) -> None:
    code, offset, kind = expected
    verdict = verify_in_all_cuts(data, length=len(data))
    assert (verdict.klass, verdict.codes, verdict.at(code)) == (1, [code], [offset])
    assert (verdict.kind, verdict.object_format) == (kind, kind and "sha1")
    report = verify_bytes(data)
    assert report.bytes == len(data)
    assert report.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the input is empty"),
        (b"neither", "no pack begins here"),
        (b"\xef\xbb\xbf# v2 git bundle\n", "no pack begins here"),
        (b"# v1 git bundle\n", "no bundle begins here"),
        (b"#!/bin/sh\n", "no bundle begins here"),
    ],
    ids=repr,
)
def test_the_first_byte_says_what_the_input_wants_to_be(data: bytes, message: str) -> None:
    verdict = verify_in_all_cuts(data)
    assert [(seen.message, seen.offset) for seen in verdict.findings] == [(message, 0)]
    assert verdict.kind is None


def test_an_empty_pack_is_noted_and_accepted() -> None:
    # PA7
    report = verify_bytes(PackBuilder().build())
    assert (report.klass, codes(report, "note")) == (0, ["emptyPack"])


# --- what lies outside of the file --------------------------------------------------------------


BASE = b"\xcd" * 20


def _merge_of(*parents: bytes) -> bytes:
    pack = PackBuilder()
    tree = pack.add("tree", b"")
    commit = pack.add("commit", packs.commit_bytes(tree.oid, parents))
    return in_bundle(pack.build(), commit.oid, "refs/heads/main")


def test_a_list_of_known_objects_closes_the_links() -> None:
    # PH11: with such a list nothing is left unchecked, and what it lacks is absent.
    data = _merge_of(BASE, GONE)
    bases = frozenset({BASE})
    assert codes(verify_bytes(data)) == ["absentObject"] * 2
    # Links that were not checked are noted, whoever vouches for the bases.
    own = verify_bytes(data, Options(bases=bases))
    assert (codes(own), own.unchecked_links) == ([], 1)
    assert codes(own, "note") == ["uncheckedLinks", "baseNotCompared"]
    knows = verify_bytes(data, Options(bases=bases, known={GONE: COMMIT}.get))
    assert (codes(knows), codes(knows, "note")) == ([], ["baseNotCompared"])
    lacks = verify_bytes(data, Options(bases=bases, known=lambda _oid: None))
    assert (codes(lacks), lacks.unchecked_links) == (["absentObject"], 0)
    for kind, wrong in ((3, ["linkKindMismatch"]), (0, []), (COMMIT, [])):
        told = Options(known={GONE: kind, BASE: COMMIT}.get)
        assert codes(verify_bytes(data, told)) == wrong


def test_a_link_of_the_wrong_kind_is_corrupt_even_inside_the_pack() -> None:
    # PH3
    pack = PackBuilder()
    blob = pack.add("blob", b"no tree")
    pack.add("commit", packs.commit_bytes(blob.oid))
    assert codes(verify_bytes(pack.build())) == ["linkKindMismatch"]


def test_an_absent_object_is_reported_with_its_path() -> None:
    # PK3, PH1
    pack = PackBuilder()
    inner = pack.add("tree", packs.tree_bytes([(b"100644", b"file\x1b", GONE)]))
    root = pack.add("tree", packs.tree_bytes([(b"40000", b"dir", inner.oid)]))
    pack.add("commit", packs.commit_bytes(root.oid))
    found = verify_bytes(pack.build()).findings.sorted()
    path = b"dir/file\x1b"
    assert [(f.code.name, f.oid, f.path, f.offset) for f in found] == [
        ("controlInName", inner.oid, path, inner.offset),
        ("absentObject", GONE, path, inner.offset),
    ]


def _thin() -> tuple[bytes, packs.Handle]:
    base = outside("blob", b"a base that only the receiver has\n")
    pack = PackBuilder()
    pack.add_ref(base, packs.edit(base.data, 0, 1, b"the")[0])
    return pack.build(), base


def test_a_thin_pack_needs_its_base_and_the_base_is_hashed() -> None:
    # PD14 to PD16
    data, base = _thin()
    missing = verify_bytes(data)
    assert (missing.klass, codes(missing)) == (5, ["missingDeltaBase"])
    assert missing.findings.sorted()[0].oid == base.oid
    given = {base.oid: (3, base.data)}
    assert verify_bytes(data, Options(read_base=given.get)).accepted
    tampered = {base.oid: (3, base.data + b"!")}
    report = verify_bytes(data, Options(read_base=tampered.get))
    assert (report.klass, codes(report)) == (6, ["corruptBaseObject"])


# --- the second look ----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [b"", b"\0" * 64, b"\x9d" * 64], ids=repr)
def test_a_file_that_changes_between_the_looks_is_refused(answer: bytes) -> None:
    # PA9, PJ11: the base is read again, and what comes is not what it was.
    pack = PackBuilder()
    blob = pack.add("blob", b"a base that is read again\n")
    pack.add_ofs(blob, delta(26, 3, insert(b"abc")))
    data = pack.build()
    verifier = Verifier(Options(), length=len(data))
    verifier.feed(data)
    report = verifier.finish(lambda _offset, length: answer[:length])
    assert (report.klass, codes(report)) == (6, ["inputChanged"])
    assert report.findings.sorted()[0].offset == blob.offset


@pytest.mark.parametrize("missing", [1, 30, 1000])
@pytest.mark.parametrize("make", [packs.small_honest_pack, honest_bundle])
def test_a_file_that_is_shorter_than_it_was_has_changed(
    make: Callable[[], bytes], missing: int
) -> None:
    data = make()
    length = len(data) + missing
    verdict = verify_in_all_cuts(data, length=length)
    assert (verdict.klass, verdict.codes, verdict.sha256) == (6, ["inputChanged"], None)
    message = f"the file had {length} bytes when it was opened, and now has fewer"
    assert [seen.message for seen in verdict.findings] == [message]
    assert verdict.at("inputChanged") == [None]


@pytest.mark.parametrize("more", [1, 30])
@pytest.mark.parametrize("make", [packs.small_honest_pack, honest_bundle])
def test_a_file_that_is_longer_than_it_was_has_changed(
    make: Callable[[], bytes], more: int
) -> None:
    # The same is found in every cut: what came before the surplus counts, and no length but the
    # known one is a part of the report.
    data = make()
    verdict = verify_in_all_cuts(data, length=len(data) - more)
    assert (verdict.klass, verdict.codes, verdict.sha256) == (6, ["inputChanged"], None)
    assert verdict.at("inputChanged") == [None]


@pytest.mark.parametrize("length", [0, 5, 100])
def test_a_change_of_length_outranks_what_ends_too_early(length: int) -> None:
    # A file that was cut while it was read must not be called corrupt.
    data = packs.small_honest_pack()
    for given in (data[:length], honest_bundle()[:length]):
        verdict = verify_in_all_cuts(given, length=len(data))
        assert (verdict.klass, verdict.codes) == (6, ["inputChanged"])


def test_only_what_is_needed_is_read_again() -> None:
    data = packs.blob_pack(b"one", b"two", b"three")
    verifier = Verifier(Options(), length=len(data))
    verifier.feed(data)
    assert verifier.finish(never).accepted


@pytest.mark.parametrize("budget", [0, 100, 2_000, 32 << 20])
def test_no_verdict_depends_on_the_budget(budget: int) -> None:
    example = packs.chain(60)
    report = verify_bytes(example.pack, Options(cache_budget=budget))
    assert (report.accepted, report.delta_depth) == (True, 60)
    assert report.rebuilt_bytes == 60 * len(example.handles[0].data)


# --- wrong use ----------------------------------------------------------------------------------


def test_a_lost_object_is_no_duplicate_of_anything() -> None:
    # Two deltas that wait for one base have no id yet, and so not the same one.
    pack = PackBuilder()
    for _ in range(2):
        pack.add_ref(GONE, delta(5, 5, copy(0, 5)))
    report = verify_bytes(pack.build())
    assert codes(report) == ["missingDeltaBase"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_may_be_fed_and_are_not_kept(kind: Callable[[bytes], bytes]) -> None:
    data = packs.small_honest_pack()
    verifier = Verifier(Options(), length=len(data))
    buffer = bytearray(data)
    for at in range(0, len(data), 100):
        verifier.feed(kind(bytes(buffer[at : at + 100])))
        buffer[at : at + 100] = bytes(len(buffer[at : at + 100]))
    report = verifier.finish(lambda offset, length: data[offset : offset + length])
    assert report.accepted
    assert report.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("tips", [{"refs/heads/x": GONE}, {b"refs/heads/x": GONE.hex()}], ids=repr)
def test_tips_that_are_no_bytes_are_the_callers_mistake(tips: dict[bytes, bytes]) -> None:
    with pytest.raises(MisuseError, match=r"^tips"):
        Options(tips=tips)


def test_unknown_rules_are_the_callers_mistake() -> None:
    with pytest.raises(MisuseError, match="unknown rule set 'strict'; known: candidate, git"):
        Verifier(Options(rules="strict"))


def test_the_parents_of_commits_are_told_and_nothing_of_what_tags_name() -> None:
    pack = PackBuilder()
    tree = pack.add("tree", b"")
    commits = [
        pack.add("commit", packs.commit_bytes(tree.oid, message=b"%d\n" % n)) for n in (1, 2)
    ]
    parents = [commit.oid for commit in commits]
    merge = pack.add("commit", packs.commit_bytes(tree.oid, [*parents, GONE]))
    pack.add("tag", packs.tag_bytes(merge.oid))
    data = pack.build()
    verifier = Verifier(Options())
    verifier.feed(data)
    verifier.finish(lambda offset, length: data[offset : offset + length])
    assert verifier.parents() == {merge.oid: (*parents, GONE)}
