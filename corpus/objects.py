"""Links between the objects of one file, and objects that come twice."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import DIR, EXE, FILE, LINK, TEXT, File, Kit, Obj, copy, delta, insert

__all__ = ["cases"]

PLAIN = "objects-plain"


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    yield good(PLAIN, kit.packed(*_line(kit)), "PH1", both=True)
    yield from _missing(kit)
    yield from _mismatches(kit)
    yield from _twice(kit)
    yield from _orders(kit)
    yield from _several(kit)


def _line(kit: Kit) -> list[Obj]:
    """A blob, a tree, a commit and its child, a tag."""
    blob = kit.blob()
    root = kit.tree((FILE, b"file", blob))
    first = kit.commit(root)
    second = kit.commit(root, first, message=b"Second\n")
    return [blob, root, first, second, kit.tag(second)]


def _missing(kit: Kit) -> Iterator[Case]:
    blob, root, first, second, tag = _line(kit)
    everything = [blob, root, first, second, tag]
    names = {blob: "blob", root: "tree", first: "parent", second: "tagged-commit"}
    for item, name in names.items():
        left = [part for part in everything if part is not item]
        file = kit.packed(*left)
        origin = "PH1, A16, case 44"
        full = f"objects-without-the-{name}"
        yield bad(full, file, "absentObject", PLAIN, origin, both=name in {"blob", "parent"})
    absent = kit.absent
    sources = {
        "a-file": kit.tree((FILE, b"file", absent)),
        "a-program": kit.tree((EXE, b"file", absent)),
        "a-symbolic-link": kit.tree((LINK, b"file", absent)),
        "a-folder": kit.tree((DIR, b"file", absent)),
        "a-file-and-a-folder": kit.tree((FILE, b"file", absent), (DIR, b"folder", absent)),
        "the-last-of-many-files": kit.tree(
            *((FILE, b"%03d" % number, blob) for number in range(100)), (FILE, b"last", absent)
        ),
    }
    for name, tree in sources.items():
        file = kit.packed(blob, root, first, second, tag, tree, kit.commit(tree, second))
        notes = ("symlinkNotRead",) if name == "a-symbolic-link" else ()
        full = f"objects-nothing-behind-{name}"
        yield bad(full, file, "absentObject", PLAIN, "PH1, A16", notes=notes)
    merge = kit.commit(root, second, absent)
    name = "objects-nothing-behind-a-second-parent"
    yield bad(name, kit.packed(*everything, merge), "absentObject", PLAIN, "PH1, A16")
    empty = kit.commit(kit.tree().oid)
    name = "objects-without-the-empty-tree"
    differs = "git has the empty tree built in"
    yield bad(name, kit.packed(*everything, empty), "absentObject", PLAIN, "PH1", parity=differs)


def _mismatches(kit: Kit) -> Iterator[Case]:
    blob, root, first, second, tag = everything = _line(kit)
    actual = {"blob": blob, "tree": root, "commit": first, "tag": tag}
    wanted = {"blob", "tree", "commit", "tag"}
    code = "linkKindMismatch"

    def tree(mode: bytes, target: Obj) -> list[Obj]:
        made = kit.tree((mode, b"x", target))
        return [made, kit.commit(made, second, message=b"Third\n")]

    for kind in sorted(wanted):
        target = actual[kind]
        sources: dict[str, list[Obj]] = {}
        if kind != "blob":
            sources["file"] = tree(FILE, target)
            sources["symbolic-link"] = tree(LINK, target)
            sources["tagged-blob"] = [kit.tag(target, b"blob", b"v2")]
        if kind != "tree":
            sources["folder"] = tree(DIR, target)
            sources["root"] = [kit.commit(target, second)]
            sources["tagged-tree"] = [kit.tag(target, b"tree", b"v2")]
        if kind != "commit":
            sources["parent"] = [kit.commit(root, target)]
            sources["tagged-commit"] = [kit.tag(target, b"commit", b"v2")]
        for source, items in sources.items():
            file = kit.packed(*everything, *items)
            origin = "PH3, PF19, case 44"
            name = f"objects-a-{source}-that-is-a-{kind}"
            yield bad(name, file, code, PLAIN, origin, both=name.endswith("folder-that-is-a-blob"))
    both = kit.tree((FILE, b"a", blob), (DIR, b"b", blob))
    file = kit.packed(*everything, both, kit.commit(both, second))
    yield bad("objects-a-blob-as-file-and-folder", file, code, PLAIN, "PH3, PF19")


def _twice(kit: Kit) -> Iterator[Case]:
    everything = _line(kit)
    code = "duplicateObject"
    for item, name in zip(everything, ("blob", "tree", "commit", "child", "tag"), strict=True):
        pack = kit.pack()
        for part in everything:
            pack.add(part)
        at = pack.add(item)
        origin = "PA12, case 65, A17"
        file = pack.file()
        yield bad(f"objects-a-{name}-twice", file, code, PLAIN, origin, at=at, both=name == "blob")
    size = len(TEXT)
    shorter = delta(size, size - 1, copy(0, size - 1))
    # git refuses the one that is made last.
    for name, order in (("whole-then-delta", (True, False)), ("delta-then-whole", (False, True))):
        pack = kit.pack()
        base = pack.add(kit.blob())
        starts = []
        for whole in order:
            starts.append(pack.offset)
            if whole:
                pack.add(kit.blob(TEXT[:-1]))
            else:
                pack.ofs(base, shorter, kit.blob())
        origin = "PA12, case 65"
        yield bad(f"objects-{name}", pack.file(), code, "delta-offset", origin)
    pack = kit.pack()
    base = pack.add(kit.blob())
    at = pack.offset
    pack.ofs(base, delta(size, size, copy(0, size)), kit.blob())
    name = "objects-a-delta-that-copies-its-base"
    yield bad(name, pack.file(), code, "delta-offset", "PA12, case 65", at=at)
    pack = kit.pack()
    base = pack.add(kit.blob())
    pack.ofs(base, delta(size, size + 1, copy(0, size), insert(b"x")), kit.blob())
    pack.ref(kit.blob(), delta(size, size + 1, copy(0, size), insert(b"x")))
    name = "objects-one-result-of-two-deltas"
    yield bad(name, pack.file(), code, "delta-offset", "PA12, case 65")


def _orders(kit: Kit) -> Iterator[Case]:
    everything = _line(kit)
    backwards = kit.packed(*reversed(everything))
    yield good("objects-with-all-links-forward", backwards, "PH1, case 4")
    tags: list[Obj] = [kit.blob()]
    for number in range(4):
        tags.append(kit.tag(tags[-1], tags[-1].kind.encode(), b"v%d" % number))
    yield good("objects-a-tag-of-a-tag-of-a-tag", _all(kit, tags), "PE4")


def _several(kit: Kit) -> Iterator[Case]:
    """Everything that is wrong is found, not only the first thing."""
    blob, root, first, *_rest = _line(kit)
    up = kit.blob(b"../../etc/passwd")
    odd = kit.tree((FILE, b"A", blob), (FILE, b"a", blob), (FILE, b".GIT", blob), (LINK, b"up", up))
    commit = kit.commit(odd, first, first, author=b"A <a@x> 01 +0000")
    tag = kit.tag(commit, tagger=b"A <a@x> 1 +000")
    pack = kit.pack()
    for item in (blob, root, first, up, odd, commit, tag, tag):
        pack.add(item)
    also = "badTimezone caseCollision duplicateObject duplicateParents hasDotgit symlinkEscapes"
    file = pack.file()
    yield bad("objects-with-seven-faults", file, "zeroPaddedDate", PLAIN, "PK3, PK4", at=commit,
              also=also, both=True)  # fmt: skip


def _all(kit: Kit, items: list[Obj]) -> File:
    return kit.packed(*items)
