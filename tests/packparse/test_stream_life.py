"""PackStream: what may be called when, and what a refused or closed stream says."""

from __future__ import annotations

import pytest

from packparse import codes
from packparse.errors import MisuseError, PackError
from packparse.findings import Findings
from packparse.limits import Limits
from packparse.stream import PackStream
from tests.support import packs
from tests.support.streams import CASES, every_case

# --- the life of a stream -----------------------------------------------------------------------


def test_feeding_while_entries_are_left_is_misuse() -> None:
    parser = PackStream(Limits())
    entries = parser.feed(packs.blob_pack(b"a", b"b", b"c"))
    next(entries)
    with pytest.raises(MisuseError):
        parser.feed(b"")
    with pytest.raises(MisuseError):
        parser.close()
    assert len(list(entries)) == 2
    parser.close()


def test_feeding_after_entries_that_were_thrown_away_is_misuse() -> None:
    # Going on would give wrong offsets, for what was half read is lost.
    parser = PackStream(Limits())
    next(parser.feed(packs.blob_pack(*(bytes([n]) * 200 for n in range(9)))))
    with pytest.raises(MisuseError):
        list(parser.feed(b""))


def test_feeding_again_before_the_entries_were_asked_for_is_misuse() -> None:
    pack = packs.blob_pack(b"a")
    parser = PackStream(Limits())
    first = parser.feed(pack[:20])
    with pytest.raises(MisuseError):
        list(parser.feed(pack[20:]))
    assert list(first) == []


def test_closing_before_the_entries_were_asked_for_is_misuse() -> None:
    parser = PackStream(Limits())
    entries = parser.feed(packs.blob_pack(b"a"))
    with pytest.raises(MisuseError):
        parser.close()
    assert len(list(entries)) == 1
    parser.close()


@pytest.mark.parametrize("given", [packs.blob_pack(b"a"), b""], ids=["complete", "truncated"])
def test_feeding_a_closed_stream_is_misuse(given: bytes) -> None:
    parser = PackStream(Limits())
    list(parser.feed(given))
    if given:
        parser.close()
    else:
        with pytest.raises(PackError):
            parser.close()
    with pytest.raises(MisuseError):
        parser.feed(b"")


def test_a_complete_stream_may_be_closed_twice() -> None:
    parser = PackStream(Limits())
    list(parser.feed(packs.blob_pack(b"a")))
    assert parser.complete
    parser.close()
    parser.close()


@every_case
def test_a_refused_stream_is_dead_and_repeats_its_refusal(name: str) -> None:
    # Whatever comes after: nothing more, the honest pack, or the same bytes again.
    case = CASES["sha1", 2][name]
    parser = PackStream(Limits())
    refused = None
    try:
        list(parser.feed(case.hostile))
    except PackError as error:
        refused = error
    if refused is None:
        with pytest.raises(PackError) as closing:
            parser.close()
        refused = closing.value
    else:
        for more in (b"", case.honest, case.hostile):
            with pytest.raises(PackError) as again:
                list(parser.feed(more))
            assert again.value is refused
    for _ in range(2):
        with pytest.raises(PackError) as again:
            parser.close()
        assert again.value is refused
    assert not parser.complete or case.code is codes.TRAILING_BYTES


def test_a_new_stream_has_seen_nothing() -> None:
    parser = PackStream(Limits(), start=9)
    assert (parser.claimed, parser.found, parser.version, parser.inflated) == (0, 0, 0, 0)
    assert parser.checksum is None
    assert not parser.complete
    assert parser.entries_end == 9


def test_findings_of_a_caller_are_used_and_one_s_own_are_strict() -> None:
    mine = Findings("git")
    assert PackStream(Limits(), findings=mine).findings is mine
    assert PackStream(Limits()).findings.raises(codes.PADDED_DEFLATE)
