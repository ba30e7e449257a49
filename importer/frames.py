"""Frames of a journal: a length, a checksum, and a payload, one after the other.

A frame is four bytes of length (big-endian), eight of XXH64 over the payload, seeded with the
place of the frame, and the payload. The checksum tells a torn write from a whole one, nothing
more: whoever can write to the journal can make any frame.

Only its last frame can be torn by a crash, since each is made durable before the next is written.
Anything else that is wrong did not come from a crash, and is refused instead of cut.
"""

from __future__ import annotations

import re
import struct

import xxhash

__all__ = ["LARGEST", "DamagedError", "frame", "frames"]

# A launch record with a policy of 1 MiB, or a receipt with 10,000 commits.
LARGEST = 8 << 20
_HEAD = struct.Struct(">IQ")
# Where a length could stand that is not zero and not too large.
_LENGTH = re.compile(rb"\0(?!\0{3})")


class DamagedError(Exception):
    """A journal is wrong in a way that a crash does not cause."""


def frame(payload: bytes, at: int) -> bytes:
    """The frame of a payload that begins at byte ``at`` of the journal."""
    return _HEAD.pack(len(payload), xxhash.xxh64_intdigest(payload, seed=at)) + payload


def frames(data: bytes) -> tuple[list[bytes], int]:
    """The payloads of all whole frames, and where they end: a torn frame may follow.

    Raises DamagedError where something is wrong before the last frame.
    """
    payloads: list[bytes] = []
    at = 0
    while at < len(data):
        payload = _payload(data, at)
        if payload is None:
            if _follows(data, at):
                raise DamagedError(f"the frame at byte {at} is damaged, and more follows")
            break
        payloads.append(payload)
        at += _HEAD.size + len(payload)
    return payloads, at


def _payload(data: bytes, at: int) -> bytes | None:
    """The payload of the frame at ``at``; None where it is not whole."""
    if len(data) - at < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack_from(data, at)
    payload = data[at + _HEAD.size : at + _HEAD.size + length]
    whole = 0 < length <= LARGEST and len(payload) == length
    if not whole or xxhash.xxh64_intdigest(payload, seed=at) != checksum:
        return None
    return payload


def _follows(data: bytes, at: int) -> bool:
    """Whether a whole frame stands behind the one at ``at``, which then was not the last one.

    Of the last one any part may be missing, its head as well: blocks reach the disk in any order.
    """
    places = (match.start() for match in _LENGTH.finditer(data, at + 1))
    return any(_payload(data, place) is not None for place in places)
