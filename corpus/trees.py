"""Trees: entries, modes, order and names that come twice."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import DIR, EXE, FILE, LINK, SUB, File, Kit, Obj

__all__ = ["cases"]

PLAIN = "tree-plain"
TWO = "tree-of-two-files"


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    blob = kit.blob()
    yield good(PLAIN, _of(kit, blob, (FILE, b"file", blob)), "PF1", both=True)
    two = _of(kit, blob, (FILE, b"a", blob), (FILE, b"b", blob))
    yield good(TWO, two, "PF16", both=True)
    for make in (_grammar, _modes, _order, _repeats, _kinds):
        yield from make(kit, blob)


def _of(kit: Kit, blob: Obj, *entries: tuple[bytes, bytes, Obj | bytes]) -> File:
    """A commit of a tree of these entries, in this order."""
    return _around(kit, blob, kit.tree(*entries, ordered=False))


def _around(kit: Kit, blob: Obj, root: Obj, *more: Obj) -> File:
    return kit.packed(blob, *more, root, kit.commit(root))


def _grammar(kit: Kit, blob: Obj) -> Iterator[Case]:
    one = kit.tree((FILE, b"file", blob)).data
    oid = blob.oid
    table = {
        "of-one-byte": b"1",
        "cut-in-its-id": one[:-1],
        "cut-before-its-id": one[: -kit.width],
        "cut-in-its-name": b"100644 fil",
        "cut-after-its-mode": b"100644 ",
        "entry-without-a-mode": b" file\0" + oid,
        "entry-without-a-name": b"100644 \0" + oid,
        "entry-without-a-space": b"100644file\0" + oid,
        "mode-not-octal": b"100648 file\0" + oid,
        "mode-with-a-sign": b"+100644 file\0" + oid,
        "mode-with-a-space-before-it": b" 100644 file\0" + oid,
        "mode-in-hex": b"0x81a4 file\0" + oid,
        "bytes-after-its-entries": one + b"\0",
    }
    for name, data in table.items():
        root = kit.obj("tree", data)
        file = _around(kit, blob, root)
        origin = "PF1, case 49, A12"
        yield bad(f"tree-{name}", file, "badTree", PLAIN, origin, at=root,
                  both=name == "cut-in-its-id")  # fmt: skip


def _modes(kit: Kit, blob: Obj) -> Iterator[Case]:
    padded, unknown = "zeroPaddedFilemode", "unknownFilemode"
    table = {
        "0100644": (padded, "PF18, case 15, A12"),
        "00100644": (padded, "PF18, case 15"),
        "37777777777100644": (unknown, "PF18, case 46"),
        "40000100644": (unknown, "PF18, case 46"),
        "100000000644": (unknown, "PF18, case 46"),
    }
    for mode, (code, origin) in table.items():
        root = kit.tree((mode.encode(), b"file", blob))
        file = _around(kit, blob, root)
        both = mode == "0100644"
        notes = ("badFilemode",) if mode == "100000000644" else ()
        full = f"tree-mode-{mode}"
        yield bad(full, file, code, PLAIN, origin, at=root, notes=notes, both=both)
    # What these say is no file, so that the blob is no target of theirs.
    for mode in ("777777", "1", "0", "644", "140000", "20000"):
        root = kit.tree((mode.encode(), b"file", blob))
        file = _around(kit, blob, root)
        also = padded if mode == "0" else ""
        full = f"tree-mode-{mode}"
        notes = ("badFilemode",)
        yield bad(full, file, unknown, PLAIN, "PF18", at=root, also=also, notes=notes)
    sub = kit.tree((FILE, b"file", blob))
    root = kit.tree((b"040000", b"dir", sub))
    plain = kit.tree((DIR, b"dir", sub))
    yield good("tree-of-a-folder", _around(kit, blob, plain, sub), "PF18", both=True)
    file = _around(kit, blob, root, sub)
    name = "tree-mode-040000"
    origin = "PF18, case 15, A12, pallets/flask#2065"
    yield bad(name, file, padded, "tree-of-a-folder", origin, at=root, both=True)
    for mode in ("100664", "100600", "104755", "100640"):
        root = kit.tree((mode.encode(), b"file", blob))
        name = f"tree-mode-{mode}"
        origin = "PF18, A14, case 47"
        yield good(name, _around(kit, blob, root), origin, notes=("badFilemode",))
    root = kit.tree((EXE, b"file", blob))
    yield good("tree-mode-100755", _around(kit, blob, root), "PF18, PG14")


def _order(kit: Kit, blob: Obj) -> Iterator[Case]:
    sub = kit.tree((FILE, b"x", blob))
    code = "treeNotSorted"
    swapped = kit.tree((FILE, b"b", blob), (FILE, b"a", blob), ordered=False)
    file = _around(kit, blob, swapped)
    yield bad("tree-out-of-order", file, code, TWO, "PF16, A12, case 49", at=swapped, both=True)
    # A folder sorts as if its name ended in a slash.
    right = kit.tree((FILE, b"a.b", blob), (DIR, b"a", sub), ordered=False)
    wrong = kit.tree((DIR, b"a", sub), (FILE, b"a.b", blob), ordered=False)
    yield good("tree-folder-in-order", _around(kit, blob, right, sub), "PF16")
    name = "tree-folder-out-of-order"
    file = _around(kit, blob, wrong, sub)
    yield bad(name, file, code, "tree-folder-in-order", "PF16, case 49", at=wrong)


def _repeats(kit: Kit, blob: Obj) -> Iterator[Case]:
    sub = kit.tree((FILE, b"x", blob))
    code = "duplicateEntries"
    other, target = kit.blob(b"other\n"), kit.blob(b"x")
    table: dict[str, tuple[tuple[tuple[bytes, bytes, Obj], ...], str]] = {
        "a-file-twice": (((FILE, b"a", blob), (FILE, b"a", blob)), ""),
        "two-files-of-one-name": (((FILE, b"a", blob), (FILE, b"a", other)), ""),
        "a-file-and-a-program-of-one-name": (((FILE, b"a", blob), (EXE, b"a", blob)), ""),
        "a-link-and-a-folder-of-one-name": (
            ((LINK, b"a", target), (DIR, b"a", sub)), "symlinkDirectoryCollision",
        ),
        "a-file-and-a-folder-of-one-name": (((FILE, b"a", blob), (DIR, b"a", sub)), ""),
        "a-file-and-a-folder-far-apart": (
            ((FILE, b"a", blob), (FILE, b"a-b", blob), (FILE, b"a.b", blob), (DIR, b"a", sub)), "",
        ),
    }  # fmt: skip
    for name, (entries, also) in table.items():
        root = kit.tree(*entries, ordered=False)
        file = _around(kit, blob, root, other, target, sub)
        both = name == "a-file-and-a-folder-of-one-name"
        origin = "PF17, A12, case 49"
        yield bad(f"tree-{name}", file, code, TWO, origin, at=root, also=also, both=both)


def _kinds(kit: Kit, blob: Obj) -> Iterator[Case]:
    """What an entry's id may be, and is not."""
    zeros = bytes(kit.width)
    sub = kit.tree((SUB, b"sub", zeros))
    file = _around(kit, blob, sub)
    plain = "tree-of-a-submodule"
    notes = ("gitlinkEntry", "gitlinkWithoutEntry")
    honest = kit.tree((SUB, b"sub", kit.absent))
    yield good(plain, _around(kit, blob, honest), "PF24, A14, PG11", notes=notes, both=True)
    name = "tree-of-a-submodule-of-zeros"
    yield bad(name, file, "nullSha1", plain, "PF24, A12, case 49", at=sub, notes=notes, both=True)
    for what, kind in ((FILE, "file"), (LINK, "link"), (DIR, "folder")):
        root = kit.tree((what, b"file", zeros))
        file = _around(kit, blob, root)
        origin = "PF24, case 49"
        name = f"tree-of-a-{kind}-of-zeros"
        unread = ("symlinkNotRead",) if what == LINK else ()
        yield bad(name, file, "nullSha1", PLAIN, origin, at=root, also="absentObject", notes=unread)
