"""Spell manifests and their digests without the code under test."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

Document = dict[str, object]
_BLOCK = 64


def spelt(document: Mapping[str, object]) -> bytes:
    """The one line of JSON for a record, without its digest: no space, and the keys as given."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=True).encode()


def hmac_sha256(key: bytes, data: bytes) -> str:
    """RFC 2104, for keys that are no longer than a block."""
    inner, outer = (bytes(byte ^ pad for byte in key.ljust(_BLOCK, b"\0")) for pad in (0x36, 0x5C))
    return hashlib.sha256(outer + hashlib.sha256(inner + data).digest()).hexdigest()


def sealed(body: bytes, key: bytes) -> bytes:
    """A manifest with this body, authenticated as the producer does it."""
    rest = body.removesuffix(b"}")
    return rest + b',"mac":"' + hmac_sha256(key, rest).encode() + b'"}\n'


def opened(data: bytes) -> Document:
    """What a manifest says, without its digest."""
    document: Document = json.loads(data)
    del document["mac"]
    return document


def sha256_hex(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
