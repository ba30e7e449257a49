"""Bundles, version 2 and 3: the header, then a pack.

Source: gitformat-bundle. ``BundleHeader`` is fed like ``PackStream`` and has no input or output of
its own. Where git is lenient and another reader would see something else (a capability that comes
twice, a carriage return that is stripped, two lines for one ref), the header is refused.
"""

from __future__ import annotations

from binascii import unhexlify

from packparse import codes, late, refname
from packparse.errors import MisuseError, PackError
from packparse.escape import shorten
from packparse.objectformat import FORMATS, SHA1, ObjectFormat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from packparse.codes import Code
    from packparse.findings import Findings
    from packparse.limits import Limits

__all__ = ["SIGNATURES", "SIGNATURE_LENGTH", "BundleHeader"]

SIGNATURES = {b"# v2 git bundle\n": 2, b"# v3 git bundle\n": 3}
SIGNATURE_LENGTH = 16

_HEX = b"0123456789abcdef"
# git-rev-list --filter: every form that git can read back.
_SIMPLE_FILTER = (
    rb"(?:blob:none|blob:limit=\d+[kmgKMG]?|tree:\d+|object:type=(?:tag|commit|tree|blob)"
    rb"|sparse:oid=[^\x00-\x20+]+)"
)
_FILTER = late.pattern(rb"(?:%b|combine:%b(?:\+%b)*)\Z" % ((_SIMPLE_FILTER,) * 3))


class BundleHeader:
    """The header of a bundle, pushed in pieces.

    :meth:`feed` returns None while the header goes on and the bytes after it once it has ended;
    :meth:`close` refuses a header that never ended. Both raise PackError. Afterwards:

    ``version`` 2 or 3 · ``object_format`` · ``filter`` the filter's text or None ·
    ``prerequisites`` and ``refs``: raw ids, and raw names to raw ids, in the order of the file ·
    ``length`` bytes of header, the blank line included.
    """

    def __init__(self, limits: Limits, findings: Findings) -> None:
        self.version = 0
        self.object_format: ObjectFormat = SHA1
        self.filter: bytes | None = None
        self.prerequisites: dict[bytes, None] = {}
        self.refs: dict[bytes, bytes] = {}
        self.length = 0
        self.ended = False
        self._limits = limits
        self._findings = findings
        self._capabilities: set[bytes] = set()
        self._seen: set[bytes] = set()
        self._buf = b""

    def feed(self, data: bytes) -> bytes | None:
        """Take the next bytes; return what follows the header, or None if it is not over yet."""
        if self.ended:
            message = "feed: the header has ended"
            raise MisuseError(message)
        self._buf += data
        if not self.version and not self._read_signature():
            return None
        rest, ended = self._read_lines()
        self._buf = b"" if ended else rest
        return rest if ended else None

    def _read_lines(self) -> tuple[bytes, bool]:
        """Read the lines that are whole; return what is left, and whether the header is over."""
        pos = 0
        while not self.ended:
            end = self._buf.find(b"\n", pos)
            self._check_line(pos, end)
            if end < 0:
                break
            self._line(self._buf[pos:end])
            self.length += end + 1 - pos
            pos = end + 1
        return self._buf[pos:], self.ended

    def close(self) -> None:
        """Say that no bytes follow."""
        if self.ended:
            return
        offset = self.length + len(self._buf)
        if self.version and not self._buf:
            message = "the input ends before the blank line"
            raise PackError(codes.BUNDLE_MISSING_BLANK_LINE, message, offset=offset)
        message = "the input ends in the header of the bundle"
        raise PackError(codes.TRUNCATED, message, offset=offset)

    def _read_signature(self) -> bool:
        head = self._buf[:SIGNATURE_LENGTH]
        if not any(signature.startswith(head) for signature in SIGNATURES):
            raise PackError(codes.BAD_SIGNATURE, "no bundle begins here", offset=0)
        if len(head) < SIGNATURE_LENGTH:
            return False
        self.version = SIGNATURES[head]
        self.length = SIGNATURE_LENGTH
        self._buf = self._buf[SIGNATURE_LENGTH:]
        return True

    def _check_line(self, pos: int, end: int) -> None:
        """Refuse the line at ``pos`` for its length, or for being the pack, before it is read."""
        length = (len(self._buf) if end < 0 else end) - pos
        limits = self._limits
        # The bytes that are left of the header, the newline of this line not counted.
        left = limits.bundle_header_bytes - self.length - 1
        most = min(limits.bundle_line_bytes, left)
        if self._buf.startswith(b"PACK", pos) and most >= 4:
            message = "the pack begins without a blank line before it"
            raise PackError(codes.BUNDLE_MISSING_BLANK_LINE, message, offset=self.length)
        if length <= most:
            return
        name = "bundle_line_bytes" if limits.bundle_line_bytes <= left else "bundle_header_bytes"
        least = getattr(limits, name) + 1
        raise limits.passed(name, least, "the header goes on to").at(self.length)

    def _line(self, line: bytes) -> None:
        if not line:
            self.ended = True
        elif line[:1] == b"-":
            self._prerequisite(line[1:])
        elif line[:1] == b"@" and self.version == 3:
            self._capability(self._trimmed(line)[1:])
        else:
            self._reference(self._trimmed(line))

    def _trimmed(self, line: bytes) -> bytes:
        # git strips white space at the end. A prerequisite's line is exempt: its comment is a
        # commit's subject, which may be empty or end in a carriage return.
        trimmed = line.rstrip(b" \t\r")
        if trimmed != line:
            self._find(codes.BUNDLE_LINE_ENDING, f"the line ends in white space: {shorten(line)}")
        return trimmed

    def _capability(self, text: bytes) -> None:
        key, _, value = text.partition(b"=")
        reader = _CAPABILITIES.get(key)
        if reader is None:
            self._refuse(codes.UNKNOWN_CAPABILITY, f"unknown capability {shorten(text)}")
        if key in self._capabilities:
            self._find(codes.REPEATED_CAPABILITY, f"capability {shorten(key)} comes twice")
        self._capabilities.add(key)
        if self.prerequisites or self.refs:
            message = f"capability {shorten(key)} comes after a prerequisite or a reference"
            self._find(codes.MISPLACED_CAPABILITY, message)
        reader(self, value)

    def _object_format(self, value: bytes) -> None:
        known = FORMATS.get(value.decode("ascii", "replace"))
        if known is None:
            self._refuse(codes.UNKNOWN_OBJECT_FORMAT, f"unknown object format {shorten(value)}")
        self.object_format = known

    def _filter(self, value: bytes) -> None:
        if not _FILTER.match(value):
            self._refuse(codes.BAD_FILTER, f"unknown filter {shorten(value)}")
        self.filter = value
        self._find(codes.FILTERED_BUNDLE, f"objects are left out by the filter {shorten(value)}")

    def _prerequisite(self, text: bytes) -> None:
        oid = self._oid(text)
        if text[len(oid) * 2 :][:1] not in (b"", b" "):
            self._refuse_line(text)
        if self.refs:
            message = f"prerequisite {oid.hex()} comes after a reference"
            self._find(codes.MISPLACED_PREREQUISITE, message)
        if oid in self.prerequisites:
            self._find(codes.DUPLICATE_REF, f"prerequisite {oid.hex()} comes twice")
        self.prerequisites[oid] = None
        self._check_count(len(self.prerequisites), "prerequisites")

    def _reference(self, text: bytes) -> None:
        oid = self._oid(text)
        name = text[len(oid) * 2 + 1 :]
        if text[len(oid) * 2 :][:1] != b" " or not name:
            self._refuse_line(text)
        self._check_name(name)
        known = self.refs.setdefault(name, oid)
        if known != oid:
            message = f"{shorten(name)} is {known.hex()} and {oid.hex()}"
            self._find(codes.CONFLICTING_REF, message)
        elif name in self._seen:
            self._find(codes.DUPLICATE_REF, f"{shorten(name)} comes twice")
        self._seen.add(name)
        self._check_count(len(self.refs), "references")

    def _check_name(self, name: bytes) -> None:
        if not refname.is_valid(name):
            self._find(codes.BAD_REF_NAME, f"not a full ref name: {shorten(name)}")
        if refname.has_dash_component(name):
            self._find(codes.DASH_REF_NAME, f"a part begins with a dash: {shorten(name)}")
        if name.startswith((b"refs/replace/", b"refs/grafts/")):
            self._find(codes.REPLACE_REF, f"a replacement of an object: {shorten(name)}")

    def _check_count(self, count: int, what: str) -> None:
        if count > self._limits.refs:
            raise self._limits.passed("refs", count, f"of {what} the header has").at(self.length)

    def _oid(self, text: bytes) -> bytes:
        """The raw id at the beginning of ``text``; only lower case, the one spelling git writes."""
        length = self.object_format.width * 2
        digits = text[:length]
        if len(digits) < length or digits.strip(_HEX):
            self._refuse_line(text)
        return unhexlify(digits)

    def _find(self, code: Code, message: str) -> None:
        self._findings.add(code, message, offset=self.length)

    def _refuse(self, code: Code, message: str) -> NoReturn:
        raise PackError(code, message, offset=self.length)

    def _refuse_line(self, text: bytes) -> NoReturn:
        message = (
            f"neither a capability, a prerequisite nor a reference of a "
            f"{self.object_format.name} repository: {shorten(text)}"
        )
        self._refuse(codes.BUNDLE_BAD_LINE, message)


_CAPABILITIES: dict[bytes, Callable[[BundleHeader, bytes], None]] = {
    b"object-format": BundleHeader._object_format,  # noqa: SLF001 - the table of its methods
    b"filter": BundleHeader._filter,  # noqa: SLF001
}
