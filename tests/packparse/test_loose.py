"""Loose objects put together as those of a pack are: the checks, the limits, second looks."""

from __future__ import annotations

import hashlib
import tracemalloc
import zlib
from collections.abc import Callable, Iterable

import pytest

from packparse import checks, codes, pathcodes
from packparse.codes import Code
from packparse.entry import KIND_NAMES
from packparse.errors import PackError
from packparse.limits import SPECS
from packparse.loose import LooseReader, LooseVerifier
from packparse.objectformat import FORMATS, SHA1, SHA256, ObjectFormat
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.signs import LONGEST_POINTER, POINTER
from packparse.verify import verify_bytes
from tests.packparse.test_loose_stream import STREAMS
from tests.support import packs
from tests.support.loose import Loose, history, loose, of, whole
from tests.support.packs import PackBuilder, commit_bytes, tag_bytes, tree_bytes
from tests.support.reports import names, with_limits

TEXT = b"some text to be compressed, " * 30
MIB = 1 << 20


# --- a folder of them ---------------------------------------------------------------------------


class Store:
    """Files by raw id, given out in pieces; what was asked for is counted."""

    def __init__(self, objects: Iterable[Loose]) -> None:
        self.files = {item.oid: item.file for item in objects}
        self.reads: list[bytes] = []

    def read(self, oid: bytes, feed: Callable[[bytes], None]) -> None:
        self.reads.append(oid)
        file = self.files[oid]
        for at in range(0, len(file), 1000):
            feed(file[at : at + 1000])

    def verify(self, options: Options | None = None) -> Report:
        verifier = LooseVerifier(options or Options(), self.read, name="a folder")
        counts = dict.fromkeys(FORMATS.values(), 0)
        for oid in self.files:
            counts[SHA1 if len(oid) == 20 else SHA256] += 1
        try:
            for _ in self.files:
                verifier.count()
            verifier.choose(counts)
            verifier.begin(sum(map(len, self.files.values())))
            for oid in sorted(self.files):
                verifier.take(oid)
        except PackError as error:
            verifier.refuse(error)
        return verifier.finish()


def verify(objects: Iterable[Loose], options: Options | None = None) -> Report:
    report = Store(objects).verify(options)
    assert all(finding.offset is None for finding in report.findings.sorted())
    return report


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("rules", codes.RULES)
def test_an_honest_folder_is_accepted(fmt: str, rules: str) -> None:
    objects = history(fmt)
    report = verify(objects, Options(rules=rules))
    assert (report.klass, report.findings.sorted()) == (0, [])
    assert (report.kind, report.object_format) == ("loose objects", fmt)
    assert report.bytes == sum(len(item.file) for item in objects)
    assert (report.sha256, report.pack_checksum) == (None, None)
    kinds = {"commits": 2, "trees": 2, "blobs": 5, "tags": 1}
    assert report.counts == {"objects": 10, **kinds, "deltas": 0}
    inflated = sum(int(zlib.decompress(i.file).split(b"\0")[0].split()[1]) for i in objects)
    assert report.inflated_bytes == inflated


def test_an_empty_folder_is_what_an_empty_pack_is() -> None:
    report = verify([])
    assert (report.klass, names(report, "note")) == (0, ["emptyPack"])
    assert (report.kind, report.object_format) == ("loose objects", "sha1")


@pytest.mark.parametrize(("code", "file"), STREAMS.values(), ids=STREAMS)
def test_a_damaged_file_loses_its_object_and_no_other(code: Code, file: bytes) -> None:
    objects = history()
    damaged = Loose(packs.oid("blob", TEXT), file)
    report = verify([*objects, damaged])
    (finding,) = [f for f in report.findings.sorted() if f.severity == "error"]
    assert finding.code is code
    # Where it is, since there is no offset; its id is only what its name says.
    assert finding.message.startswith(f"{damaged.path}: ")
    assert finding.oid is None
    assert report.counts["objects"] == len(objects)
    assert names(report, "note") == ["linksNotChecked"]


def test_padding_is_no_matter_under_the_rules_of_git() -> None:
    item = Loose(packs.oid("blob", TEXT), packs.padded(whole("blob", TEXT), 2_000))
    assert names(verify([item])) == ["paddedDeflate"]
    report = verify([item], Options(rules="git"))
    assert (report.klass, report.findings.sorted(), report.counts["blobs"]) == (0, [], 1)


def test_what_a_damaged_file_would_explain_is_not_reported() -> None:
    objects = history()
    verdict = verify([Loose(objects[1].oid, b""), *objects[2:]])
    assert names(verdict) == ["truncated"]
    # The honest neighbour of that: the file is not there at all.
    assert names(verify(objects[2:])) == ["absentObject", "absentObject"]


def test_a_file_of_another_name_is_refused() -> None:
    honest = loose("blob", TEXT)
    wrong = Loose(packs.oid("blob", b"another"), honest.file)
    report = verify([wrong])
    (finding,) = [f for f in report.findings.sorted() if f.severity == "error"]
    assert finding.code is checks.LOOSE_ID_MISMATCH
    assert finding.message == f"{wrong.path}: the content hashes to {honest.oid.hex()}"
    # The one thing that is known of it.
    assert finding.oid == honest.oid
    assert verify([honest]).accepted


def test_the_kind_is_part_of_the_id() -> None:
    empty = loose("tree", b"")
    assert verify([empty]).accepted
    assert names(verify([Loose(empty.oid, loose("blob", b"").file)])) == ["looseIdMismatch"]


@pytest.mark.parametrize("fmt", FORMATS)
def test_ids_are_those_of_the_format(fmt: str) -> None:
    other = "sha256" if fmt == "sha1" else "sha1"
    width = packs.oid_length(fmt)
    cut = (packs.oid("blob", TEXT, other) * 2)[:width]
    assert names(verify([Loose(cut, loose("blob", TEXT).file)])) == ["looseIdMismatch"]


def test_after_a_hundred_damaged_files_no_more_are_read() -> None:
    # Each may cost 10 ms of looking for what is wrong with it.
    files = [Loose(packs.oid("blob", b"%d" % n), b"no stream") for n in range(300)]
    store = Store(files)
    report = store.verify()
    assert len(store.reads) == 100
    assert report.findings.count(codes.BAD_DEFLATE) == 100
    assert names(report, "note") == ["linksNotChecked"]
    store = Store([*files[:99], *history()])
    assert len(store.verify().findings.sorted()) == 100
    assert len(store.reads) == 99 + 10


def test_damaged_files_do_not_hide_what_is_found_in_others() -> None:
    bad = loose("commit", b"no commit\n")
    report = verify([bad, Loose(packs.oid("blob", TEXT), b"")])
    assert names(report) == ["missingTree", "truncated"]


def test_the_checks_are_those_of_a_pack() -> None:
    """Whatever is found in whole objects of a pack is found in loose ones, offsets aside."""
    pack = PackBuilder()
    blob = pack.add("blob", b"x")
    link = pack.add("blob", b"../../etc/passwd")
    modules = pack.add("blob", b'[submodule "a"]\n\tpath = -x\n\turl = -y\n')
    entries = [
        (b"100644", b".GIT", blob.oid),
        (b"100644", b".gitmodules", modules.oid),
        (b"40000", b"gone", b"\xab" * 20),
        (b"120000", b"link", link.oid),
    ]
    tree = pack.add("tree", tree_bytes(entries))
    commit = pack.add("commit", commit_bytes(tree.oid, message=b"\x1b[31m\n"))
    pack.add("commit", commit_bytes(tree.oid, [commit.oid, commit.oid]))
    pack.add("commit", b"no commit")
    pack.add("tag", tag_bytes(blob.oid, b"tree"))

    def told(report: Report) -> list[tuple[object, ...]]:
        return sorted(
            (f.code.name, f.severity, f.oid or b"", f.path or b"", f.message)
            for f in report.findings.sorted()
        )

    for rules in codes.RULES:
        options = Options(rules=rules)
        as_pack, as_files = verify_bytes(pack.build(), options), verify(of(pack.handles), options)
        assert told(as_files) == told(as_pack)
        assert as_files.counts == as_pack.counts
        assert as_files.klass == as_pack.klass != 0


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_path_of_a_finding_is_found(fmt: str) -> None:
    pack = PackBuilder(fmt)
    link = pack.add("blob", b"/etc/passwd")
    inner = pack.add("tree", tree_bytes([(b"120000", b"link", link.oid)]))
    root = pack.add("tree", tree_bytes([(b"40000", b"folder", inner.oid)]))
    pack.add("commit", commit_bytes(root.oid))
    report = verify(of(pack.handles, fmt))
    (finding,) = [f for f in report.findings.sorted() if f.code is pathcodes.SYMLINK_ABSOLUTE]
    assert (finding.path, finding.oid) == (b"folder/link", link.oid)


def test_a_pointer_of_lfs_is_found() -> None:
    content = POINTER + b"https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 12\n"
    pointer = loose("blob", content % (b"a" * 64))
    assert names(verify([pointer]), "note") == ["lfsPointer"]
    assert names(verify([loose("blob", content)]), "note") == []


def test_a_large_blob_is_no_pointer() -> None:
    item = loose("blob", POINTER + bytes(LONGEST_POINTER))
    assert verify([item]).findings.sorted() == []


# --- ranges -------------------------------------------------------------------------------------


def test_a_range_must_be_exact() -> None:
    base = b"\xba" * 20
    objects = history(base=base, tagged=False)
    tip = objects[-1].oid
    asked = Options(tips={b"the tip": tip}, bases=frozenset({base}), known={base: 1}.get)
    report = verify(objects, asked)
    assert report.accepted
    assert report.tips == {b"the tip": tip}
    assert report.prerequisites == [base]
    stowaway = loose("blob", b"stowaway")
    assert names(verify([*objects, stowaway], asked)) == ["stowawayObject"]
    assert names(verify(objects[:-1], asked)) == ["missingTip"]


def test_what_the_range_rests_on_must_have_been_given() -> None:
    base = b"\xba" * 20
    objects = history(base=base, tagged=False)
    assert names(verify(objects)) == ["absentObject"]
    nothing = Options(bases=frozenset({b"\xbb" * 20}), known=lambda _oid: None)
    assert names(verify(objects, nothing)) == ["absentObject"]
    open_ended = verify(objects, Options(bases=frozenset({b"\xbb" * 20})))
    assert (open_ended.klass, names(open_ended, "note")) == (
        0,
        ["baseNotCompared", "uncheckedLinks"],
    )


# --- formats ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_format_that_was_asked_for_must_be_that_of_the_names(fmt: str) -> None:
    for asked in FORMATS.values():
        report = verify(history(fmt), Options(object_format=asked))
        assert names(report) == ([] if asked.name == fmt else ["objectFormatMismatch"])
        assert report.klass == (0 if asked.name == fmt else codes.CORRUPT)


@pytest.mark.parametrize("asked", FORMATS.values(), ids=FORMATS)
def test_an_empty_folder_has_the_format_that_was_asked_for(asked: ObjectFormat) -> None:
    report = verify([], Options(object_format=asked))
    assert (report.klass, report.object_format) == (0, asked.name)


# --- what is no object --------------------------------------------------------------------------


@pytest.mark.parametrize("rules", codes.RULES)
def test_what_is_no_object_is_refused_under_either_rule_set(rules: str) -> None:
    # git may read it (a pack, alternates) or not; nobody has verified it.
    verifier = LooseVerifier(Options(rules=rules), Store([]).read)
    verifier.choose({SHA1: 0, SHA256: 0})
    verifier.begin(0)
    verifier.unexpected(b"info/\x1balternates", "a file")
    report = verifier.finish()
    (finding,) = [f for f in report.findings.sorted() if f.severity == "error"]
    assert finding.code is checks.UNEXPECTED_FILE
    assert finding.message == '"info/\\033alternates" is a file'
    assert finding.detail == b"info/\x1balternates"
    # It is no path of a commit's tree.
    assert finding.path is None
    assert report.klass == codes.POLICY


def test_no_policy_lets_it_pass() -> None:
    assert not checks.UNEXPECTED_FILE.free


# --- limits -------------------------------------------------------------------------------------


def _sizes(objects: Iterable[Loose]) -> dict[str, int]:
    contents = [zlib.decompress(item.file).partition(b"\0")[2] for item in objects]
    return {
        "objects": len(contents),
        "pack_bytes": sum(len(item.file) for item in objects),
        "object_bytes": max(map(len, contents)),
        "inflated_bytes": sum(map(len, contents)),
        "commits": 2,
        "links": 10,
        "tree_entries": 4,
    }


@pytest.mark.parametrize("name", _sizes(history()))
def test_each_limit_is_exact(name: str) -> None:
    objects = history()
    value = _sizes(objects)[name]
    assert verify(objects, with_limits(**{name: value})).accepted
    report = verify(objects, with_limits(**{name: value - 1}))
    found = [f for f in report.findings.sorted() if f.severity == "error"]
    assert {f.code for f in found} == {SPECS[name].code}
    assert report.klass == codes.LIMIT
    for finding in found:
        assert finding.limit is not None
        assert finding.limit.as_dict() == {"name": name, "value": value - 1, "seen": value}
        assert f"--limit {name}=VALUE" in finding.message


def test_a_limit_on_one_object_lets_the_others_be_looked_at() -> None:
    bad = loose("commit", b"no commit\n")
    report = verify([bad, loose("blob", bytes(2000))], with_limits(object_bytes=1999))
    assert names(report) == ["missingTree", "objectTooLarge"]


@pytest.mark.parametrize("name", ["pack_bytes", "inflated_bytes", "objects"])
def test_past_a_limit_on_all_nothing_more_is_read(name: str) -> None:
    store = Store(loose("blob", bytes(1000) + b"%d" % n) for n in range(50))
    value = {"pack_bytes": 50, "inflated_bytes": 3000, "objects": 49}[name]
    report = store.verify(with_limits(**{name: value}))
    assert report.klass == codes.LIMIT
    assert len(report.findings.sorted()) == 1
    assert len(store.reads) == (3 if name == "inflated_bytes" else 0)


def test_a_bomb_is_refused_by_what_it_declares() -> None:
    # PI4: 512 KiB that inflate to 512 MiB, and one that says so.
    size = 512 * MIB
    opener = zlib.compressobj(9)
    head = opener.compress(b"blob %d\0" % size) + opener.flush(zlib.Z_FULL_FLUSH)
    report = verify([Loose(packs.oid("blob", b"bomb"), head + packs.bomb(MIB)[2:])])
    assert names(report) == ["objectTooLarge"]
    assert report.inflated_bytes == 0


# --- second looks -------------------------------------------------------------------------------


def _table(objects: list[Loose]) -> tuple[LooseVerifier, Store]:
    store = Store(objects)
    verifier = LooseVerifier(Options(), store.read)
    verifier.choose({SHA1: len(objects), SHA256: 0})
    verifier.begin(0)
    for oid in sorted(store.files):
        verifier.take(oid)
    return verifier, store


def test_any_object_is_read_again() -> None:
    objects = history()
    verifier, store = _table(objects)
    reader = LooseReader(verifier.table, store.read)
    made = 0
    for number, oid in enumerate(sorted(store.files)):
        content = reader.read(number)
        made += len(content)
        kind = KIND_NAMES[verifier.table.kinds[number]]
        assert hashlib.sha1(whole(kind, bytes(content))).digest() == oid
    assert reader.work == made


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "another object": lambda _file: loose("blob", b"y").file,
    "another object of its size": lambda _file: loose("blob", TEXT[::-1]).file,
    "an object of another kind": lambda _file: loose("tree", TEXT).file,
    "a bomb": lambda _file: zlib.compress(b"blob %d\0" % (99 * MIB) + bytes(MIB)),
    "nothing": lambda _file: b"",
    "a damaged stream": lambda file: packs.flip(file, -1),
    "bytes after the stream": lambda file: file + b"x",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changed_between_two_looks_is_refused(
    change: Callable[[bytes], bytes],
) -> None:
    item = loose("blob", TEXT)
    verifier, store = _table([item])
    reader = LooseReader(verifier.table, store.read)
    assert reader.read(0) == TEXT
    store.files[item.oid] = change(item.file)
    with pytest.raises(PackError) as caught:
        reader.read(0)
    assert caught.value.code is codes.INPUT_CHANGED
    assert item.path in caught.value.message


def test_a_second_look_keeps_no_more_than_there_was() -> None:
    item = loose("tree", TEXT)
    verifier, store = _table([item])
    reader = LooseReader(verifier.table, store.read)
    store.files[item.oid] = zlib.compress(b"tree %d\0" % (9 * MIB) + bytes(9 * MIB))
    tracemalloc.start()
    try:
        reader.read(0)
    except PackError as error:
        assert error.code is codes.INPUT_CHANGED  # noqa: PT017 - pytest.raises would be traced
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MIB


def test_a_second_look_says_why_a_file_cannot_be_read() -> None:
    item = loose("blob", TEXT)
    verifier, _store = _table([item])

    def fail(_oid: bytes, _feed: Callable[[bytes], None]) -> None:
        raise PackError(codes.CANNOT_READ, "no")

    with pytest.raises(PackError) as caught:
        LooseReader(verifier.table, fail).read(0)
    assert caught.value.code is codes.CANNOT_READ


def test_the_same_object_in_other_clothes_is_the_same() -> None:
    item = loose("blob", TEXT)
    verifier, store = _table([item])
    store.files[item.oid] = loose("blob", TEXT, level=9).file
    assert LooseReader(verifier.table, store.read).read(0) == TEXT


def test_a_change_is_class_6_in_the_report() -> None:
    pack = PackBuilder()
    link = pack.add("blob", b"../x")
    tree = pack.add("tree", tree_bytes([(b"120000", b"link", link.oid)]))
    pack.add("commit", commit_bytes(tree.oid))

    class Changing(Store):
        def read(self, oid: bytes, feed: Callable[[bytes], None]) -> None:
            super().read(oid, feed)
            if oid == link.oid:
                self.files[oid] = loose("blob", b"good").file

    report = Changing(of(pack.handles)).verify()
    assert report.klass == codes.ENVIRONMENT
    assert "inputChanged" in names(report)


def test_a_change_is_found_when_nothing_but_the_place_of_a_finding_is_looked_for() -> None:
    inner = loose("tree", tree_bytes([(b"100644", b".git", history()[0].oid)]))
    outer = loose("tree", tree_bytes([(b"40000", b"d", inner.oid)]))
    commit = loose("commit", commit_bytes(outer.oid))
    store = Store([inner, outer, commit])
    honest = store.verify(Options(rules="git"))
    assert {f.path for f in honest.findings.sorted() if f.code.name == "hasDotgit"} == {b"d/.git"}
    plain = store.read

    def read(oid: bytes, feed: Callable[[bytes], None]) -> None:
        if oid in store.reads:
            raise PackError(codes.INPUT_CHANGED, "the file has changed")
        plain(oid, feed)

    store.reads.clear()
    store.read = read  # type: ignore[method-assign]
    report = store.verify(Options(rules="git"))
    assert "inputChanged" in names(report)


def test_a_file_that_cannot_be_read_ends_the_work() -> None:
    objects = history()

    class Failing(Store):
        def read(self, oid: bytes, feed: Callable[[bytes], None]) -> None:  # noqa: ARG002
            raise PackError(codes.CANNOT_READ, "no")

    store = Failing(objects)
    report = store.verify()
    assert (report.klass, names(report)) == (codes.ENVIRONMENT, ["cannotRead"])


def test_progress_is_told_in_bytes() -> None:
    objects = history()
    store = Store(objects)
    verifier = LooseVerifier(Options(), store.read)
    told: list[tuple[str, int, int | None]] = []
    verifier.on_progress = lambda *what: told.append(what)
    total = sum(map(len, store.files.values()))
    verifier.choose({SHA1: len(objects), SHA256: 0})
    verifier.begin(total)
    for oid in sorted(store.files):
        verifier.take(oid)
    verifier.finish()
    done = [at for phase, at, of_all in told if phase == "reading" and of_all == total]
    assert len(done) == len(objects)
    assert (done, done[-1]) == (sorted(done), total)
    assert told[-1][0] == "checking"


def test_a_policy_sets_severities_here_as_well() -> None:
    bad = loose("commit", commit_bytes(loose("tree", b"").oid, author=b"<a@b> 1 +0000"))
    objects = [bad, loose("tree", b"")]
    assert names(verify(objects)) == ["missingNameBeforeEmail"]
    code = checks.MISSING_NAME_BEFORE_EMAIL
    policy = Policy(severities={code: codes.WARNING})
    assert verify(objects, Options(policy=policy)).accepted
