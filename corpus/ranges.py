"""Bundles that are asked for by base and tip: their refs and prerequisites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from corpus.host import Host
from corpus.model import Asked, Case, bad, good
from corpus.writer import Kit, Obj

__all__ = ["cases"]

PLAIN = "range-bundle"
MAIN = b"refs/heads/main"
HOST = "host.pack"


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject; the files that they need are those of closure.py."""
    for case in _cases(kit):
        yield replace(case, bundle=True)


def _cases(kit: Kit) -> Iterator[Case]:
    host = Host(kit)
    blob = kit.blob(b"changed\n")
    root = kit.tree(*host.entries(readme=blob))
    tip = kit.commit(root, host.base)
    pack = kit.packed(blob, root, tip)
    ask: Asked = {"arguments": host.asked(tip), "host": HOST}
    refs: list[tuple[Obj | bytes, bytes]] = [(tip, MAIN)]
    yield good(PLAIN, kit.bundle(pack, refs, [host.base]), "A18, PB13, PB14", both=True, **ask)
    yield good("range-bundle-without-a-prerequisite", kit.bundle(pack, refs), "A18", **ask)
    code = "unexpectedRefs"
    table: dict[str, list[tuple[Obj | bytes, bytes]]] = {
        "two-refs": [(tip, MAIN), (tip, b"refs/heads/other")],
        "a-ref-of-the-base": [(host.base, MAIN)],
        "a-second-ref-of-the-base": [(tip, MAIN), (host.base, b"refs/heads/base")],
        "no-ref": [],
        "head-beside-the-branch": [(tip, b"HEAD"), (tip, MAIN)],
    }
    for name, listed in table.items():
        file = kit.bundle(pack, listed, [host.base])
        both = name == "two-refs"
        full = f"range-bundle-of-{name}"
        yield bad(full, file, code, PLAIN, "A18, PH7, PB20", both=both, **ask)
    wrong = "unexpectedPrerequisites"
    before: dict[str, tuple[list[Obj | bytes], str]] = {
        "an-older-commit": ([host.left], ""),
        "the-base-and-an-older-commit": ([host.base, host.left], ""),
        "nothing-the-host-has": ([kit.absent], "missingPrerequisite"),
        "another-branch": ([host.other], "missingPrerequisite"),
        "a-tree": ([host.root], "missingPrerequisite"),
    }
    for name, (prerequisites, also) in before.items():
        file = kit.bundle(pack, refs, prerequisites)
        both = name == "nothing-the-host-has"
        full = f"range-bundle-on-{name}"
        origin = "A18, PB13, PB14, case 1"
        yield bad(full, file, wrong, PLAIN, origin, also=also, both=both, **ask)
    known = "extra/known-full" + kit.suffix + ".txt"
    listed_only: Asked = {"arguments": ("--known", known)}
    file = kit.bundle(pack, refs, [host.base])
    yield good("range-bundle-and-a-list", file, "PB13, PH11", **listed_only)
    file = kit.bundle(pack, refs, [kit.absent])
    name = "range-bundle-on-nothing-and-a-list"
    yield bad(name, file, "missingPrerequisite", "range-bundle-and-a-list", "PB13, case 1",
              both=True, also="notDescendant", **listed_only)  # fmt: skip
