"""Rows A1 to A6: what a manifest may say, whose it has to be, and what the bundle has to be.

Every case is one lie in a manifest or bundle that is honest otherwise; the host is the same byte
for byte afterwards, and the refusal is written down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.support import manifests
from tests.support.candidates import Store
from tests.support.gate import (
    CORRUPT,
    FOLDER,
    INCOMPLETE,
    LIMIT,
    POLICY,
    Gate,
    Offer,
    errors,
)
from tests.support.launches import Scene, header
from tests.support.manifests import Document

OTHER = "cd" * 32
FIELDS = (
    "issue", "run", "phase", "launch", "repository", "object_format", "base", "candidate",
    "artifact", "commits", "state", "workspace",
)  # fmt: skip


def _artifact(document: Document) -> Document:
    artifact = document["artifact"]
    assert isinstance(artifact, dict)
    return artifact


def _set(name: str, value: object) -> Callable[[Document], None]:
    def forge(document: Document) -> None:
        assert document[name] != value
        document[name] = value

    return forge


def _set_artifact(name: str, value: object) -> Callable[[Document], None]:
    def forge(document: Document) -> None:
        artifact = _artifact(document)
        assert artifact[name] != value
        artifact[name] = value

    return forge


def _add_artifact(name: str, more: int) -> Callable[[Document], None]:
    def forge(document: Document) -> None:
        artifact = _artifact(document)
        value = artifact[name]
        assert isinstance(value, int)
        artifact[name] = value + more

    return forge


def _without(name: str) -> Callable[[Document], object]:
    return lambda document: document.pop(name)


def _with(name: str, value: object) -> Callable[[Document], None]:
    return lambda document: document.update({name: value})


def _id(name: str, change: Callable[[str], str]) -> Callable[[Document], None]:
    """Change an id, which is in the list of commits as well where it is the candidate's."""

    def forge(document: Document) -> None:
        before = str(document[name])
        after = change(before)
        document[name] = after
        commits = document["commits"]
        assert isinstance(commits, list)
        document["commits"] = [after if oid == before else oid for oid in commits]

    return forge


def _relabelled(label: str) -> Callable[[Document], None]:
    return _set("format", label)


INVALID = ("recordInvalid", CORRUPT, 2)
VERSION = ("recordVersion", POLICY, 2)
FORGED = ("manifestForged", POLICY, 2)
BAD_ID = ("badObjectId", CORRUPT, 2)
MISMATCH = ("bindingMismatch", POLICY, 3)
CLAIM = ("claimTooLarge", LIMIT, 3)
COUNT = ("artifactCountMismatch", POLICY, 6)

Case = tuple[Callable[[Document], object], tuple[str, int, int]]
FORGERIES: dict[str, Case] = {
    **{f"A1 no {name}": (_without(name), INVALID) for name in FIELDS},
    **{f"A1 null for {name}": (_set(name, None), INVALID) for name in FIELDS},
    "A1 one field more": (_with("target", "refs/heads/main"), INVALID),
    "A1 another state": (_set("state", "imported"), INVALID),
    "A1 a number for a name": (_set("run", 7), INVALID),
    "A1 a text for a count": (_set_artifact("objects", "3"), INVALID),
    "A1 a negative size": (_set_artifact("bytes", -1), INVALID),
    "A1 a name with a line feed": (_set("phase", "FIX\n"), INVALID),
    "A1 a path for a file name": (_set_artifact("name", "../candidate.bundle"), INVALID),
    "A1 one field more in the artifact": (lambda d: _artifact(d).update(ref="x"), INVALID),
    "A2 a manifest of another issue": (_set("issue", "owner/repo#270"), MISMATCH),
    "A2 a manifest of another run": (_set("run", "run-8"), MISMATCH),
    "A2 a manifest of another phase": (_set("phase", "REVIEW"), MISMATCH),
    "A2 a manifest of another launch": (_set("launch", "ee" * 16), MISMATCH),
    "A2 a manifest of another repository": (_set("repository", "owner/fork"), MISMATCH),
    "A2 a manifest of another base": (_set("base", "99" * 20), MISMATCH),
    "A2 a manifest of another artifact": (_set_artifact("name", "other.bundle"), MISMATCH),
    "A3 a short base": (_id("base", lambda oid: oid[:39]), INVALID),
    "A3 a short candidate": (_id("candidate", lambda oid: oid[:12]), INVALID),
    "A3 a candidate in capitals": (_id("candidate", str.upper), INVALID),
    "A3 a base in capitals": (_id("base", str.upper), INVALID),
    "A3 a candidate and a space": (_id("candidate", lambda oid: oid + " "), INVALID),
    "A3 a base and a line feed": (_id("base", lambda oid: oid + "\n"), INVALID),
    "A3 a name for a candidate": (_set("candidate", "HEAD"), INVALID),
    "A3 a candidate of the other format": (_set("candidate", "ab" * 32), BAD_ID),
    "A3 a base of the other format": (_set("base", "ab" * 32), BAD_ID),
    "A3 a commit of the other format": (_set("commits", ["ab" * 32]), BAD_ID),
    "A3 the other format for ids of this one": (_set("object_format", "sha256"), BAD_ID),
    "A4 another hash": (_set_artifact("sha256", OTHER), ("artifactHashMismatch", POLICY, 5)),
    "A4 a byte more": (_add_artifact("bytes", 1), ("artifactSizeMismatch", POLICY, 4)),
    "A4 a byte less": (_add_artifact("bytes", -1), ("artifactSizeMismatch", POLICY, 4)),
    "A4 an object more": (_add_artifact("objects", 1), COUNT),
    "A4 an object less": (_add_artifact("objects", -1), COUNT),
    "A4 a commit that is not in the bundle": (lambda d: _commits(d).append("77" * 20), COUNT),
    "A4 no commit at all": (_set("commits", []), COUNT),
    "A4 more bytes claimed than the limit": (_set_artifact("bytes", (256 << 20) + 1), CLAIM),
    "A4 more objects claimed than the limit": (_set_artifact("objects", 100_001), CLAIM),
    "A4 more commits claimed than the limit": (
        _set("commits", [f"{number:040x}" for number in range(1_001)]), CLAIM,
    ),
    "A4 more commits claimed than are ever listed": (
        _set("commits", [f"{number:040x}" for number in range(10_001)]), INVALID,
    ),
    "A5 another candidate than the bundle's": (
        _set("candidate", "66" * 20), ("missingTip", INCOMPLETE, 6),
    ),
    "A6 a version that is not known": (_relabelled("packcheck.manifest/2"), VERSION),
    "A6 a version of no number": (_relabelled("packcheck.manifest/1 "), VERSION),
    "A6 the label of a receipt": (_relabelled("packcheck.receipt/1"), VERSION),
    "A6 the label of a launch": (_relabelled("packcheck.launch/1"), VERSION),
    "A6 no label": (_without("format"), INVALID),
}  # fmt: skip


def _commits(document: Document) -> list[str]:
    commits = document["commits"]
    assert isinstance(commits, list)
    return commits


@pytest.mark.parametrize("name", FORGERIES)
def test_a_manifest_with_one_lie_is_refused(name: str, gate: Gate) -> None:
    forge, expected = FORGERIES[name]
    scene = gate.launch()
    gate.put(scene, gate.honest(), forge)
    gate.refuse(scene, *expected)


def test_the_honest_neighbour_of_all_these_is_imported(gate: Gate) -> None:
    scene = gate.launch()
    offer = gate.honest()
    gate.put(scene, offer)
    result = gate.accept(scene)
    assert result.receipt.candidate == offer.candidate
    assert result.receipt.commits == offer.commits


def test_a2_a_mismatch_names_every_field_that_differs(gate: Gate) -> None:
    scene = gate.launch()
    changes = {"issue": "owner/repo#1", "run": "run-1", "phase": "PLAN", "repository": "owner/it"}
    gate.put(scene, gate.honest(), lambda document: document.update(changes))
    message = gate.refuse(scene, *MISMATCH).message
    for name, value in changes.items():
        assert f"{name} {value} instead of" in message


def test_a4_commits_that_are_not_listed_each_after_its_parents_are_refused(gate: Gate) -> None:
    """The receipt lists them as the manifest does."""
    new = Store(gate.fmt)
    left = new.commit({**FOLDER, b"left": gate.fresh()}, gate.base)
    right = new.commit({**FOLDER, b"right": gate.fresh()}, gate.base)
    both = new.commit({**FOLDER, b"both": gate.fresh()}, left, right)
    offer = gate.offered(gate.of(new, both))
    scene = gate.launch()
    for order in ((both, left, right), (left, both, right), (right, both, left)):
        gate.put(scene, replace(offer, commits=[oid.hex() for oid in order]))
        gate.refuse(scene, *COUNT)
    order = (right, left, both)
    gate.put(scene, replace(offer, commits=[oid.hex() for oid in order]))
    assert gate.accept(scene).receipt.commits == [oid.hex() for oid in order]


# --- spelling and keys --------------------------------------------------------------------------


def _plain(body: bytes, key: bytes) -> bytes:
    return manifests.sealed(body, key)


SPELLINGS: dict[str, tuple[Callable[[bytes, bytes], bytes], tuple[str, int, int]]] = {
    "A1 a space": (lambda b, k: _plain(b.replace(b",", b", ", 1), k), INVALID),
    "A1 an escape": (lambda b, k: _plain(b.replace(b'"FIX"', b'"\\u0046IX"'), k), INVALID),
    "A1 a key twice": (lambda b, k: _plain(b[:-1] + b',"state":"offered"}', k), INVALID),
    "A1 a line feed less": (lambda b, k: _plain(b, k)[:-1], INVALID),
    "A1 a line feed more": (lambda b, k: _plain(b, k) + b"\n", INVALID),
    "A1 another one behind it": (lambda b, k: _plain(b, k) + _plain(b, k), FORGED),
    "A1 no digest": (lambda b, _k: b + b"\n", INVALID),
    "A1 nothing": (lambda _b, _k: b"", INVALID),
    "A1 half of it": (lambda b, k: _plain(b, k)[: len(b) // 2], INVALID),
    "A1 no JSON": (lambda _b, k: _plain(b"{]", k), INVALID),
    "A6 a list": (lambda b, k: _plain(b"[%b]" % b, k), INVALID),
    "A2 a byte changed after it was made": (
        lambda b, k: _plain(b, k).replace(b'"FIX"', b'"FIY"'), FORGED,
    ),
    "A2 the key of another launch": (lambda b, _k: _plain(b, b"\x5f" * 32), FORGED),
    "A2 no key": (lambda b, _k: _plain(b, b""), FORGED),
    "A2 the digest without a key": (
        lambda b, _k: b'%b,"mac":"%b"}\n' % (b[:-1], manifests.sha256_hex(b[:-1])), FORGED,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_manifest_in_another_spelling_or_under_another_key_is_refused(
    name: str, gate: Gate
) -> None:
    spell, expected = SPELLINGS[name]
    scene = gate.launch()
    offer = gate.honest()
    gate.put(scene, offer)
    body = manifests.spelt(gate.document(scene.record, offer))
    (scene.export / "manifest.json").write_bytes(spell(body, bytes.fromhex(scene.record.key)))
    gate.refuse(scene, *expected)


def test_a2_a_manifest_of_another_launch_is_forged_here_though_all_its_words_are_right(
    gate: Gate,
) -> None:
    """Each launch has a key of its own, so that no producer can speak for another."""
    scene = gate.launch()
    other = gate.launch(key="6f" * 32)
    gate.put(scene, gate.honest(), key=other.record.key)
    gate.refuse(scene, *FORGED)


# --- A5: the bundle and the record disagree -----------------------------------------------------


@dataclass(frozen=True)
class Disagreement:
    """What is made, what it is refused for, and what else is found."""

    make: Callable[[Gate], Offer]
    expected: tuple[str, int, int]
    also: str = ""
    full: bool = False


def _headed(
    gate: Gate,
    *,
    base: Callable[[Gate], bytes] | None = None,
    tip: Callable[[Gate], bytes] | None = None,
) -> Offer:
    """An honest pack under a header with another prerequisite, or a ref of another commit."""
    offer = gate.honest()
    pack = offer.bundle[offer.bundle.index(b"PACK") :]
    before = (base(gate) if base else gate.base).hex()
    after = tip(gate).hex() if tip else offer.candidate
    return replace(offer, bundle=header(gate.fmt, before, after) + pack)


def _two(gate: Gate, named: int) -> Offer:
    """Two commits, and a manifest whose candidate is one of them; the ref is of the other."""
    made = gate.offered(gate.upon({**FOLDER, b"x": gate.fresh()}, {**FOLDER, b"y": gate.fresh()}))
    pack = made.bundle[made.bundle.index(b"PACK") :]
    ref = made.commits[1 - named]
    return Offer(header(gate.fmt, gate.base.hex(), ref) + pack, made.commits[named], made.commits)


def _of_the_host(gate: Gate, oid: bytes) -> Offer:
    """The manifest names a commit that the host has as the candidate."""
    return replace(gate.honest(), candidate=oid.hex())


def _no_prerequisite(gate: Gate) -> Offer:
    offer = gate.honest()
    line = f"-{gate.base.hex()} \n".encode()
    return replace(offer, bundle=offer.bundle.replace(line, b""))


REFS = ("unexpectedRefs", POLICY, 6)
BUILT_ON = ("unexpectedPrerequisites", POLICY, 6)
NO_TIP = ("missingTip", INCOMPLETE, 6)
NO_COMMIT = ("missingPrerequisite", INCOMPLETE, 6)
DISAGREEMENTS: dict[str, Disagreement] = {
    "A5 a ref of the base": Disagreement(lambda g: _headed(g, tip=lambda g: g.base), REFS),
    "A5 a ref of another branch": Disagreement(
        lambda g: _headed(g, tip=lambda g: g.side), NO_TIP, REFS[0]
    ),
    "A5 a ref of a commit on the way": Disagreement(lambda g: _two(g, 1), REFS),
    "A5 a ref of a commit above the candidate": Disagreement(
        lambda g: _two(g, 0), ("stowawayObject", POLICY, 6), REFS[0]
    ),
    "A5 a prerequisite that the producer was not given": Disagreement(
        lambda g: _headed(g, base=lambda g: g.root), NO_COMMIT, BUILT_ON[0]
    ),
    "A5 a prerequisite that is not the base": Disagreement(
        lambda g: _headed(g, base=lambda g: g.root), BUILT_ON, full=True
    ),
    "A5 a prerequisite that nobody has": Disagreement(
        lambda g: _headed(g, base=lambda _g: b"\x88" * 20), NO_COMMIT, BUILT_ON[0]
    ),
    "A5 the candidate is a commit of another branch": Disagreement(
        lambda g: _of_the_host(g, g.side), NO_TIP, REFS[0]
    ),
    "A5 A20 the candidate is the base": Disagreement(
        lambda g: _of_the_host(g, g.base), ("emptyRange", POLICY, 3)
    ),
}


@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_a5_where_bundle_and_record_disagree_the_record_decides(name: str, gate: Gate) -> None:
    case = DISAGREEMENTS[name]
    scene = gate.launch(full=case.full)
    gate.put(scene, case.make(gate))
    error = gate.refuse(scene, *case.expected)
    if case.also:
        assert case.also in errors(error)


def test_a18_a_bundle_that_builds_on_nothing_is_bound_by_the_record_alone(gate: Gate) -> None:
    """None or the base: a bundle need not say what it builds on, since the record does."""
    scene = gate.launch()
    gate.put(scene, _no_prerequisite(gate))
    assert gate.accept(scene).receipt.base == gate.base.hex()


def test_a5_a_ref_of_the_bundle_names_nothing_on_the_host(gate: Gate) -> None:
    """It is called like a branch of the host, which stays where it is."""
    scene = gate.launch()
    offer = gate.honest()
    head = header(gate.fmt, gate.base.hex(), offer.candidate, "refs/heads/main")
    pack = offer.bundle[offer.bundle.index(b"PACK") :]
    gate.put(scene, replace(offer, bundle=head + pack))
    gate.accept(scene)


def test_a3_ids_of_sha_1_are_refused_for_a_repository_of_sha_256(gate256: Gate) -> None:
    scene = gate256.launch()
    gate256.put(scene, gate256.honest(), _set("candidate", "ab" * 20))
    gate256.refuse(scene, *BAD_ID)
    scene = gate256.launch()
    gate256.put(scene, gate256.honest(), _set("object_format", "sha1"))
    gate256.refuse(scene, *BAD_ID)


def test_a3_a_candidate_of_sha_256_is_imported(gate256: Gate) -> None:
    scene = gate256.launch()
    gate256.put(scene, gate256.honest())
    assert len(gate256.accept(scene).receipt.candidate) == 64


def test_a3_a_pack_of_the_other_format_is_refused(gate: Gate) -> None:
    """The manifest speaks of SHA-1, and what is in the bundle is of SHA-256."""
    scene = gate.launch()
    new = Store("sha256")
    tip = new.commit({b"x": b"x\n"})
    offer = gate.honest()
    pack = replace(gate.of(new, tip), host=Store("sha256"), given=set()).pack()[0]
    head = offer.bundle[: offer.bundle.index(b"PACK")]
    gate.put(scene, replace(offer, bundle=head + pack))
    gate.refuse(scene, "badTree", CORRUPT, 6)


def test_the_same_artifact_is_refused_again_and_imported_once_it_is_mended(gate: Gate) -> None:
    """A refusal is no end: the artifact stays, and a later one for the launch is looked at."""
    scene: Scene = gate.launch()
    offer = gate.honest()
    gate.put(scene, offer, _set("phase", "REVIEW"))
    for _attempt in range(2):
        gate.refuse(scene, *MISMATCH)
    gate.put(scene, offer)
    assert gate.accept(scene).receipt.candidate == offer.candidate
