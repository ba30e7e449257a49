"""Untrusted bytes as text that is safe on a terminal and in a log.

Names are quoted as git prints them with ``core.quotePath`` on: plain printable ASCII stays as it
is, anything else puts the name in double quotes with C escapes and octal bytes. So no control,
bidirectional or zero-width character reaches a reader.
"""

from __future__ import annotations

from packparse import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

__all__ = ["printable", "quote", "shorten", "unquote"]

_NAMED = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
_NAMED |= {0x22: '\\"', 0x5C: "\\\\"}
_BYTES = {text[1:].encode(): bytes([byte]) for byte, text in _NAMED.items()}
_ESCAPED = late.pattern(rb'\\(?:([abtnvfr"\\])|([0-7]{3}))')
_PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte not in _NAMED)
_LONGEST = 200


def quote(name: bytes) -> str:
    """``name`` as git would print a path; the result is printable ASCII."""
    if not name.translate(None, _PLAIN):
        return name.decode("ascii")
    return '"' + "".join(map(_escape, name)) + '"'


def unquote(text: str) -> bytes | None:
    """The name that :func:`quote` made ``text`` of; None if it makes no such text of any name."""
    raw = text.encode("ascii", "replace")
    name = _ESCAPED.sub(_unescape, raw[1:-1]) if raw[:1] == b'"' else raw
    # Read leniently, and compared: only the one spelling passes.
    return name if quote(name) == text else None


def shorten(name: bytes) -> str:
    """Like :func:`quote`, for messages: at most the first 200 bytes are shown."""
    if len(name) <= _LONGEST:
        return quote(name)
    return f"{quote(name[:_LONGEST])}... ({len(name)} bytes)"


def _unescape(match: Match[bytes]) -> bytes:
    named, octal = match.groups()
    return _BYTES[named] if named else bytes([int(octal, 8) & 0xFF])


def _escape(byte: int) -> str:
    if byte in _NAMED:
        return _NAMED[byte]
    if 0x20 <= byte < 0x7F:
        return chr(byte)
    return f"\\{byte:03o}"


def printable(text: str) -> str:
    """A text in which whatever a terminal might obey, but for line feeds, is spelt out.

    Arguments may come from a file that somebody hostile wrote.
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
