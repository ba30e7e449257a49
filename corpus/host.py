"""The trusted side of the cases about ranges: a repository, and what a producer was given of it.

The base merges ``left`` and ``right``, which both follow ``first``; the producer was given these,
or the base alone. ``other`` follows ``first`` as well: another branch, of which nothing was given.
"""

from __future__ import annotations

from corpus.model import Extra
from corpus.writer import DIR, FILE, LINK, TEXT, Kit, Obj

__all__ = ["Host"]

OLD = b"a file that was deleted long ago\n" * 4
SECRET = b"a file of another branch\n" * 8


class Host:
    """Objects of the host, and the extra files that say what is known."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.readme = kit.blob(TEXT)
        self.old = kit.blob(OLD)
        self.secret = kit.blob(SECRET)
        self.code = kit.blob(b"print()\n")
        self.passwd = kit.blob(b"/etc/passwd")
        # In this folder the link stays inside of the tree; one folder up it would not.
        self.up = kit.blob(b"../../README")
        self.deep = kit.tree((LINK, b"up", self.up), (FILE, b"x", self.code))
        self.lib = kit.tree((DIR, b"deep", self.deep), (FILE, b"main.py", self.code))
        # Oddities that history has: what a candidate does not touch is not his.
        self.odd = kit.tree(
            (FILE, b"Makefile", self.code), (FILE, b"makefile", self.old),
            (LINK, b"passwd", self.passwd),
        )  # fmt: skip
        self.first_root = kit.tree((FILE, b"README", self.readme), (FILE, b"old", self.old))
        self.first = kit.commit(self.first_root, message=b"First\n")
        self.left_root = kit.tree((FILE, b"README", self.readme), (DIR, b"lib", self.lib))
        self.left = kit.commit(self.left_root, self.first, message=b"Left\n")
        self.right_root = kit.tree((FILE, b"README", self.readme), (DIR, b"odd", self.odd))
        self.right = kit.commit(self.right_root, self.first, message=b"Right\n")
        self.root = kit.tree(*self.entries())
        self.base = kit.commit(self.root, self.left, self.right, message=b"Base\n")
        self.target = kit.blob(b"secret")
        self.other_dir = kit.tree((LINK, b"link", self.target), (FILE, b"secret", self.secret))
        self.other_root = kit.tree((FILE, b"README", self.readme), (DIR, b"other", self.other_dir))
        self.other = kit.commit(self.other_root, self.first, message=b"Other\n")

    def entries(
        self, *, readme: Obj | None = None, lib: bytes = b"lib", more: tuple[Entry, ...] = ()
    ) -> tuple[Entry, ...]:
        """The entries of the base's tree, with changes."""
        listed: tuple[Entry, ...] = ((FILE, b"README", readme or self.readme),)
        listed += ((DIR, lib, self.lib), (DIR, b"odd", self.odd))
        return listed + more

    def of_base(self) -> list[Obj]:
        """The base and the objects of its tree: a seed of depth one."""
        return [
            self.readme, self.old, self.code, self.passwd, self.up, self.deep, self.lib, self.odd,
            self.root, self.base,
        ]  # fmt: skip

    def given(self) -> list[Obj]:
        """All that is reachable from the base: a full seed."""
        older = [self.first_root, self.first, self.left_root, self.left, self.right_root]
        return [*self.of_base(), *older, self.right]

    def everything(self) -> list[Obj]:
        """All of the host's objects."""
        return [
            *self.given(),
            self.secret,
            self.target,
            self.other_dir,
            self.other_root,
            self.other,
        ]

    def extras(self) -> list[Extra]:
        """The host's pack, and lists of what the producer was given."""
        suffix = self.kit.suffix
        plain = "".join(f"{item.hex}\n" for item in self.given())
        return [
            Extra(f"host{suffix}.pack", self.kit.packed(*self.everything()).data),
            Extra(f"base{suffix}.pack", self.kit.packed(*self.given()).data),
            Extra(f"known-full{suffix}.txt", _typed(self.given())),
            Extra(f"known-base{suffix}.txt", _typed(self.of_base())),
            Extra(f"known-ids{suffix}.txt", plain.encode()),
        ]

    def asked(
        self, tip: Obj | bytes, *, base: Obj | None = None, known: str = "full", pack: str = "host"
    ) -> tuple[str, ...]:
        """The arguments that ask for the range from the base to a tip."""
        suffix = self.kit.suffix
        words = ["--base", (base or self.base).hex, "--tip", self.kit.hex(tip).decode()]
        if known:
            words += ["--known", f"extra/known-{known}{suffix}.txt"]
        if pack:
            words += ["--base-pack", f"extra/{pack}{suffix}.pack"]
        return tuple(words)


Entry = tuple[bytes, bytes, Obj | bytes]


def _typed(items: list[Obj]) -> bytes:
    return "".join(f"{item.hex} {item.kind}\n" for item in items).encode()
