"""What is odd about a tree: modes, names, order, duplicates, collisions, ids of zeros.

Source: fsck_tree in git's fsck.c, which works on the mode in 16 bits, and the rules for names in
paths.py. This is the slow and exact reading; tree.py tells which trees need it.
"""

from __future__ import annotations

import re

from packparse import checks, late, modes, pathcodes, paths
from packparse.escape import shorten
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from packparse.limits import Limits

    # Mode as git reads it, name, raw id.
    _Entry = tuple[int, bytes, bytes]

__all__ = ["STANDARD_MODES", "entry_oddities", "oddities"]

# Codes of names behind which the content matters as much as the name.
_BY_CONTENT = frozenset(
    (
        pathcodes.BACKSLASH_TRAVERSAL,
        pathcodes.FULL_PATHNAME,
        pathcodes.GITATTRIBUTES_ALIAS,
        pathcodes.GITATTRIBUTES_SYMLINK,
        pathcodes.GITIGNORE_SYMLINK,
        pathcodes.GITMODULES_ALIAS,
        pathcodes.GITMODULES_SYMLINK,
        pathcodes.HAS_DOT,
        pathcodes.HAS_DOTDOT,
        pathcodes.HAS_DOTGIT,
        pathcodes.MAILMAP_SYMLINK,
    )
)
# Of a bare repository: what decides what git does there, and the longest of these names, folded or
# not.
_DECIDING = (b"head", b"config", b"commondir", b"objects", b"refs")
_LONGEST_PART = 64
# Kinds of which the same holds for every name.
_BY_KIND = frozenset((modes.LINK, modes.SUBMODULE))
STANDARD_MODES = frozenset((0o100644, 0o100755, modes.LINK, modes.FOLDER, modes.SUBMODULE))
_TYPES = frozenset((0o100000, modes.LINK, modes.FOLDER, modes.SUBMODULE))
# Leading zeros aside; more would not fit into the 16 bits that git keeps.
_MOST_DIGITS = 6
# Of a name that is too long.
_SHOWN = 256

_ENTRY = {
    width: late.pattern(rb"([0-7]++) ([^\0]++)\0(.{%d})" % width, re.DOTALL) for width in (20, 32)
}


def oddities(data: bytes | bytearray, width: int, limits: Limits) -> list[Oddity]:
    """All that is odd about a well-formed tree's content; ``width`` is that of a raw id.

    Details begin with the name of an entry, up to a NUL. Where the content behind the name decides
    how much harm it does, the ids follow: another content is another oddity.
    """
    found: list[Oddity] = []
    listed: list[_Entry] = []
    null = bytes(width)
    for match in _ENTRY[width].finditer(data):
        digits, name, oid = match.groups()
        mode = int(digits, 8) & 0xFFFF
        found += (
            _with_ids(oddity, oid)
            if oddity.code in _BY_CONTENT or mode & modes.TYPE in _BY_KIND
            else oddity
            for oddity in entry_oddities(digits, name, limits)
        )
        if mode & modes.TYPE == modes.SUBMODULE:
            found.append(gitlink(name, oid))
        if oid == null:
            message = f"the id of {shorten(name)} is zeros"
            found.append(Oddity(checks.NULL_SHA1, name, message))
        listed.append((mode, name, oid))
    found += _order(listed)
    found += _duplicates(listed)
    found += _collisions(listed)
    found += _repository(listed)
    return found


def gitlink(name: bytes, oid: bytes) -> Oddity:
    """That an entry is a submodule, at a commit of which ``oid`` is the raw id."""
    at = oid.hex()
    message = f"submodule {shorten(name)} at commit {at}"
    return Oddity(pathcodes.GITLINK, b"%b\0%b" % (name, at.encode()), message)


def _with_ids(oddity: Oddity, *oids: bytes) -> Oddity:
    return oddity._replace(
        detail=b"\0".join((oddity.detail, *(oid.hex().encode() for oid in oids)))
    )


def entry_oddities(digits: bytes, name: bytes, limits: Limits) -> list[Oddity]:
    """What is odd about one entry's mode, as octal digits, and its name."""
    mode = int(digits, 8)
    if len(name) > limits.name_bytes:
        # No time for what else it may be.
        passed = limits.passed("name_bytes", len(name), "a name has")
        found = [Oddity(passed.code, name[:_SHOWN], passed.message, passed.limit)]
        if len(name) > paths.LARGEST:
            message = f"a name has more than {paths.LARGEST} bytes: {shorten(name)}"
            found.append(Oddity(pathcodes.LARGE_PATHNAME, name[:_SHOWN], message))
    else:
        found = paths.name_oddities(name, mode & 0xFFFF)
    if digits[:1] == b"0":
        message = f"mode {shorten(digits)} of {shorten(name)} begins with a zero"
        found.append(Oddity(checks.ZERO_PADDED_FILEMODE, name, message))
    if mode & 0xFFFF not in STANDARD_MODES:
        message = f"mode {shorten(digits)} of {shorten(name)} is not one that git writes"
        found.append(Oddity(checks.BAD_FILEMODE, name, message))
    if len(digits.lstrip(b"0")) > _MOST_DIGITS or mode & modes.TYPE not in _TYPES:
        message = f"mode {shorten(digits)} of {shorten(name)} is of no kind that git has"
        found.append(Oddity(checks.UNKNOWN_FILEMODE, name, message))
    return found


def _order(listed: list[_Entry]) -> Iterator[Oddity]:
    before = None
    for mode, name, _oid in listed:
        key = name + b"/" if mode & modes.TYPE == modes.FOLDER else name
        # Two entries of one name are duplicates, and no matter of order.
        if before is not None and key < before[0] and name != before[1]:
            message = f"{shorten(name)} comes after {shorten(before[1])}"
            yield Oddity(checks.TREE_NOT_SORTED, name, message)
            return
        before = key, name


def _duplicates(listed: list[_Entry]) -> Iterator[Oddity]:
    first: dict[bytes, _Entry] = {}
    for entry in listed:
        mode, name, oid = entry
        known = first.setdefault(name, entry)
        if known is not entry:
            message = f"{shorten(name)} comes twice"
            detail = b"%b\0%o\0%o" % (name, known[0], mode)
            yield _with_ids(Oddity(checks.DUPLICATE_ENTRIES, detail, message), known[2], oid)


def _collisions(listed: list[_Entry]) -> Iterator[Oddity]:
    found = paths.collisions([(mode, name) for mode, name, _oid in listed])
    if not found:
        return
    # Of files only the names collide; what else collides leads to other content.
    ids = {name: oid for mode, name, oid in listed if mode & modes.TYPE != modes.FILE}
    for oddity in found:
        names = oddity.detail.split(b"\0") if oddity.detail[:1] != b"\0" else list(ids)
        yield _with_ids(oddity, *(ids[name] for name in names if name in ids))


# What makes git take a folder for a repository, HEAD beside it; what a program sees decides.
_PARTS = frozenset((b"objects", b"refs"))


def _repository(listed: list[_Entry]) -> Iterator[Oddity]:
    """A bare repository among the files: git takes it for one when it is entered.

    Source: is_git_directory in git's setup.c. Objects and refs need not be folders for it, and both
    may lie where a file commondir says.
    """
    ids = {paths.fold(name): oid for _mode, name, oid in listed if len(name) <= _LONGEST_PART}
    if b"head" in ids and (b"commondir" in ids or ids.keys() >= _PARTS):
        message = "HEAD, and objects and refs or commondir, stand together as in a bare repository"
        oddity = Oddity(pathcodes.EMBEDDED_REPOSITORY, b"HEAD", message)
        yield _with_ids(oddity, *(ids[n] for n in _DECIDING if n in ids))
