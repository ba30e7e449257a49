"""Rows A12 to A18, and A20: what objects, links between them and refs of a bundle may be.

One or a few of each kind: the corpus and the tests of packparse have the others. Here it is shown
that an import asks for all of it, and that nothing of a refused candidate reaches the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support import packs
from tests.support.candidates import (
    TIP,
    Candidate,
    Entry,
    Folder,
    Store,
    existing,
    link,
    program,
    submodule,
)
from tests.support.gate import (
    CORRUPT,
    FOLDER,
    INCOMPLETE,
    LIMIT,
    LOST,
    OLD,
    POLICY,
    SECRET,
    Gate,
    Offer,
)
from tests.support.launches import header
from tests.support.packs import IDENT, PackBuilder, outside

Make = Callable[[Gate], Candidate]
ABSENT = b"\x66" * 20


def _named(name: bytes, mode: bytes = b"100644") -> Make:
    """A file of this name beside those of the base."""
    return lambda gate: gate.upon({**FOLDER, name: Entry(mode, gate.fresh())})


def _folder(**more: bytes | Entry | Folder) -> Make:
    new = {name.replace("_", "-").encode(): node for name, node in more.items()}
    return lambda gate: gate.upon({**FOLDER, **new})


def _raw(*entries: tuple[bytes, bytes]) -> Make:
    """A tree of these modes and names in this order, all of the same new file."""

    def make(gate: Gate) -> Candidate:
        new = Store(gate.fmt)
        blob = new.put("blob", gate.fresh())
        tree = new.raw_tree(*((mode, name, blob) for mode, name in entries), ordered=False)
        return gate.of(new, new.commit(tree, gate.base))

    return make


def _commit(*parents: Callable[[Gate], bytes], **more: bytes) -> Make:
    """A commit with these parents, and whatever else it is written with."""

    def make(gate: Gate) -> Candidate:
        new = Store(gate.fmt)
        tree = {**FOLDER, b"new": gate.fresh()}
        return gate.of(new, new.commit(tree, *(parent(gate) for parent in parents), **more))

    return make


def _base(gate: Gate) -> bytes:
    return gate.base


def _side(gate: Gate) -> bytes:
    return gate.side


def _root(gate: Gate) -> bytes:
    return gate.root


def _existing(mode: bytes, oid: Callable[[Gate], bytes]) -> Make:
    """An entry of the tree names an object that is not in the pack."""
    return lambda gate: gate.upon({**FOLDER, b"taken": existing(mode, oid(gate))})


def _blob(content: bytes) -> Callable[[Gate], bytes]:
    return lambda gate: packs.oid("blob", content, gate.fmt)


def _parent_line(gate: Gate) -> Candidate:
    new = Store(gate.fmt)
    tree = {**FOLDER, b"new": gate.fresh()}
    line = b"parent %s\n" % gate.side.hex().encode()
    return gate.of(new, new.commit(tree, gate.base, extra=line))


def _parent_after_author(gate: Gate) -> Candidate:
    new = Store(gate.fmt)
    tree = new.tree({**FOLDER, b"new": gate.fresh()})
    base = gate.base.hex().encode()
    lines = [b"tree " + tree.hex().encode(), b"author " + IDENT, b"parent " + base]
    text = b"\n".join([*lines, b"committer " + IDENT, b"", b"message\n"])
    return gate.of(new, new.put("commit", text))


def _thin(content: bytes) -> Callable[[Gate], Offer]:
    """The new file is a delta on an object of the host."""

    def make(gate: Gate) -> Offer:
        delta, result = packs.edit(content, 0, 4, gate.fresh())
        candidate = gate.upon({**FOLDER, b"new": result})
        pack = PackBuilder(gate.fmt)
        for oid, (kind, data) in candidate.new.objects.items():
            if data == result:
                pack.add_ref(outside("blob", content, gate.fmt), delta)
            elif oid not in gate.store.objects:
                pack.add(kind, data)
        return gate.offered(candidate, pack=pack.build())

    return make


NAMES: dict[str, tuple[Make, tuple[str, int, int]]] = {
    "A12 two dots": (_named(b".."), ("hasDotdot", POLICY, 6)),
    "A12 a dot": (_named(b"."), ("hasDot", POLICY, 6)),
    "A12 .git": (_named(b".git"), ("hasDotgit", POLICY, 6)),
    "A12 .GIT": (_named(b".GIT"), ("hasDotgit", POLICY, 6)),
    "A12 git~1": (_named(b"git~1"), ("hasDotgit", POLICY, 6)),
    "A12 .git::$INDEX_ALLOCATION": (
        _named(b".git::$INDEX_ALLOCATION"), ("hasDotgit", POLICY, 6),
    ),
    "A12 .git with what HFS ignores": (
        _named(".g\u200cit".encode()), ("hasDotgit", POLICY, 6),
    ),
    "A12 a slash": (_named(b"a/b"), ("fullPathname", POLICY, 6)),
    "A12 no name": (_named(b""), ("badTree", CORRUPT, 6)),
    "A12 a name twice": (
        _raw((b"100644", b"a"), (b"100644", b"a")), ("duplicateEntries", CORRUPT, 6),
    ),
    "A12 names out of order": (
        _raw((b"100644", b"b"), (b"100644", b"a")), ("treeNotSorted", CORRUPT, 6),
    ),
    "A12 a padded mode": (_named(b"x", b"0100644"), ("zeroPaddedFilemode", CORRUPT, 6)),
    "A12 an id of zeros": (
        _existing(b"100644", lambda _g: bytes(20)), ("nullSha1", CORRUPT, 6),
    ),
    "A12 a tree that is none": (
        lambda g: g.of(*_tip(g, lambda new: new.put("tree", b"100644 a"))),
        ("badTree", CORRUPT, 6),
    ),
    "A13 a link that climbs": (
        _folder(x=link(b"../../../etc/passwd")), ("symlinkEscapes", POLICY, 6),
    ),
    "A13 a link that climbs from a folder": (
        _folder(dir={b"x": link(b"../../x")}), ("symlinkEscapes", POLICY, 6),
    ),
    "A13 a link that leads to a path": (
        _folder(x=link(b"/etc/passwd")), ("symlinkAbsolute", POLICY, 6),
    ),
    "A13 a link into .git": (
        _folder(x=link(b".git/hooks/post-checkout")), ("symlinkIntoGit", POLICY, 6),
    ),
    "A13 a link and a folder of one name": (
        _folder(X=link(b"dir"), x={b"y": b"y\n"}), ("symlinkDirectoryCollision", POLICY, 6),
    ),
    "A14 a control character": (_named(b"a\x1bb"), ("controlInName", POLICY, 6)),
    "A14 a line feed": (_named(b"a\nb"), ("controlInName", POLICY, 6)),
    "A14 a name of 5,000 bytes": (_named(b"n" * 5_000), ("nameTooLong", LIMIT, 6)),
    "A14 a link named .gitmodules": (
        _named(b".gitmodules", b"120000"), ("gitmodulesSymlink", POLICY, 6),
    ),
    "A14 a mode of no kind": (_named(b"x", b"140000"), ("unknownFilemode", CORRUPT, 6)),
    "A15 the same parent twice": (_commit(_base, _base), ("duplicateParents", CORRUPT, 6)),
    "A15 a parent behind the committer": (_parent_line, ("misplacedHeader", CORRUPT, 6)),
    "A15 a parent behind the author": (_parent_after_author, ("missingCommitter", CORRUPT, 6)),
    "A15 a commit of no parent": (_commit(), ("rootCommit", POLICY, 6)),
    "A15 a parent that nobody has": (
        _commit(_base, lambda _g: ABSENT), ("absentObject", INCOMPLETE, 6),
    ),
    "A15 A19 NUL in a message": (
        _commit(_base, message=b"a\0b\n"), ("nulInCommit", CORRUPT, 6),
    ),
    "A15 no author": (_commit(_base, author=b"A"), ("missingEmail", CORRUPT, 6)),
    "A16 a file that nobody has": (
        _existing(b"100644", lambda _g: ABSENT), ("absentObject", INCOMPLETE, 6),
    ),
    "A16 a folder that nobody has": (
        _existing(b"40000", lambda _g: ABSENT), ("absentObject", INCOMPLETE, 6),
    ),
    "A16 a file of another branch": (
        _existing(b"100644", _blob(SECRET)), ("smuggledBase", POLICY, 6),
    ),
    "A16 a file that was deleted long ago": (
        _existing(b"100644", _blob(OLD)), ("smuggledBase", POLICY, 6),
    ),
    "A16 a file that no branch has": (
        _existing(b"100644", _blob(LOST)), ("smuggledBase", POLICY, 6),
    ),
    "A16 a folder of another branch": (
        _existing(b"40000", lambda g: _tree_of(g, g.side)), ("smuggledBase", POLICY, 6),
    ),
    "A16 a parent on another branch": (_commit(_base, _side), ("smuggledBase", POLICY, 6)),
    "A16 a file taken for a folder": (
        _existing(b"40000", _blob(b"file a\n")), ("linkKindMismatch", CORRUPT, 6),
    ),
    "A20 a commit beside the base": (_commit(_side), ("smuggledBase", POLICY, 6)),
    "A20 a commit on the base's parent": (_commit(_root), ("smuggledBase", POLICY, 6)),
}  # fmt: skip


def _tip(gate: Gate, put: Callable[[Store], bytes]) -> tuple[Store, bytes]:
    new = Store(gate.fmt)
    return new, new.commit(put(new), gate.base)


def _tree_of(gate: Gate, commit: bytes) -> bytes:
    _kind, content = gate.store.objects[commit]
    return bytes.fromhex(content[5:45].decode())


@pytest.mark.parametrize("name", NAMES)
def test_a_candidate_with_one_hostile_object_is_refused(name: str, gate: Gate) -> None:
    make, expected = NAMES[name]
    scene = gate.launch()
    gate.put(scene, gate.offered(make(gate)))
    gate.refuse(scene, *expected)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (_named(b".git"), ("hasDotgit", POLICY, 6)),
        (_existing(b"100644", _blob(SECRET)), ("smuggledBase", POLICY, 6)),
        (_existing(b"100644", lambda _g: b"\x66" * 32), ("absentObject", INCOMPLETE, 6)),
        (_folder(x=link(b"/etc/passwd")), ("symlinkAbsolute", POLICY, 6)),
    ],
    ids=["A12 .git", "A16 a file of another branch", "A16 a file that nobody has", "A13 a path"],
)
def test_it_is_the_same_with_sha_256(make: Make, code: tuple[str, int, int], gate256: Gate) -> None:
    scene = gate256.launch()
    gate256.put(scene, gate256.offered(make(gate256)))
    gate256.refuse(scene, *code)


# --- A13, A14: what is odd, and is let through --------------------------------------------------


def _merge(gate: Gate) -> Candidate:
    new = Store(gate.fmt)
    left = new.commit({**FOLDER, b"left": gate.fresh()}, gate.base)
    right = new.commit({**FOLDER, b"right": gate.fresh()}, gate.base)
    return gate.of(new, new.commit({**FOLDER, b"both": gate.fresh()}, left, right))


ODD: dict[str, tuple[Make, dict[str, int]]] = {
    "A13 links that stay in the tree": (
        _folder(x=link(b"dir/b"), dir={b"b": b"b\n", b"up": link(b"../a")}), {},
    ),
    "A13 a program": (_folder(tool=program(b"#!/bin/sh\nexit 0\n")), {}),
    "A14 a link named .gitattributes": (
        _folder(**{".gitattributes": link(b"a")}),
        {"gitattributesSymlink": 1, "sensitivePath": 1},
    ),
    "A14 a submodule without an entry": (
        _folder(module=submodule()), {"gitlinkEntry": 1, "gitlinkWithoutEntry": 1},
    ),
    "A14 mode 100600": (_named(b"x600", b"100600"), {"badFilemode": 1}),
    "A14 mode 100664": (_named(b"x664", b"100664"), {"badFilemode": 1}),
    "A14 a backslash": (_named(b"a\\b"), {"windowsForbiddenName": 1}),
    "A14 a name that is not UTF-8": (_named(b"\xff\xfe"), {"notUtf8Name": 1}),
    "A14 a pointer of LFS": (
        _folder(large=b"version https://git-lfs.github.com/spec/v1\noid sha256:"
                + b"ab" * 32 + b"\nsize 12345\n"), {"lfsPointer": 1},
    ),
    "A15 a merge with a commit of the range": (_merge, {}),
    "A19 a message that is not UTF-8": (
        _commit(_base, message=b"caf\xe9\n"), {"notUtf8": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_a13_a14_what_is_odd_and_harmless_is_imported_and_told(name: str, gate: Gate) -> None:
    make, found = ODD[name]
    scene = gate.launch()
    gate.put(scene, gate.offered(make(gate)))
    assert gate.accept(scene).receipt.packcheck.found == found


def test_a14_a_filter_of_the_candidate_is_told_and_runs_nowhere(gate: Gate) -> None:
    """LFS, filters and merge drivers: what they would run is the host's to configure."""
    scene = gate.launch()
    rules = b"*.bin filter=lfs diff=lfs merge=lfs -text\n"
    gate.put(scene, gate.offered(gate.upon({**FOLDER, b".gitattributes": rules})))
    assert gate.accept(scene).receipt.packcheck.found == {
        "gitattributesActive": 3,
        "sensitivePath": 1,
    }


# --- A16, A17: what is in the pack and not asked for --------------------------------------------


def _stowaway(kind: str) -> Callable[[Gate], Offer]:
    def make(gate: Gate) -> Offer:
        data = {
            "blob": b"a stowaway\n",
            "tree": packs.tree_bytes([(b"100644", b"x", packs.oid("blob", b"file a\n"))]),
            "commit": packs.commit_bytes(_tree_of(gate, gate.base), [gate.base]),
            "tag": packs.tag_bytes(gate.base),
        }
        return gate.odd(lambda pack: pack.add(kind, data[kind]))

    return make


def _twice(gate: Gate) -> Offer:
    content = gate.fresh()
    candidate = gate.upon({**FOLDER, b"new": content})
    pack = gate.packing(candidate)
    pack.add("blob", content)
    return gate.offered(candidate, pack=pack.build())


STOWAWAYS: dict[str, tuple[Callable[[Gate], Offer], tuple[str, int, int]]] = {
    "A17 a file that no commit reaches": (_stowaway("blob"), ("stowawayObject", POLICY, 6)),
    "A17 a folder that no commit reaches": (_stowaway("tree"), ("stowawayObject", POLICY, 6)),
    "A17 a commit that the candidate does not reach": (
        _stowaway("commit"), ("stowawayObject", POLICY, 6),
    ),
    "A17 a tag": (_stowaway("tag"), ("tagObject", POLICY, 6)),
    "A17 an object twice": (_twice, ("duplicateObject", CORRUPT, 6)),
    "A16 a delta on a file of another branch": (_thin(SECRET), ("smuggledBase", POLICY, 6)),
    "A16 a delta on a file that no branch has": (_thin(LOST), ("smuggledBase", POLICY, 6)),
    "A16 a delta on what nobody has": (
        _thin(b"nobody has this\n" * 9), ("missingDeltaBase", INCOMPLETE, 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STOWAWAYS)
def test_a16_a17_what_is_in_the_pack_is_the_range_and_nothing_else(name: str, gate: Gate) -> None:
    make, expected = STOWAWAYS[name]
    scene = gate.launch()
    gate.put(scene, make(gate))
    gate.refuse(scene, *expected)


def test_a17_an_object_that_the_producer_was_given_as_well_is_only_noted(gate: Gate) -> None:
    scene = gate.launch()
    gate.put(scene, gate.odd(lambda pack: pack.add("blob", b"file a\n")))
    assert gate.accept(scene).receipt.packcheck.found == {"alreadyInBase": 1}


def test_a16_a_delta_on_a_file_of_the_base_is_completed_by_git(gate: Gate) -> None:
    scene = gate.launch()
    gate.put(scene, _thin(b"file b\n" * 40)(gate))
    receipt = gate.accept(scene).receipt
    assert (receipt.objects.count, receipt.pack.appended) == (3, 1)


# --- A18: the header of a bundle ----------------------------------------------------------------


def _header(change: Callable[[bytes, str], bytes]) -> Callable[[Gate], Offer]:
    """An honest bundle whose header was changed; the change is told the candidate."""

    def make(gate: Gate) -> Offer:
        offer = gate.honest()
        at = offer.bundle.index(b"PACK")
        head = change(offer.bundle[:at], offer.candidate)
        return replace(offer, bundle=head + offer.bundle[at:])

    return make


def _ref(name: bytes) -> Callable[[Gate], Offer]:
    return _header(lambda head, _tip: head.replace(b"refs/heads/candidate", name))


def _second(name: bytes, oid: bytes | None = None) -> Callable[[Gate], Offer]:
    return _header(lambda head, tip: head[:-1] + (oid or tip.encode()) + b" " + name + b"\n\n")


def _capability(line: bytes) -> Callable[[Gate], Offer]:
    return _header(
        lambda head, _tip: head.replace(b"# v2 git bundle\n", b"# v3 git bundle\n" + line)
    )


BAD_NAME = ("badRefName", CORRUPT, 6)
ONE_REF = ("unexpectedRefs", POLICY, 6)
HEADERS: dict[str, tuple[Callable[[Gate], Offer], tuple[str, int, int]]] = {
    "A18 a ref that climbs": (_ref(b"refs/../x"), BAD_NAME),
    "A18 a ref HEAD": (_ref(b"HEAD"), ONE_REF),
    "A18 a ref that is a tag": (_ref(b"refs/tags/v1"), ONE_REF),
    "A18 a ref of a remote": (_ref(b"refs/remotes/origin/main"), ONE_REF),
    "A18 a plus": (_ref(b"+refs/heads/main"), BAD_NAME),
    "A18 a star": (_ref(b"refs/heads/*"), BAD_NAME),
    "A18 an option": (_ref(b"--upload-pack=x"), BAD_NAME),
    "A18 an option as a branch": (_ref(b"refs/heads/-x"), ("dashRefName", POLICY, 6)),
    "A18 a replacement": (_ref(b"refs/replace/" + b"ab" * 20), ("replaceRef", POLICY, 6)),
    "A18 no ref": (
        _header(lambda head, tip: head.replace(tip.encode() + b" refs/heads/candidate\n", b"")),
        ONE_REF,
    ),
    "A18 two refs": (_second(b"refs/heads/main"), ONE_REF),
    "A18 HEAD beside the ref": (_second(b"HEAD"), ONE_REF),
    "A18 a ref twice, of different commits": (
        _second(b"refs/heads/candidate", b"ab" * 20), ("conflictingRef", CORRUPT, 6),
    ),
    "A18 a prerequisite more": (
        _header(lambda head, _tip: head.replace(b"-", b"-%b \n-" % (b"ab" * 20), 1)),
        ("missingPrerequisite", INCOMPLETE, 6),
    ),
    "A18 a capability that is not known": (
        _capability(b"@object-format=sha1\n@unknown=x\n"), ("unknownCapability", CORRUPT, 6),
    ),
    "A18 a filter, and something is left out": (
        _capability(b"@filter=blob:none\n"), ("filteredBundle", INCOMPLETE, 6),
    ),
    "A18 another object format": (
        _header(lambda _head, _tip: header("sha256", "ab" * 32, "cd" * 32)),
        ("objectFormatMismatch", CORRUPT, 6),
    ),
    "A18 a capability in version 2": (
        _header(lambda head, _tip: head.replace(b"bundle\n", b"bundle\n@object-format=sha1\n")),
        ("bundleBadLine", CORRUPT, 6),
    ),
    "A18 a line of 9,000 bytes": (
        _ref(b"refs/heads/" + b"n" * 9_000), ("bundleLineTooLong", LIMIT, 6),
    ),
    "A18 a carriage return": (
        _ref(b"refs/heads/candidate\r"), ("bundleLineEnding", CORRUPT, 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a18_a_bundle_with_another_header_is_refused(name: str, gate: Gate) -> None:
    make, expected = HEADERS[name]
    scene = gate.launch()
    gate.put(scene, make(gate))
    gate.refuse(scene, *expected)


def test_a18_a_header_of_version_3_that_says_what_is_so_is_fine(gate: Gate) -> None:
    scene = gate.launch()
    gate.put(scene, _capability(b"@object-format=sha1\n")(gate))
    gate.accept(scene)


# --- A20: ancestry ------------------------------------------------------------------------------


def _of_a_commit(oid: Callable[[Gate], bytes], *, empty: bool) -> Callable[[Gate], Offer]:
    """The candidate is a commit that the host has; the pack is empty, or one of something else."""

    def make(gate: Gate) -> Offer:
        offer = gate.honest()
        tip = oid(gate).hex()
        at = offer.bundle.index(b"PACK")
        pack = PackBuilder(gate.fmt).build() if empty else offer.bundle[at:]
        head = offer.bundle[:at].replace(offer.candidate.encode(), tip.encode())
        return Offer(head + pack, tip, [] if empty else offer.commits)

    return make


def _beside(gate: Gate) -> Offer:
    return gate.offered(_commit(_root)(gate))


ANCESTRY: dict[str, tuple[Callable[[Gate], Offer], bool, tuple[str, int, int]]] = {
    "A20 the candidate is the base": (
        _of_a_commit(_base, empty=True), False, ("emptyRange", POLICY, 3),
    ),
    "A20 the candidate is the base's parent": (
        _of_a_commit(_root, empty=True), True, ("emptyRange", POLICY, 6),
    ),
    "A20 the candidate is the base's parent, which was not given": (
        _of_a_commit(_root, empty=True), False, ("missingTip", INCOMPLETE, 6),
    ),
    "A20 the candidate is another branch": (
        _of_a_commit(_side, empty=True), True, ("missingTip", INCOMPLETE, 6),
    ),
    "A20 the candidate is a commit beside the base": (
        _beside, True, ("notDescendant", POLICY, 6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANCESTRY)
def test_a20_a_candidate_that_does_not_descend_from_the_base_is_refused(
    name: str, gate: Gate
) -> None:
    make, full, expected = ANCESTRY[name]
    scene = gate.launch(full=full)
    gate.put(scene, make(gate))
    gate.refuse(scene, *expected)


def test_a_candidate_of_many_honest_things_is_imported(gate: Gate) -> None:
    """The neighbour of all of the above: every kind of object, and none of it odd."""
    scene = gate.launch()
    folder = {
        **FOLDER,
        b"new": gate.fresh(),
        b"link": link(b"dir/c"),
        b"tool": program(gate.fresh()),
        b"deep": {b"er": {b"still": gate.fresh()}},
    }
    candidate = gate.upon({**FOLDER, b"a": gate.fresh()}, folder)
    gate.put(scene, gate.offered(candidate))
    receipt = gate.accept(scene).receipt
    assert receipt.packcheck.found == {}
    assert receipt.candidate == candidate.tips[TIP].hex()
