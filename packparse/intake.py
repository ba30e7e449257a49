"""A pack or a bundle as it comes in: which of both it is, its header, and then its entries."""

from __future__ import annotations

from packparse import codes
from packparse.bundle import BundleHeader
from packparse.errors import PackError
from packparse.objectformat import SHA1
from packparse.stream import PackStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from packparse.entry import Entry
    from packparse.findings import Findings
    from packparse.limits import Limits
    from packparse.objectformat import ObjectFormat

__all__ = ["Intake"]


class Intake:
    """Takes the bytes of one file in pieces.

    ``object_format`` is the one asked for; None means: what a bundle says, sha1 for a pack.
    ``length`` is that of the file, where it is known. ``opened`` is told the object format before
    the first entry. ``header`` and ``stream`` are None until there is one.
    """

    def __init__(
        self,
        limits: Limits,
        findings: Findings,
        *,
        object_format: ObjectFormat | None,
        length: int | None,
        opened: Callable[[ObjectFormat], object] = lambda _format: None,
    ) -> None:
        self.header: BundleHeader | None = None
        self.stream: PackStream | None = None
        self._limits = limits
        self._findings = findings
        self._asked = object_format
        self._length = length
        self._opened = opened
        self._fed = 0

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Take the next bytes; yield the entries that end in them. Raises PackError."""
        self._fed += len(data)
        if self.stream is None:
            data = self._begin(data)
        return iter(()) if self.stream is None else self.stream.feed(data)

    def close(self) -> None:
        """Say that the file is over. Raises PackError where it may not be."""
        if self.stream is not None:
            if self.header is not None and self._fed == self.header.length:
                message = "no pack follows the header"
                raise PackError(codes.BUNDLE_MISSING_PACK, message, offset=self._fed)
            self.stream.close()
        elif self.header is not None:
            self.header.close()
        else:
            raise PackError(codes.TRUNCATED, "the input is empty", offset=0)

    def _begin(self, data: bytes) -> bytes:
        """Take what is before the pack; return what is left."""
        if self.header is None:
            if data[:1] != b"#":
                # Only a bundle begins so, and anything else is no pack.
                return self._open(self._asked or SHA1, data) if data else b""
            self.header = BundleHeader(self._limits, self._findings)
        header = self.header
        rest = header.feed(data)
        if rest is None:
            return b""
        found, asked = header.object_format, self._asked
        if asked is not None and asked is not found:
            message = f"the bundle is {found.name}, {asked.name} was asked for"
            raise PackError(codes.OBJECT_FORMAT_MISMATCH, message, offset=0)
        return self._open(found, rest)

    def _open(self, object_format: ObjectFormat, data: bytes) -> bytes:
        self._opened(object_format)
        start = 0 if self.header is None else self.header.length
        self.stream = PackStream(
            self._limits, object_format, findings=self._findings, start=start, length=self._length
        )
        return data
