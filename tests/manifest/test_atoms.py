"""The smallest parts of records, at their bounds."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manifest import atoms

FIXED = settings(derandomize=True, database=None, max_examples=200)

NAMES = {
    "a letter": ("a", True),
    "a digit": ("0", True),
    "all that is allowed": ("a.b_c:d/e#f@g+h=i,j-k", True),
    "128 characters": ("a" * 128, True),
    "129 characters": ("a" * 129, False),
    "nothing": ("", False),
    "a dash in front": ("-a", False),
    "a dot in front": (".a", False),
    "a slash in front": ("/a", False),
    "a space": ("a b", False),
    "a line feed behind it": ("a\n", False),
    "a line feed in front": ("\na", False),
    "NUL": ("a\0", False),
    "a quote": ('a"', False),
    "a backslash": ("a\\", False),
    "a semicolon": ("a;b", False),
    "a dollar": ("a$b", False),
    "a letter of another script": ("\u0430", False),
    "a digit of another script": ("a\u0661", False),
}
LAUNCHES = {
    "32 digits": ("0123456789abcdef" * 2, True),
    "31 digits": ("a" * 31, False),
    "33 digits": ("a" * 33, False),
    "capitals": ("A" * 32, False),
    "other letters": ("g" * 32, False),
    "a line feed behind it": ("a" * 32 + "\n", False),
    "nothing": ("", False),
}
PARTS: dict[str, tuple[object, list[object], list[object]]] = {
    "Oid": (
        atoms.Oid,
        ["a" * 40, "0" * 64],
        ["a" * 39, "a" * 41, "a" * 63, "a" * 65, "A" * 40, "a" * 40 + "\n"],
    ),
    "Digest": (atoms.Digest, ["0" * 64], ["0" * 63, "0" * 65, "F" * 64, "0" * 64 + "\n"]),
    "FileName": (
        atoms.FileName,
        ["a", "candidate.bundle", "a" * 100],
        ["", ".", "..", ".a", "-a", "a/b", "a" * 101, "a\n", "a b"],
    ),
    "FormatName": (atoms.FormatName, ["sha1", "sha256"], ["", "SHA1", "sha512"]),
    "Amount": (atoms.Amount, [0, 1, 2**53 - 1], [-1, 2**53, True, 1.5, "1"]),
    "QuotedPath": (atoms.QuotedPath, ["a", "x" * 16_400], ["", "x" * 16_401, "a\n", "ä", "\x7f"]),
    "Sentence": (atoms.Sentence, ["", "x" * 2_000, " ~"], ["x" * 2_001, "a\n", "ä", "\x1b[0m"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "well"), NAMES.values(), ids=NAMES)
def test_a_name_is_of_few_characters_and_never_an_option_or_a_path(text: str, well: bool) -> None:
    assert _fits(atoms.Name, text) is well


@pytest.mark.parametrize(("text", "well"), LAUNCHES.values(), ids=LAUNCHES)
def test_the_id_of_a_launch_is_32_digits(text: str, well: bool) -> None:
    assert atoms.is_launch_id(text) is well
    assert _fits(atoms.LaunchId, text) is well


@pytest.mark.parametrize("name", PARTS)
def test_each_part_has_its_bounds(name: str) -> None:
    kind, good, bad = PARTS[name]
    assert [value for value in good if not _fits(kind, value)] == []
    assert [value for value in bad if _fits(kind, value)] == []


def _fits(kind: object, value: object) -> bool:
    try:
        msgspec.convert(value, type=kind)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("path", "text"),
    [("/a/b", "/a/b"), ("/a b", "/a b"), ("/ä", r'"/\303\244"'), ("/\udcff\n", r'"/\377\n"')],
)
def test_a_path_is_quoted_as_git_quotes_it(path: str, text: str) -> None:
    assert atoms.pack_path(path) == text
    assert atoms.unpack_path(text) == path


@pytest.mark.parametrize("text", ['"/a"', "/a\\b", '"', '"/\\x"', '"/\\400"', "/ä", '"/\\N"'])
def test_a_text_that_no_path_is_quoted_as_is_none(text: str) -> None:
    assert atoms.unpack_path(text) is None


@given(st.binary(min_size=1, max_size=100))
@FIXED
def test_any_path_of_the_system_comes_back(raw: bytes) -> None:
    path = os.fsdecode(raw)
    assert os.fsencode(atoms.unpack_path(atoms.pack_path(path)) or "") == raw
