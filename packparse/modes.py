"""The kinds that a tree entry's mode says, in the 16 bits that git keeps of it.

Source: object.h and tree-walk.c of git: S_IFREG, S_IFDIR, S_IFLNK and S_IFGITLINK.
"""

from __future__ import annotations

__all__ = ["FILE", "FOLDER", "LINK", "SUBMODULE", "TYPE"]

# The bits that say the kind, and the four kinds.
TYPE = 0o170000
FILE = 0o100000
FOLDER = 0o040000
LINK = 0o120000
SUBMODULE = 0o160000
