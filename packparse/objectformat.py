"""The two object formats of git: the hash that names an object, and its width.

Source: gitformat-pack and hash-function-transition in git's documentation.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMATS", "SHA1", "SHA256", "ObjectFormat"]


class ObjectFormat:
    """``name`` as git spells it, ``width`` of a raw id in bytes, ``new`` makes a hash object."""

    __slots__ = ("name", "new", "width")

    def __init__(self, name: str, width: int, new: Callable[..., hashlib._Hash]) -> None:
        self.name = name
        self.width = width
        self.new = new

    def __repr__(self) -> str:
        return f"ObjectFormat({self.name})"


SHA1 = ObjectFormat("sha1", 20, hashlib.sha1)
SHA256 = ObjectFormat("sha256", 32, hashlib.sha256)
FORMATS = {SHA1.name: SHA1, SHA256.name: SHA256}
