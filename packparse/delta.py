"""Delta instructions: rebuilding an object from its base, exactly as they say or not at all.

Source: gitformat-pack, "Deltified representation", and what git's patch-delta.c refuses.
"""

from __future__ import annotations

from packparse import codes
from packparse.errors import PackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SHORTEST", "changed_ranges", "read_sizes", "rebuild", "rebuild_exactly"]

# git refuses shorter ones (DELTA_SIZE_MIN in delta.h), even where they would make sense.
SHORTEST = 4

# An empty size in a copy instruction means this.
_COPY_DEFAULT = 0x10000
# How many bytes of instructions run between two looks at how much they have made, and how much long
# copies may make in between; short ones make up to 128 times their length. So a lying delta
# overshoots, and pieces hold, little more than 1 MiB.
_STRIDE = 8 << 10
_AT_ONCE = 256 << 10
# Larger results stay in the buffer they were made in, so that no second copy is ever held.
_LARGE = 1 << 20


def read_sizes(delta: bytes | bytearray) -> tuple[int, int, int]:
    """Return (size of the base, size of the result, position of the first instruction).

    Nothing is allocated for either size. Raises PackError: deltaTruncated, varintOverflow.
    """
    if len(delta) < SHORTEST:
        message = f"a delta of {len(delta)} bytes; the shortest has {SHORTEST}"
        raise PackError(codes.DELTA_TRUNCATED, message)
    # Both sizes from 128 bytes to 16 KiB, which is most of them.
    if delta[0] >= 0x80 > delta[1] and delta[2] >= 0x80 > delta[3]:
        return delta[0] & 0x7F | delta[1] << 7, delta[2] & 0x7F | delta[3] << 7, 4
    message = "a size in a delta does not fit into 64 bits"
    pos = 0
    sizes = []
    try:
        for _ in range(2):
            byte = delta[pos]
            size = byte & 0x7F
            shift = 7
            pos += 1
            while byte & 0x80:
                if shift > 63:
                    raise PackError(codes.VARINT_OVERFLOW, message)
                byte = delta[pos]
                size |= (byte & 0x7F) << shift
                shift += 7
                pos += 1
            if size >> 64:
                raise PackError(codes.VARINT_OVERFLOW, message)
            sizes.append(size)
    except IndexError:
        raise _truncated(len(delta)) from None
    base_size, result_size = sizes
    return base_size, result_size, pos


def rebuild(
    delta: bytes | bytearray, start: int, base: bytes | bytearray, size: int
) -> tuple[bytes | bytearray, int]:
    """Run the instructions of ``delta`` from ``start`` on ``base``.

    Returns (the result of exactly ``size`` bytes, bytes copied from the base). Raises PackError as
    :func:`rebuild_exactly`, which takes over when this quick way meets anything unusual.
    """
    pieces: list[bytes | bytearray] = []
    end = len(delta)
    try:
        pos, inserted = _run(delta, start, min(start + _STRIDE, end), base, pieces)
        made: bytes | bytearray = b"".join(pieces)
        if pos < end:
            # A long one: its pieces are not held beside all of the result.
            made = bytearray(made)
            while pos < end and len(made) <= size:
                pieces.clear()
                pos, more = _run(delta, pos, min(pos + _STRIDE, end), base, pieces)
                made += b"".join(pieces)
                inserted += more
            made = made if size > _LARGE else bytes(made)
    except IndexError:
        made, pos, inserted = b"", -1, 0
    if pos != end or len(made) != size:
        del made
        pieces.clear()
        return rebuild_exactly(delta, start, base, size)
    return made, size - inserted


def _run(  # noqa: PLR0915 - the hot loop, kept in one piece for speed
    delta: bytes | bytearray,
    pos: int,
    stop: int,
    base: bytes | bytearray,
    pieces: list[bytes | bytearray],
) -> tuple[int, int]:
    """Run the instructions from ``pos`` on, up to ``stop`` or until much is made.

    What they make is added to ``pieces``. Returns (position after the last one, bytes inserted); an
    insert that the end of the delta cuts leads behind that. Raises IndexError for anything unusual.
    """
    add = pieces.append
    limit = len(base)
    inserted = 0
    room = _AT_ONCE
    while pos < stop:
        op = delta[pos]
        # By how common they are: these are 99 % of all instructions that git writes.
        if op == 0x93:
            at = delta[pos + 1] | delta[pos + 2] << 8
            upto = at + delta[pos + 3]
            pos += 4
        elif op < 0x80:
            if not op:
                raise IndexError
            pos += 1
            after = pos + op
            add(delta[pos:after])
            inserted += op
            pos = after
            continue
        elif op == 0xB3:
            at = delta[pos + 1] | delta[pos + 2] << 8
            upto = at + (delta[pos + 3] | delta[pos + 4] << 8)
            room -= upto - at
            pos += 5
        elif op == 0x97:
            at = delta[pos + 1] | delta[pos + 2] << 8 | delta[pos + 3] << 16
            upto = at + delta[pos + 4]
            pos += 5
        elif op == 0xB0:
            at = 0
            upto = delta[pos + 1] | delta[pos + 2] << 8
            room -= upto
            pos += 3
        elif op == 0x91:
            at = delta[pos + 1]
            upto = at + delta[pos + 2]
            pos += 3
        elif op == 0x90:
            at = 0
            upto = delta[pos + 1]
            pos += 2
        else:
            at, length, pos = _read_copy(delta, pos)
            upto = at + length if length <= _COPY_DEFAULT else at
            room -= length
        # A size that is written and zero, which means 64 KiB, is not usual; nor is a longer one.
        if not at < upto <= limit:
            raise IndexError
        if room < 0:
            stop = pos
        add(base[at:upto])
    return pos, inserted


def rebuild_exactly(
    delta: bytes | bytearray, start: int, base: bytes | bytearray, size: int
) -> tuple[bytes | bytearray, int]:
    """The plain twin of :func:`rebuild`: every instruction is checked before it runs.

    Raises PackError: deltaTruncated, deltaReservedOpcode, deltaCopyOutOfRange,
    deltaResultSizeMismatch.
    """
    out = bytearray()
    copied = 0
    pos = start
    while pos < len(delta):
        op = delta[pos]
        if op == 0:
            message = f"instruction 0 at byte {pos} of the delta"
            raise PackError(codes.DELTA_RESERVED_OPCODE, message)
        if op & 0x80:
            at, length, pos = _checked_copy(delta, pos, len(base))
            piece = base[at : at + length] if length <= size - len(out) else b""
            copied += length
        else:
            length = op
            piece = delta[pos + 1 : pos + 1 + op]
            pos += 1 + op
            if len(piece) < op:
                raise _truncated(len(delta))
        if length > size - len(out):
            message = f"makes more than the {size} bytes it says"
            raise PackError(codes.DELTA_RESULT_SIZE_MISMATCH, message)
        out += piece
        # Not held beside a copy of the result.
        del piece
    if len(out) != size:
        message = f"makes {len(out)} bytes and says {size}"
        raise PackError(codes.DELTA_RESULT_SIZE_MISMATCH, message)
    return (out if size > _LARGE else bytes(out)), copied


def changed_ranges(delta: bytes | bytearray, start: int) -> Iterator[tuple[int, int]]:
    """The ranges of the result that are not copied from the same place of the base.

    For a delta that was run from ``start`` without a refusal; (first byte, byte after the last).
    """
    made = 0
    pos = start
    while pos < len(delta):
        op = delta[pos]
        if op & 0x80:
            at, length, pos = _read_copy(delta, pos)
        else:
            at, length, pos = -1, op, pos + 1 + op
        if at != made:
            yield made, made + length
        made += length


def _checked_copy(delta: bytes | bytearray, pos: int, base_size: int) -> tuple[int, int, int]:
    try:
        at, length, after = _read_copy(delta, pos)
    except IndexError:
        raise _truncated(len(delta)) from None
    if at + length > base_size:
        message = (
            f"copies bytes {at} to {at + length} of a base of {base_size}, at byte {pos} of the "
            "delta"
        )
        raise PackError(codes.DELTA_COPY_OUT_OF_RANGE, message)
    return at, length, after


def _read_copy(delta: bytes | bytearray, pos: int) -> tuple[int, int, int]:
    """Any copy instruction: (offset in the base, length, position after it); may IndexError."""
    op = delta[pos]
    pos += 1
    at = length = 0
    for shift in (0, 8, 16, 24):
        if op & 1:
            at |= delta[pos] << shift
            pos += 1
        op >>= 1
    for shift in (0, 8, 16):
        if op & 1:
            length |= delta[pos] << shift
            pos += 1
        op >>= 1
    return at, length or _COPY_DEFAULT, pos


def _truncated(length: int) -> PackError:
    message = f"the delta of {length} bytes ends inside an instruction"
    return PackError(codes.DELTA_TRUNCATED, message)
