"""Bounded inflate of one deflate stream whose size is declared.

Never inflates past the declared size plus one byte, holds no more than one small piece of output
beside what it is asked to keep, and finds the exact end of the stream.
"""

from __future__ import annotations

from zlib_ng import zlib_ng

from packparse import codes
from packparse.errors import PackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from zlib_ng.zlib_ng import _Decompress

# The package's stub calls the exception class an instance, and does not know of copy().
ZlibError: type[Exception] = zlib_ng.error  # type: ignore[assignment]
decompressobj = zlib_ng.decompressobj

__all__ = ["Inflate", "inflate_whole", "longest_stream"]

# Input is cut so that what the decompressor hands back as unread stays cheap to copy.
_PIECE_IN = 16 << 10
_PIECE_OUT = 256 << 10
_PADDING_ALLOWED = 4 << 10
_NEVER = 1 << 62


def longest_stream(size: int) -> int:
    """The most bytes that a deflate stream of ``size`` bytes needs, whoever wrote it.

    Fixed Huffman codes take up to 9 bits a byte, which is more than stored blocks take; the rest
    is header, checksum and the ends of a few blocks.
    """
    return size + (size >> 3) + 64


def inflate_whole(window: bytes, size: int) -> tuple[bytes, int] | None:
    """The fast way for a small entry that lies in ``window`` with all of its stream.

    Returns (content, bytes of the stream), or None when anything is unusual: then the caller goes
    the long way through :class:`Inflate`, which decides what is wrong.
    """
    machine = decompressobj()
    try:
        content = machine.decompress(window, size + 1)
    except ZlibError:
        return None
    if not machine.eof or len(content) != size:
        return None
    return content, len(window) - len(machine.unused_data)


class Inflate:
    """One deflate stream, fed in pieces of any length.

    ``sink`` gets the content piece by piece. ``padding_allowed`` switches the check on streams
    that are longer than :func:`longest_stream` by more than 4 KiB. Refusals are PackError without
    an offset: badDeflate, presetDictionary, inflatedSizeMismatch, paddedDeflate.
    """

    __slots__ = ("_head", "_machine", "_most", "_sink", "consumed", "done", "produced", "size")

    def __init__(
        self, size: int, sink: Callable[[bytes], object], *, padding_allowed: bool = False
    ) -> None:
        self.size = size
        self.produced = 0
        self.consumed = 0
        self.done = False
        self._sink = sink
        self._machine = decompressobj()
        self._head = b""
        self._most = _NEVER if padding_allowed else longest_stream(size) + _PADDING_ALLOWED

    def feed(self, buf: bytes, pos: int) -> int:
        """Take input from ``buf`` at ``pos``; return the position after what was used.

        Sets ``done`` when the stream has ended; the position is then the first byte after it.
        """
        while pos < len(buf) and not self.done:
            # Cut where the padding check would speak, so that any cut of the input finds the same.
            used = self._take(buf[pos : pos + min(_PIECE_IN, self._most + 1 - self.consumed)])
            pos += used
            self.consumed += used
            if self.consumed > self._most:
                message = (
                    f"over {self._most} compressed bytes for {self.size} bytes of content, "
                    "more than any compressor writes"
                )
                raise PackError(codes.PADDED_DEFLATE, message)
        return pos

    def _take(self, piece: bytes) -> int:
        if len(self._head) < 2:
            self._head += piece[: 2 - len(self._head)]
        data = piece
        while True:
            machine = self._machine
            before = machine.copy()  # type: ignore[attr-defined]
            room = self._room()
            try:
                content = machine.decompress(data, room)
            except ZlibError as error:
                raise self._replay(before, data, error) from None
            self._keep(content)
            if machine.eof:
                self._finish()
                return len(piece) - len(machine.unused_data)
            data = machine.unconsumed_tail
            if not data and len(content) < room:
                return len(piece)

    def _room(self) -> int:
        return min(self.size + 1 - self.produced, _PIECE_OUT)

    def _keep(self, content: bytes) -> None:
        self.produced += len(content)
        if self.produced > self.size:
            message = f"inflates to more than the {self.size} bytes it declares"
            raise PackError(codes.INFLATED_SIZE_MISMATCH, message)
        self._sink(content)

    def _finish(self) -> None:
        self.done = True
        if self.produced != self.size:
            message = f"inflates to {self.produced} bytes and declares {self.size}"
            raise PackError(codes.INFLATED_SIZE_MISMATCH, message)

    def _replay(self, machine: _Decompress, data: bytes, error: Exception) -> PackError:
        """The refusal for a call that failed: zlib lost what that call had already inflated.

        One byte at a time shows whether the content was too long before the damage came, so that
        the finding does not depend on where the input was cut.
        """
        refusal = self._damage(error)
        try:
            for at in range(len(data)):  # pragma: no branch - what failed once fails again
                self._keep(machine.decompress(data[at : at + 1], self._room()))
        except ZlibError as sooner:
            refusal = self._damage(sooner)
        except PackError as too_long:
            refusal = too_long
        return refusal

    def _damage(self, error: Exception) -> PackError:
        if self.produced == 0 and _wants_dictionary(self._head):
            return PackError(codes.PRESET_DICTIONARY, "the stream asks for a preset dictionary")
        reason = str(error).rpartition(": ")[2]
        return PackError(codes.BAD_DEFLATE, f"the compressed bytes are damaged ({reason})")


def _wants_dictionary(head: bytes) -> bool:
    # RFC 1950: method 8, the two bytes a multiple of 31, and FDICT in bit 5 of the second.
    valid = len(head) == 2 and head[0] & 15 == 8 and int.from_bytes(head) % 31 == 0
    return valid and bool(head[1] & 0x20)
