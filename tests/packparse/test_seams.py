"""The doors for what the caller knows: odd answers, and whose word counts."""

from __future__ import annotations

from typing import cast

import pytest

from packparse import codes
from packparse.errors import MisuseError
from packparse.report import Report
from packparse.verify import Options, Verifier, verify_bytes
from tests.support import packs
from tests.support.bundles import bundle, honest_bundle

GHOST = packs.outside("commit", b"a commit that the other side may have\n")


def resting_on_ghost() -> bytes:
    """A bundle whose commit has the ghost as its parent, and which claims it as a prerequisite."""
    pack = packs.PackBuilder()
    tree = pack.add("tree", b"")
    commit = pack.add("commit", packs.commit_bytes(tree.oid, [GHOST.oid]))
    refs = [(commit.hex, "refs/heads/main"), (GHOST.hex, "refs/heads/ghost")]
    return bundle(pack.build(), refs, [GHOST.hex])


def found(report: Report) -> set[str]:
    return {finding.code.name for finding in report.findings.sorted()}


def test_a_prerequisite_that_the_trusted_side_has_not_is_refused() -> None:
    report = verify_bytes(resting_on_ghost(), Options(known=lambda _: None))
    assert report.klass == codes.INCOMPLETE
    assert found(report) == {"missingPrerequisite", "absentObject", "missingTip"}


def test_a_prerequisite_that_is_a_blob_there_is_refused() -> None:
    report = verify_bytes(resting_on_ghost(), Options(known=lambda _: 3))
    assert found(report) == {"missingPrerequisite", "linkKindMismatch", "branchNotCommit"}


@pytest.mark.parametrize("kind", [0, 1], ids=["of a kind that is not known", "that is a commit"])
def test_a_prerequisite_that_is_there_is_accepted(kind: int) -> None:
    report = verify_bytes(resting_on_ghost(), Options(known=lambda _: kind))
    assert (report.klass, found(report)) == (0, set())


def test_without_knowledge_prerequisites_are_noted_as_the_senders_word() -> None:
    report = verify_bytes(resting_on_ghost())
    assert (report.klass, found(report)) == (0, {"uncheckedLinks"})


def test_a_base_that_the_caller_names_needs_no_other_knowledge() -> None:
    options = Options(bases=frozenset([GHOST.oid]), known=lambda _: None)
    report = verify_bytes(resting_on_ghost(), options)
    assert (report.klass, found(report)) == (0, set())


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
    with pytest.raises(MisuseError, match="tips: names and ids are bytes"):
        Options(tips=tips)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_of_bytes_can_be_fed(kind: type[bytes]) -> None:
    whole = honest_bundle()
    verifier = Verifier(Options(), length=len(whole))
    for at in range(0, len(whole), 7):
        verifier.feed(kind(whole[at : at + 7]))
    assert verifier.finish(lambda at, length: whole[at : at + length]).accepted
