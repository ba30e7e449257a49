"""The range from base to tip: descent, exact closure, smuggled bases, what is inherited."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.host import Host
from corpus.model import Asked, Case, Extra, bad, good
from corpus.writer import DIR, FILE, LINK, File, Kit, Obj, copy, delta, insert

__all__ = ["cases"]

PLAIN = "closure-plain"
HOST = "host.pack"


class _Range:
    """A candidate that changes one file, and the words that ask for it."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.host = Host(kit)
        self.blob = kit.blob(b"changed\n")
        self.root = kit.tree(*self.host.entries(readme=self.blob))
        self.tip = kit.commit(self.root, self.host.base)

    def new(self) -> list[Obj]:
        """What the candidate brings."""
        return [self.blob, self.root, self.tip]

    def with_tree(self, *more: tuple[bytes, bytes, Obj | bytes]) -> tuple[Obj, Obj]:
        """A tree with further entries, and its commit."""
        root = self.kit.tree(*self.host.entries(readme=self.blob, more=more))
        return root, self.kit.commit(root, self.host.base)

    def ask(self, tip: Obj | bytes | None = None, *, known: str = "full") -> Asked:
        """The arguments of a case, and the host for git."""
        words = self.host.asked(self.tip if tip is None else tip, known=known)
        return {"arguments": words, "host": HOST}


def cases(kit: Kit) -> Iterator[Case | Extra]:
    """All cases of this subject, and the files that they need."""
    made = _Range(kit)
    yield from made.host.extras()
    plain = kit.packed(*made.new())
    yield good(PLAIN, plain, "PH7, PH11, A15, A20", both=True, **made.ask())
    groups = (_honest, _stowaways, _missing, _descent, _smuggled, _deltas, _kinds, _inherited)
    for make in groups:
        yield from make(kit, made)


def _honest(kit: Kit, made: _Range) -> Iterator[Case]:
    host = made.host
    new = made.new()
    second = kit.commit(host.root, made.tip, message=b"Revert\n")
    origin = "A17, PH5"
    known = ("alreadyInBase",)
    yield good("closure-revert", kit.packed(*new, second), origin, **made.ask(second))
    whole = kit.packed(*new, second, host.root)
    yield good("closure-revert-that-brings-the-old-tree", whole, origin, notes=known,
               **made.ask(second))  # fmt: skip
    root, tip = made.with_tree((FILE, b"old", host.old))
    restored = kit.packed(made.blob, root, tip)
    yield good("closure-older-file-restored", restored, origin, both=True, **made.ask(tip))
    again = kit.packed(made.blob, root, tip, host.old)
    yield good("closure-older-file-restored-and-brought", again, origin, notes=known,
               **made.ask(tip))  # fmt: skip
    merge = kit.commit(made.root, host.base, host.right)
    yield good("closure-merge-of-the-base-s-other-parent", kit.packed(*new[:2], merge), "A15, PH9",
               both=True, **made.ask(merge))  # fmt: skip
    renamed = kit.tree(*host.entries(lib=b"src"))
    tip = kit.commit(renamed, host.base)
    yield good("closure-folder-renamed", kit.packed(renamed, tip), origin, both=True,
               **made.ask(tip))  # fmt: skip
    file = kit.packed(*new)
    yield good("closure-seed-of-depth-one", file, "A16, A23", **made.ask(known="base"))
    yield good("closure-list-without-kinds", file, "PH11", **made.ask(known="ids"))
    loose: Asked = {"arguments": host.asked(made.tip, known=""), "host": HOST}
    yield good("closure-without-a-list", file, "PH11", notes=("uncheckedLinks",), **loose)
    offline: Asked = {"arguments": host.asked(made.tip, pack=""), "host": HOST}
    yield good("closure-without-the-base-s-objects", file, "PH11", notes=("baseNotCompared",),
               **offline)  # fmt: skip
    follow = kit.commit(made.root, made.tip, message=b"Empty\n")
    yield good("closure-two-commits", kit.packed(*new, follow), "A20", **made.ask(follow))


def _stowaways(kit: Kit, made: _Range) -> Iterator[Case]:
    host = made.host
    new = made.new()
    stray = kit.blob(b"nobody names it\n")
    folder = kit.tree((FILE, b"x", made.blob))
    beside = kit.commit(made.root, host.base, message=b"Beside\n")
    above = kit.commit(made.root, made.tip, message=b"Above\n")
    apart = kit.commit(made.root, message=b"Apart\n")
    table: dict[str, tuple[Obj, ...]] = {
        "blob": (stray,),
        "tree": (folder,),
        "empty-tree": (kit.tree(),),
        "commit-beside-the-tip": (beside,),
        "commit-above-the-tip": (above,),
        "root-commit": (apart,),
        "known-blob": (host.old,),
        "known-commit": (host.first,),
    }
    for name, more in table.items():
        file = kit.packed(*new, *more)
        notes = ("alreadyInBase",) if name.startswith("known") else ()
        origin = "PH5, A17"
        both = name == "blob"
        full = f"closure-stowaway-{name}"
        at = more[0]
        yield bad(full, file, "stowawayObject", PLAIN, origin, at=at, both=both, notes=notes,
                  **made.ask())  # fmt: skip
    tag = kit.tag(made.tip)
    name = "closure-tag-object"
    yield bad(name, kit.packed(*new, tag), "tagObject", PLAIN, "A17", at=tag, both=True,
              also="stowawayObject", **made.ask())  # fmt: skip
    hidden = kit.packed(*new, kit.blob(b"in the folder\n"),
                        kit.tree((FILE, b"y", kit.blob(b"in the folder\n"))))  # fmt: skip
    name = "closure-stowaway-tree-and-its-blob"
    yield bad(name, hidden, "stowawayObject", PLAIN, "PH5, A17", **made.ask())


def _missing(kit: Kit, made: _Range) -> Iterator[Case]:
    host = made.host
    follow = kit.commit(made.root, made.tip, message=b"Follow\n")
    absent = "absentObject"
    origin = "A16, PH1, case 44"
    blob, root, tip = made.new()
    table = {
        "blob": kit.packed(root, tip),
        "tree": kit.packed(blob, tip),
    }
    for name, file in table.items():
        full = f"closure-without-its-{name}"
        yield bad(full, file, absent, PLAIN, origin, both=name == "blob", **made.ask())
    file = kit.packed(blob, root, follow)
    name = "closure-without-the-commit-between"
    two = "closure-two-commits"
    yield bad(name, file, absent, two, f"{origin}, A15", also="notDescendant", **made.ask(follow))
    gone = kit.commit(made.root, host.base, kit.absent)
    name = "closure-second-parent-missing"
    plain = "closure-merge-of-the-base-s-other-parent"
    yield bad(name, kit.packed(blob, root, gone), absent, plain, origin, **made.ask(gone))
    name = "closure-tip-that-is-not-there"
    file = kit.packed(*made.new())
    yield bad(name, file, "missingTip", PLAIN, "PB15, A20", **made.ask(kit.absent))
    new, stranger = made.with_tree((FILE, b"new", kit.absent))
    file = kit.packed(blob, new, stranger)
    name = "closure-file-that-nobody-has"
    plain = "closure-older-file-restored"
    yield bad(name, file, absent, plain, origin, both=True, **made.ask(stranger))


def _descent(kit: Kit, made: _Range) -> Iterator[Case]:
    host = made.host
    blob, root, tip = made.new()
    origin = "A15, A20, PH7"
    beside = "notDescendant"
    older = kit.commit(root, host.left)
    name = "closure-tip-on-an-older-commit"
    yield bad(name, kit.packed(blob, root, older), beside, PLAIN, origin, both=True,
              **made.ask(older))  # fmt: skip
    other = kit.commit(root, host.other)
    name = "closure-tip-on-another-branch"
    yield bad(name, kit.packed(blob, root, other), "smuggledBase", PLAIN, origin, also=beside,
              **made.ask(other))  # fmt: skip
    alone = kit.commit(root)
    name = "closure-tip-without-a-parent"
    yield bad(name, kit.packed(blob, root, alone), "rootCommit", PLAIN, origin, also=beside,
              at=alone, both=True, **made.ask(alone))  # fmt: skip
    stranger = kit.commit(root, message=b"Unrelated\n")
    merge = kit.commit(root, host.base, stranger)
    name = "closure-merge-of-an-unrelated-history"
    plain = "closure-merge-of-the-base-s-other-parent"
    yield bad(name, kit.packed(blob, root, stranger, merge), "rootCommit", plain, origin,
              at=stranger, **made.ask(merge))  # fmt: skip
    none = ("emptyPack",)
    empty = kit.pack().file()
    yield bad("closure-tip-is-the-base", empty, "emptyRange", PLAIN, "A20", both=True, notes=none,
              **made.ask(host.base))  # fmt: skip
    yield bad("closure-tip-is-older-than-the-base", empty, "emptyRange", PLAIN, "A20", notes=none,
              **made.ask(host.left))  # fmt: skip
    name = "closure-tip-is-the-base-and-objects-come"
    yield bad(name, kit.packed(blob, root, tip), "emptyRange", PLAIN, "A20",
              also="stowawayObject", **made.ask(host.base))  # fmt: skip


def _smuggled(kit: Kit, made: _Range) -> Iterator[Case]:
    """Links to what the host has and the producer was not given."""
    host = made.host
    code = "smuggledBase"
    origin = "A16, PH4, PD17"
    plain = "closure-older-file-restored"
    table: dict[str, tuple[bytes, Obj]] = {
        "file-of-another-branch": (FILE, host.secret),
        "folder-of-another-branch": (DIR, host.other_dir),
        "tree-of-another-branch": (DIR, host.other_root),
        "link-of-another-branch": (LINK, host.target),
    }
    for name, (mode, target) in table.items():
        root, tip = made.with_tree((mode, b"new", target))
        file = kit.packed(made.blob, root, tip)
        both = name == "file-of-another-branch"
        full = f"closure-{name}"
        yield bad(full, file, code, plain, origin, both=both, **made.ask(tip))
    whole = kit.commit(host.other_root, host.base)
    name = "closure-root-of-another-branch"
    yield bad(name, kit.packed(whole), code, PLAIN, origin, **made.ask(whole))
    merge = kit.commit(made.root, host.base, host.other)
    name = "closure-merge-of-another-branch"
    between = "closure-merge-of-the-base-s-other-parent"
    yield bad(name, kit.packed(*made.new()[:2], merge), code, between, origin, **made.ask(merge))
    older = kit.commit(made.root, host.base, host.right)
    name = "closure-merge-outside-of-a-seed-of-depth-one"
    yield bad(name, kit.packed(*made.new()[:2], older), code, between, origin,
              **made.ask(older, known="base"))  # fmt: skip
    # The file is in the base's history, and was not given: the other list makes the difference.
    first = kit.tree(*host.entries(more=((DIR, b"old", host.first_root),)))
    tip = kit.commit(first, host.base)
    file = kit.packed(first, tip)
    yield good("closure-older-folder-restored", file, "A16", **made.ask(tip))
    name = "closure-older-folder-outside-of-a-seed-of-depth-one"
    yield bad(name, file, code, "closure-older-folder-restored", origin,
              **made.ask(tip, known="base"))  # fmt: skip


def _edit(base: Obj) -> tuple[bytes, bytes]:
    """A delta that puts nine bytes before an object, and what it makes."""
    size = len(base.data)
    return delta(size, size + 9, insert(b"one more\n"), copy(0, size)), b"one more\n" + base.data


def _thin(kit: Kit, made: _Range, base: Obj | bytes, known: Obj) -> tuple[File, Obj]:
    """A candidate whose file is a delta on an object outside of the pack."""
    change, text = _edit(known)
    blob = kit.blob(text)
    root = kit.tree(*made.host.entries(readme=blob))
    tip = kit.commit(root, made.host.base)
    pack = kit.pack()
    pack.ref(base, change, known)
    pack.add(root)
    pack.add(tip)
    return pack.file(), tip


def _deltas(kit: Kit, made: _Range) -> Iterator[Case]:
    host = made.host
    plain = "closure-thin"
    file, tip = _thin(kit, made, host.readme, host.readme)
    yield good(plain, file, "PD15, PD17", both=True, **made.ask(tip))
    file, tip = _thin(kit, made, host.secret, host.secret)
    origin = "PD17, A16"
    yield bad("closure-thin-on-another-branch", file, "smuggledBase", plain, origin, both=True,
              **made.ask(tip))  # fmt: skip
    file, tip = _thin(kit, made, kit.absent, host.readme)
    yield bad("closure-thin-on-nothing", file, "missingDeltaBase", plain, "PD14, case 37",
              at=12, both=True, **made.ask(tip))  # fmt: skip
    file, tip = _thin(kit, made, host.readme, host.readme)
    alone: Asked = {"arguments": host.asked(tip, pack="")}
    yield bad("closure-thin-and-no-base-pack", file, "missingDeltaBase", plain, "PD15, case 37",
              at=12, **alone)  # fmt: skip


def _kinds(kit: Kit, made: _Range) -> Iterator[Case]:
    """Links of another kind than the list says."""
    host = made.host
    plain = "closure-older-file-restored"
    table: dict[str, tuple[bytes, Obj]] = {
        "a-known-tree-as-a-file": (FILE, host.lib),
        "a-known-file-as-a-folder": (DIR, host.old),
        "a-known-commit-as-a-file": (FILE, host.left),
        "a-known-tree-as-a-link": (LINK, host.lib),
    }
    for name, (mode, target) in table.items():
        root, tip = made.with_tree((mode, b"new", target))
        file = kit.packed(made.blob, root, tip)
        both = name == "a-known-tree-as-a-file"
        full = f"closure-{name}"
        origin = "PH3, PF19, A16"
        yield bad(full, file, "linkKindMismatch", plain, origin, both=both, **made.ask(tip))
    tip = kit.commit(made.root, host.base, host.root)
    name = "closure-a-known-tree-as-a-parent"
    between = "closure-merge-of-the-base-s-other-parent"
    yield bad(name, kit.packed(*made.new()[:2], tip), "linkKindMismatch", between, "PH3",
              **made.ask(tip))  # fmt: skip
    tip = kit.commit(host.readme, host.base)
    name = "closure-a-known-file-as-the-root"
    yield bad(name, kit.packed(tip), "linkKindMismatch", "closure-revert", "PH3", **made.ask(tip))


def _inherited(kit: Kit, made: _Range) -> Iterator[Case]:
    """What the base has at the same path is no reason to refuse; at another path it is new."""
    host = made.host
    plain = "closure-odd-folder-touched"

    def odd(*more: tuple[bytes, bytes, Obj]) -> tuple[File, Obj]:
        entries = ((FILE, b"Makefile", host.code), (FILE, b"makefile", host.old))
        folder = kit.tree(*entries, (LINK, b"passwd", host.passwd), *more)
        listed = ((FILE, b"README", host.readme), (DIR, b"lib", host.lib), (DIR, b"odd", folder))
        root = kit.tree(*listed)
        tip = kit.commit(root, host.base)
        return kit.packed(made.blob, folder, root, tip), tip

    file, tip = odd((FILE, b"new", made.blob))
    notes = ("caseCollision", "symlinkAbsolute")
    yield good(plain, file, "case 52, case 80", notes=notes, both=True, **made.ask(tip))
    file, tip = odd((FILE, b"NEW", made.blob), (FILE, b"new", made.blob))
    yield bad("closure-odd-folder-with-a-new-collision", file, "caseCollision", plain, "PF10",
              both=True, notes=notes, **made.ask(tip))  # fmt: skip
    file, tip = odd((FILE, b"new", made.blob), (LINK, b"passwd2", host.passwd))
    yield bad("closure-odd-folder-with-a-second-link", file, "symlinkAbsolute", plain, "PG10, A13",
              notes=notes[:1], **made.ask(tip))  # fmt: skip
    root, tip = made.with_tree((LINK, b"passwd", host.passwd))
    file = kit.packed(made.blob, root, tip)
    name = "closure-old-link-at-a-new-path"
    yield bad(name, file, "symlinkAbsolute", "closure-older-file-restored", "PG10, A13",
              **made.ask(tip))  # fmt: skip
    # The link in it led to the root; one folder up it leads out of the tree.
    root, tip = made.with_tree((DIR, b"deep", host.deep))
    file = kit.packed(made.blob, root, tip)
    name = "closure-folder-moved-up-with-its-link"
    yield bad(name, file, "symlinkEscapes", "closure-folder-renamed", "PG10, A13",
              **made.ask(tip))  # fmt: skip
