"""What the base has at the same path is a note; what the candidate changes there is his own."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Asked, Case, Extra, bad, good
from corpus.writer import DIR, FILE, LINK, SUB, File, Kit, Obj

__all__ = ["cases"]


class _Base:
    """A base of its own for one case, its objects, and the extra files that speak of it."""

    def __init__(self, kit: Kit, name: str, *entries: tuple[bytes, bytes, Obj | bytes]) -> None:
        self.kit = kit
        self.name = f"{name}{kit.suffix}"
        self.blob = kit.blob(b"new\n")
        self.root = kit.tree(*entries, ordered=False)
        self.commit = kit.commit(self.root, message=b"Base\n")
        self.objects = [to for _mode, _name, to in entries if isinstance(to, Obj)]

    def extras(self, *more: Obj) -> Iterator[Extra]:
        """The base's pack and the list of its objects."""
        seen: dict[bytes, Obj] = {}
        for item in (*more, *self.objects, self.root, self.commit):
            seen.setdefault(item.oid, item)
        lines = "".join(f"{item.hex} {item.kind}\n" for item in seen.values())
        yield Extra(f"{self.name}.txt", lines.encode())
        yield Extra(f"{self.name}.pack", self.kit.packed(*seen.values()).data)

    def candidate(self, *entries: tuple[bytes, bytes, Obj | bytes], new: tuple[Obj, ...] = ()
                  ) -> tuple[File, Asked]:  # fmt: skip
        """A commit of these entries, and how it is asked about."""
        root = self.kit.tree(*entries, ordered=False)
        tip = self.kit.commit(root, self.commit)
        words = ["--base", self.commit.hex, "--tip", tip.hex, "--known", f"extra/{self.name}.txt"]
        words += ["--base-pack", f"extra/{self.name}.pack"]
        asked: Asked = {"arguments": tuple(words), "host": f"{self.base_name}.pack"}
        return self.kit.packed(*new, root, tip), asked

    @property
    def base_name(self) -> str:
        """The name without the format, which is added to the host of a case later."""
        return self.name.removesuffix(self.kit.suffix) if self.kit.suffix else self.name


def cases(kit: Kit) -> Iterator[Case | Extra]:
    """All cases of this subject, and the bases."""
    for make in (_links, _escapes, _ways, _modules, _twice):
        yield from make(kit)


def _links(kit: Kit) -> Iterator[Case | Extra]:
    passwd, shadow = kit.blob(b"/etc/passwd"), kit.blob(b"/etc/shadow")
    text = kit.blob(b"/etc/hosts")
    base = _Base(kit, "old-link", (LINK, b"link", passwd), (FILE, b"text", text))
    yield from base.extras()
    new = base.blob
    plain = "inherited-link"
    origin = "PG10, A13"
    notes = ("symlinkAbsolute",)
    file, asked = base.candidate(
        (LINK, b"link", passwd), (FILE, b"new", new), (FILE, b"text", text), new=(new,)
    )
    yield good(plain, file, origin, notes=notes, both=True, **asked)
    file, asked = base.candidate(
        (LINK, b"link", shadow), (FILE, b"new", new), (FILE, b"text", text), new=(new, shadow)
    )
    name = "inherited-link-with-another-target"
    yield bad(name, file, "symlinkAbsolute", plain, origin, both=True, **asked)
    # The content is old, and was harmless as long as it was a text.
    file, asked = base.candidate(
        (LINK, b"link", passwd), (FILE, b"new", new), (LINK, b"text", text), new=(new,)
    )
    name = "inherited-text-that-becomes-a-link"
    yield bad(name, file, "symlinkAbsolute", plain, origin, notes=notes, both=True, **asked)


def _escapes(kit: Kit) -> Iterator[Case | Extra]:
    """A link that left the tree, and leaves it for another place."""
    old, new = kit.blob(b"../old"), kit.blob(b"../../etc/passwd")
    text = kit.blob(b"../../etc/hosts")
    base = _Base(kit, "old-escape", (LINK, b"link", old), (FILE, b"text", text))
    yield from base.extras()
    more = base.blob
    notes = ("symlinkEscapes",)
    plain = "inherited-escape"
    origin = "PG10, A13"
    file, asked = base.candidate(
        (LINK, b"link", old), (FILE, b"new", more), (FILE, b"text", text), new=(more,)
    )
    yield good(plain, file, origin, notes=notes, **asked)
    file, asked = base.candidate((LINK, b"link", new), (FILE, b"text", text), new=(new,))
    name = "inherited-escape-with-another-target"
    yield bad(name, file, "symlinkEscapes", plain, origin, **asked)
    file, asked = base.candidate((LINK, b"link", text), (FILE, b"text", text))
    name = "inherited-escape-with-the-content-of-a-text"
    yield bad(name, file, "symlinkEscapes", plain, origin, **asked)


def _ways(kit: Kit) -> Iterator[Case | Extra]:
    """A link is the same as in the base, and what stands on its way is another link."""
    target, dot = kit.blob(b"d/x/../../file"), kit.blob(b".")
    file = kit.blob()
    inner = kit.tree((FILE, b"z", file))
    folder = kit.tree((DIR, b"x", inner))
    base = _Base(
        kit, "old-way", (DIR, b"d", folder), (FILE, b"file", file), (LINK, b"link", target)
    )
    yield from base.extras(inner)
    plain = "inherited-link-and-its-way"
    origin = "PG10, A13, CVE-2026-71556"
    safe = kit.tree((DIR, b"x", inner), (LINK, b"y", dot))
    made, asked = base.candidate(
        (DIR, b"d", safe), (FILE, b"file", file), (LINK, b"link", target), new=(dot, safe)
    )
    # Followed name by name, the link stays in the tree.
    yield good(plain, made, origin, **asked)
    turned = kit.tree((LINK, b"x", dot), (DIR, b"y", inner))
    made, asked = base.candidate(
        (DIR, b"d", turned), (FILE, b"file", file), (LINK, b"link", target), new=(dot, turned)
    )
    name = "inherited-link-with-a-link-on-its-way"
    yield bad(name, made, "symlinkEscapes", plain, origin, **asked)


def _text(path: bytes = b"sub", url: bytes = b"https://example.com/x", more: bytes = b"") -> bytes:
    return b'[submodule "sub"]\n\tpath = %s\n\turl = %s\n%s' % (path, url, more)


def _modules(kit: Kit) -> Iterator[Case | Extra]:
    """A setting that was bad, and is bad in another way."""
    link = (SUB, b"sub", kit.absent)
    usual = ("gitlinkEntry", "sensitivePath")
    table = {
        "url": (
            "gitmodulesUnsafeUrl", _text(url=b"ext::old"), _text(url=b"ext::sh -c evil"),
            "PG4, CVE-2017-1000117",
        ),
        "option": (
            "gitmodulesUrl", _text(url=b"-x"), _text(url=b"--upload-pack=evil"),
            "PG4, CVE-2018-17456",
        ),
        "path": (
            "gitmodulesUnsafePath", _text(path=b"../old"), _text(path=b"../../home"),
            "PG3, case 25",
        ),
        "update": (
            "gitmodulesUpdate", _text(more=b"\tupdate = !old\n"), _text(more=b"\tupdate = !evil\n"),
            "PG5, CVE-2019-19604",
        ),
    }  # fmt: skip
    for name, (code, old_text, new_text, origin) in table.items():
        old, new = kit.blob(old_text), kit.blob(new_text)
        base = _Base(kit, f"old-{name}", (FILE, b".gitmodules", old), link)
        yield from base.extras()
        touched = kit.blob(old_text + b"# a comment\n")
        notes = (*usual, "gitlinkWithoutEntry") if name == "path" else usual
        plain = f"inherited-{name}"
        file, asked = base.candidate((FILE, b".gitmodules", touched), link, new=(touched,))
        yield good(plain, file, origin, notes=(*notes, code), **asked)
        file, asked = base.candidate((FILE, b".gitmodules", new), link, new=(new,))
        yield bad(f"{plain}-and-another", file, code, plain, origin, notes=notes, **asked)


def _twice(kit: Kit) -> Iterator[Case | Extra]:
    """Of two entries of one name a reviewer is shown one."""
    one, two, three = (kit.blob(b"%d\n" % number) for number in (1, 2, 3))
    base = _Base(kit, "old-twice", (FILE, b"a", one), (FILE, b"a", two))
    yield from base.extras()
    new = base.blob
    notes = ("duplicateEntries",)
    plain = "inherited-name-twice"
    file, asked = base.candidate(
        (FILE, b"a", one), (FILE, b"a", two), (FILE, b"new", new), new=(new,)
    )
    yield good(plain, file, "PF17, case 49", notes=notes, **asked)
    file, asked = base.candidate((FILE, b"a", one), (FILE, b"a", three), new=(three,))
    yield bad("inherited-name-twice-with-new-content", file, "duplicateEntries", plain,
              "PF17, case 49", **asked)  # fmt: skip
    sub = kit.tree((FILE, b"x", one))
    base = _Base(kit, "old-case", (DIR, b"A", sub), (FILE, b"a", two))
    yield from base.extras(one)
    link = kit.blob(b"b")
    notes = ("caseCollision",)
    plain = "inherited-collision"
    file, asked = base.candidate(
        (DIR, b"A", sub), (FILE, b"a", three), (FILE, b"new", new), new=(three, new)
    )
    yield good(plain, file, "PF10, case 80", notes=notes, **asked)
    file, asked = base.candidate((DIR, b"A", sub), (LINK, b"a", link), new=(link,))
    name = "inherited-collision-that-becomes-a-link"
    yield bad(name, file, "symlinkDirectoryCollision", plain, "PF11, CVE-2021-21300", **asked)
