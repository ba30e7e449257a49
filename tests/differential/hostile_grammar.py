"""Packs made by hand: the grammar of commits, tags and trees. Name to git's id and writer.

All links are sound, so that nothing but the grammar is judged. Those that git accepts are next to
those that it refuses, and differ in the one thing.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.hostile_container import FILE, FOLDER, Writer, tree
from tests.differential.hostile_objects import a_file, alone, hexed
from tests.support import packs
from tests.support.packs import IDENT, PackBuilder, commit_bytes, oid_length, tag_bytes

Row = tuple[str, Writer]

LINK = b"120000"
SUBMODULE = b"160000"


# --- commits ------------------------------------------------------------------------------------


def a_commit(**parts: bytes | None) -> Writer:
    """Write a commit of an empty tree with these parts."""
    return alone("commit", lambda _c, t: commit_bytes(t, **parts))  # type: ignore[arg-type]


def _by(author: bytes) -> Writer:
    return a_commit(author=author)


def _made_by(committer: bytes) -> Writer:
    return a_commit(committer=committer)


COMMITS: dict[str, Row] = {
    "a commit without an author": ("missingAuthor", a_commit(author=None)),
    "a commit without a committer": ("missingCommitter", a_commit(committer=None)),
    "a commit with neither": ("missingAuthor", a_commit(author=None, committer=None)),
    "a commit with two authors": ("multipleAuthors", _by(IDENT + b"\nauthor " + IDENT)),
    "a commit with its committer first": (
        "missingAuthor",
        a_commit(author=None, extra=b"author " + IDENT + b"\n"),
    ),
    "a parent between author and committer": (
        "missingCommitter",
        alone("commit", lambda c, t: commit_bytes(t, author=IDENT + b"\nparent %s" % hexed(c))),
    ),
    "a header before the author": (
        "missingAuthor",
        alone("commit", lambda c, t: commit_bytes(t, [c]).replace(b"\nauthor", b"\nx y\nauthor")),
    ),
    "an author in capitals": (
        "missingAuthor",
        alone("commit", lambda _c, t: commit_bytes(t).replace(b"author", b"Author")),
    ),
    "an author behind a tab": (
        "missingAuthor",
        alone("commit", lambda _c, t: commit_bytes(t).replace(b"author ", b"author\t")),
    ),
    "NUL in a message": ("nulInCommit", a_commit(message=b"a\0b")),
    "NUL at the end of a message": ("nulInCommit", a_commit(message=b"a\n\0")),
    "NUL in a header": ("nulInHeader", a_commit(extra=b"x \0\n")),
    "NUL in the name of an author": ("nulInHeader", _by(b"A\0B <a@x> 1 +0000")),
    "headers without an end": ("unterminatedHeader", a_commit(separator=b"", message=b"x")),
    "headers that end in a carriage return": (
        "unterminatedHeader",
        a_commit(separator=b"\r", message=b""),
    ),
}

IDENTITIES: dict[str, Row] = {
    "a date with a leading zero": ("zeroPaddedDate", _by(b"A <a@x> 01 +0000")),
    "a date of two zeros": ("zeroPaddedDate", _made_by(b"A <a@x> 00 +0000")),
    "a date of zero and a tab": ("zeroPaddedDate", _by(b"A <a@x> 0\t+0000")),
    "a date that is no number": ("badDate", _by(b"A <a@x> today +0000")),
    "an empty date": ("badDate", _by(b"A <a@x>  +0000")),
    "a date in hex": ("badDate", _made_by(b"A <a@x> 1a +0000")),
    "a date with a fraction": ("badDate", _by(b"A <a@x> 1.5 +0000")),
    "a date and a tab": ("badDate", _by(b"A <a@x> 1\t+0000")),
    "a date and the end of the line": ("badDate", _by(b"A <a@x> 1700000000")),
    "no date": ("badDate", _by(b"A <a@x> ")),
    "a date past 64 bits": ("badDateOverflow", _by(b"A <a@x> 99999999999999999999 +0000")),
    "a date of 64 bits": ("badDateOverflow", _made_by(b"A <a@x> 18446744073709551615 +0000")),
    "a date of a hundred digits": ("badDateOverflow", _by(b"A <a@x> %s +0000" % (b"9" * 100))),
    "a time zone of three digits": ("badTimezone", _by(b"A <a@x> 1 +000")),
    "a time zone of five digits": ("badTimezone", _by(b"A <a@x> 1 +00000")),
    "a time zone without a sign": ("badTimezone", _made_by(b"A <a@x> 1 0000")),
    "a time zone in letters": ("badTimezone", _by(b"A <a@x> 1 UTC")),
    "a time zone and a space": ("badTimezone", _by(b"A <a@x> 1 +0000 ")),
    "a time zone and a carriage return": ("badTimezone", _by(b"A <a@x> 1 +0000\r")),
    "two spaces before a time zone": ("badTimezone", _by(b"A <a@x> 1  +0000")),
    "no time zone": ("badTimezone", _by(b"A <a@x> 1 ")),
    "an author without an e-mail address": ("missingEmail", _by(b"A 1 +0000")),
    "an empty author": ("missingEmail", _by(b"")),
    "an author without a name": ("missingNameBeforeEmail", _by(b"<a@x> 1 +0000")),
    "an e-mail address that does not end": ("badEmail", _by(b"A <a@x 1 +0000")),
    "an e-mail address in an e-mail address": ("badEmail", _made_by(b"A <a<b> 1 +0000")),
    "a name with an angle bracket": ("badName", _by(b"A>B <a@x> 1 +0000")),
    "no space before the e-mail address": ("missingSpaceBeforeEmail", _by(b"A<a@x> 1 +0000")),
    "a tab before the e-mail address": ("missingSpaceBeforeEmail", _by(b"A\t<a@x> 1 +0000")),
    "no space before the date": ("missingSpaceBeforeDate", _by(b"A <a@x>1 +0000")),
    "an e-mail address with another bracket": (
        "missingSpaceBeforeDate",
        _by(b"A <a@x>> 1 +0000"),
    ),
    "nothing behind the e-mail address": ("missingSpaceBeforeDate", _by(b"A <a@x>")),
}

ODD_COMMITS: dict[str, Writer] = {
    "the latest date that git reads": _by(b"A <a@x> 9223372036854775807 +0000"),
    "a date of zero": _by(b"A <a@x> 0 +0000"),
    "a tab and spaces before the date": _by(b"A <a@x> \t  1 +0000"),
    "a time zone that no place has": _made_by(b"A <a@x> 1 +9999"),
    "an empty e-mail address": _by(b"A <> 1 +0000"),
    "an e-mail address with a space": _by(b"A <a x> 1 +0000"),
    "an empty name": _by(b" <a@x> 1 +0000"),
    "an escape in a name": _by(b"A\x1b[1m <a@x> 1 +0000"),
    "headers that end the commit": a_commit(separator=b"", message=b""),
    "a second author behind the committer": a_commit(extra=b"author " + IDENT + b"\n"),
    "an encoding that nobody knows": a_commit(extra=b"encoding x\n"),
    "a signature of garbage": a_commit(extra=b"gpgsig garbage\n"),
    "a signature without a value": a_commit(extra=b"gpgsig\n"),
    "a merged tag of garbage": a_commit(extra=b"mergetag garbage\n"),
    "a continued line of nothing": a_commit(extra=b" x\n"),
    "a message that is not UTF-8": a_commit(message=b"\xff\xfe\n"),
    "a message of escapes": a_commit(message=b"\x1b]0;x\x07\x1b[2J\n"),
}

# --- tags ---------------------------------------------------------------------------------------


def a_tag(**parts: bytes | None) -> Writer:
    """Write a tag of a commit with these parts."""
    return alone("tag", lambda c, _t: tag_bytes(c, **parts))  # type: ignore[arg-type]


def _tagged_by(tagger: bytes) -> Writer:
    return a_tag(tagger=tagger)


def _short_tag(spare: int) -> Writer:
    """Write a tag of as many bytes as git asks for, and these more or less."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        root = pack.add("tree", b"")
        # All but the name take so many bytes, beside the id.
        begin = tag_bytes(root.oid, b"tree", b"", tagger=None, message=b"", separator=b"")
        least = oid_length(fmt) * 2 + 24
        name = b"n" * (least - len(begin) + spare)
        pack.add("tag", begin[:-1] + name + b"\n")
        return pack.build()

    return write


TAGS: dict[str, Row] = {
    "a tag without a name line": ("missingTagEntry", a_tag(name=None)),
    "a tag with its tagger before its name": (
        "missingTagEntry",
        a_tag(name=None, tagger=IDENT + b"\ntag v1"),
    ),
    "a tag that ends in its name": (
        "missingTag",
        alone("tag", lambda c, _t: b"object %s\ntype commit\ntag v1-x-y-z" % hexed(c)),
    ),
    "a tag that is a byte too short": ("tagTooShort", _short_tag(-1)),
    "NUL in the headers of a tag": ("nulInHeader", a_tag(extra=b"x \0\n")),
    "NUL in the name of a tag": ("nulInHeader", a_tag(name=b"v\0")),
    "headers of a tag without an end": ("unterminatedHeader", a_tag(separator=b"", message=b"x")),
    # git asks for the end of all headers before it asks for this one's.
    "a signature of a tag without an end": (
        "badGpgsig",
        a_tag(extra=b"gpgsig x", separator=b"", message=b""),
    ),
    "a continued line of a tag without an end": (
        "badHeaderContinuation",
        a_tag(extra=b"gpgsig x\n y", separator=b"", message=b""),
    ),
    "a tagger without an e-mail address": ("missingEmail", _tagged_by(b"A 1 +0000")),
    "an empty tagger": ("missingEmail", _tagged_by(b"")),
    "a tagger without a name": ("missingNameBeforeEmail", _tagged_by(b"<a@x> 1 +0000")),
    "a tagger with an angle bracket": ("badName", _tagged_by(b"A>B <a@x> 1 +0000")),
    "a tagger without space": ("missingSpaceBeforeEmail", _tagged_by(b"A<a@x> 1 +0000")),
    "a tagger whose address does not end": ("badEmail", _tagged_by(b"A <a@x 1 +0000")),
    "a tagger without space before the date": (
        "missingSpaceBeforeDate",
        _tagged_by(b"A <a@x>1 +0000"),
    ),
    "a tagger with a date in words": ("badDate", _tagged_by(b"A <a@x> today +0000")),
    "a tagger without a date, as tags of 2005 have": ("badDate", _tagged_by(b"A <a@x> ")),
    "a tagger with a padded date": ("zeroPaddedDate", _tagged_by(b"A <a@x> 01 +0000")),
    "a tagger with a date past 64 bits": (
        "badDateOverflow",
        _tagged_by(b"A <a@x> 99999999999999999999 +0000"),
    ),
    "a tagger without a zone": ("badTimezone", _tagged_by(b"A <a@x> 1 ")),
}

WARNED_TAGS: dict[str, Row] = {
    "a tag without a tagger": ("missingTaggerEntry", a_tag(tagger=None)),
    "a tagger in capitals": ("missingTaggerEntry", a_tag(tagger=None, extra=b"Tagger x\n")),
    "a tag named like no ref": ("badTagName", a_tag(name=b"a..b")),
    "a tag without a name": ("badTagName", a_tag(name=b"")),
    "a tag with a space in its name": ("badTagName", a_tag(name=b"v 1")),
}

ODD_TAGS: dict[str, Writer] = {
    "a tag that is as short as it may be": _short_tag(0),
    "a tag with a NUL in its message": a_tag(message=b"a\0b"),
    "a tag with an unknown header": a_tag(extra=b"x y\n"),
    "a tag with a signature of garbage": a_tag(extra=b"gpgsig x\n y\n"),
    "a tag whose headers end it": a_tag(separator=b"", message=b""),
    "a tag that is named like an option": a_tag(name=b"-v"),
    "a tag that is not named like its ref": a_tag(name=b"HEAD"),
}

# --- trees --------------------------------------------------------------------------------------


def files(*entries: tuple[bytes, bytes]) -> Writer:
    """Write a tree of (mode, name) in this order; folders are empty, submodules are elsewhere."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        blob = pack.add("blob", b"x")
        targets = {FOLDER: pack.add("tree", b"").oid, SUBMODULE: b"\x11" * oid_length(fmt)}
        listed = [(mode, name, targets.get(mode.lstrip(b"0"), blob.oid)) for mode, name in entries]
        pack.add("tree", tree(*listed))
        return pack.build()

    return write


def _null(mode: bytes) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add("tree", tree((mode, b"x", bytes(oid_length(fmt)))))
        return pack.build()

    return write


TREES: dict[str, Row] = {
    "a tree out of order": ("treeNotSorted", files((FILE, b"b"), (FILE, b"a"))),
    "the last of many files out of order": (
        "treeNotSorted",
        files(*((FILE, b"%03d" % n) for n in range(300)), (FILE, b"298x")),
    ),
    "a folder sorted like a file": ("treeNotSorted", files((FOLDER, b"a"), (FILE, b"a.c"))),
    "a file sorted like a folder": ("treeNotSorted", files((FILE, b"a.c"), (FILE, b"a"))),
    "a submodule sorted like a folder": (
        "treeNotSorted",
        files((FILE, b"a.c"), (SUBMODULE, b"a")),
    ),
    "a name twice": ("duplicateEntries", files((FILE, b"a"), (FILE, b"a"))),
    "a folder twice": ("duplicateEntries", files((FOLDER, b"a"), (FOLDER, b"a"))),
    "a file and a folder of one name": ("duplicateEntries", files((FILE, b"a"), (FOLDER, b"a"))),
    "a file and a folder of one name, far apart": (
        "duplicateEntries",
        files((FILE, b"a"), (FILE, b"a+b"), (FILE, b"a-b"), (FOLDER, b"a.c"), (FOLDER, b"a")),
    ),
    "a submodule and a folder of one name": (
        "duplicateEntries",
        files((SUBMODULE, b"a"), (FOLDER, b"a")),
    ),
    "a name of one dot": ("hasDot", a_file(FILE, b".")),
    "a name of two dots": ("hasDotdot", a_file(FILE, b"..")),
    "a name with a slash": ("fullPathname", a_file(FILE, b"a/b")),
    "a name that ends in a slash": ("fullPathname", a_file(FILE, b"a/")),
    "a name that is a slash": ("fullPathname", a_file(LINK, b"/")),
    "a name of 4,097 bytes": ("largePathname", a_file(FILE, b"n" * 4_097)),
    "a mode with a leading zero": ("zeroPaddedFilemode", a_file(b"0100644")),
    "a folder with a leading zero": ("zeroPaddedFilemode", files((b"040000", b"a"))),
    "a mode with many leading zeros": ("zeroPaddedFilemode", a_file(b"0" * 30 + b"100644")),
    "a mode of zero": ("zeroPaddedFilemode", a_file(b"0")),
    "a submodule of zeros": ("nullSha1", _null(SUBMODULE)),
    "a file of zeros": ("nullSha1", _null(FILE)),
    "a folder of zeros": ("nullSha1", _null(FOLDER)),
}

DOTGIT = {
    "a folder named .git": b".git",
    "a file named .GIT": b".GIT",
    ".git with a character that HFS+ ignores": b".g\xe2\x80\x8cit",
    ".git with a byte order mark": b"\xef\xbb\xbf.git",
    "the short name of .git on Windows": b"git~1",
    "the short name in capitals": b"GIT~1",
    ".git and a space": b".git ",
    ".git and dots": b".git...",
    ".git and a stream of NTFS": b".git::$INDEX_ALLOCATION",
    ".git before a backslash": b".git\\hooks",
    ".git behind a backslash": b"a\\.git",
    "the short name between backslashes": b"a\\git~1\\b",
}
TREES |= {what: ("hasDotgit", files((FOLDER, name))) for what, name in DOTGIT.items()}

ODD_MODES = {
    "mode 100664": b"100664",
    "mode 100600": b"100600",
    "mode 104755": b"104755",
    "mode 120777": b"120777",
    "mode 644, which git reads as a submodule": b"644",
    "mode 777777": b"777777",
    "a mode that wraps around 32 bits (case 46)": b"37777777777100664",
    "a mode of one digit": b"1",
}
WARNED_TREES: dict[str, Row] = {
    what: ("badFilemode", a_file(mode)) for what, mode in ODD_MODES.items()
}
WARNED_TREES |= {
    ".gitattributes as a symbolic link": ("gitattributesSymlink", a_file(LINK, b".gitattributes")),
    ".gitignore as a symbolic link": ("gitignoreSymlink", a_file(LINK, b".gitignore")),
    ".mailmap as a symbolic link": ("mailmapSymlink", a_file(LINK, b".mailmap")),
    "the short name of .gitignore as a symbolic link": (
        "gitignoreSymlink",
        a_file(LINK, b"gitign~1"),
    ),
}

ODD_TREES: dict[str, Writer] = {
    "files and folders in git's order": files(
        (FILE, b"a"), (FILE, b"a.c"), (FOLDER, b"a.d"), (FILE, b"a0"), (SUBMODULE, b"a1")
    ),
    "a mode that wraps to that of a file": a_file(b"37777777777100644"),
    "a name that is not UTF-8": a_file(FILE, b"\xff\xfe"),
    "a name with a line end": a_file(FILE, b"a\nb"),
    "a name with a space in front": a_file(FILE, b" x"),
    "a name of 3,000 bytes": a_file(FILE, b"n" * 3_000),
    "a name of 4,096 bytes": a_file(FILE, b"n" * 4_096),
    "a name of three dots": a_file(FILE, b"..."),
    "a name that climbs by backslashes": a_file(FILE, b"..\\..\\x"),
    "another short name on Windows": a_file(FILE, b"git~2"),
    "a name before .git": a_file(FILE, b".gi"),
    "a name behind .git": a_file(FILE, b".gitx"),
    "names that differ in case": files((FILE, b"A"), (FILE, b"a")),
    "a link and a folder that differ in case": files((LINK, b"A"), (FOLDER, b"a")),
    "a device of Windows": a_file(FILE, b"CON"),
    "a name like an option": a_file(FILE, b"-rf"),
    "a bare repository among the files": files(
        (FILE, b"HEAD"), (FOLDER, b"objects"), (FOLDER, b"refs")
    ),
    "a symbolic link into .git": alone("blob", lambda _c, _t: b".git/hooks"),
}

# --- special files ------------------------------------------------------------------------------


def special(
    name: bytes, text: bytes, mode: bytes = FILE, *, tree_first: bool = False, folders: int = 0
) -> Writer:
    """Write a file of this name and text, with a tree for it, some folders below the root."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        blob = packs.outside("blob", text, fmt)
        holder = tree((mode, name, blob.oid))
        listed = [("blob", text), ("tree", holder)]
        for kind, data in reversed(listed) if tree_first else listed:
            pack.add(kind, data)
        last = packs.oid("tree", holder, fmt)
        for _ in range(folders):
            last = pack.add("tree", tree((FOLDER, b"d", last))).oid
        return pack.build()

    return write


def _holds(name: bytes, mode: bytes) -> Writer:
    return files((mode, name))


MODULES = b".gitmodules"
ATTRIBUTES = b".gitattributes"
GOOD = b'[submodule "x"]\n\tpath = a\n\turl = https://example.com/b\n'
CLIMBS = GOOD.replace(b'"x"', b'"../../x"')


def _with(line: bytes) -> bytes:
    return b'[submodule "x"]\n\tpath = a\n\turl = b\n\t%s\n' % line


SPECIAL: dict[str, Row] = {
    "a submodule name that climbs": ("gitmodulesName", special(MODULES, CLIMBS)),
    "a submodule name that climbs, tree first": (
        "gitmodulesName",
        special(MODULES, CLIMBS, tree_first=True),
    ),
    "a submodule name that climbs, deep down": (
        "gitmodulesName",
        special(MODULES, CLIMBS, folders=3),
    ),
    "a submodule name that climbs, in an executable": (
        "gitmodulesName",
        special(MODULES, CLIMBS, b"100755"),
    ),
    "a submodule without a name": ("gitmodulesName", special(MODULES, b'[submodule ""]\na = b\n')),
    "a submodule named by dots": ("gitmodulesName", special(MODULES, b'[submodule ".."]\na=b\n')),
    "a submodule path that is an option": ("gitmodulesPath", special(MODULES, _with(b"path = -a"))),
    "a submodule URL that is an option": ("gitmodulesUrl", special(MODULES, _with(b"url = -b"))),
    "a submodule URL with a line feed": (
        "gitmodulesUrl",
        special(MODULES, _with(b"url = https://example.com/%0ahost=x")),
    ),
    "a submodule URL without a host": (
        "gitmodulesUrl",
        special(MODULES, _with(b"url = https:///example.com/x")),
    ),
    "a submodule that runs a command": (
        "gitmodulesUpdate",
        special(MODULES, _with(b"update = !c")),
    ),
    "a fault behind a command": (
        "gitmodulesUpdate",
        special(MODULES, _with(b"update = !c") + b"]"),
    ),
    ".gitmodules in the spelling of HFS+": (
        "gitmodulesName",
        special(b".gitmod\xe2\x80\x8cules", CLIMBS),
    ),
    ".gitmodules by its short name": ("gitmodulesName", special(b"GITMOD~1", CLIMBS)),
    ".gitmodules behind a backslash": ("gitmodulesName", special(b"a\\.gitmodules", CLIMBS)),
    ".gitmodules as a symbolic link": ("gitmodulesSymlink", a_file(LINK, MODULES)),
    "the short name of .gitmodules as a symbolic link": (
        "gitmodulesSymlink",
        a_file(LINK, b"gi7eba~1"),
    ),
    ".gitmodules as a folder": ("gitmodulesBlob", _holds(MODULES, FOLDER)),
    ".gitmodules as a submodule": ("gitmodulesMissing", _holds(MODULES, SUBMODULE)),
    ".gitattributes as a folder": ("gitattributesBlob", _holds(ATTRIBUTES, FOLDER)),
    ".gitattributes as a submodule": ("gitattributesMissing", _holds(ATTRIBUTES, SUBMODULE)),
    "an attribute line of 2,048 bytes": (
        "gitattributesLineLength",
        special(ATTRIBUTES, b"* text\n" + b"a" * 2_048),
    ),
    "an attribute line of 2,048 bytes, tree first": (
        "gitattributesLineLength",
        special(ATTRIBUTES, b"a" * 2_048 + b"\n", tree_first=True, folders=1),
    ),
}

WARNED_SPECIAL: dict[str, Row] = {
    "a .gitmodules that cannot be parsed": ("gitmodulesParse", special(MODULES, GOOD + b"]")),
    "a .gitmodules that cannot be parsed, tree first": (
        "gitmodulesParse",
        special(MODULES, b"[submodule", tree_first=True),
    ),
}

ODD_SPECIAL: dict[str, Writer] = {
    "an honest .gitmodules": special(MODULES, GOOD),
    "an empty .gitmodules": special(MODULES, b""),
    "a submodule named by three dots": special(MODULES, b'[submodule "..."]\na = b\n'),
    "a submodule that is merged": special(MODULES, _with(b"update = merge")),
    "a submodule path that climbs": special(MODULES, _with(b"path = ../a")),
    "a submodule path into .git": special(MODULES, _with(b"path = .git/hooks")),
    "a submodule URL that runs a helper": special(MODULES, _with(b'url = "ext::sh -c x"')),
    "a .gitmodules that is hostile under another name": special(b".gitmodule", CLIMBS),
    "an attribute line of 2,047 bytes": special(ATTRIBUTES, b"a" * 2_047 + b"\n"),
    "an attribute line that a NUL ends": special(ATTRIBUTES, b"a" * 2_000 + b"\0" + b"a" * 2_000),
    "attributes that run a filter": special(ATTRIBUTES, b"* filter=x merge=y diff=z\n"),
}

# Refused by git for grammar, each with the id for which we refuse it.
GRAMMAR: dict[str, Row] = COMMITS | IDENTITIES | TAGS | TREES | SPECIAL
# Accepted by git, which warns of this id.
WARNED: dict[str, Row] = WARNED_TAGS | WARNED_TREES | WARNED_SPECIAL
# Accepted by git without a word.
ODD_GRAMMAR: dict[str, Callable[[str], bytes]] = ODD_COMMITS | ODD_TAGS | ODD_TREES | ODD_SPECIAL
