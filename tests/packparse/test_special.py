"""Files and links whose content decides, wherever the content is: in the pack or outside of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import pytest

from packparse import compare, pathcodes, special
from packparse.codes import IGNORE, WARNING
from packparse.limits import Limits
from packparse.objects.shape import ATTRIBUTES, LINK, MODULES
from packparse.oddity import Oddity
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.special import content_oddities
from packparse.specialids import SpecialIds
from packparse.verify import verify_bytes
from tests.support import packs
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
from tests.support.packs import PackBuilder

MODULE = b'[submodule "m"]\n\tpath = m\n\turl = https://host/m\n'


def alone(folder: Folder, **more: object) -> Report:
    """Verify a whole history of one commit."""
    new = Store()
    made = Candidate(Store(), new, (), {TIP: new.commit(folder)}, None)
    return made.verify(**more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    """An entry of a folder, what is wrong with it, and an honest neighbour."""

    name: bytes
    node: bytes | Entry | Folder
    codes: tuple[str, ...]
    honest: bytes | Entry | Folder
    other: str = ""


FILES = {
    "PG5 an update that is a command": Case(
        b".gitmodules", MODULE + b"\tupdate = !x\n", ("gitmodulesUpdate",), MODULE
    ),
    "PG3 a name that climbs": Case(
        b".gitmodules", MODULE.replace(b'"m"', b'"../m"'), ("gitmodulesName",), MODULE
    ),
    "PG4 a URL that is an option": Case(
        b".gitmodules", MODULE.replace(b"https://host/m", b"-oProxy"), ("gitmodulesUrl",), MODULE
    ),
    "PG6 a path that ends in a carriage return": Case(
        b".gitmodules",
        MODULE.replace(b"= m\n", b'= "m\r"\n'),
        ("gitmodulesUnsafePath",),
        MODULE,
    ),
    "PG7 what cannot be parsed": Case(
        b".gitmodules", MODULE + b"[x", ("gitmodulesParse",), MODULE
    ),
    "PF6 another spelling of .gitmodules": Case(
        b"gitmod~1", MODULE + b"\tupdate = !x\n", ("gitmodulesAlias", "gitmodulesUpdate"), b"",
        other="gitmodulesAlias",
    ),
    "PG1 a .gitmodules that is a link": Case(
        b".gitmodules", link(b"x"), ("gitmodulesSymlink",), MODULE
    ),
    "PG8 a line of 2,048 bytes": Case(
        b".gitattributes", b"a" * 2_047 + b" b\n", ("gitattributesLineLength",),
        b"a" * 2_045 + b" b\n",
    ),
    "A13 an absolute link": Case(b"l", link(b"/etc"), ("symlinkAbsolute",), link(b"etc")),
    "PG10 a link into .git": Case(b"l", link(b".git/x"), ("symlinkIntoGit",), link(b"git/x")),
    "PG10 a link with a NUL": Case(b"l", link(b"a\0b"), ("symlinkBadTarget",), link(b"a/b")),
    "PG10 an empty link": Case(b"l", link(b""), ("symlinkBadTarget",), link(b".")),
    "PG10 a link of 4,096 bytes": Case(
        b"l", link(b"a/" * 2_048), ("symlinkTooLong",), link(b"a/" * 2_047 + b"a")
    ),
    "A13 a link out of the tree": Case(b"l", link(b"../x"), ("symlinkEscapes",), link(b"./x")),
    "a link that climbs by a backslash": Case(
        b"l", link(b"..\\x"), ("symlinkEscapes",), link(b"a\\x")
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES.values(), ids=FILES)
@pytest.mark.parametrize("depth", [0, 1], ids=["in the root", "in a folder"])
def test_a_content_is_judged_at_its_place(case: Case, depth: int) -> None:
    def at(node: bytes | Entry | Folder) -> Folder:
        return {case.name: node} if not depth else {b"d": {case.name: node}}

    prefix = b"d/" * depth
    report = alone(at(case.node))
    found = refusals(report)
    if depth and "symlinkEscapes" in case.codes:
        assert found == []
        return
    assert sorted(code for code, _ in found) == sorted(case.codes)
    assert {path for _, path in found} == {prefix + case.name}
    assert refusals(alone(at(case.honest))) == [(case.other, prefix + case.name)] * bool(case.other)


def test_a_finding_names_the_blob_and_the_tree_that_names_it() -> None:
    new = Store()
    made = Candidate(Store(), new, (), {TIP: new.commit({b"d": {b"l": link(b"/x")}})}, None)
    _, entries = made.pack()
    (finding,) = errors(made.verify())
    tree = packs.oid("tree", packs.tree_bytes([(b"120000", b"l", packs.oid("blob", b"/x"))]))
    assert finding.oid == packs.oid("blob", b"/x")
    assert finding.offset == entries[tree].offset
    assert finding.path == b"d/l"


def test_one_content_under_two_names_is_judged_for_each() -> None:
    content = b'[submodule "m"]\n\tupdate = !x\n' + b"a" * 2_100 + b" = b\n"
    report = alone({b".gitmodules": content, b".gitattributes": content})
    found = dict(refusals(report))
    assert found["gitmodulesUpdate"] == b".gitmodules"
    assert found["gitattributesLineLength"] == b".gitattributes"


@pytest.mark.parametrize("name", [b".gitmodules", b".gitattributes"])
@pytest.mark.parametrize("node", [{b"a": b"1"}, submodule()], ids=["a folder", "a submodule"])
def test_a_special_name_is_no_file(name: bytes, node: Entry | Folder) -> None:
    # Folders of these names are harmless to git, which reads no such file.
    report = alone({name: node, b"a": b"1"})
    code = {b".gitmodules": "gitmodulesBlob", b".gitattributes": "gitattributesBlob"}[name]
    wanted = [] if isinstance(node, Entry) else [(code, name)]
    assert [item for item in refusals(report) if item[0] == code] == wanted


@pytest.mark.parametrize("name", [b".gitmodules", b".gitattributes"])
def test_a_special_file_has_a_limit(name: bytes) -> None:
    size = 1 << 20
    assert refusals(alone({name: b"#" * 100 + b"\n" * (size - 100)})) == []
    report = alone({name: b"#" * 100 + b"\n" * (size - 99)})
    assert refusals(report) == [("specialFileTooLarge", name)]
    (finding,) = errors(report)
    assert finding.limit is not None
    assert finding.limit.as_dict() == {"name": "special_bytes", "value": size, "seen": size + 1}
    assert alone({name: b"\n" * (size + 1)}, limits=Limits("history")).accepted


def test_all_special_files_together_have_a_limit_too() -> None:
    # Each is short enough and packs to nothing; parsing all of them would take minutes.
    limits = Limits(changes={"special_bytes": 1_000})
    folder: Folder = {
        b"%02d" % n: {b".gitattributes": b"# %02d" % n + b"\n" * 900} for n in range(40)
    }
    assert [code for code, _ in refusals(alone(folder, limits=limits))] == ["specialFileTooLarge"]
    few: Folder = dict(list(folder.items())[:10])
    assert alone(few, limits=limits).accepted
    # One file at forty places is read once.
    same: Folder = {b"%02d" % n: {b".gitattributes": b"\n" * 900} for n in range(40)}
    assert alone(same, limits=limits).accepted


# --- contents outside of the pack -----------------------------------------------------------------

KNOWN = {
    "a link": (b"l", Entry(b"120000"), b"/etc", "symlinkAbsolute"),
    "a .gitmodules": (b".gitmodules", Entry(b"100644"), MODULE + b"\tupdate = !x\n",
                      "gitmodulesUpdate"),
    "a .gitattributes": (b".gitattributes", Entry(b"100644"), b"a" * 3_000 + b" b\n",
                         "gitattributesLineLength"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "entry", "content", "code"), KNOWN.values(), ids=KNOWN)
def test_a_known_blob_under_a_special_name_is_read(
    name: bytes, entry: Entry, content: bytes, code: str
) -> None:
    host = Store()
    made = on_top(
        {b"text": content},
        {b"text": content, b"d": {name: existing(entry.mode, packs.oid("blob", content))}},
        host=host,
    )
    assert refusals(made.verify()) == [(code, b"d/" + name)]
    report = made.verify(read=False)
    assert report.accepted
    unread = {
        "symlinkAbsolute": pathcodes.SYMLINK_NOT_READ,
        "gitmodulesUpdate": pathcodes.SPECIAL_FILE_NOT_READ,
        "gitattributesLineLength": pathcodes.SPECIAL_FILE_NOT_READ,
    }[code]
    assert report.findings.count(unread) == 1


@pytest.mark.parametrize("hidden", [False, True], ids=["given", "not given"])
@pytest.mark.parametrize(
    ("name", "mode", "code"),
    [
        (b".gitmodules", b"100644", "specialFileTooLarge"),
        (b".gitattributes", b"100644", "specialFileTooLarge"),
        (b"l", b"120000", "symlinkTooLong"),
        (b"file", b"100644", None),
    ],
)
def test_what_the_other_side_has_is_not_read_where_its_size_says_enough(
    name: bytes, mode: bytes, code: str | None, hidden: bool
) -> None:
    host = Store()
    large = host.put("blob", b"#" * 2_000_000)
    base = host.commit({b"large": existing(b"100644", large)})
    made = Store()
    tip = made.commit({b"d": {name: existing(mode, large)}}, base)
    given = host.seed(base) - ({large} if hidden else set())
    read: list[bytes] = []

    def reader(oid: bytes) -> tuple[int, bytes] | None:
        read.append(oid)
        return host.read(oid)

    def about(oid: bytes) -> tuple[int, int] | None:
        found = host.objects.get(oid)
        return None if found is None else (packs.KIND_NUMBERS[found[0]], len(found[1]))

    options = Options(
        tips={TIP: tip}, bases=frozenset([base]), read_base=reader, base_info=about,
        known=lambda oid: 0 if oid in given else None,
    )  # fmt: skip
    data = Candidate(host, made, (base,), {TIP: tip}, given).pack()[0]
    found = {code for code, _ in refusals(verify_bytes(data, options))}
    absent = {f"{name[1:].decode()}Missing"} if name.startswith(b".") else set()
    assert found == ({"smuggledBase"} | absent if hidden else {code} - {None})
    assert large not in read


def test_a_special_file_that_the_other_side_does_not_give_again_is_not_read() -> None:
    host = Store()
    made = on_top(
        {b"text": MODULE}, {b"text": MODULE, b".gitmodules": MODULE}, host=host,
    )  # fmt: skip
    made.new.objects = {o: x for o, x in made.new.objects.items() if x[0] != "blob"}
    oid = packs.oid("blob", MODULE)
    asked: list[bytes] = []

    def reader(wanted: bytes) -> tuple[int, bytes] | None:
        asked.append(wanted)
        return None if asked.count(oid) > 2 else host.read(wanted)

    options = Options(tips=made.tips, bases=frozenset(made.bases), read_base=reader)
    report = verify_bytes(made.pack()[0], options)
    assert report.findings.count(pathcodes.SPECIAL_FILE_NOT_READ) == 1


def test_links_that_go_up_again_are_told_where_nothing_can_be_followed() -> None:
    # A malformed tag: what follows from whole trees is left out, and no link passes for that.
    winds: Folder = {b"a": link(b"d/../x"), b"d": link(b"e"), b"e": b"f"}
    assert refusals(alone(winds)) == []
    new = Store()
    tips = {TIP: new.commit(winds)}
    new.put("tag", b"object zero\n")
    report = Candidate(Store(), new, (), tips, None).verify()
    assert sorted(refusals(report)) == [("badObjectSha1", None), ("symlinkEscapes", b"a")]


def test_a_link_that_leaves_the_tree_is_not_told_where_nobody_asks_for_it() -> None:
    silent = Policy(severities={pathcodes.SYMLINK_ESCAPES: IGNORE})
    folder: Folder = {b"m": link(b"../x"), b"n": link(b"/x")}
    assert refusals(alone(folder, policy=silent)) == [("symlinkAbsolute", b"n")]


@pytest.mark.parametrize("name", [b".gitmodules", b".gitattributes"])
def test_a_special_file_that_is_nowhere_is_missing(name: bytes) -> None:
    new = Store()
    root = new.raw_tree((b"100644", name, b"\x22" * 20))
    report = Candidate(Store(), new, (), {TIP: new.commit(root)}, None).verify()
    code = {b".gitmodules": "gitmodulesMissing", b".gitattributes": "gitattributesMissing"}[name]
    assert sorted(refusals(report)) == sorted([("absentObject", name), (code, name)])


def test_a_special_name_for_a_tree_of_the_pack_is_no_blob() -> None:
    new = Store()
    folder = new.tree({b"a": b"1"})
    root = new.raw_tree((b"100644", b".gitmodules", folder))
    report = Candidate(Store(), new, (), {TIP: new.commit(root)}, None).verify()
    assert sorted(refusals(report)) == [
        ("gitmodulesBlob", b".gitmodules"),
        ("linkKindMismatch", b".gitmodules"),
    ]


def test_what_two_files_have_alike_is_noted_of_the_first() -> None:
    contents = [b"* filter=x\n", b"* filter=x\n# another\n"]
    folder: Folder = {b"%d" % n: {b".gitattributes": c} for n, c in enumerate(contents)}
    mild = Policy(severities={pathcodes.GITATTRIBUTES_ACTIVE: WARNING})
    (finding,) = alone(folder, policy=mild).findings.sorted()
    places = {packs.oid("blob", c): b"%d/.gitattributes" % n for n, c in enumerate(contents)}
    assert finding.oid is not None
    assert finding.path == places[finding.oid]


def test_links_are_not_read_where_nobody_asks() -> None:
    codes = [
        pathcodes.SYMLINK_ABSOLUTE,
        pathcodes.SYMLINK_BAD_TARGET,
        pathcodes.SYMLINK_ESCAPES,
        pathcodes.SYMLINK_INTO_GIT,
        pathcodes.SYMLINK_TOO_LONG,
    ]
    folder: Folder = {b"l": link(b"/etc"), b"m": link(b"../x")}
    assert alone(folder, rules="git").findings.sorted() == []
    silent = Policy(severities=dict.fromkeys(codes, IGNORE))
    assert alone(folder, policy=silent).findings.sorted() == []
    mild = Policy(severities=dict.fromkeys(codes, WARNING))
    report = alone(folder, policy=mild)
    assert report.accepted
    assert sorted((f.code.name, f.path) for f in report.findings.sorted()) == [
        ("symlinkAbsolute", b"l"),
        ("symlinkEscapes", b"m"),
    ]


def test_the_rules_of_git_judge_special_files_as_git_does() -> None:
    folder: Folder = {
        b".gitmodules": MODULE + b"\tupdate = !x\n",
        b".gitattributes": b"* filter=x\n",
    }
    assert refusals(alone(folder, rules="git")) == [("gitmodulesUpdate", b".gitmodules")]


def test_a_large_blob_as_a_link_at_many_places_is_not_read() -> None:
    size = 20 << 20
    oid = hashlib.sha1(b"blob %d\0" % size + bytes(size)).digest()
    pack = PackBuilder()
    pack.add("blob", b"", declared_size=size, deflate=packs.bomb(size))
    listed = [(b"120000", b"%03d" % n, oid) for n in range(100)]
    tree = pack.add("tree", packs.tree_bytes(listed))
    base = Store().commit({})
    tip = pack.add("commit", packs.commit_bytes(tree.oid, [base])).oid
    options = Options(
        tips={TIP: tip}, bases=frozenset([base]), read_base=lambda _: None,
        limits=Limits(changes={"restored_bytes": size}),
    )  # fmt: skip
    assert refusals(verify_bytes(pack.build(), options)) == [("symlinkTooLong", b"000")]


# --- ids that are kept ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 32])
def test_ids_are_kept_by_flag_and_told_once_each(width: int) -> None:
    kept = SpecialIds(width)
    ids = [bytes([n]) * width for n in range(3)]
    for _ in range(3):
        kept.add(LINK, ids[2])
        kept.add(LINK, ids[0])
        kept.add(MODULES | ATTRIBUTES, ids[1])
    assert kept.distinct(LINK) == [ids[0], ids[2]]
    assert kept.distinct(MODULES) == kept.distinct(ATTRIBUTES) == [ids[1]]


def test_ids_that_come_again_and_again_take_no_memory() -> None:
    kept = SpecialIds(20)
    ids = [n.to_bytes(20, "big") for n in range(5_000)]
    for _ in range(3):
        for oid in ids:
            kept.add(LINK, oid)
    assert kept.distinct(LINK) == ids


@pytest.mark.parametrize(
    ("flag", "content", "code"),
    [
        (LINK, b"/x", pathcodes.SYMLINK_ABSOLUTE),
        (MODULES, b'[submodule "../x"]\n\turl = u\n', pathcodes.GITMODULES_NAME),
        (ATTRIBUTES, b"* filter=x\n", pathcodes.GITATTRIBUTES_ACTIVE),
    ],
)
def test_each_flag_has_its_own_reading(flag: int, content: bytes, code: object) -> None:
    assert [oddity.code for oddity in content_oddities(flag, content)] == [code]


@pytest.mark.parametrize("times", [2, 17, 40])
def test_one_file_of_any_size_is_refused_by_itself_and_the_others_are_judged(times: int) -> None:
    # Also past the limit on all of them together, which is sixteen times that on one.
    limits = Limits(changes={"special_bytes": 1_000})
    large = b"#" * (1_000 * times)
    folder: Folder = {b".gitattributes": large, b"l": link(b"/etc")}
    assert sorted(refusals(alone(folder, limits=limits))) == [
        ("specialFileTooLarge", b".gitattributes"), ("symlinkAbsolute", b"l"),
    ]  # fmt: skip
    before: Folder = {b".gitattributes": large, b"a": b"1"}
    made = on_top(before, {**before, b".gitattributes": large, b"a": b"2"})
    report = replace(made, overlap=[packs.oid("blob", large)]).verify(limits=limits)
    assert refusals(report) == []


def test_the_content_of_a_special_file_is_taken_apart_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By what looks for oddities, and by what compares with the base."""
    read = special.content_oddities
    taken: list[bytes] = []

    def noted(flags: int, content: bytes) -> list[Oddity]:
        taken.append(content)
        return read(flags, content)

    for room in (special, compare):
        monkeypatch.setattr(room, "content_oddities", noted)
    changed = b"* text\n"
    trees: list[Folder] = [{b".gitattributes": changed, b"n": b"%d" % n} for n in range(3)]
    made = on_top({b".gitattributes": b"old text\n"}, *trees)
    assert made.verify().accepted
    assert taken.count(changed) == 1
