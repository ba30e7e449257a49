"""Identities: git's id for the first fault, and dates and zones that no commit can have."""

from __future__ import annotations

import pytest

from packparse import checks
from packparse.codes import Code
from packparse.objects import identity

WHO = b"author"


def found(line: bytes) -> list[str]:
    return [oddity.code.name for oddity in identity.oddities(line, WHO)]


HONEST = {
    "name, address, date and zone": b"A U Thor <author@example.com> 1700000000 +0000",
    "a name that is a space": b" <a@x> 1700000000 +0000",
    "an empty address": b"A <> 1700000000 +0000",
    "an address that is no address": b"A <nowhere> 1700000000 +0000",
    "spaces in the address": b"A < a b > 1700000000 +0000",
    "two spaces before the date": b"A <a@x>  1700000000 +0000",
    "a tab before the date": b"A <a@x> \t1700000000 +0000",
    "the first second of the epoch": b"A <a@x> 0 +0000",
    "the last second of 2099": b"A <a@x> 4102444799 +0000",
    "a zone west of UTC": b"A <a@x> 1700000000 -0330",
    "the zone furthest east": b"A <a@x> 1700000000 +1400",
    "a zone of minus nothing": b"A <a@x> 1700000000 -0000",
    "the last minute of an hour": b"A <a@x> 1700000000 +1359",
    "bytes that are not ASCII": b"\xff\xc3 <\xe9@x> 1700000000 +0000",
    "quotes and commas": b'"O\'Neill, A." <a@x> 1700000000 +0000',
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_identity_has_nothing_odd(name: str) -> None:
    assert found(HONEST[name]) == []


# Id to hostile lines; the ids are those that git gives (cases 16, 73).
FAULTS: dict[str, tuple[Code, tuple[bytes, ...]]] = {
    "the address first": (
        checks.MISSING_NAME_BEFORE_EMAIL,
        (b"<a@x> 1700000000 +0000", b"<", b"<<", b"<>"),
    ),
    "no address": (
        checks.MISSING_EMAIL,
        (b"", b" ", b"A", b"A 1700000000 +0000", b"A a@x 1700000000 +0000"),
    ),
    "a bracket that closes in the name": (
        checks.BAD_NAME,
        (b"A> <a@x> 1700000000 +0000", b">", b"A >", b" ><"),
    ),
    "no space before the address": (
        checks.MISSING_SPACE_BEFORE_EMAIL,
        (b"A<a@x> 1700000000 +0000", b"A\t<a@x> 1700000000 +0000", b"A<"),
    ),
    "an address that does not end": (
        checks.BAD_EMAIL,
        (b"A <a@x 1700000000 +0000", b"A <a<b> 1700000000 +0000", b"A <", b"A <<"),
    ),
    "no space before the date": (
        checks.MISSING_SPACE_BEFORE_DATE,
        (
            b"A <a@x>1700000000 +0000",
            b"A <a@x>",
            b"A <a@x>\t1700000000 +0000",
            b"A <a@x>> 1700000000 +0000",
        ),
    ),
    "a date that is no number": (
        checks.BAD_DATE,
        (
            b"A <a@x> ",
            b"A <a@x> \t ",
            b"A <a@x> now +0000",
            b"A <a@x> <a@x> 1700000000 +0000",
            b"A <a@x> -1 +0000",
            b"A <a@x> +1700000000 +0000",
            b"A <a@x> \v1700000000 +0000",
            b"A <a@x> \r1700000000 +0000",
            b"A <a@x> 1700000000+0000",
            b"A <a@x> 1700000000\t+0000",
            b"A <a@x> 1700000000.5 +0000",
            b"A <a@x> 1700000000",
            b"A <a@x> 1",
            "A <a@x> \u0661 +0000".encode(),
        ),
    ),
    "zeros before the date": (
        checks.ZERO_PADDED_DATE,
        (
            b"A <a@x> 01700000000 +0000",
            b"A <a@x> 00 +0000",
            b"A <a@x>  01 +0000",
            b"A <a@x> 0",
            b"A <a@x> 0\t+0000",
            b"A <a@x> 0x1 +0000",
        ),
    ),
    "a date past 63 bits": (
        checks.BAD_DATE_OVERFLOW,
        (
            b"A <a@x> 9223372036854775808 +0000",
            b"A <a@x> 18446744073709551615 +0000",
            b"A <a@x> 18446744073709551616 +0000",
            b"A <a@x> 18446744073709551617 +0000",
            b"A <a@x> " + b"1" * 5_000 + b" +0000",
            b"A <a@x> " + b"9" * 30,
        ),
    ),
    "a zone that is not a sign and four digits": (
        checks.BAD_TIMEZONE,
        (
            b"A <a@x> 1700000000 ",
            b"A <a@x> 1700000000 -700",
            b"A <a@x> 1700000000 --700",
            b"A <a@x> 1700000000 +051800",
            b"A <a@x> 1700000000 0000",
            b"A <a@x> 1700000000 UTC",
            b"A <a@x> 1700000000  +0000",
            b"A <a@x> 1700000000 +0000 ",
            b"A <a@x> 1700000000 +0000\r",
            b"A <a@x> 1700000000 +000\xb2",
            b"A <a@x> 1700000000 +",
        ),
    ),
    "a year past 2099": (
        checks.IMPLAUSIBLE_DATE,
        (b"A <a@x> 4102444800 +0000", b"A <a@x> 9223372036854775807 +0000"),
    ),
    "a zone past 14 hours or 59 minutes": (
        checks.IMPLAUSIBLE_TIMEZONE,
        (
            b"A <a@x> 1700000000 +1401",
            b"A <a@x> 1700000000 -1500",
            b"A <a@x> 1700000000 +0060",
            b"A <a@x> 1700000000 +5130",
            b"A <a@x> 1700000000 -9999",
        ),
    ),
}
LINES = [(name, line) for name, (_, lines) in FAULTS.items() for line in lines]


@pytest.mark.parametrize(("name", "line"), LINES, ids=[f"{n}: {c[:40]!r}" for n, c in LINES])
def test_a_fault_is_called_as_git_calls_it(name: str, line: bytes) -> None:
    code, _ = FAULTS[name]
    (oddity,) = identity.oddities(line, WHO)
    assert oddity.code is code
    assert oddity.detail == WHO


def test_date_and_zone_can_both_be_implausible() -> None:
    assert found(b"A <a@x> 99999999999 +9999") == ["implausibleDate", "implausibleTimezone"]


@pytest.mark.parametrize("who", [b"author", b"committer", b"tagger"])
def test_the_line_is_named_and_shown_as_printable_ascii(who: bytes) -> None:
    (oddity,) = identity.oddities(b"\x1b[31m\xe2\x80\xae" + b"x" * 5_000, who)
    assert oddity.detail == who
    assert oddity.message.startswith(f"the {who.decode()} line ")
    assert oddity.message.isascii()
    assert oddity.message.isprintable()
    assert len(oddity.message) < 1_000


WITHOUT_DATE = {
    "an honest line": (b"A U Thor <a@x> 1700000000 +0000", b"A U Thor <a@x>"),
    "a second address": (b"A <a@x> <b@x> 1700000000 +0000", b"A <a@x>"),
    "no date": (b"A <a@x>", b"A <a@x>"),
    "no name": (b"<a@x> 1700000000 +0000", b"<a@x>"),
    "no address": (b"A 1700000000 +0000", b"A 1700000000 +0000"),
    "an address that does not end": (b"A <a@x 1700000000", b"A <a@x 1700000000"),
    "a bracket in the name": (b"A> <a@x> 1700000000 +0000", b"A> <a@x> 1700000000 +0000"),
    "nothing": (b"", b""),
}


@pytest.mark.parametrize("name", WITHOUT_DATE)
def test_the_name_and_the_address_can_be_had_alone(name: str) -> None:
    line, expected = WITHOUT_DATE[name]
    assert identity.without_date(line) == expected


MIB = 1 << 20
LONG = {
    "brackets": b"<" * MIB,
    "a name": b"x" * MIB,
    "spaces": b" " * MIB,
    "an address": b"A <" + b"x" * MIB,
    "digits": b"A <a@x> " + b"1" * MIB + b" +0000",
    "zeros": b"A <a@x> " + b"0" * MIB,
    "spaces before the date": b"A <a@x> " + b" " * MIB + b"x",
    "tabs before the date": b"A <a@x> " + b"\t" * MIB + b"x",
    "a zone": b"A <a@x> 1 +" + b"0" * MIB,
    "spaces everywhere": b" " * MIB + b"<" + b" " * MIB + b"> ",
}


@pytest.mark.parametrize("name", LONG)
def test_a_mebibyte_of_anything_is_one_fault(name: str) -> None:
    assert len(found(LONG[name])) == 1
    identity.without_date(LONG[name])
