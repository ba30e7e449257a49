"""What the report lists for a reviewer, from the bases to the tips: exactly that (PG9, PG14)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from packparse import checks
from packparse.changes import KEPT, Changes
from packparse.options import Options
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.bundles import Text, bundle
from tests.support.candidates import (
    TIP,
    Candidate,
    Folder,
    Store,
    existing,
    link,
    on_top,
    program,
    submodule,
)

OTHER = b"\x08" * 20

BASE: Folder = {
    b".gitattributes": b"*.txt text\n*.bin filter=lfs\n",
    b"keep": b"kept\n",
    b"link": link(b"keep"),
    b"module": submodule(),
    b"tool": program(b"#!/bin/sh\n"),
    b"text": b"text\n",
    b"dir": {b"a": b"a\n", b"b": program(b"b\n")},
    b".github": {b"workflows": {b"ci.yml": b"on: push\n"}},
}


def of(report: Report) -> Changes:
    assert report.changes is not None
    return report.changes


def after(**more: object) -> Folder:
    changes = {name.encode(): node for name, node in more.items()}
    return {**BASE, **changes}  # type: ignore[dict-item]


def test_all_kinds_of_changes_are_listed_and_nothing_else() -> None:
    changed: Folder = {
        **{name: node for name, node in BASE.items() if name != b".github"},
        b".gitattributes": b"*.txt text\n*.bin filter=evil\n*.sh merge=union\n",
        b"link": link(b"text"),
        b"module": submodule(OTHER),
        b"tool": program(b"#!/bin/bash\n"),
        b"text": program(b"text\n"),
        b"dir": {
            b"a": b"a longer file\n",
            b"b": b"b\n",
            b"c": program(b"c\n"),
            b"l": link(b"../keep"),
            b"m": submodule(),
        },
        b".envrc": b"export X=1\n",
    }
    report = on_top(BASE, changed).verify()
    changes = of(report)
    assert report.accepted
    assert changes.compared
    assert sorted(changes.executables) == [(b"dir/c", b""), (b"text", b"")]
    assert sorted(changes.symlinks) == [(b"dir/l", b"../keep"), (b"link", b"text")]
    assert sorted(changes.submodules) == [(b"dir/m", b"\x07" * 20), (b"module", OTHER)]
    assert sorted(changes.sensitive) == [
        (b".envrc", b"added"),
        (b".gitattributes", b"changed"),
        (b".github/workflows/ci.yml", b"deleted"),
    ]
    assert changes.attributes == [(b".gitattributes", b"*.bin filter=evil")]
    # What was there before under another mode is not in the pack, and has no size here.
    assert changes.largest == [
        (46, b".gitattributes"),
        (14, b"dir/a"),
        (12, b"tool"),
        (11, b".envrc"),
        (7, b"dir/l"),
        (4, b"link"),
        (2, b"dir/c"),
    ]
    assert changes.files == 12
    assert changes.counts == {
        "executables": 2, "symlinks": 2, "submodules": 2, "sensitive": 3, "attributes": 1,
    }  # fmt: skip


def test_nothing_is_listed_where_nothing_changed() -> None:
    host = Store()
    root = host.tree(BASE)
    changes = of(on_top(root, root, host=host).verify())
    assert changes.compared
    assert changes.files == 0
    assert set(changes.counts.values()) == {0}


EXECUTABLE = {
    "a mode of a program": (b"100755", True),
    "one bit for the owner": (b"100744", True),
    "a bit for the group alone": (b"100654", False),
    "bits that git drops": (b"100775", True),
    "a file that the group may write": (b"100664", False),
}


@pytest.mark.parametrize(("mode", "listed"), EXECUTABLE.values(), ids=EXECUTABLE)
def test_what_git_makes_a_program_is_listed_as_one(mode: bytes, listed: bool) -> None:
    # git looks at the owner's bit alone, and writes 0755 or 0644 to disk.
    file = packs.oid("blob", b"text\n")
    changes = of(on_top(BASE, {**BASE, b"text": existing(mode, file)}).verify())
    assert changes.executables == ([(b"text", b"")] if listed else [])
    # It was one before.
    changes = of(
        on_top({b"f": existing(mode, file), b"text": b"text\n"}, {b"f": program(b"x")}).verify()
    )
    assert changes.executables == ([] if listed else [(b"f", b"")])


def test_a_known_file_that_becomes_a_link_is_listed_with_its_content() -> None:
    changes = of(on_top(BASE, after(keep=link(b"kept\n"))).verify())
    assert changes.symlinks == [(b"keep", b"kept\n")]


def test_a_renamed_folder_is_deleted_here_and_added_there() -> None:
    host = Store()
    made = on_top({b"old": BASE}, {b"new": BASE}, host=host)
    changes = of(made.verify())
    assert changes.files == 2 * 9
    assert sorted(changes.symlinks) == [(b"new/link", b"keep")]
    assert sorted(changes.executables) == [(b"new/dir/b", b""), (b"new/tool", b"")]
    assert changes.attributes == [(b"new/.gitattributes", b"*.bin filter=lfs")]
    assert sorted(changes.sensitive) == [
        (b"new/.gitattributes", b"added"),
        (b"old/.gitattributes", b"deleted"),
    ]
    assert changes.largest == []


def test_what_only_a_commit_in_between_has_is_no_change_of_the_tip() -> None:
    between = after(evil=program(b"evil\n"), l=link(b"keep"))
    report = on_top(BASE, between, after(text=b"new\n")).verify()
    changes = of(report)
    assert changes.files == 1
    assert changes.executables == changes.symlinks == []
    assert changes.largest == [(4, b"text")]


def test_a_sensitive_path_in_between_is_a_finding_all_the_same() -> None:
    between = {**BASE, b".envrc": b"x"}
    report = on_top(BASE, between, after(text=b"new\n")).verify()
    assert of(report).sensitive == []
    found = [f.path for f in report.findings.sorted() if f.code is checks.SENSITIVE_PATH]
    assert found == [b".envrc"]


def test_the_changes_of_all_tips_are_listed() -> None:
    made = on_top(BASE, after(one=program(b"1\n")))
    tips = {
        **made.tips,
        b"refs/heads/two": made.new.commit(after(two=program(b"2\n")), *made.bases),
    }
    assert sorted(of(replace(made, tips=tips).verify()).executables) == [
        (b"one", b""),
        (b"two", b""),
    ]


def test_a_tip_that_another_tip_builds_on_is_looked_at_as_well() -> None:
    made = on_top(BASE, after(one=program(b"1\n")))
    tips = {**made.tips, b"refs/heads/two": made.new.commit(BASE, made.tips[TIP])}
    assert of(replace(made, tips=tips).verify()).executables == [(b"one", b"")]


def as_bundle(made: Candidate, oid: bytes, name: str) -> bytes:
    refs: list[tuple[Text, Text] | bytes] = [(oid.hex(), name)]
    return bundle(made.pack()[0], refs, [base.hex() for base in made.bases])


def test_changes_behind_a_tag_are_listed() -> None:
    # A bundle of nothing but a tag: the commit that it leads to is what is handed over.
    made = on_top(BASE, after(one=program(b"1\n")))
    tag = made.new.put("tag", packs.tag_bytes(made.tips[TIP]))
    data = as_bundle(made, tag, "refs/tags/v1")
    report = replace(made, bases=(), tips={}).verify(data=data)
    assert report.accepted
    assert of(report).executables == [(b"one", b"")]


def test_without_tips_the_last_commits_are_listed() -> None:
    made = on_top(BASE, after(one=program(b"1\n")), after(two=program(b"2\n")))
    assert of(replace(made, tips={}).verify()).executables == [(b"two", b"")]
    made.new.put("tag", packs.tag_bytes(made.tips[TIP]))
    assert of(replace(made, tips={}).verify()).executables == [(b"two", b"")]


def test_a_merge_is_compared_with_all_bases() -> None:
    host, new = Store(), Store()
    bases = host.commit(BASE), host.commit({**BASE, b"other": program(b"o\n")}, message=b"2\n")
    tip = new.commit({**BASE, b"other": program(b"o\n"), b"new": program(b"n\n")}, *bases)
    made = Candidate(host, new, bases, {TIP: tip}, host.seed(*bases))
    assert of(made.verify()).executables == [(b"new", b"")]


ONE_SIDE: dict[str, tuple[Folder, Folder, Folder, int]] = {
    "a file": ({b"a": b"1", b"old": b"o"}, {b"a": b"1"}, {b"a": b"1"}, 0),
    "a folder": ({b"a": b"1", b"d": {b"old": b"o"}}, {b"a": b"1"}, {b"a": b"1"}, 0),
    "a file in a folder": (
        {b"d": {b"a": b"1", b"e": {b"old": b"o"}}}, {b"d": {b"a": b"1"}}, {b"d": {b"a": b"1"}}, 0,
    ),
    "a file of a folder that the other has not": (
        {b"a": b"1", b"d": {b"b": b"2", b"old": b"o"}}, {b"a": b"1"},
        {b"a": b"1", b"d": {b"b": b"2"}}, 0,
    ),
    "a file where a folder is now": (
        {b"a": b"1", b"d": b"o"}, {b"a": b"1"}, {b"a": b"1", b"d": {b"b": b"2"}}, 1,
    ),
    "a file that both have": (
        {b"a": b"1", b"old": b"o"}, {b"a": b"2", b"old": b"o"}, {b"a": b"1"}, 1,
    ),
    "a folder that both have": (
        {b"d": {b"x": b"1"}, b"a": b"1"}, {b"d": {b"x": b"2"}, b"a": b"1"}, {b"a": b"1"}, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_SIDE)
def test_what_one_base_does_not_have_either_is_not_deleted(name: str) -> None:
    one, two, after_both, files = ONE_SIDE[name]
    host, new = Store(), Store()
    bases = host.commit(one), host.commit(two, message=b"2\n")
    tip = new.commit(after_both, *bases)
    for order in (bases, bases[::-1]):
        made = Candidate(host, new, order, {TIP: tip}, host.seed(*bases))
        assert of(made.verify()).files == files


def test_without_the_trees_of_the_base_all_that_came_is_listed() -> None:
    report = on_top(BASE, after(one=program(b"1\n"))).verify(read=False)
    changes = of(report)
    assert not changes.compared
    assert changes.executables == [(b"one", b"")]
    assert report.findings.count(checks.BASE_NOT_COMPARED) == 1


def test_without_a_base_there_are_no_changes() -> None:
    assert verify_bytes(packs.small_honest_pack()).changes is None
    made = on_top(BASE, after(text=b"x"))
    assert replace(made, bases=(), tips={}, given=None).verify().changes is None


def test_the_prerequisites_of_a_bundle_are_bases_where_objects_can_be_read() -> None:
    made = on_top(BASE, after(one=program(b"1\n")))
    data = as_bundle(made, made.tips[TIP], "refs/heads/main")
    assert of(verify_bytes(data, Options(read_base=made.host.read))).executables == [(b"one", b"")]
    assert verify_bytes(data).changes is None


# --- the lists themselves -------------------------------------------------------------------------


def test_of_each_list_the_first_thousand_are_kept_and_all_are_counted() -> None:
    changes = Changes()
    for name in Changes.LISTS:
        for number in range(KEPT + 50):
            changes.add(name, b"%03d" % number, b"text")
    changes.close()
    for name in Changes.LISTS:
        assert getattr(changes, name) == [(b"%03d" % number, b"text") for number in range(KEPT)]
        assert changes.counts[name] == KEPT + 50


@pytest.mark.parametrize("order", [1, -1], ids=["rising", "falling"])
@pytest.mark.parametrize("count", [1, 9, 10, 11, 80, 81, 1_000])
def test_the_ten_largest_files_are_kept_whatever_their_order(count: int, order: int) -> None:
    changes = Changes()
    for size in range(count)[::order]:
        changes.add_file(size, b"%d" % size)
    changes.close()
    wanted = sorted(range(count), reverse=True)[:10]
    assert changes.largest == [(size, b"%d" % size) for size in wanted]
    assert changes.files == count


def test_files_of_one_size_stand_by_path_and_those_without_size_are_only_counted() -> None:
    changes = Changes()
    for path in (b"c", b"a", b"b"):
        changes.add_file(5, path)
    changes.add_file(None, b"gone")
    changes.close()
    assert changes.largest == [(5, b"a"), (5, b"b"), (5, b"c")]
    assert changes.files == 4


def test_few_of_many_files_are_held() -> None:
    changes = Changes()
    for size in range(10_000):
        changes.add_file(size, b"x")
        assert len(changes.largest) <= 80
