"""Patterns that are compiled when they are first used.

Compiling one takes up to a third of a millisecond, and most files need few of them: all together
would take longer than starting Python does.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False

__all__ = ["pattern"]

if TYPE_CHECKING:
    pattern = re.compile
else:

    class pattern:  # noqa: N801 - to its users it is a function
        """What re.compile makes of the same arguments, once something of it is asked for."""

        def __init__(self, source: bytes | str, flags: int = 0) -> None:
            self._arguments = source, flags

        def __getattr__(self, name: str) -> object:
            # Asked for what is not there: after this, a method is found as fast as any attribute.
            found = getattr(re.compile(*self._arguments), name)
            setattr(self, name, found)
            return found
