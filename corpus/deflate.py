"""Deflate streams written by hand, so that every machine makes the same bytes.

What ``zlib.compress`` writes depends on the build of the library; a stored block and a block of
fixed Huffman codes do not (RFC 1950, RFC 1951).
"""

from __future__ import annotations

import zlib

__all__ = ["EMPTY_BLOCK", "HEADER", "adler", "block", "blocks", "run", "stored"]

HEADER = b"\x78\x01"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
_LONGEST_BLOCK = 0xFFFF
_LONGEST_MATCH = 258


def adler(data: bytes) -> bytes:
    """The four bytes that end a zlib stream of ``data``."""
    return zlib.adler32(data).to_bytes(4, "big")


def block(data: bytes, *, last: bool = True, length: int | None = None) -> bytes:
    """One stored block; ``length`` lies in the complement of its length alone."""
    claimed = len(data) if length is None else length
    sizes = len(data).to_bytes(2, "little") + (claimed ^ 0xFFFF).to_bytes(2, "little")
    return bytes([last]) + sizes + data


def blocks(data: bytes) -> bytes:
    """Stored blocks of ``data``, without header and checksum."""
    starts = range(0, max(1, len(data)), _LONGEST_BLOCK)
    pieces = [data[at : at + _LONGEST_BLOCK] for at in starts]
    return b"".join(block(piece, last=piece is pieces[-1]) for piece in pieces)


def stored(data: bytes) -> bytes:
    """A zlib stream of ``data`` in stored blocks."""
    return HEADER + blocks(data) + adler(data)


def run(byte: int, count: int) -> bytes:
    """A zlib stream of ``count`` times one byte: a literal, then copies from one byte back.

    It has about ``count / 159`` bytes.
    """
    bits = _Bits()
    bits.number(0b011, 3)  # the last block, of fixed codes
    bits.symbol(byte)
    left = count - 1
    while left >= _LONGEST_MATCH:
        bits.symbol(285)
        bits.code(0, 5)  # distance 1
        left -= _LONGEST_MATCH
    for _ in range(left):
        bits.symbol(byte)
    bits.symbol(256)
    return HEADER + bits.bytes() + adler(bytes([byte]) * count)


class _Bits:
    """Collects bits as deflate packs them: from the lowest of each byte up."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._held = 0
        self._count = 0

    def number(self, value: int, width: int) -> None:
        """Add a number, its lowest bit first."""
        self._held |= value << self._count
        self._count += width
        while self._count >= 8:
            self._out.append(self._held & 0xFF)
            self._held >>= 8
            self._count -= 8

    def code(self, value: int, width: int) -> None:
        """Add a Huffman code, its highest bit first."""
        for bit in reversed(range(width)):
            self.number(value >> bit & 1, 1)

    def symbol(self, value: int) -> None:
        """Add a literal, the end (256) or a length without extra bits, in fixed codes."""
        if value < 144:
            self.code(0x30 + value, 8)
        elif value < 256:
            self.code(0x190 + value - 144, 9)
        elif value < 280:
            self.code(value - 256, 7)
        else:
            self.code(0xC0 + value - 280, 8)

    def bytes(self) -> bytes:
        """All bits, filled up with zeros to a whole byte."""
        return bytes(self._out) + (bytes([self._held]) if self._count else b"")
