"""PackStream: tables A and C of the list of checks, each with its hostile case and its neighbour.

Every pack here is fed whole, byte by byte and in random cuts, which must not change a thing.
"""

from __future__ import annotations

import pytest

from packparse import codes, stream
from tests.support.feeding import (
    run_stream,
    stream_in_all_cuts,
    verify_in_all_cuts,
)
from tests.support.streams import CASES, every_case, formats, versions


@formats
@versions
@every_case
def test_a_hostile_pack_is_refused_with_its_code_and_offset_in_every_cut(
    name: str, fmt: str, version: int
) -> None:
    case = CASES[fmt, version][name]
    outcome = stream_in_all_cuts(case.hostile, fmt=fmt)
    assert (outcome.code, outcome.offset) == (case.code.name, case.offset)
    assert outcome.refusal is not None
    assert outcome.refusal.message.isascii()
    assert outcome.refusal.message.isprintable()


@formats
@versions
@every_case
def test_its_honest_neighbour_is_accepted_in_every_cut(name: str, fmt: str, version: int) -> None:
    case = CASES[fmt, version][name]
    outcome = stream_in_all_cuts(case.honest, fmt=fmt)
    assert outcome.accepted, outcome.refusal
    assert [note.code for note in outcome.notes] == list(case.notes)
    assert outcome.version == version
    assert outcome.found == outcome.claimed == 2


@every_case
def test_offsets_count_from_the_start_of_the_file_and_not_of_the_pack(name: str) -> None:
    case = CASES["sha1", 2][name]
    outcome = stream_in_all_cuts(case.hostile, start=1_000_000)
    assert (outcome.code, outcome.offset) == (case.code.name, 1_000_000 + case.offset)


@formats
@every_case
def test_the_long_way_finds_what_the_fast_way_does(
    name: str, fmt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[fmt, 2][name]
    fast = [run_stream(data, fmt=fmt) for data in (case.hostile, case.honest)]
    monkeypatch.setattr(stream, "_SMALL", -1)
    assert [run_stream(data, fmt=fmt) for data in (case.hostile, case.honest)] == fast


@every_case
def test_a_verifier_says_the_same_as_the_stream(name: str) -> None:
    # The parser's refusal must reach the report, whatever comes before and after it.
    case = CASES["sha1", 2][name]
    verdict = verify_in_all_cuts(case.hostile)
    assert verdict.codes == [case.code.name]
    assert verdict.at(case.code.name) == [case.offset]
    assert verdict.klass == case.code.klass


@formats
def test_pa6_after_any_honest_neighbour_a_byte_more_is_refused(fmt: str) -> None:
    for honest in {case.honest for case in CASES[fmt, 2].values()}:
        for surplus in (b"\0", b"PACK"):
            outcome = stream_in_all_cuts(honest + surplus, fmt=fmt)
            assert (outcome.code, outcome.offset) == (codes.TRAILING_BYTES.name, len(honest))
            assert outcome.found == 2
