"""Annotated tags: headers, names and taggers."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.commits import IDENTITIES
from corpus.model import Case, bad, good
from corpus.writer import FILE, IDENT, File, Kit, Obj

__all__ = ["cases"]

PLAIN = "tag-plain"


class _Tagged:
    """A commit, and packs that add a tag to it."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.blob = kit.blob()
        self.root = kit.tree((FILE, b"file", self.blob))
        self.commit = kit.commit(self.root)

    def pack(self, tag: Obj) -> File:
        """All that is there, and the tag."""
        return self.kit.packed(self.blob, self.root, self.commit, tag)


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    tagged = _Tagged(kit)
    yield good(PLAIN, tagged.pack(kit.tag(tagged.commit)), "PE4", both=True)
    for make in (_lines, _endings, _taggers, _odd):
        yield from make(kit, tagged)


def _lines(kit: Kit, tagged: _Tagged) -> Iterator[Case]:
    commit = tagged.commit
    oid = kit.hex(commit)
    wrong = "badObjectSha1"
    table = {
        "empty": (kit.obj("tag", b""), "missingObject"),
        "without-an-object": (kit.tag(None), "missingObject"),
        "with-a-short-object-id": (kit.tag(oid[:-1]), wrong),
        "with-a-long-object-id": (kit.tag(oid + b"0"), wrong),
        "with-an-object-id-that-is-no-hex": (kit.tag(oid[:-1] + b"g"), wrong),
        "without-a-type": (kit.tag(commit, None), "missingTypeEntry"),
        "that-ends-in-its-type": (kit.obj("tag", b"object " + oid + b"\ntype commit"),
                                  "missingType"),
        "of-an-unknown-type": (kit.tag(commit, b"folder"), "badType"),
        "of-an-empty-type": (kit.tag(commit, b""), "badType"),
        "of-a-type-in-capitals": (kit.tag(commit, b"COMMIT"), "badType"),
        "of-a-type-and-a-space": (kit.tag(commit, b"commit "), "badType"),
        "without-a-name-line": (kit.tag(commit, name=None), "missingTagEntry"),
    }  # fmt: skip
    for name, (tag, code) in table.items():
        file = tagged.pack(tag)
        both = name == "with-a-short-object-id"
        yield bad(f"tag-{name}", file, code, PLAIN, "PE4", at=tag, both=both)
    capitals = kit.tag(oid.upper())
    name = "tag-with-an-object-id-in-capitals"
    yield bad(name, tagged.pack(capitals), "upperCaseId", PLAIN, "PE8", at=capitals)


def _endings(kit: Kit, tagged: _Tagged) -> Iterator[Case]:
    commit = tagged.commit
    head = b"object " + kit.hex(commit) + b"\ntype commit\ntag "
    lines = kit.tag(commit, gap=b"", message=b"").data
    loose = "unterminatedHeader"
    table = {
        "that-ends-in-its-name": (head + b"a" * 40, "missingTag", loose),
        "that-is-too-short": (
            b"object " + kit.hex(tagged.blob) + b"\ntype blob\ntag \n", "tagTooShort", "",
        ),
        "with-nul-in-a-header": (lines + b"x a\0b\n\nm\n", "nulInHeader", "controlInHeader"),
        "with-headers-without-end": (lines[:-1], loose, ""),
        "that-ends-in-a-signature": (lines + b"gpgsig x", "badGpgsig", loose),
        "that-ends-in-a-line-of-a-signature": (
            lines + b"gpgsig x\n y", "badHeaderContinuation", loose,
        ),
    }  # fmt: skip
    for name, (text, code, also) in table.items():
        tag = kit.obj("tag", text)
        pack = tagged.pack(tag)
        notes = _NOTES.get(name, ())
        yield bad(f"tag-{name}", pack, code, PLAIN, "PE4", at=tag, also=also, notes=notes)


_NOTES = {
    "that-ends-in-its-name": ("missingTaggerEntry",),
    "that-is-too-short": ("badTagName", "missingTaggerEntry"),
    "with-nul-in-a-header": ("extraHeaderEntry",),
    "that-ends-in-a-signature": ("malformedHeader",),
    "that-ends-in-a-line-of-a-signature": ("malformedHeader",),
}


def _taggers(kit: Kit, tagged: _Tagged) -> Iterator[Case]:
    commit = tagged.commit
    for name, (identity, code, origin) in IDENTITIES.items():
        tag = kit.tag(commit, tagger=identity)
        file = tagged.pack(tag)
        yield bad(f"tag-tagger-{name}", file, code, PLAIN, f"PE4, {origin}", at=tag)
    shown = {
        "an-escape": kit.tag(commit, tagger=IDENT.replace(b"U", b"\x1b[2K")),
        "an-override": kit.tag(commit, tagger=IDENT.replace(b"U", b"\xe2\x80\xae")),
    }
    for name, tag in shown.items():
        file = tagged.pack(tag)
        yield bad(f"tag-tagger-with-{name}", file, "controlInHeader", PLAIN, "PE9", at=tag)


def _odd(kit: Kit, tagged: _Tagged) -> Iterator[Case]:
    commit = tagged.commit
    table: dict[str, tuple[Obj, str, tuple[str, ...]]] = {
        "of-a-blob": (kit.tag(tagged.blob, b"blob"), "PE4", ()),
        "without-a-tagger": (kit.tag(commit, tagger=None), "case 74", ("missingTaggerEntry",)),
        "with-dots-in-its-name": (kit.tag(commit, name=b"a..b"), "A17", ("badTagName",)),
        "with-a-space-in-its-name": (kit.tag(commit, name=b"a b"), "A17", ("badTagName",)),
        "with-an-escape-in-its-message": (
            kit.tag(commit, message=b"\x1b[8m\n"), "PE9", ("controlInMessage",),
        ),
        "with-another-header": (kit.tag(commit, extra=b"x y\n"), "PE6", ("extraHeaderEntry",)),
        "without-a-final-line-end": (kit.tag(commit, message=b"message"), "case 74", ()),
    }  # fmt: skip
    for name, (tag, origin, notes) in table.items():
        yield good(f"tag-{name}", tagged.pack(tag), origin, notes=notes)
