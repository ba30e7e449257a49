"""The codes of records, and the error that carries one."""

from __future__ import annotations

import re

from importer import errors as of_importer
from manifest.errors import (
    BAD_OBJECT_ID,
    BINDING_MISMATCH,
    CLAIM_TOO_LARGE,
    MANIFEST_FORGED,
    MANIFEST_MISSING,
    MANIFEST_TOO_LARGE,
    RECORD_INVALID,
    RECORD_VERSION,
    REGISTRY,
    RecordError,
    refusal,
)
from packparse.checks import CATALOG
from packparse.codes import CLASSES

# A code is a promise to those who build on it: its class is the exit status.
PROMISED = {
    MANIFEST_MISSING: ("manifestMissing", 5),
    MANIFEST_TOO_LARGE: ("manifestTooLarge", 4),
    RECORD_VERSION: ("recordVersion", 3),
    RECORD_INVALID: ("recordInvalid", 1),
    MANIFEST_FORGED: ("manifestForged", 3),
    BINDING_MISMATCH: ("bindingMismatch", 3),
    BAD_OBJECT_ID: ("badObjectId", 1),
    CLAIM_TOO_LARGE: ("claimTooLarge", 4),
}


def test_the_codes_and_their_classes_are_these() -> None:
    for code, (name, klass) in PROMISED.items():
        assert (code.name, code.klass) == (name, klass)
        assert REGISTRY[name] is code


def test_every_code_says_what_it_means_and_what_to_do() -> None:
    for name, code in REGISTRY.items():
        assert re.fullmatch(r"[a-z][A-Za-z]+", name)
        assert code.klass in CLASSES
        for text in (code.meaning, code.remedy):
            assert text.isascii()
            assert text.endswith(".")


def test_no_code_is_one_of_packcheck_s_as_well() -> None:
    assert REGISTRY.keys().isdisjoint(CATALOG)
    assert of_importer.ORIGIN_CHANGED.name in REGISTRY


def test_an_error_tells_its_code_and_its_message() -> None:
    error = RecordError(RECORD_INVALID, "it is none")
    assert str(error) == "recordInvalid: it is none"
    assert (error.code, error.message) == (RECORD_INVALID, "it is none")


def test_a_code_that_is_registered_can_be_looked_up() -> None:
    try:
        code = refusal("onlyInThisTest", 3, "It is.", "Nothing.")
        assert REGISTRY["onlyInThisTest"] is code
    finally:
        REGISTRY.pop("onlyInThisTest", None)
