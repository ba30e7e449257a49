"""Packs made by hand: links, and the grammar of objects. Name to writer."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.hostile_container import (
    FILE,
    FOLDER,
    TEXT,
    Writer,
    of_version,
    tree,
    two_blobs,
)
from tests.differential.hostile_deltas import a_closed_object
from tests.support import packs
from tests.support.packs import (
    PackBuilder,
    commit_bytes,
    outside,
    tag_bytes,
)

# --- links --------------------------------------------------------------------------------------

KINDS = ("commit", "tree", "blob", "tag")

# What links to an id: name to (kind of the source, content made of the id, kind it must have).
SOURCES: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "file": ("tree", lambda oid: tree((FILE, b"x", oid)), "blob"),
    "program": ("tree", lambda oid: tree((b"100755", b"x", oid)), "blob"),
    "group-writable file": ("tree", lambda oid: tree((b"100664", b"x", oid)), "blob"),
    "symbolic link": ("tree", lambda oid: tree((b"120000", b"x", oid)), "blob"),
    "folder": ("tree", lambda oid: tree((FOLDER, b"x", oid)), "tree"),
    "tree of a commit": ("commit", commit_bytes, "tree"),
    "tag of a commit": ("tag", lambda oid: tag_bytes(oid, b"commit"), "commit"),
    "tag of a tree": ("tag", lambda oid: tag_bytes(oid, b"tree"), "tree"),
    "tag of a blob": ("tag", lambda oid: tag_bytes(oid, b"blob"), "blob"),
    "tag of a tag": ("tag", lambda oid: tag_bytes(oid, b"tag"), "tag"),
}


def _absent(source: str) -> Writer:
    kind, content, _ = SOURCES[source]

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add(kind, content(b"\x11" * packs.oid_length(fmt)))
        return pack.build()

    return write


def _absent_parent(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    root = pack.add("tree", b"")
    pack.add("commit", commit_bytes(root.oid, [b"\x11" * packs.oid_length(fmt)]))
    return pack.build()


def _second_parent_absent(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    root = pack.add("tree", b"")
    first = pack.add("commit", commit_bytes(root.oid))
    parents = [first.oid, b"\x11" * packs.oid_length(fmt)]
    pack.add("commit", commit_bytes(root.oid, parents))
    return pack.build()


def _absent_at_the_end(fmt: str) -> bytes:
    # The last of many files of a tree far down.
    pack = PackBuilder(fmt)
    blob = pack.add("blob", b"x")
    files = [(FILE, b"%04d" % number, blob.oid) for number in range(500)]
    files.append((FILE, b"last", b"\x11" * packs.oid_length(fmt)))
    last = pack.add("tree", tree(*files))
    for _ in range(20):
        last = pack.add("tree", tree((FOLDER, b"d", last.oid)))
    pack.add("commit", commit_bytes(last.oid))
    return pack.build()


def _absent_in_a_delta(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    blob = pack.add("blob", b"x")
    base = pack.add("tree", tree((FILE, b"x", blob.oid)))
    width = packs.oid_length(fmt)
    absent = packs.edit(base.data, len(base.data) - width, width, b"\x11" * width)[0]
    pack.add_ofs(base, absent)
    return pack.build()


def _absent_empty_blob(fmt: str) -> bytes:
    # git has the empty tree built in, and not the empty blob.
    pack = PackBuilder(fmt)
    pack.add("tree", tree((FILE, b"x", packs.oid("blob", b"", fmt))))
    return pack.build()


def _absent_as_two_kinds(fmt: str) -> bytes:
    oid = b"\x11" * packs.oid_length(fmt)
    pack = PackBuilder(fmt)
    pack.add("tree", tree((FILE, b"a", oid), (FOLDER, b"b", oid)))
    return pack.build()


MISSING: dict[str, Writer] = {
    **{f"nothing behind a {source}": _absent(source) for source in SOURCES},
    "nothing behind a parent": _absent_parent,
    "nothing behind a second parent": _second_parent_absent,
    "nothing behind the last of many files, far down": _absent_at_the_end,
    "nothing behind a file of a tree that is a delta": _absent_in_a_delta,
    "the empty blob, and it is not there": _absent_empty_blob,
    "nothing behind an id that is a file and a folder": _absent_as_two_kinds,
}


def _mismatch(source: str, actual: str, *, source_first: bool) -> Writer:
    kind, content, _ = SOURCES[source]

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        data = a_closed_object(pack, actual)
        target = outside(actual, data, fmt)
        both = [(actual, data), (kind, content(target.oid))]
        for name, written in reversed(both) if source_first else both:
            pack.add(name, written)
        return pack.build()

    return write


def _parent_is(actual: str) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        target = pack.add(actual, a_closed_object(pack, actual))
        root = pack.add("tree", b"")
        pack.add("commit", commit_bytes(root.oid, [target.oid]))
        return pack.build()

    return write


def _mixed_links(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    blob = pack.add("blob", TEXT)
    pack.add("tree", tree((FILE, b"a", blob.oid), (FOLDER, b"b", blob.oid)))
    return pack.build()


MISMATCHES: dict[str, Writer] = {
    **{
        f"a {source} that is a {actual}, {order}": _mismatch(
            source, actual, source_first=order == "link first"
        )
        for source, (_, _, wanted) in SOURCES.items()
        for actual in KINDS
        for order in ("link first", "link last")
        if actual != wanted
    },
    **{f"a parent that is a {kind}": _parent_is(kind) for kind in KINDS if kind != "commit"},
    "one blob as a file and as a folder": _mixed_links,
}


def alone(kind: str, content: Callable[[bytes, bytes], bytes]) -> Writer:
    """Write a commit of a tree, and one more object; `content` is given both their ids."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        root = pack.add("tree", b"")
        commit = pack.add("commit", commit_bytes(root.oid, message=b"first\n"))
        pack.add(kind, content(commit.oid, root.oid))
        return pack.build()

    return write


def hexed(oid: bytes) -> bytes:
    """Return an id as it stands in a commit or tag."""
    return oid.hex().encode()


def a_file(blob_mode: bytes, name: bytes = b"x") -> Writer:
    """Write a blob and a tree that holds it under this mode and name."""

    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        blob = pack.add("blob", b"x")
        pack.add("tree", tree((blob_mode, name, blob.oid)))
        return pack.build()

    return write


def _tree_cut(drop: int) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        blob = pack.add("blob", b"x")
        whole = tree((FILE, b"a", blob.oid), (FILE, b"b", blob.oid))
        pack.add("tree", whole[: len(whole) - drop])
        return pack.build()

    return write


# Each with the id for which we refuse it. git refuses commits and tags of which it cannot read the
# links before its fsck gives an id.
MALFORMED: dict[str, tuple[str, Writer]] = {
    "an empty commit": ("missingTree", alone("commit", lambda _c, _t: b"")),
    "a commit without a tree": (
        "missingTree",
        alone("commit", lambda c, _t: commit_bytes(None, [c])),
    ),
    "a commit that begins with its parent": (
        "missingTree",
        alone("commit", lambda c, t: b"parent %s\n" % hexed(c) + commit_bytes(t)),
    ),
    "a tree id that is too short": (
        "badTreeSha1",
        alone("commit", lambda _c, t: commit_bytes(hexed(t)[:-1])),
    ),
    "a tree id that is too long": (
        "badTreeSha1",
        alone("commit", lambda _c, t: commit_bytes(hexed(t) + b"0")),
    ),
    "a tree id that is no hex": (
        "badTreeSha1",
        alone("commit", lambda _c, t: commit_bytes(hexed(t)[:-1] + b"g")),
    ),
    "a tree id and the end": ("badTreeSha1", alone("commit", lambda _c, t: b"tree " + hexed(t))),
    "a tree line with a carriage return": (
        "badTreeSha1",
        alone("commit", lambda _c, t: commit_bytes(hexed(t) + b"\r")),
    ),
    "two spaces before a tree id": (
        "badTreeSha1",
        alone("commit", lambda _c, t: commit_bytes(b" " + hexed(t))),
    ),
    "a parent id that is too short": (
        "badParentSha1",
        alone("commit", lambda c, t: commit_bytes(t, [hexed(c)[:-1]])),
    ),
    "a parent id that is too long": (
        "badParentSha1",
        alone("commit", lambda c, t: commit_bytes(t, [hexed(c) + b"0"])),
    ),
    "a parent id that is no hex": (
        "badParentSha1",
        alone("commit", lambda c, t: commit_bytes(t, [hexed(c)[:-1] + b"g"])),
    ),
    "a bad parent after a good one": (
        "badParentSha1",
        alone("commit", lambda c, t: commit_bytes(t, [c, b"none"])),
    ),
    "a commit that ends with its tree": (
        "badTreeSha1",
        alone("commit", lambda _c, t: b"tree %s\n" % hexed(t)),
    ),
    "a commit that ends with its parents": (
        "badParentSha1",
        alone("commit", lambda c, t: b"tree %s\nparent %s\n" % (hexed(t), hexed(c))),
    ),
    "an empty tag": ("missingObject", alone("tag", lambda _c, _t: b"")),
    "a tag without an object": ("missingObject", alone("tag", lambda _c, _t: tag_bytes(None))),
    "an object id that is too short": (
        "badObjectSha1",
        alone("tag", lambda c, _t: tag_bytes(hexed(c)[:-1])),
    ),
    "an object id that is too long": (
        "badObjectSha1",
        alone("tag", lambda c, _t: tag_bytes(hexed(c) + b"0")),
    ),
    "an object id that is no hex": (
        "badObjectSha1",
        alone("tag", lambda c, _t: tag_bytes(hexed(c)[:-1] + b"g")),
    ),
    "a tag without a type": ("missingTypeEntry", alone("tag", lambda c, _t: tag_bytes(c, None))),
    "a tag of an unknown type": ("badType", alone("tag", lambda c, _t: tag_bytes(c, b"folder"))),
    "a tag of an empty type": ("badType", alone("tag", lambda c, _t: tag_bytes(c, b""))),
    "a tag of a type in capitals": ("badType", alone("tag", lambda c, _t: tag_bytes(c, b"COMMIT"))),
    "a tag of a type and a space": (
        "badType",
        alone("tag", lambda c, _t: tag_bytes(c, b"commit ")),
    ),
    "a tag that ends in its type": (
        "missingType",
        alone("tag", lambda c, _t: b"object %s\ntype commit" % hexed(c)),
    ),
    "a tree of one byte": ("badTree", alone("tree", lambda _c, _t: b"1")),
    "a tree cut in its last id": ("badTree", _tree_cut(1)),
    "a tree without its last id": ("badTree", _tree_cut(20)),
    "a tree cut between mode and name": ("badTree", alone("tree", lambda _c, t: b"100644 " + t)),
    "a tree entry without a mode": ("badTree", a_file(b"")),
    "a tree entry without a name": ("badTree", a_file(FILE, b"")),
    "a mode with a digit that is not octal": ("badTree", a_file(b"100648")),
    "a mode with a sign": ("badTree", a_file(b"+100644")),
    "a mode with a second space before it": ("badTree", a_file(b" 100644")),
    "a mode in hex": ("badTree", a_file(b"0x81a4")),
}


def _gitlink(oid: Callable[[str], bytes]) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        pack.add("blob", TEXT)
        pack.add("tree", tree((b"160000", b"sub", oid(fmt))))
        return pack.build()

    return write


def _tag_of_tags(fmt: str) -> bytes:
    pack = PackBuilder(fmt)
    last = pack.add("blob", TEXT)
    for number in range(5):
        last = pack.add("tag", tag_bytes(last.oid, last.kind.encode(), b"v%d" % number))
    return pack.build()


def _nested_trees(depth: int, width: int = 1) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        last = pack.add("tree", b"")
        for _ in range(depth):
            names = [b"%02d" % number for number in range(width)]
            last = pack.add("tree", tree(*((FOLDER, name, last.oid) for name in names)))
        pack.add("commit", commit_bytes(last.oid))
        return pack.build()

    return write


def _octopus(parents: int) -> Writer:
    def write(fmt: str) -> bytes:
        pack = PackBuilder(fmt)
        root = pack.add("tree", b"")
        heads = [
            pack.add("commit", commit_bytes(root.oid, message=b"%d\n" % number))
            for number in range(parents)
        ]
        pack.add("commit", commit_bytes(root.oid, [head.oid for head in heads]))
        return pack.build()

    return write


def _backwards(fmt: str) -> bytes:
    # Everything before what it links to, tag first and blob last.
    blob = outside("blob", TEXT, fmt)
    root = outside("tree", tree((FILE, b"x", blob.oid)), fmt)
    commit = outside("commit", commit_bytes(root.oid), fmt)
    pack = PackBuilder(fmt)
    pack.add("tag", tag_bytes(commit.oid))
    for handle in (commit, root, blob):
        pack.add(handle.kind, handle.data)
    return pack.build()


ODD_OBJECTS: dict[str, Writer] = {
    "no object": lambda fmt: PackBuilder(fmt).build(),
    "no object, version 3": lambda fmt: PackBuilder(fmt, 3).build(),
    "objects in a pack of version 3": of_version(3),
    "blobs that nothing names": lambda fmt: two_blobs(fmt).build(),
    "the empty tree alone": alone("blob", lambda _c, _t: b"beside it"),
    "links that all go forward": _backwards,
    "a submodule whose commit is elsewhere": _gitlink(lambda f: b"\x11" * packs.oid_length(f)),
    "a submodule whose commit is a blob here": _gitlink(lambda f: packs.oid("blob", TEXT, f)),
    "a tag of a tag of a tag of a blob": _tag_of_tags,
    "a tree 2,000 folders deep": _nested_trees(2_000),
    "sixty-six parents": _octopus(66),
    "the same parent twice": alone("commit", lambda c, t: commit_bytes(t, [c, c])),
    "a tree id in capitals": alone("commit", lambda _c, t: commit_bytes(hexed(t).upper())),
    "a parent id in capitals": alone("commit", lambda c, t: commit_bytes(t, [hexed(c).upper()])),
    "a tag's object in capitals": alone("tag", lambda c, _t: tag_bytes(hexed(c).upper())),
    "a parent line behind the author": alone(
        "commit", lambda _c, t: commit_bytes(t, extra=b"parent " + b"1" * 40 + b"\n")
    ),
    "an unknown header": alone("commit", lambda _c, t: commit_bytes(t, extra=b"x y\n")),
    "a commit without a message": alone("commit", lambda _c, t: commit_bytes(t, message=b"")),
}

# Accepted by git, and over a limit of ours.
COSTLY: dict[str, Writer] = {
    "ten folders to the tenth (CVE-2017-15298)": _nested_trees(10, 10),
    "5,000 folders in each other": _nested_trees(5_000),
}
