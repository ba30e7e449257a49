"""Symbolic links: where their targets lead."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import DIR, FILE, LINK, SUB, File, Kit, Obj

__all__ = ["cases"]

PLAIN = "link-to-a-neighbour"


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    yield good(PLAIN, _link(kit, b"file"), "PG10, A13, A24", both=True)
    for make in (_targets, _deep, _through, _special, _odd):
        yield from make(kit)


def _link(kit: Kit, target: bytes, name: bytes = b"link") -> File:
    """A link at the root, beside a file."""
    blob, to = kit.blob(), kit.blob(target)
    root = kit.tree((FILE, b"file", blob), (LINK, name, to))
    return kit.packed(blob, to, root, kit.commit(root))


def _targets(kit: Kit) -> Iterator[Case]:
    absolute, escapes, git, odd = (
        "symlinkAbsolute", "symlinkEscapes", "symlinkIntoGit", "symlinkBadTarget",
    )  # fmt: skip
    table = {
        "to-etc-passwd": (b"/etc/passwd", absolute, "PG10, A13"),
        "to-the-root": (b"/", absolute, "PG10, A13"),
        "to-a-drive": (b"C:\\Windows", absolute, "PG10"),
        "to-a-drive-with-a-slash": (b"c:/windows", absolute, "PG10"),
        "to-a-drive-that-is-a-digit": (b"1:x", absolute, "PG10, CVE-2019-1351"),
        "to-a-share": (b"\\\\server\\share", absolute, "PG10"),
        "to-the-folder-above": (b"..", escapes, "PG10, A13"),
        "to-a-file-above": (b"../../etc/passwd", escapes, "PG10, A13"),
        "that-climbs-behind-a-name": (b"file/../../x", escapes, "PG10"),
        "that-climbs-with-backslashes": (b"..\\x", escapes, "PG10, CVE-2019-1354"),
        "that-climbs-where-a-space-is-dropped": (b".. /x", escapes, "PG10"),
        "that-climbs-behind-a-dot": (b"./../x", escapes, "PG10"),
        "into-git": (b".git", git, "PG10, CVE-2024-32002"),
        "into-hooks": (b".git/hooks/post-checkout", git, "PG10, CVE-2024-32002"),
        "into-git-in-capitals": (b".GIT/config", git, "PG10, CVE-2014-9390"),
        "into-git-tilde-1": (b"git~1/config", git, "PG10, CVE-2014-9390"),
        "into-a-stream-of-git": (b".git::$INDEX_ALLOCATION/config", git, "PG10, CVE-2019-1352"),
        "into-git-behind-a-name": (b"dir/.git/config", git, "PG10"),
        "to-nothing": (b"", odd, "PG10"),
        "with-nul": (b"file\0../../x", odd, "PG10"),
        "with-a-line-end": (b"file\n", odd, "PG10"),
        "with-an-escape": (b"\x1b[2Kfile", odd, "PG10"),
        "with-an-override": ("\u202efile".encode(), odd, "PG10"),
        "with-a-selector-of-no-shape": ("file\ufe0f".encode(), odd, "PG10"),
        "with-a-zero-width-space": ("fi\u200ble".encode(), odd, "PG10"),
        "of-4096-bytes": (b"a/" * 2048, "symlinkTooLong", "PG10"),
        "into-an-ignored-git": (".g\u200cit/config".encode(), git, "PG10, CVE-2014-9390"),
    }
    also = {"into-an-ignored-git": odd, "with-nul": ""}
    for name, (target, code, origin) in table.items():
        file = _link(kit, target)
        more = also.get(name, "")
        both = name in {"to-etc-passwd", "to-a-file-above", "into-hooks"}
        plain = "link-of-4095-bytes" if name == "of-4096-bytes" else PLAIN
        yield bad(f"link-{name}", file, code, plain, origin, also=more, both=both)


def _deep(kit: Kit) -> Iterator[Case]:
    """The same target is safe in one folder and leaves the tree from another one."""
    to = kit.blob(b"../../x")
    blob = kit.blob()

    def at(depth: int) -> File:
        items: list[Obj] = [kit.tree((LINK, b"link", to))]
        for _ in range(depth):
            items.append(kit.tree((DIR, b"d", items[-1])))
        return kit.packed(blob, to, *items, kit.commit(items[-1]))

    yield good("link-two-up-from-two-down", at(2), "PG10, A13", both=True)
    for depth in (0, 1):
        name = f"link-two-up-from-{depth}-down"
        plain = "link-two-up-from-two-down"
        yield bad(name, at(depth), "symlinkEscapes", plain, "PG10, A13", both=depth == 1)
    # One folder stands in two places; from one of them its link leaves the tree.
    folder = kit.tree((LINK, b"link", to))
    deep = kit.tree((DIR, b"e", folder))
    deeper = kit.tree((DIR, b"d", deep))
    root = kit.tree((DIR, b"a", folder), (DIR, b"c", deeper))
    file = kit.packed(to, folder, deep, deeper, root, kit.commit(root))
    name = "link-in-a-folder-that-stands-twice"
    yield bad(name, file, "symlinkEscapes", "link-two-up-from-two-down", "PG10")


def _submodule(kit: Kit) -> Iterator[Case]:
    """What lies in a submodule is not in the file: any name there may be a link."""
    origin = "PG10, CVE-2026-71556"
    notes = ("gitlinkEntry", "gitlinkWithoutEntry")
    plain = "link-back-over-a-submodule"
    for name, target in {
        plain: b"sub/../x",
        "link-back-over-a-name-in-it": b"sub/d/../../x",
    }.items():
        blob, link = kit.blob(), kit.blob(target)
        root = kit.tree((LINK, b"link", link), (SUB, b"sub", kit.absent), (FILE, b"x", blob))
        file = kit.packed(blob, link, root, kit.commit(root))
        if name == plain:
            yield good(name, file, origin, notes=notes)
        else:
            yield bad(name, file, "symlinkEscapes", plain, origin, notes=notes)


def _through(kit: Kit) -> Iterator[Case]:
    """Links that lead through another link: way and letters may say different things."""
    blob = kit.blob()
    up, over = kit.blob(b"a/b"), kit.blob(b"down/../../x")
    inner = kit.tree((FILE, b"x", blob))
    middle = kit.tree((DIR, b"b", inner))

    def tree(target: Obj) -> File:
        root = kit.tree(
            (DIR, b"a", middle), (LINK, b"down", up), (LINK, b"link", target), (FILE, b"x", blob)
        )
        return kit.packed(blob, up, target, inner, middle, root, kit.commit(root))

    safe = kit.blob(b"down/x")
    yield good("link-through-a-link", tree(safe), "PG10", both=True)
    # Followed through the link it stays inside; read by its letters, as by a system on which
    # "down" is no link, it does not.
    name = "link-that-climbs-by-its-letters-alone"
    origin = "PG10"
    yield bad(name, tree(over), "symlinkEscapes", "link-through-a-link", origin)
    yield from _submodule(kit)
    here = kit.blob(b".")
    back = kit.blob(b"d/here/../../x")
    folder = kit.tree((LINK, b"here", here), (FILE, b"x", blob))
    straight = kit.blob(b"d/here/x")
    for target, honest in ((straight, True), (back, False)):
        root = kit.tree((DIR, b"d", folder), (LINK, b"link", target))
        file = kit.packed(blob, here, target, folder, root, kit.commit(root))
        if honest:
            yield good("link-through-a-link-to-here", file, "PG10")
        else:
            name = "link-through-a-link-to-here-that-climbs"
            plain = "link-through-a-link-to-here"
            yield bad(name, file, "symlinkEscapes", plain, "PG10, CVE-2026-71556")


def _special(kit: Kit) -> Iterator[Case]:
    plain = PLAIN
    code = "gitmodulesSymlink"
    names = {
        "gitmodules": b".gitmodules",
        "gitmodules-in-capitals": b".GITMODULES",
        "gitmodules-as-short-name": b"gitmod~1",
        "gitmodules-as-checksum-name": b"gi7eba~1",
        "gitmodules-and-a-space": b".gitmodules ",
        "gitmodules-with-an-ignored-character": ".gitmod\u200cules".encode(),
    }
    for name, raw in names.items():
        file = _link(kit, b"file", raw)
        also = "" if raw == b".gitmodules" else "gitmodulesAlias"
        also += " deceptiveName" if "ignored" in name else ""
        notes = ("windowsForbiddenName",) if raw.endswith(b" ") else ()
        origin = "PG1, PF6, A14, case 52"
        both = name == "gitmodules"
        full = f"link-named-{name}"
        yield bad(full, file, code, plain, origin, also=also, notes=notes, both=both)
    odd = {
        ".gitattributes": "gitattributesSymlink",
        ".gitignore": "gitignoreSymlink",
        ".mailmap": "mailmapSymlink",
    }
    for raw_name, note in odd.items():
        file = _link(kit, b"file", raw_name.encode())
        name = f"link-named-{raw_name[1:]}"
        yield good(name, file, "PG2, A14, case 52", notes=(note,))


def _odd(kit: Kit) -> Iterator[Case]:
    table = {
        "to-itself": b"link",
        "to-nowhere": b"missing",
        "to-a-name-of-dots": b"...",
        "of-4095-bytes": b"a/" * 2047 + b"a",
        "to-gitignore": b".gitignore",
        "to-a-name-with-a-space": b"a b",
    }
    for name, target in table.items():
        yield good(f"link-{name}", _link(kit, target), "PG10")
