"""The malicious corpus: a generator, the files it makes, and what must be said of each."""

from __future__ import annotations

from corpus import (
    bundles,
    closure,
    commits,
    container,
    deltas,
    entries,
    gitattributes,
    gitmodules,
    inherited,
    limits,
    links,
    names,
    objects,
    patched,
    policies,
    ranges,
    tags,
    trees,
)

__all__ = ["MODULES"]

# One module a subject; each has ``cases(kit)``.
MODULES = (
    container, entries, deltas, commits, tags, trees, objects, names, links, gitmodules,
    gitattributes, bundles, closure, ranges, inherited, patched, policies, limits,
)  # fmt: skip
