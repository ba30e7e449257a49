"""The range from base to tip: descent, nothing beside it in the pack, what was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from packparse import checks
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.table import IdIndex
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.bundles import Text, bundle
from tests.support.candidates import TIP, Candidate, Folder, Store, errors, on_top

A: Folder = {b"a": b"1\n", b"d": {b"f": b"2\n"}}
B: Folder = {b"a": b"one\n", b"d": {b"f": b"2\n"}}
C: Folder = {b"a": b"one\n", b"d": {b"f": b"two\n"}}
FOREIGN = b"\x44" * 20


def notes(report: Report) -> list[str]:
    return [f.code.name for f in report.findings.sorted() if f.severity == "note"]


def found(report: Report) -> list[tuple[str, bytes | None, int | None]]:
    return [(f.code.name, f.oid, f.offset) for f in errors(report)]


# --- honest ranges --------------------------------------------------------------------------------


def several_commits() -> Candidate:
    return on_top(A, B, C)


def of_one_commit() -> Candidate:
    return on_top(A, B)


def without_change() -> Candidate:
    host = Store()
    root = host.tree(A)
    return on_top(root, root, host=host)


def restoring(full: bool) -> Candidate:
    """A commit that brings an older tree back: in the seeded set only where that has history."""
    host = Store()
    older = host.commit(A)
    base = host.commit(B, older)
    new = Store()
    tip = new.commit(A, base)
    return Candidate(host, new, (base,), {TIP: tip}, host.seed(base, full=full))


def restoring_with_what_is_there() -> Candidate:
    made = restoring(full=True)
    older = made.host.tree(A)
    return replace(made, overlap=[older, packs.oid("blob", b"1\n")])


def merge_of_two_in_the_range() -> Candidate:
    host, new = Store(), Store()
    base = host.commit(A)
    left, right = new.commit(B, base), new.commit(C, base)
    return Candidate(host, new, (base,), {TIP: new.commit(B, left, right)}, host.seed(base))


def octopus() -> Candidate:
    host, new = Store(), Store()
    base = host.commit(A)
    arms = [new.commit(B, base, message=b"%d\n" % n) for n in range(16)]
    return Candidate(host, new, (base,), {TIP: new.commit(C, *arms)}, host.seed(base))


def merge_of_what_the_base_merged() -> Candidate:
    host, new = Store(), Store()
    first = host.commit(A)
    side = host.commit({**A, b"side": b"x"}, first)
    base = host.commit({**B, b"side": b"x"}, first, side)
    tip = new.commit({**C, b"side": b"x"}, base, side)
    return Candidate(host, new, (base,), {TIP: tip}, host.seed(base, full=True))


def side_branch_from_older_history() -> Candidate:
    # What is merged was begun before the base; the tip still descends from it.
    host, new = Store(), Store()
    older = host.commit(A)
    base = host.commit(B, older)
    arm = new.commit({**A, b"new": b"n"}, older)
    tip = new.commit({**B, b"new": b"n"}, base, arm)
    return Candidate(host, new, (base,), {TIP: tip}, host.seed(base, full=True))


def several_tips() -> Candidate:
    made = on_top(A, B)
    base = made.bases[0]
    other = made.new.commit(C, base)
    return replace(made, tips={**made.tips, b"refs/heads/other": other})


def one_tip_on_another() -> Candidate:
    made = on_top(A, B)
    after = made.new.commit(C, made.tips[TIP])
    return replace(made, tips={**made.tips, b"refs/heads/next": after})


def several_bases() -> Candidate:
    host, new = Store(), Store()
    bases = host.commit(A), host.commit(C, message=b"other\n")
    tips = {b"refs/heads/a": new.commit(B, bases[0]), b"refs/heads/b": new.commit(B, bases[1])}
    return Candidate(host, new, bases, tips, host.seed(*bases))


def merge_of_both_bases() -> Candidate:
    made = several_bases()
    new = Store()
    return replace(made, new=new, tips={TIP: new.commit(B, *made.bases)})


def commits_of_one_tree() -> Candidate:
    made = on_top(A, B, B, B)
    root = made.new.tree(B)
    assert len({made.new.objects[oid][1][:46] for oid in made.tips.values()}) == 1
    assert root in made.new.objects
    return made


HONEST: dict[str, Callable[[], Candidate]] = {
    "one commit": of_one_commit,
    "several commits": several_commits,
    "a commit without any change": without_change,
    "several commits of one tree": commits_of_one_tree,
    "a merge of two commits of the range": merge_of_two_in_the_range,
    "an octopus of sixteen": octopus,
    "a merge of the other parent of the base": merge_of_what_the_base_merged,
    "a branch from before the base, merged": side_branch_from_older_history,
    "an older tree from a depth-one seed": lambda: restoring(full=False),
    "an older tree from a full seed": lambda: restoring(full=True),
    "several tips": several_tips,
    "a tip on another tip": one_tip_on_another,
    "a tip on each of several bases": several_bases,
    "a tip on all of several bases": merge_of_both_bases,
}


@pytest.mark.parametrize("build", HONEST.values(), ids=HONEST)
def test_an_honest_range_is_accepted_without_a_word(build: Callable[[], Candidate]) -> None:
    report = build().verify()
    assert report.findings.sorted() == []
    assert report.accepted


def test_what_the_other_side_has_as_well_is_noted_for_a_revert() -> None:
    # A17: overlap with the seeded set is only noted, once for each object and at its place.
    made = restoring_with_what_is_there()
    report = made.verify()
    assert report.accepted
    _, entries = made.pack()
    assert [(f.code, f.oid, f.offset) for f in report.findings.sorted()] == [
        (checks.ALREADY_IN_BASE, oid, entries[oid].offset) for oid in made.overlap
    ]


def test_nobody_can_tell_what_is_there_already_where_nothing_is_listed() -> None:
    made = restoring_with_what_is_there()
    report = replace(made, given=None).verify()
    assert notes(report) == []
    assert report.accepted


# --- stowaways (A17, PH5) -------------------------------------------------------------------------


def stow(kind: str, data: bytes) -> Callable[[Store, bytes, bytes], list[bytes]]:
    return lambda new, _base, _tip: [new.put(kind, data)]


def stow_tree(new: Store, _base: bytes, _tip: bytes) -> list[bytes]:
    # What only another stowaway names is not told again.
    return [new.tree({b"x": {b"y": b"hidden\n"}})]


def stow_commit(new: Store, base: bytes, _tip: bytes) -> list[bytes]:
    return [new.commit({b"x": b"hidden\n"}, base)]


def stow_child_of_the_tip(new: Store, _base: bytes, tip: bytes) -> list[bytes]:
    return [new.commit({b"x": b"hidden\n"}, tip)]


def stow_two_commits(new: Store, base: bytes, _tip: bytes) -> list[bytes]:
    first = new.commit({b"x": b"hidden\n"}, base)
    return [first, new.commit({b"x": b"hidden too\n"}, first)]


def stow_commit_of_a_tree_of_the_range(new: Store, base: bytes, tip: bytes) -> list[bytes]:
    root = bytes.fromhex(new.objects[tip][1][5:45].decode())
    return [new.commit(root, base, message=b"another message\n")]


def stow_beside_a_known_tree(new: Store, _base: bytes, _tip: bytes) -> list[bytes]:
    # The tree names only what is in the range or was there before.
    return [new.raw_tree((b"100644", b"z", packs.oid("blob", b"1\n")))]


STOWAWAYS: dict[str, Callable[[Store, bytes, bytes], list[bytes]]] = {
    "a blob": stow("blob", b"hidden\n"),
    "the empty blob": stow("blob", b""),
    "the empty tree": stow("tree", b""),
    "a tree and what is below it": stow_tree,
    "a tree of known objects alone": stow_beside_a_known_tree,
    "a commit on the base": stow_commit,
    "a commit on the tip": stow_child_of_the_tip,
    "a commit upon another stowaway": stow_two_commits,
    "a commit with a tree of the range": stow_commit_of_a_tree_of_the_range,
}


@pytest.mark.parametrize("full", [False, True], ids=["depth-one seed", "full seed"])
@pytest.mark.parametrize("hide", STOWAWAYS.values(), ids=STOWAWAYS)
def test_a_stowaway_is_refused_at_its_place(
    hide: Callable[[Store, bytes, bytes], list[bytes]], full: bool
) -> None:
    made = on_top(A, B, C)
    made = replace(made, given=made.host.seed(*made.bases, full=full))
    hidden = hide(made.new, made.bases[0], made.tips[TIP])
    data, entries = made.pack()
    report = made.verify(data=data)
    assert found(report) == [("stowawayObject", oid, entries[oid].offset) for oid in hidden]
    assert report.klass == checks.STOWAWAY_OBJECT.klass


@pytest.mark.parametrize("tagged", ["a commit of the range", "the base", "a blob of its own"])
def test_a_tag_object_is_never_asked_for_and_a_stowaway_where_it_is_no_tip(tagged: str) -> None:
    made = on_top(A, B)
    new = made.new
    if tagged == "a blob of its own":
        tag = new.put("tag", packs.tag_bytes(new.put("blob", b"hidden\n"), b"blob"))
    else:
        target = made.bases[0] if tagged == "the base" else made.tips[TIP]
        tag = new.put("tag", packs.tag_bytes(target))
    _, entries = made.pack()
    report = made.verify()
    assert found(report) == [
        ("tagObject", tag, entries[tag].offset),
        ("stowawayObject", tag, entries[tag].offset),
    ]


def test_an_object_of_the_base_that_nothing_names_is_a_stowaway_too() -> None:
    made = on_top(A, B)
    known = packs.oid("blob", b"1\n")
    report = replace(made, overlap=[known]).verify()
    assert [f.oid for f in errors(report)] == [known]
    assert notes(report) == ["alreadyInBase"]


def test_the_base_itself_in_the_pack_is_a_stowaway() -> None:
    made = on_top(A, B)
    base = made.bases[0]
    report = replace(made, overlap=made.host.seed(base)).verify()
    assert found(report)[0][:2] == ("stowawayObject", base)
    assert report.findings.count(checks.ALREADY_IN_BASE) == len(made.host.seed(base))


def test_what_a_moved_folder_of_the_base_holds_is_a_stowaway() -> None:
    # No link of the pack names it: the folder that does stayed outside.
    host = Store()
    host.tree(A)
    folder = packs.oid("tree", packs.tree_bytes([(b"100644", b"f", packs.oid("blob", b"2\n"))]))
    made = on_top(A, host.raw_tree((b"40000", b"moved", folder)), host=host)
    made.new.objects.update({made.host.tree({b"moved": A[b"d"]}): host.objects[folder]})
    report = replace(made, overlap=[packs.oid("blob", b"2\n")]).verify()
    assert "stowawayObject" in [f.code.name for f in errors(report)]


def test_two_stowaways_that_name_each_others_children_are_found() -> None:
    made = on_top(A, B)
    shared = made.new.put("blob", b"shared\n")
    first = made.new.raw_tree((b"100644", b"x", shared))
    second = made.new.raw_tree((b"100644", b"y", shared), (b"40000", b"z", first))
    assert [f.oid for f in errors(made.verify())] == [second]


def test_what_is_missing_is_not_called_a_stowaway_as_well() -> None:
    # Behind an absent tree nothing is reached, and all that it names would be one.
    made = on_top(A, {**B, b"new": {b"x": b"y\n"}})
    gone = made.new.tree({b"x": b"y\n"})
    del made.new.objects[gone]
    report = made.verify()
    assert [(f.code.name, f.oid, f.path) for f in errors(report)] == [
        ("absentObject", gone, b"new")
    ]


def test_without_tips_nobody_can_tell_what_is_a_stowaway() -> None:
    made = on_top(A, B)
    made.new.put("blob", b"alone\n")
    assert not made.verify().accepted
    assert replace(made, tips={}).verify().accepted


def test_a_bundle_that_says_its_own_tips_has_no_stowaways_either() -> None:
    made = on_top(A, B)
    refs: list[tuple[Text, Text] | bytes] = [(made.tips[TIP].hex(), "refs/heads/main")]
    honest = bundle(made.pack()[0], refs, [made.bases[0].hex()])
    assert verify_bytes(honest).accepted
    hidden = made.new.put("blob", b"alone\n")
    hostile = bundle(made.pack()[0], refs, [made.bases[0].hex()])
    assert [f.oid for f in errors(verify_bytes(hostile))] == [hidden]
    assert verify_bytes(hostile, Options(rules="git")).accepted


def test_a_second_copy_of_an_object_is_a_duplicate_and_no_stowaway() -> None:
    made = on_top(A, B)
    pack = packs.PackBuilder()
    for kind, data in [*list(made.new.objects.values())[:1], *made.new.objects.values()]:
        if packs.oid(kind, data) not in (made.given or ()):
            pack.add(kind, data)
    assert [f.code.name for f in errors(made.verify(data=pack.build()))] == ["duplicateObject"]


# --- descent (A20, PH7) ---------------------------------------------------------------------------


def tip_on_an_older_commit() -> Candidate:
    host, new = Store(), Store()
    older = host.commit(A)
    base = host.commit(B, older)
    tip = new.commit(C, older)
    return Candidate(host, new, (base,), {TIP: tip}, host.seed(base, full=True))


def tip_without_parents() -> Candidate:
    made = on_top(A)
    return replace(made, tips={TIP: made.new.commit(B)})


def tip_on_a_root_of_its_own() -> Candidate:
    made = on_top(A)
    return replace(made, tips={TIP: made.new.commit(C, made.new.commit(B))})


def merge_with_a_root_of_its_own() -> Candidate:
    made = on_top(A)
    root = made.new.commit(C)
    return replace(made, tips={TIP: made.new.commit(B, made.bases[0], root)})


def second_tip_elsewhere() -> Candidate:
    made = tip_on_an_older_commit()
    good = made.new.commit(A, made.bases[0])
    return replace(made, tips={b"refs/heads/good": good, **made.tips})


def tip_is_the_base() -> Candidate:
    made = on_top(A)
    return replace(made, tips={TIP: made.bases[0]})


def tip_is_older_than_the_base() -> Candidate:
    made = tip_on_an_older_commit()
    older = next(oid for oid, (kind, _) in made.host.objects.items() if kind == "commit")
    return replace(made, new=Store(), tips={TIP: older})


def tip_is_an_older_commit_sent_again() -> Candidate:
    made = tip_is_older_than_the_base()
    older = made.tips[TIP]
    return replace(made, overlap=made.host.seed(older))


def tip_is_nowhere() -> Candidate:
    return replace(on_top(A), tips={TIP: FOREIGN})


DESCENT: dict[str, tuple[Callable[[], Candidate], list[str]]] = {
    "A20 on an older commit than the base": (tip_on_an_older_commit, ["notDescendant"]),
    "A15 without parents": (tip_without_parents, ["notDescendant", "rootCommit"]),
    "on a root commit of its own": (tip_on_a_root_of_its_own, ["notDescendant", "rootCommit"]),
    "on the base, with a root commit merged in": (merge_with_a_root_of_its_own, ["rootCommit"]),
    "of two tips one elsewhere": (second_tip_elsewhere, ["notDescendant"]),
    "A20 the base itself": (tip_is_the_base, ["emptyRange"]),
    "an older commit than the base": (tip_is_older_than_the_base, ["emptyRange"]),
    "an older commit, in the pack": (
        tip_is_an_older_commit_sent_again, ["notDescendant", "rootCommit"],
    ),
    "a commit that is nowhere": (tip_is_nowhere, ["missingTip"]),
}  # fmt: skip


@pytest.mark.parametrize(("build", "wanted"), DESCENT.values(), ids=DESCENT)
def test_a_tip_has_to_descend_from_the_base(
    build: Callable[[], Candidate], wanted: list[str]
) -> None:
    report = build().verify()
    assert sorted(f.code.name for f in errors(report)) == wanted


def test_the_findings_on_a_range_name_the_tip_and_the_commit() -> None:
    made = tip_on_a_root_of_its_own()
    report = made.verify()
    tip = made.tips[TIP]
    root = next(oid for oid, (kind, _) in made.new.objects.items() if kind == "commit")
    _, entries = made.pack()
    assert found(report) == [
        ("rootCommit", root, entries[root].offset),
        ("notDescendant", tip, None),
    ]
    assert "refs/heads/main" in errors(report)[1].message


@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_a_tip_that_is_no_commit_is_no_range(kind: str) -> None:
    made = on_top(A)
    tip = made.new.tree(B) if kind == "tree" else made.new.put("blob", b"x")
    report = replace(made, tips={b"asked": tip}).verify()
    assert [(f.code.name, f.oid) for f in errors(report)] == [("notDescendant", tip)]


@pytest.mark.parametrize("depth", [1, 2, 50])
def test_a_tip_behind_tags_is_found_and_the_tags_are_refused(depth: int) -> None:
    made = on_top(A, B)
    oid, kind = made.tips[TIP], b"commit"
    for number in range(depth):
        oid, kind = made.new.put("tag", packs.tag_bytes(oid, kind, b"v%d" % number)), b"tag"
    report = replace(made, tips={b"refs/tags/v": oid}).verify()
    assert [f.code.name for f in errors(report)] == ["tagObject"] * depth


def test_a_long_chain_of_tags_is_followed_once_for_all_refs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each ref names one more tag of the chain; following each would take a million look-ups.
    pack = packs.PackBuilder()
    oid = pack.add("commit", packs.commit_bytes(pack.add("tree", b"").oid)).oid
    refs: list[tuple[Text, Text] | bytes] = []
    kind = b"commit"
    for number in range(2_000):
        handle = pack.add("tag", packs.tag_bytes(oid, kind, b"v%d" % number), level=0)
        oid, kind = handle.oid, b"tag"
        if number >= 1_100:
            refs.append((oid.hex(), f"refs/tags/t{number}"))
    asked: list[bytes] = []
    first = IdIndex.first

    def counted(index: IdIndex, wanted: bytes) -> int | None:
        asked.append(wanted)
        return first(index, wanted)

    monkeypatch.setattr(IdIndex, "first", counted)
    assert verify_bytes(bundle(pack.build(), refs)).accepted
    assert len(asked) < 20_000


def test_a_base_that_only_the_sender_names_counts_for_descent_as_well() -> None:
    # PH2: a bundle says that it builds on its prerequisites.
    made = on_top(A, B)
    stray = made.new.commit(C, FOREIGN)
    refs: list[tuple[Text, Text] | bytes] = [(stray.hex(), "refs/heads/stray")]
    del made.new.objects[made.tips[TIP]]
    data = bundle(made.pack()[0], refs, [made.bases[0].hex()])
    assert "notDescendant" in [f.code.name for f in errors(verify_bytes(data))]


# --- how many parents (PH9) -----------------------------------------------------------------------


def test_merges_are_a_matter_of_policy() -> None:
    made = merge_of_two_in_the_range()
    assert made.verify().accepted
    report = made.verify(policy=Policy(severities={checks.MERGE_COMMIT: "error"}))
    _, entries = made.pack()
    tip = made.tips[TIP]
    assert found(report) == [("mergeCommit", tip, entries[tip].offset)]
    assert of_one_commit().verify(policy=Policy(severities={checks.MERGE_COMMIT: "error"})).accepted


def test_seventeen_parents_are_past_the_limit() -> None:
    host, new = Store(), Store()
    base = host.commit(A)
    arms = [new.commit(B, base, message=b"%d\n" % n) for n in range(17)]
    made = Candidate(host, new, (base,), {TIP: new.commit(C, *arms)}, host.seed(base))
    assert [f.code.name for f in errors(made.verify())] == ["tooManyParents"]


def test_a_root_commit_is_one_only_where_there_is_a_base() -> None:
    new = Store()
    tip = new.commit(A)
    made = Candidate(Store(), new, (), {TIP: tip}, None)
    assert made.verify().accepted


# --- what a bundle says of itself, beside what was asked (A5, A18) --------------------------------


def in_bundle(
    made: Candidate, refs: list[tuple[bytes, str]], prerequisites: tuple[bytes, ...]
) -> bytes:
    listed: list[tuple[Text, Text] | bytes] = [(oid.hex(), name) for oid, name in refs]
    return bundle(made.pack()[0], listed, [oid.hex() for oid in prerequisites])


HEADERS: dict[str, tuple[list[tuple[str, str]], list[str], list[str]]] = {
    "one ref, that of the tip": ([("tip", "refs/heads/main")], ["base"], []),
    "a ref of another name": ([("tip", "refs/heads/else")], ["base"], []),
    "no prerequisite": ([("tip", "refs/heads/main")], [], []),
    "no ref": ([], ["base"], ["unexpectedRefs"]),
    "two refs of one commit": (
        [("tip", "refs/heads/main"), ("tip", "HEAD")], ["base"], ["unexpectedRefs"],
    ),
    "a ref of another commit": ([("first", "refs/heads/main")], ["base"], ["unexpectedRefs"]),
    "a second ref": (
        [("tip", "refs/heads/main"), ("first", "refs/heads/x")], ["base"], ["unexpectedRefs"],
    ),
    "a second prerequisite": (
        [("tip", "refs/heads/main")], ["base", "older"], ["unexpectedPrerequisites"],
    ),
    "another prerequisite": (
        [("tip", "refs/heads/main")], ["older"], ["unexpectedPrerequisites"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("refs", "prerequisites", "wanted"), HEADERS.values(), ids=HEADERS)
def test_a_bundle_has_exactly_the_ref_and_the_base_that_were_asked_for(
    refs: list[tuple[str, str]], prerequisites: list[str], wanted: list[str]
) -> None:
    host, new = Store(), Store()
    ids = {"older": host.commit(A)}
    ids["base"] = host.commit(B, ids["older"])
    ids["first"] = new.commit(C, ids["base"])
    ids["tip"] = new.commit(A, ids["first"])
    made = Candidate(
        host, new, (ids["base"],), {TIP: ids["tip"]}, host.seed(ids["base"], full=True)
    )
    data = in_bundle(
        made, [(ids[who], name) for who, name in refs], tuple(ids[who] for who in prerequisites)
    )
    report = made.verify(data=data)
    assert [f.code.name for f in errors(report)] == wanted


def test_the_refs_of_a_bundle_are_its_own_business_where_nothing_is_asked_for() -> None:
    made = on_top(A, B)
    tip = made.tips[TIP]
    data = in_bundle(made, [(tip, "refs/heads/x"), (tip, "HEAD")], made.bases)
    assert replace(made, tips={}, bases=()).verify(data=data).accepted


def test_an_unexpected_prerequisite_is_named() -> None:
    made = on_top(A, B)
    data = in_bundle(made, [(made.tips[TIP], "refs/heads/main")], (*made.bases, FOREIGN))
    given = {*(made.given or ()), FOREIGN}
    report = replace(made, given=given).verify(data=data)
    assert [(f.code.name, f.oid) for f in errors(report)] == [("unexpectedPrerequisites", FOREIGN)]
