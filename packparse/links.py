"""Targets of symbolic links: what is wrong with one wherever the link stands.

Sources: path_resolution(7) and symlink(7) for how a system follows one; CVE-2014-9390 for the
spellings of .git, CVE-2021-21300 and CVE-2024-32002 for what a link into it does. git checks none
of this: the ids that 2.45.1 had for it were withdrawn.

A target is read by its letters alone, without looking at what its names stand for. This suffices,
since every link on the way is itself checked: as long as names follow names, a target leads to
where its letters say, or through a link that does not leave the tree. Only ``..`` behind a name can
do otherwise. It goes back from where the name leads, and where that is another link, to a folder
above the place where that one ends. Such names are handed out for the caller to look up.

A backslash is a part of a name on one system and parts names on another, so a target that has one
is read both ways, and the worse of both counts. A system reads no further than a NUL.

A target is judged harder than a name. A file called ``git~2`` takes that short name for itself; a
target of the same letters, where no such file is, leads to whatever has it, which may be .git.
"""

from __future__ import annotations

from hashlib import sha256

from packparse import hidden, late, pathcodes, paths
from packparse.dotnames import is_dotgit, is_short_dotgit
from packparse.escape import shorten
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.codes import Code

__all__ = ["LONGEST", "Target", "detail", "read_target"]

# PATH_MAX of Linux without the NUL at the end.
LONGEST = 4_095
# No system takes a target beyond this, in bytes.
_READ = 1 << 16
_DETAIL = 4_096

_SEPARATOR = late.pattern(rb"[/\\\0]")


class Target:
    """What a target says.

    ``climbs``: how many folders above the one with the link it reaches at its highest.
    ``through``: the raw names that a later ``..`` goes back over, each once, in the order in which
    that happens. ``oddities``: what is wrong with it wherever the link stands.
    """

    __slots__ = ("climbs", "oddities", "through")

    def __init__(self, climbs: int, through: tuple[bytes, ...], oddities: list[Oddity]) -> None:
        self.climbs = climbs
        self.through = through
        self.oddities = oddities


def read_target(target: bytes) -> Target:
    """Read the content of a symbolic link, raw bytes of any length; 64 KiB of it are looked at."""
    found: list[Oddity] = []

    def add(code: Code, what: str) -> None:
        message = f"the target {shorten(target)} {what}"
        found.append(Oddity(code, detail(target), message))

    if len(target) > LONGEST:
        add(pathcodes.SYMLINK_TOO_LONG, f"has more than {LONGEST} bytes")
    start = target[:_READ]
    if not start:
        found.append(Oddity(pathcodes.SYMLINK_BAD_TARGET, b"", "the target is empty"))
    elif which := hidden.first(start):
        what = f"has a control or invisible character ({which})"
        add(pathcodes.SYMLINK_BAD_TARGET, what)
    if paths.is_absolute(start):
        add(pathcodes.SYMLINK_ABSOLUTE, "is absolute")
    if any(is_dotgit(part) or is_short_dotgit(part) for part in set(_SEPARATOR.split(start))):
        add(pathcodes.SYMLINK_INTO_GIT, "leads into .git, or a name that may stand for it")
    seen = start.partition(b"\0")[0]
    names = paths.parts(seen, windows=False)
    climbs, through = _walk(names)
    on_windows = paths.parts(seen, windows=True)
    if on_windows != names:
        more, others = _walk(on_windows)
        climbs = max(climbs, more)
        through |= others
    return Target(climbs, tuple(through), found)


def _walk(parts: list[bytes]) -> tuple[int, dict[bytes, None]]:
    """How high a path climbs, and the names that it goes back over."""
    climbs = 0
    names: list[bytes] = []
    through: dict[bytes, None] = {}
    for part in parts:
        if part != b"..":
            names.append(part)
        elif names:
            through[names.pop()] = None
        else:
            climbs += 1
    return climbs, through


def detail(target: bytes) -> bytes:
    """The target, or as much of it as fits beside a hash of the whole."""
    if len(target) <= _DETAIL:
        return target
    digest = sha256(target).hexdigest().encode()
    return target[: _DETAIL - len(digest)] + digest
