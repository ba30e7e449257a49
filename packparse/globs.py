"""Globs over paths and identities, with the meaning that git gives them in .gitignore.

Source: gitignore(5) and git's wildmatch.c. A star matches any bytes but ``/``; ``?`` one such byte;
``[...]`` one of a set, with ranges, ``!`` or ``^`` and classes such as ``[:alpha:]``; a backslash
takes the next byte as it is; ``**`` as a whole part of a path matches any number of folders. A glob
with no slash, or one at its end alone, matches at any depth, any other from the root. A slash at
the end means all that is in such a folder.

Each list becomes one pattern without backtracking over what a star matched: what follows a star is
taken where it first occurs, which loses nothing. So the time is bounded by the length of the path
times that of the globs, whatever the path is.
"""

from __future__ import annotations

import re

from packparse import late
from packparse.errors import MisuseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Globs", "IdentityGlobs"]

_LONGEST = 1_000  # bytes of a glob
_DEEPEST = 64  # parts of a path in a glob

_TOKEN = late.pattern(rb"\\(.)|(\*+)|(\?)|(\[)|([^\\*?\[]+)", re.DOTALL)
_ESCAPED = late.pattern(rb"\\.", re.DOTALL)
_SPECIAL = late.pattern(rb"[*?\[]")
_NAMED_CLASS = late.pattern(rb"\[:([^\]]*):\]")
# A name that stands for itself, at any depth, perhaps as that of a folder.
_PLAIN = late.pattern(r"([\w.-]*\w[\w.-]*)/?", re.ASCII)
# Any number of folders, as few as will do.
_FOLDERS = rb"(?:[^/]*+/)*?"

_SLASH = 0x2F
_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
# As git's own ctype has them: ASCII alone, and four kinds of space.
_CLASSES: dict[bytes, Callable[[int], bool]] = {
    b"alnum": lambda c: chr(c).isalnum(),
    b"alpha": lambda c: chr(c).isalpha(),
    b"blank": lambda c: c in b" \t",
    b"cntrl": lambda c: c < 0x20 or c == 0x7F,
    b"digit": lambda c: chr(c).isdigit(),
    b"graph": lambda c: 0x20 < c < 0x7F,
    b"lower": lambda c: chr(c).islower(),
    b"print": lambda c: 0x20 <= c < 0x7F,
    b"punct": lambda c: c in _PUNCTUATION,
    b"space": lambda c: c in b" \t\n\r",
    b"upper": lambda c: chr(c).isupper(),
    b"xdigit": lambda c: chr(c) in "0123456789abcdefABCDEF",
}


class Globs:
    """A list of path globs; ``texts`` are the globs as they were written.

    Read exactly, for lists of what is allowed, a glob matches a whole path, byte for byte.

    Read broadly, for lists of what is denied or watched, it errs on the other side: it matches
    whatever lies below a path that it matches; it takes names for the same that some file system
    takes for the same (case, normal forms, dots and spaces at the end); and it matches what stands
    in the place of a folder that the glob spells out, since a link named ``.github`` brings in
    workflows from elsewhere. Paths are those of files, links and submodules, never of folders.
    """

    __slots__ = ("_broad", "_compiled", "_names", "texts")

    def __init__(self, texts: Iterable[str] = (), *, broad: bool) -> None:
        self.texts = tuple(texts)
        self._broad = broad
        self._names: dict[bytes, str] = {}
        self._compiled: tuple[re.Pattern[bytes], list[str]] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def check(self) -> None:
        """Raise MisuseError for the first glob that is malformed or could match no path."""
        for text in self.texts:
            _translate(text, broad=self._broad)

    def first(self, path: bytes) -> str | None:
        """A glob that matches ``path``, as it was written; None if there is none.

        Raises MisuseError if a glob of the list is malformed; see :meth:`check`.
        """
        if not self.texts:
            return None
        pattern, by_group = self._compiled or self._compile()
        for spelling in _spellings(path) if self._broad else (path,):
            if not self._names.keys().isdisjoint(parts := spelling.split(b"/")):
                return next(self._names[part] for part in parts if part in self._names)
            found = pattern.match(spelling)
            if found and found.lastindex:
                return by_group[found.lastindex - 1]
        return None

    def _compile(self) -> tuple[re.Pattern[bytes], list[str]]:
        others = []
        for text in self.texts:
            # Most of a list that is watched are plain names, and a set is quicker than a pattern.
            plain = self._broad and _PLAIN.fullmatch(text)
            if plain:
                self._names[plain[1].lower().encode()] = text
            else:
                others.append(text)
        self._compiled = _joined(others, broad=self._broad)
        return self._compiled


class IdentityGlobs:
    """A list of globs for people: ``*@example.com``, or ``Jane Doe <jane@example.com>``.

    A glob without angle brackets is matched against the e-mail address alone, one with them against
    name and address, each with its part. The address is matched without regard to the case of ASCII
    letters. A star matches any bytes here, slashes too. ``texts`` are the globs as written.
    """

    __slots__ = ("_compiled", "texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = tuple(texts)
        self._compiled: list[tuple[re.Pattern[bytes] | None, re.Pattern[bytes]]] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def check(self) -> None:
        """Raise MisuseError for the first glob that is malformed or could match nobody."""
        for text in self.texts:
            _identity(text)

    def match(self, identity: bytes) -> bool:
        """Whether a glob matches ``identity``, which is ``Name <email>``.

        One that cannot be taken apart into name and address beyond doubt matches none.
        """
        if self._compiled is None:
            self._compiled = list(map(_identity, self.texts))
        found = _IDENTITY.fullmatch(identity)
        if found is None:
            return False
        name, address = found[1], found[2].lower()
        return any(
            whose.fullmatch(address) and (who is None or who.fullmatch(name))
            for who, whose in self._compiled
        )


# Name and address; the space between them counts to the name.
_IDENTITY = late.pattern(rb"((?:[^<>\0\n]*+(?<= ))?)<([^<>\0\n]*+)>")
_IDENTITY_GLOB = late.pattern(r"([^<>]* )<([^<>]+)>", re.DOTALL)


def _identity(text: str) -> tuple[re.Pattern[bytes] | None, re.Pattern[bytes]]:
    """Patterns of the name, None for any, and of the address in small letters."""
    _check_length(text)
    name, address = "", text
    if "<" in text or ">" in text:
        found = _IDENTITY_GLOB.fullmatch(text)
        if found is None:
            raise _misuse(text, "is to be ADDRESS or NAME <ADDRESS>")
        name, address = found[1], found[2]
    if "@" not in address and "*" not in address:
        raise _misuse(text, "has no e-mail address; for any address write NAME <*>")
    whose = _stars(_pieces(text, address.encode(), low=True), rb".")
    who = _stars(_pieces(text, name.encode(), low=False), rb".")
    return re.compile(who, re.DOTALL) if name else None, re.compile(whose, re.DOTALL)


# --- paths --------------------------------------------------------------------------------------


def _spellings(path: bytes) -> Iterator[bytes]:
    """The path in small letters, and as a file system that takes names for the same has it."""
    from packparse.paths import fold

    low = path.lower()
    yield low
    if not low.isascii() or b"./" in low or b" /" in low or low.endswith((b".", b" ")):
        yield b"/".join(map(fold, low.split(b"/")))


def _joined(texts: Iterable[str], *, broad: bool) -> tuple[re.Pattern[bytes], list[str]]:
    """One pattern for all globs, and the glob of each of its groups.

    Those that match at any depth share one walk over the folders of a path.
    """
    fixed: list[tuple[bytes, str]] = []
    floating: list[tuple[bytes, str]] = []
    for text in texts:
        floats, body = _translate(text, broad=broad)
        (floating if floats else fixed).append((body, text))
    # An empty group at the end of each alternative tells which one it was.
    branches = [body + rb"()" for body, _text in fixed]
    if floating:
        either = b"|".join(body + rb"()" for body, _text in floating)
        branches.append(rb"%s(?:%s)" % (_FOLDERS, either))
    pattern = re.compile(b"|".join(branches) or rb"(?!)", re.DOTALL)
    return pattern, [text for _body, text in fixed + floating]


def _translate(text: str, *, broad: bool) -> tuple[bool, bytes]:
    """The pattern of a glob, and whether it may match at any depth, from where a folder begins."""
    runs, floats, inside = _runs(text, low=broad)
    if not runs:
        return False, rb".++"
    *before, last = runs
    body = _whole(last)
    if broad:
        end, folders = (rb"/", last) if inside else (rb"(?:/|\Z)", last[:-1])
        body = _either([body + end, *_places(folders)])
    else:
        body += rb"/.++\Z" if inside else rb"\Z"
    if not before:
        return floats, body
    # Where a run of parts is first met leaves the most for those after it. A glob of several runs
    # does its own walk, so that nothing of it is tried twice.
    body = _FOLDERS + body
    for number in reversed(range(len(before))):
        run = before[number]
        walk = _FOLDERS if number or floats else b""
        body = rb"(?>%s%s/)%s" % (walk, _whole(run), body)
        if broad:
            body = _either([body, *(walk + place for place in _places(run))])
    return False, body


# A part of a glob: the pattern, and whether it is spelled out.
_Part = tuple[bytes, bool]


def _runs(text: str, *, low: bool) -> tuple[list[list[_Part]], bool, bool]:
    """The parts of a glob between its double stars, and whether one stands before and after."""
    _check_length(text)
    if text.startswith("!"):
        raise _misuse(text, "begins with !, and no glob takes back another; write \\! for a name")
    glob = text.encode()
    names = glob.removeprefix(b"/").removesuffix(b"/").split(b"/")
    floats = len(names) == 1 and not glob.startswith(b"/")
    inside = glob.endswith(b"/")
    if len(names) > _DEEPEST:
        raise _misuse(text, f"has more than {_DEEPEST} parts")
    runs: list[list[_Part]] = [[]]
    for name in names:
        if len(name) > 1 and not name.strip(b"*"):
            runs.append([])
            continue
        if name in {b"", b".", b".."}:
            raise _misuse(text, "has a part that is empty, . or .., as no path has")
        pieces = _pieces(text, name, low=low)
        spelled = not _SPECIAL.search(_ESCAPED.sub(b"", name))
        runs[-1].append((_stars(pieces, rb"[^/]"), spelled))
    if not any(runs) and glob.endswith(b"/"):
        raise _misuse(text, "has no name; for every path write **")
    floats = floats or not runs[0]
    inside = inside or not runs[-1]
    return [run for run in runs if run], floats, inside


def _whole(run: list[_Part]) -> bytes:
    return b"/".join(part for part, _spelled in run)


def _places(run: list[_Part]) -> list[bytes]:
    """Patterns of whatever stands in the place of a folder of ``run`` that is spelled out."""
    ends = [end for end, (_part, spelled) in enumerate(run, 1) if spelled]
    return [_whole(run[:end]) + rb"\Z" for end in reversed(ends)]


def _either(patterns: list[bytes]) -> bytes:
    return patterns[0] if len(patterns) == 1 else rb"(?:%s)" % b"|".join(patterns)


# --- what stands between two slashes ------------------------------------------------------------


def _pieces(text: str, name: bytes, *, low: bool) -> list[bytes]:
    """Patterns of what stands between the stars of ``name``.

    With ``low`` they are for what was put in small letters.
    """
    pieces = [b""]
    at = 0
    while at < len(name):
        token = _TOKEN.match(name, at)
        if token is None:
            raise _misuse(text, "has a backslash with nothing after it")
        at = token.end()
        escaped, star, any_byte, bracket, literal = token.groups()
        if star:
            pieces.append(b"")
        elif any_byte:
            pieces[-1] += rb"[^/]"
        elif bracket:
            members, at = _set(text, name, at, low=low)
            pieces[-1] += _set_pattern(members)
        else:
            pieces[-1] += _literal(escaped or literal, low=low)
    return pieces


def _stars(pieces: list[bytes], any_byte: bytes) -> bytes:
    """One pattern with stars between the pieces: each but the last is taken where it first is."""
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    inner = b"".join(rb"(?>%s*?%s)" % (any_byte, piece) for piece in middle)
    return first + inner + any_byte + (b"*" + last if last else b"*+")


def _literal(text: bytes, *, low: bool) -> bytes:
    if not low:
        return re.escape(text)
    text = text.lower()
    if text.isascii():
        return re.escape(text)
    # Dots and spaces at the end of a piece are not at the end of the name.
    # The globs that ship are read where something is compared with a base.
    from packparse.paths import fold

    folded = fold(text) + text[len(text.rstrip(b". ")) :]
    return rb"(?:%s|%s)" % (re.escape(text), re.escape(folded))


def _set(text: str, name: bytes, at: int, *, low: bool) -> tuple[set[int], int]:
    """The bytes that a set matches, which begins before ``at``, and where it ends.

    With ``low`` a letter is in it in both cases or in neither, as git has it with core.ignoreCase.
    """
    negated = name[at : at + 1] in {b"!", b"^"}
    at += negated
    members: set[int] = set()
    first = True
    while first or name[at : at + 1] != b"]":
        first = False
        named = _NAMED_CLASS.match(name, at)
        if named:
            members |= _class(text, named[1])
            at = named.end()
            continue
        least, at = _member(text, name, at)
        most = least
        if name[at : at + 1] == b"-" and name[at + 1 : at + 2] not in {b"", b"]"}:
            most, at = _member(text, name, at + 1)
        if most < least:
            raise _misuse(text, "has a range that ends before it begins")
        members.update(range(least, most + 1))
    if low:
        members.update(bytes(members).lower() + bytes(members).upper())
    return set(range(256)) - members if negated else members, at + 1


def _member(text: str, name: bytes, at: int) -> tuple[int, int]:
    """One byte of a set, and where the next one is."""
    at += name[at : at + 1] == b"\\"
    if at >= len(name):
        raise _misuse(text, "has a [ without its ]; for the name write \\[")
    if name[at] >= 0x80:
        raise _misuse(text, "has a character outside ASCII in [...], which compares single bytes")
    return name[at], at + 1


def _class(text: str, name: bytes) -> set[int]:
    if name not in _CLASSES:
        known = ", ".join(known.decode() for known in _CLASSES)
        raise _misuse(text, f"has an unknown class in [...]; known: {known}")
    return {byte for byte in range(0x80) if _CLASSES[name](byte)}


def _set_pattern(members: set[int]) -> bytes:
    ranges: list[list[int]] = []
    for byte in sorted(members - {_SLASH}):
        if ranges and ranges[-1][1] == byte - 1:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    return rb"[%s]" % b"".join(rb"\x%02x-\x%02x" % (least, most) for least, most in ranges)


def _check_length(text: str) -> None:
    size = len(text.encode(errors="replace"))
    if not 0 < size <= _LONGEST or "\0" in text or not text.isprintable():
        fault = f"is empty, has more than {_LONGEST} bytes, or has what cannot be printed"
        raise _misuse(text[:20], fault)


def _misuse(text: str, fault: str) -> MisuseError:
    return MisuseError(f"glob {text!a} {fault}")
