"""Whether a manifest is the one of a launch: the controller's record decides, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manifest.errors import BINDING_MISMATCH, CLAIM_TOO_LARGE, RecordError
from manifest.v1 import TOLD
from packparse.checks import EMPTY_RANGE

if TYPE_CHECKING:
    from manifest.launch import Launch
    from manifest.v1 import Manifest
    from packparse.limits import Limits

__all__ = ["bind", "check_claims"]


def bind(manifest: Manifest, launch: Launch) -> None:
    """Compare everything that both know.

    Raises RecordError: bindingMismatch, which names every field that differs, emptyRange.
    """
    wrong = [name for name in TOLD if getattr(manifest, name) != getattr(launch, name)]
    if manifest.artifact.name != launch.artifact:
        wrong.append("artifact")
    if wrong:
        parts = (f"{name} {_of(manifest, name)} instead of {_of(launch, name)}" for name in wrong)
        raise RecordError(BINDING_MISMATCH, f"the manifest has {', '.join(parts)}")
    if manifest.candidate == manifest.base:
        raise RecordError(EMPTY_RANGE, "the candidate is the base: there is nothing to import")


def check_claims(manifest: Manifest, limits: Limits) -> None:
    """Compare what the manifest claims with the limits, before anything else is read.

    Raises RecordError: claimTooLarge.
    """
    artifact = manifest.artifact
    claims = {
        "pack_bytes": artifact.bytes,
        "objects": artifact.objects,
        "commits": len(manifest.commits),
    }
    for name, claimed in claims.items():
        limit = getattr(limits, name)
        if claimed > limit:
            message = f"it claims {claimed} for {name}, the limit is {limit}"
            raise RecordError(CLAIM_TOO_LARGE, message)


def _of(record: Manifest | Launch, name: str) -> str:
    value = getattr(record, name)
    return str(getattr(value, "name", value))
