"""Step 6: the first verdict, packcheck's, with the shared store as the trusted side."""

from __future__ import annotations

import copy
import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from importer import layout
from importer.errors import NOT_A_BUNDLE, NOT_RELAXABLE, ImportRefused
from packparse import checks, codes
from packparse.checks import CATALOG
from packparse.entry import COMMIT
from packparse.escape import shorten
from packparse.options import Options
from packparse.table import split_ids
from packparse.verify import Verifier

if TYPE_CHECKING:
    from importer.base import SeededSet, StoreReader
    from packparse.codes import Code
    from packparse.findings import Finding
    from packparse.limits import Limits
    from packparse.objectformat import ObjectFormat
    from packparse.policy import Policy
    from packparse.reader import ReadAt
    from packparse.report import Report

__all__ = ["Found", "Verdict", "check_policy", "leading", "object_list_digest"]

# git's fsck.h: severity FATAL, which no `--strict=ID=ignore` relaxes.
_FATAL = {"nulInHeader", "unterminatedHeader"}
# What the commit that is wanted is called, beside the refs of the bundle.
_ASKED = b"the candidate"
_BRANCH = b"refs/heads/"


class Found(NamedTuple):
    """What packcheck found in an artifact that it accepts.

    ``oids`` and ``commits`` are raw ids, the former in the order of the pack; ``parents`` are those
    of the commits that have some, ``bases`` objects of the store that deltas rest on. The pack
    begins at byte ``begin``. ``relaxed`` are the fsck ids that git would refuse and this verdict
    excused, inherited from the base or by the policy.
    """

    report: Report
    oids: tuple[bytes, ...]
    commits: frozenset[bytes]
    parents: dict[bytes, tuple[bytes, ...]]
    bases: frozenset[bytes]
    begin: int
    relaxed: tuple[str, ...]

    def misplaced(self, listed: list[bytes]) -> bytes | None:
        """The first of these commits that is listed before a parent of it; None if none is."""
        below = set(listed)
        for oid in listed:
            below.remove(oid)
            if not below.isdisjoint(self.parents.get(oid, ())):
                return oid
        return None


class Verdict:
    """A verification of one artifact between a base and a candidate, fed as it is read."""

    def __init__(  # noqa: PLR0913 - each is named
        self,
        reader: StoreReader,
        seeded: SeededSet,
        *,
        object_format: ObjectFormat,
        bases: frozenset[bytes],
        candidate: bytes | None,
        policy: Policy,
        limits: Limits,
        name: str,
        length: int,
    ) -> None:
        options = Options(
            policy=_unfiltered(policy),
            limits=limits,
            object_format=object_format,
            bases=bases,
            tips={} if candidate is None else {_ASKED: candidate},
            known=seeded.kind,
            read_base=reader.read,
            base_info=reader.about,
        )
        self._verifier = Verifier(options, name=name, length=length)
        self.feed = self._verifier.feed

    def finish(self, read_at: ReadAt) -> Found:
        """The verdict; ``read_at`` reads the copy again.

        Raises ImportRefused with the code of the first error of the leading class, and the report;
        or notABundle, unexpectedRefs, which the report has as well.
        """
        verifier = self._verifier
        report = verifier.finish(read_at)
        if not report.accepted:
            first = leading(report)
            where = "" if first.offset is None else f" (at offset {first.offset})"
            raise ImportRefused(first.code, f"{first.message}{where}", report=report)
        _check_header(report)
        table = verifier.table
        oids = split_ids(table.ids, table.width)
        commits = (oid for oid, kind in zip(oids, table.kinds, strict=True) if kind == COMMIT)
        return Found(
            report,
            oids,
            frozenset(commits),
            verifier.parents(),
            frozenset(verifier.outside_bases),
            verifier.pack_offset,
            _relaxed(report),
        )


def _check_header(report: Report) -> None:
    """What is asked of a candidate beyond what any bundle may be (contract A18)."""
    if report.kind != "bundle":
        raise _refused(NOT_A_BUNDLE, "it is a pack without a header", report)
    if not report.tips:
        # Without a tip there is no range, and what is in the pack is nobody's.
        raise _refused(
            checks.UNEXPECTED_REFS, "the bundle has no ref, and no tip was named", report
        )
    others = [name for name in report.tips if name != _ASKED and not name.startswith(_BRANCH)]
    if others and report.findings.raises(checks.UNEXPECTED_REFS):
        message = (
            f"the ref {shorten(others[0])} is no branch; name one, as in "
            "git bundle create FILE BASE..BRANCH"
        )
        raise _refused(checks.UNEXPECTED_REFS, message, report)


def _refused(code: Code, message: str, report: Report) -> ImportRefused:
    """A refusal that the report has as well, so that it does not say accepted."""
    report.findings.add(code, message)
    return ImportRefused(code, message, report=report)


def _unfiltered(policy: Policy) -> Policy:
    """The policy, with what is a note of any bundle and an error of a candidate (contract A18)."""
    if policy.severities.get(codes.FILTERED_BUNDLE) == codes.IGNORE:
        return policy
    stricter = copy.copy(policy)
    stricter.severities = policy.severities | {codes.FILTERED_BUNDLE: codes.ERROR}
    return stricter


def leading(report: Report) -> Finding:
    """The error that a refused report is named after."""
    errors = [f for f in report.findings.sorted() if f.severity == codes.ERROR]
    return next(f for f in errors if f.code.klass == report.klass)


def object_list_digest(oids: tuple[bytes, ...]) -> str:
    """The SHA-256 of the sorted ids in hexadecimal, each with a line feed."""
    lines = "".join(f"{oid}\n" for oid in sorted(oid.hex() for oid in oids))
    return hashlib.sha256(lines.encode()).hexdigest()


def check_policy(policy: Policy) -> None:
    """Refuse a policy that makes less of an error than git can be told to.

    Raises ImportRefused: notRelaxable.
    """
    for code, severity in policy.severities.items():
        if severity != codes.ERROR and code.name in _FATAL:
            message = f"policy {policy.name} makes a {severity} of {code.name}, which git refuses"
            raise ImportRefused(NOT_RELAXABLE, message)


def _relaxed(report: Report) -> tuple[str, ...]:
    """The fsck ids that are errors to git, and were found and excused, or not looked for at all.

    What git does not know it cannot be told to relax; a git that is newer than the registry knows
    more ids, and refuses what it finds. Those that are fatal are never here: no policy may excuse
    them (check_policy), and only what a path leads to is inherited.
    """
    here = _numbers(layout.version())
    counts = report.findings.counts()
    excused = [
        code
        for code in CATALOG.values()
        if (code.name in counts or report.findings.severity(code) == codes.IGNORE)
        and _is_error_to_git(code)
        and _numbers(code.since) <= here
    ]
    return tuple(sorted(code.name for code in excused))


def _is_error_to_git(code: Code) -> bool:
    return bool(code.since) and code.severity("git") == codes.ERROR


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
