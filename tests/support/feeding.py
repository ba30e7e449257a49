"""One input in many cuts: whole, byte by byte and at random, through PackStream and Verifier.

What is found must not depend on how the bytes arrive. The helpers here run an input in every cut,
fail where two cuts disagree, and give back the one outcome, for the caller to judge.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from packparse import codes
from packparse.entry import BLOB, KIND_NAMES, Entry
from packparse.errors import PackError
from packparse.findings import Finding, Findings, LimitSeen
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.report import Report
from packparse.stream import PackStream
from packparse.verify import Verifier
from tests.support.packs import oid as object_id

Cut = Callable[[bytes], Iterator[bytes]]


# --- cuts ---------------------------------------------------------------------------------------


def whole(data: bytes) -> Iterator[bytes]:
    """Give the input as one piece, even when it is empty."""
    yield data


def bytewise(data: bytes) -> Iterator[bytes]:
    """Give the input byte by byte."""
    for at in range(len(data)):
        yield data[at : at + 1]


def randomly(seed: int) -> Cut:
    """Return a cut into pieces of random lengths; some pieces are empty."""

    def cut(data: bytes) -> Iterator[bytes]:
        rng = random.Random(seed)
        # About 40 pieces, but short ones too: the interesting borders lie close together.
        longest = max(8, len(data) // 20)
        at = 0
        while at < len(data):
            length = rng.choice((0, 1, rng.randrange(1, 8), rng.randrange(1, longest + 1)))
            yield data[at : at + length]
            at += length

    return cut


def at_places(*places: int) -> Cut:
    """Return a cut at these places of the input."""

    def cut(data: bytes) -> Iterator[bytes]:
        for begin, end in pairwise((0, *sorted(places), len(data))):
            yield data[begin:end]

    return cut


SEEDS = (1, 2, 3)
CUTS: dict[str, Cut] = {"whole": whole, "byte by byte": bytewise}
CUTS |= {f"random cut {seed}": randomly(seed) for seed in SEEDS}


# --- what came out ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding or a refusal, as plain values that can be compared."""

    code: str
    severity: str
    offset: int | None
    oid: bytes | None
    message: str
    limit: tuple[str, int, int] | None
    path: bytes | None = None


def seen_finding(finding: Finding) -> Seen:
    """Return a finding as plain values."""
    return Seen(
        finding.code.name,
        finding.severity,
        finding.offset,
        finding.oid,
        finding.message,
        _limit(finding.limit),
        finding.path,
    )


def seen_error(error: PackError) -> Seen:
    """Return a refusal as plain values."""
    limit = _limit(error.limit)
    return Seen(error.code.name, codes.ERROR, error.offset, error.oid, error.message, limit)


def _limit(limit: LimitSeen | None) -> tuple[str, int, int] | None:
    return None if limit is None else (limit.name, limit.value, limit.seen)


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """What a PackStream made of an input. Entries are as :func:`comparable` leaves them."""

    entries: tuple[Entry, ...]
    refusal: Seen | None
    notes: tuple[Seen, ...]
    claimed: int
    found: int
    inflated: int
    version: int
    checksum: bytes | None
    entries_end: int

    @property
    def accepted(self) -> bool:
        """Whether the pack was read to its end without a refusal."""
        return self.refusal is None

    @property
    def code(self) -> str | None:
        """The name of the code it was refused with."""
        return None if self.refusal is None else self.refusal.code

    @property
    def offset(self) -> int | None:
        """The offset of the refusal."""
        return None if self.refusal is None else self.refusal.offset


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a Verifier said, the findings in the order of the report."""

    klass: int
    findings: tuple[Seen, ...]
    kind: str | None
    object_format: str | None
    sha256: str | None
    pack_checksum: str | None
    counts: tuple[tuple[str, int], ...]
    costs: tuple[int, ...]
    tips: tuple[tuple[bytes, bytes], ...]
    prerequisites: tuple[bytes, ...]

    @property
    def accepted(self) -> bool:
        """Whether the file was accepted."""
        return self.klass == 0

    @property
    def codes(self) -> list[str]:
        """The names of the codes of all errors."""
        return [one.code for one in self.findings if one.severity == codes.ERROR]

    @property
    def notes(self) -> list[str]:
        """The names of the codes of all findings that are no error."""
        return [one.code for one in self.findings if one.severity != codes.ERROR]

    def at(self, code: str) -> list[int | None]:
        """The offsets at which ``code`` was found."""
        return [one.offset for one in self.findings if one.code == code]


def verdict_of(report: Report) -> Verdict:
    """Return the parts of a report that must not depend on time or on cuts."""
    costs = (
        report.bytes or 0,
        report.inflated_bytes,
        report.rebuilt_bytes,
        report.copied_bytes,
        report.delta_depth,
        report.unchecked_links,
    )
    return Verdict(
        klass=report.klass,
        findings=tuple(map(seen_finding, report.findings.sorted())),
        kind=report.kind,
        object_format=report.object_format,
        sha256=report.sha256,
        pack_checksum=report.pack_checksum,
        counts=tuple(report.counts.items()),
        costs=costs,
        tips=tuple(report.tips.items()),
        prerequisites=tuple(report.prerequisites),
    )


def comparable(entry: Entry, fmt: str = "sha1") -> Entry:
    """Return the entry with what may depend on cuts taken out: whether a blob's data was kept.

    Before the content goes it is checked against the id, so that nothing wrong can hide there.
    """
    data = entry.data
    if data is not None:
        assert len(data) == entry.size
        if entry.base is None:
            assert object_id(KIND_NAMES[entry.kind], bytes(data), fmt) == entry.oid
    else:
        assert entry.kind == BLOB, "only blobs may come without their content"
    return entry._replace(data=None if entry.kind == BLOB or data is None else bytes(data))


# --- PackStream ---------------------------------------------------------------------------------


def run_stream(
    data: bytes,
    cut: Cut = whole,
    *,
    fmt: str = "sha1",
    limits: Limits | None = None,
    rules: str = "candidate",
    start: int = 0,
    length: int | None = None,
) -> StreamOutcome:
    """Feed a PackStream with the pieces of one cut and close it.

    A refused stream is fed and closed once more: it must repeat its refusal.
    """
    findings = Findings(rules)
    stream = PackStream(
        limits or Limits(), FORMATS[fmt], findings=findings, start=start, length=length
    )
    entries: list[Entry] = []
    refusal: Seen | None = None
    try:
        for piece in cut(data):
            entries.extend(comparable(entry, fmt) for entry in stream.feed(piece))
    except PackError as error:
        refusal = seen_error(error)
        assert _repeated(lambda: list(stream.feed(b"more"))) == refusal
    closing = _repeated(stream.close)
    assert refusal in {None, closing}, "close() must repeat the refusal"
    assert closing == _repeated(stream.close), "a second close() must say the same"
    assert stream.found == len(entries)
    assert stream.complete == (stream.checksum is not None)
    return StreamOutcome(
        entries=tuple(entries),
        refusal=closing,
        notes=tuple(map(seen_finding, findings.sorted())),
        claimed=stream.claimed,
        found=stream.found,
        inflated=stream.inflated,
        version=stream.version,
        checksum=stream.checksum,
        entries_end=stream.entries_end,
    )


def _repeated(call: Callable[[], object]) -> Seen | None:
    try:
        call()
    except PackError as error:
        return seen_error(error)
    return None


def stream_in_all_cuts(
    data: bytes,
    *,
    fmt: str = "sha1",
    limits: Limits | None = None,
    rules: str = "candidate",
    start: int = 0,
    length: int | None = None,
) -> StreamOutcome:
    """Return what PackStream makes of the input, and fail unless it is the same in every cut."""
    outcomes = {
        name: run_stream(data, cut, fmt=fmt, limits=limits, rules=rules, start=start, length=length)
        for name, cut in CUTS.items()
    }
    first = outcomes["whole"]
    for name, outcome in outcomes.items():
        assert outcome == first, f"{name} differs from whole"
    return first


# --- Verifier -----------------------------------------------------------------------------------


def run_verifier(
    data: bytes,
    cut: Cut = whole,
    options: Options | None = None,
    *,
    length: int | None = None,
) -> Verdict:
    """Feed a Verifier with the pieces of one cut and return its verdict."""
    verifier = Verifier(options or Options(), length=length)
    for piece in cut(data):
        verifier.feed(piece)
    report = verifier.finish(lambda offset, size: data[offset : offset + size])
    assert report.sha256 in {None, hashlib.sha256(data).hexdigest()}
    return verdict_of(report)


def verify_in_all_cuts(
    data: bytes, options: Options | None = None, *, length: int | None = None
) -> Verdict:
    """Return the verdict on the input, and fail unless it is the same in every cut."""
    verdicts = {name: run_verifier(data, cut, options, length=length) for name, cut in CUTS.items()}
    first = verdicts["whole"]
    for name, verdict in verdicts.items():
        assert verdict == first, f"{name} differs from whole"
    return first


def refuses_bytes_after(
    honest: bytes, options: Options | None = None, surplus: bytes = b"\0"
) -> Verdict:
    """Fail unless ``honest`` is accepted, and refused with trailingBytes once ``surplus`` follows.

    In all cuts, with the length of the file known and not.
    """
    for length in (None, len(honest)):
        accepted = verify_in_all_cuts(honest, options, length=length)
        assert accepted.accepted, accepted.findings
    return refuses_surplus(honest, options, surplus)


def refuses_surplus(
    honest: bytes, options: Options | None = None, surplus: bytes = b"\0"
) -> Verdict:
    """Do the same of a file that has been found to be accepted in all cuts."""
    longer = honest + surplus
    verdict = verify_in_all_cuts(longer, options)
    assert verdict.codes == [codes.TRAILING_BYTES.name]
    assert verdict.at(codes.TRAILING_BYTES.name) == [len(honest)]
    assert verify_in_all_cuts(longer, options, length=len(longer)) == verdict
    return verdict
