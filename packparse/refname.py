"""Ref names: the rules of git check-ref-format, for names as bytes.

Besides, git-worktree ("REFS") for the refs of worktrees, which git bundle create --all writes.
"""

from __future__ import annotations

from packparse import late

__all__ = ["has_dash_component", "is_pseudoref", "is_valid"]

# git check-ref-format, rules 4, 5 and 10: control characters, space, ~ ^ : ? * [ \
_FORBIDDEN = bytes(range(0x21)) + b"\x7f~^:?*[\\"
_PSEUDOREF = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_WORKTREE = late.pattern(rb"main-worktree/|worktrees/[^/]++/")


def is_valid(name: bytes) -> bool:
    """Whether ``name`` is a full ref name (``refs/...``) or a pseudoref such as ``HEAD``.

    Either may be that of a worktree: behind ``main-worktree/`` or ``worktrees/NAME/``.
    """
    if is_pseudoref(name):
        return True
    if len(name.translate(None, _FORBIDDEN)) < len(name) or name.endswith(b"."):
        return False
    # Rules 3 and 8.
    if b".." in name or b"@{" in name:
        return False
    worktree = None if name.startswith(b"refs/") else _WORKTREE.match(name)
    own = name[worktree.end() :] if worktree else name
    if not own.startswith(b"refs/") and not (worktree and is_pseudoref(own)):
        return False
    return all(map(_valid_component, name.split(b"/")))


def is_pseudoref(name: bytes) -> bool:
    """Whether ``name`` is written like ``HEAD``: capitals and underscores alone."""
    return bool(name) and not name.strip(_PSEUDOREF)


def has_dash_component(name: bytes) -> bool:
    """Whether a part of the name begins with a dash, as an option on a command line does."""
    return name.startswith(b"-") or b"/-" in name


def _valid_component(component: bytes) -> bool:
    return bool(component) and component[:1] != b"." and not component.endswith(b".lock")
