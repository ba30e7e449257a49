"""Paths by policy in every commit, and what comparing trees may cost (PG13, PF21, PF23)."""

from __future__ import annotations

import tracemalloc

import pytest

from packparse import checks
from packparse.limits import Limits
from packparse.policy import Policy
from tests.support.candidates import (
    TIP,
    Candidate,
    Entry,
    Folder,
    Store,
    errors,
    existing,
    link,
    on_top,
    refusals,
    submodule,
)

DENY = Policy(deny=["secret/**", "*.key"])
ALLOW = Policy(allow=["src/**", "README"])
TREE: Folder = {
    b"README": b"r",
    b"secret": {b"s": b"1"},
    b"src": {b"main": b"m", b"lib": {b"l": b"l"}},
    b"top.key": b"k",
}


def with_(changes: Folder) -> Folder:
    return {**TREE, **changes}


def without(*names: bytes) -> Folder:
    return {name: node for name, node in TREE.items() if name not in names}


POLICIES: dict[str, tuple[Policy, Folder, list[bytes]]] = {
    "deny: a file added": (DENY, with_({b"secret": {b"s": b"1", b"t": b"2"}}), [b"secret/t"]),
    "deny: a file changed": (DENY, with_({b"secret": {b"s": b"2"}}), [b"secret/s"]),
    "deny: a file deleted": (DENY, without(b"secret"), [b"secret/s"]),
    "deny: a file that becomes executable": (
        DENY, with_({b"secret": {b"s": Entry(b"100755", b"1")}}), [b"secret/s"],
    ),
    "deny: a file that becomes a link": (
        DENY, with_({b"secret": {b"s": link(b"1")}}), [b"secret/s"],
    ),
    "deny: a folder that becomes a file": (
        DENY, with_({b"secret": b"f"}), [b"secret", b"secret/s"],
    ),
    "deny: a folder that becomes a submodule": (
        DENY, with_({b"secret": submodule()}), [b"secret", b"secret/s"],
    ),
    "deny: a file that becomes a folder": (
        DENY, with_({b"top.key": {b"f": b"1"}}), [b"top.key", b"top.key/f"],
    ),
    "deny: by another spelling": (DENY, with_({b"Secret": {b"t": b"1"}}), [b"Secret/t"]),
    "deny: elsewhere": (DENY, with_({b"src": {b"main": b"2"}}), []),
    "deny: nothing at all": (DENY, TREE, []),
    "allow: a file changed": (ALLOW, with_({b"README": b"s"}), []),
    "allow: a folder changed": (ALLOW, with_({b"src": {b"main": b"2"}}), []),
    "allow: a file beside it": (ALLOW, with_({b"readme": b"1"}), [b"readme"]),
    "allow: a file deleted": (ALLOW, without(b"top.key"), [b"top.key"]),
    "allow: a folder in the place of a file": (
        ALLOW, with_({b"README": {b"x": b"1"}}), [b"README/x"],
    ),
    "allow: a file in the place of a folder": (ALLOW, with_({b"src": b"1"}), [b"src"]),
    "allow: an empty folder": (ALLOW, with_({b"empty": {}}), []),
}  # fmt: skip


@pytest.mark.parametrize(("policy", "after", "wanted"), POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("where", ["the tip", "only in between"])
def test_paths_are_judged_by_the_policy_in_every_commit(
    policy: Policy, after: Folder, wanted: list[bytes], where: str
) -> None:
    changes = (after,) if where == "the tip" else (after, with_({b"src": {b"main": b"3"}}))
    report = on_top(TREE, *changes).verify(policy=policy)
    found = {f.path for f in errors(report) if f.code is checks.PATH_NOT_ALLOWED}
    assert found == set(wanted)
    assert refusals(report) == [] or wanted


def test_one_pair_of_trees_at_two_paths_is_judged_at_each() -> None:
    # What was learned of a pair of trees at an allowed path says nothing of a denied one.
    before = {b"open": {b"f": b"1"}, b"shut": {b"f": b"1"}}
    after: Folder = {b"open": {b"f": b"2"}, b"shut": {b"f": b"2"}}
    for policy in (Policy(deny=["shut/**"]), Policy(allow=["open/**"])):
        assert refusals(on_top(before, after).verify(policy=policy)) == [
            ("pathNotAllowed", b"shut/f")
        ]


def test_a_known_file_or_folder_at_a_denied_path_is_found() -> None:
    host = Store()
    file, folder = host.put("blob", b"1"), host.tree({b"f": b"1"})
    base: Folder = {b"a": b"1", b"d": {b"f": b"1"}}
    for node, path in (
        (existing(b"100644", file), b"secret"),
        (existing(b"40000", folder), b"secret/f"),
    ):
        made = on_top(base, {**base, b"secret": node}, host=host)
        assert refusals(made.verify(policy=Policy(deny=["secret"]))) == [("pathNotAllowed", path)]


def test_a_policy_on_paths_needs_the_trees_of_the_base() -> None:
    # Without them a known file that is moved cannot be told from one that stays.
    made = on_top({b"a": b"1"}, {b"a": b"2"})
    report = made.verify(policy=DENY, read=False)
    assert [code for code, _ in refusals(report)] == ["pathNotAllowed"]
    assert made.verify(read=False).accepted


def test_without_a_base_all_paths_are_new() -> None:
    new = Store()
    tip = new.commit(TREE)
    report = Candidate(Store(), new, (), {TIP: tip}, None).verify(policy=DENY)
    assert sorted(path or b"" for _, path in refusals(report)) == [b"secret/s", b"top.key"]


def test_a_sensitive_path_is_a_warning_and_refused_where_the_policy_says_so() -> None:
    after: Folder = {b"a": b"1", b".github": {b"workflows": {b"x.yml": b"on: push\n"}}}
    made = on_top({b"a": b"1"}, after)
    report = made.verify()
    assert report.accepted
    (finding,) = report.findings.sorted()
    assert (finding.code, finding.severity, finding.path) == (
        checks.SENSITIVE_PATH,
        "warning",
        b".github/workflows/x.yml",
    )
    assert "added" in finding.message
    strict = Policy(severities={checks.SENSITIVE_PATH: "error"})
    assert refusals(made.verify(policy=strict)) == [("sensitivePath", b".github/workflows/x.yml")]


# --- what it may cost -----------------------------------------------------------------------------


def test_a_path_through_known_folders_has_its_limits() -> None:
    # Inside the pack all is short and flat; the folders of the base make the path.
    deep: Folder = {b"f": b"1"}
    for _ in range(100):
        deep = {b"n" * 20: deep}
    host = Store()
    tree = host.tree(deep)
    base: Folder = {b"k": existing(b"40000", tree)}
    assert on_top(base, {**base, b"f": b"1"}, host=host).verify().accepted
    moved: Folder = {b"k": existing(b"40000", tree)}
    for _ in range(50):
        moved = {b"m": moved}
    report = on_top(base, moved, host=host).verify()
    assert [code for code, _ in refusals(report)] == ["treeTooDeep"]
    longer: Folder = {b"m" * 250: {b"m" * 250: {b"m" * 250: existing(b"40000", tree)}}}
    for _ in range(6):
        longer = {b"m" * 250: longer}
    report = on_top(base, longer, host=host).verify()
    assert [code for code, _ in refusals(report)] == ["pathTooLong"]


def test_a_bomb_out_of_the_trees_of_the_base_goes_off_in_no_hands() -> None:
    # PF23: a thousand files of the base, at eight hundred thousand places.
    host = Store()
    known: Folder = {b"%04d" % n: b"f" for n in range(1_000)}
    made = on_top({b"k": known}, host=host)
    new = made.new
    tree = host.tree(known)
    for _ in range(3):
        tree = new.raw_tree(*((b"40000", b"%02d" % n, tree) for n in range(95)))
    made.tips[TIP] = new.commit(tree, made.bases[0])
    limits = Limits(changes={"files": 20_000})
    assert [code for code, _ in refusals(made.verify(limits=limits))] == ["tooManyFiles"]


def test_a_large_file_of_the_base_at_many_places_takes_too_many_bytes() -> None:
    # Known files count once for nothing, wherever they are put: so much was there before.
    host = Store()
    base: Folder = {b"large": b"x" * 10_000, b"d": {b"other": b"y" * 10_000}}
    limits = Limits(changes={"expanded_bytes": 50_000})
    moved: Folder = {b"renamed": b"x" * 10_000, b"e": {b"other": b"y" * 10_000}}
    assert on_top(base, moved).verify(limits=limits).accepted
    large = host.put("blob", b"x" * 10_000)
    for count, wanted in ((6, []), (7, ["expandedTooLarge"])):
        places: Folder = {b"%d" % n: existing(b"100644", large) for n in range(count)}
        report = on_top(base, {**base, b"p": places}, host=host).verify(limits=limits)
        assert [code for code, _ in refusals(report)] == wanted


def test_a_folder_of_ten_thousand_files_may_be_renamed() -> None:
    host = Store()
    folder = {b"%03d" % n: {b"%02d" % m: b"%d" % m for m in range(100)} for n in range(100)}
    base: Folder = {b"old": folder}
    tree = host.tree(folder)
    made = on_top(base, {b"new": existing(b"40000", tree)}, host=host)
    report = made.verify()
    assert report.findings.sorted() == []
    assert report.changes is not None
    assert report.changes.files == 20_000


@pytest.mark.heavy
def test_long_paths_at_many_places_take_little_memory() -> None:
    new = Store()
    tree = new.tree({b"f": b"1"})
    for _ in range(3):
        tree = new.raw_tree(*((b"40000", b"%02d" % n, tree) for n in range(60)))
    for _ in range(15):
        tree = new.raw_tree((b"40000", b"n" * 250, tree))
    made = on_top({b"a": b"1"})
    made.new.objects.update(new.objects)
    made.tips[TIP] = made.new.commit(tree, made.bases[0])
    data = made.pack()[0]
    tracemalloc.start()
    try:
        report = made.verify(data=data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [code for code, _ in refusals(report)] == ["tooManyFiles"]
    assert peak < 100 << 20
