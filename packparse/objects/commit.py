"""Commits: the tree and the parents they link to.

Source: git-commit-tree and what git's parse_commit_buffer reads: ``tree`` first, then the
``parent`` lines directly after it, and nothing else anywhere.
"""

from __future__ import annotations

import re
from binascii import unhexlify

from packparse import codes
from packparse.errors import PackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.limits import Limits

__all__ = ["links"]

_TREE = 5  # length of "tree "
_PARENT = 7  # length of "parent "

# git reads ids in capitals as well.
_HEADS = {
    width: re.compile(
        rb"tree ([0-9a-fA-F]{%d})\n((?:parent [0-9a-fA-F]{%d}\n)*+)(parent )?" % (digits, digits)
    )
    for width, digits in ((20, 40), (32, 64))
}


def links(data: bytes | bytearray, width: int, limits: Limits) -> tuple[bytes, bytes]:
    """Return (raw id of the tree, raw ids of the parents, packed) of a commit's content.

    ``width`` is that of a raw id. Raises PackError: missingTree, badTreeSha1, badParentSha1,
    tooManyParents.
    """
    head = _HEADS[width].match(data)
    if head is None:
        if data[:_TREE] == b"tree ":
            raise PackError(codes.BAD_TREE_SHA1, "the tree line has no valid id")
        raise PackError(codes.MISSING_TREE, "the commit does not begin with a tree line")
    line = _PARENT + width * 2 + 1
    parents = (head.end(2) - head.start(2)) // line
    if head[3]:
        raise PackError(codes.BAD_PARENT_SHA1, "a parent line has no valid id")
    if parents > limits.parents:
        raise limits.passed("parents", parents, "a commit has")
    # git reads a tree or parent line only where something follows it.
    if head.end() == len(data):
        code = codes.BAD_PARENT_SHA1 if parents else codes.BAD_TREE_SHA1
        raise PackError(code, "the commit ends with a tree or parent line")
    return unhexlify(head[1]), _parents(head[2], width * 2)


def _parents(lines: bytes, digits: int) -> bytes:
    line = _PARENT + digits + 1
    found = [lines[at + _PARENT : at + _PARENT + digits] for at in range(0, len(lines), line)]
    return unhexlify(b"".join(found))
