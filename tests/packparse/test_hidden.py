"""Characters that a reader does not see, or sees in another place."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest

from packparse import hidden

HIDDEN = {
    "NUL": ("a\0", "U+0000"),
    "an escape": ("\x1b[2J", "U+001B"),
    "DEL": ("a\x7fb", "U+007F"),
    "a control of the second set": ("\x9b", "U+009B"),
    "a soft hyphen": ("a\u00adb", "U+00AD"),
    "a space of no width": ("a\u200bb", "U+200B"),
    "text turned around": ("a\u202etxt", "U+202E"),
    "an isolate": ("\u2066", "U+2066"),
    "a byte order mark": ("\ufeffa", "U+FEFF"),
    "a tag": ("a\U000e0041", "U+E0041"),
    "a line separator": ("a\u2028b", "U+2028"),
    "a blank of Braille": ("\u2800", "U+2800"),
    "a selector behind a letter": ("a\ufe0f", "U+FE0F"),
    "a selector at the beginning": ("\ufe0f", "U+FE0F"),
    "two selectors": ("\u2764\ufe0f\ufe0f", "U+FE0F"),
    "the first of several": ("a\u200b\u202e", "U+200B"),
}
SHOWN = ["", "a", "~", "\u00a0", "\u00e4", "\u2764\ufe0f", "1\ufe0f\u20e3", "\u65e5", "\U0001f600"]


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_hidden_is_found_and_named(name: str) -> None:
    text, named = HIDDEN[name]
    raw = text.encode()
    assert hidden.first(raw) == named
    assert hidden.has_control(raw) != hidden.is_deceptive(raw)


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_shown_is_not(text: str) -> None:
    raw = text.encode()
    assert (hidden.first(raw), hidden.has_control(raw), hidden.is_deceptive(raw)) == (
        "", False, False,
    )  # fmt: skip


def test_bytes_that_are_no_utf_8_hide_nothing() -> None:
    for raw in (b"\x80", b"\xc2", b"\xe2\x80", b"\xff\xfe", b"a\xad"):
        assert hidden.first(raw) == ""


@pytest.mark.heavy
def test_of_all_characters_these_are_hidden() -> None:
    # What Unicode calls a format character, a control or a separator of lines is hidden, and
    # besides fillers, blanks, and what it reserves for such characters.
    found = {
        number
        for number in range(sys.maxunicode + 1)
        if not 0xD800 <= number <= 0xDFFF and hidden.first(b"\xe4\xb8\x80" + chr(number).encode())
    }
    by_category = {
        number
        for number in range(sys.maxunicode + 1)
        if unicodedata.category(chr(number)) in {"Cc", "Zl", "Zp"}
    }
    assert by_category <= found
    formats = {
        number for number in range(sys.maxunicode + 1) if unicodedata.category(chr(number)) == "Cf"
    }
    # Signs that are seen: of numbers and of verses in Arabic, Syriac, Kaithi and hieroglyphs.
    seen = formats - found
    assert {unicodedata.name(chr(number)).split()[0] for number in seen} <= {
        "ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN",
    }  # fmt: skip
    assert len(found) < 5_000


def test_what_turns_text_around_is_deceptive() -> None:
    turning = [
        chr(number).encode()
        for number in range(0x3000)
        if re.fullmatch(hidden.TURNING, chr(number).encode())
    ]
    assert len(turning) == 12
    assert all(map(hidden.is_deceptive, turning))


BOTH = {
    "a control behind": ("\u200ba\x01", "U+0001", "U+200B"),
    "a control before": ("a\x01\u200b", "U+0001", "U+200B"),
    "a control alone": ("a\x01", "U+0001", ""),
    "a character of no width alone": ("a\u200b", "", "U+200B"),
    "neither": ("a", "", ""),
}


@pytest.mark.parametrize("name", BOTH)
def test_each_kind_of_character_is_named_by_itself(name: str) -> None:
    text, control, deceptive = BOTH[name]
    raw = text.encode()
    assert (hidden.first_control(raw), hidden.first_deceptive(raw)) == (control, deceptive)
