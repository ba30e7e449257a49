"""Bundle headers: signature, capabilities, prerequisites, refs and tips."""

from __future__ import annotations

import pytest

from tests.support import packs
from tests.support.bundles import bundle, ref_line
from tests.support.headers import (
    BAD_LINE,
    MAKERS,
    SIGNATURE,
    V2,
    V3,
    V3_SHA256,
    Maker,
    errors,
    judge,
    notes,
)

# --- the signature ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "signature",
    [
        b"# v1 git bundle\n",
        b"# v4 git bundle\n",
        b"# v2 git bundle\r\n",
        b"# v2 git bundle \n",
        b"# v22 git bundle\n",
        b"#  v2 git bundle\n",
        b"\n# v2 git bundle\n",
        b"\xef\xbb\xbf# v2 git bundle\n",
    ],
    ids=repr,
)
def test_another_signature_is_no_bundle(signature: bytes) -> None:
    # PB1, PB2; an input of this kind is neither, however it is cut.
    report = judge(bundle(V2.example.pack, [(V2.main, "refs/heads/x")], signature=signature))
    assert errors(report) == [("badSignature", 0)]
    assert report.kind is None


@pytest.mark.parametrize("length", range(1, SIGNATURE + 1))
def test_an_end_in_the_signature_is_a_truncated_bundle(length: int) -> None:
    report = judge(V2.make(V2.ref())[:length])
    code = "truncated" if length < SIGNATURE else "bundleMissingBlankLine"
    assert errors(report) == [(code, length)]
    # Half a signature is no bundle yet: the rest of it could be anything.
    known = (None, None) if length < SIGNATURE else ("bundle", "sha1")
    assert (report.kind, report.object_format) == known


def test_a_capability_in_version_2_is_a_bad_line() -> None:
    # PB2: capabilities came with version 3.
    data = V2.bare(b"@object-format=sha1\n", V2.ref())
    assert errors(judge(data)) == [(BAD_LINE, SIGNATURE)]
    assert errors(judge(V3.bare(b"@object-format=sha1\n", V3.ref()))) == []


def test_version_3_without_an_object_format_is_sha1() -> None:
    report = judge(V3.bare(V3.ref()))
    assert (report.klass, report.object_format) == (0, "sha1")


# --- object format (PB4) ------------------------------------------------------------------------


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_an_object_format_that_was_asked_for_must_match(maker: Maker) -> None:
    data = maker.make(maker.ref())
    other = "sha256" if maker.fmt == "sha1" else "sha1"
    assert judge(data, fmt=maker.fmt).klass == 0
    assert judge(data).object_format == maker.fmt
    refused = judge(data, fmt=other)
    assert errors(refused) == [("objectFormatMismatch", 0)]
    assert refused.klass == 1


def test_a_format_that_changes_among_the_refs_does_no_harm() -> None:
    # Under the rules of git such a header goes on; ids of two widths must not upset anything.
    m = V3_SHA256
    data = m.bare(ref_line(V3.main, "refs/heads/a"), m.format_line, m.ref())
    report = judge(data, rules="git")
    assert errors(report) == [("missingTip", None)]
    assert ("misplacedCapability", SIGNATURE + len(V3.ref(b"refs/heads/a"))) in errors(judge(data))


# --- filters (PB5, case 20) ---------------------------------------------------------------------

FILTERS = (
    "blob:none",
    "blob:limit=0",
    "blob:limit=10k",
    "blob:limit=2M",
    "tree:0",
    "tree:12",
    "object:type=tag",
    "object:type=commit",
    "object:type=tree",
    "object:type=blob",
    "sparse:oid=refs/heads/main:filter",
    "combine:blob:none+tree:3",
    "combine:blob:limit=1k+tree:3+object:type=blob",
)
NOT_FILTERS = (
    "",
    "blob",
    "blob:none,x",
    "blob:nonesuch",
    "blob:limit=",
    "blob:limit=-1",
    "blob:limit=1x",
    "tree:",
    "tree:x",
    "object:type=",
    "object:type=ref",
    "sparse:oid=",
    "sparse:path=x",
    "combine:",
    "combine:blob:none+",
    "combine:blob:none+x",
    "auto",
)


@pytest.mark.parametrize("text", FILTERS)
def test_a_known_filter_is_noted(text: str) -> None:
    report = judge(V3.make(f"@filter={text}\n".encode(), V3.ref()))
    assert errors(report) == []
    assert notes(report) == ["filteredBundle"]


@pytest.mark.parametrize("text", NOT_FILTERS)
def test_an_unknown_filter_is_refused(text: str) -> None:
    report = judge(V3.make(f"@filter={text}\n".encode(), V3.ref()))
    assert "badFilter" in [code for code, _ in errors(report)]
    assert report.klass == 1


def test_a_filter_excuses_no_absent_object() -> None:
    pack = packs.PackBuilder()
    missing = packs.outside("blob", b"left out")
    tree = pack.add("tree", packs.tree_bytes([(b"100644", b"f", missing.oid)]))
    commit = pack.add("commit", packs.commit_bytes(tree.oid))
    line = V3.ref(oid=commit.hex)
    data = V3.make(b"@filter=blob:none\n", line, pack=pack.build())
    report = judge(data)
    assert errors(report) == [("absentObject", data.index(b"PACK") + tree.offset)]
    assert notes(report) == ["filteredBundle"]
    assert report.klass == 5


# --- prerequisites (PB13) -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "comment",
    [b"", b" ", b" subject", b" subject\r", b" subject ", b"  ", b" \r", b" \xff\x1b[31m", b" -x"],
    ids=repr,
)
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_any_comment_of_a_prerequisite_is_honest(maker: Maker, comment: bytes) -> None:
    on = maker.based
    report = judge(on.make(on.pre(comment), on.ref()))
    assert (errors(report), notes(report)) == ([], ["uncheckedLinks"])
    assert report.prerequisites == [bytes.fromhex(maker.absent)]


def test_a_prerequisite_that_comes_twice_is_noted() -> None:
    on = V2.based
    data = on.make(V2.pre(b" one"), V2.pre(b" two"), on.ref())
    report = judge(data)
    found = [(f.code.name, f.severity, f.offset) for f in report.findings.sorted()]
    assert found == [
        ("duplicateRef", "note", data.rindex(V2.pre(b" two"))),
        ("uncheckedLinks", "note", None),
    ]
    assert report.prerequisites == [bytes.fromhex(V2.absent)]


def test_links_to_objects_of_prerequisites_are_counted_and_noted() -> None:
    pack = packs.PackBuilder()
    tree = pack.add("tree", b"")
    parent = bytes.fromhex(V2.absent)
    commit = pack.add("commit", packs.commit_bytes(tree.oid, [parent, b"\xcd" * 20]))
    line = V2.ref(oid=commit.hex)
    report = judge(V2.make(V2.pre(), line, pack=pack.build()))
    # The prerequisite itself is known to be there, the other parent is anybody's guess.
    assert (errors(report), notes(report)) == ([], ["uncheckedLinks"])
    assert report.unchecked_links == 1
    data = V2.make(line, pack=pack.build())
    alone = judge(data)
    assert errors(alone) == [("absentObject", data.index(b"PACK") + commit.offset)] * 2
    assert alone.unchecked_links == 0


# --- refs and tips (PB10, PB15, case 58) --------------------------------------------------------


def test_identical_lines_are_noted_and_not_refused() -> None:
    data = V2.make(V2.ref(), V2.ref(b"HEAD"), V2.ref())
    report = judge(data)
    found = [(f.code.name, f.severity, f.offset) for f in report.findings.sorted()]
    assert found == [("duplicateRef", "note", data.rindex(V2.ref()))]
    assert list(report.tips) == [b"refs/heads/main", b"HEAD"]


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("rules", ["candidate", "git"])
def test_a_tip_must_be_in_the_pack_or_a_prerequisite(maker: Maker, rules: str) -> None:
    tip = maker.ref(b"refs/tags/gone", maker.absent)
    missing = judge(maker.make(maker.ref(), tip), rules=rules)
    assert errors(missing) == [("missingTip", None)]
    assert missing.klass == 5
    assert [f.oid for f in missing.findings.sorted()] == [bytes.fromhex(maker.absent)]
    on = maker.based
    assert errors(judge(on.make(on.pre(), on.ref(), tip), rules=rules)) == []


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_a_branch_must_be_a_commit(kind: str) -> None:
    # The tag is no stowaway where a ref names it.
    example = packs.small_honest(tagged=kind == "tag")
    target = next(h.hex for h in example.handles if h.kind == kind)
    branch = judge(V2.make(V2.ref(), V2.ref(b"refs/heads/x", target), pack=example.pack))
    assert errors(branch) == [("branchNotCommit", None)]
    assert branch.klass == 3
    for name in (b"refs/tags/x", b"refs/headsx/x", b"HEAD"):
        assert errors(judge(V2.make(V2.ref(), V2.ref(name, target), pack=example.pack))) == []


def test_a_branch_may_be_the_prerequisite_itself() -> None:
    line = V2.ref(b"refs/heads/x", V2.absent)
    on = V2.based
    assert errors(judge(on.make(on.pre(), line, on.ref()))) == []


def test_the_report_has_refs_in_the_order_of_the_file() -> None:
    data = V2.make(V2.ref(b"refs/heads/b"), V2.ref(b"refs/tags/a", V2.blob), V2.ref(b"HEAD"))
    main, blob = bytes.fromhex(V2.main), bytes.fromhex(V2.blob)
    expected = {b"refs/heads/b": main, b"refs/tags/a": blob, b"HEAD": main}
    report = judge(data)
    assert list(report.tips.items()) == list(expected.items())
