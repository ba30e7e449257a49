"""Packs made by hand to be refused, and odd ones that must not be: name to writer, by subject.

A writer takes the name of an object format and returns the pack.
"""

from __future__ import annotations

from tests.differential.hostile_container import CONTAINER, ENTRIES, FILE, ODD_ENTRIES, Writer, tree
from tests.differential.hostile_deltas import DELTAS, DUPLICATES, ODD_DELTAS
from tests.differential.hostile_objects import (
    MALFORMED,
    MISMATCHES,
    MISSING,
    ODD_OBJECTS,
    a_file,
    alone,
)
from tests.support import packs
from tests.support.packs import (
    PackBuilder,
    commit_bytes,
    tag_bytes,
)

# --- what the next issue brings -----------------------------------------------------------------


def _commit_with(**lie: bytes | None) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        root = pack.add("tree", b"")
        pack.add("commit", commit_bytes(root.oid, **lie))  # type: ignore[arg-type]
        return pack.build()

    return write


def _by(author: bytes) -> Writer:
    return _commit_with(author=author)


def _files(*entries: tuple[bytes, bytes]) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        blob = pack.add("blob", b"x")
        pack.add("tree", tree(*((mode, name, blob.oid) for mode, name in entries)))
        return pack.build()

    return write


def _null_submodule(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    pack.add("tree", tree((b"160000", b"sub", bytes(packs.oid_length(fmt)))))
    return pack.build()


def _gitmodules(text: bytes, mode: bytes = FILE) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        blob = pack.add("blob", text)
        pack.add("tree", tree((mode, b".gitmodules", blob.oid)))
        return pack.build()

    return write


# Refused by git for the grammar of objects alone, each with git's id. Accepted here so far: a case
# that packparse has learned to refuse moves to REFUSED.
NEXT_ISSUE: dict[str, tuple[str, Writer]] = {
    "a commit without an author": ("missingAuthor", _commit_with(author=None)),
    "a commit without a committer": ("missingCommitter", _commit_with(committer=None)),
    "a commit with two authors": (
        "multipleAuthors",
        alone(
            "commit", lambda _c, t: commit_bytes(t, author=packs.IDENT + b"\nauthor " + packs.IDENT)
        ),
    ),
    "a date with a leading zero": ("zeroPaddedDate", _by(b"A <a@x> 01 +0000")),
    "a date that is no number": ("badDate", _by(b"A <a@x> today +0000")),
    "a date past 64 bits": ("badDateOverflow", _by(b"A <a@x> 99999999999999999999 +0000")),
    "a time zone of three digits": ("badTimezone", _by(b"A <a@x> 1 +000")),
    "an author without an e-mail address": ("missingEmail", _by(b"A 1 +0000")),
    "an author without a name": ("missingNameBeforeEmail", _by(b"<a@x> 1 +0000")),
    "an e-mail address that does not end": ("badEmail", _by(b"A <a@x 1 +0000")),
    "a name with an angle bracket": ("badName", _by(b"A>B <a@x> 1 +0000")),
    "no space before the e-mail address": ("missingSpaceBeforeEmail", _by(b"A<a@x> 1 +0000")),
    "no space before the date": ("missingSpaceBeforeDate", _by(b"A <a@x>1 +0000")),
    "NUL in a message": ("nulInCommit", _commit_with(message=b"a\0b")),
    "NUL in a header": ("nulInHeader", _commit_with(extra=b"x \0\n")),
    "headers without an end": ("unterminatedHeader", _commit_with(separator=b"", message=b"x")),
    "a tag without a name line": (
        "invalid tag",
        alone("tag", lambda c, _t: tag_bytes(c, name=None)),
    ),
    "a tree out of order": ("treeNotSorted", _files((FILE, b"b"), (FILE, b"a"))),
    "a name twice": ("duplicateEntries", _files((FILE, b"a"), (FILE, b"a"))),
    "a folder named .git": ("hasDotgit", a_file(FILE, b".git")),
    "a folder named .git in Windows' spelling": ("hasDotgit", a_file(FILE, b"git~1")),
    "a name of one dot": ("hasDot", a_file(FILE, b".")),
    "a name of two dots": ("hasDotdot", a_file(FILE, b"..")),
    "a name with a slash": ("fullPathname", a_file(FILE, b"a/b")),
    "a mode with a leading zero": ("zeroPaddedFilemode", a_file(b"0100644")),
    "a submodule of zeros": ("nullSha1", _null_submodule),
    "a submodule name that climbs": (
        "gitmodulesName",
        _gitmodules(b'[submodule "../../x"]\n\tpath = a\n\turl = b\n'),
    ),
    "a submodule path that is an option": (
        "gitmodulesPath",
        _gitmodules(b'[submodule "x"]\n\tpath = -a\n\turl = b\n'),
    ),
    "a submodule URL that is an option": (
        "gitmodulesUrl",
        _gitmodules(b'[submodule "x"]\n\tpath = a\n\turl = -b\n'),
    ),
    "a submodule that runs a command": (
        "gitmodulesUpdate",
        _gitmodules(b'[submodule "x"]\n\tpath = a\n\turl = b\n\tupdate = !c\n'),
    ),
    ".gitmodules as a symbolic link": ("gitmodulesSymlink", _gitmodules(b"target", b"120000")),
}

# Refused by git for its container, streams, deltas, duplicates or links.
REFUSED: dict[str, Writer] = {
    **CONTAINER,
    **ENTRIES,
    **DELTAS,
    **DUPLICATES,
    **MISSING,
    **MISMATCHES,
    **MALFORMED,
}

# Odd, and accepted by git.
ACCEPTED: dict[str, Writer] = {**ODD_ENTRIES, **ODD_DELTAS, **ODD_OBJECTS}
