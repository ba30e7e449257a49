"""What a delta makes: a hostile object is none the better for being written as a change."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import DIR, FILE, LINK, SUB, File, Kit, Obj, copy, delta, insert

__all__ = ["cases"]

# More entries than a kibibyte: such trees are not read again where only ids change.
MANY = 60


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    blob = kit.blob()
    other = kit.blob(b"other\n")
    rows = [(FILE, b"f%03d" % number, blob) for number in range(MANY)]
    target, modules = kit.blob(b"f001"), kit.blob(b"# nothing\n")
    first = (FILE, b".aaa", blob)
    base = kit.tree(first, (FILE, b".gitmodules", modules), *rows, (LINK, b"link", target),
                    (SUB, b"sub", kit.absent))  # fmt: skip
    outside = kit.blob(b"/etc/passwd")
    evil = kit.blob(b'[submodule "../../x"]\n\tpath = sub\n\turl = https://example.com/x\n')
    parts = [blob, other, target, modules, outside, evil]
    notes = ("gitlinkEntry", "gitlinkWithoutEntry")

    def made(old: bytes, new: bytes) -> File:
        return _pack(kit, parts, base, old, new)

    plain = "patched-tree"
    yield good(plain, made(b"f003\0" + blob.oid, b"f003\0" + other.oid), "PD1, PF1", notes=notes,
               both=True)  # fmt: skip
    table = {
        "link-with-a-new-target": (target.oid, outside.oid, "symlinkAbsolute", "PG10, A13", ""),
        "gitmodules-with-new-content": (modules.oid, evil.oid, "gitmodulesName", "PG3, case 4", ""),
        "file-of-zeros": (b"f003\0" + blob.oid, b"f003\0" + bytes(kit.width), "nullSha1",
                          "PF24", "absentObject"),
        "submodule-of-zeros": (kit.absent, bytes(kit.width), "nullSha1", "PF24", ""),
        "file-of-nothing": (b"f003\0" + blob.oid, b"f003\0" + b"\x22" * kit.width, "absentObject",
                            "PH1", ""),
        "file-of-a-tree": (b"f003\0" + blob.oid, b"f003\0" + base.oid, "linkKindMismatch",
                           "PH3", ""),
        "name-that-is-dotgit": (b".aaa\0", b".git\0", "hasDotgit", "PF2, A12", ""),
        "name-out-of-order": (b"f003\0", b"g003\0", "treeNotSorted", "PF16, A12", ""),
        "name-that-comes-twice": (b"f003\0", b"f002\0", "duplicateEntries", "PF17, A12", ""),
        "name-in-capitals-beside-its-twin": (b"f003\0", b"F004\0", "caseCollision", "PF10",
                                             "treeNotSorted"),
        "mode-with-a-zero": (b"100644 f003", b"0100644 f003", "zeroPaddedFilemode", "PF18", ""),
    }  # fmt: skip
    for name, (old, new, code, origin, also) in table.items():
        both = name in {"link-with-a-new-target", "name-that-is-dotgit"}
        full = f"patched-{name}"
        yield bad(full, made(old, new), code, plain, origin, also=also, notes=notes, both=both)
    yield from _blobs(kit, blob)
    yield from _between(kit, blob, outside)


def _pack(kit: Kit, parts: list[Obj], base: Obj, old: bytes, new: bytes) -> File:
    """A commit of a tree, and one of what a delta makes of it."""
    pack = kit.pack()
    for part in parts:
        pack.add(part)
    at = pack.add(base)
    start = base.data.index(old)
    end = start + len(old)
    size = len(base.data)
    change = delta(size, size + len(new) - len(old), copy(0, start) if start else b"", insert(new),
                   copy(end, size - end) if end < size else b"")  # fmt: skip
    tree = pack.ofs(at, change, base)
    first = kit.commit(base)
    pack.add(first)
    if tree is not None:
        pack.add(kit.commit(tree, first))
    return pack.file()


def _blobs(kit: Kit, blob: Obj) -> Iterator[Case]:
    """Special files whose content is a delta."""
    long = kit.blob(b"dir/passwd/and/more")
    plain = "patched-link"
    for name, start in ((plain, 4), ("patched-link-that-is-absolute", 3)):
        pack = kit.pack()
        at = pack.add(long)
        size = 10 - start
        made = pack.ofs(at, delta(len(long.data), size, copy(start, size)), long)
        if made is None:
            continue
        root = kit.tree((LINK, b"link", made), (FILE, b"long", long), (FILE, b"file", blob))
        for item in (blob, root, kit.commit(root)):
            pack.add(item)
        if name == plain:
            yield good(name, pack.file(), "PG10, PD1")
        else:
            yield bad(name, pack.file(), "symlinkAbsolute", plain, "PG10, A13")


def _between(kit: Kit, blob: Obj, outside: Obj) -> Iterator[Case]:
    """A commit that a later one takes back can still be checked out."""
    clean = kit.tree((FILE, b"file", blob))
    plain = "patched-and-taken-back"
    inner = kit.tree((FILE, b"x", blob))
    table = {
        plain: (kit.tree((FILE, b"more", blob), (FILE, b"file", blob)), ""),
        "between-an-absolute-link": (kit.tree((LINK, b"link", outside)), "symlinkAbsolute"),
        "between-dotgit": (kit.tree((DIR, b".git", inner)), "hasDotgit"),
        "between-a-collision": (kit.tree((FILE, b"A", blob), (FILE, b"a", blob)), "caseCollision"),
    }
    for name, (tree, code) in table.items():
        first = kit.commit(clean)
        second = kit.commit(tree, first)
        third = kit.commit(clean, second, message=b"Back\n")
        file = kit.packed(blob, outside, inner, clean, tree, first, second, third)
        origin = "PG10, PF1, A13"
        if code:
            yield bad(name, file, code, plain, origin)
        else:
            yield good(name, file, origin)
