"""Bundle headers: caps to the byte, and the header by itself, cut and flipped."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from packparse.bundle import BundleHeader
from packparse.errors import MisuseError, PackError
from packparse.findings import Findings
from packparse.limits import SPECS, Limits
from packparse.options import Options
from tests.support import packs
from tests.support.headers import MAKERS, SIGNATURE, V2, V3, Maker, errors, fed, judge

# --- caps (PB7, PB8, case 56) -------------------------------------------------------------------


@dataclass(frozen=True)
class Cap:
    """A bundle that reaches a limit exactly, and one that passes it by one."""

    limit: str
    value: int
    within: bytes
    beyond: bytes
    code: str
    offset: int


def _caps(m: Maker) -> dict[str, Cap]:
    first = SIGNATURE + len(m.format_line)
    name = b"refs/heads/" + b"n" * 100
    line = m.ref(name)
    long = m.ref(name + b"n")
    pre = b" " + b"c" * 100
    refs = [m.ref(b"refs/heads/%d" % n) for n in range(3)]
    pres = [m.pre(), *(m.pre(oid=f"{n:x}" * len(m.main)) for n in range(2))]
    on = m.based
    end = first + len(line) + 1
    return {
        "a ref line": Cap(
            "bundle_line_bytes", len(line) - 1, m.make(line), m.make(long),
            "bundleLineTooLong", first,
        ),
        "a prerequisite line": Cap(
            "bundle_line_bytes", len(m.pre(pre)) - 1, on.make(m.pre(pre), on.ref()),
            on.make(m.pre(pre + b"c"), on.ref()), "bundleLineTooLong", first,
        ),
        "the whole header": Cap(
            "bundle_header_bytes", end, m.make(line), m.make(long), "bundleHeaderTooLarge",
            first + len(long),
        ),
        "the references": Cap(
            "refs", 2, m.make(*refs[:2]), m.make(*refs), "tooManyRefs",
            first + len(refs[0]) * 2,
        ),
        "the prerequisites": Cap(
            "refs", 2, on.make(*pres[:2], on.ref()), on.make(*pres, on.ref()), "tooManyRefs",
            first + len(pres[0]) * 2,
        ),
    }  # fmt: skip


CAPS = {f"{name} ({m})": cap for m, maker in MAKERS.items() for name, cap in _caps(maker).items()}


@pytest.mark.parametrize("rules", ["candidate", "git"])
@pytest.mark.parametrize("cap", CAPS.values(), ids=CAPS)
def test_a_cap_is_kept_to_the_byte(cap: Cap, rules: str) -> None:
    limits = {cap.limit: cap.value}
    assert errors(judge(cap.within, limits=limits, rules=rules)) == []
    report = judge(cap.beyond, limits=limits, rules=rules)
    assert errors(report) == [(cap.code, cap.offset)]
    assert report.klass == 4
    (finding,) = report.findings.sorted()
    assert finding.limit is not None
    assert finding.limit.as_dict() == {
        "name": cap.limit,
        "value": cap.value,
        "seen": cap.value + 1,
    }
    seen = f" {cap.value + 1} {SPECS[cap.limit].unit}, the limit is {cap.value}; "
    assert finding.message.endswith(f"{seen}raise it with --limit {cap.limit}=VALUE")


def test_a_line_without_an_end_is_refused_before_it_is_kept() -> None:
    limits = Limits()
    header = BundleHeader(limits, Findings())
    assert header.feed(b"# v2 git bundle\n") is None
    for _ in range(limits.bundle_line_bytes // 1024):
        assert header.feed(b"x" * 1024) is None
    with pytest.raises(PackError) as caught:
        header.feed(b"x")
    assert caught.value.code.name == "bundleLineTooLong"


def test_default_caps_let_an_ordinary_header_through() -> None:
    refs = [V2.ref(b"refs/heads/topic-%d" % n) for n in range(500)]
    assert errors(judge(V2.make(*refs))) == []
    assert Limits("history").refs >= 100_000


# --- the header by itself -----------------------------------------------------------------------


def test_the_header_gives_back_what_follows_it() -> None:
    header = BundleHeader(Limits(), Findings())
    data = V3.make(b"@filter=blob:none\n", V3.pre(), V3.ref(), pack=b"REST")
    assert header.feed(data[:-2]) == b"RE"
    assert header.length == len(data) - 4
    assert (header.version, header.object_format.name, header.filter) == (3, "sha1", b"blob:none")
    assert list(header.prerequisites) == [bytes.fromhex(V3.absent)]
    assert header.refs == {b"refs/heads/main": bytes.fromhex(V3.main)}
    header.close()
    with pytest.raises(MisuseError):
        header.feed(b"ST")


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_bundle_cut_anywhere_is_refused(maker: Maker) -> None:
    on = maker.based
    data = on.make(on.pre(), on.ref(), on.ref(b"HEAD"))
    options = Options()
    for length in range(len(data)):
        report = fed(data[:length], options, [])
        assert report.klass == 1, length
    assert fed(data, options, []).klass == 0


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.heavy
def test_a_flipped_bit_in_the_header_gives_findings_and_nothing_else(maker: Maker) -> None:
    on = maker.based
    data = on.make(on.pre(), on.ref(), on.ref(b"HEAD"))
    for at in range(data.index(b"PACK")):
        for bit in range(8):
            report = fed(packs.flip(data, at, 1 << bit), Options(), [])
            assert report.klass in {0, 1, 3, 5}
