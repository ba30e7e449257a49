"""What a checkout would take: files, bytes, depth and paths, counted, not made (PF21, PF23)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packparse import checks, pathcodes
from packparse.codes import IGNORE
from packparse.limits import Limits
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.candidates import (
    TIP,
    Candidate,
    Folder,
    Store,
    errors,
    existing,
    on_top,
    refusals,
    submodule,
)
from tests.support.packs import PackBuilder


def alone(folder: Folder | bytes, new: Store | None = None) -> Candidate:
    new = new or Store()
    return Candidate(Store(), new, (), {TIP: new.commit(folder)}, None)


def bomb(levels: int, width: int, leaf: Callable[[Store], tuple[bytes, bytes]]) -> Candidate:
    """Folders in folders, `width` of each in the next, around one leaf (mode, id)."""
    new = Store()
    mode, oid = leaf(new)
    for _ in range(levels):
        mode, oid = b"40000", new.raw_tree(*((mode, b"%d" % n, oid) for n in range(width)))
    return alone(oid, new)


def a_file(new: Store) -> tuple[bytes, bytes]:
    return b"100644", new.put("blob", b"!")


def a_link(new: Store) -> tuple[bytes, bytes]:
    return b"120000", new.put("blob", b"0")


def an_empty_folder(new: Store) -> tuple[bytes, bytes]:
    return b"40000", new.tree({})


LEAVES = {"of a file": a_file, "of a link": a_link, "of an empty folder": an_empty_folder}


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
def test_a_bomb_of_ten_billion_files_is_refused(
    leaf: Callable[[Store], tuple[bytes, bytes]],
) -> None:
    # CVE-2017-15298: 971 bytes, which git's fsck accepts.
    made = bomb(10, 10, leaf)
    data, entries = made.pack()
    assert len(data) < 1_300
    report = made.verify(data=data)
    (finding,) = errors(report)
    assert finding.code is checks.TOO_MANY_FILES
    assert (finding.oid, finding.offset) == (made.tips[TIP], entries[made.tips[TIP]].offset)
    assert finding.limit is not None
    # Files and folders: 10 + 100 + ... + 10^10.
    assert finding.limit.as_dict() == {
        "name": "files", "value": 1_000_000, "seen": sum(10**n for n in range(1, 11)),
    }  # fmt: skip
    assert report.klass == checks.TOO_MANY_FILES.klass


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
@pytest.mark.parametrize("over", [0, 1])
def test_a_tree_may_have_as_many_files_as_the_limit_says(
    leaf: Callable[[Store], tuple[bytes, bytes]], over: int
) -> None:
    made = bomb(3, 4, leaf)
    count = 4 + 16 + 64
    report = made.verify(limits=Limits(changes={"files": count - over}))
    assert [code for code, _ in refusals(report)] == ["tooManyFiles"] * over


def test_submodules_are_no_files() -> None:
    # Beside .gitmodules they are looked at one by one, which is another cost.
    codes = (pathcodes.GITLINK_WITHOUT_ENTRY, pathcodes.SUBMODULE_PATH_CONFLICT)
    made = bomb(3, 4, lambda _: (b"160000", b"\x07" * 20))
    policy = Policy(severities=dict.fromkeys(codes, IGNORE))
    limits = Limits(changes={"files": 4 + 16})
    assert made.verify(limits=limits, policy=policy).accepted


@pytest.mark.parametrize("over", [0, 1])
def test_the_bytes_of_all_files_count_each_time_they_are_checked_out(over: int) -> None:
    new = Store()
    content = b"x" * 1_000
    folder: Folder = {b"a": content, b"b": content, b"d": {b"c": content}}
    made = alone({**folder, b"e": folder}, new)
    report = made.verify(limits=Limits(changes={"expanded_bytes": 6_000 - over}))
    assert [(f.code.name, f.oid) for f in errors(report)] == [
        ("expandedTooLarge", made.tips[TIP])
    ] * over


def test_a_byte_bomb_of_few_files_is_refused() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", bytes(10 << 20))
    entries = [(b"100644", b"%04d" % n, blob.oid) for n in range(2_000)]
    tree = pack.add("tree", packs.tree_bytes(entries))
    commit = pack.add("commit", packs.commit_bytes(tree.oid))
    report = verify_bytes(pack.build())
    assert [(f.code.name, f.oid) for f in errors(report)] == [("expandedTooLarge", commit.oid)]


# --- depth ----------------------------------------------------------------------------------------


def nested(depth: int, name: bytes = b"d", folder: Folder | None = None) -> Folder:
    """A file at this depth: 1 is in the root."""
    made: Folder = {b"f": b"1"} if folder is None else folder
    for _ in range(depth - 1):
        made = {name: made}
    return made


@pytest.mark.parametrize("empty", [False, True], ids=["a file", "an empty folder"])
@pytest.mark.parametrize("depth", [127, 128, 129])
def test_a_tree_may_be_128_folders_deep(depth: int, empty: bool) -> None:
    report = alone(nested(depth, folder={} if empty else None)).verify()
    assert [code for code, _ in refusals(report)] == (["treeTooDeep"] if depth > 128 else [])


def test_a_tree_of_twenty_thousand_folders_ends_no_recursion() -> None:
    new = Store()
    tree = new.tree({b"f": b"1"})
    for _ in range(20_000):
        tree = new.raw_tree((b"40000", b"d", tree))
    made = alone(tree, new)
    report = made.verify()
    (finding,) = errors(report)
    assert finding.code is checks.TREE_TOO_DEEP
    assert finding.limit is not None
    assert finding.limit.seen == 20_001


# --- paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("over", [0, 1])
def test_a_path_may_have_4096_bytes(over: int) -> None:
    # 16 names of 255 bytes and their slashes, and one byte more for the file, or two.
    folder: Folder = {b"f" * over: b"1"} if over else {}
    name = b"n" * 255
    root: Folder = {name: folder}
    for _ in range(15):
        root = {name: root}
    report = alone(root if over else {**root, b"x": b"1"}).verify()
    longest = 16 * 255 + 15 + (1 + over if over else 0)
    assert (longest > 4_096) is bool(over)
    found = [(f.code, f.limit and f.limit.seen) for f in errors(report)]
    assert found == ([(checks.PATH_TOO_LONG, longest)] if over else [])


def test_a_long_name_far_from_deep_folders_is_no_long_path() -> None:
    # The quick estimate takes the longest name for every folder; the exact reading knows better.
    report = alone({**nested(100), b"n" * 255: b"1"}).verify()
    assert report.findings.sorted() == []


def test_the_exact_reading_is_done_once_for_many_commits() -> None:
    new = Store()
    shared = new.tree(nested(40))
    wide = new.raw_tree(
        *(
            (b"40000", b"%04d" % n, new.raw_tree((b"40000", b"%04d" % n, shared)))
            for n in range(500)
        )
    )
    tip: tuple[bytes, ...] = ()
    for number in range(100):
        root: Folder = {b"w": existing(b"40000", wide), b"n" * 255: b"1", b"x": b"%d" % number}
        tip = (new.commit(root, *tip),)
    made = Candidate(Store(), new, (), {TIP: tip[0]}, None)
    # A budget for reading that would not do for a hundred times.
    assert made.verify(limits=Limits(changes={"restored_bytes": 1 << 20})).accepted


# --- which trees ----------------------------------------------------------------------------------


def test_every_commit_is_measured() -> None:
    new = Store()
    old = new.commit({b"%03d" % n: b"1" for n in range(50)})
    tip = new.commit({b"a": b"1"}, old)
    made = Candidate(Store(), new, (), {TIP: tip}, None)
    report = made.verify(limits=Limits(changes={"files": 49}))
    assert [f.oid for f in errors(report)] == [old]


def test_a_tree_that_no_commit_names_is_measured_too() -> None:
    new = Store()
    tree = new.tree(nested(200))
    report = Candidate(Store(), new, (), {}, None).verify()
    found = {f.oid for f in errors(report) if f.code is checks.TREE_TOO_DEEP}
    assert tree in found


@pytest.mark.parametrize("tagged", [False, True], ids=["plain", "with a tag"])
def test_in_a_long_history_the_tips_are_measured(
    tagged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packparse.judge._FEW", 5)
    new = Store()
    tip: tuple[bytes, ...] = ()
    for number in range(10):
        tip = (new.commit({b"a": b"%d" % number}, *tip),)
    bad = new.commit({b"%03d" % n: b"1" for n in range(50)}, *tip)
    tips = {TIP: bad}
    if tagged:
        tips = {b"refs/tags/v": new.put("tag", packs.tag_bytes(bad))}
    limits = Limits(changes={"files": 49})
    for asked in (tips, {}):
        report = Candidate(Store(), new, (), asked, None).verify(limits=limits)
        assert [f.oid for f in errors(report)] == [bad]


def test_a_tip_that_a_later_commit_builds_on_is_measured_in_a_long_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("packparse.judge._FEW", 1)
    new = Store()
    bad = new.commit({b"%03d" % n: b"1" for n in range(50)})
    after = new.commit({b"a": b"1"}, bad)
    tips = {b"refs/heads/a": bad, b"refs/heads/b": after}
    report = Candidate(Store(), new, (), tips, None).verify(limits=Limits(changes={"files": 49}))
    assert [f.oid for f in errors(report)] == [bad]


def test_what_lies_outside_counts_as_one() -> None:
    folder: Folder = {b"%03d" % n: b"x" * 1_000 for n in range(90)}
    made = on_top({b"k": folder}, {b"k": folder, b"f": b"1"})
    assert made.verify(limits=Limits(changes={"files": 20, "expanded_bytes": 10})).accepted


@pytest.mark.parametrize("preset", ["candidate", "history"])
def test_every_limit_can_be_raised(preset: str) -> None:
    most = 2**53 - 1
    raised = Limits(preset, {"files": most, "expanded_bytes": most, "tree_depth": 10**6})
    assert bomb(10, 10, a_file).verify(limits=raised).accepted


def test_the_measures_are_the_same_for_large_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    # There a table of all ids would take too much memory.
    def seen() -> list[tuple[str, object]]:
        found: list[tuple[str, object]] = []
        for made in (bomb(10, 10, a_file), alone(nested(200)), alone(nested(30, b"n" * 200))):
            found += [(f.code.name, f.limit and f.limit.as_dict()) for f in errors(made.verify())]
        return found

    before = seen()
    assert [code for code, _ in before] == ["tooManyFiles", "treeTooDeep", "pathTooLong"]
    monkeypatch.setattr("packparse.expanded._MOST_AT_ONCE", 0)
    assert seen() == before


def test_a_submodule_is_not_gone_into() -> None:
    report = alone({b"m": submodule(), b"d": {b"m": submodule()}}).verify()
    assert report.accepted


def found_in(report: Report) -> list[str]:
    return [f.code.name for f in errors(report)]


def test_no_limit_is_looked_at_where_objects_are_lost() -> None:
    made = bomb(10, 10, a_file)
    made.new.put("tree", b"no tree")
    report = made.verify()
    assert found_in(report) == ["badTree"]
    assert report.findings.count(checks.LINKS_NOT_CHECKED) == 1


def test_the_rules_of_git_have_the_same_limits() -> None:
    data = bomb(10, 10, a_file).pack()[0]
    assert found_in(verify_bytes(data, Options(rules="git"))) == ["tooManyFiles"]
