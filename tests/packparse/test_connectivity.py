"""Every link's target is there and of its kind: in the pack, on the other side, or missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packparse import checks, codes, pathcodes
from packparse.codes import Code
from packparse.entry import BLOB, COMMIT, KIND_NAMES, TAG, TREE
from packparse.errors import MisuseError
from packparse.findings import Findings
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import bundles, packs
from tests.support.bundles import Text
from tests.support.packs import Handle, PackBuilder, commit_bytes, tag_bytes, tree_bytes

KINDS = ("commit", "tree", "blob", "tag")
ABSENT = b"\x22" * 20


def errors(report: Report) -> list[tuple[Code, bytes | None]]:
    found = report.findings.sorted()
    return [(f.code, f.oid) for f in found if f.severity == "error"]


def notes(report: Report) -> list[Code]:
    return [f.code for f in report.findings.sorted() if f.severity == "note"]


def linking(pack: PackBuilder, kind: str, target: bytes) -> Handle:
    """Append an object with one link to `target`, which should be of `kind`."""
    if kind == "blob":
        return pack.add("tree", tree_bytes([(b"100644", b"a", target)]))
    if kind == "tree":
        return pack.add("tree", tree_bytes([(b"40000", b"a", target)]))
    if kind == "commit":
        return pack.add("commit", commit_bytes(pack.add("tree", b"").oid, [target]))
    return pack.add("tag", tag_bytes(target, b"tag"))


def write(pack: PackBuilder, kind: str) -> Handle:
    """Append a complete object of this kind."""
    if kind == "blob":
        return pack.add("blob", b"content")
    blob = pack.add("blob", kind.encode())
    tree = pack.add("tree", tree_bytes([(b"100644", b"file", blob.oid)]))
    if kind == "tree":
        return tree
    commit = pack.add("commit", commit_bytes(tree.oid))
    return commit if kind == "commit" else pack.add("tag", tag_bytes(commit.oid))


LINKS: dict[str, Callable[[PackBuilder, bytes], Handle]] = {
    "a file": lambda pack, oid: linking(pack, "blob", oid),
    "a symbolic link": lambda pack, oid: pack.add("tree", tree_bytes([(b"120000", b"a", oid)])),
    "an executable": lambda pack, oid: pack.add("tree", tree_bytes([(b"100755", b"a", oid)])),
    "a folder": lambda pack, oid: linking(pack, "tree", oid),
    "the tree of a commit": lambda pack, oid: pack.add("commit", commit_bytes(oid)),
    "a parent": lambda pack, oid: linking(pack, "commit", oid),
    "a tagged commit": lambda pack, oid: pack.add("tag", tag_bytes(oid, b"commit")),
    "a tagged tree": lambda pack, oid: pack.add("tag", tag_bytes(oid, b"tree")),
    "a tagged blob": lambda pack, oid: pack.add("tag", tag_bytes(oid, b"blob")),
    "a tagged tag": lambda pack, oid: pack.add("tag", tag_bytes(oid, b"tag")),
}
WANTED = {
    "a file": "blob",
    "a symbolic link": "blob",
    "an executable": "blob",
    "a folder": "tree",
    "the tree of a commit": "tree",
    "a parent": "commit",
    "a tagged commit": "commit",
    "a tagged tree": "tree",
    "a tagged blob": "blob",
    "a tagged tag": "tag",
}


@pytest.mark.parametrize("rules", ["candidate", "git"])
@pytest.mark.parametrize("name", LINKS)
def test_a_target_that_is_nowhere_is_absent(name: str, rules: str) -> None:
    pack = PackBuilder()
    LINKS[name](pack, ABSENT)
    report = verify_bytes(pack.build(), Options(rules=rules))
    assert errors(report) == [(checks.ABSENT_OBJECT, ABSENT)]
    assert report.klass == 5


@pytest.mark.parametrize("actual", KINDS)
@pytest.mark.parametrize("order", ["target first", "target last"])
@pytest.mark.parametrize("name", LINKS)
def test_a_target_in_the_pack_must_be_of_the_kind_that_the_link_says(
    name: str, order: str, actual: str
) -> None:
    pack = PackBuilder()
    if order == "target first":
        target = write(pack, actual)
        LINKS[name](pack, target.oid)
    else:
        scratch = write(PackBuilder(), actual)
        LINKS[name](pack, scratch.oid)
        target = write(pack, actual)
        assert target.oid == scratch.oid
    report = verify_bytes(pack.build())
    if actual == WANTED[name]:
        assert report.accepted
        assert report.findings.sorted() == []
    else:
        assert errors(report) == [(checks.LINK_KIND_MISMATCH, target.oid)]
        assert report.klass == 1
        message = report.findings.sorted()[0].message
        assert f"as a {WANTED[name]}" in message
        assert f"is a {actual}" in message


def test_an_object_linked_to_as_two_kinds_is_wrong_once() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content\n")
    pack.add("tree", tree_bytes([(b"100644", b"a", blob.oid), (b"40000", b"b", blob.oid)]))
    report = verify_bytes(pack.build())
    assert errors(report) == [(checks.LINK_KIND_MISMATCH, blob.oid)]
    assert report.findings.sorted()[0].path is None


@pytest.mark.parametrize("actual", [TREE, BLOB])
def test_a_known_object_linked_to_as_two_kinds_is_wrong(actual: int) -> None:
    pack = PackBuilder()
    pack.add("tree", tree_bytes([(b"100644", b"a", ABSENT), (b"40000", b"b", ABSENT)]))
    report = verify_bytes(pack.build(), Options(known={ABSENT: actual}.get))
    assert errors(report) == [(checks.LINK_KIND_MISMATCH, ABSENT)]
    assert report.klass == 1


def test_the_kind_of_a_rebuilt_target_counts() -> None:
    pack = PackBuilder()
    base = pack.add("blob", b"some content that is long enough\n" * 3)
    made = pack.add_ofs(base, packs.edit(base.data, 3, 4, b"new")[0])
    pack.add("tree", tree_bytes([(b"100644", b"a", made.oid)]))
    assert verify_bytes(pack.build()).accepted
    pack.add("tree", tree_bytes([(b"40000", b"a", made.oid)]))
    assert errors(verify_bytes(pack.build())) == [(checks.LINK_KIND_MISMATCH, made.oid)]


def test_an_absent_target_is_reported_once_however_often_it_is_named() -> None:
    pack = PackBuilder()
    for number in range(50):
        pack.add("tree", tree_bytes([(b"100644", b"%02d" % number, ABSENT)]))
    report = verify_bytes(pack.build())
    assert report.findings.count(checks.ABSENT_OBJECT) == 1


def test_links_are_not_judged_while_objects_are_unknown() -> None:
    pack = PackBuilder()
    LINKS["a file"](pack, ABSENT)
    blob = pack.add("blob", b"content\n")
    pack.add_ofs(blob, packs.delta(9, 8, packs.copy(0, 8)))
    report = verify_bytes(pack.build())
    assert errors(report) == [(codes.DELTA_BASE_SIZE_MISMATCH, None)]
    assert checks.LINKS_NOT_CHECKED in notes(report)
    assert report.klass == 1


@pytest.mark.parametrize("count", [99, 100, 101, 3_000])
def test_all_absent_objects_are_counted_and_a_hundred_are_kept(count: int) -> None:
    pack = PackBuilder()
    listed = [(b"100644", b"%05d" % n, n.to_bytes(20, "big")) for n in range(1, count + 1)]
    pack.add("tree", tree_bytes(listed))
    report = verify_bytes(pack.build())
    kept = [f.oid for f in report.findings.sorted() if f.code is checks.ABSENT_OBJECT]
    assert kept == [target for _, _, target in listed][:100]
    assert report.findings.count(checks.ABSENT_OBJECT) == count


def test_more_links_than_are_looked_at_in_one_batch_are_all_looked_at() -> None:
    # 150,000 different targets of 30 trees; the last one of each is there, as a blob or a tree.
    pack = PackBuilder()
    blob = pack.add("blob", b"content\n")
    empty = pack.add("tree", b"")
    for number in range(30):
        first = (number + 1) << 32
        listed = [(b"100644", b"%06d" % n, (first + n).to_bytes(20, "big")) for n in range(5_000)]
        listed.append((b"100644", b"z", (blob if number else empty).oid))
        pack.add("tree", tree_bytes(listed))
    report = verify_bytes(pack.build(), Options(limits=Limits("history")))
    assert report.findings.count(checks.ABSENT_OBJECT) == 150_000
    assert report.findings.count(checks.LINK_KIND_MISMATCH) == 1
    known = Options(limits=Limits("history"), known=lambda oid: None if oid == empty.oid else BLOB)
    report = verify_bytes(pack.build(), known)
    assert errors(report) == [(checks.LINK_KIND_MISMATCH, empty.oid)]


# --- what the other side has ----------------------------------------------------------------------


@pytest.mark.parametrize("name", LINKS)
def test_a_known_object_of_the_right_kind_completes_a_link(name: str) -> None:
    pack = PackBuilder()
    LINKS[name](pack, ABSENT)
    number = {"commit": COMMIT, "tree": TREE, "blob": BLOB, "tag": TAG}[WANTED[name]]
    answers: dict[bytes, int] = {ABSENT: number}
    report = verify_bytes(pack.build(), Options(known=answers.get))
    # Where a link leads can be said only of what can be read.
    unread = [pathcodes.SYMLINK_NOT_READ] if name == "a symbolic link" else []
    assert [f.code for f in report.findings.sorted()] == unread
    # Known, of a kind that the other side does not tell.
    assert verify_bytes(pack.build(), Options(known={ABSENT: 0}.get)).accepted
    for other in KIND_NAMES:
        if other != number:
            report = verify_bytes(pack.build(), Options(known={ABSENT: other}.get))
            assert errors(report) == [(checks.LINK_KIND_MISMATCH, ABSENT)]
            assert report.klass == 1


def test_what_the_other_side_does_not_know_is_absent_even_with_bases() -> None:
    pack = PackBuilder()
    LINKS["a file"](pack, ABSENT)
    options = Options(bases=frozenset([b"\x33" * 20]), known=lambda _: None)
    report = verify_bytes(pack.build(), options)
    assert errors(report) == [(checks.ABSENT_OBJECT, ABSENT)]
    assert report.unchecked_links == 0


def test_the_other_side_is_asked_only_for_what_the_pack_lacks() -> None:
    example = packs.small_honest()
    asked: list[bytes] = []

    def known(oid: bytes) -> int | None:
        asked.append(oid)
        return None

    assert verify_bytes(example.pack, Options(known=known)).accepted
    assert asked == []


def test_a_base_is_a_commit_that_the_other_side_has() -> None:
    base = b"\x33" * 20
    pack = PackBuilder()
    linking(pack, "commit", base)
    report = verify_bytes(pack.build(), Options(bases=frozenset([base])))
    assert report.accepted
    assert report.unchecked_links == 0
    # A base is no tree, whoever says so.
    wrong = PackBuilder()
    wrong.add("commit", commit_bytes(base))
    report = verify_bytes(wrong.build(), Options(bases=frozenset([base])))
    assert errors(report) == [(checks.LINK_KIND_MISMATCH, base)]


@pytest.mark.parametrize("fmt", FORMATS)
def test_links_that_leave_a_bundle_for_its_prerequisites_are_noted_and_counted(fmt: str) -> None:
    base = packs.oid("commit", b"the base", fmt)
    pack = PackBuilder(fmt)
    new = pack.add("blob", b"new\n")
    gone = [packs.oid("blob", b"%d" % n, fmt) for n in range(3)]
    listed = [(b"100644", b"%d" % n, target) for n, target in enumerate(gone)]
    folder = packs.oid("tree", b"folder", fmt)
    root = pack.add(
        "tree", tree_bytes([*listed, (b"100644", b"new", new.oid), (b"40000", b"f", folder)])
    )
    commit = pack.add("commit", commit_bytes(root.oid, [base]))
    made = bundles.bundle(
        pack.build(),
        [(commit.hex, "refs/heads/main")],
        [base.hex()],
        version=3,
        capabilities=[f"object-format={fmt}"],
    )
    report = verify_bytes(made)
    assert report.accepted
    assert notes(report) == [checks.UNCHECKED_LINKS]
    assert report.unchecked_links == 4
    assert "4" in report.findings.sorted()[0].message
    # With a list of what the other side has, all is checked.
    have = dict.fromkeys(gone, BLOB) | {folder: TREE, base: COMMIT}
    complete = verify_bytes(made, Options(known=have.get))
    assert complete.accepted
    assert complete.findings.sorted() == []
    del have[gone[1]]
    assert errors(verify_bytes(made, Options(known=have.get))) == [(checks.ABSENT_OBJECT, gone[1])]


@pytest.mark.parametrize("kind", [None, TREE, BLOB, TAG])
def test_a_prerequisite_that_the_other_side_does_not_have_as_a_commit_is_missing(
    kind: int | None,
) -> None:
    base = b"\x33" * 20
    pack = PackBuilder()
    tree = pack.add("tree", b"")
    commit = pack.add("commit", commit_bytes(tree.oid, [base]))
    refs: list[tuple[Text, Text] | bytes] = [(commit.hex, "refs/heads/main")]
    made = bundles.bundle(pack.build(), refs, [base.hex(), ABSENT.hex()])
    answers = {base: COMMIT, ABSENT: kind}
    report = verify_bytes(made, Options(known=answers.get))
    assert errors(report) == [(checks.MISSING_PREREQUISITE, ABSENT)]
    assert report.klass == 5
    for answer in (COMMIT, 0):
        there = {base: COMMIT, ABSENT: answer}
        assert verify_bytes(made, Options(known=there.get)).findings.sorted() == []
    # What the caller names as a base is not asked for.
    named = Options(known=lambda _oid: None, bases=frozenset({base, ABSENT}))
    assert [f.code for f in verify_bytes(made, named).findings.sorted()] == [
        checks.BASE_NOT_COMPARED
    ]


@pytest.mark.parametrize("answer", [True, False, -1, 5, "commit", b"", 1.0], ids=repr)
def test_an_answer_that_is_no_kind_is_the_callers_mistake(answer: object) -> None:
    pack = PackBuilder()
    pack.add("tree", tree_bytes([(b"100644", b"a", ABSENT)]))
    with pytest.raises(MisuseError, match="known: the answer is None, 0 or a kind from 1 to 4"):
        verify_bytes(pack.build(), Options(known=lambda _oid: answer))  # type: ignore[arg-type,return-value]


def test_a_kind_mismatch_inside_of_a_bundle_with_prerequisites_is_still_found() -> None:
    base = b"\x33" * 20
    pack = PackBuilder()
    blob = pack.add("blob", b"content\n")
    tree = pack.add("tree", tree_bytes([(b"40000", b"a", blob.oid)]))
    commit = pack.add("commit", commit_bytes(tree.oid, [base]))
    made = bundles.bundle(pack.build(), [(commit.hex, "refs/heads/main")], [base.hex()])
    assert errors(verify_bytes(made)) == [(checks.LINK_KIND_MISMATCH, blob.oid)]


def test_a_bundle_without_prerequisites_must_be_complete() -> None:
    pack = PackBuilder()
    tree = pack.add("tree", tree_bytes([(b"100644", b"a", ABSENT)]))
    commit = pack.add("commit", commit_bytes(tree.oid))
    made = bundles.bundle(pack.build(), [(commit.hex, "refs/heads/main")])
    report = verify_bytes(made)
    assert errors(report) == [(checks.ABSENT_OBJECT, ABSENT)]
    assert report.findings.sorted()[0].path == b"a"


# --- what the other side has, and did not give ----------------------------------------------------


HELD = {
    "blob": packs.outside("blob", b"a secret"),
    "tree": packs.outside("tree", tree_bytes([(b"100644", b"secret", b"\x44" * 20)])),
    "commit": packs.outside("commit", commit_bytes(b"\x44" * 20)),
    "tag": packs.outside("tag", tag_bytes(b"\x44" * 20)),
}


@pytest.mark.parametrize("rules", ["candidate", "git"])
@pytest.mark.parametrize("name", LINKS)
def test_a_target_that_was_not_given_is_smuggled_though_the_other_side_has_it(
    name: str, rules: str
) -> None:
    # A16: by its id alone a producer would get hold of another branch's content.
    kind = WANTED[name]
    held = HELD[kind]
    number = packs.KIND_NUMBERS[kind]
    pack = PackBuilder()
    LINKS[name](pack, held.oid)

    def verdict(known: Callable[[bytes], int | None] | None) -> Report:
        read_base = {held.oid: (number, held.data)}.get
        return verify_bytes(pack.build(), Options(rules=rules, known=known, read_base=read_base))

    report = verdict(lambda _oid: None)
    assert errors(report) == [(checks.SMUGGLED_BASE, held.oid)]
    assert report.klass == codes.POLICY
    assert errors(verdict({held.oid: number}.get)) == []


def test_a_smuggled_object_is_named_by_its_path() -> None:
    held = HELD["blob"]
    pack = PackBuilder()
    tree = pack.add("tree", tree_bytes([(b"100644", b"innocent", held.oid)]))
    pack.add("commit", commit_bytes(tree.oid))
    options = Options(known=lambda _oid: None, read_base={held.oid: (BLOB, held.data)}.get)
    (finding,) = verify_bytes(pack.build(), options).findings.sorted()
    assert (finding.code, finding.path) == (checks.SMUGGLED_BASE, b"innocent")
    assert finding.offset == tree.offset


def test_where_nobody_listed_what_was_given_the_other_side_is_not_asked_for_links() -> None:
    base = b"\x33" * 20
    pack = PackBuilder()
    tree = pack.add("tree", tree_bytes([(b"100644", b"a", HELD["blob"].oid)]))
    commit = pack.add("commit", commit_bytes(tree.oid, [base]))
    made = bundles.bundle(pack.build(), [(commit.hex, "refs/heads/main")], [base.hex()])
    read_base = {HELD["blob"].oid: (BLOB, HELD["blob"].data)}.get
    report = verify_bytes(made, Options(read_base=read_base))
    assert (errors(report), notes(report)) == (
        [],
        [checks.UNCHECKED_LINKS, checks.BASE_NOT_COMPARED],
    )
    assert report.unchecked_links == 1


# --- tips -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [b"refs/heads/main", b"refs/tags/v1", b"HEAD", b"asked"])
def test_a_tip_that_is_nowhere_is_missing(name: bytes) -> None:
    example = packs.small_honest(tagged=False)
    tips = {b"there": example.commit.oid, name: ABSENT}
    report = verify_bytes(example.pack, Options(tips=tips))
    assert errors(report) == [(checks.MISSING_TIP, ABSENT)]
    assert report.klass == 5
    assert report.tips == tips


def test_tips_in_the_pack_or_known_are_there() -> None:
    example = packs.small_honest(tagged=False)
    other = b"\x34" * 20
    tips = {b"refs/heads/a": example.commit.oid, b"refs/heads/b": other}
    for kind in (COMMIT, 0):
        report = verify_bytes(example.pack, Options(tips=tips, known={other: kind}.get))
        assert report.findings.sorted() == []


def test_a_ref_that_names_a_base_is_there() -> None:
    base = b"\x33" * 20
    pack = PackBuilder()
    commit = pack.add("commit", commit_bytes(pack.add("tree", b"").oid, [base]))
    refs: list[tuple[Text, Text] | bytes] = [(commit.hex, "refs/heads/a"), (base.hex(), "HEAD")]
    made = bundles.bundle(pack.build(), refs)
    assert errors(verify_bytes(made, Options(bases=frozenset([base])))) == []
    assert {code for code, _oid in errors(verify_bytes(made))} == {
        checks.ABSENT_OBJECT,
        checks.MISSING_TIP,
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["in the pack", "known"])
def test_a_branch_is_a_commit_and_other_refs_are_anything(kind: str, where: str) -> None:
    pack = PackBuilder()
    known = None
    if where == "in the pack":
        handle = write(pack, kind)
    else:
        handle = packs.outside(kind, b"known")
        known = {handle.oid: packs.KIND_NUMBERS[kind]}.get
    report = verify_bytes(pack.build(), Options(tips={b"refs/heads/x": handle.oid}, known=known))
    wanted = [] if kind == "commit" else [(checks.BRANCH_NOT_COMMIT, handle.oid)]
    assert errors(report) == wanted
    assert report.klass == (3 if wanted else 0)
    tagged = Options(tips={b"refs/tags/x": handle.oid}, known=known)
    assert verify_bytes(pack.build(), tagged).accepted


def test_the_findings_of_one_file_do_not_show_in_another() -> None:
    pack = PackBuilder()
    LINKS["a file"](pack, ABSENT)
    options = Options()
    first, second = (verify_bytes(pack.build(), options) for _ in range(2))
    assert errors(first) == errors(second)
    assert isinstance(first.findings, Findings)
    assert first.findings is not second.findings
