"""Pointers of Git LFS: files that stand for content which is kept elsewhere.

Source: docs/spec.md and lfs/pointer.go of git-lfs. What git-lfs writes is recognised, and most of
what it also reads: its two older version lines, CR LF, empty lines, white space at the end or no
line feed there. An empty file, which to git-lfs is the pointer of an empty file, is none here.
"""

from __future__ import annotations

import re

from packparse import late
from packparse.signs import LONGEST_POINTER, POINTER

__all__ = ["pointer"]

_LARGEST = (1 << 63) - 1

_ID = rb"sha256:[0-9a-f]{64}"
_POINTER = late.pattern(
    rb"version (?:https://git-lfs\.github\.com/spec/v1|https://hawser\.github\.com/spec/v1"
    rb"|http://git-media\.io/v/2)(?:\r?\n)++"
    rb"((?:ext-[0-9]-\w[\w.-]*+ %b(?:\r?\n)++)*+)"
    rb"oid sha256:([0-9a-f]{64})(?:\r?\n)++"
    rb"size ([0-9]{1,19})\s*+" % _ID
)
_PRIORITY = late.pattern(rb"^ext-([0-9])", re.MULTILINE)


def pointer(content: bytes) -> tuple[str, int] | None:
    """Return (SHA-256 in hexadecimal, size in bytes) of what a pointer stands for.

    None for any other content, at no cost for what is longer or does not begin like one.
    """
    if len(content) >= LONGEST_POINTER or not content.startswith(POINTER):
        return None
    match = _POINTER.fullmatch(content)
    if match is None:
        return None
    extensions, oid, digits = match.groups()
    priorities = _PRIORITY.findall(extensions)
    size = int(digits)
    if size > _LARGEST or len(priorities) != len(set(priorities)):
        return None
    return oid.decode("ascii"), size
