"""Whose a manifest is: the controller's record decides, and every field counts."""

from __future__ import annotations

import msgspec
import pytest

from manifest.binding import bind, check_claims
from manifest.errors import RecordError
from manifest.v1 import Manifest
from packparse.limits import Limits
from tests.support.made import BASE, LAUNCH, MANIFEST

replace = msgspec.structs.replace

OTHERS: dict[str, object] = {
    "issue": "owner/repo#270",
    "run": "run-8",
    "phase": "REVIEW",
    "launch": "cd" * 16,
    "repository": "owner/fork",
    "object_format": "sha256",
    "base": "9" * 40,
}


def test_the_manifest_of_the_launch_is_bound() -> None:
    bind(MANIFEST, LAUNCH)


@pytest.mark.parametrize("name", OTHERS)
def test_another_value_of_any_field_is_refused_and_told(name: str) -> None:
    manifest = replace(MANIFEST, **{name: OTHERS[name]})
    with pytest.raises(RecordError) as caught:
        bind(manifest, LAUNCH)
    assert caught.value.code.name == "bindingMismatch"
    expected = f"{name} {OTHERS[name]} instead of {getattr(LAUNCH, name)}"
    assert caught.value.message == f"the manifest has {expected}"


def test_another_name_of_the_artifact_is_refused_and_told() -> None:
    artifact = replace(MANIFEST.artifact, name="other.bundle")
    with pytest.raises(RecordError) as caught:
        bind(replace(MANIFEST, artifact=artifact), LAUNCH)
    assert caught.value.code.name == "bindingMismatch"
    told = "the manifest has artifact other.bundle instead of candidate.bundle"
    assert caught.value.message == told


def test_all_that_differs_is_told_at_once() -> None:
    artifact = replace(MANIFEST.artifact, name="other.bundle")
    with pytest.raises(RecordError) as caught:
        bind(replace(MANIFEST, artifact=artifact, **OTHERS), LAUNCH)
    parts = caught.value.message.removeprefix("the manifest has ").split(", ")
    assert [part.split()[0] for part in parts] == [*OTHERS, "artifact"]


def test_every_field_that_both_have_is_compared() -> None:
    both = set(LAUNCH.__struct_fields__) & set(MANIFEST.__struct_fields__)
    assert both == {*OTHERS, "artifact"}


def test_a_candidate_that_is_the_base_is_an_empty_range() -> None:
    with pytest.raises(RecordError) as caught:
        bind(replace(MANIFEST, candidate=BASE), LAUNCH)
    assert caught.value.code.name == "emptyRange"


# What is claimed, and by which limit.
CLAIMS: dict[str, tuple[Manifest, int]] = {
    "pack_bytes": (MANIFEST, 1234),
    "objects": (MANIFEST, 7),
    "commits": (MANIFEST, 2),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_may_be_the_limit_and_no_more(name: str) -> None:
    manifest, claimed = CLAIMS[name]
    check_claims(manifest, Limits("candidate", {name: claimed}))
    with pytest.raises(RecordError) as caught:
        check_claims(manifest, Limits("candidate", {name: claimed - 1}))
    assert caught.value.code.name == "claimTooLarge"
    assert caught.value.message == f"it claims {claimed} for {name}, the limit is {claimed - 1}"
