"""What is odd about a tree: modes, names, order, duplicates, collisions, ids of zeros.

Source: fsck_tree in git's fsck.c, which works on the mode in 16 bits, and the rules for names in
paths.py. This is the slow and exact reading; tree.py tells which trees need it.
"""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import chain

from packparse import checks, late, modes, pathcodes, paths
from packparse.escape import shorten
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from packparse.codes import Code
    from packparse.limits import Limits

    # Mode as git reads it, name.
    _Entry = tuple[int, bytes]
    # What is odd about the modes and names of a tree, and the numbers of the entries whose ids
    # belong to the detail.
    Template = tuple[Oddity, tuple[int, ...]]

__all__ = [
    "ENTRY", "KEPT", "STANDARD_MODES", "entry_oddities", "filled", "gitlink", "is_repository",
    "null_ids", "oddities", "templates",
]  # fmt: skip

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
# Of a bare repository: what decides what git does there.
_DECIDING = (b"head", b"config", b"commondir", b"objects", b"refs")
# Of kinds or ids in a detail, in bytes.
_LONGEST_DETAIL = 1_024
# Kinds of which the same holds for every name.
_BY_KIND = frozenset((modes.LINK, modes.SUBMODULE))
STANDARD_MODES = frozenset((0o100644, 0o100755, modes.LINK, modes.FOLDER, modes.SUBMODULE))
_TYPES = frozenset((0o100000, modes.LINK, modes.FOLDER, modes.SUBMODULE))
# Leading zeros aside; more would not fit into the 16 bits that git keeps.
_MOST_DIGITS = 6
# Oddities of one code that are told one by one.
KEPT = 1_000
# Of a name, or a mode, that is too long.
_SHOWN = 256
_SHOWN_DIGITS = 24

# One entry of a well-formed tree, by the width of its raw id: mode, name, id.
ENTRY = {
    width: late.pattern(rb"([0-7]++) ([^\0]++)\0(.{%d})" % width, re.DOTALL) for width in (20, 32)
}


def oddities(data: bytes | bytearray, width: int, limits: Limits) -> list[Oddity]:
    """All that is odd about a well-formed tree's content; ``width`` is that of a raw id.

    Details begin with the name of an entry, up to a NUL. Where the content behind the name decides
    how much harm it does, the ids follow: another content is another oddity.
    """
    oids: list[bytes] = []

    def heads() -> Iterator[tuple[bytes, bytes]]:
        for match in ENTRY[width].finditer(data):
            digits, name, oid = match.groups()
            oids.append(oid)
            yield digits, name

    waiting = templates(heads(), limits)
    waiting.reverse()
    # A tree may have a hundred thousand: each template is let go once it is filled.
    found = [_with_ids(*waiting.pop(), oids) for _ in range(len(waiting))]
    if bytes(width) in oids:
        found += null_ids((match[2], match[3]) for match in ENTRY[width].finditer(data))
    return found


def templates(heads: Iterable[tuple[bytes, bytes]], limits: Limits) -> list[Template]:
    """What is odd about the modes, as octal digits, and names of a tree, in their order.

    Of each code some are told, and one stands for the others: a tree may have a hundred thousand.
    """
    found: list[Template] = []
    listed: list[_Entry] = []
    counts: dict[Code, int] = {}

    def wanted(code: Code) -> bool:
        count = counts[code] = counts.get(code, 0) + 1
        return count <= KEPT

    for number, (digits, name) in enumerate(heads):
        mode = int(digits, 8) & 0xFFFF
        found += (
            _template(oddity, mode & modes.TYPE, number)
            for oddity in entry_oddities(digits, name, limits, wanted)
        )
        if mode & modes.TYPE == modes.SUBMODULE and wanted(pathcodes.GITLINK):
            found.append(gitlink(name, number))
        listed.append((mode, name))
    folds = [paths.fold(name) for _mode, name in listed]
    others = (_order(listed), _duplicates(listed), _collisions(listed, folds), _repository(folds))
    found += (item for item in chain(*others) if wanted(item[0].code))
    many = [code for code, count in counts.items() if count > KEPT]
    if many:
        # No other tree has the same, so that a base excuses nothing that is not listed.
        names = sha256(b"\0".join(b"%o %b" % entry for entry in listed)).hexdigest().encode()
        message = f"there are more of these than the {KEPT} that are listed"
        # The content of plain files makes no difference to their names.
        every = tuple(n for n, entry in enumerate(listed) if entry[0] & modes.TYPE != modes.FILE)
        found += ((Oddity(code, b"\0" + names, message), every) for code in many)
    return found


def _template(oddity: Oddity, kind: int, number: int) -> Template:
    if oddity.code in _BY_CONTENT or kind in _BY_KIND:
        return oddity, (number,)
    if kind == modes.FILE:
        return oddity, ()
    # A name that was a file's is another oddity where it is a folder's.
    return oddity._replace(detail=b"%b\0%o" % (oddity.detail, kind)), ()


def gitlink(name: bytes, number: int) -> Template:
    """That an entry is a submodule; which commit it is at shows with its id."""
    return Oddity(pathcodes.GITLINK, name, ""), (number,)


def filled(found: Iterable[Template], oids: Sequence[bytes]) -> list[Oddity]:
    """What is odd about a tree with these ids, given what is odd about its modes and names."""
    return [_with_ids(oddity, numbers, oids) for oddity, numbers in found]


def null_ids(entries: Iterable[tuple[bytes, bytes]]) -> list[Oddity]:
    """An oddity for each entry, as (name, raw id), whose id is zeros."""
    return [
        Oddity(checks.NULL_SHA1, name, f"the id of {shorten(name)} is zeros")
        for name, oid in entries
        if not any(oid)
    ]


def _with_ids(oddity: Oddity, numbers: tuple[int, ...], oids: Sequence[bytes]) -> Oddity:
    if not numbers:
        return oddity
    code, detail, message, limit = oddity
    if not message:  # a submodule
        message = f"submodule {shorten(detail)} at commit {oids[numbers[0]].hex()}"
    behind = b"\0".join(oids[number].hex().encode() for number in numbers)
    return Oddity(code, b"%b\0%b" % (detail, _bounded(behind)), message, limit)


def _bounded(text: bytes) -> bytes:
    """A part of a detail, or its hash where it is long: a group may have a hundred thousand."""
    return text if len(text) <= _LONGEST_DETAIL else sha256(text).hexdigest().encode()


def entry_oddities(
    digits: bytes, name: bytes, limits: Limits, wanted: Callable[[Code], bool] = lambda _code: True
) -> list[Oddity]:
    """What is odd about one entry's mode, as octal digits, and its name.

    ``wanted`` is asked for each code before the words are made.
    """
    mode = int(digits, 8)
    if len(name) > limits.name_bytes:
        # No time for what else it may be.
        passed = limits.passed("name_bytes", len(name), "a name has")
        found = [Oddity(passed.code, name[:_SHOWN], passed.message, passed.limit)]
        if len(name) > paths.LARGEST:
            message = f"a name has more than {paths.LARGEST} bytes: {shorten(name)}"
            found.append(Oddity(pathcodes.LARGE_PATHNAME, name[:_SHOWN], message))
    else:
        found = paths.name_oddities(name, mode & 0xFFFF, wanted)
    for code, what in _mode_faults(digits, mode):
        if not wanted(code):
            continue
        # Another mode of the same name is another oddity.
        detail = b"%b\0%b" % (name, digits[-_SHOWN_DIGITS:])
        found.append(Oddity(code, detail, f"mode {shorten(digits)} of {shorten(name)} {what}"))
    return found


def _mode_faults(digits: bytes, mode: int) -> Iterator[tuple[Code, str]]:
    if digits[:1] == b"0":
        yield checks.ZERO_PADDED_FILEMODE, "begins with a zero"
    if mode & 0xFFFF not in STANDARD_MODES:
        yield checks.BAD_FILEMODE, "is not one that git writes"
    if len(digits.lstrip(b"0")) > _MOST_DIGITS or mode & modes.TYPE not in _TYPES:
        yield checks.UNKNOWN_FILEMODE, "is of no kind that git has"


def _order(listed: list[_Entry]) -> Iterator[Template]:
    before = None
    for mode, name in listed:
        key = name + b"/" if mode & modes.TYPE == modes.FOLDER else name
        # Two entries of one name are duplicates, and no matter of order.
        if before is not None and key < before[0] and name != before[1]:
            message = f"{shorten(name)} comes after {shorten(before[1])}"
            yield Oddity(checks.TREE_NOT_SORTED, name, message), ()
            return
        before = key, name


def _duplicates(listed: list[_Entry]) -> Iterator[Template]:
    first: dict[bytes, int] = {}
    for number, (mode, name) in enumerate(listed):
        known = first.setdefault(name, number)
        if known != number:
            message = f"{shorten(name)} comes twice"
            detail = b"%b\0%o\0%o" % (name, listed[known][0], mode)
            yield Oddity(checks.DUPLICATE_ENTRIES, detail, message), (known, number)


def _collisions(listed: list[_Entry], folds: list[bytes]) -> Iterator[Template]:
    for oddity, group in paths.collisions(listed, folds):
        kinds = _bounded(b",".join(b"%o" % (listed[number][0] & modes.TYPE) for number in group))
        # Of files only the names collide; what else collides leads to other content.
        others = tuple(n for n in group if listed[n][0] & modes.TYPE != modes.FILE)
        yield oddity._replace(detail=b"%b\0%b" % (oddity.detail, kinds)), others


_PARTS = (b"objects", b"refs")


def is_repository(folds: Collection[bytes]) -> bool:
    """Whether names, folded, make git take a folder for a bare repository when it is entered.

    Source: is_git_directory in git's setup.c. Objects and refs need not be folders for it, and both
    may lie where a file commondir says.
    """
    return b"head" in folds and (b"commondir" in folds or all(part in folds for part in _PARTS))


def _repository(folds: list[bytes]) -> Iterator[Template]:
    numbers = {fold: number for number, fold in enumerate(folds)}
    if is_repository(numbers):
        message = "HEAD, and objects and refs or commondir, stand together as in a bare repository"
        oddity = Oddity(pathcodes.EMBEDDED_REPOSITORY, b"HEAD", message)
        yield oddity, tuple(numbers[name] for name in _DECIDING if name in numbers)
