"""Commits: headers, identities, dates, and what else stands in them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.model import Case, bad, good
from corpus.writer import FILE, IDENT, File, Kit, Obj

__all__ = ["IDENTITIES", "cases"]

PLAIN = "commit-plain"
TWO = "commit-with-two-parents"

# What git refuses of an identity: name to (identity, code, origin).
IDENTITIES = {
    "without-a-name": (b"<a@x> 1700000000 +0000", "missingNameBeforeEmail", "PE3"),
    "with-a-bracket-in-its-name": (b"A>B <a@x> 1700000000 +0000", "badName", "PE3"),
    "without-an-address": (b"A 1700000000 +0000", "missingEmail", "PE3"),
    "without-anything": (b"", "missingEmail", "PE3"),
    "without-a-space-before-the-address": (
        b"A<a@x> 1700000000 +0000", "missingSpaceBeforeEmail", "PE3",
    ),
    "with-an-address-without-end": (b"A <a@x 1700000000 +0000", "badEmail", "PE3"),
    "with-a-bracket-in-its-address": (b"A <a<b@x> 1700000000 +0000", "badEmail", "PE3"),
    "without-a-space-before-the-date": (
        b"A <a@x>1700000000 +0000", "missingSpaceBeforeDate", "PE3, case 3, case 16",
    ),
    "without-a-date": (b"A <a@x>", "missingSpaceBeforeDate", "PE3, case 16, case 74"),
    "with-an-empty-date": (b"A <a@x>  +0000", "badDate", "PE3"),
    "with-a-date-in-words": (b"A <a@x> today +0000", "badDate", "PE3"),
    "with-two-addresses": (b"A <a@x> <a@x> 1700000000 +0000", "badDate", "PE3, case 16"),
    "with-a-negative-date": (b"A <a@x> -1 +0000", "badDate", "PE3, case 73"),
    "with-a-padded-date": (b"A <a@x> 01700000000 +0000", "zeroPaddedDate", "PE3, case 73"),
    "with-a-date-of-64-bits": (
        b"A <a@x> 18446744073709551616 +0000", "badDateOverflow", "PE3, case 73",
    ),
    "with-a-zone-of-three-digits": (b"A <a@x> 1700000000 -700", "badTimezone", "PE3, case 16"),
    "with-a-zone-of-two-signs": (b"A <a@x> 1700000000 --700", "badTimezone", "PE3, case 16"),
    "with-a-zone-of-six-digits": (b"A <a@x> 1700000000 +051800", "badTimezone", "PE3, case 16"),
    "with-a-zone-without-sign": (b"A <a@x> 1700000000 0000", "badTimezone", "PE3"),
    "without-a-zone": (b"A <a@x> 1700000000 ", "badTimezone", "PE3"),
}  # fmt: skip


class _Project:
    """A first commit, and packs that add one more commit to it."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.blob = kit.blob()
        self.root = kit.tree((FILE, b"file", self.blob))
        self.first = kit.commit(self.root, message=b"First\n")
        self.second = kit.commit(self.root, message=b"Second\n")

    def plain(self, **lie: bytes | None) -> Obj:
        """A second commit, with the keywords of Kit.commit."""
        return self.kit.commit(self.root, self.first, **lie)  # type: ignore[arg-type]

    def pack(self, commit: Obj) -> File:
        """All that is there, and the commit."""
        return self.kit.packed(self.blob, self.root, self.first, self.second, commit)


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    project = _Project(kit)
    yield good(PLAIN, project.pack(project.plain()), "PE3", both=True)
    two = kit.commit(project.root, project.first, project.second)
    yield good(TWO, project.pack(two), "PE3", both=True)
    for make in (_ids, _order, _headers, _identities, _shown, _odd):
        yield from make(kit, project)


def _ids(kit: Kit, project: _Project) -> Iterator[Case]:
    root, first = project.root, project.first
    tree, parent = kit.hex(root), kit.hex(first)
    wrong_tree, wrong_parent = "badTreeSha1", "badParentSha1"
    table = {
        "empty": (kit.obj("commit", b""), "missingTree"),
        "without-a-tree": (kit.commit(None, first), "missingTree"),
        "that-begins-with-its-parent": (
            kit.obj("commit", b"parent " + parent + b"\n" + kit.commit(root).data),
            "missingTree",
        ),
        "with-a-short-tree-id": (kit.commit(tree[:-1], first), wrong_tree),
        "with-a-long-tree-id": (kit.commit(tree + b"0", first), wrong_tree),
        "with-a-tree-id-that-is-no-hex": (kit.commit(tree[:-1] + b"g", first), wrong_tree),
        "with-two-spaces-before-the-tree-id": (kit.commit(b" " + tree, first), wrong_tree),
        "with-a-carriage-return-after-the-tree-id": (kit.commit(tree + b"\r", first), wrong_tree),
        "with-a-short-parent-id": (kit.commit(root, parent[:-1]), wrong_parent),
        "with-a-long-parent-id": (kit.commit(root, parent + b"0"), wrong_parent),
        "with-a-parent-id-that-is-no-hex": (kit.commit(root, parent[:-1] + b"g"), wrong_parent),
        "with-an-empty-parent-id": (kit.commit(root, b""), wrong_parent),
        "with-a-bad-parent-after-a-good-one": (kit.commit(root, first, b"none"), wrong_parent),
        "that-ends-in-its-tree": (kit.obj("commit", b"tree " + tree + b"\n"), wrong_tree),
        "that-ends-in-its-parent": (
            kit.obj("commit", b"tree " + tree + b"\nparent " + parent + b"\n"),
            wrong_parent,
        ),
    }
    for name, (commit, code) in table.items():
        file = project.pack(commit)
        both = name in {"with-a-short-tree-id", "with-a-long-parent-id"}
        yield bad(f"commit-{name}", file, code, PLAIN, "PE3, A15", at=commit, both=both)
    capitals = {
        "tree": kit.commit(tree.upper(), first),
        "parent": kit.commit(root, parent.upper()),
    }
    for name, commit in capitals.items():
        file = project.pack(commit)
        origin = "PE8, A3"
        full = f"commit-with-a-{name}-id-in-capitals"
        yield bad(full, file, "upperCaseId", PLAIN, origin, at=commit, both=name == "tree")
    double = kit.commit(root, first, first)
    name = "commit-with-the-same-parent-twice"
    file = project.pack(double)
    yield bad(name, file, "duplicateParents", TWO, "PE5, A15", at=double, both=True)


def _order(kit: Kit, project: _Project) -> Iterator[Case]:
    tree, parent = kit.hex(project.root), kit.hex(project.first)
    head = b"tree " + tree + b"\nparent " + parent + b"\n"
    author, committer = b"author " + IDENT + b"\n", b"committer " + IDENT + b"\n"
    again = b"parent " + parent + b"\n"
    end = b"\nA message\n"
    missing, misplaced = "missingAuthor", "misplacedHeader"
    table = {
        "without-an-author": (head + committer, missing, ""),
        "without-a-committer": (head + author, "missingCommitter", ""),
        "with-two-authors": (head + author + author + committer, "multipleAuthors", ""),
        "with-committer-before-author": (head + committer + author, missing, misplaced),
        "with-a-parent-after-the-author": (
            head + author + again + committer, "missingCommitter", misplaced,
        ),
        "with-a-parent-after-the-committer": (head + author + committer + again, misplaced, ""),
        "with-a-second-tree-line": (
            head + author + committer + b"tree " + tree + b"\n", misplaced, "",
        ),
        "with-a-second-committer": (head + author + committer + committer, misplaced, ""),
        "with-an-author-after-the-committer": (head + author + committer + author, misplaced, ""),
    }  # fmt: skip
    for name, (headers, code, also) in table.items():
        commit = kit.obj("commit", headers + end)
        file = project.pack(commit)
        origin = "PE3, PE6, A15, A19, CVE-2026-45022"
        both = name == "with-a-parent-after-the-committer"
        yield bad(f"commit-{name}", file, code, PLAIN, origin, at=commit, also=also, both=both)


def _headers(kit: Kit, project: _Project) -> Iterator[Case]:
    nul, control = "nulInHeader", "controlInHeader"
    table: dict[str, tuple[Obj, str, str, tuple[str, ...]]] = {
        "with-nul-in-a-header": (project.plain(extra=b"x a\0b\n"), nul, control,
                                 ("unknownHeader",)),
        "with-nul-in-the-author": (project.plain(author=IDENT.replace(b"U", b"\0")), nul, control,
                                   ()),
        "with-headers-without-end": (
            kit.obj("commit", project.plain(gap=b"", message=b"").data[:-1]),
            "unterminatedHeader", "", (),
        ),
        "with-nul-in-the-message": (project.plain(message=b"a\0b\n"), "nulInCommit", "",
                                    ("controlInMessage",)),
    }  # fmt: skip
    for name, (commit, code, also, notes) in table.items():
        file = project.pack(commit)
        both = name == "with-nul-in-the-message"
        full = f"commit-{name}"
        yield bad(full, file, code, PLAIN, "PE3, case 76", at=commit, also=also, notes=notes,
                  both=both)  # fmt: skip
    tabs = project.plain(extra=b"x y\n" * 1000)
    name = "commit-with-a-thousand-headers"
    yield good(name, project.pack(tabs), "case 62", notes=("unknownHeader",))


def _identities(kit: Kit, project: _Project) -> Iterator[Case]:
    for name, (identity, code, origin) in IDENTITIES.items():
        commit = project.plain(author=identity)
        file = project.pack(commit)
        both = code == "badTimezone" and "three" in name
        yield bad(f"commit-author-{name}", file, code, PLAIN, origin, at=commit, both=both)
    for name in ("without-an-address", "with-a-padded-date", "with-a-zone-of-three-digits"):
        identity, code, origin = IDENTITIES[name]
        commit = kit.commit(project.root, project.first, committer=identity)
        file = project.pack(commit)
        yield bad(f"commit-committer-{name}", file, code, PLAIN, origin, at=commit)


def _shown(_kit: Kit, project: _Project) -> Iterator[Case]:
    """What a reader is shown is not what is there."""
    texts = {
        "an-escape": b"A \x1b[2K U",
        "a-carriage-return": b"A U\rB",
        "a-backspace": b"A\x08U",
        "a-del": b"A\x7fU",
        "a-c1-control": b"A \xc2\x9b2K U",
        "a-right-to-left-override": b"A \xe2\x80\xae U",
        "an-isolate": b"A \xe2\x81\xa6 U",
    }
    for name, text in texts.items():
        commit = project.plain(author=IDENT.replace(b"A U", text))
        file = project.pack(commit)
        code, both = "controlInHeader", name == "an-escape"
        full = f"commit-author-with-{name}"
        yield bad(full, file, code, PLAIN, "PE9", at=commit, both=both)
    commit = project.plain(extra=b"encoding \x1b]0;x\x07\n")
    name = "commit-encoding-with-an-escape"
    notes = ("malformedHeader",)
    yield bad(name, project.pack(commit), "controlInHeader", PLAIN, "PE7, PE9", at=commit,
              notes=notes)  # fmt: skip


def _odd(_kit: Kit, project: _Project) -> Iterator[Case]:
    signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n"
    utf8 = "\u00e9".encode()
    table: dict[str, tuple[Obj, str, tuple[str, ...]]] = {
        "signed": (project.plain(extra=signature), "PE7, case 71", ()),
        "without-a-message": (project.plain(message=b""), "PE3", ()),
        "in-utf-8": (project.plain(message=utf8), "PE11, case 77", ()),
        "in-latin-1-that-says-so": (
            project.plain(message=b"\xe9\n", extra=b"encoding ISO-8859-1\n"), "PE11, case 71", (),
        ),
        "in-latin-1": (project.plain(message=b"\xe9\n"), "PE11, case 77", ("notUtf8",)),
        "with-an-escape-in-its-message": (
            project.plain(message=b"\x1b[8m hidden\n"), "PE9", ("controlInMessage",),
        ),
        "with-an-override-in-its-message": (
            project.plain(message=b"a \xe2\x80\xae b\n"), "PE9", ("controlInMessage",),
        ),
        "with-an-unknown-header": (
            project.plain(extra=b"change-id zzz\n"), "PE6, case 71", ("unknownHeader",),
        ),
        "with-two-encodings": (
            project.plain(extra=b"encoding UTF-8\nencoding UTF-7\n"), "PE7", ("malformedHeader",),
        ),
        "with-three-signatures": (
            project.plain(extra=signature * 3), "PE7, case 70, CVE-2026-105437",
            ("malformedHeader",),
        ),
        "with-a-broken-signature": (
            project.plain(extra=b"gpgsig none\n"), "PE7, case 70", ("malformedHeader",),
        ),
        "with-a-broken-mergetag": (
            project.plain(extra=b"mergetag none\n"), "PE7", ("malformedHeader",),
        ),
        "of-the-year-33658": (
            project.plain(author=b"A <a@x> 1000000000000 +0000"), "PE10, case 73",
            ("implausibleDate",),
        ),
        "of-a-zone-of-99-hours": (
            project.plain(author=b"A <a@x> 1700000000 +9999"), "PE10, case 16",
            ("implausibleTimezone",),
        ),
        "of-the-epoch": (project.plain(author=b"A <a@x> 0 +0000"), "case 73", ()),
    }  # fmt: skip
    for name, (commit, origin, notes) in table.items():
        yield good(f"commit-{name}", project.pack(commit), origin, notes=notes)
