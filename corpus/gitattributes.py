"""The file .gitattributes, and pointers of Git LFS."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import DIR, FILE, SUB, File, Kit

__all__ = ["cases"]

PLAIN = "gitattributes-plain"
LINES = "gitattributes-line-of-2047-bytes"


def _file(kit: Kit, text: bytes, name: bytes = b".gitattributes") -> File:
    """A commit with a file of this text."""
    blob = kit.blob(text)
    root = kit.tree((FILE, name, blob))
    return kit.packed(blob, root, kit.commit(root))


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    yield good(PLAIN, _file(kit, b"*.txt text eol=lf\n"), "PG8, PG9", both=True)
    yield from _sizes(kit)
    yield from _kinds(kit)
    yield from _active(kit)


def _sizes(kit: Kit) -> Iterator[Case]:
    yield good(LINES, _file(kit, b"a" * 2042 + b" text"), "PG8, CVE-2022-23521", both=True)
    code = "gitattributesLineLength"
    table = {
        "a-line-of-2048-bytes": b"a" * 2043 + b" text",
        "a-pattern-of-4096-bytes": b"a" * 4096 + b" text\n",
        "a-line-of-2000-attributes": b"a" + b" b" * 2000 + b"\n",
        "a-long-line-behind-a-short-one": b"*.txt text\n" + b"a" * 3000 + b" text\n",
        "a-comment-of-2048-bytes": b"#" + b"a" * 2047 + b"\n",
    }
    for name, text in table.items():
        file = _file(kit, text)
        origin = "PG8, CVE-2022-23521, case 52"
        both = name == "a-line-of-2048-bytes"
        yield bad(f"gitattributes-{name}", file, code, LINES, origin, both=both)


def _kinds(kit: Kit) -> Iterator[Case]:
    blob = kit.blob()
    sub = kit.tree((FILE, b"x", blob))
    root = kit.tree((DIR, b".gitattributes", sub))
    file = kit.packed(blob, sub, root, kit.commit(root))
    code = "gitattributesBlob"
    yield bad("gitattributes-is-a-folder", file, code, "name-of-a-folder", "PG8, case 52")
    root = kit.tree((SUB, b".gitattributes", kit.absent))
    file = kit.packed(root, kit.commit(root))
    notes = ("gitlinkEntry", "gitlinkWithoutEntry")
    name = "gitattributes-is-a-submodule"
    yield bad(
        name, file, "gitattributesMissing", "tree-of-a-submodule", "PG8, case 52", notes=notes
    )
    root = kit.tree((FILE, b".gitattributes", kit.absent))
    file = kit.packed(root, kit.commit(root))
    name = "gitattributes-not-there"
    yield bad(name, file, "absentObject", PLAIN, "PG8, case 5", also="gitattributesMissing")


def _active(kit: Kit) -> Iterator[Case]:
    """What the host would run or rewrite is for a reviewer to see; an honest file may have it."""
    table = {
        "filter": (b"*.bin filter=lfs -text\n", "PG9"),
        "own-filter": (b"* filter=evil\n", "PG9, CVE-2021-21300"),
        "merge": (b"*.c merge=evil\n", "PG9"),
        "diff": (b"*.c diff=evil\n", "PG9"),
        "export-subst": (b"version export-subst\n", "PG9, CVE-2022-41903"),
        "encoding": (b"*.txt working-tree-encoding=UTF-16\n", "PG9"),
        "macro": (b"[attr]x filter=evil\n*.c x\n", "PG9"),
    }
    for name, (text, origin) in table.items():
        file = _file(kit, text)
        notes = ("gitattributesActive",)
        yield good(f"gitattributes-with-{name}", file, origin, notes=notes)
    pointer = (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 12345\n"
    )
    file = _file(kit, pointer, b"data.bin")
    yield good("gitattributes-lfs-pointer", file, "A14, case 82", notes=("lfsPointer",))
    hidden = b"$Format:%>(2147483647)%s$\n"
    yield good("gitattributes-huge-padding", _file(kit, hidden, b"version"), "CVE-2022-41903")
