"""Ref names: the rules of git check-ref-format, for names as bytes.

Besides, git-worktree ("REFS") for the refs of worktrees, which git bundle create --all writes.
"""

from __future__ import annotations

from packparse import late

__all__ = ["has_dash_component", "is_pseudoref", "is_valid"]

# git check-ref-format, rules 4 to 6 and 10: control characters, space, ~ ^ : ? * [ \
_FORBIDDEN = late.pattern(rb"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_PSEUDOREF = late.pattern(rb"[A-Z_]+\Z")
_WORKTREE = late.pattern(rb"main-worktree/|worktrees/[^/]++/")


def is_valid(name: bytes) -> bool:
    """Whether ``name`` is a full ref name (``refs/...``) or a pseudoref such as ``HEAD``.

    Either may be that of a worktree: behind ``main-worktree/`` or ``worktrees/NAME/``.
    """
    if is_pseudoref(name):
        return True
    if _FORBIDDEN.search(name) or name.endswith(b"."):
        return False
    worktree = _WORKTREE.match(name)
    own = name[worktree.end() :] if worktree else name
    if not own.startswith(b"refs/") and not (worktree and is_pseudoref(own)):
        return False
    return all(map(_valid_component, name.split(b"/")))


def is_pseudoref(name: bytes) -> bool:
    """Whether ``name`` is written like ``HEAD``: capitals and underscores alone."""
    return _PSEUDOREF.match(name) is not None


def has_dash_component(name: bytes) -> bool:
    """Whether a part of the name begins with a dash, as an option on a command line does."""
    return name.startswith(b"-") or b"/-" in name


def _valid_component(component: bytes) -> bool:
    return bool(component) and component[:1] != b"." and not component.endswith(b".lock")
