"""What commits change, for a reviewer: the parts that can do more than a change of text."""

from __future__ import annotations

__all__ = ["KEPT", "Changes"]

# Of each list this many are kept, and all are counted.
KEPT = 1_000
_LARGEST = 10


class Changes:
    """What the tips' trees have that those of the bases have not, at the same paths.

    Each list holds (raw path, raw text): ``executables`` new executable bits (text empty) ·
    ``symlinks`` new or changed links (the target) · ``submodules`` (the commit's id, raw) ·
    ``sensitive`` touched sensitive paths (``added``, ``changed`` or ``deleted``) · ``attributes``
    (pattern and setting). ``largest`` holds (size in bytes, raw path) of new or changed files, the
    largest first. ``files`` counts changed files, ``counts`` the items of each list. ``compared``
    is False where the bases' trees could not be read: then all that the pack brings is listed.
    """

    LISTS = ("executables", "symlinks", "submodules", "sensitive", "attributes")

    def __init__(self) -> None:
        self.compared = True
        self.files = 0
        self.executables: list[tuple[bytes, bytes]] = []
        self.symlinks: list[tuple[bytes, bytes]] = []
        self.submodules: list[tuple[bytes, bytes]] = []
        self.sensitive: list[tuple[bytes, bytes]] = []
        self.attributes: list[tuple[bytes, bytes]] = []
        self.largest: list[tuple[int, bytes]] = []
        self.counts = dict.fromkeys(self.LISTS, 0)

    def add(self, name: str, path: bytes, text: bytes = b"") -> None:
        """Count an item of a list, and keep it while there is room."""
        self.counts[name] += 1
        kept: list[tuple[bytes, bytes]] = getattr(self, name)
        if len(kept) < KEPT:
            kept.append((path, text))

    def add_file(self, size: int | None, path: bytes) -> None:
        """Count a changed file; ``size`` is None where its content is not in the pack."""
        self.files += 1
        if size is not None:
            self.largest.append((size, path))
            if len(self.largest) > 8 * _LARGEST:
                self._trim()

    def close(self) -> None:
        """Say that nothing more comes."""
        self._trim()
        for name in self.LISTS:
            getattr(self, name).sort()

    def _trim(self) -> None:
        # Two tips may have the same file.
        largest = sorted(set(self.largest), key=lambda item: (-item[0], item[1]))
        self.largest = largest[:_LARGEST]
