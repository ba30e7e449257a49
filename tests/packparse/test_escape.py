"""Untrusted names as text: nothing but printable ASCII, and never two names as one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packparse.escape import quote, shorten, unquote

FIXED = settings(derandomize=True, database=None, max_examples=300)
NAMED = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 0x22, "\\": 0x5C}

# As `git -c core.quotePath=true ls-files` prints them.
EXAMPLES = {
    "a plain name": (b"src/main.py", "src/main.py"),
    "the empty name": (b"", ""),
    "a space needs no quotes": (b"a b", "a b"),
    "a dash needs no quotes": (b"-rf", "-rf"),
    "an apostrophe needs no quotes": (b"it's", "it's"),
    "a double quote": (b'say "x"', r'"say \"x\""'),
    "a backslash": (b"a\\b", r'"a\\b"'),
    "a newline": (b"a\nb", r'"a\nb"'),
    "a tab": (b"a\tb", r'"a\tb"'),
    "all seven named controls": (b"\a\b\t\n\v\f\r", r'"\a\b\t\n\v\f\r"'),
    "an escape sequence": (b"\x1b[31mred", r'"\033[31mred"'),
    "NUL": (b"a\0b", r'"a\000b"'),
    "DEL": (b"\x7f", r'"\177"'),
    "UTF-8": ("ä".encode(), r'"\303\244"'),
    "a bidirectional override": ("a\u202eb".encode(), r'"a\342\200\256b"'),
    "a zero-width joiner": (".g\u200dit".encode(), r'".g\342\200\215it"'),
    "no UTF-8": (b"\xff\xfe", r'"\377\376"'),
    "a digit after an octal byte": (b"\x011", r'"\0011"'),
}


def as_git_reads(text: str) -> bytes:
    """Return the name that git would read from this text."""
    if not text.startswith('"'):
        return text.encode("ascii")

    def byte(match: re.Match[str]) -> str:
        inner = match[1]
        return chr(NAMED[inner] if inner in NAMED else int(inner, 8))

    return re.sub(r'\\([0-7]{3}|[abtnvfr"\\])', byte, text[1:-1]).encode("latin-1")


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_name_is_printed_as_git_prints_it(name: str) -> None:
    raw, text = EXAMPLES[name]
    assert quote(raw) == text


@pytest.mark.parametrize("byte", range(256))
def test_every_byte_comes_out_printable_and_can_be_read_back(byte: int) -> None:
    for raw in (bytes([byte]), b"a" + bytes([byte]) + b"1"):
        text = quote(raw)
        assert text.isascii()
        assert text.isprintable()
        assert as_git_reads(text) == raw


@given(st.binary(max_size=300))
@FIXED
def test_any_name_can_be_read_back_so_no_two_look_alike(raw: bytes) -> None:
    assert as_git_reads(quote(raw)) == raw


@given(st.binary(max_size=500))
@FIXED
def test_a_shortened_name_is_printable_and_bounded(raw: bytes) -> None:
    text = shorten(raw)
    assert text.isascii()
    assert text.isprintable() or not text
    # Four characters a byte, the quotes, and the note about what was left out.
    assert len(text) <= 4 * 200 + 2 + len("... (500 bytes)")


@pytest.mark.parametrize("length", [0, 1, 199, 200])
def test_a_name_of_200_bytes_is_shown_whole(length: int) -> None:
    assert shorten(b"x" * length) == "x" * length
    assert shorten(b"\n" * length) == quote(b"\n" * length)


def test_a_longer_name_shows_its_first_200_bytes_and_its_length() -> None:
    assert shorten(b"x" * 201) == "x" * 200 + "... (201 bytes)"
    assert shorten(b"\n" + bytes(10**6)) == quote(b"\n" + bytes(199)) + "... (1000001 bytes)"


# --- read back ----------------------------------------------------------------------------------

# Texts that are no spelling, or not the one, of any name.
NONE = {
    "one quote": '"',
    "two quotes": '""',
    "three quotes": '"""',
    "an end without a beginning": 'a\\n"',
    "a beginning without an end": '"a\\n',
    "quotes that nothing asks for": '"a"',
    "a space in quotes": '"a b"',
    "a quote inside": 'a"b',
    "a quote inside of quotes": '"a"b\\n"',
    "a backslash outside of quotes": "a\\b",
    "an escape outside of quotes": "a\\n",
    "a backslash at the end": '"a\\n\\"',
    "an escape that is none": '"\\x01"',
    "an escape in capitals": '"\\N"',
    "an escape that ends early": '"\\01"',
    "an octal number of a named byte": '"\\012"',
    "an octal number of a plain letter": '"\\141\\n"',
    "an octal number over 255": '"\\400"',
    "an octal number over 511": '"\\777"',
    "digits that are not octal": '"\\009"',
    "a byte that has to be escaped": '"a\n"',
    "a byte that has to be escaped, without quotes": "a\nb",
    "DEL": "\x7f",
    "a letter that is not ASCII": "ä",
    "a letter that is not ASCII in quotes": '"ä\\n"',
    "half of a pair": "\ud800",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_was_quoted_is_read_back(name: str) -> None:
    raw, text = EXAMPLES[name]
    assert unquote(text) == raw


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_spelling_of_a_name_or_not_the_one_is_none(name: str) -> None:
    assert unquote(NONE[name]) is None


def test_every_byte_is_read_back() -> None:
    for byte in range(256):
        for raw in (bytes([byte]), b"a" + bytes([byte]) + b"1"):
            assert unquote(quote(raw)) == raw


@given(st.binary(max_size=300))
@FIXED
def test_any_name_is_read_back_as_git_reads_it(raw: bytes) -> None:
    text = quote(raw)
    assert unquote(text) == raw == as_git_reads(text)


@given(st.text(alphabet='ab\\"01237nN \n\x7fä', max_size=12) | st.text(max_size=12))
@FIXED
@pytest.mark.heavy
def test_a_text_is_the_spelling_of_one_name_or_of_none(text: str) -> None:
    for candidate in (text, f'"{text}"'):
        name = unquote(candidate)
        assert name is None or quote(name) == candidate
