"""Folders that somebody keeps open: nothing can be done with them once he has closed them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from packparse.errors import MisuseError

if TYPE_CHECKING:
    from importer.durable import Files

__all__ = ["Folders"]


class Folders:
    """Open folders of one owner, by names of his. Whatever is asked of closed ones is a misuse."""

    def __init__(self, files: Files, owner: str) -> None:
        self._files = files
        self._owner = owner
        self._open: dict[str, int] = {}

    def open(self, key: str, name: str, *, at: int | None) -> None:
        """Open a folder that is no link, and keep it. Raises OSError."""
        self._open[key] = self._files.open_folder(name, at=at)

    def __getitem__(self, key: str) -> int:
        """The descriptor of a folder. Raises MisuseError once they are closed."""
        self.check()
        return self._open[key]

    def check(self) -> None:
        """Raise MisuseError once they are closed."""
        # The number of a closed folder may be that of another one by now.
        if not self._open:
            message = f"{self._owner} is closed"
            raise MisuseError(message)

    def close(self) -> None:
        """Close all of them; may be done again."""
        while self._open:
            os.close(self._open.popitem()[1])
