"""The file .gitmodules: names, paths, URLs and commands of submodules."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import DIR, EXE, FILE, LINK, SUB, File, Kit, Obj

__all__ = ["cases"]

PLAIN = "gitmodules-plain"
TWO = "gitmodules-of-two"
NOTES = ("gitlinkEntry",)
URL = b"https://example.com/sub.git"


def _text(
    name: bytes = b'"sub"', path: bytes = b"sub", url: bytes = URL, more: bytes = b""
) -> bytes:
    return b"[submodule %s]\n\tpath = %s\n\turl = %s\n%s" % (name, path, url, more)


def _file(kit: Kit, text: bytes, *, paths: tuple[bytes, ...] = (b"sub",)) -> File:
    """A commit with this .gitmodules and submodules."""
    modules = kit.blob(text)
    root = kit.tree((FILE, b".gitmodules", modules), *((SUB, p, kit.absent) for p in paths))
    return kit.packed(modules, root, kit.commit(root))


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    yield good(PLAIN, _file(kit, _text()), "PG3, PG4, PG5", notes=NOTES, both=True)
    two = _text() + _text(b'"other"', b"other")
    file = _file(kit, two, paths=(b"other", b"sub"))
    yield good(TWO, file, "PG12", notes=NOTES, both=True)
    for make in (_names, _paths, _urls, _others, _pairs, _forms, _parts, _orders):
        yield from make(kit)


def _names(kit: Kit) -> Iterator[Case]:
    code, unsafe = "gitmodulesName", "gitmodulesUnsafeName"
    climbs = "PG3, CVE-2018-11235, case 25"
    table = {
        "that-climbs": (b'"../../x"', code, climbs, ""),
        "that-climbs-inside": (b'"a/../../x"', code, climbs, ""),
        "that-ends-in-two-dots": (b'"a/.."', code, climbs, ""),
        "that-climbs-with-backslashes": (b'"..\\\\..\\\\x"', code, climbs, ""),
        "that-is-empty": (b'""', code, "PG3", ""),
        "that-climbs-where-spaces-are-dropped": (b'".. /.. /hooks"', unsafe, "PG3", ""),
        "that-climbs-into-hooks": (b'"../../.git/hooks"', code, climbs, unsafe),
        "that-is-absolute": (b'"/etc"', unsafe, "PG3", ""),
        "with-a-drive": (b'"C:x"', unsafe, "PG3, CVE-2019-1351", ""),
        "with-dotgit": (b'"a/.git/b"', unsafe, "PG3, CVE-2026-42563", ""),
        "with-git-tilde-1": (b'"a/git~1"', unsafe, "PG3, CVE-2019-1353", ""),
        "with-an-escape": (b'"a\x1b[2K"', unsafe, "PG3, PF13", ""),
        "with-a-carriage-return": (b'"sub\r"', unsafe, "PG3, CVE-2025-48384", ""),
    }
    for name, (raw, found, origin, also) in table.items():
        file = _file(kit, _text(raw))
        both = name == "that-climbs"
        full = f"gitmodules-name-{name}"
        yield bad(full, file, found, PLAIN, origin, also=also, notes=NOTES, both=both)


def _paths(kit: Kit) -> Iterator[Case]:
    code, unsafe = "gitmodulesPath", "gitmodulesUnsafePath"
    table = {
        "that-begins-with-a-dash": (b"-sub", code, "PG4, CVE-2018-17456"),
        "that-is-an-option": (b"--upload-pack=x", code, "PG4, CVE-2018-17456"),
        "that-ends-in-a-carriage-return": (b'"sub\r"', unsafe, "PG6, CVE-2025-48384, case 25"),
        "with-a-line-end": (b'"s\\nb"', unsafe, "PG6, case 25"),
        "with-an-escape": (b"s\x1b[2K", unsafe, "PG6, PF13"),
        "that-is-absolute": (b"/abs", unsafe, "PG3, case 25, werf#7736"),
        "that-climbs": (b"../x", unsafe, "PG3, case 25, werf#7736"),
        "that-climbs-inside": (b"a/../../x", unsafe, "PG3, case 25"),
        "into-hooks": (b".git/hooks", unsafe, "PG3, GHSA-gfhv, CVE-2026-47712, case 25"),
        "into-git-in-capitals": (b"a/.GIT", unsafe, "PG3, GHSA-gfhv, CVE-2014-9390"),
        "into-git-tilde-1": (b"git~1/x", unsafe, "PG3, CVE-2026-42563, CVE-2019-1353"),
        "on-a-drive": (b"C:/x", unsafe, "PG3, CVE-2019-1351"),
        "on-a-drive-of-a-digit": (b"1:/x", unsafe, "PG3, CVE-2019-1351"),
        "that-is-empty": (b"", unsafe, "PG3"),
        "that-is-the-repository": (b".", unsafe, "PG3"),
    }
    for name, (raw, found, origin) in table.items():
        file = _file(kit, _text(path=raw))
        notes = (*NOTES, "gitlinkWithoutEntry")
        both = name == "that-ends-in-a-carriage-return"
        full = f"gitmodules-path-{name}"
        yield bad(full, file, found, PLAIN, origin, notes=notes, both=both)


def _urls(kit: Kit) -> Iterator[Case]:
    code, unsafe = "gitmodulesUrl", "gitmodulesUnsafeUrl"
    credential = "PG4, CVE-2020-5260, CVE-2020-11008"
    long = b"https://example.com/" + b"a" * 1100
    table = {
        "that-begins-with-a-dash": (b"-x", code, "PG4, CVE-2018-17456", ""),
        "that-is-an-option": (b"--upload-pack=x", code, "PG4, CVE-2018-17456", ""),
        "with-an-encoded-line-end": (b"https://example.com/%0ahost=x", code, credential, unsafe),
        "with-a-line-end": (b'"https://example.com/\\nhost=x"', code, credential, unsafe),
        "without-a-host": (b"https:///x", code, "PG4, CVE-2020-11008", ""),
        "with-a-colon-for-a-host": (b"http::x", code, "PG4, CVE-2020-11008", ""),
        "that-climbs-to-a-host": (b"../../../:x", code, "PG4, CVE-2020-11008", ""),
        "with-an-option-for-ssh": (b"ssh://-oProxyCommand=x/y", unsafe,
                                   "PG4, CVE-2017-1000117, CVE-2026-45571", ""),
        "with-an-option-for-scp": (b"-oProxyCommand=x:y", code,
                                   "PG4, CVE-2017-1000117", unsafe),
        "with-an-option-behind-a-user": (b"ssh://a@-oProxyCommand=x/y", unsafe,
                                         "PG4, CVE-2017-1000117", ""),
        "with-a-helper-program": (b"ext::sh -c x", unsafe, "PG4", ""),
        "with-a-descriptor": (b"fd::17", unsafe, "PG4", ""),
        "with-an-escape": (b"https://example.com/\x1b[2K", unsafe, "PG4, CVE-2024-50349", ""),
        "with-a-carriage-return": (b'"https://example.com\r/x"', code,
                                   "PG4, CVE-2024-52006", unsafe),
        "with-an-encoded-carriage-return": (b"https://example.com/%0dx", unsafe,
                                            "PG4, CVE-2024-52006", ""),
        "with-an-override": ("https://example.com/\u202ex".encode(), unsafe, "PG4", ""),
        "with-a-backslash": (b"https://example.com\\\\@x/y", unsafe, "PG4, CVE-2019-1350", ""),
        "with-a-backslash-for-ssh": (b"ssh://example.com/a\\\\", unsafe,
                                     "PG4, CVE-2019-1350", ""),
        "of-1120-bytes": (long, unsafe, "PG4, CVE-2023-29007", ""),
    }  # fmt: skip
    for name, (raw, found, origin, also) in table.items():
        file = _file(kit, _text(url=raw))
        both = name == "that-begins-with-a-dash"
        differs = "git checks hosts since 2.44" if name == "with-a-carriage-return" else ""
        yield bad(
            f"gitmodules-url-{name}", file, found, PLAIN, origin, also=also, notes=NOTES,
            both=both, parity=differs,
        )  # fmt: skip
    plain = {"relative": b"../other.git", "of-ssh": b"git@example.com:x.git", "local": b"/srv/x"}
    for name, raw in plain.items():
        yield good(f"gitmodules-url-{name}", _file(kit, _text(url=raw)), "PG4", notes=NOTES)


def _others(kit: Kit) -> Iterator[Case]:
    updates = {"a-command": b"!sh -c x", "a-command-alone": b"!"}
    for name, raw in updates.items():
        file = _file(kit, _text(more=b"\tupdate = " + raw + b"\n"))
        origin = "PG5, CVE-2019-19604, case 25"
        full = f"gitmodules-update-{name}"
        both = name == "a-command"
        plain = "gitmodules-update-checkout"
        yield bad(full, file, "gitmodulesUpdate", plain, origin, notes=NOTES, both=both)
    file = _file(kit, _text(more=b"\tupdate = checkout\n"))
    yield good("gitmodules-update-checkout", file, "PG5", notes=NOTES, both=True)


def _pairs(kit: Kit) -> Iterator[Case]:
    twice, nested = "gitmodulesDuplicate", "gitmodulesNestedNames"
    same_path = _text() + _text(b'"other"', b"sub")
    file = _file(kit, same_path)
    name = "gitmodules-two-of-one-path"
    yield bad(name, file, twice, TWO, "PG12, CVE-2019-1349", notes=NOTES, both=True)
    case = _text() + _text(b'"other"', b"SUB")
    name = "gitmodules-two-paths-in-two-cases"
    yield bad(name, _file(kit, case), twice, TWO, "PG12, CVE-2019-1349", notes=NOTES)
    again = _text(more=b"\turl = https://example.com/other.git\n")
    name = "gitmodules-two-urls"
    yield bad(name, _file(kit, again), twice, PLAIN, "PG12", notes=NOTES)
    inside = _text() + _text(b'"sub/modules/x"', b"other")
    file = _file(kit, inside, paths=(b"other", b"sub"))
    name = "gitmodules-name-inside-a-name"
    yield bad(name, file, nested, TWO, "PG3, CVE-2019-1387", notes=NOTES, both=True)
    hooks = _text() + _text(b'"sub/hooks"', b"other")
    file = _file(kit, hooks, paths=(b"other", b"sub"))
    name = "gitmodules-name-that-is-hooks-of-another"
    yield bad(name, file, nested, TWO, "PG3, CVE-2019-1387", notes=NOTES)
    cased = _text() + _text(b'"SUB"', b"other")
    file = _file(kit, cased, paths=(b"other", b"sub"))
    name = "gitmodules-names-in-two-cases"
    yield bad(name, file, nested, TWO, "PG3, CVE-2019-1387, PF10", notes=NOTES)


def _forms(kit: Kit) -> Iterator[Case]:
    code = "gitmodulesParse"
    table = {
        "without-an-end-of-its-header": b'[submodule "sub"\n',
        "with-a-quote-that-does-not-end": _text(path=b'"sub'),
        "with-an-unknown-escape": _text(path=b"s\\qub"),
        "with-a-key-that-is-no-word": b"[core]\n\t!x = y\n",
    }
    for name, text in table.items():
        file = _file(kit, text)
        notes = (*NOTES, "gitlinkWithoutEntry")
        if b"url" in text:
            notes = (*NOTES, "gitlinkWithoutEntry")
        full = f"gitmodules-{name}"
        yield bad(full, file, code, PLAIN, "PG7, case 25", notes=notes)
    late = _text() + b"[\n" + _text(b'"../../x"', b"other")
    name = "gitmodules-bad-name-behind-a-fault"
    yield bad(name, _file(kit, late), code, PLAIN, "PG7, CVE-2018-11235", notes=NOTES)
    hidden = _text() + b"\xff" + _text(b'"../../x"', b"other")
    name = "gitmodules-bad-name-behind-byte-ff"
    yield bad(name, _file(kit, hidden), code, PLAIN, "PG7, CVE-2018-11235",
              also="gitmodulesName", notes=NOTES,
              parity="git's check ends at the byte, on most processors")  # fmt: skip
    crlf = _text().replace(b"\n", b"\r\n")
    yield good("gitmodules-with-dos-line-ends", _file(kit, crlf), "PG6", notes=NOTES)
    empty = _file(kit, b"", paths=())
    yield good("gitmodules-empty", empty, "PG7")


def _parts(kit: Kit) -> Iterator[Case]:
    """What lies at the name .gitmodules, and at the paths that it has."""
    blob = kit.blob()
    sub = kit.tree((FILE, b"x", blob))
    root = kit.tree((DIR, b".gitmodules", sub))
    file = kit.packed(blob, sub, root, kit.commit(root))
    yield bad("gitmodules-is-a-folder", file, "gitmodulesBlob", "name-of-a-folder", "PG7, case 52")
    root = kit.tree((SUB, b".gitmodules", kit.absent))
    file = kit.packed(root, kit.commit(root))
    name = "gitmodules-is-a-submodule"
    plain = "tree-of-a-submodule"
    yield bad(name, file, "gitmodulesMissing", plain, "PG7, CVE-2018-11235", notes=NOTES)
    modules = kit.blob(_text())
    conflict = "submodulePathConflict"
    link = kit.blob(b"other")
    table: dict[str, tuple[tuple[bytes, bytes, Obj | bytes], ...]] = {
        "a-link": ((LINK, b"sub", link),),
        "a-file": ((FILE, b"sub", blob),),
    }
    for name, entries in table.items():
        root = kit.tree((FILE, b".gitmodules", modules), *entries)
        file = kit.packed(modules, link, blob, root, kit.commit(root))
        origin = "PG12, CVE-2025-48384, CVE-2024-32002"
        full = f"gitmodules-path-that-is-{name}"
        yield bad(full, file, conflict, PLAIN, origin)
    for name, path in {
        "gitmodules-path-through-a-link": b"link/sub",
        "gitmodules-path-through-a-link-with-a-dot": b"./link/sub",
        "gitmodules-path-through-a-link-in-capitals": b"LINK/sub",
    }.items():
        through = kit.blob(_text(path=path))
        root = kit.tree((FILE, b".gitmodules", through), (LINK, b"link", link))
        file = kit.packed(through, link, root, kit.commit(root))
        yield bad(name, file, conflict, PLAIN, "PG12, CVE-2024-32002, CVE-2026-105437")
    yield from _exploits(kit, blob)
    program = kit.tree((EXE, b".gitmodules", modules), (SUB, b"sub", kit.absent))
    file = kit.packed(modules, program, kit.commit(program))
    yield good("gitmodules-as-a-program", file, "PG7", notes=NOTES)


def _exploits(kit: Kit, blob: Obj) -> Iterator[Case]:
    """The whole shape of an exploit, of which each part is refused for itself."""
    hook = kit.tree((EXE, b"post-checkout", blob))
    hooks = kit.tree((DIR, b"hooks", hook))
    link = kit.blob(b".git")
    modules = kit.blob(_text(b'"x/y"', b"A/modules/x"))
    folder = kit.tree((SUB, b"x", kit.absent))
    inner = kit.tree((DIR, b"modules", folder))
    root = kit.tree((FILE, b".gitmodules", modules), (DIR, b"A", inner), (LINK, b"a", link))
    file = kit.packed(link, modules, folder, inner, root, kit.commit(root))
    yield bad(
        "gitmodules-exploit-of-cve-2024-32002",
        file,
        "symlinkDirectoryCollision",
        PLAIN,
        "CVE-2024-32002, PF11, PG10, PG12",
        also="symlinkIntoGit",
        notes=NOTES,
    )
    modules = kit.blob(_text(b'"../../modules/evil"', b"evil"))
    root = kit.tree(
        (FILE, b".gitmodules", modules), (SUB, b"evil", kit.absent), (DIR, b"modules", hooks)
    )
    file = kit.packed(blob, hook, hooks, modules, root, kit.commit(root))
    name = "gitmodules-exploit-of-cve-2018-11235"
    yield bad(name, file, "gitmodulesName", PLAIN, "CVE-2018-11235, PG3, case 3, case 4",
              notes=NOTES)  # fmt: skip
    modules = kit.blob(_text(path=b'"sub\r"'))
    target = kit.blob(b".git/modules/sub/hooks")
    root = kit.tree(
        (FILE, b".gitmodules", modules), (LINK, b"sub", target), (SUB, b"sub\r", kit.absent)
    )
    file = kit.packed(modules, target, root, kit.commit(root))
    yield bad(
        "gitmodules-exploit-of-cve-2025-48384",
        file,
        "gitmodulesUnsafePath",
        PLAIN,
        "CVE-2025-48384, PG6, PG10",
        also="controlInName symlinkIntoGit",
        notes=NOTES,
    )


def _orders(kit: Kit) -> Iterator[Case]:
    """The order in which the blob and its tree come changes nothing, and it must be there."""
    evil = kit.blob(_text(b'"../../x"'))
    root = kit.tree((FILE, b".gitmodules", evil), (SUB, b"sub", kit.absent))
    commit = kit.commit(root)
    origin = "PG3, case 4, case 5, git install-before-fsck"
    for name, items in (("first", (evil, root, commit)), ("last", (commit, root, evil))):
        file = kit.packed(*items)
        full = f"gitmodules-bad-blob-{name}"
        yield bad(full, file, "gitmodulesName", PLAIN, origin, notes=NOTES)
    file = kit.packed(root, commit)
    name = "gitmodules-not-there"
    yield bad(name, file, "absentObject", PLAIN, "PG7, case 5", also="gitmodulesMissing",
              notes=NOTES)  # fmt: skip
    deep = kit.tree((DIR, b"dir", root))
    top = kit.commit(deep)
    file = kit.packed(evil, root, deep, top)
    name = "gitmodules-in-a-folder"
    yield bad(name, file, "gitmodulesName", PLAIN, "PG3, case 4",
              notes=(*NOTES, "gitlinkWithoutEntry"))  # fmt: skip
