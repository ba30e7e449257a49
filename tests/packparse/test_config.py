"""git's configuration format: which settings are read, and where reading stops.

What git itself says of the same contents is compared in tests/differential/test_gitmodules.py.
"""

from __future__ import annotations

import time

import pytest

from packparse.objects.config import Settings

Event = tuple[bytes, bytes, bytes | None]


def read(content: bytes | bytearray) -> tuple[list[Event], int | None]:
    settings = Settings(content)
    return list(settings), settings.stopped


def value_of(written: bytes) -> bytes | None:
    """Read what stands behind the equals sign of the one setting of a file."""
    events, stopped = read(b"[a]\nk =" + written)
    assert stopped is None
    assert len(events) == 1
    return events[0][2]


# --- what is read -------------------------------------------------------------------------------

HEADERS = {
    "a plain section": (b"[core]\nk = v\n", b"core"),
    "a section in capitals": (b"[CORE]\nk = v\n", b"core"),
    "digits, dashes and dots in a section": (b"[0a-b.c]\nk = v\n", b"0a-b.c"),
    "a subsection in quotes": (b'[a "B"]\nk = v\n', b"a.B"),
    "a subsection behind a dot, in lower case": (b"[A.B]\nk = v\n", b"a.b"),
    "a subsection behind several spaces": (b'[a \t\r "b"]\nk = v\n', b"a.b"),
    "an empty subsection": (b'[a ""]\nk = v\n', b"a."),
    "an empty subsection behind a dot": (b"[a.]\nk = v\n", b"a."),
    "no section and a subsection": (b'[ "b"]\nk = v\n', b".b"),
    "dots and slashes in a subsection": (b'[a "../b.c"]\nk = v\n', b"a.../b.c"),
    "brackets and comment signs in a subsection": (b'[a "]#;["]\nk = v\n', b"a.]#;["),
    "an escaped quote and backslash": (b'[a "b\\"\\\\c"]\nk = v\n', b'a.b"\\c'),
    "a backslash before any other byte": (b'[a "\\n\\t\\x"]\nk = v\n', b"a.ntx"),
    "a NUL in a subsection": (b'[a "b\0c"]\nk = v\n', b"a.b\0c"),
    "an escaped NUL in a subsection": (b'[a "b\\\0c"]\nk = v\n', b"a.b\0c"),
    "a carriage return in a subsection": (b'[a "b\r"]\nk = v\n', b"a.b\r"),
    "bytes that are no ASCII in a subsection": (b'[a "\xc3\xa9\xff"]\nk = v\n', b"a.\xc3\xa9\xff"),
    "a setting on the line of the header": (b"[a] k = v\n", b"a"),
    "two headers on a line": (b'[a][b "c"]k = v\n', b"b.c"),
    "a header without settings before": (b"[a]\n[b]\nk = v\n", b"b"),
    "no header at all": (b"k = v\n", b""),
    "a byte order mark": (b"\xef\xbb\xbf[a]\nk = v\n", b"a"),
    "blank lines, form and kind of comment before": (b"\n \t\r\r\n;[x]\n#[y]\n[a]\nk = v", b"a"),
    "a comment with any byte": (b"# \0\xff\r\xef\xbb\xbf\n[a]\nk = v", b"a"),
    "a comment behind the header": (b"[a] # k = w\nk = v", b"a"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_names_the_section_of_what_follows(name: str) -> None:
    content, section = HEADERS[name]
    assert read(content) == ([(section, b"k", b"v")], None)


KEYS: dict[str, tuple[bytes, Event]] = {
    "in lower case": (b"fetchRecurse-2 = v", (b"a", b"fetchrecurse-2", b"v")),
    "no spaces": (b"k=v", (b"a", b"k", b"v")),
    "a tab and spaces before the equals sign": (b"k \t = v", (b"a", b"k", b"v")),
    "no value": (b"k\n", (b"a", b"k", None)),
    "no value and spaces": (b"k \t \n", (b"a", b"k", None)),
    "no value and CR LF": (b"k\r\n", (b"a", b"k", None)),
    "no value and the end": (b"k", (b"a", b"k", None)),
    "no value, spaces and the end": (b"k ", (b"a", b"k", None)),
    "an empty value": (b"k =\n", (b"a", b"k", b"")),
    "an empty value and the end": (b"k=", (b"a", b"k", b"")),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key(name: str) -> None:
    written, event = KEYS[name]
    assert read(b"[a]\n" + written) == ([event], None)


VALUES = {
    "space at both ends": (b" \t v \t\n", b"v"),
    "space between words, which is kept": (b"a \t  b\n", b"a \t  b"),
    "CR LF": (b" v\r\n", b"v"),
    "a carriage return before CR LF": (b" v\r\r\n", b"v"),
    "a carriage return at the end of the file": (b" v\r", b"v"),
    "a carriage return between words": (b" a\rb\n", b"a\rb"),
    "a carriage return in quotes at the end (CVE-2025-48384)": (b' "v\r"\r\n', b"v\r"),
    "CR LF behind a backslash": (b" a\\\r\nb\n", b"ab"),
    "quotes": (b' "v"\n', b"v"),
    "quotes in the middle": (b' a"b c"d\n', b"ab cd"),
    "space in quotes": (b' " v "\n', b" v "),
    "empty quotes": (b' ""\n', b""),
    "empty quotes before space": (b' ""  v\n', b"v"),
    "empty quotes behind space": (b' v  ""\n', b"v  "),
    "an escaped quote": (b' \\"v\\"\n', b'"v"'),
    "an escaped quote in quotes": (b' "a\\"b"\n', b'a"b'),
    "an escaped backslash": (b" a\\\\b\n", b"a\\b"),
    "an escaped backslash before a letter": (b" \\\\n\n", b"\\n"),
    "escaped control characters": (b" \\t\\n\\b\n", b"\t\n\b"),
    "escaped space at both ends": (b" \\tv\\t \n", b"\tv\t"),
    "a line that goes on": (b" a\\\n  b\n", b"a  b"),
    "a line that goes on in quotes": (b' "a\\\n b"\n', b"a b"),
    "a line that goes on before the value": (b" \\\n  \\\n v\n", b"v"),
    "quotes around a line that goes on": (b' "\\\n"  v\n', b"v"),
    "space, and a line that goes on into nothing": (b" v  \\\n\n", b"v  "),
    "a backslash at the end of the file": (b" v  \\", b"v  "),
    "a comment behind a number sign": (b" v # c\n", b"v"),
    "a comment behind a semicolon": (b" v;c\n", b"v"),
    "a comment and a quote in it": (b' v # "\n', b"v"),
    "a comment and a backslash at its end": (b" v # \\\n", b"v"),
    "nothing but a comment": (b" # c", b""),
    "comment signs in quotes": (b' "#;"\n', b"#;"),
    "brackets and an equals sign": (b" [x] = y\n", b"[x] = y"),
    "a NUL": (b" a\0b\n", b"a\0b"),
    "bytes that are no ASCII": (b" \xc3\xa9\xff\n", b"\xc3\xa9\xff"),
    "form feed and vertical tab, no space to git": (b" \f v \v\n", b"\f v \v"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value(name: str) -> None:
    written, value = VALUES[name]
    assert value_of(written) == value


def test_settings_come_in_order_and_share_the_name_of_their_section() -> None:
    content = b'[a "b"]\nx = 1\ny\n[a "b"]\nx = 2\n'
    events, stopped = read(content)
    assert events == [(b"a.b", b"x", b"1"), (b"a.b", b"y", None), (b"a.b", b"x", b"2")]
    assert stopped is None
    assert events[0][0] is events[1][0]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", b"# c", b"[a]", b" \t\r"])
def test_a_file_without_settings(content: bytes) -> None:
    assert read(content) == ([], None)
    assert read(bytearray(content)) == ([], None)


# --- where reading stops ------------------------------------------------------------------------

BEFORE = b"[a]\nx = 1\n"
FAULTS = {
    "a key that begins with a digit": b"0k = v\n",
    "a key that begins with a dash": b"-k = v\n",
    "an underscore in a key": b"k_k = v\n",
    "a dot in a key": b"k.k = v\n",
    "a byte that is no ASCII in a key": b"k\xc3\xa9 = v\n",
    "a comment behind a key": b"k # c\n",
    "a carriage return behind a key": b"k\r = v\n",
    "a key and a word": b"k v\n",
    "no key": b"= v\n",
    "a quote that does not end": b'k = "v\n',
    "a quote that does not end in the file": b'k = "v',
    "a quote in which the file ends with a backslash": b'k = "v\\',
    "an unknown escape": b"k = \\x\n",
    "an escaped space": b"k = a\\ \n",
    "an escaped carriage return": b"k = \\\rx\n",
    "an unknown escape in quotes": b'k = "\\x"\n',
    "an escaped NUL": b"k = \\\0\n",
    "an empty header": b"[]\nk = v\n",
    "a header that does not end": b"[b\nk = v\n",
    "a header that does not end in the file": b"[b",
    "a space in a section": b"[b c]\nk = v\n",
    "a space at the end of a section": b"[b ]\nk = v\n",
    "an underscore in a section": b"[b_c]\nk = v\n",
    "a NUL in a section": b"[b\0]\nk = v\n",
    "no space before a subsection": b'[b"c"]\nk = v\n',
    "a space behind a subsection": b'[b "c" ]\nk = v\n',
    "two subsections": b'[b "c" "d"]\nk = v\n',
    "a subsection that does not end": b'[b "c]\nk = v\n',
    "a line feed in a subsection": b'[b "c\nd"]\nk = v\n',
    "an escaped line feed in a subsection": b'[b "c\\\nd"]\nk = v\n',
    "a line feed before a subsection": b'[b \n"c"]\nk = v\n',
    "a closing bracket": b"]\nk = v\n",
    "a NUL": b"\0\nk = v\n",
    "a form feed": b"\f\nk = v\n",
    "a byte order mark in the middle": b"\xef\xbb\xbfk = v\n",
    "HTML": b"<html>\n",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_stops_the_reading_and_what_came_before_counts(name: str) -> None:
    content = BEFORE + b"  " + FAULTS[name] + b"[z]\ny = 2\n"
    assert read(content) == ([(b"a", b"x", b"1")], len(BEFORE) + 2)


@pytest.mark.parametrize("content", [b"\xef", b"\xef\xbb", b"\xef\xbbk\n", b"\xef\xbb\xbf" * 2])
def test_a_part_of_a_byte_order_mark_and_a_second_one_are_faults(content: bytes) -> None:
    whole = len(b"\xef\xbb\xbf")
    assert read(content) == ([], whole if len(content) == 2 * whole else 0)


@pytest.mark.parametrize(
    ("content", "offset"),
    [
        (b"\r\n\r\n!", 4),
        (b"a\r\n# \r\r\n!", 8),
        (b"a\r\n\xff\r\n\r\n", 3),
        (b"\r\n\r!\r\n", 3),
        (b'a\r\nb = "\r\n\r\n', 3),
        (b"!\r\n", 0),
    ],
)
def test_the_offset_of_a_fault_counts_both_bytes_of_crlf(content: bytes, offset: int) -> None:
    assert read(content)[1] == offset


def test_a_second_iteration_gives_the_same() -> None:
    settings = Settings(BEFORE + b"!")
    assert list(settings) == list(settings) == [(b"a", b"x", b"1")]
    assert settings.stopped == len(BEFORE)


# --- cost ---------------------------------------------------------------------------------------

SIZE = 512 << 10
LARGE = {
    "settings": b"a\n" * (SIZE // 2),
    "headers": b"[a]" * (SIZE // 3),
    "comments": b"#\n" * (SIZE // 2),
    "blank lines": b"\r\n" * (SIZE // 2),
    "spaces": b"k =" + b" " * SIZE,
    "spaces and lines that go on": b"k =" + b" \\\n" * (SIZE // 3),
    "quotes": b"k =" + b'"' * SIZE,
    "quotes that do not end": b"k =" + b'"' * (SIZE - 1),
    "quotes and letters": b"k =" + b'"a' * (SIZE // 2),
    "quotes and spaces before a word": b"k =" + b'"" ' * (SIZE // 3) + b"v",
    "quotes and spaces before a fault": b"k =" + b'" ' * (SIZE // 2 // 2 * 2) + b"\\",
    "escapes": b"k =" + b"\\n" * (SIZE // 2),
    "escapes before a fault": b"k =" + b"a\\n" * (SIZE // 3) + b"\\q",
    "a subsection of escapes": b'[a "' + b"\\n" * (SIZE // 2) + b'"]k',
    "a subsection of escapes that does not end": b'[a "' + b"\\n" * (SIZE // 2),
    "CR LF before a fault": b"a\r\n" * (SIZE // 3) + b"!",
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_takes_no_more_than_linear_time(name: str) -> None:
    # Squares of this length would take hours; the bound is wide for machines that are busy.
    begin = time.process_time()
    assert sum(1 for _ in Settings(LARGE[name])) <= SIZE // 2
    assert time.process_time() - begin < 8
