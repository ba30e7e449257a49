"""Attributes: how large a .gitattributes may be, and what it makes git run or rewrite.

Sources: fsck_blob in git's fsck.c for the two bounds (CVE-2022-23521); attr.c and gitattributes(5)
for the syntax; convert.c, merge-ll.c, userdiff.c and archive.c for what the attributes do.

A setting is active where whoever writes the file chooses, by a word of his own, what the host runs
or how the bytes that were reviewed turn into others: ``filter=x``, ``merge=x`` and ``diff=x`` name
a program of the host's configuration, ``export-subst`` puts words from commits into files, and
``working-tree-encoding`` writes another text than the one that was reviewed. Harmless are:

- text, eol, crlf and ident, whose effect git itself fixes: line ends, and the id of the blob;
- merge as text, binary or union, and diff as one of the languages that git knows, which stands for
  a hunk header. A host that configures a program under just such a name has chosen it for them;
- whatever is unset (``-x``), unspecified (``!x``), or set to true where git expects a name.

A setting that a later line takes back is reported all the same, for paths are not known here. So is
one on a line that git skips as a whole (a bad name beside it, a pattern with ``!``, a macro in a
subfolder): versions of git differ in what they skip, and other readers skip nothing.
"""

from __future__ import annotations

import re
from hashlib import sha256

from packparse import late, pathcodes
from packparse.escape import shorten
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from packparse.codes import Code

__all__ = ["Attributes", "read"]

_LARGEST = 100 << 20
_BOM = b"\xef\xbb\xbf"
_MACRO = b"[attr]"
# How many pairs are listed for a reviewer, and how many oddities of one code are kept.
_LISTED = 100
_KEPT = 1_000
# git ignores longer lines; a pattern is not repeated in full for each of thousands of settings.
_LONGEST_KEPT = 2_048
# Bytes of a long line that its detail begins with.
_SHOWN = 100

# git stops at a NUL within a line, and after it in one of its readers; here it is a blank.
_BLANK = rb"[ \t\r\0]"
_LONG_LINE = late.pattern(rb"^([^\n]{2048,}+)", re.MULTILINE)
_PATTERN = (
    rb'(?:"((?:[^"\\\n]|\\[abfnrtv"\\]|\\[0-3][0-7][0-7])*+)"|([^ \t\r\0\n#][^ \t\r\0\n]*+))'
    rb"([^\n]*+)"
)
_LINE = late.pattern(rb"^%b*+%b" % (_BLANK, _PATTERN), re.MULTILINE)
# A quoted pattern can spell the prefix of a macro by escapes.
_MACRO_LINE = late.pattern(rb'^%b*+(?=\[attr\]|")%b' % (_BLANK, _PATTERN), re.MULTILINE)
_SETTING = late.pattern(rb"[^ \t\r\0]++")
_ESCAPE = late.pattern(rb'\\([abfnrtv"\\]|[0-3][0-7][0-7])')
_NAMED = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))

# The names that git's userdiff.c defines; none of them runs anything.
_LANGUAGES = (
    b"ada|bash|bibtex|cpp|csharp|css|default|dts|elixir|fortran|fountain|golang|html|ini|java"
    b"|kotlin|markdown|matlab|objc|pascal|perl|php|python|r|ruby|rust|scheme|swift|tex"
)
_ACTIVE = late.pattern(
    rb"(?P<lfs>(?:filter|merge|diff)=lfs)"
    rb"|(?P<filter>filter=.*+)"
    rb"|(?P<merge>merge=(?!(?:text|binary|union)\Z).*+)"
    rb"|(?P<diff>diff=(?!(?:%b)\Z).*+)"
    rb"|(?P<subst>export-subst)"
    rb"|(?P<encoding>working-tree-encoding=(?!(?i:utf-?8)\Z).++)"
    rb"|(?P<stop>working-tree-encoding|-working-tree-encoding(?:=.*+)?)" % _LANGUAGES,
    re.DOTALL,
)
_WORDS = late.pattern(rb"filter=|merge=|diff=|export-subst|working-tree-encoding")
_MEANING = {
    "lfs": "git runs the filter of Git LFS, which fetches content from a server",
    "filter": "git runs the program that is configured under this name on checkout and add",
    "merge": "git runs the program that is configured under this name to merge",
    "diff": "git runs the program that is configured under this name to show differences",
    "subst": "git archive puts words from the commit into the file",
    "encoding": "git writes the file in another encoding than the one that was reviewed",
    "stop": "git gives up on the file, for this is no encoding",
    "macro": "this macro sets what git runs or rewrites",
}


class Attributes:
    """What is odd in a .gitattributes.

    ``active`` are the first pairs of pattern and setting that make git run or rewrite something,
    100 at most; both are raw bytes, the pattern without its quotes, ``[attr]x`` for a macro.
    ``oddities`` has one for each such pair and one for each line that is too long.
    """

    __slots__ = ("active", "oddities")

    def __init__(self) -> None:
        self.active: list[tuple[bytes, bytes]] = []
        self.oddities: list[Oddity] = []


def read(content: bytes) -> Attributes:
    """Read the content of a .gitattributes, of whatever shape and size."""
    found = Attributes()
    if len(content) > _LARGEST:
        message = f"the file has {len(content)} bytes; git reads {_LARGEST} at most"
        found.oddities.append(Oddity(pathcodes.GITATTRIBUTES_LARGE, b"", message))
        return found
    _find_long_lines(content, found)
    if _WORDS.search(content):
        _find_active(content, found)
    return found


def _find_long_lines(content: bytes, found: Attributes) -> None:
    # git's check ends at the first NUL.
    end = content.find(b"\0")
    lines = _LONG_LINE.finditer(content, 0, len(content) if end < 0 else end)
    for count, match in enumerate(lines):
        if count == _KEPT:
            found.oddities.append(_rest(pathcodes.GITATTRIBUTES_LINE_LENGTH, content))
            break
        line = match[1]
        detail = line[:_SHOWN] + b" " + sha256(line).hexdigest().encode()
        message = f"a line has {len(line)} bytes, and git takes 2047 at most: {shorten(line)}"
        found.oddities.append(Oddity(pathcodes.GITATTRIBUTES_LINE_LENGTH, detail, message))


def _find_active(content: bytes, found: Attributes) -> None:
    macros = _active_macros(content)
    seen: set[tuple[bytes, bytes]] = set()
    for pattern, setting in _settings(_LINE, content):
        match = _ACTIVE.fullmatch(setting)
        if match is None and setting not in macros:
            continue
        pair = pattern[:_LONGEST_KEPT], setting[:_LONGEST_KEPT]
        if pair in seen:
            continue
        if len(seen) == _KEPT:
            found.oddities.append(_rest(pathcodes.GITATTRIBUTES_ACTIVE, content))
            break
        seen.add(pair)
        meaning = _MEANING[(match and match.lastgroup) or "macro"]
        shown = shorten(pattern) or '""'
        message = f"{shown} has {shorten(setting)}: {meaning}"
        found.oddities.append(Oddity(pathcodes.GITATTRIBUTES_ACTIVE, b" ".join(pair), message))
        if len(found.active) < _LISTED:
            found.active.append(pair)


def _rest(code: Code, content: bytes) -> Oddity:
    """What stands for all that is beyond the bound: no other content has the same."""
    detail = sha256(content).hexdigest().encode()
    return Oddity(code, detail, f"there are more of these than the {_KEPT} that are listed")


def _active_macros(content: bytes) -> set[bytes]:
    """Names of the macros that have an active setting, or the name of such a macro."""
    users: dict[bytes, list[bytes]] = {}
    todo: list[bytes] = []
    for pattern, setting in _settings(_MACRO_LINE, content):
        if pattern.startswith(_MACRO):
            name = pattern[len(_MACRO) :]
            if _ACTIVE.fullmatch(setting):
                todo.append(name)
            else:
                users.setdefault(setting, []).append(name)
    active: set[bytes] = set()
    while todo:
        name = todo.pop()
        active.add(name)
        todo += users.pop(name, ())
    return active


def _settings(line: re.Pattern[bytes], content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All pairs of pattern and setting on lines of a kind, in the order of the file."""
    # One of git's readers takes the mark at the beginning for a part of the pattern: no comment.
    text = content.removeprefix(_BOM)
    if text[:1] == b"#":
        text = content
    for match in line.finditer(text):
        quoted, pattern, settings = match.groups()
        if quoted is not None:
            pattern = _unquoted(quoted)
        if pattern.startswith(_MACRO):
            # Between the prefix and the name there may be blanks, and what follows them is ignored.
            pattern = _MACRO + b"".join(pattern[len(_MACRO) :].split()[:1])
        for setting in _SETTING.findall(settings):
            yield pattern, setting


def _unquoted(text: bytes) -> bytes:
    def byte(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        if len(escape) == 3:
            return bytes([int(escape, 8)])
        return bytes([_NAMED.get(escape[0], escape[0])])

    return _ESCAPE.sub(byte, text)
