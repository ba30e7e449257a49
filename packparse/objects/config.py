"""git's configuration format, in which .gitmodules is written, read from untrusted bytes.

Source: git-config, "CONFIGURATION FILE", and what git's own reader does. It reads settings one
after the other and stops at the first fault; those before it count. White space between the words
of a value is kept as it is (before git 2.45 each of its bytes became a space).

Two things that git does with a file in memory, and not with one on disk, are not done here: on
most machines it takes the byte 0xFF for the end of the file and the byte order mark for a fault.
"""

from __future__ import annotations

import re

from packparse import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Settings"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CRLF = late.pattern(rb"\r\n")

# Blank space and comments, then a section header, a setting, or what is neither. All groups are
# possessive: no byte is looked at twice. A carriage return that no line feed follows is a space.
_ITEM = late.pattern(
    rb"""
    (?: [ \t\r\n]++ | [#;] [^\n]*+ )*+
    (?:
        \[ (?!\]) (?P<section> [-.0-9A-Za-z]*+ )
        (?: [ \t\r]++ " (?P<subsection> (?: [^"\\\n]++ | \\[^\n] )*+ ) " )?+ \]
      | (?P<key> [A-Za-z] [-0-9A-Za-z]*+ ) [ \t]*+
        (?: = (?P<value> (?:
                [^"\\\n;\#]++ | \\ (?: [tbn"\\\n] | \Z )
              | " (?: [^"\\\n]++ | \\[tbn"\\\n] )*+ "
            )*+ )
            (?: [;\#] [^\n]*+ )?+
        )?+
        (?: \n | \Z )
      | \Z
      | (?P<fault> . )
    )
    """,
    re.DOTALL | re.VERBOSE,
)
_SPACE = b" \t\r"
# What a value may begin with and what adds nothing to it; space inside of quotes does.
_NOTHING_YET = late.pattern(rb'(?:[ \t\r]++|\\\n|"(?:\\\n)*+")*+')
_QUOTE_OR_ESCAPE = late.pattern(rb'"++|\\(.?)', re.DOTALL)
_ESCAPED = {b"t": b"\t", b"b": b"\b", b"n": b"\n", b'"': b'"', b"\\": b"\\"}
_BACKSLASH = late.pattern(rb"\\(.)", re.DOTALL)


class Settings:
    """The settings of a file of git's configuration format, in their order, by iterating over it.

    Each is (section, key, value). The section is in git's dotted form: ``b"submodule.a"`` both for
    ``[submodule "a"]`` and for ``[submodule.A]``, ``b"core"`` for ``[core]``, empty before the
    first header; settings under one header share one object. A key is in lower case. The value is
    None where the key stands alone. A subsection or a value may have NUL bytes, where git, which
    hands on C strings, sees its end.

    ``stopped`` is None, or, once the iteration is over, the byte offset of the header or setting
    that cannot be read.
    """

    __slots__ = ("_content", "stopped")

    def __init__(self, content: bytes | bytearray) -> None:
        self._content = bytes(content)
        self.stopped: int | None = None

    def __iter__(self) -> Iterator[tuple[bytes, bytes, bytes | None]]:
        begin = len(_BYTE_ORDER_MARK) if self._content.startswith(_BYTE_ORDER_MARK) else 0
        text = self._content.replace(b"\r\n", b"\n")
        section = b""
        for item in _ITEM.finditer(text, begin):
            kind = item.lastgroup
            if kind in {"key", "value"}:
                value = None if kind == "key" else _value(item["value"])
                yield section, item["key"].lower(), value
            elif kind == "fault":
                self.stopped = self._offset(item.start("fault"))
                return
            elif kind is not None:
                section = _section(item)

    def _offset(self, position: int) -> int:
        """Give the offset in the content of a position in it with one byte per line end."""
        for dropped, crlf in enumerate(_CRLF.finditer(self._content)):
            if crlf.start() - dropped >= position:
                return position + dropped
        return position + self._content.count(b"\r\n")


def _section(header: re.Match[bytes]) -> bytes:
    section: bytes = header["section"].lower()
    subsection: bytes | None = header["subsection"]
    if subsection is None:
        return section
    if b"\\" in subsection:
        # The pieces between the backslashes, and the byte that follows each.
        subsection = b"".join(_BACKSLASH.split(subsection))
    return section + b"." + subsection


def _value(written: bytes) -> bytes:
    """Give the value that is written so: without outer space, quotes, escapes and line breaks."""
    # Quotes are balanced and no escape ends in a space: space at the end is outside of quotes.
    value = written.rstrip(_SPACE).lstrip(_SPACE)
    if b'"' not in value and b"\\" not in value:
        return value
    nothing = _NOTHING_YET.match(value)
    return _QUOTE_OR_ESCAPE.sub(_unescaped, value[nothing.end() if nothing else 0 :])


def _unescaped(match: re.Match[bytes]) -> bytes:
    # A quote stands for nothing, nor does an escaped line feed or end of file.
    return _ESCAPED.get(match[1], b"")
