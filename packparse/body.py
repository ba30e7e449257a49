"""An entry that comes in pieces, because it is long or because the input cuts it."""

from __future__ import annotations

from zlib_ng.zlib_ng import crc32

from packparse.entry import BLOB, Entry, object_prefix
from packparse.inflate import Inflate
from packparse.signs import LONGEST_POINTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    import hashlib

    from packparse.objectformat import ObjectFormat

__all__ = ["Body"]

# The widest checksum: as many bytes of an entry may turn out to be the pack's.
_HEAD = 32


class Body:
    """What is known of such an entry so far.

    ``entry`` has its offset, kind, size and base; ``head`` are its first bytes, 32 at most, which
    are its header at first; ``before`` is the hash of the pack up to the entry.
    """

    __slots__ = ("_crc", "_data", "_entry", "_sha", "before", "head", "inflate", "offset")

    def __init__(
        self,
        entry: Entry,
        head: bytes,
        before: hashlib._Hash,
        object_format: ObjectFormat,
        *,
        padding_allowed: bool,
    ) -> None:
        self.offset = entry.offset
        self.head = head
        self.before = before
        self.inflate = Inflate(entry.size, self._keep, padding_allowed=padding_allowed)
        self._entry = entry
        self._crc = crc32(head)
        self._sha: hashlib._Hash | None = None
        self._data: bytearray | None = None
        if entry.base is None:
            self._sha = object_format.new(object_prefix(entry.kind, entry.size))
        # Blobs go through the hash and are not kept, but for what may be a pointer of LFS; anything
        # else is taken apart later.
        if entry.kind != BLOB or entry.size < LONGEST_POINTER:
            self._data = bytearray()

    def _keep(self, content: bytes) -> None:
        if self._sha is not None:
            self._sha.update(content)
        if self._data is not None:
            self._data += content

    def take(self, piece: memoryview) -> None:
        """Account for the next compressed bytes."""
        self._crc = crc32(piece, self._crc)
        if len(self.head) < _HEAD:
            self.head += piece[: _HEAD - len(self.head)]

    def finished(self, end: int) -> Entry:
        """The whole entry, which ends at offset ``end`` of the file."""
        oid = None if self._sha is None else self._sha.digest()
        # The inflater leads back here: without letting go, the content would outlive the entry.
        data, self._data = self._data, None
        return self._entry._replace(end=end, crc=self._crc, oid=oid, data=data)
