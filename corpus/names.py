"""Names in trees: spellings of .git, characters, look-alikes, collisions."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import DIR, FILE, LINK, SUB, File, Kit, Obj

__all__ = ["cases"]

PLAIN = "name-plain"
FOLDER = "name-of-a-folder"
TWO = "names-of-two-files"

# The code points that HFS+ ignores.
_IGNORED = (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    yield good(PLAIN, _file(kit, b"name"), "PF1", both=True)
    yield good(FOLDER, _folder(kit, b"name"), "PF1", both=True)
    yield good(TWO, _tree(kit, (FILE, b"a", kit.blob()), (FILE, b"b", kit.blob())), "PF10",
               both=True)  # fmt: skip
    for make in (
        _paths, _dotgit, _hfs, _ntfs, _characters, _aliases, _collisions, _repositories, _odd,
    ):  # fmt: skip
        yield from make(kit)


def _tree(kit: Kit, *entries: tuple[bytes, bytes, Obj | bytes], more: tuple[Obj, ...] = ()) -> File:
    """A commit of a tree of these entries, which git's order is given to."""
    root = kit.tree(*entries)
    seen = {item.oid: item for item in more}
    seen |= {to.oid: to for _mode, _name, to in entries if isinstance(to, Obj)}
    return kit.packed(*seen.values(), root, kit.commit(root))


def _file(kit: Kit, name: bytes) -> File:
    return _tree(kit, (FILE, name, kit.blob()))


def _folder(kit: Kit, name: bytes) -> File:
    blob = kit.blob()
    sub = kit.tree((FILE, b"config", blob))
    return _tree(kit, (DIR, name, sub), more=(blob,))


def _paths(kit: Kit) -> Iterator[Case]:
    table = {
        "a-dot": (b".", "hasDot", "PF1, A12, case 49"),
        "two-dots": (b"..", "hasDotdot", "PF1, A12, CVE-2023-49569, GHSA-7w47, case 49"),
        "with-a-slash": (b"a/b", "fullPathname", "PF1, A12, case 49"),
        "that-is-absolute": (b"/etc", "fullPathname", "PF1, A12"),
        "with-a-slash-at-its-end": (b"a/", "fullPathname", "PF1, case 49"),
    }
    for name, (raw, code, origin) in table.items():
        file = _file(kit, raw)
        yield bad(f"name-{name}", file, code, PLAIN, origin, both=name == "two-dots")
    file = _folder(kit, b"..")
    yield bad("name-of-a-folder-two-dots", file, "hasDotdot", FOLDER, "PF1, CVE-2023-49569")
    file = _file(kit, b"../x")
    name = "name-that-climbs"
    yield bad(name, file, "fullPathname", PLAIN, "PF1, GHSA-7w47, CVE-2026-45571")
    slash = _file(kit, b"a/.git/x")
    name = "name-with-dotgit-after-a-slash"
    yield bad(name, slash, "fullPathname", PLAIN, "PF1, PF2, CVE-2026-45571")


def _dotgit(kit: Kit) -> Iterator[Case]:
    table = {
        "dotgit": (b".git", "PF2, A12, case 50"),
        "dotgit-in-capitals": (b".GIT", "PF2, A12, CVE-2014-9390, case 50"),
        "dotgit-in-mixed-case": (b".GiT", "PF2, CVE-2014-9390, CVE-2026-45571, case 50"),
    }
    for name, (raw, origin) in table.items():
        file = _file(kit, raw)
        yield bad(f"name-{name}", file, "hasDotgit", PLAIN, origin, both=name == "dotgit")
        file = _folder(kit, raw)
        yield bad(f"name-of-a-folder-{name}", file, "hasDotgit", FOLDER, origin)
    # A gitlink, a link: the kind of the entry does not matter.
    link = _tree(kit, (LINK, b".git", kit.blob(b"name")), (FILE, b"name", kit.blob()))
    honest = _tree(kit, (LINK, b"link", kit.blob(b"name")), (FILE, b"name", kit.blob()))
    yield good("name-of-a-link", honest, "PF2")
    yield bad("name-of-a-link-dotgit", link, "hasDotgit", "name-of-a-link", "PF2, case 50")
    notes = ("gitlinkEntry", "gitlinkWithoutEntry")
    yield bad(
        "name-of-a-submodule-dotgit",
        _tree(kit, (SUB, b".git", kit.absent)),
        "hasDotgit",
        "tree-of-a-submodule",
        "PF2, case 50",
        notes=notes,
    )


def _hfs(kit: Kit) -> Iterator[Case]:
    for point in _IGNORED:
        raw = f".g{chr(point)}it".encode()
        file = _file(kit, raw)
        origin = "PF3, A12, CVE-2014-9390, case 50"
        name = f"name-dotgit-with-u-{point:04x}"
        both = point == 0x200C
        yield bad(name, file, "hasDotgit", PLAIN, origin, also="deceptiveName", both=both)
    several = "\u200c.\u200dG\ufeffI\u206fT\u202e".encode()
    name = "name-dotgit-with-five-ignored"
    file = _file(kit, several)
    yield bad(name, file, "hasDotgit", PLAIN, "PF3, CVE-2014-9390", also="deceptiveName")


def _ntfs(kit: Kit) -> Iterator[Case]:
    table = {
        "git-tilde-1": (b"git~1", "PF4, A12, CVE-2014-9390, CVE-2020-12279, CVE-2026-42305", ""),
        "git-tilde-1-in-capitals": (b"GIT~1", "PF4, CVE-2019-1353, CVE-2026-42305", ""),
        "git-tilde-1-and-a-dot": (b"git~1.", "PF4, CVE-2019-1353", "forbidden"),
        "dotgit-and-a-dot": (b".git.", "PF4, case 50", "forbidden"),
        "dotgit-and-a-space": (b".git ", "PF4, case 50", "forbidden"),
        "dotgit-and-dots-and-spaces": (b".git. . ...", "PF4, case 50", "forbidden"),
        "dotgit-and-200-spaces": (b".git" + b" " * 200, "PF4, CVE-2018-11233", "forbidden"),
        "dotgit-as-a-stream": (
            b".git::$INDEX_ALLOCATION",
            "PF4, A12, CVE-2019-1352, CVE-2020-12278, CVE-2026-77355, case 50",
            "forbidden",
        ),
        "dotgit-with-a-stream": (b".git:x", "PF4, CVE-2019-1352", "forbidden"),
        "git-tilde-1-as-a-stream": (b"git~1:$I30", "PF4, CVE-2019-1352", "forbidden"),
        "dotgit-before-a-backslash": (b".git\\config", "PF4, CVE-2019-1354, case 50", "forbidden"),
        "dotgit-behind-a-backslash": (b"a\\.git", "PF4, CVE-2019-1354", "forbidden"),
        "dotgit-between-backslashes": (b"a\\.git\\b", "PF4, CVE-2019-1354, case 50", "forbidden"),
        "git-tilde-1-behind-a-backslash": (b"a\\GIT~1", "PF4, CVE-2019-1354", "forbidden"),
    }
    for name, (raw, origin, also) in table.items():
        file = _file(kit, raw)
        notes = ("windowsForbiddenName",) if also else ()
        both = name in {"git-tilde-1", "dotgit-as-a-stream"}
        full = f"name-{name}"
        yield bad(full, file, "hasDotgit", PLAIN, origin, notes=notes, both=both)
    notes = ("windowsForbiddenName",)
    file = _file(kit, b"a\\..\\.git\\x")
    yield bad(
        "name-dotgit-behind-a-climbing-backslash",
        file,
        "hasDotgit",
        PLAIN,
        "PF4, CVE-2019-1354",
        also="backslashTraversal",
        notes=notes,
    )
    climbs = {"first": b"..\\x", "inside": b"a\\..\\..\\x", "last": b"a\\.."}
    for name, raw in climbs.items():
        file = _file(kit, raw)
        full = f"name-with-a-climbing-backslash-{name}"
        origin = "PF4, CVE-2019-1354, A14"
        yield bad(full, file, "backslashTraversal", PLAIN, origin, notes=notes)


def _characters(kit: Kit) -> Iterator[Case]:
    controls = {
        "a-line-end": b"a\nb",
        "a-tab": b"a\tb",
        "a-carriage-return-at-its-end": b"a\r",
        "an-escape": b"a\x1b[2Kb",
        "a-bell": b"a\x07",
        "a-del": b"a\x7fb",
        "a-c1-control": b"a\xc2\x9b2Kb",
    }
    for name, raw in controls.items():
        file = _file(kit, raw)
        origin = "PF13, A14, case 22"
        both = name == "a-line-end"
        yield bad(f"name-with-{name}", file, "controlInName", PLAIN, origin, both=both)
    points = {
        "a-right-to-left-override": 0x202E,
        "a-left-to-right-mark": 0x200E,
        "an-isolate": 0x2066,
        "a-zero-width-space": 0x200B,
        "a-zero-width-no-break-space": 0xFEFF,
        "a-word-joiner": 0x2060,
        "a-soft-hyphen": 0x00AD,
        "a-tag-letter": 0xE0041,
        "a-hangul-filler": 0x3164,
        "a-zero-width-joiner": 0x200D,
    }
    for name, point in points.items():
        file = _file(kit, f"invoice{chr(point)}fdp.exe".encode())
        both = name == "a-right-to-left-override"
        yield bad(f"name-with-{name}", file, "deceptiveName", PLAIN, "PF13", both=both)


def _aliases(kit: Kit) -> Iterator[Case]:
    modules, attributes = "gitmodulesAlias", "gitattributesAlias"
    forbidden = ("windowsForbiddenName",)
    table: dict[str, tuple[bytes, str, str, tuple[str, ...]]] = {
        "gitmodules-in-capitals": (b".GITMODULES", modules, "", ()),
        "gitmodules-as-short-name": (b"gitmod~1", modules, "", ()),
        "gitmodules-as-checksum-name": (b"gi7eba~1", modules, "", ()),
        "gitmodules-and-a-dot": (b".gitmodules.", modules, "", forbidden),
        "gitmodules-with-an-ignored-character": (
            ".gitmod\u200cules".encode(), modules, "deceptiveName", (),
        ),
        "gitmodules-behind-a-backslash": (b"a\\.gitmodules", modules, "", forbidden),
        "gitattributes-in-capitals": (b".GITATTRIBUTES", attributes, "", ()),
        "gitattributes-as-short-name": (b"gitatt~1", attributes, "", ()),
        "gitattributes-as-checksum-name": (b"gi7d29~1", attributes, "", ()),
        "gitattributes-as-a-stream": (b".gitattributes::$DATA", attributes, "", forbidden),
        "gitattributes-behind-a-backslash": (b"a\\.gitattributes", attributes, "", forbidden),
        "gitattributes-with-an-ignored-character": (
            ".git\u200dattributes".encode(), attributes, "deceptiveName", (),
        ),
    }  # fmt: skip
    for name, (raw, code, also, notes) in table.items():
        file = _file_of(kit, raw)
        origin = "PF6, PF7, CVE-2020-12279" if code == modules else "PF7"
        both = name == "gitmodules-as-short-name"
        plain = "name-plain-of-comments"
        full = f"name-{name}"
        yield bad(full, file, code, plain, origin, also=also, notes=notes, both=both)
    yield good("name-plain-of-comments", _file_of(kit, b"name"), "PF7", both=True)


def _file_of(kit: Kit, name: bytes) -> File:
    """A file that means nothing whatever it is read as."""
    return _tree(kit, (FILE, name, kit.blob(b"# nothing\n")))


def _collisions(kit: Kit) -> Iterator[Case]:
    blob = kit.blob()
    case, form, link = "caseCollision", "normalizationCollision", "symlinkDirectoryCollision"

    def two(first: str, second: str) -> File:
        return _tree(kit, (FILE, first.encode(), blob), (FILE, second.encode(), blob))

    table = {
        "a-and-capital-a": (two("A", "a"), case, "PF10, case 80"),
        "readme-in-two-cases": (two("README", "readme"), case, "PF10, case 80"),
        "umlaut-in-two-cases": (two("\u00c4", "\u00e4"), case, "PF10, case 80"),
        "kelvin-sign-and-k": (two("k", "\u212a"), case, "PF10"),
        "sharp-s-and-two-s": (two("stra\u00dfe", "strasse"), case, "PF10"),
        "composed-and-not": (two("e\u0301", "\u00e9"), form, "PF12, case 80"),
        "hangul-composed-and-not": (two("\u1112\u1161", "\ud558"), form, "PF12"),
        "ligature-and-letters": (two("fi", "\ufb01"), case, "PF10"),
    }
    for name, (file, code, origin) in table.items():
        both = name == "a-and-capital-a"
        yield bad(f"names-{name}", file, code, TWO, origin, both=both)
    file = two("a", "a\u200c")
    name = "names-that-differ-in-an-ignored-character"
    yield bad(name, file, form, TWO, "PF12, PF13", also="deceptiveName")
    yield from _links_and_folders(kit, blob, link)


def _links_and_folders(kit: Kit, blob: Obj, code: str) -> Iterator[Case]:
    sub = kit.tree((FILE, b"x", blob))
    safe = kit.blob(b"b")
    plain = "names-of-a-link-and-a-folder"

    def pair(link: str, folder: str, target: Obj = safe) -> File:
        entries = ((LINK, link.encode(), target), (DIR, folder.encode(), sub), (FILE, b"b", blob))
        return _tree(kit, *entries, more=(blob,))

    yield good(plain, pair("c", "a"), "PF11", both=True)
    table = {
        "link-and-folder-in-two-cases": ("A", "a", "PF11, CVE-2021-21300, CVE-2023-4759"),
        "folder-and-link-in-two-cases": ("a", "A", "PF11, CVE-2021-21300, CVE-2026-71556"),
        "link-and-folder-composed-and-not": ("\u00e9", "e\u0301", "PF11, PF12, CVE-2021-21300"),
    }
    for name, (link, folder, origin) in table.items():
        file = pair(link, folder)
        both = name == "link-and-folder-in-two-cases"
        yield bad(f"names-{name}", file, code, plain, origin, both=both)
    # What the exploit of CVE-2021-21300 looks like: the folder's files land in .git/hooks.
    name = "names-link-into-hooks-and-folder-in-two-cases"
    file = pair("A", "a", kit.blob(b".git/hooks"))
    origin = "PF11, PG10, CVE-2021-21300"
    yield bad(name, file, code, plain, origin, also="symlinkIntoGit")


def _repositories(kit: Kit) -> Iterator[Case]:
    """Folders that git takes for a bare repository, whose configuration may run a program."""
    blob = kit.blob(b"x")
    sub = kit.tree((FILE, b"x", blob))
    origin = "design, case 6"
    parts: dict[str, list[tuple[bytes, bytes, Obj | bytes]]] = {
        "of-folders": [(DIR, b"objects", sub), (DIR, b"refs", sub)],
        "of-files": [(FILE, b"objects", blob), (FILE, b"refs", blob)],
        "of-links": [(LINK, b"objects", blob), (DIR, b"refs", sub)],
        "elsewhere": [(FILE, b"commondir", blob)],
        "in-letters-that-fold": [
            (DIR, "object\u017f".encode(), sub), (DIR, b"refs", sub),
        ],
    }  # fmt: skip
    for name, more in parts.items():
        plain = f"name-no-repository-{name}"
        rest = [(FILE, b"config", blob), *more]
        yield good(plain, _tree(kit, (FILE, b"HEAD2", blob), *rest, more=(blob, sub)), origin)
        file = _tree(kit, (FILE, b"HEAD", blob), *rest, more=(blob, sub))
        yield bad(f"name-repository-{name}", file, "embeddedRepository", plain, origin)


def _odd(kit: Kit) -> Iterator[Case]:
    device, forbidden = "windowsDeviceName", "windowsForbiddenName"
    table = {
        "con": (b"CON", device, "PF8, GHSA-49jc"),
        "nul-with-an-extension": (b"nul.txt", device, "PF8, GHSA-49jc"),
        "com1": (b"com1", device, "PF8"),
        "con-and-spaces": (b"con .x", device, "PF8"),
        "with-a-colon": (b"a:b", forbidden, "PF9, CVE-2019-1352"),
        "with-a-drive": (b"C:", forbidden, "PF9, CVE-2019-1351"),
        "with-a-question-mark": (b"a?", forbidden, "PF9"),
        "with-angle-brackets": (b"<a>", forbidden, "PF9"),
        "with-a-dot-at-its-end": (b"a.", forbidden, "PF9"),
        "with-a-space-at-its-end": (b"a ", forbidden, "PF9"),
        "with-a-backslash": (b"a\\b", forbidden, "PF9, A14"),
        "git-tilde-2": (b"git~2", "shortNameAlias", "PF5"),
        "not-utf-8": (b"\xff\xfe", "notUtf8Name", "PF14, case 77"),
        "with-a-dash": (b"-rf", "dashName", "PF15"),
        "gitignore-as-short-name": (b"gitign~1", "dotfileAlias", "PF7"),
        "mailmap-in-capitals": (b".MAILMAP", "dotfileAlias", "PF7"),
    }
    for name, (raw, note, origin) in table.items():
        yield good(f"name-{name}", _file(kit, raw), origin, notes=(note,))
    plain = {
        "with-an-accent": "caf\u00e9".encode(),
        "with-an-emoji": "\u2764\ufe0f".encode(),
        "of-a-space-inside": b"a b",
        "gitx": b".gitx",
        "git-tilde": b"git~",
        "of-255-bytes": b"n" * 255,
    }
    for name, raw in plain.items():
        yield good(f"name-{name}", _file(kit, raw), "PF13, PF20, case 77")
