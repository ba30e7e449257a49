"""The object formats: their names, widths and hashes."""

from __future__ import annotations

import hashlib

import pytest

from packparse.objectformat import FORMATS


@pytest.mark.parametrize(("name", "width"), [("sha1", 20), ("sha256", 32)])
def test_a_format_has_the_hash_of_its_name(name: str, width: int) -> None:
    found = FORMATS[name]
    assert (found.name, found.width) == (name, width)
    assert found.new is getattr(hashlib, name)
    assert found.new(b"abc").digest() == hashlib.new(name, b"abc").digest()
    assert len(found.new().digest()) == width
    assert repr(found) == f"ObjectFormat({name})"
