"""The two exceptions that this package raises.

``PackError`` is the only exception that hostile bytes can cause; anything else is a bug here.
``MisuseError`` means that the caller broke the rules of an interface.
"""

from __future__ import annotations

from packparse import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.codes import Code
    from packparse.findings import LimitSeen

__all__ = ["MisuseError", "PackError", "unreadable"]


class MisuseError(Exception):
    """The caller used an interface in a way it forbids (fed a finished stream, say)."""


class PackError(Exception):
    """Untrusted bytes were refused and the parser that raised this stays dead.

    ``code`` says what is wrong, ``offset`` is the byte offset in the file (None when the place is
    not known), ``oid`` the raw object id when one is known, ``limit`` the limit that was passed.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        offset: int | None = None,
        oid: bytes | None = None,
        limit: LimitSeen | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.offset = offset
        self.oid = oid
        self.limit = limit

    def at(self, offset: int, oid: bytes | None = None) -> PackError:
        """The same refusal with the place filled in, where it was not known deeper down."""
        if self.offset is None:
            self.offset = offset
        if self.oid is None:
            self.oid = oid
        return self

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at offset {self.offset}"
        return f"{self.code.name}{where}: {self.message}"


def unreadable(what: str, error: OSError) -> PackError:
    """The refusal (cannotRead) for a file, folder or stream that the system does not give."""
    reason = error.strerror or str(error)
    return PackError(codes.CANNOT_READ, f"{what} cannot be read: {reason}")
