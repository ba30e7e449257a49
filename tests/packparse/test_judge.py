"""The steps on a whole pack: which come when, what each leaves out, and whose word counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from packparse import checks, pathcodes
from packparse.codes import ENVIRONMENT, ERROR, IGNORE, RULES, WARNING
from packparse.limits import Limits
from packparse.options import Options
from packparse.policy import Policy, named
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.bundles import Text, bundle
from tests.support.candidates import (
    TIP,
    Candidate,
    Folder,
    Store,
    errors,
    existing,
    inherited,
    link,
    on_top,
    program,
    refusals,
)
from tests.support.reports import names

ODD: Folder = {b"l": link(b"/etc"), b"a": b"1"}
DENY = Policy(deny=["secret"])


# --- what a step leaves out -----------------------------------------------------------------------


def everything_wrong() -> Candidate:
    """A stowaway, an absent blob, an odd link, a denied path, a bomb, a submodule conflict."""
    made = on_top({b"a": b"1"})
    new = made.new
    tree = new.tree({b"f": b"1"})
    for _ in range(10):
        tree = new.raw_tree(*((b"40000", b"%d" % n, tree) for n in range(10)))
    modules = b'[submodule "m"]\n\tpath = m\n\turl = u\n'
    root: Folder = {
        b".gitmodules": modules,
        b"absent": existing(b"100644", b"\x22" * 20),
        b"bomb": existing(b"40000", tree),
        b"l": link(b"/etc"),
        b"m": b"1",
        b"secret": b"1",
    }
    made.tips[TIP] = new.commit(root, made.bases[0])
    new.put("blob", b"stowaway\n")
    return made


def test_limits_are_found_beside_what_is_wrong_and_nothing_is_compared_then() -> None:
    report = everything_wrong().verify(policy=DENY)
    assert names(report) == ["absentObject", "symlinkAbsolute", "tooManyFiles"]
    assert report.changes is None


def test_where_all_is_small_enough_all_is_found() -> None:
    modules = b'[submodule "m"]\n\tpath = m\n\turl = u\n'
    root: Folder = {b".gitmodules": modules, b"l": link(b"/etc"), b"m": b"1", b"secret": b"1"}
    made = on_top({b"a": b"1"}, root)
    hidden = made.new.put("blob", b"stowaway\n")
    report = made.verify(policy=DENY)
    assert names(report) == [
        "pathNotAllowed", "stowawayObject", "submodulePathConflict", "symlinkAbsolute",
    ]  # fmt: skip
    assert [f.oid for f in errors(report) if f.code is checks.STOWAWAY_OBJECT] == [hidden]


def test_behind_a_malformed_object_nothing_of_the_range_is_said() -> None:
    made = everything_wrong()
    made.new.put("tree", b"no tree")
    report = made.verify(policy=DENY)
    assert names(report) == ["absentObject", "badTree", "symlinkAbsolute"]
    assert names(report, "note") == ["linksNotChecked"]


def test_comparing_that_costs_too_much_is_a_finding_and_all_else_stays() -> None:
    made = on_top({b"a": b"1"}, {b"%04d" % n: link(b"/%d" % n) for n in range(300)})
    report = made.verify(limits=Limits(changes={"files": 300}))
    assert set(names(report)) == {"symlinkAbsolute", "tooManyFiles"}
    assert report.findings.count(pathcodes.SYMLINK_ABSOLUTE) == 300
    assert report.findings.sorted()[0].path is not None
    # What was seen until then is listed.
    assert report.changes is not None
    assert 0 < report.changes.files < 300
    assert len(report.changes.largest) == 10


# --- whose word counts ----------------------------------------------------------------------------


def sent(made: Candidate, *prerequisites: bytes) -> bytes:
    """A bundle that says its own tip and prerequisites."""
    refs: list[tuple[Text, Text] | bytes] = [(made.tips[TIP].hex(), "refs/heads/main")]
    return bundle(made.pack()[0], refs, [oid.hex() for oid in prerequisites])


def test_what_only_the_sender_names_as_its_base_passes_nothing_on() -> None:
    # A sender could name any commit of the host that has the same oddity.
    made = on_top(ODD, {**ODD, b"a": b"2"})
    data = sent(made, *made.bases)
    host = made.host
    report = verify_bytes(data, Options(read_base=host.read))
    assert refusals(report) == [("symlinkAbsolute", b"l")]
    given = made.given or set()
    listed = Options(read_base=host.read, known=lambda oid: 0 if oid in given else None)
    assert inherited(verify_bytes(data, listed)) == [("symlinkAbsolute", b"l")]
    asked = Options(read_base=host.read, bases=frozenset(made.bases))
    assert inherited(verify_bytes(data, asked)) == [("symlinkAbsolute", b"l")]


def test_the_base_that_is_asked_for_counts_and_not_the_one_that_is_sent() -> None:
    host, new = Store(), Store()
    odd = host.commit(ODD)
    base = host.commit({b"a": b"1"}, odd)
    tip = new.commit({**ODD, b"a": b"2"}, base)
    made = Candidate(host, new, (base,), {TIP: tip}, host.seed(base, full=True))
    report = made.verify(data=sent(made, base, odd))
    assert names(report) == ["symlinkAbsolute", "unexpectedPrerequisites"]


@pytest.mark.parametrize("lost", ["commit", "root", "folder"])
def test_a_base_that_cannot_be_read_whole_passes_nothing_on(lost: str) -> None:
    host = Store()
    folder: Folder = ODD
    made = on_top({b"d": folder}, {b"d": {**folder, b"a": b"2"}}, host=host)
    gone = {
        "commit": made.bases[0],
        "root": host.tree({b"d": folder}),
        "folder": host.tree(folder),
    }[lost]
    assert made.verify().accepted
    partial = replace(made, host=Store())
    partial.host.objects = {oid: item for oid, item in host.objects.items() if oid != gone}
    report = partial.verify()
    assert [code for code, _ in refusals(report)] == ["symlinkAbsolute"]
    assert report.findings.count(checks.BASE_NOT_COMPARED) == 1
    assert report.changes is not None
    assert not report.changes.compared


@pytest.mark.parametrize(("lost", "wanted"), [(0, ["symlinkAbsolute"]), (1, [])])
def test_of_several_bases_each_passes_on_what_can_be_read_of_it(
    lost: int, wanted: list[str]
) -> None:
    host, new = Store(), Store()
    bases = host.commit(ODD), host.commit({b"b": b"1"}, message=b"2\n")
    tip = new.commit({**ODD, b"a": b"2"}, *bases)
    made = Candidate(host, new, bases, {TIP: tip}, host.seed(*bases))
    assert made.verify().accepted
    partial = replace(made, host=Store())
    partial.host.objects = {o: item for o, item in host.objects.items() if o != bases[lost]}
    report = partial.verify()
    assert [code for code, _ in refusals(report)] == wanted
    assert report.findings.count(checks.BASE_NOT_COMPARED) == 1


def test_a_base_that_was_tampered_with_ends_the_work() -> None:
    made = on_top({b"a": b"1"}, {b"a": b"2"})
    root = made.host.tree({b"a": b"1"})
    made.host.objects[root] = ("tree", b"")
    report = made.verify()
    assert report.klass == ENVIRONMENT
    assert [(f.code.name, f.oid) for f in errors(report)] == [("corruptBaseObject", root)]


def test_a_policy_may_refuse_what_was_not_compared() -> None:
    made = on_top({b"a": b"1"}, {b"a": b"2"})
    strict = Policy(severities={checks.BASE_NOT_COMPARED: ERROR})
    assert made.verify(policy=strict).accepted
    assert [code for code, _ in refusals(made.verify(policy=strict, read=False))] == [
        "baseNotCompared"
    ]


def test_a_sensitive_path_that_is_refused_needs_no_base() -> None:
    new = Store()
    made = Candidate(Store(), new, (), {TIP: new.commit({b".envrc": b"1"})}, None)
    assert made.verify().findings.sorted() == []
    strict = Policy(severities={checks.SENSITIVE_PATH: ERROR})
    assert refusals(made.verify(policy=strict)) == [("sensitivePath", b".envrc")]


# --- the two rule sets ----------------------------------------------------------------------------


def test_the_rules_of_git_know_no_range() -> None:
    made = on_top({b"a": b"1"}, ODD)
    made.new.put("blob", b"stowaway\n")
    made.new.put("tag", packs.tag_bytes(made.tips[TIP]))
    report = made.verify(rules="git")
    assert report.findings.sorted() == []
    assert not made.verify().accepted


def test_every_code_of_a_range_can_be_silenced() -> None:
    made = on_top({b"a": b"1"}, {b"a": b"2"})
    new = made.new
    new.put("blob", b"stowaway\n")
    new.put("tag", packs.tag_bytes(made.tips[TIP]))
    made.tips[b"refs/heads/other"] = new.commit({b"a": b"3"})
    codes = [
        checks.STOWAWAY_OBJECT, checks.TAG_OBJECT, checks.NOT_DESCENDANT, checks.ROOT_COMMIT,
    ]  # fmt: skip
    assert {code for code, _ in refusals(made.verify())} == {code.name for code in codes}
    report = made.verify(policy=Policy(severities=dict.fromkeys(codes, IGNORE)))
    assert report.findings.sorted() == []


# --- tips -----------------------------------------------------------------------------------------


def test_only_what_the_tips_reach_is_compared() -> None:
    made = on_top({b"a": b"1"}, {b"a": b"2"})
    made.new.commit({b"secret": b"1"}, made.bases[0])
    report = made.verify(policy=DENY)
    assert [code for code, _ in refusals(report)] == ["stowawayObject"]
    # Without tips all that there is may be checked out.
    report = replace(made, tips={}).verify(policy=DENY)
    assert refusals(report) == [("pathNotAllowed", b"secret")]


def test_tips_that_are_asked_for_beside_a_bundle_without_a_base_are_added_to_its_own() -> None:
    new = Store()
    first, second = new.commit({b"a": b"1"}), new.commit({b"a": b"2"})
    pack = Candidate(Store(), new, (), {}, None).pack()[0]
    refs: list[tuple[Text, Text] | bytes] = [(first.hex(), "refs/heads/one")]
    data = bundle(pack, refs)
    assert [f.oid for f in errors(verify_bytes(data))] == [second]
    assert verify_bytes(data, Options(tips={b"two": second})).accepted


def test_findings_of_an_oddity_in_many_commits_are_one_each() -> None:
    trees: list[Folder] = [{b"p": program(b"%d" % n), b"l": link(b"/etc")} for n in range(20)]
    report = on_top({b"a": b"1"}, *trees).verify()
    assert refusals(report) == [("symlinkAbsolute", b"l")]


def test_a_denied_path_in_many_commits_is_told_once() -> None:
    trees: list[Folder] = [{b"secret": b"%d" % n, b"a": b"1"} for n in range(5)]
    report = on_top({b"a": b"1"}, *trees).verify(policy=DENY)
    assert refusals(report) == [("pathNotAllowed", b"secret")]
    assert report.findings.count(checks.PATH_NOT_ALLOWED) == 1


LISTS = {
    "paths": (Policy(deny=["a"]), ["pathNotAllowed"]),
    "authors": (Policy(authors=["nobody <*>"]), ["identityNotAllowed"]),
    "committers": (Policy(committers=["nobody <*>"]), ["identityNotAllowed"]),
    "paths, as a warning": (
        Policy(deny=["a"], severities={checks.PATH_NOT_ALLOWED: WARNING}), [],
    ),
    "nothing": (Policy(), []),
}  # fmt: skip


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", LISTS)
def test_what_a_policy_lists_is_kept_under_either_rule_set(name: str, rules: str) -> None:
    policy, wanted = LISTS[name]
    made = on_top({b"a": b"1"}, {b"a": b"2"})
    assert [code for code, _ in refusals(made.verify(policy=policy, rules=rules))] == wanted


def test_what_changed_on_prerequisites_that_cannot_be_read_is_not_told() -> None:
    made = on_top({b"a": b"1", b"b": b"1"}, {b"a": b"1", b"b": b"2"})
    data = bundle(made.pack()[0], [(made.tips[TIP].hex(), "refs/heads/x")], [made.bases[0].hex()])
    bare = replace(made, bases=(), tips={}, given=None)
    report = bare.verify(policy=Policy(allow=["b"]), data=data, read=False)
    (finding,) = errors(report)
    assert (finding.code.name, finding.path) == ("pathNotAllowed", None)
    assert "give --base-pack" in finding.message
    assert bare.verify(policy=Policy(allow=["b"]), data=data).accepted


def test_commits_that_lie_between_and_are_elsewhere_are_not_called_unrelated() -> None:
    host = Store()
    first = host.commit({b"a": b"1"})
    second = host.commit({b"a": b"2"}, first)
    new = Store()
    tips = {TIP: new.commit({b"a": b"3"}, second)}
    given = host.seed(first, second, full=True)
    (finding,) = errors(Candidate(host, new, (first,), tips, given).verify())
    assert finding.code.name == "notDescendant"
    assert finding.message.endswith("as far as the commits in the file tell")
    other = Candidate(host, Store(), (first,), {}, given)
    other.tips[TIP] = other.new.commit({b"a": b"4"})
    messages = [f.message for f in errors(other.verify()) if f.code is checks.NOT_DESCENDANT]
    assert messages == ["refs/heads/main does not descend from the base"]


@pytest.mark.parametrize("read", [True, False])
def test_what_is_odd_is_told_once_though_all_of_it_is_new(read: bool) -> None:
    tree: Folder = {b"l": link(b"/x"), b".gitattributes": b"* filter=x\n", b"d": {b".git": b"x"}}
    new = Store()
    made = Candidate(Store(), new, (), {TIP: new.commit(tree)}, None)
    report = made.verify(policy=named("fork"), read=read)
    counts = report.findings.counts()
    assert {name: counts[name] for name in ("symlinkAbsolute", "hasDotgit")} == {
        "symlinkAbsolute": 1, "hasDotgit": 1,
    }  # fmt: skip
    assert counts["gitattributesActive"] == 1


@pytest.mark.parametrize("kind", ["tree", "blob", "commit"])
@pytest.mark.parametrize("tagged", [False, True], ids=["by a ref", "by a tag"])
def test_nothing_is_inherited_where_a_tree_or_blob_is_named_by_itself(
    kind: str, tagged: bool
) -> None:
    # The link is where the base has it, and in the tree that a ref names as well.
    host = Store()
    target = host.put("blob", b"/etc/passwd")
    before: Folder = {b"d": {b"l": existing(b"120000", target)}}
    made = on_top(before, {b"d": {b"l": existing(b"120000", target), b"f": b"1"}}, host=host)
    named = {
        "tree": made.new.tree({b"other": existing(b"120000", target)}),
        "blob": made.new.put("blob", b"x"),
        "commit": made.tips[TIP],
    }[kind]
    if kind != "tree":
        del made.new.objects[made.new.tree({b"other": existing(b"120000", target)})]
    if tagged:
        named = made.new.put("tag", packs.tag_bytes(named, kind.encode()))
    made.new.put("blob", b"/etc/passwd")
    refs: list[tuple[Text, Text] | bytes] = [
        (made.tips[TIP].hex(), "refs/heads/x"), (named.hex(), "refs/tags/evil"),
    ]  # fmt: skip
    sent = replace(made, given=(made.given or set()) - {target}, tips={})
    data = bundle(sent.pack()[0], refs, [made.bases[0].hex()])
    report = replace(made, tips={}).verify(data=data)
    found = {code for code, _ in refusals(report)}
    assert ("symlinkAbsolute" in found) is (kind != "commit")
