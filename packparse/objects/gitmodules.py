"""The .gitmodules file: which submodules it names, and what is wrong with their settings.

Source: fsck_gitmodules_fn in git's fsck.c with check_submodule_name and check_submodule_url in
submodule-config.c, in the form they have since git 2.44; and what fsck lets through: paths that
leave the repository or enter .git, options to ssh (CVE-2017-1000117), two submodules in one place
(CVE-2019-1349, CVE-2019-1387), long URLs (CVE-2023-29007), control characters in URLs
(CVE-2024-50349, CVE-2024-52006), a carriage return at a path's end (CVE-2025-48384).

A C program sees a name or a value up to its first NUL byte. The rules of git judge that part, as
git does; ours judge the whole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256

from packparse import hidden, late, pathcodes, paths
from packparse.dotnames import is_dotgit
from packparse.escape import shorten
from packparse.objects.config import Settings
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.codes import Code

__all__ = ["Modules", "Submodule", "read"]

_PREFIX = b"submodule."
# Bits of the settings that git reads, to tell which have been seen.
_BITS = {
    key: 1 << bit
    for bit, key in enumerate(
        (b"path", b"url", b"update", b"branch", b"ignore", b"shallow", b"fetchrecursesubmodules")
    )
}
_NOT_A_CHAR = b"\xff"
_LONGEST_URL = 1024
# Bytes of the file: core.bigFileThreshold, beyond which git's check does not load it.
_LARGEST = 512 << 20
# Of a name, and of a value, in a detail.
_LONGEST_SHOWN = 256
# Oddities of one code that are told one by one; a megabyte has room for a hundred thousand.
_KEPT = 1_000
_REST = b"\0"
_EMPTY = '""'
# A history has the same submodules in many versions of the file: what was found of so many short
# texts is remembered.
_REMEMBERED = 1 << 10
_LONGEST_REMEMBERED = 256
_NO_PART = frozenset((b"", b"."))
# Sections that are remembered whole, as git writes them: each line says the same wherever it is.
_LONGEST_SECTION = 512
_SECTION = late.pattern(rb"\[[^\n]*+(?:\n|\Z)(?:[^\[\n][^\n]*+(?:\n|\Z)|\n)*+")
_CALM = late.pattern(
    rb'\[submodule "[^"\\\x00-\x1f\xff]++"\]\n'
    rb'(?:[ \t]*+[A-Za-z]++ = [^"\\;#\x00-\x1f\xff]++(?<! )(?:\n|\Z))++'
    rb"(?:[ \t]++(?:\n|\Z)|\n)*+"
)

_SEPARATOR = late.pattern(rb"[/\\]")
_CLIMBS = late.pattern(rb"(?:\A|[/\\])\.\.(?![^/\\])")

# --- URLs, as git judges them ---
_RELATIVE = late.pattern(rb"\.\.?[/\\]")
_CLIMBS_TO_HOST = late.pattern(rb"(?:\.[/\\])*+\.\.[/\\](?:\.\.?[/\\])*+[:/]")
_NEWLINE = late.pattern(rb"\n|%0a", re.IGNORECASE)
# The transports of curl; the prefix of a helper is no part of the URL that curl is given.
_CURL = late.pattern(rb"(?:https?|ftps?):(?:(:)|(?=//))")
_URL = late.pattern(
    rb"([a-z][a-z0-9+.-]*+)://(?:([^@/?#]*+)@)?+([^/?#]*+)([^?#]*+)(.*+)",
    re.IGNORECASE | re.DOTALL,
)
_BAD_ESCAPE = late.pattern(rb"%(?![0-9a-f]{2})", re.IGNORECASE)
_HOST = late.pattern(rb"[a-z0-9._\[:\]-]*+", re.IGNORECASE)
_PORT = late.pattern(rb"0*+([1-9][0-9]{0,4}+)")

# --- URLs, as we judge them ---
_HELPER = late.pattern(rb"(?:ext|fd)(?:\.exe)?:(?::|//)", re.IGNORECASE)
_ESCAPE = late.pattern(rb"%([0-9a-f]{2})", re.IGNORECASE)
# User and host of a URL; what no program is given on a command line is left out.
_AUTHORITY = late.pattern(rb"(?!(?:https?|ftps?|file)://)[a-z0-9+.-]++://([^/?#]*+)", re.IGNORECASE)
_OPTION = late.pattern(rb"(?:\A|[@\[])-")
# User, host and the first part of the path of host:path; without a colon it is a local path.
_SCP = late.pattern(rb"[^/]*+")
_SCP_OPTION = late.pattern(rb"(?:\A|[@\[:])-")


class Submodule:
    """A submodule's name, path and URL as .gitmodules gives them; the last setting wins.

    ``path`` and ``url`` are None where they are not set, and not cleaned in any way.
    """

    __slots__ = ("name", "path", "seen", "url")

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.path: bytes | None = None
        self.url: bytes | None = None
        self.seen = 0


class Modules:
    """What a .gitmodules says: its submodules by name, and the oddities of the file.

    The detail of an oddity is the submodule's name, NAME.KEY=VALUE, or empty where it is about the
    file; then a NUL, and a hash of what goes with it. Of a long name or value the beginning stands
    there, and its SHA-256.
    """

    __slots__ = ("oddities", "submodules")

    def __init__(self, oddities: list[Oddity], submodules: dict[bytes, Submodule]) -> None:
        self.oddities = oddities
        self.submodules = submodules


def read(content: bytes | bytearray) -> Modules:
    """Read a .gitmodules; each oddity is told once for each submodule, key and value.

    Where git's check is blind, behind a byte order mark or a byte 0xFF, its rules are kept as well.
    """
    if len(content) > _LARGEST:
        message = f"the file has {len(content)} bytes; git reads {_LARGEST} at most"
        return Modules([Oddity(pathcodes.GITMODULES_LARGE, b"", message)], {})
    reader = _Reader(content)
    reader.take()
    reader.compare()
    if _NOT_A_CHAR in content:
        reader.tell_unparsed(
            f"git's check takes the byte 0xFF at byte {content.index(_NOT_A_CHAR)} for the end, "
            "other readers go on",
            bytes(content),
        )
        # To git's check it is a line's end as well, which may join what is beside it otherwise.
        other = _Reader(content.replace(_NOT_A_CHAR, b"\n"))
        other.take()
        for place, (oddity, name) in other.told.items():
            if oddity.code.since:
                reader.told.setdefault(place, (oddity, name))
    return Modules(reader.oddities(), reader.submodules)


class _Reader:
    """Takes settings one by one.

    ``told`` are oddities, each with its submodule's name, by code, name, key and value.
    """

    def __init__(self, content: bytes | bytearray) -> None:
        self._content = content
        self.submodules: dict[bytes, Submodule] = {}
        self.told: dict[tuple[str, bytes, bytes, bytes], tuple[Oddity, bytes]] = {}
        self._counts: dict[str, int] = {}
        self._names: dict[bytes, bytes] = {}
        self._hashes: dict[bytes, bytes] = {}
        # All that was set, by submodule.
        self._said: dict[bytes, list[tuple[bytes, bytes | None]]] = {}

    def tell(
        self, code: Code, name: bytes, words: str, key: bytes = b"", value: bytes | None = None
    ) -> None:
        """Note what is wrong with a submodule's name or setting, unless it is known."""
        # Texts are made last: a hostile file may say one fault of a long name many times.
        shown = b"" if value is None else _bounded(value)
        short = self._short(name)
        place = code.name, short, key, shown
        if place in self.told or not self._counted(code):
            return
        subject = key.decode() or "the name"
        if value is not None:
            subject += f" {shorten(value) or _EMPTY}"
        message = f"submodule {shorten(name) or _EMPTY}: {subject} {words}"
        # With the value: a base that has one bad URL does not excuse another one.
        detail = b"%b.%b=%b" % (short, key, shown) if key else short
        self.told[place] = Oddity(code, detail, message), name

    def _counted(self, code: Code) -> bool:
        """Count one of a code; past the bound one stands for all the others."""
        count = self._counts[code.name] = self._counts.get(code.name, 0) + 1
        if count == _KEPT + 1:
            # No other content has the same.
            detail = sha256(self._content).hexdigest().encode()
            message = f"there are more of these than the {_KEPT} that are listed"
            self.told[code.name, b"", b"", _REST] = Oddity(code, detail, message), b""
        return count <= _KEPT

    def tell_unparsed(self, message: str, rest: bytes) -> None:
        """Note that readers make different things of ``rest``, the end of the file."""
        code = pathcodes.GITMODULES_PARSE
        detail = b"\0" + sha256(rest).hexdigest().encode()
        self.told.setdefault((code.name, b"", b"", b""), (Oddity(code, detail, message), b""))

    def oddities(self) -> list[Oddity]:
        """All that was told; behind a NUL, details have a hash of the submodule's settings.

        These work together: a bad name is worse with another URL.
        """
        return [
            oddity._replace(detail=b"%b\0%b" % (oddity.detail, self._settings(name)))
            for oddity, name in self.told.values()
        ]

    def _short(self, name: bytes) -> bytes:
        """A name as it stands in details: cut, with a hash, where it is long."""
        if len(name) <= _LONGEST_SHOWN:
            return name
        if name not in self._names:
            self._names[name] = _bounded(name)
        return self._names[name]

    def _settings(self, name: bytes) -> bytes:
        if name not in self._hashes:
            lines = (b"%b=%b\n" % (key, value or b"") for key, value in self._said.get(name, ()))
            self._hashes[name] = sha256(b"".join(lines)).hexdigest().encode()
        return self._hashes[name]

    def take(self) -> None:
        """Judge each setting by itself, and gather the submodules."""
        if not self._take_calm():
            self.take_exactly()

    def _take_calm(self) -> bool:
        """Whether all sections have nothing odd, and are known; then take them.

        The versions of a file have most of their sections in common.
        """
        submodules: dict[bytes, Submodule] = {}
        said: dict[bytes, list[tuple[bytes, bytes | None]]] = {}
        at = 0
        while section := _SECTION.match(self._content, at):
            at = section.end()
            short = at - section.start() <= _LONGEST_SECTION
            known = _calm_section(bytes(section[0])) if short else None
            if known is None or known[0].name in submodules:
                return False
            submodule, settings = known
            submodules[submodule.name] = submodule
            said[submodule.name] = settings
        if at != len(self._content):
            return False
        self.submodules, self._said = submodules, said
        return True

    def calm(self) -> tuple[Submodule, list[tuple[bytes, bytes | None]]] | None:
        """The only submodule and all that was set, where nothing was told."""
        if self.told or len(self.submodules) != 1:
            return None
        [submodule] = self.submodules.values()
        return submodule, self._said[submodule.name]

    def take_exactly(self) -> None:
        """The plain twin of :meth:`take`, for any file."""
        settings = Settings(self._content)
        last: bytes | None = None
        submodule = only_key = None
        said: list[tuple[bytes, bytes | None]] = []
        for section, key, value in settings:
            if section is not last:
                last = section
                submodule, only_key = self._enter(section)
                if submodule is not None:
                    said = self._said.setdefault(submodule.name, [])
            if submodule is not None:
                said.append((key, value))
                self._setting(submodule, key if only_key is None else only_key, value)
        if settings.stopped is not None:
            rest = bytes(self._content[settings.stopped :])
            self.tell_unparsed(f"what begins at byte {settings.stopped} cannot be parsed", rest)

    def _enter(self, section: bytes) -> tuple[Submodule | None, bytes | None]:
        """Judge the name in a section's header that has a setting.

        Gives the submodule as git sees it, if any, and the one key that git sees if the name hides
        the keys.
        """
        if not section.startswith(_PREFIX):
            return None, None
        whole = section[len(_PREFIX) :]
        if fault := _known_name_fault(whole):
            self.tell(pathcodes.GITMODULES_UNSAFE_NAME, whole, fault)
        name, hidden, _ = whole.partition(b"\0")
        only_key = None
        if hidden:
            # All after the NUL is lost to git, the key as well: what the last dot leaves is name.
            name, dot, only_key = name.rpartition(b".")
            if not dot:
                return None, None
        submodule = self.submodules.get(name)
        if submodule is None:
            submodule = self.submodules[name] = Submodule(name)
            if not name or _CLIMBS.search(name):
                fault = "climbs out of .git/modules" if name else "is empty"
                self.tell(pathcodes.GITMODULES_NAME, name, fault)
            elif paths.climbs(name):
                fault = "climbs where dots and spaces behind two dots are dropped"
                self.tell(pathcodes.GITMODULES_UNSAFE_NAME, name, fault)
        return submodule, only_key

    def _setting(self, submodule: Submodule, key: bytes, value: bytes | None) -> None:
        bit = _BITS.get(key)
        if bit is None:
            return
        name = submodule.name
        if submodule.seen & bit:
            self.tell(pathcodes.GITMODULES_DUPLICATE, name, "is set twice", key)
        submodule.seen |= bit
        for code, fault in _known_value_faults(key, value):
            self.tell(code, name, fault, key, value)
        if value is None:
            return
        if key == b"path":
            submodule.path = _c_string(value)
        elif key == b"url":
            submodule.url = _c_string(value)

    def compare(self) -> None:
        """Look for submodules that share a path, or whose names lie in each other."""
        taken: dict[bytes, bytes] = {}
        for submodule in self.submodules.values():
            place = _known_place(submodule.path or b"")
            other = taken.setdefault(place, submodule.name)
            if place and other is not submodule.name:
                words = f"is that of submodule {shorten(other) or _EMPTY} as well"
                code = pathcodes.GITMODULES_DUPLICATE
                self.tell(code, submodule.name, words, b"path", submodule.path)
        # What lies in a folder comes directly after it, and one inside of that as well.
        outer: tuple[bytes, bytes] | None = None
        for place, name in sorted((_known_place(name), name) for name in self.submodules if name):
            if outer is None or not place.startswith(outer[0]):
                outer = place, name
                continue
            words = f"is, or lies inside, that of submodule {shorten(outer[1])}"
            self.tell(pathcodes.GITMODULES_NESTED_NAMES, name, words)


@lru_cache(_REMEMBERED)
def _calm_section(section: bytes) -> tuple[Submodule, list[tuple[bytes, bytes | None]]] | None:
    """The submodule of a section and what is set there; None where that may depend on others."""
    if not _CALM.fullmatch(section):
        return None
    reader = _Reader(section)
    reader.take_exactly()
    return reader.calm()


def _bounded(value: bytes) -> bytes:
    if len(value) <= _LONGEST_SHOWN:
        return value
    return value[:_LONGEST_SHOWN] + b" " + sha256(value).hexdigest().encode()


def _c_string(value: bytes) -> bytes:
    return value.partition(b"\0")[0]


def _place(path: bytes) -> bytes:
    """Give the folder of a path or name, as a system without case and with both slashes does."""
    parts = (part for part in _SEPARATOR.split(path) if part not in _NO_PART)
    return b"".join((paths.fold(part) or part) + b"/" for part in parts)


def _value_faults(key: bytes, value: bytes | None) -> tuple[tuple[Code, str], ...]:
    """Give what is wrong with one setting, as (code, the end of a sentence)."""
    found = []
    seen = _c_string(value or b"")
    if key == b"path":
        if seen.startswith(b"-"):
            found.append((pathcodes.GITMODULES_PATH, "begins with a dash"))
        if fault := _path_fault(value or b""):
            found.append((pathcodes.GITMODULES_UNSAFE_PATH, fault))
    elif key == b"url" and value is not None:
        if fault := _git_url_fault(seen):
            found.append((pathcodes.GITMODULES_URL, fault))
        if fault := _url_fault(value):
            found.append((pathcodes.GITMODULES_UNSAFE_URL, fault))
    elif key == b"update" and seen.startswith(b"!"):
        found.append((pathcodes.GITMODULES_UPDATE, "is a command"))
    return tuple(found)


def _name_fault(name: bytes) -> str:
    """Give what our rules have against a name or path, or nothing."""
    if which := hidden.first(name):
        return f"has a control or invisible character ({which})"
    if paths.is_absolute(name):
        return "is absolute"
    if any(map(is_dotgit, set(_SEPARATOR.split(name)))):
        return "has a part that is .git"
    return ""


def _path_fault(path: bytes) -> str:
    if not path:
        return "is empty"
    if fault := _name_fault(path):
        return fault
    if paths.climbs(path):
        return "climbs"
    return "is the repository itself" if _NO_PART.issuperset(_SEPARATOR.split(path)) else ""


_short_name_fault = lru_cache(_REMEMBERED)(_name_fault)
_short_value_faults = lru_cache(_REMEMBERED)(_value_faults)
_short_place = lru_cache(_REMEMBERED)(_place)


def _known_name_fault(name: bytes) -> str:
    return (_short_name_fault if len(name) <= _LONGEST_REMEMBERED else _name_fault)(name)


def _known_value_faults(key: bytes, value: bytes | None) -> tuple[tuple[Code, str], ...]:
    short = value is None or len(value) <= _LONGEST_REMEMBERED
    return (_short_value_faults if short else _value_faults)(key, value)


def _known_place(path: bytes) -> bytes:
    return (_short_place if len(path) <= _LONGEST_REMEMBERED else _place)(path)


# --- URLs ---------------------------------------------------------------------------------------


def _git_url_fault(url: bytes) -> str:
    """Give what git's fsck has against a URL, or nothing."""
    if url.startswith(b"-"):
        return "begins with a dash"
    if _RELATIVE.match(url) or url.startswith(b"git://"):
        # A newline in front of the first colon is seen when it is written as such.
        if b"\n" in url or _NEWLINE.search(url, max(url.find(b":"), 0)):
            return "has a line feed"
        return "climbs to the host of a URL" if _CLIMBS_TO_HOST.match(url) else ""
    curl = _CURL.match(url)
    return _curl_url_fault(url[curl.end() :] if curl[1] else url) if curl else ""


def _curl_url_fault(url: bytes) -> str:
    """Give what git's URL normalization has against a URL, or a line feed that it leaves in."""
    match = _URL.fullmatch(url)
    if match is None:
        return "is no URL"
    scheme, user, host, path, rest = match.groups()
    if not _is_host(host, is_file=scheme.lower() == b"file"):
        return "has no valid host and port"
    if _BAD_ESCAPE.search(url, len(scheme)):
        return "has an invalid % escape"
    kept: list[bytes] = []
    for part in path[1:].split(b"/"):
        plain = part.lower().replace(b"%2e", b".")
        if plain == b"..":
            if not kept:
                return "climbs above the root of its host"
            kept.pop()
        elif plain != b".":
            kept.append(part)
    if any(_NEWLINE.search(part) for part in (user or b"", rest, *kept)):
        return "has a line feed"
    return ""


def _is_host(host: bytes, *, is_file: bool) -> bool:
    """Tell whether git takes this for a host and a port; file URLs may have no host."""
    colon = host.rfind(b":")
    if colon < host.rfind(b"]"):
        colon = -1
    missing = not host or host.startswith(b":")
    if missing and not is_file:
        return False
    port = host[colon + 1 :] if colon >= 0 else b""
    name = host[:colon] if colon >= 0 else host
    if not _HOST.fullmatch(name) or (missing and port):
        return False
    number = _PORT.fullmatch(port)
    return not port or (number is not None and int(number[1]) <= 0xFFFF)


def _url_fault(url: bytes) -> str:
    """Give what our rules have against a URL, or nothing."""
    plain = _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), url)
    if which := hidden.first(plain):
        return f"has a control or invisible character ({which})"
    if b"\\" in url:
        return "has a backslash"
    if _HELPER.match(url):
        return "asks for a helper that runs what it is told"
    if _is_option(url, plain):
        return "has a user, host or path that a program may take for an option"
    if len(url) > _LONGEST_URL:
        return f"has {len(url)} bytes, more than {_LONGEST_URL}"
    return ""


def _is_option(url: bytes, plain: bytes) -> bool:
    """Tell whether ssh or the like is given an argument with a dash in front."""
    if b"://" in url:
        # git takes the escapes out before it looks for user and host.
        authority = _AUTHORITY.match(plain)
        return authority is not None and _OPTION.search(authority[1]) is not None
    scp = _SCP.match(url)
    return scp is not None and b":" in scp[0] and _SCP_OPTION.search(scp[0]) is not None
