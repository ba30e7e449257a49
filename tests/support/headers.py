"""Headers of bundles, honest and not, around an honest pack; and the one report on them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from packparse.formats.json import as_object
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.report import Report
from packparse.verify import Verifier
from tests.support import packs
from tests.support.bundles import bundle, ref_line

Errors = list[tuple[str, int | None]]

# What the rules of git have nothing against in a header.
IGNORED_BY_GIT = {
    "bundleLineEnding",
    "repeatedCapability",
    "misplacedCapability",
    "misplacedPrerequisite",
    "badRefName",
    "dashRefName",
    "replaceRef",
    "conflictingRef",
}
SIGNATURE = 16


def fed(data: bytes, options: Options, cuts: list[int]) -> Report:
    verifier = Verifier(options, length=len(data))
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        verifier.feed(data[start:end])
    return verifier.finish(lambda offset, length: data[offset : offset + length])


def judge(
    data: bytes,
    *,
    rules: str = "candidate",
    fmt: str | None = None,
    limits: dict[str, int] | None = None,
) -> Report:
    """Verify whole, byte by byte and in random cuts; all reports must be the same."""
    asked = None if fmt is None else FORMATS[fmt]
    options = Options(rules=rules, limits=Limits(changes=limits), object_format=asked)
    whole = fed(data, options, [])
    rng = random.Random(len(data))
    for cuts in (
        list(range(1, len(data))),
        sorted(rng.randrange(len(data) + 1) for _ in range(9)),
        sorted(rng.randrange(min(len(data), 200) + 1) for _ in range(9)),
    ):
        assert as_object(fed(data, options, cuts)) == as_object(whole), cuts
    return whole


def errors(report: Report) -> Errors:
    found = report.findings.sorted()
    return [(f.code.name, f.offset) for f in found if f.severity == "error"]


def notes(report: Report) -> list[str]:
    return [f.code.name for f in report.findings.sorted() if f.severity != "error"]


class Maker:
    """Bundles of one version and object format around the same honest pack.

    The pack holds what ``main`` reaches, and nothing else. Without ``based`` it is complete; with
    it the history goes on from the commit ``absent``, which is then to be a prerequisite.
    """

    def __init__(self, version: int, fmt: str, *, based: bool = False) -> None:
        self.version = version
        self.fmt = fmt
        self.absent = "ab" * packs.oid_length(fmt)
        base = bytes.fromhex(self.absent) if based else None
        self.example = packs.small_honest(fmt, tagged=False, base=base)
        self.main = self.example.commit.hex
        self.other = self._oid("tree")
        self.blob = self._oid("blob")
        self.format_line = b"@object-format=%s\n" % fmt.encode() if version == 3 else b""

    @property
    def based(self) -> Maker:
        """The maker of bundles that go on from a prerequisite."""
        return Maker(self.version, self.fmt, based=True)

    def _oid(self, kind: str) -> str:
        return next(h.hex for h in self.example.handles if h.kind == kind)

    def ref(self, name: bytes = b"refs/heads/main", oid: str | None = None) -> bytes:
        return ref_line(oid or self.main, name)

    def pre(self, comment: bytes = b" subject", oid: str | None = None) -> bytes:
        return b"-" + (oid or self.absent).encode() + comment + b"\n"

    def make(self, *lines: bytes, end: bytes = b"\n", pack: bytes | None = None) -> bytes:
        """A bundle of these lines after the capability that the object format needs."""
        return self.bare(self.format_line, *lines, end=end, pack=pack)

    def bare(self, *lines: bytes, end: bytes = b"\n", pack: bytes | None = None) -> bytes:
        body = self.example.pack if pack is None else pack
        return bundle(body, version=self.version, lines=list(lines), end=end)


V2 = Maker(2, "sha1")
V3 = Maker(3, "sha1")
V3_SHA256 = Maker(3, "sha256")
MAKERS = {"v2 sha1": V2, "v3 sha1": V3, "v3 sha256": V3_SHA256}
ONLY_V3 = {"v3 sha1": V3, "v3 sha256": V3_SHA256}

Build = Callable[[Maker], bytes]


@dataclass(frozen=True)
class Case:
    """A hostile header, what must be said of it and at which line, and an honest neighbour.

    ``line`` is the text whose last occurrence starts at the offset of the finding; None: the end
    of the file.
    """

    rows: str
    hostile: Build
    codes: tuple[str, ...]
    line: Callable[[Maker], bytes] | None
    honest: Build

    def expected(self, maker: Maker, data: bytes) -> Errors:
        offset = len(data) if self.line is None else data.rindex(self.line(maker))
        return [(code, offset) for code in self.codes]


def based(build: Build) -> Build:
    """The same lines around a pack that goes on from the prerequisite."""
    return lambda m: build(m.based)


def lines(rows: str, bad: Build, good: Build, *codes: str) -> Case:
    """A case in which one whole line is bad, beside an honest ref before it."""
    return Case(
        rows,
        lambda m: m.make(m.ref(b"refs/heads/first"), bad(m)),
        codes,
        bad,
        lambda m: m.make(m.ref(b"refs/heads/first"), good(m)),
    )


def names(rows: str, bad: bytes, good: bytes, *codes: str) -> Case:
    """A case in which the name of a ref is bad."""
    return lines(rows, lambda m: m.ref(bad), lambda m: m.ref(good), *codes)


BAD_LINE = "bundleBadLine"
ENDING = "bundleLineEnding"
