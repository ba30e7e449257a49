"""Objects outside the pack: what the producer was given, and what he would pull from the host.

Rows A16, PH4 and PD17: links, and the bases of deltas.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from packparse import checks
from packparse.entry import COMMIT
from packparse.options import Options
from packparse.policy import named
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.candidates import TIP, Candidate, Folder, Store, errors, on_top, program

A: Folder = {b"a": b"1\n", b"d": {b"f": b"2\n"}}
B: Folder = {b"a": b"one\n", b"d": {b"f": b"2\n"}}
C: Folder = {b"a": b"one\n", b"d": {b"f": b"two\n"}}


def branches() -> tuple[Store, bytes, bytes, bytes]:
    """A host with a base, a blob that another branch has, and one that history had."""
    host = Store()
    first = host.commit({**A, b"gone": b"deleted long ago\n"})
    base = host.commit(A, first)
    host.commit({**A, b"secret": b"of another branch\n"}, base)
    return (
        host,
        base,
        packs.oid("blob", b"of another branch\n"),
        packs.oid("blob", b"deleted long ago\n"),
    )


@pytest.mark.parametrize("full", [False, True], ids=["depth-one seed", "full seed"])
@pytest.mark.parametrize("which", ["another branch", "before the seed"])
@pytest.mark.parametrize("held", [True, False], ids=["the host has it", "the host has it not"])
def test_a_link_to_what_was_not_given_is_smuggled_or_absent(
    which: str, full: bool, held: bool
) -> None:
    host, base, foreign, gone = branches()
    wanted = foreign if which == "another branch" else gone
    new = Store()
    host.tree(A)
    root = new.raw_tree(
        (b"100644", b"a", packs.oid("blob", b"1\n")),
        (b"40000", b"d", host.tree({b"f": b"2\n"})),
        (b"100644", b"taken", wanted),
    )
    tip = new.commit(root, base)
    made = Candidate(host, new, (base,), {TIP: tip}, host.seed(base, full=full))
    if not held:
        del host.objects[wanted]
        made = replace(made, given=(made.given or set()) - {wanted})
    report = made.verify()
    if full and held and wanted == gone:
        assert report.findings.sorted() == []
        return
    code = "smuggledBase" if held else "absentObject"
    assert [(f.code.name, f.oid, f.path) for f in errors(report)] == [(code, wanted, b"taken")]
    _, entries = made.pack()
    assert errors(report)[0].offset == entries[root].offset


KINDS: dict[str, tuple[bytes, str]] = {
    "a folder as a file": (b"100644", "d"),
    "a folder as a link": (b"120000", "d"),
    "a file as a folder": (b"40000", "a"),
    "a file as a file": (b"100644", "a"),
    "a folder as a folder": (b"40000", "d"),
}


@pytest.mark.parametrize("typed", ["by the list", "by base_info", "by the objects", "by nobody"])
@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_known_object_is_that_of_the_entry(name: str, typed: str) -> None:
    mode, which = KINDS[name]
    host, base, *_ = branches()
    folder = host.tree({b"f": b"2\n"})
    wanted = {"a": packs.oid("blob", b"1\n"), "d": folder}[which]
    new = Store()
    tip = new.commit(new.raw_tree((mode, b"x", wanted)), base)
    made = Candidate(host, new, (base,), {TIP: tip}, host.seed(base))
    given = made.given or set()

    def about(oid: bytes) -> tuple[int, int] | None:
        found = host.read(oid)
        return None if found is None else (found[0], len(found[1]))

    def known(oid: bytes) -> int | None:
        found = about(oid)
        if oid not in given or found is None:
            return None
        return found[0] if typed == "by the list" else 0

    options = Options(
        tips=made.tips, bases=frozenset([base]), known=known,
        read_base=host.read if typed in {"by base_info", "by the objects"} else None,
        base_info=about if typed == "by base_info" else None,
    )  # fmt: skip
    report = verify_bytes(made.pack()[0], options)
    wrong = (mode == b"40000") != (which == "d")
    if typed == "by nobody":
        assert report.findings.count(checks.UNCHECKED_LINKS) == 1
        assert report.accepted
        strict = Options(
            tips=made.tips, bases=frozenset([base]), known=known, policy=named("fork"),
        )  # fmt: skip
        assert not verify_bytes(made.pack()[0], strict).accepted
    else:
        assert report.findings.count(checks.UNCHECKED_LINKS) == 0
        assert [f.code.name for f in errors(report)] == ["linkKindMismatch"] * wrong


def test_a_base_pack_alone_says_nothing_of_what_was_given() -> None:
    # Nobody asked with a base or a list: the object may have been given, and the file lacks it.
    host, _base, foreign, _gone = branches()
    new = Store()
    tip = new.commit(new.raw_tree((b"100644", b"taken", foreign)))
    made = Candidate(host, new, (), {TIP: tip}, None)
    (finding,) = errors(made.verify())
    assert finding.code.name == "absentObject"
    assert "--base or --known" in finding.message


def test_a_parent_from_another_branch_is_smuggled() -> None:
    host, base, *_ = branches()
    other = next(reversed(host.objects))
    new = Store()
    tip = new.commit(B, base, other)
    report = Candidate(host, new, (base,), {TIP: tip}, host.seed(base, full=True)).verify()
    assert [(f.code.name, f.oid) for f in errors(report)] == [("smuggledBase", other)]


def test_a_whole_folder_from_another_branch_is_smuggled() -> None:
    host = Store()
    base = host.commit(A)
    host.commit({**A, b"hidden": {b"x": b"y"}}, base)
    new = Store()
    folder = host.tree({b"x": b"y"})
    root = new.raw_tree((b"40000", b"mine", folder))
    made = Candidate(host, new, (base,), {TIP: new.commit(root, base)}, host.seed(base))
    assert [(f.code.name, f.path) for f in errors(made.verify())] == [("smuggledBase", b"mine")]


def test_a_delta_on_what_was_not_given_is_smuggled() -> None:
    # PD17: a thin pack rests on the given objects and on no other.
    host, base, foreign, _ = branches()
    for wanted, accepted in ((foreign, False), (packs.oid("blob", b"1\n"), True)):
        content = host.objects[wanted][1]
        change, result = packs.edit(content, len(content), 0, b"and more\n")
        pack = packs.PackBuilder()
        blob = pack.add_ref(packs.outside("blob", content), change)
        assert blob.data == result
        tree = pack.add("tree", packs.tree_bytes([(b"100644", b"a", blob.oid)]))
        tip = pack.add("commit", packs.commit_bytes(tree.oid, [base])).oid
        made = Candidate(host, Store(), (base,), {TIP: tip}, host.seed(base))
        report = made.verify(data=pack.build())
        assert report.accepted is accepted
        if not accepted:
            assert [(f.code.name, f.oid) for f in errors(report)] == [("smuggledBase", wanted)]


def test_an_object_is_not_taken_from_the_host_under_the_rules_of_git_either() -> None:
    # Only where somebody listed what was given is there a difference.
    host, base, foreign, _ = branches()
    new = Store()
    root = new.raw_tree((b"100644", b"taken", foreign))
    made = Candidate(host, new, (base,), {TIP: new.commit(root, base)}, host.seed(base))
    assert not made.verify(rules="git").accepted
    report = replace(made, given=None).verify(rules="git")
    assert report.accepted
    assert report.unchecked_links == 1


@pytest.mark.parametrize("fmt", ["sha1", "sha256"])
def test_both_object_formats_have_ranges(fmt: str) -> None:
    made = on_top(A, {**A, b"run": program(b"#!/bin/sh\n")}, C, fmt=fmt)
    assert made.verify().findings.sorted() == []
    hidden = made.new.put("blob", b"hidden\n")
    assert [(f.code.name, f.oid) for f in errors(made.verify())] == [("stowawayObject", hidden)]


def test_the_kind_of_what_was_given_counts() -> None:
    made = on_top(A, B)
    folder = made.host.tree({b"f": b"2\n"})
    options = Options(
        tips=made.tips,
        bases=frozenset(made.bases),
        known=lambda oid: COMMIT if oid == folder else 0,
        read_base=made.host.read,
    )
    report = verify_bytes(made.pack()[0], options)
    assert [(f.code.name, f.oid, f.path) for f in errors(report)] == [
        ("linkKindMismatch", folder, b"d")
    ]
