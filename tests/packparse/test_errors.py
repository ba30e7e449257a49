"""The two exceptions: what a refusal carries, and that misuse is not one."""

from __future__ import annotations

import pytest

from packparse import codes
from packparse.errors import MisuseError, PackError
from packparse.findings import LimitSeen

OID = bytes(range(20))


def test_a_refusal_carries_its_code_message_place_and_limit() -> None:
    limit = LimitSeen("objects", 1, 2)
    error = PackError(codes.TRUNCATED, "cut short", offset=7, oid=OID, limit=limit)
    assert (error.code, error.message, error.offset) == (codes.TRUNCATED, "cut short", 7)
    assert error.oid == OID
    assert error.limit is limit


def test_the_place_of_a_refusal_is_unknown_unless_given() -> None:
    error = PackError(codes.TRUNCATED, "cut short")
    assert (error.offset, error.oid, error.limit) == (None, None, None)


@pytest.mark.parametrize(
    ("offset", "text"),
    [(None, "truncated: cut short"), (0, "truncated at offset 0: cut short")],
    ids=["without an offset", "with an offset of 0"],
)
def test_the_text_names_the_code_and_the_offset(offset: int | None, text: str) -> None:
    assert str(PackError(codes.TRUNCATED, "cut short", offset=offset)) == text


def test_a_place_is_filled_in_where_none_was_known() -> None:
    error = PackError(codes.BAD_DEFLATE, "damaged")
    assert error.at(12, OID) is error
    assert (error.offset, error.oid) == (12, OID)


@pytest.mark.parametrize("offset", [0, 5], ids=["offset 0", "offset 5"])
def test_a_place_that_is_known_already_stays(offset: int) -> None:
    error = PackError(codes.BAD_DEFLATE, "damaged", offset=offset, oid=OID)
    error.at(99, b"\xff" * 20)
    assert (error.offset, error.oid) == (offset, OID)


def test_misuse_is_no_refusal_and_a_refusal_no_misuse() -> None:
    # A caller that catches the one must not swallow the other.
    assert not issubclass(MisuseError, PackError)
    assert not issubclass(PackError, MisuseError)
    assert not issubclass(PackError, (ValueError, OSError, LookupError))
