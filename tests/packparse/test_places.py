"""Paths for findings: from the root of a commit down to the object that is named."""

from __future__ import annotations

import tracemalloc

import pytest

from packparse import checks, codes, pathcodes, places
from packparse.errors import PackError
from packparse.findings import Finding
from packparse.graph import LinkTable
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.objects.tree import TreeReader
from packparse.options import Options
from packparse.reader import ObjectReader
from packparse.report import Report
from packparse.table import EntryTable
from packparse.verify import Verifier, verify_bytes
from tests.support import packs
from tests.support.packs import (
    Handle,
    PackBuilder,
    commit_bytes,
    copy,
    delta,
    insert,
    tag_bytes,
    tree_bytes,
)

K = 1 << 10
M = 1 << 20
ABSENT = b"\x22" * 20


def only_absent(report: Report) -> Finding:
    found = [f for f in report.findings.sorted() if f.code is checks.ABSENT_OBJECT]
    assert len(found) == 1
    return found[0]


def nested(pack: PackBuilder, *names: bytes, target: bytes, mode: bytes = b"100644") -> Handle:
    """Append folders, the deepest first, and a commit; the last name is that of the target."""
    blob = pack.add("blob", b"a neighbour\n")
    handle = None
    for name in reversed(names):
        link = (mode, name, target) if handle is None else (b"40000", name, handle.oid)
        handle = pack.add("tree", tree_bytes([link, (b"100644", b"neighbour", blob.oid)]))
    root = handle.oid if handle else target
    return pack.add("commit", commit_bytes(root))


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize(
    "names",
    [(b"file",), (b"folder", b"file"), (b"a", b"b", b"c", b"d.txt"), (b"sp ace", b"\xff\n\x1b")],
    ids=["at the root", "in a folder", "four deep", "in odd names"],
)
@pytest.mark.parametrize("mode", [b"100644", b"120000", b"40000"], ids=bytes.decode)
def test_an_absent_object_is_named_by_its_path(
    names: tuple[bytes, ...], mode: bytes, fmt: str
) -> None:
    target = packs.oid("blob", b"absent", fmt)
    pack = PackBuilder(fmt)
    nested(pack, *names, target=target, mode=mode)
    report = verify_bytes(pack.build(), Options(object_format=FORMATS[fmt]))
    finding = only_absent(report)
    assert finding.path == b"/".join(names)
    assert finding.oid == target
    # Where the entry is that names it: the deepest folder, which was written first.
    assert finding.offset == pack.handles[1].offset
    assert report.klass == 5


def test_the_tree_of_a_commit_has_the_empty_path() -> None:
    pack = PackBuilder()
    commit = nested(pack, target=ABSENT)
    finding = only_absent(verify_bytes(pack.build()))
    assert (finding.path, finding.offset) == (b"", commit.offset)


def test_an_absent_parent_has_no_path() -> None:
    pack = PackBuilder()
    commit = pack.add("commit", commit_bytes(pack.add("tree", b"").oid, [ABSENT]))
    finding = only_absent(verify_bytes(pack.build()))
    assert (finding.oid, finding.path, finding.offset) == (ABSENT, None, commit.offset)


@pytest.mark.parametrize("kind", [b"commit", b"tree", b"blob", b"tag"])
def test_the_target_of_a_tag_has_no_path(kind: bytes) -> None:
    pack = PackBuilder()
    pack.add("blob", b"before")
    tag = pack.add("tag", tag_bytes(ABSENT, kind))
    finding = only_absent(verify_bytes(pack.build()))
    assert (finding.oid, finding.path, finding.offset) == (ABSENT, None, tag.offset)


def test_a_tree_that_no_commit_reaches_gives_no_path() -> None:
    pack = PackBuilder()
    pack.add("tree", tree_bytes([(b"100644", b"file", ABSENT)]))
    assert only_absent(verify_bytes(pack.build())).path is None


def test_paths_are_found_through_trees_that_are_deltas() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"there\n")
    listed = [(b"100644", b"file%02d" % n, blob.oid) for n in range(30)]
    base = pack.add("tree", tree_bytes(listed))
    at = base.data.index(b"file17\0") + 7
    inner = pack.add_ofs(base, packs.edit(base.data, at, 20, ABSENT)[0])
    outer = pack.add_ref(inner, packs.edit(inner.data, at, 20, blob.oid[:19] + b"\0")[0])
    root = pack.add(
        "tree", tree_bytes([(b"40000", b"in", inner.oid), (b"40000", b"out", outer.oid)])
    )
    pack.add("commit", commit_bytes(root.oid))
    report = verify_bytes(pack.build())
    paths = {f.oid: f.path for f in report.findings.sorted()}
    assert paths == {ABSENT: b"in/file17", blob.oid[:19] + b"\0": b"out/file17"}


def test_paths_are_found_through_a_thin_tree() -> None:
    base = packs.outside("tree", tree_bytes([(b"100644", b"file", packs.oid("blob", b"x"))]))
    pack = PackBuilder()
    made = pack.add_ref(base, packs.edit(base.data, len(base.data) - 20, 20, ABSENT)[0])
    pack.add("commit", commit_bytes(made.oid))
    options = Options(read_base=lambda oid: (2, base.data) if oid == base.oid else None)
    assert only_absent(verify_bytes(pack.build(), options)).path == b"file"


def test_folders_below_the_depth_that_is_looked_at_give_no_path_and_no_error() -> None:
    pack = PackBuilder()
    nested(pack, *(b"%d" % n for n in range(300)), target=ABSENT)
    finding = only_absent(verify_bytes(pack.build()))
    assert finding.path is None


def test_all_findings_that_are_kept_get_a_path_and_all_are_counted() -> None:
    pack = PackBuilder()
    listed = [(b"100644", b"%04d" % n, n.to_bytes(20, "big")) for n in range(1, 251)]
    pack.add("commit", commit_bytes(pack.add("tree", tree_bytes(listed)).oid))
    report = verify_bytes(pack.build())
    kept = [f for f in report.findings.sorted() if f.code is checks.ABSENT_OBJECT]
    assert report.findings.count(checks.ABSENT_OBJECT) == 250
    assert [f.path for f in kept] == [b"%04d" % n for n in range(1, 101)]
    assert {f.offset for f in kept} == {pack.handles[0].offset}


def test_a_mismatch_is_found_at_an_entry_that_links() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"no tree")
    tree = pack.add("tree", tree_bytes([(b"40000", b"folder", blob.oid)]))
    pack.add("commit", commit_bytes(tree.oid))
    (finding,) = verify_bytes(pack.build()).findings.sorted()
    assert finding.code is checks.LINK_KIND_MISMATCH
    assert (finding.oid, finding.path, finding.offset) == (blob.oid, b"folder", tree.offset)


# --- entries of trees, and special files ----------------------------------------------------------


def in_folders(pack: PackBuilder, tree: Handle, *names: bytes) -> Handle:
    """Append folders around a tree, and a commit."""
    for name in reversed(names):
        tree = pack.add("tree", tree_bytes([(b"40000", name, tree.oid)]))
    return pack.add("commit", commit_bytes(tree.oid))


@pytest.mark.parametrize("folders", [(), (b"a",), (b"a", b"b", b"c")], ids=len)
def test_what_is_odd_about_an_entry_is_found_at_its_own_path(folders: tuple[bytes, ...]) -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    tree = pack.add("tree", tree_bytes([(b"100644", b".git", blob.oid)]))
    in_folders(pack, tree, *folders)
    (finding,) = verify_bytes(pack.build()).findings.sorted()
    assert (finding.code, finding.path) == (pathcodes.HAS_DOTGIT, b"/".join([*folders, b".git"]))
    assert (finding.offset, finding.oid) == (tree.offset, tree.oid)


def test_of_colliding_names_the_first_is_the_path() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    listed = [(b"100644", name, blob.oid) for name in (b"A", b"a")]
    in_folders(pack, pack.add("tree", tree_bytes(listed)), b"folder")
    (finding,) = verify_bytes(pack.build()).findings.sorted()
    assert (finding.code, finding.path) == (pathcodes.CASE_COLLISION, b"folder/A")


def test_a_tree_that_only_a_tag_names_gives_no_path() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    tree = pack.add("tree", tree_bytes([(b"100644", b".git", blob.oid)]))
    pack.add("tag", tag_bytes(tree.oid, b"tree"))
    (finding,) = verify_bytes(pack.build()).findings.sorted()
    assert (finding.path, finding.offset) == (None, tree.offset)


def test_the_root_of_a_commit_is_a_better_place_than_a_folder() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    tree = pack.add("tree", tree_bytes([(b"100644", b".git", blob.oid)]))
    in_folders(pack, tree, b"deep", b"down")
    in_folders(pack, tree)
    (finding,) = verify_bytes(pack.build()).findings.sorted()
    assert finding.path == b".git"


@pytest.mark.parametrize("first", ["link first", "file first"])
@pytest.mark.parametrize("where", ["in one folder", "in two folders"])
def test_a_blob_that_is_a_file_as_well_is_found_where_it_is_a_link(first: str, where: str) -> None:
    link, file = (b"120000", b"link"), (b"100644", b"file")
    pack = PackBuilder()
    blob = pack.add("blob", b"/etc/passwd")
    if where == "in one folder":
        names = (b"a", b"b") if first == "link first" else (b"b", b"a")
        listed = [
            (mode, name, blob.oid) for (mode, _), name in zip((link, file), names, strict=True)
        ]
        pack.add("commit", commit_bytes(pack.add("tree", tree_bytes(listed)).oid))
        path = names[0]
    else:
        kinds = (link, file) if first == "link first" else (file, link)
        trees = [pack.add("tree", tree_bytes([(mode, name, blob.oid)])) for mode, name in kinds]
        listed = [(b"40000", b"d%d" % n, tree.oid) for n, tree in enumerate(trees)]
        pack.add("commit", commit_bytes(pack.add("tree", tree_bytes(listed)).oid))
        path = b"d%d/link" % kinds.index(link)
    (finding,) = verify_bytes(pack.build()).findings.sorted()
    assert (finding.code, finding.path) == (pathcodes.SYMLINK_ABSOLUTE, path)


def test_of_very_many_places_a_link_need_not_be_the_one_that_is_found() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"/etc/passwd")
    modes = [b"100644"] * 10 + [b"120000"]
    trees = [pack.add("tree", tree_bytes([(m, b"%d" % n, blob.oid)])) for n, m in enumerate(modes)]
    listed = [(b"40000", b"%02d" % n, tree.oid) for n, tree in enumerate(trees)]
    pack.add("commit", commit_bytes(pack.add("tree", tree_bytes(listed)).oid))
    (finding,) = verify_bytes(pack.build()).findings.sorted()
    assert (finding.code, finding.path) == (pathcodes.SYMLINK_ABSOLUTE, b"00/0")


@pytest.mark.parametrize("length", [256, 4_097])
def test_of_a_very_long_name_the_beginning_is_the_path(length: int) -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    tree = pack.add("tree", tree_bytes([(b"100644", b"n" * length, blob.oid)]))
    in_folders(pack, tree, b"folder")
    report = verify_bytes(pack.build())
    (finding,) = (f for f in report.findings.sorted() if f.code is checks.NAME_TOO_LONG)
    assert (finding.offset, finding.path) == (tree.offset, b"folder/" + b"n" * 256)


@pytest.mark.parametrize(
    ("length", "found"), [(4_096, True), (4_097, False)], ids=["4,096 bytes", "4,097 bytes"]
)
def test_a_very_long_name_that_is_allowed_is_no_path(length: int, found: bool) -> None:
    pack = PackBuilder()
    name = b"n" * length
    tree = pack.add("tree", tree_bytes([(b"100644", name, bytes(20))]))
    in_folders(pack, tree)
    options = Options(limits=Limits(changes={"name_bytes": 10_000, "path_bytes": 10_000}))
    report = verify_bytes(pack.build(), options)
    (finding,) = (f for f in report.findings.sorted() if f.code is checks.NULL_SHA1)
    assert (finding.offset, finding.path) == (tree.offset, name if found else None)


# --- cost -----------------------------------------------------------------------------------------


def test_trees_that_rest_on_each_other_by_id_do_not_keep_the_search() -> None:
    # As in git's t5309: by id each tree rests on the other, and a whole copy ends it.
    one = packs.outside("tree", tree_bytes([(b"100644", b"other", b"\x11" * 20)]))
    two = packs.outside("tree", tree_bytes([(b"100644", b"name", ABSENT)]))
    pack = PackBuilder()
    for base, target in ((two, one), (one, two)):
        change = delta(len(base.data), len(target.data), insert(target.data))
        pack.add_ref(base, change, target.data, kind="tree")
    pack.add("tree", one.data)
    pack.add("commit", commit_bytes(two.oid))
    built = pack.build()
    left = 10_000

    def read_at(offset: int, length: int) -> bytes:
        nonlocal left
        left -= 1
        assert left, "the search goes round in the cycle"
        return built[offset : offset + length]

    verifier = Verifier(Options())
    verifier.feed(built)
    report = verifier.finish(read_at)
    assert report.findings.count(codes.DUPLICATE_OBJECT) == 1
    assert ABSENT in {f.oid for f in report.findings.sorted()}


@pytest.mark.parametrize("given", [b"", b"\xff", b"\x70", b"\xff" * 60, bytes(60)])
def test_a_file_that_changes_before_the_search_gives_a_report(given: bytes) -> None:
    pack = PackBuilder()
    nested(pack, b"folder", b"file", target=ABSENT)
    verifier = Verifier(Options())
    verifier.feed(pack.build())
    try:
        report = verifier.finish(lambda _at, _length: given)
    except PackError:
        pytest.fail("nothing is raised for what the bytes are")
    assert report.klass in {5, 6}
    assert not report.accepted


def tower(levels: int, size: int) -> bytes:
    """Return a pack of folders in folders with names of `size` bytes, made from each other.

    A few kilobytes; the path of the lowest file, which is absent, has `levels` times `size`.
    """
    pack = PackBuilder()
    name = b"x" * size
    folder = pack.add("tree", b"40000 " + name + b"\0" + ABSENT)
    for _ in range(levels - 1):
        change = delta(len(folder.data), len(folder.data), copy(0, size + 7), insert(folder.oid))
        folder = pack.add_ofs(folder, change, folder.data[:-20] + folder.oid)
    pack.add("commit", commit_bytes(folder.oid))
    return pack.build()


def test_a_tower_of_long_names_takes_little_memory_and_no_long_path() -> None:
    built = tower(60, 64 * K)
    assert len(built) < 100 * K
    verify_bytes(packs.small_honest_pack())  # what is loaded late is loaded now
    tracemalloc.start()
    report = verify_bytes(built)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    finding = only_absent(report)
    assert finding.path is None or len(finding.path) <= 64 * K
    # What is rebuilt for the check itself has 15 MiB in all and is not held.
    assert peak < 8 * M


def large_tower(levels: int) -> tuple[bytes, int]:
    """Return a pack of folders in folders, each of 64 KiB and made from the one below; and a sum.

    That is the size of all that is made when the lowest one is.
    """
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    filler = [(b"100644", b"z%05d" % n, blob.oid) for n in range(64 * K // 34)]
    folder = pack.add("tree", tree_bytes([(b"40000", b"d", ABSENT), *filler]))
    start = len(b"40000 d\0")
    for _ in range(levels - 1):
        ops = (copy(0, start), insert(folder.oid), copy(start + 20, len(folder.data) - start - 20))
        data = folder.data[:start] + folder.oid + folder.data[start + 20 :]
        folder = pack.add_ofs(folder, delta(len(data), len(data), *ops), data)
    pack.add("commit", commit_bytes(folder.oid))
    return pack.build(), levels * len(folder.data)


@pytest.mark.parametrize(
    ("levels", "room", "found"),
    [(20, 0, True), (100, 8 * M, True), (100, 0, False)],
    ids=["low", "high", "high and nothing is kept"],
)
def test_the_search_makes_a_bounded_number_of_bytes(
    monkeypatch: pytest.MonkeyPatch, levels: int, room: int, found: bool
) -> None:
    built, whole = large_tower(levels)
    monkeypatch.setattr(ObjectReader.__init__, "__kwdefaults__", {"room": room})
    made: list[int] = []
    plain_fill = places.Places.fill

    def fill(
        place: places.Places,
        table: EntryTable,
        links: LinkTable,
        objects: ObjectReader,
        reader: TreeReader,
    ) -> None:
        before = objects.work
        plain_fill(place, table, links, objects, reader)
        made.append(objects.work - before)

    monkeypatch.setattr(places.Places, "fill", fill)
    finding = only_absent(verify_bytes(built))
    # Each folder rests on all those below it: rebuilt for each step up, that is quadratic.
    assert made[0] <= places._WORK // places._TREE_BYTE + whole  # noqa: SLF001 - its bound
    assert finding.path == (b"/".join([b"d"] * levels) if found else None)
    assert finding.offset is not None


# --- searches that are given up -------------------------------------------------------------------


def _in_a_folder() -> tuple[bytes, Handle]:
    pack = PackBuilder()
    nested(pack, b"folder", b"file", target=ABSENT)
    return pack.build(), pack.handles[1]


def test_without_any_work_left_neither_place_nor_path_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "_WORK", -1)
    finding = only_absent(verify_bytes(_in_a_folder()[0]))
    assert (finding.oid, finding.offset, finding.path) == (ABSENT, None, None)


def test_the_entry_is_named_where_the_path_would_cost_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Enough to go through the links of one kind, not to read a tree.
    monkeypatch.setattr(places, "_WORK", 100)
    data, folder = _in_a_folder()
    finding = only_absent(verify_bytes(data))
    assert (finding.oid, finding.offset, finding.path) == (ABSENT, folder.offset, None)


def test_a_thin_tree_whose_base_is_gone_gives_no_path() -> None:
    base = packs.outside("tree", tree_bytes([(b"100644", b"file", packs.oid("blob", b"x"))]))
    pack = PackBuilder()
    made = pack.add_ref(base, packs.edit(base.data, len(base.data) - 20, 20, ABSENT)[0])
    pack.add("commit", commit_bytes(made.oid))
    answers = [(2, base.data)]
    options = Options(read_base=lambda _oid: answers.pop() if answers else None)
    finding = only_absent(verify_bytes(pack.build(), options))
    assert answers == []
    assert (finding.offset, finding.path) == (made.offset, None)
