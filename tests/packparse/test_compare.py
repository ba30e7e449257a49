"""What a candidate changes beside its base: what is new is refused, what is inherited is noted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from packparse import checks, compare, inspection, pathcodes
from packparse.codes import Code
from packparse.formats.json import as_object
from packparse.limits import Limits
from packparse.policy import Policy
from packparse.report import Report
from tests.support import packs
from tests.support.candidates import (
    TIP,
    Candidate,
    Entry,
    Folder,
    Store,
    errors,
    existing,
    inherited,
    link,
    on_top,
    refusals,
)

SUB = b"\x07" * 20
PLAIN: Folder = {b"plain": b"plain\n"}


def raw(*entries: tuple[bytes, bytes, bytes], ordered: bool = True) -> Callable[[Store], bytes]:
    """A tree as it stands, of files whose content is given."""
    return lambda store: store.raw_tree(
        *((mode, name, store.put("blob", content)) for mode, name, content in entries),
        ordered=ordered,
    )


def of(folder: Folder) -> Callable[[Store], bytes]:
    return lambda store: store.tree(folder)


@dataclass(frozen=True)
class Odd:
    """A folder that is odd, another with one more file, and another with other content behind it.

    `path` is where the oddity stands in the folder. `changed` says that another content is another
    oddity; without it there is no such folder.
    """

    code: Code
    path: bytes
    folder: Callable[[Store], bytes]
    grown: Callable[[Store], bytes]
    changed: Callable[[Store], bytes] | None = None


def odd(
    code: Code, name: bytes, node: bytes | Entry | Folder, other: bytes | Entry | Folder | None
) -> Odd:
    changed = None if other is None else of({name: other, **PLAIN})
    return Odd(code, name, of({name: node}), of({name: node, **PLAIN}), changed)


BARE: Folder = {
    b"HEAD": b"ref: refs/heads/main\n",
    b"config": b"[core]\n",
    b"objects": {b"x": b"1"},
    b"refs": {b"y": b"1"},
}
MODULES = b'[submodule "m"]\n\tpath = m\n\turl = %b\n'

ODDITIES = {
    "A13 an absolute link": odd(
        pathcodes.SYMLINK_ABSOLUTE, b"l", link(b"/etc/passwd"), link(b"/etc/shadow")
    ),
    "PG10 a link into .git": odd(
        pathcodes.SYMLINK_INTO_GIT, b"l", link(b".git/hooks"), link(b".git/config")
    ),
    "PG10 a link with a control character": odd(
        pathcodes.SYMLINK_BAD_TARGET, b"l", link(b"a\rb"), link(b"a\nb")
    ),
    "A13 a link that leaves the tree": odd(
        pathcodes.SYMLINK_ESCAPES, b"l", link(b"../../../../x"), link(b"../../../../../x")
    ),
    "PG5 a .gitmodules with a command": odd(
        pathcodes.GITMODULES_UPDATE,
        b".gitmodules",
        MODULES % b"u" + b"\tupdate = !a\n",
        MODULES % b"u" + b"\tupdate = !b\n",
    ),
    "PG4 a .gitmodules with a helper": odd(
        pathcodes.GITMODULES_UNSAFE_URL, b".gitmodules", MODULES % b"ext::a", MODULES % b"ext::b"
    ),
    "a bare repository among the files": Odd(
        pathcodes.EMBEDDED_REPOSITORY,
        b"HEAD",
        of(BARE),
        of({**BARE, **PLAIN}),
        of({**BARE, b"config": b"[core]\n\tfsmonitor = evil\n"}),
    ),
    "PG1 a .gitmodules that is a link": odd(
        pathcodes.GITMODULES_SYMLINK, b".gitmodules", link(b"x"), link(b"y")
    ),
    "PF2 a folder named .GIT": odd(pathcodes.HAS_DOTGIT, b".GIT", {b"a": b"1"}, {b"a": b"2"}),
    "A12 a mode with a zero": Odd(
        checks.ZERO_PADDED_FILEMODE,
        b"f",
        raw((b"0100644", b"f", b"1")),
        raw((b"0100644", b"f", b"1"), (b"100644", b"plain", b"")),
    ),
    "PF18 a mode of no kind": Odd(
        checks.UNKNOWN_FILEMODE,
        b"f",
        lambda store: store.raw_tree((b"150000", b"f", SUB)),
        lambda store: store.raw_tree((b"150000", b"f", SUB), (b"160000", b"plain", SUB)),
    ),
    "PF10 two names that differ in case": Odd(
        pathcodes.CASE_COLLISION, b"A", of({b"A": b"1", b"a": b"2"}),
        of({b"A": b"1", b"a": b"2", **PLAIN}),
        of({b"A": link(b"d"), b"a": b"2", b"d": b"3"}),
    ),
    "PF12 two names that are one in a normal form": Odd(
        pathcodes.NORMALIZATION_COLLISION,
        "e\u0301".encode(),
        of({"e\u0301".encode(): b"1", "\u00e9".encode(): b"2"}),
        of({"e\u0301".encode(): b"1", "\u00e9".encode(): b"2", **PLAIN}),
    ),
    "PF11 a link and a folder that differ in case": Odd(
        pathcodes.SYMLINK_DIRECTORY_COLLISION,
        b"A",
        of({b"A": link(b"x"), b"a": {b"f": b"1"}}),
        of({b"A": link(b"x"), b"a": {b"f": b"1"}, **PLAIN}),
        of({b"A": link(b"y"), b"a": {b"f": b"1"}}),
    ),
    "A12 two entries of one name": Odd(
        checks.DUPLICATE_ENTRIES,
        b"f",
        raw((b"100644", b"f", b"1"), (b"100644", b"f", b"2")),
        raw((b"100644", b"f", b"1"), (b"100644", b"f", b"2"), (b"100644", b"plain", b"")),
        raw((b"100644", b"f", b"1"), (b"100644", b"f", b"3")),
    ),
    "entries of one name, of which one becomes a link": Odd(
        checks.DUPLICATE_ENTRIES,
        b"f",
        raw((b"100644", b"f", b"x"), (b"100644", b"f", b"x")),
        raw((b"100644", b"f", b"x"), (b"100644", b"f", b"x"), (b"100644", b"plain", b"")),
        raw((b"100644", b"f", b"x"), (b"120000", b"f", b"x")),
    ),
    "A12 entries that are not sorted": Odd(
        checks.TREE_NOT_SORTED,
        b"a",
        raw((b"100644", b"b", b"1"), (b"100644", b"a", b"2"), ordered=False),
        raw((b"100644", b"b", b"1"), (b"100644", b"a", b"2"), (b"100644", b"c", b""),
            ordered=False),
    ),
    "A14 a name with a line feed": odd(pathcodes.CONTROL_IN_NAME, b"a\nb", b"1", None),
    "PF13 a name that turns the text around": odd(
        pathcodes.DECEPTIVE_NAME, "a\u202eb".encode(), b"1", None
    ),
    "PF20 a name of 256 bytes": odd(checks.NAME_TOO_LONG, b"n" * 256, b"1", None),
    "case 25 a backslash beside dots": odd(
        pathcodes.BACKSLASH_TRAVERSAL, b"..\\x", b"1", b"2"
    ),
}  # fmt: skip


def placed(where: bytes, tree: bytes) -> Folder:
    """A tree at a path of the root."""
    *above, last = where.split(b"/")
    folder: Folder = {last: existing(b"40000", tree)}
    for name in reversed(above):
        folder = {name: folder}
    return folder


def codes_of(report: Report, case: Odd) -> list[bytes | None]:
    return [f.path for f in errors(report) if f.code is case.code]


def both(case: Odd) -> tuple[Store, bytes]:
    """A host that has the odd folder, and its tree."""
    host = Store()
    return host, case.folder(host)


@pytest.mark.parametrize("case", ODDITIES.values(), ids=ODDITIES)
def test_an_oddity_that_is_new_is_refused_at_its_path(case: Odd) -> None:
    new = Store()
    made = on_top({b"a": b"1"}, placed(b"x/y", case.grown(new)))
    made.new.objects.update(new.objects)
    report = made.verify()
    assert codes_of(report, case) == [b"x/y/" + case.path]
    assert {f.code for f in errors(report)} == {case.code}
    assert inherited(report) == []


@pytest.mark.parametrize("case", ODDITIES.values(), ids=ODDITIES)
def test_an_oddity_of_the_base_at_the_same_path_is_inherited(case: Odd) -> None:
    host, tree = both(case)
    new = Store()
    made = on_top(placed(b"x/y", tree), placed(b"x/y", case.grown(new)), host=host)
    made.new.objects.update(new.objects)
    report = made.verify()
    assert refusals(report) == []
    notes = [f for f in report.findings.sorted() if f.code is case.code]
    assert [(f.path, f.severity, f.inherited) for f in notes] == [
        (b"x/y/" + case.path, "note", True)
    ]


@pytest.mark.parametrize("case", ODDITIES.values(), ids=ODDITIES)
def test_what_is_not_touched_is_not_spoken_of(case: Odd) -> None:
    host, tree = both(case)
    before = placed(b"x/y", tree)
    report = on_top(before, {**before, b"z": b"new\n"}, host=host).verify()
    assert report.findings.sorted() == []


@pytest.mark.parametrize("case", ODDITIES.values(), ids=ODDITIES)
def test_an_oddity_of_the_base_that_is_put_elsewhere_is_new_there(case: Odd) -> None:
    # The folder stays outside the pack: nothing but its place is new.
    host, tree = both(case)
    made = on_top(placed(b"x/y", tree), placed(b"x/z", tree), host=host)
    assert codes_of(made.verify(), case) == [b"x/z/" + case.path]
    # Also where it stays at the old path as well, and where the pack has it once more.
    folder = {**placed(b"x/y", tree), **placed(b"w", tree)}
    made = on_top(placed(b"x/y", tree), folder, host=host)
    for overlap in ((), (tree,)):
        report = replace(made, overlap=overlap).verify()
        assert codes_of(report, case) == [b"w/" + case.path]


@pytest.mark.parametrize(
    "case",
    [case for case in ODDITIES.values() if case.changed],
    ids=[name for name, case in ODDITIES.items() if case.changed],
)
def test_another_content_behind_an_oddity_of_the_base_is_new(case: Odd) -> None:
    assert case.changed is not None
    host, tree = both(case)
    new = Store()
    made = on_top(placed(b"x/y", tree), placed(b"x/y", case.changed(new)), host=host)
    made.new.objects.update(new.objects)
    assert codes_of(made.verify(), case) == [b"x/y/" + case.path]


@pytest.mark.parametrize("case", ODDITIES.values(), ids=ODDITIES)
def test_an_oddity_in_between_is_refused_although_the_tip_has_it_not(case: Odd) -> None:
    new = Store()
    made = on_top({b"a": b"1"}, placed(b"x", case.grown(new)), {b"a": b"2"})
    made.new.objects.update(new.objects)
    assert codes_of(made.verify(), case) == [b"x/" + case.path]


@pytest.mark.parametrize("case", ODDITIES.values(), ids=ODDITIES)
def test_nothing_is_inherited_from_a_base_that_cannot_be_read(case: Odd) -> None:
    host, tree = both(case)
    new = Store()
    made = on_top(placed(b"x/y", tree), placed(b"x/y", case.grown(new)), host=host)
    made.new.objects.update(new.objects)
    report = made.verify(read=False)
    if case.path != b"l":
        # The target of a link that was there before was not read.
        assert codes_of(report, case) == [b"x/y/" + case.path] or (
            report.findings.count(pathcodes.SPECIAL_FILE_NOT_READ)
        )
    assert inherited(report) == []
    assert report.findings.count(checks.BASE_NOT_COMPARED) == 1


def test_each_of_several_bases_can_pass_an_oddity_on() -> None:
    host, new = Store(), Store()
    odd_one = host.commit({b"l": link(b"/etc"), b"a": b"1"})
    other = host.commit({b"a": b"1"}, message=b"other\n")
    tip = new.commit({b"l": link(b"/etc"), b"a": b"2"}, other)
    for bases, wanted in (
        ((odd_one, other), []),
        ((other,), [("symlinkAbsolute", b"l")]),
    ):
        made = Candidate(host, new, bases, {TIP: tip}, host.seed(odd_one, other))
        assert refusals(made.verify()) == wanted


def test_an_oddity_in_a_hundred_and_fifty_commits_is_inherited_in_all() -> None:
    # More findings than are shown are kept, for each has to be told inherited.
    host, new = Store(), Store()
    folder = host.tree({b"f": b"f"})
    start = host.commit(host.raw_tree((b"040000", b"d", folder)))
    tip = start
    for number in range(150):
        root = new.raw_tree(
            (b"040000", b"d", folder), (b"100644", b"x", new.put("blob", b"%d" % number))
        )
        tip = new.commit(root, tip)
    made = Candidate(host, new, (start,), {TIP: tip}, host.seed(start))
    report = made.verify()
    assert report.accepted
    assert report.findings.count(checks.ZERO_PADDED_FILEMODE) == 150
    assert len(inherited(report)) == 100


@pytest.mark.parametrize("spare", [10 << 20, 20_000])
def test_more_errors_than_are_kept_are_not_all_told_inherited(
    monkeypatch: pytest.MonkeyPatch, spare: int
) -> None:
    monkeypatch.setattr(inspection, "_SPARE", spare)
    host, new = Store(), Store()
    folder = host.tree({b"f": b"f"})
    start = tip = host.commit(host.raw_tree((b"040000", b"d", folder)))
    for number in range(150):
        root = new.raw_tree(
            (b"040000", b"d", folder), (b"100644", b"x", new.put("blob", b"%d" % number))
        )
        tip = new.commit(root, tip)
    report = Candidate(host, new, (start,), {TIP: tip}, host.seed(start)).verify()
    kept = spare > 20_000
    assert report.accepted is kept
    assert report.findings.count(checks.BASE_NOT_COMPARED) == (not kept)


@pytest.mark.parametrize("most", [0, 1, 8, 12])
def test_what_bases_have_is_read_again_where_little_of_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(compare, "_KEPT", most)
    before: Folder = {b"%d" % n: {b"l": link(b"/%d" % n), b"-": b"x"} for n in range(5)}
    after: Folder = {
        b"%d" % n: {b"l": link(b"/%d" % n), b"-": b"y", b"m": link(b"/m")} for n in range(5)
    }
    report = on_top(before, after).verify()
    assert refusals(report) == [("symlinkAbsolute", b"4/m")]
    assert sorted(path or b"" for code, path in inherited(report) if code == "symlinkAbsolute") == [
        b"%d/l" % n for n in range(5)
    ]


def test_one_new_oddity_among_many_that_are_inherited_is_shown() -> None:
    host = Store()
    before = {b"%03d" % n: link(b"/%d" % n) for n in range(150)}
    made = on_top({b"d": before}, {b"d": {**before, b"500": link(b"/new")}}, host=host)
    report = made.verify()
    assert refusals(report) == [("symlinkAbsolute", b"d/500")]
    assert len([f for f in report.findings.sorted() if f.inherited]) == 99


# --- what a place makes of a content --------------------------------------------------------------

FILE_TO_LINK = {
    "absolute": b"/etc/passwd",
    "out of the tree": b"../../x",
    "into .git": b".git/config",
}


@pytest.mark.parametrize("target", FILE_TO_LINK.values(), ids=FILE_TO_LINK)
def test_a_file_that_becomes_a_link_passes_nothing_on(target: bytes) -> None:
    # The content is the same at the same path, and the host had it as harmless text.
    made = on_top({b"d": {b"n": target}}, {b"d": {b"n": link(target)}})
    assert [path for _, path in refusals(made.verify())] == [b"d/n"]
    # Two steps: first the text, which is accepted, then the link.
    assert on_top({b"a": b"1"}, {b"d": {b"n": target}}).verify().accepted


def test_a_link_that_becomes_a_file_is_harmless() -> None:
    report = on_top({b"n": link(b"/etc/passwd")}, {b"n": b"/etc/passwd"}).verify()
    assert report.findings.sorted() == []


def test_a_blob_that_is_a_file_near_the_root_and_a_link_far_from_it_is_harmless() -> None:
    target = b"../../x"
    deep: Folder = {b"a": {b"b": {b"l": link(target)}}, b"text": target}
    assert on_top({b"f": b"1"}, deep).verify().findings.sorted() == []
    near: Folder = {b"a": {b"b": {b"l": target}, b"l": link(target)}, b"text": target}
    assert refusals(on_top({b"f": b"1"}, near).verify()) == [("symlinkEscapes", b"a/l")]


def test_a_link_of_the_base_that_escapes_may_stand_where_it_does_not() -> None:
    base: Folder = {b"l": link(b"../x")}
    report = on_top(base, {**base, b"d": {b"l": link(b"../x")}}).verify()
    assert refusals(report) == []
    assert inherited(report) == [("symlinkEscapes", b"l")]


def test_a_link_of_the_base_that_escapes_may_not_stand_beside_itself() -> None:
    base: Folder = {b"d": {b"l": link(b"../../x")}}
    report = on_top(base, {b"d": {b"l": link(b"../../x"), b"n": link(b"../../x")}}).verify()
    assert refusals(report) == [("symlinkEscapes", b"d/n")]


def test_a_folder_with_links_that_is_moved_up_leaves_the_tree() -> None:
    folder: Folder = {b"f": b"1", b"l": link(b"../../f")}
    base: Folder = {b"a": {b"b": folder}, b"f": b"1"}
    assert on_top({b"a": b"1"}, base).verify().accepted
    report = on_top(base, {b"b": folder, b"f": b"1"}).verify()
    assert refusals(report) == [("symlinkEscapes", b"b/l")]
    assert on_top(base, {b"z": {b"b": folder}, b"f": b"1"}).verify().findings.sorted() == []


@pytest.mark.parametrize("sent", ["nothing", "the link", "the link and its folder"])
def test_a_folder_of_the_other_side_moved_up_is_found_whatever_is_sent_again(sent: str) -> None:
    # The pack has the link too, and there only in a place where it is harmless; the folder that
    # takes it near the root stays outside.
    host = Store()
    inner: Folder = {b"l": link(b"../../../x")}
    base: Folder = {b"a": {b"b": {b"c": {b"k": {b"t": inner}}}}}
    target, tree = host.put("blob", b"../../../x"), host.tree(inner)
    moved = host.tree({b"t": inner})
    deep: Entry = existing(b"40000", tree) if "folder" in sent else existing(b"120000", target)
    after: Folder = {**base, b"k": existing(b"40000", moved)}
    if sent != "nothing":
        after = {**after, b"x": {b"y": {b"z": {b"other": deep}}}}
    overlap = {"nothing": (), "the link": (target,), "the link and its folder": (target, tree)}
    report = on_top(base, after, host=host, overlap=overlap[sent]).verify()
    assert refusals(report) == [("symlinkEscapes", b"k/t/l")]


SPECIAL = {
    "a .gitmodules with a command": (b".gitmodules", MODULES % b"u" + b"\tupdate = !x\n"),
    "a .gitmodules with an option as URL": (b".gitmodules", MODULES % b"-u"),
    "a .gitattributes with a long line": (b".gitattributes", b"a " * 1_500),
}


@pytest.mark.parametrize(("name", "content"), SPECIAL.values(), ids=SPECIAL)
@pytest.mark.parametrize("sent", [False, True], ids=["not in the pack", "in the pack as a file"])
def test_a_special_file_of_a_known_folder_counts_where_that_is_put(
    name: bytes, content: bytes, sent: bool
) -> None:
    # A commit of which the whole tree is a folder of the base: nothing in the pack names the file.
    host = Store()
    folder = host.tree({name: content})
    base: Folder = {b"vendor": existing(b"40000", folder)}
    made = on_top(base, {b"f": b"1", b"copy.txt": content} if sent else {b"f": b"1"}, host=host)
    made.tips[TIP] = made.new.commit(folder, made.tips[TIP])
    report = replace(made, overlap=[packs.oid("blob", content)] if sent else []).verify()
    assert [path for _, path in refusals(report)] == [name]
    # At its own place it is inherited from the base, and nobody has anything to say.
    assert on_top(base, {**base, b"f": b"1"}, host=host).verify().accepted


def test_the_same_folder_at_an_old_and_at_a_new_path_is_judged_at_both() -> None:
    host = Store()
    tree = host.tree({b"l": link(b"/etc")})
    base = placed(b"old", tree)
    for after in (
        {**base, b"new": existing(b"40000", tree)},
        {b"new": existing(b"40000", tree), **base, b"zzz": existing(b"40000", tree)},
    ):
        report = on_top(base, after, host=host, overlap=(tree,)).verify()
        assert {path for _, path in refusals(report)} <= {b"new/l", b"zzz/l"}
        assert refusals(report) != []


# --- links that go through others -----------------------------------------------------------------


def test_a_link_that_goes_up_again_behind_a_folder_is_harmless() -> None:
    folder: Folder = {b"s": {b"f": b"1"}, b"l": link(b"s/../s/f")}
    assert on_top({b"a": b"1"}, folder).verify().findings.sorted() == []


def test_a_link_that_goes_up_again_behind_a_link_leaves_the_tree() -> None:
    # By its letters it stays in the folder; but s leads to the root.
    folder: Folder = {b"d": {b"s": link(b".."), b"l": link(b"s/../x")}, b"x": b"1"}
    report = on_top({b"a": b"1"}, folder).verify()
    assert refusals(report) == [("symlinkEscapes", b"d/l")]


def test_a_link_that_the_base_lets_leave_the_tree_is_inherited() -> None:
    inner: Folder = {b"s": link(b".."), b"l": link(b"s/../x")}
    base: Folder = {b"d": inner, b"x": b"1"}
    report = on_top(base, {**base, b"d": {**inner, b"f": b"1"}}).verify()
    assert refusals(report) == []
    assert inherited(report) == [("symlinkEscapes", b"d/l")]


def test_a_folder_that_becomes_a_link_bends_the_links_beside_it() -> None:
    before: Folder = {b"d": {b"s": {b"f": b"1"}, b"l": link(b"s/../x")}, b"x": b"1"}
    after: Folder = {b"d": {b"s": link(b".."), b"l": link(b"s/../x")}, b"x": b"1"}
    assert refusals(on_top(before, after).verify()) == [("symlinkEscapes", b"d/l")]


WINDING: Folder = {b"s": {b"f": b"1"}, b"x": {b"l": link(b"../s/../../y")}}
BENT = {
    "to its own folder": b"..",
    "to the root": b"../..",
    "to a folder above by its name": b"../../p",
    "to the root by way of a link": b"../../up",
}


@pytest.mark.parametrize("target", BENT.values(), ids=BENT)
@pytest.mark.parametrize("later", [False, True], ids=["in the tip", "only in between"])
def test_a_link_of_the_base_is_bent_by_a_new_one_far_from_it(target: bytes, later: bool) -> None:
    # Two steps: a link that stays in the tree is let in. Then, in a folder that is not touched,
    # it leaves it, since a name on its way has become a link.
    base: Folder = {b"p": {b"q": WINDING}, b"up": link(b".")}
    first = on_top({b"p": {b"q": {b"s": WINDING[b"s"]}}, b"up": link(b".")}, base)
    assert first.verify().accepted
    after: Folder = {b"p": {b"q": {**WINDING, b"s": link(target)}}, b"up": link(b".")}
    changes = (after, base) if later else (after,)
    report = on_top(base, *changes).verify()
    assert refusals(report) == [("symlinkEscapes", b"p/q/x/l")]
    # Another new link bends nothing.
    harmless: Folder = {**base, b"new": link(b"p")}
    assert on_top(base, harmless).verify().findings.sorted() == []


def test_a_folder_of_the_base_is_put_beside_a_link_that_bends_its_own() -> None:
    host = Store()
    folder = host.tree({b"l": link(b"../s/../../y")})
    base: Folder = {b"p": {b"q": WINDING}, b"r": {b"q": {b"s": link(b"..")}}}
    assert isinstance(base[b"p"], dict)
    moved: Folder = {**base, b"r": {b"q": {b"s": link(b".."), b"x": existing(b"40000", folder)}}}
    assert refusals(on_top(base, moved, host=host).verify()) == [("symlinkEscapes", b"r/q/x/l")]


# What the commits of a range have at the same paths, or nearly so; the last one is looked at first.
REMEMBERED: dict[str, list[Folder]] = {
    "the same files in every commit": [
        {b"a": b"%d" % n, b"b": b"new", b"sub": {b"c": b"new", b"link": link(b"../a")}}
        for n in range(5)
    ],
    "its content at a path that is denied": [
        {b"secret": b"new"}, {b"sub": {b"secret": b"new"}},
    ],
    "a link that leaves the tree in its place": [{b"a": link(b"../../x")}, {b"a": b"new"}],
    "a link of its content in its place": [{b"a": link(b"/etc/x")}, {b"a": b"/etc/x"}],
    "a program of its content in its place": [{b"a": Entry(b"100755", b"new")}, {b"a": b"new"}],
    "a file at a path where a folder was": [{b"sub": b"new"}, {b"sub": b"new", b"a": b"old"}],
}  # fmt: skip


@pytest.mark.parametrize("trees", REMEMBERED.values(), ids=REMEMBERED)
@pytest.mark.parametrize("tips", [1, 2])
def test_what_is_remembered_of_plain_files_changes_no_report(
    tips: int, trees: list[Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Commit after commit has the same files at the same paths; they are judged once.
    made = on_top({b"a": b"old", b"sub": {b"x": b"old"}}, *trees)
    commits = [oid for oid, (kind, _data) in made.new.objects.items() if kind == "commit"]
    made.tips |= {b"refs/heads/%d" % n: oid for n, oid in enumerate(commits[-tips:-1])}
    policy = Policy(deny=["secret"])
    remembered = as_object(made.verify(policy=policy))
    monkeypatch.setattr(compare, "_PLAIN", 0)
    assert as_object(made.verify(policy=policy)) == remembered


def test_no_more_plain_files_are_remembered_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [b"%02d" % n for n in range(10)]
    made = on_top(
        {b"a": b"old"}, *({b"a": b"%d" % n, **dict.fromkeys(names, b"1")} for n in range(3))
    )
    judged: list[bytes] = []
    monkeypatch.setattr(Policy, "refuses_path", lambda _policy, path: judged.append(path))
    assert made.verify().accepted
    assert [judged.count(name) for name in names] == [1] * 10
    judged.clear()
    # Each takes two hundred bytes, and its path.
    monkeypatch.setattr(compare, "_PLAIN", 202 * 5 + 1)
    assert made.verify().accepted
    assert sorted(judged.count(name) for name in names) == [1] * 5 + [3] * 5


def test_what_is_remembered_of_plain_files_counts_as_often_as_it_is_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Paths that are long: each counts for more than an entry. Links and moved files count for more.
    host = Store()
    known = existing(b"100644", host.put("blob", b"known"))
    new = Entry(b"100644", b"new")
    names = {b"%02d" % n + b"x" * 240: known if n % 10 == 0 else new for n in range(50)}
    trees: list[Folder] = [
        {b"a": b"%d" % n, b"link": link(b"y" * 4_000), **names} for n in range(20)
    ]
    made = on_top({b"a": b"old", b"known": known}, *trees, host=host)

    def is_accepted(files: int) -> bool:
        return made.verify(limits=Limits("candidate", {"files": files})).accepted

    def least() -> int:
        return bisect_left(range(10_000), True, key=is_accepted)

    remembered = least()
    assert remembered > 20 * 50 * 240 // 64
    monkeypatch.setattr(compare, "_PLAIN", 0)
    assert least() == remembered
