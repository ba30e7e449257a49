"""Submodules beside .gitmodules: which have no entry, and which lie where something else is."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass

import pytest

from packparse import checks, pathcodes, submodules
from packparse.codes import ERROR, IGNORE
from packparse.limits import Limits
from packparse.policy import Policy
from packparse.report import Report
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
    submodule,
)


def modules(*paths: bytes) -> bytes:
    """A .gitmodules with a submodule for each path."""
    parts = (
        b'[submodule "%d"]\n\tpath = %b\n\turl = https://host/%d\n' % (n, path, n)
        for n, path in enumerate(paths)
    )
    return b"".join(parts)


def alone(folder: Folder, **more: object) -> Report:
    new = Store()
    made = Candidate(Store(), new, (), {TIP: new.commit(folder)}, None)
    return made.verify(**more)  # type: ignore[arg-type]


def found(report: Report) -> dict[str, list[bytes | None]]:
    """Paths by code, of the two codes that this is about."""
    listed: dict[str, list[bytes | None]] = {}
    for finding in report.findings.sorted():
        if finding.code in {pathcodes.GITLINK_WITHOUT_ENTRY, pathcodes.SUBMODULE_PATH_CONFLICT}:
            listed.setdefault(finding.code.name, []).append(finding.path)
    return listed


@dataclass(frozen=True)
class Case:
    """A tree, paths of submodules without an entry, and paths where something else is tracked."""

    tree: Folder
    without: tuple[bytes, ...] = ()
    conflicts: tuple[bytes, ...] = ()


CASES = {
    "a submodule with its entry": Case({b".gitmodules": modules(b"m"), b"m": submodule()}),
    "PG11 a submodule without .gitmodules": Case({b"m": submodule()}, without=(b"m",)),
    "PG11 a submodule that .gitmodules does not name": Case(
        {b".gitmodules": modules(b"n"), b"m": submodule()}, without=(b"m",)
    ),
    "a submodule in a folder": Case(
        {b".gitmodules": modules(b"a/b/m"), b"a": {b"b": {b"m": submodule(), b"n": submodule()}}},
        without=(b"a/b/n",),
    ),
    "a path with a slash at its end": Case(
        {b".gitmodules": modules(b"a/m/"), b"a": {b"m": submodule()}}
    ),
    "an entry of which nothing is there yet": Case({b".gitmodules": modules(b"m"), b"a": b"1"}),
    "an entry in a folder that is not there": Case({b".gitmodules": modules(b"x/y/m"), b"a": b"1"}),
    "PG12 a file where a submodule should be": Case(
        {b".gitmodules": modules(b"m"), b"m": b"1"}, conflicts=(b"m",)
    ),
    "PG12 a program": Case(
        {b".gitmodules": modules(b"m"), b"m": program(b"1")}, conflicts=(b"m",)
    ),
    "PG12 a folder": Case(
        {b".gitmodules": modules(b"m"), b"m": {b"f": b"1"}}, conflicts=(b"m",)
    ),
    "CVE-2025-48384 a link": Case(
        {b".gitmodules": modules(b"m"), b"m": link(b"hooks")}, conflicts=(b"m",)
    ),
    "CVE-2021-21300 a link on the way": Case(
        {b".gitmodules": modules(b"l/m"), b"l": link(b"d"), b"d": {b"m": submodule()}},
        without=(b"d/m",),
        conflicts=(b"l/m",),
    ),
    "a file on the way": Case(
        {b".gitmodules": modules(b"f/m"), b"f": b"1"}, conflicts=(b"f/m",)
    ),
    "a submodule on the way": Case({b".gitmodules": modules(b"s", b"s/m"), b"s": submodule()}),
    "of many paths two": Case(
        {b".gitmodules": modules(b"a/x", b"a/y", b"a/z", b"b"),
         b"a": {b"x": submodule(), b"y": b"1", b"z": {b"f": b"1"}}, b"b": submodule()},
        conflicts=(b"a/y", b"a/z"),
    ),
    "a path below one that conflicts": Case(
        {b".gitmodules": modules(b"a", b"a/m"), b"a": {b"m": submodule()}}, conflicts=(b"a",)
    ),
    "a .gitmodules in a folder counts for nothing": Case(
        {b"d": {b".gitmodules": modules(b"m"), b"m": submodule()}}, without=(b"d/m",)
    ),
    "a folder of that name counts for nothing": Case({b"m": submodule(), b"a": {b"b": b"1"}},
                                                     without=(b"m",)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_submodules_are_compared_with_the_file(case: Case) -> None:
    report = alone(case.tree)
    wanted = {
        "gitlinkWithoutEntry": list(case.without),
        "submodulePathConflict": list(case.conflicts),
    }
    assert found(report) == {code: paths for code, paths in wanted.items() if paths}
    assert report.accepted is not bool(case.conflicts)
    assert report.klass == (3 if case.conflicts else 0)


def test_every_commit_is_compared_with_its_own_file() -> None:
    good: Folder = {b".gitmodules": modules(b"m"), b"m": submodule()}
    bad: Folder = {b".gitmodules": modules(b"m"), b"m": b"1"}
    assert found(on_top({b"a": b"1"}, bad, good).verify()) == {"submodulePathConflict": [b"m"]}
    assert found(on_top({b"a": b"1"}, good).verify()) == {}


def test_one_file_may_go_with_one_tree_and_not_with_another() -> None:
    file = modules(b"m")
    trees: list[Folder] = [
        {b".gitmodules": file, b"m": node} for node in (submodule(), b"1", {b"f": b"1"})
    ]
    report = on_top({b"a": b"1"}, *trees).verify()
    assert report.findings.count(pathcodes.SUBMODULE_PATH_CONFLICT) == 2


# --- inherited ------------------------------------------------------------------------------------

CONFLICT: Folder = {b".gitmodules": modules(b"m"), b"m": {b"f": b"1"}}


def test_a_conflict_of_the_base_is_inherited() -> None:
    report = on_top(CONFLICT, {**CONFLICT, b"a": b"1"}).verify()
    assert report.accepted
    assert inherited(report) == [("submodulePathConflict", b"m")]
    # Also where a file in the folder changes.
    assert on_top(CONFLICT, {**CONFLICT, b"m": {b"f": b"2"}}).verify().accepted


OTHERS: dict[str, Folder] = {
    "the folder becomes a link": {**CONFLICT, b"m": link(b"a")},
    "the folder becomes a file": {**CONFLICT, b"m": b"1"},
    "another path conflicts": {
        **CONFLICT, b".gitmodules": modules(b"m", b"n"), b"n": b"1",
    },
}  # fmt: skip


@pytest.mark.parametrize("after", OTHERS.values(), ids=OTHERS)
def test_another_conflict_is_new(after: Folder) -> None:
    report = on_top(CONFLICT, after).verify()
    assert [code for code, _ in refusals(report)] == ["submodulePathConflict"]


def test_a_link_that_leads_elsewhere_is_another_conflict() -> None:
    base: Folder = {b".gitmodules": modules(b"m"), b"m": link(b"a")}
    assert on_top(base, {**base, b"a": b"1"}).verify().accepted
    assert not on_top(base, {**base, b"m": link(b"b")}).verify().accepted


def test_the_file_of_the_base_is_read_where_the_pack_has_it_not() -> None:
    base: Folder = {b".gitmodules": modules(b"m"), b"a": b"1"}
    assert found(on_top(base, {**base, b"m": submodule()}).verify()) == {}
    assert found(on_top(base, {**base, b"m": b"1"}).verify()) == {"submodulePathConflict": [b"m"]}
    assert found(on_top(base, {**base, b"n": submodule()}).verify()) == {
        "gitlinkWithoutEntry": [b"n"]
    }


def test_a_known_folder_with_a_submodule_may_be_moved() -> None:
    # Nothing in the pack has the submodule; it is listed for the reviewer all the same.
    host = Store()
    folder = host.tree({b"m": submodule()})
    base: Folder = {b".gitmodules": modules(b"d/m"), b"d": existing(b"40000", folder)}
    report = on_top(base, {**base, b"e": existing(b"40000", folder)}, host=host).verify()
    assert report.accepted
    assert report.changes is not None
    assert report.changes.submodules == [(b"e/m", b"\x07" * 20)]


# --- whether, and at what cost --------------------------------------------------------------------


def test_the_policy_says_how_bad_it_is() -> None:
    strict = Policy(severities={pathcodes.GITLINK_WITHOUT_ENTRY: ERROR})
    assert refusals(alone({b"m": submodule()}, policy=strict)) == [("gitlinkWithoutEntry", b"m")]
    silent = Policy(
        severities=dict.fromkeys(
            (pathcodes.GITLINK_WITHOUT_ENTRY, pathcodes.SUBMODULE_PATH_CONFLICT), IGNORE
        )
    )
    assert found(alone({b".gitmodules": modules(b"m"), b"m": b"1"}, policy=silent)) == {}
    assert found(alone({b".gitmodules": modules(b"m"), b"m": b"1"}, rules="git")) == {}


@pytest.mark.heavy
def test_a_large_file_and_a_large_tree_are_compared_folder_by_folder() -> None:
    # Each of 5,000 paths would otherwise take a tree of 30,000 entries apart.
    tree: Folder = {b"f%05d" % n: b"f" for n in range(30_000)}
    paths = [b"p%d/q" % n for n in range(5_000)]
    report = alone({b".gitmodules": modules(*paths, b"f00001"), **tree})
    assert found(report) == {"submodulePathConflict": [b"f00001"]}


def test_many_paths_in_many_trees_have_a_limit() -> None:
    file = modules(*(b"p%d" % n for n in range(100)))
    trees: list[Folder] = [{b".gitmodules": file, b"n": b"%d" % n} for n in range(12)]
    made = on_top({b"a": b"1"}, *trees)
    assert made.verify().accepted
    report = made.verify(limits=Limits(changes={"files": 1_000}))
    assert [f.code for f in errors(report)] == [checks.TOO_MANY_FILES]


def test_submodules_in_a_thousand_places_are_looked_for_once() -> None:
    new = Store()
    wide = new.raw_tree(
        *((b"100644", b"f%05d" % n, new.put("blob", b"f")) for n in range(20_000)),
        (b"160000", b"m", b"\x07" * 20),
    )
    root = new.raw_tree(*((b"40000", b"%04d" % n, wide) for n in range(45)))
    report = Candidate(Store(), new, (), {TIP: new.commit(root)}, None).verify()
    assert report.accepted
    assert report.findings.count(pathcodes.GITLINK_WITHOUT_ENTRY) == 45


def test_a_submodule_at_the_end_of_a_long_chain_of_folders_is_no_work() -> None:
    new = Store()
    tree = new.tree({b"m": submodule()})
    for _ in range(5_000):
        tree = new.raw_tree((b"40000", b"d", tree))
    report = Candidate(Store(), new, (), {TIP: new.commit(tree)}, None).verify()
    assert [code for code, _ in refusals(report)] == ["treeTooDeep"]


def test_a_thousand_submodules_are_each_told() -> None:
    report = alone({b"%04d" % n: submodule() for n in range(1_000)})
    assert report.accepted
    assert report.findings.count(pathcodes.GITLINK_WITHOUT_ENTRY) == 1_000
    assert report.findings.count(pathcodes.GITLINK) == 1_000
    assert len(found(report)["gitlinkWithoutEntry"]) == 100


@pytest.mark.parametrize(("files", "codes"), [(300, []), (299, ["tooManyFiles"])])
def test_many_paths_in_many_trees_have_a_limit_without_a_base_too(
    files: int, codes: list[str]
) -> None:
    # 12 trees with 100 paths each: four times the limit may be looked up.
    paths = modules(*(b"p%d" % n for n in range(100)))
    new = Store()
    parents: tuple[bytes, ...] = ()
    for number in range(12):
        tree: Folder = {b".gitmodules": paths, b"n": b"%d" % number}
        parents = (new.commit(tree, *parents),)
    made = Candidate(Store(), new, (), {TIP: parents[0]}, None)
    report = made.verify(limits=Limits(changes={"files": files}))
    assert [f.code.name for f in errors(report)] == codes


def test_a_file_is_read_again_where_too_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submodules, "_FILES_KEPT", 1)
    new = Store()
    parents: tuple[bytes, ...] = ()
    for name in (b"a", b"b", b"c", b"a"):
        parents = (new.commit({b".gitmodules": modules(name), name: submodule()}, *parents),)
    report = Candidate(Store(), new, (), {TIP: parents[0]}, None).verify()
    assert found(report) == {}


def test_submodules_at_the_greatest_depth_are_found() -> None:
    report = alone({b"m": submodule()}, limits=Limits(changes={"tree_depth": 1}))
    assert found(report) == {"gitlinkWithoutEntry": [b"m"]}


ODD_PATHS: dict[str, tuple[bytes, bool]] = {
    "a path with a dot before": (b"./l", True),
    "a path below a link, with a dot before": (b"./l/m", True),
    "a path in capitals": (b"L", True),
    "a path with a dot that Windows drops": (b"l.", True),
    "a path with a backslash": (b"l\\\\m", True),
    "a path with a slash too many": (b"l//m", True),
    "another path": (b"./m", False),
}


@pytest.mark.parametrize("name", ODD_PATHS)
def test_a_path_is_what_any_reader_may_take_it_for(name: str) -> None:
    path, conflicts = ODD_PATHS[name]
    report = alone({b".gitmodules": modules(path), b"l": link(b"x")})
    assert ("submodulePathConflict" in found(report)) is conflicts


@pytest.mark.parametrize("kept", [True, False])
def test_an_entry_that_is_taken_out_leaves_its_submodule_without(kept: bool) -> None:
    # The folder with the submodule is as it was, and not in the pack.
    base: Folder = {b".gitmodules": modules(b"f/s"), b"f": {b"s": submodule()}, b"a": b"1"}
    after: Folder = {**base, b"a": b"2"} if kept else {b"f": {b"s": submodule()}, b"a": b"1"}
    listed = found(on_top(base, after).verify())
    assert listed == ({} if kept else {"gitlinkWithoutEntry": [b"f/s"]})


def test_a_submodule_that_is_taken_out_with_its_entry_is_nothing_to_tell() -> None:
    base: Folder = {b".gitmodules": modules(b"f/s"), b"f": {b"s": submodule()}, b"a": b"1"}
    for after in (b"a file", {b"t": b"1"}):
        assert found(on_top(base, {b"a": b"1", b"f": after}).verify()) == {}


@pytest.mark.heavy
def test_long_paths_to_many_submodules_take_little_memory() -> None:
    host, new = Store(), Store()
    start = host.commit({b"a": b"1"})
    holder = new.raw_tree((b"160000", b"s", b"\7" * 20))
    tree = new.raw_tree(*((b"40000", b"%05d" % n, holder) for n in range(30_000)))
    for _ in range(15):
        tree = new.raw_tree((b"40000", b"p" * 250, tree))
    made = Candidate(host, new, (start,), {TIP: new.commit(tree, start)}, host.seed(start))
    data = made.pack()[0]
    made.verify(data=alone_pack())  # what is loaded late is loaded now
    tracemalloc.start()
    report = made.verify(data=data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {f.code.name for f in errors(report)} <= {"tooManyFiles"}
    assert peak < 60 << 20


def alone_pack() -> bytes:
    new = Store()
    tip = new.commit({b"m": submodule()})
    return Candidate(Store(), new, (), {TIP: tip}, None).pack()[0]


@pytest.mark.heavy
def test_a_path_of_very_many_parts_is_taken_apart_once() -> None:
    file = modules(b"a/" * 400_000 + b"b")
    new = Store()
    parents: tuple[bytes, ...] = ()
    for number in range(40):
        tree: Folder = {b".gitmodules": file, b"n": b"%d" % number, b"a": {b"a": {b"x": b"1"}}}
        parents = (new.commit(tree, *parents),)
    begin = time.process_time()
    Candidate(Store(), new, (), {TIP: parents[0]}, None).verify()
    assert time.process_time() - begin < 8


def test_long_names_beyond_ascii_are_folded_once_for_a_tree() -> None:
    tail = ("\u0345" * 57 + "\u0334" * 57).encode()
    wide: Folder = {b"%04d" % n + tail: b"1" for n in range(1_500)}
    new = Store()
    parents: tuple[bytes, ...] = ()
    for number in range(40):
        tree: Folder = {b".gitmodules": modules(b"d/q"), b"d": wide, b"n": b"%d" % number}
        parents = (new.commit(tree, *parents),)
    begin = time.process_time()
    Candidate(Store(), new, (), {TIP: parents[0]}, None).verify()
    assert time.process_time() - begin < 8
