"""Headers and text, which commits and tags have in common.

Source: verify_headers in git's fsck.c for where headers end, gitformat-signature for signatures.
What a reader is shown has to be what is there, so control and bidirectional characters are looked
for: in the bytes, and in what git log makes of them where a commit names an encoding.
"""

from __future__ import annotations

from packparse import checks, hidden, late
from packparse.escape import shorten
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Container, Iterator

    from packparse.codes import Code

__all__ = [
    "SIGNATURES", "frame", "is_signature", "is_utf8", "keeps_ascii", "logical_headers", "others",
    "reading", "shows_itself", "split",
]  # fmt: skip

# Headers with a signature.
SIGNATURES = (b"gpgsig", b"gpgsig-sha256")
# What is in these is text of its own, and may have lines that end in CR LF.
_OF_TEXT = {*SIGNATURES, b"mergetag"}

# More names of headers are not listed for one object.
_MOST_NAMES = 20
# A detail is not longer than this, in bytes.
_LONGEST_NAME = 200

# Joiners of zero width are left alone: some scripts and emoji need them.
_WIDE = hidden.C1 + b"|" + hidden.TURNING
# A carriage return inside of a line writes over what stands before it.
_BARE_CR = rb"\r[^\r\n]"
_IN_TEXT = late.pattern(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]|" + _BARE_CR + b"|" + _WIDE)
_IN_HEADER = late.pattern(rb"[\x00-\x08\x0b-\x1f\x7f]|" + _WIDE)
# The same taken apart, for a quick look at a whole object.
_PLAIN = b"\t\n\f" + bytes(range(0x20, 0x7F))
_NOT_PLAIN = b"\r" + bytes(range(0x80, 0x100))
_CR_IN_LINE = late.pattern(_BARE_CR)
_WIDE_ONE = late.pattern(_WIDE)

# Encodings in which ASCII is ASCII, so that headers and plain text are what they seem. Of those
# the ISO family has C1 as single bytes, and GB18030 has all characters, in four bytes.
_ISO = rb"(?:us-?)?ascii|latin-?[1-9]|iso[-_]?8859[-_]?1?[0-9]"
_KEEP_ASCII = late.pattern(
    rb"(?i:utf-?8|gb18030|" + _ISO + rb"|koi8-?[rtu]|gbk|gb2312|big5(?:-?hkscs)?|euc-?(?:jp|kr|cn)"
    rb"|(?:windows-?|cp)(?:125[0-8]|437|737|775|85[0-8]|86[0-9]|874|93[26]|949|950)"
    rb"|mac-?(?:roman|cyrillic)|s(?:hift)?[-_]?jis)"
)
_UTF8 = late.pattern(rb"(?i:utf-?8)")
_HIDDEN_IN_ENCODING = (
    (late.pattern(rb"(?i:" + _ISO + b")"), late.pattern(rb"[\x80-\x9f]")),
    (
        late.pattern(rb"(?i:gb18030)"),
        late.pattern(
            rb"\x81(?:0(?:[\x81-\x83][0-9]|\x84[01])|1\x828"
            rb"|6(?:\xa5[01]|\xa6[7-9]|\xa7[01]|\xac[2-5]))"
        ),
    ),
)

_SIGNATURE = late.pattern(
    rb"-----BEGIN ([A-Z0-9 ]++)-----\r?\n(?:(?!-----)[^\n]*+\n)*+-----END \1-----[\r\n ]*+"
)
_HEADER = late.pattern(rb"([^\n]++)((?:\n [^\n]*+)*+)\n?")


def split(data: bytes) -> tuple[bytes, bytes]:
    """Return (headers, message) as git cuts them, at the first empty line."""
    end = data.find(b"\n\n")
    return (data, b"") if end < 0 else (data[: end + 1], data[end + 2 :])


def frame(headers: bytes, kind: str) -> list[Oddity]:
    """What is wrong with the headers as a whole; ``kind`` is ``commit`` or ``tag``."""
    found = []
    at = headers.find(b"\0")
    if at >= 0:
        message = f"the {kind} has a NUL among its headers, at byte {at}"
        found.append(Oddity(checks.NUL_IN_HEADER, b"", message))
    if not headers.endswith(b"\n"):
        message = f"the last header of the {kind} does not end in a line feed"
        found.append(Oddity(checks.UNTERMINATED_HEADER, b"", message))
    return found


def logical_headers(lines: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Headers as (name, space, value): a line, and those after it that begin with a space.

    The space is empty where a line has none. The name is empty where the very first line begins
    with a space. Line feeds in a value stand for those before a continued line.
    """
    for match in _HEADER.finditer(lines):
        line, more = match.groups()
        name, space, value = line.partition(b" ")
        yield name, space, value + more.replace(b"\n ", b"\n") if more else value


def others(
    lines: bytes, placed: Container[bytes], known: Container[bytes], code: Code
) -> tuple[list[tuple[bytes, bytes]], list[Oddity]]:
    """Look through the headers behind those that git reads in order.

    Those named in ``placed`` must not stand there; those in ``known`` are returned first, as (name,
    value); ``code`` is what any other is called. Each oddity is given once for a name.
    """
    kept = []
    misplaced: set[bytes] = set()
    unknown: set[bytes] = set()
    shapeless = None
    for name, space, value in logical_headers(lines):
        if name in known:
            kept.append((name, value))
        # Readers that are not strict take a header so.
        elif (word := name.lower().partition(b"\t")[0]) in placed:
            misplaced.add(word)
        elif not (name and space):
            shapeless = name if shapeless is None else shapeless
        elif len(unknown) < _MOST_NAMES:
            unknown.add(name[:_LONGEST_NAME])
    found = [
        Oddity(
            checks.MISPLACED_HEADER,
            word,
            f"a {word.decode()} line stands where git does not read it",
        )
        for word in sorted(misplaced)
    ]
    if shapeless is not None:
        words = f"a header has no name, or no space behind it: {shorten(shapeless)}"
        found.append(Oddity(checks.MALFORMED_HEADER, b"", words))
    found += [
        Oddity(code, name, f"git does not know the header {shorten(name)}")
        for name in sorted(unknown)
    ]
    return kept, found


def is_signature(value: bytes) -> bool:
    """Whether a header's value is one block between a BEGIN and an END line."""
    return _SIGNATURE.fullmatch(value) is not None


def keeps_ascii(encoding: bytes) -> bool:
    """Whether ASCII is known to mean ASCII in the encoding of this name."""
    return _KEEP_ASCII.fullmatch(encoding) is not None


def is_utf8(data: bytes | bytearray) -> bool:
    """Whether ``data`` is UTF-8 throughout."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def shows_itself(data: bytes | bytearray) -> bool:
    """Whether ``data`` is UTF-8, and a reader of it is shown what is there."""
    # Most commits have nothing left: this costs a tenth of a search.
    rest = data.translate(None, _PLAIN)
    if not rest:
        return True
    if rest.translate(None, _NOT_PLAIN) or _CR_IN_LINE.search(data):
        return False
    return is_utf8(data) and _WIDE_ONE.search(rest) is None


def reading(headers: bytes, message: bytes, encoding: bytes | None, kind: str) -> list[Oddity]:
    """What would mislead a reader of a commit or tag, or takes an encoding that is not named.

    ``encoding`` is the value of the encoding header, None where there is none; ``kind`` as for
    :func:`frame`.
    """
    hidden = _hidden_in(encoding) if encoding else None
    plain = _names_with_control(headers, None)
    found = []
    for name in _names_with_control(headers, hidden) if hidden else plain:
        # git itself writes UTF-8 names into a commit that names another encoding, where one byte
        # of a letter may be a control of that encoding.
        mixed = name not in plain and is_utf8(headers)
        code = checks.CONTROL_IN_MESSAGE if mixed else checks.CONTROL_IN_HEADER
        words = f"the header {shorten(name)} has a control or bidirectional character"
        found.append(Oddity(code, name, f"{words} in its encoding" if mixed else words))
    if _IN_TEXT.search(message) or (hidden and hidden.search(message)):
        words = f"the message of the {kind} has a control or bidirectional character"
        found.append(Oddity(checks.CONTROL_IN_MESSAGE, b"", words))
    foreign = encoding is not None and _UTF8.fullmatch(encoding) is None
    if not foreign and not (is_utf8(headers) and is_utf8(message)):
        found.append(Oddity(checks.NOT_UTF8, b"", f"the {kind} is not UTF-8"))
    return found


def _hidden_in(encoding: bytes) -> re.Pattern[bytes] | None:
    for names, characters in _HIDDEN_IN_ENCODING:
        if names.fullmatch(encoding):
            return characters
    return None


def _names_with_control(headers: bytes, hidden: re.Pattern[bytes] | None) -> list[bytes]:
    if not (_IN_HEADER.search(headers) or (hidden and hidden.search(headers))):
        return []
    names: dict[bytes, None] = {}
    for name, _, value in logical_headers(headers):
        pattern = _IN_TEXT if name in _OF_TEXT else _IN_HEADER
        if (
            pattern.search(value)
            or _IN_HEADER.search(name)
            or (hidden and (hidden.search(value) or hidden.search(name)))
        ):
            names[name[:_LONGEST_NAME]] = None
            if len(names) == _MOST_NAMES:
                break
    return list(names)
