"""What a rule found in the content of one object, before its place in a file is known."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from packparse.codes import Code
    from packparse.findings import LimitSeen

    class Oddity(NamedTuple):
        """One thing that a rule found.

        ``detail`` says where in the object, in raw bytes: the name of a tree's entry, the name of a
        submodule, the line of an attribute; empty for the object as a whole. Two contents share an
        oddity when code and detail agree. ``message`` is printable ASCII. ``limit`` is the limit
        that was passed, if it is one.
        """

        code: Code
        detail: bytes
        message: str
        limit: LimitSeen | None = None

else:
    from collections import namedtuple

    Oddity = namedtuple("Oddity", "code detail message limit", defaults=(None,))

__all__ = ["Oddity"]
