"""What an import leaves: a receipt, or a refusal; made of what it was for and what was found."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from importer import layout
from manifest import receipt as receipts
from packparse import codes, version
from packparse.escape import quote

if TYPE_CHECKING:
    from importer.errors import ImportRefused
    from importer.quarantine import Indexed
    from importer.verdict import Found
    from manifest.launch import Launch
    from manifest.v1 import Manifest

__all__ = ["Made", "receipt_of", "refusal_of"]

_LONGEST = 2_000


class Made(NamedTuple):
    """A candidate that both verdicts accept: what was offered, and what was found and made of it.

    ``objects`` is the SHA-256 of their list. ``launched`` and ``verified`` are when, in seconds
    since the epoch, it was launched and then accepted by the first verdict.
    """

    manifest: Manifest
    found: Found
    indexed: Indexed
    objects: str
    launched: int
    verified: int


def receipt_of(launch: Launch, made: Made, stem: str, *, at: int) -> receipts.Receipt:
    """The receipt of a launch whose pack gets the name ``stem``, at a time in seconds.

    L1 is held for this, so what takes longer with more objects was done before. Raises
    ImportFailed: gitFailed.
    """
    manifest, found, indexed, objects, launched, verified = made
    return receipts.Receipt(
        **_subject(launch),
        state="imported",
        object_format=launch.object_format,
        candidate=manifest.candidate,
        commits=manifest.commits,
        artifact=manifest.artifact,
        pack=receipts.Pack(
            name=stem,
            bytes=indexed.bytes,
            sha256=indexed.digests[".pack"],
            index=indexed.digests[".idx"],
            appended=indexed.appended,
        ),
        objects=receipts.Objects(count=len(found.oids), sha256=objects),
        packcheck=receipts.PackcheckVerdict(
            version=_own_version(),
            policy=found.report.policy,
            found=found.report.findings.counts(),
        ),
        git=receipts.GitVerdict(version=layout.version(), relaxed=list(found.relaxed)),
        times=receipts.Times(launched=launched, verified=verified, published=at),
    )


def refusal_of(
    launch: Launch, refused: ImportRefused, *, artifact: str | None, at: int
) -> receipts.Refusal:
    """The refusal of an artifact, by its SHA-256 once it was read whole, at a time in seconds."""
    findings = [] if refused.report is None else refused.report.findings.sorted()
    errors = [finding for finding in findings if finding.severity == codes.ERROR]
    return receipts.Refusal(
        **_subject(launch),
        step=refused.step,
        code=refused.code.name,
        klass=refused.code.klass,
        message=refused.message[:_LONGEST],
        artifact=artifact,
        findings=[
            receipts.RefusedFor(
                code=finding.code.name,
                offset=finding.offset,
                oid=None if finding.oid is None else finding.oid.hex(),
                path=_shown(finding.path),
                message=finding.message[:_LONGEST],
            )
            for finding in errors[: receipts.FINDINGS]
        ],
        at=at,
    )


def _subject(launch: Launch) -> dict[str, str]:
    """What both are about."""
    return {
        "launch": launch.launch,
        "issue": launch.issue,
        "run": launch.run,
        "phase": launch.phase,
        "repository": launch.repository,
        "base": launch.base,
    }


def _shown(path: bytes | None) -> str | None:
    """A path for a refusal; None where it is longer than a refusal has room for."""
    quoted = None if path is None else quote(path)
    return None if quoted is None or len(quoted) > receipts.LONGEST_PATH else quoted


@cache
def _own_version() -> str:
    # Asking what is installed takes longer than publishing.
    return version.installed() or ""
