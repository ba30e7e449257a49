"""Looking into objects: links by kind, findings at their entries, and the limits on cost."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable

import pytest

from packparse import checks, codes, pathcodes
from packparse.codes import Code
from packparse.examine import SMALL_TREE
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.packs import (
    Handle,
    PackBuilder,
    commit_bytes,
    copy,
    delta,
    insert,
    tag_bytes,
    tree_bytes,
)
from tests.support.reports import with_limits


def errors(report: Report) -> list[tuple[Code, int | None, bytes | None]]:
    found = report.findings.sorted()
    return [(f.code, f.offset, f.oid) for f in found if f.severity == "error"]


def as_delta(pack: PackBuilder, kind: str, data: bytes) -> Handle:
    """Append an object as a delta on another one of its kind, which is well-formed."""
    bases = {
        "commit": commit_bytes(pack.add("tree", b"").oid),
        "tree": tree_bytes([(b"160000", b"module", b"\x07" * 20)]),
        "tag": tag_bytes(pack.add("blob", b"").oid, b"blob"),
    }
    base = pack.add(kind, bases[kind])
    return pack.add_ofs(base, delta(len(base.data), len(data), insert(data), base_pad=2), data)


MALFORMED = {
    "a commit without a tree": ("commit", b"author x\n\n", checks.MISSING_TREE),
    "a commit with a bad tree": ("commit", b"tree 123\n\n", checks.BAD_TREE_SHA1),
    "a commit with a bad parent": (
        "commit",
        b"tree " + b"0" * 40 + b"\nparent 12\n\n",
        checks.BAD_PARENT_SHA1,
    ),
    "a tree of rubbish": ("tree", b"rubbish", checks.BAD_TREE),
    "a tree with an empty name": ("tree", b"100644 \0" + b"\x01" * 20, checks.BAD_TREE),
    "a tag without an object": ("tag", b"type blob\n", checks.TAG_MISSING_OBJECT),
    "a tag with a bad object": ("tag", b"object 12\ntype blob\n", checks.BAD_OBJECT_SHA1),
    "a tag without a type": ("tag", b"object " + b"0" * 40 + b"\n", checks.MISSING_TYPE_ENTRY),
    "a tag with a type that does not end": (
        "tag",
        b"object " + b"0" * 40 + b"\ntype blob",
        checks.MISSING_TYPE,
    ),
    "a tag of an unknown type": (
        "tag",
        b"object " + b"0" * 40 + b"\ntype x\n",
        checks.BAD_TYPE,
    ),
}


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_object_is_a_finding_at_its_entry(name: str, stored: str) -> None:
    kind, data, code = MALFORMED[name]
    pack = PackBuilder()
    handle = pack.add(kind, data) if stored == "whole" else as_delta(pack, kind, data)
    report = verify_bytes(pack.build())
    # Its links are lost, so nothing is said of them; nor of what rests on all links.
    assert errors(report) == [(code, handle.offset, handle.oid)]
    notes = [(f.code, f.message) for f in report.findings.sorted() if f.severity == "note"]
    assert [note for note in notes if note[0] is not pathcodes.GITLINK] == [
        (
            checks.LINKS_NOT_CHECKED,
            "ranges and sizes were not checked; objects that are malformed: 1",
        )
    ]
    assert report.klass == 1


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
def test_what_is_odd_about_a_tag_is_a_finding_at_its_entry(stored: str) -> None:
    pack = PackBuilder()
    data = tag_bytes(pack.add("blob", b"tagged").oid, b"blob", tagger=None)
    tag = pack.add("tag", data) if stored == "whole" else as_delta(pack, "tag", data)
    found = verify_bytes(pack.build()).findings.sorted()
    assert [f.oid for f in found if f.code is checks.MISSING_TAGGER_ENTRY] == [tag.oid]


def test_bytes_of_a_blob_are_never_looked_into() -> None:
    pack = PackBuilder()
    for _kind, data, _code in MALFORMED.values():
        pack.add("blob", data)
    pack.add_ofs(pack.handles[0], delta(10, 7, insert(b"tree 12")), b"tree 12")
    assert verify_bytes(pack.build()).accepted


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_links_of_every_kind_are_followed(fmt: str) -> None:
    pack = PackBuilder(fmt)
    missing = {name: packs.oid(name, b"absent", fmt) for name in ("commit", "tree", "blob", "tag")}
    pack.add("commit", commit_bytes(missing["tree"], [missing["commit"]]))
    pack.add("tree", tree_bytes([(b"100644", b"a", missing["blob"])]))
    pack.add("tag", tag_bytes(missing["tag"], b"tag"))
    report = verify_bytes(pack.build(), Options(object_format=FORMATS[fmt]))
    found = {(code, oid) for code, _offset, oid in errors(report)}
    assert found == {(checks.ABSENT_OBJECT, oid) for oid in missing.values()}


def test_a_submodule_is_noted_and_links_to_nothing_in_the_pack() -> None:
    pack = PackBuilder()
    tree = pack.add("tree", tree_bytes([(b"160000", b"module", b"\x07" * 20)]))
    report = verify_bytes(pack.build())
    (finding,) = report.findings.sorted()
    assert (finding.code, finding.severity) == (pathcodes.GITLINK, "note")
    assert (finding.offset, finding.oid) == (tree.offset, tree.oid)
    assert finding.detail == b"module\0" + b"07" * 20
    assert report.accepted


@pytest.mark.parametrize("mode", [b"30000", b"644", b"110644"], ids=bytes.decode)
def test_an_entry_of_no_known_kind_links_to_nothing_in_the_pack(mode: bytes) -> None:
    pack = PackBuilder()
    tree = pack.add("tree", tree_bytes([(mode, b"x", b"\x07" * 20)]))
    wanted = [(checks.UNKNOWN_FILEMODE, tree.offset, tree.oid)]
    assert errors(verify_bytes(pack.build())) == wanted
    assert errors(verify_bytes(pack.build(), Options(rules="git"))) == []


# --- limits ---------------------------------------------------------------------------------------


def history(count: int) -> list[Handle]:
    pack = PackBuilder()
    tree = pack.add("tree", b"")
    commits = [pack.add("commit", commit_bytes(tree.oid, message=b"%d" % n)) for n in range(count)]
    return [*commits, Handle(-1, b"", pack.build())]


@pytest.mark.parametrize("over", [0, 1, 5])
def test_commits_have_a_limit(over: int) -> None:
    *commits, built = history(10 + over)
    report = verify_bytes(built.data, with_limits(commits=10))
    wanted = [(codes.TOO_MANY_COMMITS, commits[10].offset, commits[10].oid)] if over else []
    assert errors(report) == wanted
    assert report.klass == (4 if over else 0)
    assert report.counts["commits"] == 10 + over


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize("over", [0, 1])
def test_parents_have_a_limit(over: int, stored: str) -> None:
    pack = PackBuilder()
    tree = packs.outside("tree", b"")
    parents = [pack.add("commit", commit_bytes(tree.oid, message=b"%d" % n)) for n in range(17)]
    data = commit_bytes(tree.oid, [parent.oid for parent in parents[: 16 + over]])
    handle = pack.add("commit", data) if stored == "whole" else as_delta(pack, "commit", data)
    if stored == "whole":
        pack.add("tree", b"")
    report = verify_bytes(pack.build())
    wanted = [(codes.TOO_MANY_PARENTS, handle.offset, handle.oid)] if over else []
    assert errors(report) == wanted
    assert report.klass == (4 if over else 0)
    if over:
        limit = report.findings.sorted()[0].limit
        assert limit is not None
        assert limit.as_dict() == {"name": "parents", "value": 16, "seen": 17}


def test_a_flood_of_parents_is_refused_in_little_memory() -> None:
    data = commit_bytes(packs.oid("tree", b""), [b"\x02" * 20] * 100_000)
    pack = PackBuilder()
    pack.add("tree", b"")
    pack.add("commit", data)
    built = pack.build()
    verify_bytes(built)  # what is loaded late is loaded now
    tracemalloc.start()
    report = verify_bytes(built)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [code for code, _offset, _oid in errors(report)] == [codes.TOO_MANY_PARENTS]
    assert peak < 4 * len(data)


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize("over", [0, 1])
def test_entries_of_a_tree_have_a_limit(over: int, stored: str) -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    data = tree_bytes([(b"100644", b"%03d" % n, blob.oid) for n in range(100 + over)])
    handle = pack.add("tree", data) if stored == "whole" else as_delta(pack, "tree", data)
    report = verify_bytes(pack.build(), with_limits(tree_entries=100))
    wanted = [(codes.TOO_MANY_TREE_ENTRIES, handle.offset, handle.oid)] if over else []
    assert errors(report) == wanted
    assert report.klass == (4 if over else 0)


@pytest.mark.parametrize("rest", [0, 300])
@pytest.mark.parametrize("over", [0, 1])
def test_all_links_together_have_a_limit(over: int, rest: int) -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    trees = [
        pack.add(
            "tree", tree_bytes([(b"100644", b"%d-%02d" % (t, n), blob.oid) for n in range(20)])
        )
        for t in range(5)
    ]
    tree = trees[-1]
    commit = pack.add("commit", commit_bytes(tree.oid))
    last = pack.add("commit", commit_bytes(tree.oid, [commit.oid]))
    after = [pack.add("blob", b"%d" % n) for n in range(rest)]
    report = verify_bytes(pack.build(), with_limits(links=103 - over))
    wanted = [(codes.TOO_MANY_LINKS, last.offset, last.oid)] if over else []
    assert errors(report) == wanted
    assert report.findings.count(codes.TOO_MANY_LINKS) == over
    assert report.klass == (4 if over else 0)
    # Nothing is counted twice, whatever is left unread.
    assert report.counts["objects"] <= 8 + len(after)
    assert report.counts["commits"] <= 2


def test_links_of_rebuilt_objects_count_as_well() -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    base = pack.add("tree", tree_bytes([(b"100644", b"a", blob.oid)]))
    for number in range(10):
        made = tree_bytes([(b"100644", b"%d" % number, blob.oid), (b"100644", b"z", blob.oid)])
        pack.add_ofs(base, delta(len(base.data), len(made), insert(made)), made, kind="tree")
    assert verify_bytes(pack.build(), with_limits(links=21)).accepted
    report = verify_bytes(pack.build(), with_limits(links=20))
    assert errors(report) == [(codes.TOO_MANY_LINKS, pack.handles[-1].offset, pack.handles[-1].oid)]


# --- trees made from other trees ------------------------------------------------------------------


def exchanged(data: bytes, places: dict[int, bytes]) -> tuple[bytes, bytes]:
    """Return (delta, result) of writing bytes over others; what stays is copied in place."""
    ops, at = b"", 0
    out = bytearray(data)
    for place, new in sorted(places.items()):
        ops += copy(at, place - at) if place > at else b""
        ops += insert(new)
        out[place : place + len(new)] = new
        at = place + len(new)
    ops += copy(at, len(data) - at) if at < len(data) else b""
    return delta(len(data), len(data), ops), bytes(out)


NAMES = [b"entry%05d" % n for n in range(150)]
Change = Callable[[random.Random, bytes], dict[int, bytes]]


def _id_of(name: bytes, data: bytes) -> int:
    return data.index(b" " + name + b"\0") + len(name) + 2


def _id_place(rng: random.Random, data: bytes) -> int:
    return data.index(rng.choice(NAMES)) + len(NAMES[0]) + 1


CHANGES: dict[str, Change] = {
    "one id": lambda rng, data: {_id_place(rng, data): rng.randbytes(20)},
    "three ids": lambda rng, data: {_id_place(rng, data): rng.randbytes(20) for _ in range(3)},
    "the end of an id": lambda rng, data: {_id_place(rng, data) + 17: rng.randbytes(3)},
    "an id by the one it was": lambda rng, data: (
        {(at := _id_place(rng, data)): data[at : at + 20]}
    ),
    "a name": lambda rng, data: {_id_place(rng, data) - 4: b"xyz"},
    "a mode": lambda _rng, data: {data.index(b"100644"): b"120000"},
    "a mode and an id": lambda rng, data: {
        data.index(b"100644"): b"160000",
        _id_place(rng, data): rng.randbytes(20),
    },
    "an entry's kind, with the same length": lambda _rng, data: {
        data.index(b"100644 e"): b"40000 en"
    },
    "an id and the mode after it": lambda rng, data: {
        _id_place(rng, data) + 10: rng.randbytes(10) + b"160000"
    },
    "the first byte": lambda _rng, _data: {0: b"7"},
    "a NUL moved": lambda rng, data: {_id_place(rng, data) - 2: b"\0x"},
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CHANGES)
def test_a_tree_made_from_another_links_to_what_it_would_link_to_as_a_whole(
    name: str, seed: int
) -> None:
    rng = random.Random(seed)
    modes = [b"40000" if n % 7 == 3 else b"160000" if n % 7 == 5 else b"100644" for n in range(150)]
    listed = [(mode, n, rng.randbytes(20)) for mode, n in zip(modes, NAMES, strict=True)]
    made, whole = PackBuilder(), PackBuilder()
    data = tree_bytes(listed, ordered=False)
    base = made.add("tree", data)
    whole.add("tree", data)
    for _ in range(6):
        change, result = exchanged(base.data, CHANGES[name](rng, base.data))
        if result in {handle.data for handle in made.handles}:
            continue
        handle = made.add_ofs(base, change, result)
        whole.add("tree", result)
        base = handle if rng.random() < 0.7 else base
    for rules in ("candidate", "git"):
        reports = [verify_bytes(p.build(), Options(rules=rules)) for p in (made, whole)]
        one, other = ([(f.code, f.oid, f.message) for f in r.findings.sorted()] for r in reports)
        assert sorted(one, key=str) == sorted(other, key=str)
        counts = [{c.name: r.findings.count(c) for c in checks.CATALOG.values()} for r in reports]
        assert counts[0] == counts[1]
        assert counts[0]["absentObject"] > 100


def test_a_malformed_tree_may_be_a_base() -> None:
    # No links can be taken over from it; what is made from it is looked into as a whole.
    pack = PackBuilder()
    base = pack.add("tree", b"no tree at all" * 20)
    good = tree_bytes([(b"160000", b"m", b"\x07" * 20)])
    pack.add_ofs(base, delta(len(base.data), len(good), insert(good)), good)
    assert errors(verify_bytes(pack.build())) == [(checks.BAD_TREE, base.offset, base.oid)]


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize("over", [0, 1])
def test_submodules_count_as_links(stored: str, over: int) -> None:
    listed = [(b"160000", b"%03d" % n, b"\x07" * 20) for n in range(50)]
    pack = PackBuilder()
    before = 0
    data = tree_bytes(listed)
    if stored == "as a delta":
        handle, before = as_delta(pack, "tree", data), 1
    else:
        handle = pack.add("tree", data)
    report = verify_bytes(pack.build(), with_limits(links=50 + before - over))
    wanted = [(codes.TOO_MANY_LINKS, handle.offset, handle.oid)] if over else []
    assert errors(report) == wanted


# --- contents -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize("kind", ["commit", "tag"])
def test_messages_have_a_limit(kind: str, over: int, stored: str) -> None:
    pack = PackBuilder()
    tree = packs.outside("tree", b"")
    plain = commit_bytes(tree.oid) if kind == "commit" else tag_bytes(tree.oid, b"tree")
    data = plain + b"m" * (2_000 + over - len(plain))
    handle = pack.add(kind, data) if stored == "whole" else as_delta(pack, kind, data)
    if stored == "whole":
        pack.add("tree", b"")
    report = verify_bytes(pack.build(), with_limits(message_bytes=2_000))
    wanted = [(checks.MESSAGE_TOO_LONG, handle.offset, handle.oid)] if over else []
    assert errors(report) == wanted
    assert report.klass == (4 if over else 0)


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize("over", [0, 1])
def test_names_have_a_limit(over: int, stored: str) -> None:
    pack = PackBuilder()
    blob = pack.add("blob", b"content")
    data = tree_bytes([(b"100644", b"n" * (255 + over), blob.oid)])
    handle = pack.add("tree", data) if stored == "whole" else as_delta(pack, "tree", data)
    report = verify_bytes(pack.build())
    wanted = [(checks.NAME_TOO_LONG, handle.offset, handle.oid)] if over else []
    assert errors(report) == wanted
    assert report.klass == (4 if over else 0)
    if over:
        limit = next(f.limit for f in report.findings.sorted() if f.severity == "error")
        assert limit is not None
        assert limit.as_dict() == {"name": "name_bytes", "value": 255, "seen": 256}


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n" % (b"ab" * 32)


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize("name", ["a pointer", "its neighbour"])
def test_a_pointer_of_lfs_is_noted_where_it_stands(name: str, stored: str) -> None:
    data = LFS if name == "a pointer" else LFS.replace(b"size 12345", b"size 12x45")
    pack = PackBuilder()
    base = pack.add("blob", b"not a pointer")
    if stored == "whole":
        blob = pack.add("blob", data)
    else:
        blob = pack.add_ofs(base, delta(len(base.data), len(data), insert(data)), data)
    listed = [(b"100644", b"base", base.oid), (b"100644", b"large.bin", blob.oid)]
    pack.add("commit", commit_bytes(pack.add("tree", tree_bytes(listed)).oid))
    report = verify_bytes(pack.build())
    found = [(f.code, f.severity, f.path, f.oid) for f in report.findings.sorted()]
    pointer = [(pathcodes.LFS_POINTER, "note", b"large.bin", blob.oid)]
    assert found == (pointer if name == "a pointer" else [])
    assert report.accepted


OTHER = b"M Allory <other@example.com> 1700000000 +0000"


@pytest.mark.parametrize("stored", ["whole", "as a delta"])
@pytest.mark.parametrize(
    ("author", "committer", "refused"),
    [
        (packs.IDENT, packs.IDENT, []),
        (OTHER, packs.IDENT, [b"author"]),
        (packs.IDENT, OTHER, [b"committer"]),
        (OTHER, OTHER, [b"author", b"committer"]),
    ],
    ids=["both allowed", "another author", "another committer", "both others"],
)
def test_a_policy_says_who_may_write_commits(
    author: bytes, committer: bytes, refused: list[bytes], stored: str
) -> None:
    policy = Policy("p", authors=["author@*"], committers=["author@*"])
    tree = packs.oid("tree", b"")
    data = commit_bytes(tree, author=author, committer=committer, message=b"by whom?\n")
    pack = PackBuilder()
    if stored == "whole":
        pack.add("tree", b"")
        handle = pack.add("commit", data)
    else:
        handle = as_delta(pack, "commit", data)
    report = verify_bytes(pack.build(), Options(policy=policy))
    wanted = [(checks.IDENTITY_NOT_ALLOWED, handle.offset, handle.oid)] * len(refused)
    assert errors(report) == wanted
    assert [f.detail for f in report.findings.sorted()] == refused
    assert report.klass == (codes.POLICY if refused else 0)
    assert verify_bytes(pack.build()).findings.sorted() == []


MODULES = b'[submodule "%s"]\n\tpath = lib\n\turl = https://example.com/lib.git\n'
# Name and mode of an entry, what it first holds, an honest change, a hostile one and its code.
SPECIAL = {
    "a .gitmodules": (
        b".gitmodules", b"100644", b"", MODULES % b"lib", MODULES % b"../../x",
        pathcodes.GITMODULES_NAME,
    ),
    "a symbolic link": (
        b"link", b"120000", b"entry00001", b"entry00002", b"../out", pathcodes.SYMLINK_ESCAPES,
    ),
    "a .gitattributes": (
        b".gitattributes", b"100644", b"", b"* text\n", b"* filter=x\n",
        pathcodes.GITATTRIBUTES_ACTIVE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("hostile", [False, True], ids=["honest", "hostile"])
@pytest.mark.parametrize("stored", ["whole", "as a patch"])
@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_file_is_read_wherever_a_tree_names_it(
    name: str, stored: str, hostile: bool
) -> None:
    # The tree differs from its base in the file's id alone, and is large enough to be patched.
    entry, mode, first, *changes, code = SPECIAL[name]
    pack = PackBuilder()
    file = pack.add("blob", b"a file")
    before, after = pack.add("blob", first), pack.add("blob", changes[hostile])
    listed = [(b"100644", n, file.oid) for n in NAMES] + [(mode, entry, before.oid)]
    base = pack.add("tree", tree_bytes(listed))
    change, result = exchanged(base.data, {_id_of(entry, base.data): after.oid})
    tree = pack.add("tree", result) if stored == "whole" else pack.add_ofs(base, change, result)
    pack.add("commit", commit_bytes(tree.oid))
    report = verify_bytes(pack.build())
    found = [(f.code, f.path, f.oid) for f in report.findings.sorted()]
    assert found == ([(code, entry, after.oid)] if hostile else [])


@pytest.mark.parametrize("stored", ["whole", "as a patch"])
def test_an_id_of_zeros_is_found_in_every_tree(stored: str) -> None:
    pack = PackBuilder()
    file = pack.add("blob", b"a file")
    base = pack.add("tree", tree_bytes([(b"100644", n, file.oid) for n in NAMES]))
    change, result = exchanged(base.data, {_id_of(NAMES[9], base.data): bytes(20)})
    tree = pack.add("tree", result) if stored == "whole" else pack.add_ofs(base, change, result)
    pack.add("commit", commit_bytes(tree.oid))
    found = [(f.code, f.path) for f in verify_bytes(pack.build()).findings.sorted()]
    assert found == [(checks.NULL_SHA1, NAMES[9]), (checks.ABSENT_OBJECT, NAMES[9])]


def test_trees_that_share_an_error_are_found_each() -> None:
    pack = PackBuilder()
    blobs = [pack.add("blob", b"%d" % n) for n in range(3)]
    listed = [(b"100644", n, blobs[0].oid) for n in NAMES] + [(b"100644", b"nul.", blobs[0].oid)]
    trees = [pack.add("tree", tree_bytes([*listed, (b"100644", b".git", blobs[0].oid)]))]
    for blob in blobs[1:]:
        base = trees[-1]
        change, result = exchanged(base.data, {_id_of(NAMES[3], base.data): blob.oid})
        trees.append(pack.add_ofs(base, change, result))
    report = verify_bytes(pack.build())
    assert errors(report) == [(pathcodes.HAS_DOTGIT, tree.offset, tree.oid) for tree in trees]
    # What is no error counts once for each name.
    assert report.findings.count(pathcodes.WINDOWS_DEVICE_NAME) == 1


def test_trees_are_patched_where_the_base_may_have_the_same() -> None:
    pack = PackBuilder()
    blobs = [pack.add("blob", b"%d" % n) for n in range(2)]
    base = pack.add("tree", tree_bytes([(b"100644", n, blobs[0].oid) for n in NAMES]))
    assert len(base.data) > SMALL_TREE
    change, result = exchanged(base.data, {_id_of(NAMES[3], base.data): blobs[1].oid})
    tree = pack.add_ofs(base, change, result)
    parent = pack.add("commit", commit_bytes(base.oid))
    pack.add("commit", commit_bytes(tree.oid, [parent.oid]))
    assert verify_bytes(pack.build(), Options(read_base=lambda _oid: None)).accepted


def test_versions_of_a_large_malformed_tree_are_malformed_each() -> None:
    pack = PackBuilder()
    file = pack.add("blob", b"a file")
    whole = tree_bytes([(b"100644", n, file.oid) for n in NAMES])
    base = pack.add("tree", whole + b"100644 cut")
    change, result = exchanged(base.data, {_id_of(NAMES[3], base.data): b"\x11" * 20})
    tree = pack.add_ofs(base, change, result)
    report = verify_bytes(pack.build())
    assert [e for e in errors(report) if e[0] is checks.BAD_TREE] == [
        (checks.BAD_TREE, base.offset, base.oid),
        (checks.BAD_TREE, tree.offset, tree.oid),
    ]
