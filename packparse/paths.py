"""Rules for the names of one tree: what may be wrong with each, and which of them collide.

Source: git's fsck_tree for the codes that git has, is_valid_win32_path (compat/mingw.c) for names
on Windows, CVE-2019-1354 for backslashes, CVE-2021-21300 and CVE-2024-32002 for collisions. Names
are bytes without NUL, as they stand in a tree.
"""

from __future__ import annotations

import re

from packparse import dotnames, hidden, late, modes
from packparse import pathcodes as codes
from packparse.escape import quote, shorten
from packparse.oddity import Oddity
from packparse.signs import PLAIN_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from packparse.codes import Code

__all__ = [
    "LARGEST", "climbs", "collisions", "fold", "is_absolute", "name_oddities",
    "parts",
]  # fmt: skip


LARGEST = 4096  # bytes of a name, in git
# No system that folds names takes longer ones: 255 units of UTF-16 are 765 bytes. Without a bound
# the normal form of a hostile name takes quadratic time.
_LONGEST_FOLDED = 1024
_LONGEST_DETAIL = 1024  # bytes of names joined
_SHOWN = 3  # names of a collision in its message,
_SHOWN_BYTES = 192  # and their bytes altogether


_FOLDED_AWAY = late.pattern(hidden.IGNORABLE + b"|" + hidden.SELECTOR)

# --- names on Windows ---------------------------------------------------------------------------

_DEVICES = rb"con|prn|aux|nul|com(?:[1-9]|\xc2[\xb2\xb3\xb9])|lpt(?:[0-9]|\xc2[\xb2\xb3\xb9])"
# An extension, spaces or a stream behind it make no difference.
_DEVICE = late.pattern(
    rb"(?:\A|[/\\])(?:" + _DEVICES + rb"|conin\$|conout\$) *+(?![^.:/\\])", re.IGNORECASE
)
_FORBIDDEN = late.pattern(rb'[<>:"|?*\\]|[. ]\Z')
_CLIMBS = late.pattern(rb"(?:\A|[/\\])\.\.[. ]*+(?![^/\\])")
# Any character before a colon may be a drive (CVE-2019-1351).
_ABSOLUTE = late.pattern(rb"[/\\]|(?:[\0-\x7f]|[\xc2-\xf4][\x80-\xbf]++):")
# One or two dots and a space, which is lost with all dots and spaces behind it.
_LONG_DOTS = late.pattern(rb"(\A|/)(\.\.?) [. ]*+(?![^/])")

# Names that nothing is wrong with.
_PLAIN = late.pattern(PLAIN_NAME)


def is_absolute(path: bytes) -> bool:
    """Whether some system takes a path for one that does not begin where it stands."""
    return _ABSOLUTE.match(path) is not None


def parts(path: bytes, *, windows: bool) -> list[bytes]:
    """The names that a path is made of and its double dots, without what leads nowhere.

    On Windows a backslash separates as well, and a space behind one or two dots is lost.
    """
    if windows:
        path = _LONG_DOTS.sub(rb"\1\2", path.replace(b"\\", b"/"))
    return [part for part in path.split(b"/") if part not in {b"", b"."}]


def climbs(path: bytes) -> bool:
    """Whether a part is two dots where either slash separates, and dots and spaces are lost."""
    return _CLIMBS.search(path) is not None


def name_oddities(
    name: bytes, mode: int, wanted: Callable[[Code], bool] = lambda _code: True
) -> list[Oddity]:
    """All that is odd about one entry's name; ``mode`` is the entry's as git reads it (16 bits).

    The detail of each is the name. ``wanted`` is asked for each code before the words are made.
    """
    is_link = mode & modes.TYPE == modes.LINK
    if _PLAIN.fullmatch(name) or (name in dotnames.DOTFILES and not is_link):
        return []
    found = [(code, words) for code, applies, words in _TESTS if applies(name)]
    if is_link:
        found += [(code, words) for code, applies, words in _LINK_TESTS if applies(name)]
    found += _alias_oddities(name)
    found = [item for item in found if wanted(item[0])]
    if not found:
        return []
    shown = shorten(name) or '""'
    return [Oddity(code, name, f"{words}{_which(code, name)}: {shown}") for code, words in found]


def _which(code: Code, name: bytes) -> str:
    # Quoted, the character is some bytes among others.
    if code is codes.CONTROL_IN_NAME:
        return f" ({hidden.first_control(name)})"
    return f" ({hidden.first_deceptive(name)})" if code is codes.DECEPTIVE_NAME else ""


def fold(name: bytes) -> bytes:
    """The key that two names share where a file system may take them for the same.

    Case does not count (full case folding), nor what Unicode holds for canonically equivalent, nor
    characters that HFS+ or ext4 ignore, nor dots and spaces at the end, which Windows drops. Bytes
    that are no UTF-8 are kept.
    """
    if name.isascii() or len(name) > _LONGEST_FOLDED:
        return name.lower().rstrip(b". ")
    from unicodedata import normalize

    text = _FOLDED_AWAY.sub(b"", name).decode("utf-8", "surrogateescape")
    # Folding what is decomposed leaves it decomposed.
    text = normalize("NFD", text).casefold()
    return text.encode("utf-8", "surrogateescape").rstrip(b". ")


def collisions(
    entries: Sequence[tuple[int, bytes]], folds: Sequence[bytes]
) -> Iterator[tuple[Oddity, list[int]]]:
    """The names of one tree, given as (mode, name), that a file system may take for the same.

    ``folds`` are the names folded. One oddity for each group of such names, with the numbers of
    their entries; its detail is made from the sorted names. Names that are equal byte for byte are
    another rule's business, except for a link and a folder: whoever puts up with duplicates would
    still write through the link.
    """
    seen: set[bytes] = set()
    groups: dict[bytes, list[int]] = {}
    for key in folds:
        if key in seen:
            groups[key] = []
        seen.add(key)
    if not groups:
        return
    for number, key in enumerate(folds):
        if key in groups:
            groups[key].append(number)
    for numbers in groups.values():
        oddity = _collision([entries[number] for number in numbers])
        if oddity is not None:
            yield oddity, numbers


# --- single names -------------------------------------------------------------------------------


def _is_device(name: bytes) -> bool:
    return _DEVICE.search(name) is not None


def _climbs_by_backslash(name: bytes) -> bool:
    return b"\\" in name and climbs(name)


def _is_forbidden_on_windows(name: bytes) -> bool:
    # The two that every system has are no names at all, which has its own codes.
    return name not in {b".", b".."} and _FORBIDDEN.search(name) is not None


def _is_not_utf8(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return True
    return False


_TESTS: tuple[tuple[Code, Callable[[bytes], object], str], ...] = (
    (codes.FULL_PATHNAME, lambda name: b"/" in name, "a name has a slash"),
    (codes.EMPTY_NAME, lambda name: not name, "a name is empty"),
    (codes.HAS_DOT, lambda name: name == b".", "a name is a dot"),
    (codes.HAS_DOTDOT, lambda name: name == b"..", "a name is two dots"),
    (codes.HAS_DOTGIT, dotnames.is_dotgit, "a name is .git on some file system"),
    (
        codes.LARGE_PATHNAME,
        lambda name: len(name) > LARGEST,
        f"a name has more than {LARGEST} bytes",
    ),
    (
        codes.BACKSLASH_TRAVERSAL,
        _climbs_by_backslash,
        "a name leads out of its folder where a backslash separates",
    ),
    (codes.CONTROL_IN_NAME, hidden.has_control, "a name has a control character"),
    (codes.DECEPTIVE_NAME, hidden.is_deceptive, "a name has an invisible or reordering character"),
    (codes.WINDOWS_DEVICE_NAME, _is_device, "a name is a device on Windows"),
    (codes.WINDOWS_FORBIDDEN_NAME, _is_forbidden_on_windows, "a name is not allowed on Windows"),
    (codes.SHORT_NAME_ALIAS, dotnames.is_short_dotgit, "a name may be a short name of .git"),
    (codes.NOT_UTF8_NAME, _is_not_utf8, "a name is not UTF-8"),
    (codes.DASH_NAME, lambda name: name[:1] == b"-", "a name begins with a dash"),
)

_LINK_TESTS: tuple[tuple[Code, Callable[[bytes], bool], str], ...] = (
    (codes.GITMODULES_SYMLINK, dotnames.is_dotgitmodules, ".gitmodules is a symbolic link"),
    (
        codes.GITATTRIBUTES_SYMLINK,
        dotnames.is_dotgitattributes,
        ".gitattributes is a symbolic link",
    ),
    (codes.GITIGNORE_SYMLINK, dotnames.is_dotgitignore, ".gitignore is a symbolic link"),
    (codes.MAILMAP_SYMLINK, dotnames.is_dotmailmap, ".mailmap is a symbolic link"),
)

_ALIAS_CODES = {
    b".gitmodules": codes.GITMODULES_ALIAS,
    b".gitattributes": codes.GITATTRIBUTES_ALIAS,
    b".gitignore": codes.DOTFILE_ALIAS,
    b".mailmap": codes.DOTFILE_ALIAS,
}


def _alias_oddities(name: bytes) -> Iterable[tuple[Code, str]]:
    """The files that git reads by their names which a name is in another spelling."""
    # Folding sees more than git does: APFS takes U+017F for s.
    files = {*dotnames.aliases(name), fold(name)}
    files.discard(name)
    return [
        (code, f"a name is {file.decode()} on some file system")
        for file, code in _ALIAS_CODES.items()
        if file in files
    ]


# --- names beside each other --------------------------------------------------------------------


def _collision(group: list[tuple[int, bytes]]) -> Oddity | None:
    names = sorted({name for _, name in group})
    kinds = {mode & modes.TYPE for mode, _ in group}
    # What is neither file nor link nor folder is a submodule to git, and a folder on disk.
    if modes.LINK in kinds and kinds - {modes.FILE, modes.LINK}:
        code, words = codes.SYMLINK_DIRECTORY_COLLISION, "a symbolic link and a folder collide"
    elif len(names) == 1:
        return None
    elif len(set(map(_without_case, names))) == 1:
        code, words = codes.CASE_COLLISION, "names differ in case alone"
    else:
        code, words = codes.NORMALIZATION_COLLISION, "names are the same on some file system"
    return Oddity(code, _detail(names), f"{words}: {_listed(names)}")


def _without_case(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape").casefold()


def _detail(names: list[bytes]) -> bytes:
    """The names joined by NUL, or the SHA-256 of that, behind a NUL, where it is long."""
    joined = b"\0".join(names)
    if len(joined) <= _LONGEST_DETAIL:
        return joined
    from hashlib import sha256

    # Behind a NUL, since no name begins it.
    return b"\0" + sha256(joined).hexdigest().encode()


def _listed(names: list[bytes]) -> str:
    """The first names, quoted and cut to a few hundred characters."""
    first = names[:_SHOWN]
    most = _SHOWN_BYTES // len(first)
    shown = [quote(name[:most]) + "..." * (len(name) > most) for name in first]
    more = len(names) - len(first)
    return ", ".join(shown) + (f" and {more} more" if more else "")
