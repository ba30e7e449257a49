"""Bundle headers: hostile ones refused at the right byte, their honest neighbours accepted."""

from __future__ import annotations

import pytest

from tests.support.headers import (
    BAD_LINE,
    ENDING,
    IGNORED_BY_GIT,
    MAKERS,
    ONLY_V3,
    Case,
    Maker,
    based,
    errors,
    judge,
    lines,
    names,
)

CASES = {
    # PB1: what a line may be
    "a line that is only words": lines("PB1", lambda _: b"hello\n", Maker.ref, BAD_LINE),
    "an id in capitals": lines("PB1", lambda m: m.ref(oid=m.main.upper()), Maker.ref, BAD_LINE),
    "an id that is a digit short": lines(
        "PB1", lambda m: m.ref(oid=m.main[:-1]), Maker.ref, BAD_LINE
    ),
    "an id that has a digit more": lines(
        "PB1", lambda m: m.ref(oid=m.main + "0"), Maker.ref, BAD_LINE
    ),
    "an id without a name": lines("PB1", lambda m: m.main.encode() + b"\n", Maker.ref, BAD_LINE),
    "an id and a space without a name": lines(
        "PB1", lambda m: m.ref(b""), Maker.ref, ENDING, BAD_LINE
    ),
    "a tab between id and name": lines(
        "PB1", lambda m: m.main.encode() + b"\trefs/heads/x\n", Maker.ref, BAD_LINE
    ),
    "a space before the id": lines("PB1", lambda m: b" " + m.ref(), Maker.ref, BAD_LINE),
    "an id of the other object format": lines(
        "PB1 PB4",
        lambda m: m.ref(oid="0" * (104 - len(m.main))),
        Maker.ref,
        BAD_LINE,
    ),
    "a prerequisite with a short id": Case(
        "PB1",
        lambda m: m.make(m.pre(oid=m.absent[:-1]), m.ref()),
        (BAD_LINE,),
        lambda m: m.pre(oid=m.absent[:-1]),
        based(lambda m: m.make(m.pre(), m.ref())),
    ),
    "a prerequisite with a letter after its id": Case(
        "PB1",
        lambda m: m.make(m.pre(b"x"), m.ref()),
        (BAD_LINE,),
        lambda m: m.pre(b"x"),
        based(lambda m: m.make(m.pre(b" x"), m.ref())),
    ),
    "a prerequisite with a tab after its id": Case(
        "PB1",
        lambda m: m.make(m.pre(b"\tx"), m.ref()),
        (BAD_LINE,),
        lambda m: m.pre(b"\tx"),
        based(lambda m: m.make(m.pre(b" \tx"), m.ref())),
    ),
    # The order of lines (PB6)
    "a prerequisite after a ref": Case(
        "PB6",
        based(lambda m: m.make(m.ref(), m.pre())),
        ("misplacedPrerequisite",),
        Maker.pre,
        based(lambda m: m.make(m.pre(), m.ref())),
    ),
    # PB9, case 22: names
    "a name with dots": names("PB9", b"refs/heads/../../x", b"refs/heads/x.x", "badRefName"),
    "a name with an ESC": names("PB9", b"refs/heads/\x1b[31mx", b"refs/heads/31mx", "badRefName"),
    "a name with a space": names("PB9", b"refs/heads/a b", b"refs/heads/a_b", "badRefName"),
    "a name with a NUL": names("PB9", b"refs/heads/a\0b", b"refs/heads/a", "badRefName"),
    "a name with a DEL": names("PB9", b"refs/heads/a\x7f", b"refs/heads/a\x80", "badRefName"),
    "a name that ends in .lock": names(
        "PB9", b"refs/heads/a.lock", b"refs/heads/a.locks", "badRefName"
    ),
    "a name outside of refs": names("PB9", b"main", b"MAIN", "badRefName"),
    "a name that begins with a slash": names(
        "PB9", b"/refs/heads/x", b"refs/heads/x", "badRefName"
    ),
    "a pattern": names("PB9", b"refs/heads/*", b"refs/heads/all", "badRefName"),
    "a plus sign before the name": names("PB9", b"+refs/heads/x", b"refs/heads/+x", "badRefName"),
    "a branch named like an option": names(
        "PB9 case 22", b"refs/heads/--mirror", b"refs/heads/mirror--", "dashRefName"
    ),
    "a part in the middle like an option": names(
        "PB9 case 22", b"refs/heads/-x/y", b"refs/heads/x-/y", "dashRefName"
    ),
    "a name that begins with a dash": names(
        "PB9 case 22", b"--upload-pack=x", b"refs/heads/upload-pack=x", "badRefName", "dashRefName"
    ),
    # PH10, case 59
    "a replacement of an object": Case(
        "PH10",
        lambda m: m.make(m.ref(), m.ref(b"refs/replace/" + m.other.encode())),
        ("replaceRef",),
        lambda m: m.ref(b"refs/replace/" + m.other.encode()),
        lambda m: m.make(m.ref(), m.ref(b"refs/replaced/" + m.other.encode())),
    ),
    # PB10, case 53
    "two objects for one name": Case(
        "PB10",
        lambda m: m.make(m.ref(b"refs/tags/x"), m.ref(b"refs/tags/x", m.blob)),
        ("conflictingRef",),
        lambda m: m.ref(b"refs/tags/x", m.blob),
        lambda m: m.make(m.ref(b"refs/tags/x"), m.ref(b"refs/tags/x")),
    ),
    # PB11: ends of lines
    "a ref that ends in a carriage return": names(
        "PB11", b"refs/heads/x\r", b"refs/heads/x", ENDING
    ),
    "a ref that ends in a space": names("PB11", b"refs/heads/x ", b"refs/heads/x", ENDING),
    "a ref that ends in a tab": names("PB11", b"refs/heads/x\t", b"refs/heads/x", ENDING),
    "a blank line that is not quite blank": Case(
        "PB11 PB12",
        lambda m: m.make(m.ref(), end=b"\r\n"),
        (ENDING, BAD_LINE),
        lambda _: b"\r\n",
        lambda m: m.make(m.ref(), end=b"\n"),
    ),
    # PB12: the end of the header
    "a pack without a blank line before it": Case(
        "PB12",
        lambda m: m.make(m.ref(), end=b""),
        ("bundleMissingBlankLine",),
        lambda _: b"PACK",
        lambda m: m.make(m.ref()),
    ),
    "an end before the blank line": Case(
        "PB12",
        lambda m: m.make(m.ref(), end=b"", pack=b""),
        ("bundleMissingBlankLine",),
        None,
        lambda m: m.make(m.ref()),
    ),
    "an end in the middle of a line": Case(
        "PB12",
        lambda m: m.make(m.ref()[:-1], end=b"", pack=b""),
        ("truncated",),
        None,
        lambda m: m.make(m.ref()),
    ),
    # PB16, case 2: the pack counts
    "no pack after the header": Case(
        "PB16",
        lambda m: m.make(m.ref(), pack=b""),
        ("bundleMissingPack",),
        None,
        lambda m: m.make(m.ref()),
    ),
    "only half a pack header after the header": Case(
        "PB16",
        lambda m: m.make(m.ref(), pack=m.example.pack[:7]),
        ("truncated",),
        lambda m: m.example.pack[:7],
        lambda m: m.make(m.ref()),
    ),
    "something else than a pack after the header": Case(
        "PB16",
        lambda m: m.make(m.ref(), pack=b"KCAP" + m.example.pack[4:]),
        ("badSignature",),
        lambda _: b"KCAP",
        lambda m: m.make(m.ref()),
    ),
    "bytes after the pack": Case(
        "PB16 case 2d",
        lambda m: m.make(m.ref()) + b"!!!",
        ("trailingBytes",),
        lambda _: b"!!!",
        lambda m: m.make(m.ref()),
    ),
    "a second pack after the pack": Case(
        "PB16 case 38",
        lambda m: m.make(m.ref()) + m.example.pack,
        ("trailingBytes",),
        lambda m: m.example.pack,
        lambda m: m.make(m.ref()),
    ),
}

V3_CASES = {
    "an unknown capability": Case(
        "PB3 case 55",
        lambda m: m.make(b"@unknown=x\n", m.ref()),
        ("unknownCapability",),
        lambda _: b"@unknown",
        lambda m: m.make(b"@filter=blob:none\n", m.ref()),
    ),
    "a capability without a name": Case(
        "PB3",
        lambda m: m.make(b"@\n", m.ref()),
        ("unknownCapability",),
        lambda _: b"@\n",
        lambda m: m.make(m.ref()),
    ),
    "a capability in capitals": Case(
        "PB3",
        lambda m: m.make(b"@FILTER=blob:none\n", m.ref()),
        ("unknownCapability",),
        lambda _: b"@FILTER",
        lambda m: m.make(b"@filter=blob:none\n", m.ref()),
    ),
    "an unknown object format": Case(
        "PB4",
        lambda m: m.bare(b"@object-format=sha512\n", m.ref()),
        ("unknownObjectFormat",),
        lambda _: b"@object-format",
        lambda m: m.make(m.ref()),
    ),
    "an object format without a value": Case(
        "PB4",
        lambda m: m.bare(b"@object-format\n", m.ref()),
        ("unknownObjectFormat",),
        lambda _: b"@object-format",
        lambda m: m.make(m.ref()),
    ),
    "an object format that is no text": Case(
        "PB4",
        lambda m: m.bare(b"@object-format=sha1\xff\n", m.ref()),
        ("unknownObjectFormat",),
        lambda _: b"@object-format",
        lambda m: m.make(m.ref()),
    ),
    "an object format over ids of the other one": Case(
        "PB4 case 55",
        lambda m: m.bare({"sha1": b"@object-format=sha256\n", "sha256": b""}[m.fmt], m.ref()),
        (BAD_LINE,),
        Maker.ref,
        lambda m: m.make(m.ref()),
    ),
    "an object format that comes twice": Case(
        "PB6",
        lambda m: m.make(m.format_line, m.ref()),
        ("repeatedCapability",),
        lambda m: m.format_line,
        lambda m: m.make(m.ref()),
    ),
    "a filter that comes twice": Case(
        "PB6",
        lambda m: m.make(b"@filter=blob:none\n", b"@filter=tree:0\n", m.ref()),
        ("repeatedCapability",),
        lambda _: b"@filter=tree",
        lambda m: m.make(b"@filter=tree:0\n", m.ref()),
    ),
    "a capability after a ref": Case(
        "PB6",
        lambda m: m.make(m.ref(), b"@filter=tree:0\n"),
        ("misplacedCapability",),
        lambda _: b"@filter",
        lambda m: m.make(b"@filter=tree:0\n", m.ref()),
    ),
    "a capability after a prerequisite": Case(
        "PB6",
        based(lambda m: m.make(m.pre(), b"@filter=tree:0\n", m.ref())),
        ("misplacedCapability",),
        lambda _: b"@filter",
        based(lambda m: m.make(b"@filter=tree:0\n", m.pre(), m.ref())),
    ),
    "a capability that ends in a carriage return": Case(
        "PB11",
        lambda m: m.make(b"@filter=tree:0\r\n", m.ref()),
        (ENDING,),
        lambda _: b"@filter",
        lambda m: m.make(b"@filter=tree:0\n", m.ref()),
    ),
    "an unknown filter": Case(
        "PB5 case 55",
        lambda m: m.make(b"@filter=zzz\n", m.ref()),
        ("badFilter",),
        lambda _: b"@filter",
        lambda m: m.make(b"@filter=tree:3\n", m.ref()),
    ),
}


def _table() -> list[tuple[Maker, Case]]:
    return [(m, c) for m in MAKERS.values() for c in CASES.values()] + [
        (m, c) for m in ONLY_V3.values() for c in V3_CASES.values()
    ]


def _ids() -> list[str]:
    return [f"{name} ({m})" for m in MAKERS for name in CASES] + [
        f"{name} ({m})" for m in ONLY_V3 for name in V3_CASES
    ]


# --- the table ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("maker", "case"), _table(), ids=_ids())
def test_a_hostile_header_is_refused_at_its_line(maker: Maker, case: Case) -> None:
    data = case.hostile(maker)
    report = judge(data)
    assert errors(report) == case.expected(maker, data)
    assert not report.accepted


@pytest.mark.parametrize(("maker", "case"), _table(), ids=_ids())
def test_the_honest_neighbour_is_accepted(maker: Maker, case: Case) -> None:
    report = judge(case.honest(maker))
    assert errors(report) == []
    assert report.klass == 0
    assert report.counts["objects"] == len(maker.example.handles)


@pytest.mark.parametrize(("maker", "case"), _table(), ids=_ids())
def test_git_rules_refuse_only_what_git_refuses(maker: Maker, case: Case) -> None:
    data = case.hostile(maker)
    expected = [e for e in case.expected(maker, data) if e[0] not in IGNORED_BY_GIT]
    assert errors(judge(data, rules="git")) == expected
