r"""Records as bytes: one line of JSON in printable ASCII, of which one spelling alone is right.

A sealed record ends in ``,"KEY":"HEX"}`` and a line feed, where KEY is ``mac`` (HMAC-SHA256 with
the key of the launch) or ``sha256`` (of a record that lies in a private folder, where the danger is
a damaged disk). The digest is that of the bytes before it, so a shell script can make it.

The first key is ``format``, a label with a version: what a record is, is decided by it and never
by its shape. The bytes are capped, authenticated, decoded, and encoded again: msgspec takes
duplicate keys, spaces and escapes that this spelling does not have (design, section 8).
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, TypeVar

import msgspec

from manifest.errors import RECORD_INVALID, RECORD_VERSION, RecordError
from packparse.escape import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    Digester = Callable[[bytes], str]

__all__ = ["Record", "decode", "encode", "hmac_sha256", "made", "seal", "sha256", "split", "unseal"]

_PRINTABLE = bytes(range(0x20, 0x7F))
_LONGEST_LABEL = 100


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A closed record. The order of its fields is that of the keys."""

    def check(self) -> None:
        """Raise RecordError for what the types of single fields cannot say."""


R = TypeVar("R", bound=Record)


def sha256(data: bytes) -> str:
    """The SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def hmac_sha256(key: bytes) -> Digester:
    """A function from bytes to their HMAC-SHA256 (RFC 2104) in hexadecimal."""
    return lambda data: hmac.new(key, data, "sha256").hexdigest()


def made(record: R) -> R:
    """The record, once its fields were checked, which its constructor does not do.

    Raises RecordError: recordInvalid.
    """
    try:
        data = encode(record)
    except (TypeError, ValueError, OverflowError) as error:
        reason = shorten(str(error).encode("ascii", "backslashreplace"))
        raise RecordError(RECORD_INVALID, reason) from None
    return decode(data, type(record))


def encode(record: Record) -> bytes:
    """The one spelling of a record, without a line feed."""
    return msgspec.json.encode(record, order="deterministic")


def decode(data: bytes, kind: type[R]) -> R:
    """The record that ``data`` spells. Raises RecordError: recordVersion, recordInvalid."""
    if data.translate(None, _PRINTABLE):
        raise RecordError(RECORD_INVALID, "there are bytes that are not printable ASCII")
    _check_label(data, kind)
    try:
        record = msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        reason = shorten(str(error).encode("ascii", "replace"))
        raise RecordError(RECORD_INVALID, reason) from None
    if encode(record) != data:
        message = "the same fields are spelt in another way than the one that is right"
        raise RecordError(RECORD_INVALID, message)
    record.check()
    return record


def seal(record: Record, key: str, digest: Digester) -> bytes:
    """The sealed record, with its line feed."""
    body = encode(record)
    return b'%b,"%b":"%b"}\n' % (body[:-1], key.encode(), digest(body[:-1]).encode())


def split(data: bytes, key: str) -> tuple[bytes, str]:
    """The body of a sealed record, and the digest that it states.

    Raises RecordError (recordInvalid) where the end is not that of a sealed record.
    """
    opening = b',"%b":"' % key.encode()
    at = len(data) - len(opening) - 67
    digest = data[at + len(opening) : -3]
    ends = at > 0 and data.startswith(opening, at) and data.endswith(b'"}\n')
    if not ends or digest.strip(b"0123456789abcdef"):
        raise RecordError(
            RECORD_INVALID, f"it does not end in a {key} of 64 digits and a line feed"
        )
    return data[:at] + b"}", digest.decode()


def unseal(data: bytes, kind: type[R], key: str, digest: Digester) -> R | None:
    """The record in sealed bytes; None where the digest is not that of its bytes.

    Raises RecordError: recordVersion, recordInvalid. Nothing is decoded before the digest is right.
    """
    body, stated = split(data, key)
    _check_label(body, kind)
    if not hmac.compare_digest(stated, digest(body[:-1])):
        return None
    return decode(body, kind)


def _check_label(data: bytes, kind: type[Record]) -> None:
    config = kind.__struct_config__
    opening = b'{"%b":"' % str(config.tag_field).encode()
    label, quote, _ = data[len(opening) : len(opening) + _LONGEST_LABEL].partition(b'"')
    if not data.startswith(opening) or not quote:
        raise RecordError(RECORD_INVALID, f"it does not begin with {opening.decode()}")
    if label.decode("ascii", "replace") != config.tag:
        message = f"it is labelled {shorten(label)}, where {config.tag} is expected"
        raise RecordError(RECORD_VERSION, message)
