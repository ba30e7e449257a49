"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from packparse import late


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    made, twin = late.pattern(rb"a(b*)", re.IGNORECASE), re.compile(rb"a(b*)", re.IGNORECASE)
    text = b"xABbxa"
    assert made.findall(text) == twin.findall(text)
    assert [match.span(1) for match in made.finditer(text)] == [(2, 4), (6, 6)]
    assert made.split(text) == twin.split(text)
    assert made.sub(b"-", text) == b"x-x-"
    assert made.match(text) is None
    assert made.match(text, 1) is not None
    assert (made.pattern, made.flags, made.groups) == (twin.pattern, twin.flags, twin.groups)
    assert late.pattern("a+").fullmatch("aa") is not None


def test_it_is_compiled_when_something_is_asked_of_it_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[bytes] = []

    def compile_it(source: bytes, flags: int) -> re.Pattern[bytes]:
        compiled.append(source)
        return real(source, flags)

    real = re.compile
    monkeypatch.setattr(re, "compile", compile_it)
    made = late.pattern(rb"once")
    assert compiled == []
    assert made.search(b"at once")
    assert made.search(b"never") is None
    assert compiled == [b"once"]


def test_a_malformed_one_is_seen_at_its_first_use() -> None:
    made = late.pattern(rb"(")
    with pytest.raises(re.error):
        made.match(b"")
