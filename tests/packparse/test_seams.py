"""The doors for what the caller knows: odd answers, and whose word counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from packparse import codes
from packparse.errors import MisuseError
from packparse.forks import Forks
from packparse.options import Options
from packparse.report import Report
from packparse.verify import Verifier, verify_bytes
from tests.support import packs
from tests.support.bundles import Text, bundle, honest_bundle
from tests.support.packs import Handle

EMPTY = packs.outside("tree", b"")
GHOST = packs.outside("commit", packs.commit_bytes(EMPTY.oid, message=b"of the other side\n"))
STRANGER = b"\xcd" * 20


def resting_on_ghost() -> bytes:
    """A bundle whose commit has the ghost as its parent, and which claims it as a prerequisite."""
    pack = packs.PackBuilder()
    tree = pack.add("tree", b"")
    commit = pack.add("commit", packs.commit_bytes(tree.oid, [GHOST.oid]))
    refs = [(commit.hex, "refs/heads/main"), (GHOST.hex, "refs/heads/ghost")]
    return bundle(pack.build(), refs, [GHOST.hex])


def found(report: Report) -> set[str]:
    return {finding.code.name for finding in report.findings.sorted()}


def having(*objects: Handle) -> Callable[[bytes], tuple[int, bytes] | None]:
    """What the trusted side gives when it has these objects."""
    return {o.oid: (packs.KIND_NUMBERS[o.kind], o.data) for o in objects}.get


def test_a_prerequisite_that_the_trusted_side_has_not_is_refused() -> None:
    report = verify_bytes(resting_on_ghost(), Options(known=lambda _: None))
    assert report.klass == codes.INCOMPLETE
    assert found(report) == {"missingPrerequisite", "absentObject", "missingTip"}


def test_a_prerequisite_that_is_a_blob_there_is_refused() -> None:
    report = verify_bytes(resting_on_ghost(), Options(known={GHOST.oid: 3}.get))
    assert found(report) == {"missingPrerequisite", "linkKindMismatch", "branchNotCommit"}


@pytest.mark.parametrize("kind", [0, 1], ids=["of a kind that is not known", "that is a commit"])
def test_a_prerequisite_that_is_there_is_accepted(kind: int) -> None:
    report = verify_bytes(resting_on_ghost(), Options(known={GHOST.oid: kind}.get))
    # Nobody says of which kind: that is told, and no reason to refuse.
    assert (report.klass, found(report)) == (0, set() if kind else {"uncheckedLinks"})


def test_what_the_other_side_has_already_is_noted() -> None:
    report = verify_bytes(resting_on_ghost(), Options(known={GHOST.oid: 1, EMPTY.oid: 2}.get))
    (finding,) = report.findings.sorted()
    assert (finding.code.name, finding.severity) == ("alreadyInBase", "note")
    assert (finding.oid, finding.offset) == (EMPTY.oid, resting_on_ghost().index(b"PACK") + 12)
    assert report.accepted


def test_without_knowledge_prerequisites_are_noted_as_the_senders_word() -> None:
    report = verify_bytes(resting_on_ghost())
    assert (report.klass, found(report)) == (0, {"uncheckedLinks"})


def test_a_base_that_the_caller_names_needs_no_other_knowledge() -> None:
    options = Options(bases=frozenset([GHOST.oid]), known=lambda _: None)
    report = verify_bytes(resting_on_ghost(), options)
    assert (report.klass, found(report)) == (0, {"baseNotCompared"})


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [((), {"baseNotCompared"}), ((GHOST,), {"baseNotCompared"}), ((GHOST, EMPTY), set())],
    ids=["neither commit nor tree", "only the commit", "commit and tree"],
)
def test_a_base_is_compared_where_its_trees_can_be_read(
    objects: tuple[Handle, ...], wanted: set[str]
) -> None:
    # The pack has the empty tree, so of the base alone the commit would do; here it has another.
    pack = packs.PackBuilder()
    blob = pack.add("blob", b"new\n")
    tree = pack.add("tree", packs.tree_bytes([(b"100644", b"new", blob.oid)]))
    commit = pack.add("commit", packs.commit_bytes(tree.oid, [GHOST.oid]))
    options = Options(
        bases=frozenset([GHOST.oid]), tips={b"tip": commit.oid}, read_base=having(*objects),
        known={GHOST.oid: 1, EMPTY.oid: 2}.get,
    )  # fmt: skip
    report = verify_bytes(pack.build(), options)
    assert (report.klass, found(report)) == (0, wanted)
    assert report.changes is not None
    assert report.changes.compared == (len(objects) == 2)
    assert report.changes.files == 1


# --- the range that was asked for ---------------------------------------------------------------


class Range:
    """A linear range of two commits on the ghost, whose pack and header can be changed."""

    def __init__(self) -> None:
        self.pack = packs.PackBuilder()
        self.first = self.commit(b"first", GHOST.oid)
        self.tip = self.commit(b"second", self.first.oid)
        self.refs: list[tuple[Text, Text] | bytes] = [(self.tip.hex, "refs/heads/main")]
        self.prerequisites: list[Text | tuple[Text, Text]] = [GHOST.hex]
        self.bases = frozenset([GHOST.oid])
        self.asked = self.tip.oid

    def commit(self, text: bytes, *parents: bytes) -> Handle:
        """Append a commit and all that it brings: a file of this name in its tree."""
        blob = self.pack.add("blob", text)
        tree = self.pack.add("tree", packs.tree_bytes([(b"100644", text, blob.oid)]))
        return self.pack.add("commit", packs.commit_bytes(tree.oid, parents))

    def verdict(self, *, asked: bool = True, rules: str = "candidate") -> Report:
        data = bundle(self.pack.build(), self.refs, self.prerequisites)
        options = Options(
            rules=rules,
            tips={b"tip": self.asked} if asked else None,
            bases=self.bases if asked else frozenset(),
            known=dict.fromkeys([GHOST.oid, STRANGER], 1).get,
            read_base=having(GHOST, EMPTY),
        )
        return verify_bytes(data, options)


def _loose_blob(r: Range) -> None:
    r.pack.add("blob", b"nobody names this")


def _loose_commit(r: Range) -> None:
    r.commit(b"side", GHOST.oid)


def _tag(r: Range) -> None:
    tag = r.pack.add("tag", packs.tag_bytes(r.tip.oid))
    r.refs.append((tag.hex, "refs/tags/v1"))


def _second_name(r: Range) -> None:
    r.refs.append((r.tip.hex, "refs/heads/other"))


def _shorter_ref(r: Range) -> None:
    r.refs = [(r.first.hex, "refs/heads/main")]


def _other_prerequisite(r: Range) -> None:
    r.prerequisites.append(STRANGER.hex())


def _other_base(r: Range) -> None:
    r.bases = frozenset([STRANGER])
    r.prerequisites = [STRANGER.hex()]


def _root(r: Range) -> None:
    root = r.commit(b"root")
    r.tip = r.commit(b"merge", r.tip.oid, root.oid)
    r.refs, r.asked = [(r.tip.hex, "refs/heads/main")], r.tip.oid


def _tip_is_base(r: Range) -> None:
    r.pack = packs.PackBuilder()
    r.refs, r.asked = [(GHOST.hex, "refs/heads/main")], GHOST.oid


# name -> (the change, codes where base and tip were asked for, codes for what the bundle says)
RANGES: dict[str, tuple[Callable[[Range], None] | None, set[str], set[str]]] = {
    "exactly the range": (None, set(), set()),
    "A17 a blob more": (_loose_blob, {"stowawayObject"}, {"stowawayObject"}),
    "A17 a commit more": (_loose_commit, {"stowawayObject"}, {"stowawayObject"}),
    "A17 A18 a tag of the tip": (_tag, {"unexpectedRefs", "tagObject", "stowawayObject"}, set()),
    "A18 two names for the tip": (_second_name, {"unexpectedRefs"}, set()),
    "A18 a ref before the tip": (_shorter_ref, {"unexpectedRefs"}, {"stowawayObject"}),
    "A18 another prerequisite": (_other_prerequisite, {"unexpectedPrerequisites"}, set()),
    "A20 PH7 from another base": (_other_base, {"notDescendant"}, {"notDescendant"}),
    "A15 a second root": (_root, {"rootCommit"}, {"rootCommit"}),
    "A20 the base as the tip": (_tip_is_base, {"emptyRange"}, set()),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_the_file_is_exactly_the_range_that_was_asked_for(name: str) -> None:
    change, asked, own = RANGES[name]
    made = Range()
    if change is not None:
        change(made)
    for report, wanted in ((made.verdict(), asked), (made.verdict(asked=False), own)):
        assert set(errors(report)) == wanted
        assert report.klass == (codes.POLICY if wanted else 0)
    # git does not ask.
    assert errors(made.verdict(rules="git")) == []


@pytest.mark.parametrize("again", ["the tip", "a file", "a tag"])
def test_a_second_copy_is_a_duplicate_and_no_stowaway(again: str) -> None:
    made = Range()
    tag = made.pack.add("tag", packs.tag_bytes(made.tip.oid))
    made.refs.append((tag.hex, "refs/tags/v1"))
    handles = {"the tip": made.tip, "a file": made.pack.handles[0], "a tag": tag}
    made.pack.add(handles[again].kind, handles[again].data)
    assert errors(made.verdict(asked=False)) == ["duplicateObject"]


@pytest.mark.parametrize("what", ["a blob of the range", "a tip"])
def test_where_something_is_absent_nothing_is_called_a_stowaway(what: str) -> None:
    # What is reached by way of it cannot be known.
    made = Range()
    _loose_commit(made)
    assert errors(made.verdict(asked=False)) == ["stowawayObject"]
    if what == "a tip":
        made.refs.append(("ab" * 20, "refs/heads/gone"))
    else:
        tree = made.pack.add("tree", packs.tree_bytes([(b"100644", b"f", b"\xab" * 20)]))
        made.tip = made.pack.add("commit", packs.commit_bytes(tree.oid, [made.tip.oid]))
        made.refs = [(made.tip.hex, "refs/heads/main")]
    report = made.verdict(asked=False)
    assert errors(report) == ["missingTip" if what == "a tip" else "absentObject"]
    assert report.klass == codes.INCOMPLETE


def errors(report: Report) -> list[str]:
    return [f.code.name for f in report.findings.sorted() if f.severity == codes.ERROR]


# --- odd answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [False, True, -1, 5, 7, 3.0, "blob", b"", []], ids=repr)
def test_an_odd_answer_about_an_object_is_the_callers_mistake(answer: object) -> None:
    options = Options(known=lambda _: cast("int", answer))
    with pytest.raises(MisuseError, match="known: the answer is None, 0 or a kind from 1 to 4"):
        verify_bytes(resting_on_ghost(), options)


@pytest.mark.parametrize(
    "answer",
    [False, 3, b"", (3,), (3, None), (3, "x"), (0, b""), (5, b""), (True, b""), (3, b"", 1)],
    ids=repr,
)
def test_an_odd_base_object_is_the_callers_mistake(answer: object) -> None:
    pack = packs.PackBuilder()
    base = packs.outside("blob", b"an object that the other side has\n")
    pack.add_ref(base, packs.edit(base.data, 0, 2, b"one")[0])
    options = Options(read_base=lambda _: cast("tuple[int, bytes]", answer))
    with pytest.raises(MisuseError, match="read_base: the answer is None, or a kind from 1 to 4"):
        verify_bytes(pack.build(), options)


def test_tips_are_bytes() -> None:
    tips = cast("dict[bytes, bytes]", {"refs/heads/main": GHOST.oid})
    with pytest.raises(MisuseError, match=r"^tips"):
        Options(tips=tips)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_of_bytes_can_be_fed(kind: type[bytes]) -> None:
    whole = honest_bundle()
    verifier = Verifier(Options(), length=len(whole))
    for at in range(0, len(whole), 7):
        verifier.feed(kind(whole[at : at + 7]))
    assert verifier.finish(lambda at, length: whole[at : at + length]).accepted


WRONG: dict[str, dict[str, object]] = {
    "a base in hexadecimal": {"bases": frozenset([GHOST.hex])},
    "a base in hexadecimal bytes": {"bases": frozenset([GHOST.hex.encode()])},
    "one base and no set": {"bases": GHOST.hex},
    "a tip in hexadecimal bytes": {"tips": {b"x": GHOST.hex.encode()}},
    "a list and not its method": {"known": {GHOST.oid: 1}},
    "objects and no function": {"read_base": {GHOST.oid: (1, b"")}},
    "sizes and no function": {"base_info": {GHOST.oid: (1, 0)}},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_the_caller_gives_is_looked_at_before_anything_is_verified(name: str) -> None:
    with pytest.raises(MisuseError):
        Options(**WRONG[name])  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [(0, 1), (5, 1), (1, -1), (1,), [1, 1], (True, 1), 7])
def test_an_answer_about_an_object_that_is_none_is_misuse(answer: object) -> None:
    options = Options(
        known=lambda _oid: 0, read_base=lambda _oid: None,
        base_info=lambda _oid: answer,  # type: ignore[arg-type, return-value]
    )  # fmt: skip
    with pytest.raises(MisuseError, match="base_info"):
        verify_bytes(resting_on_ghost(), options)


@pytest.mark.parametrize("jobs", [0, -1])
def test_no_process_at_all_is_misuse(jobs: int) -> None:
    with pytest.raises(MisuseError, match="at least one process"):
        Options(jobs=jobs)


@pytest.mark.parametrize(
    ("length", "fed"),
    [pytest.param(None, b"", id="no length"), pytest.param(9, b"P", id="after the first byte")],
)
def test_a_file_is_shared_from_its_beginning(length: int | None, fed: bytes) -> None:
    verifier = Verifier(Options(), length=length)
    verifier.feed(fed)
    with Forks(2) as workers, pytest.raises(MisuseError, match=r"^share"):
        verifier.share(workers, lambda _at, _length: b"")
