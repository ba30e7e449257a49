"""The objects outside the file: what the trusted side says, and gives, when it is asked.

Two questions: of which kind is an object that the producer was given (``known``), and what is in an
object (``read_base``). The first may be asked without the second. Whatever is given is hashed.

Where ``known`` lists what the producer was given, nothing else is looked into, whoever names it: a
report that told of its content would give it away. Only whether it is there is told.
"""

from __future__ import annotations

from packparse import codes
from packparse.entry import COMMIT, KIND_NAMES, object_prefix
from packparse.errors import MisuseError, PackError
from packparse.memo import Memo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from packparse.objectformat import ObjectFormat

    # raw id -> kind of an object of the trusted side, 0 if the kind is not known, None if unknown.
    Known = Callable[[bytes], int | None]
    # raw id -> (kind, content) of an object of the trusted side, or None.
    BaseReader = Callable[[bytes], tuple[int, bytes] | None]
    # raw id -> (kind, size in bytes) of an object of the trusted side, or None.
    BaseInfo = Callable[[bytes], tuple[int, int] | None]

__all__ = ["Outside", "checked_info", "checked_kind", "checked_object", "object_id"]

# Kinds that were asked for and are kept, about 10 MB.
_KINDS_KEPT = 100_000
# Below this, hashing a joined copy is quicker than hashing in two steps.
_SMALL = 16 << 10


class Outside:
    """What lies outside one file.

    ``bases`` are commits that the other side has, for the caller; ``prerequisites`` those of a
    bundle, which are the sender's word and count only where nothing better is known.
    """

    def __init__(
        self,
        object_format: ObjectFormat,
        *,
        known: Known | None,
        read_base: BaseReader | None,
        base_info: BaseInfo | None,
        bases: frozenset[bytes],
        prerequisites: frozenset[bytes],
    ) -> None:
        self.bases = bases
        self.prerequisites = prerequisites
        self._format = object_format
        self._known = known
        self._read_base = read_base
        self._base_info = base_info
        self._kinds: Memo[bytes, int] = Memo(_KINDS_KEPT)

    @property
    def listed(self) -> bool:
        """Whether the objects that the producer was given are known."""
        return self._known is not None

    @property
    def open_ended(self) -> bool:
        """Whether links may leave the file for objects that nobody listed."""
        return self._known is None and bool(self.bases or self.prerequisites)

    @property
    def has_bases(self) -> bool:
        """Whether trees may lie outside the file."""
        return bool(self.bases or self.prerequisites)

    @property
    def readable(self) -> bool:
        """Whether there is anybody to ask for contents."""
        return self._read_base is not None

    @property
    def sized(self) -> bool:
        """Whether a size can be asked for without the content."""
        return self._base_info is not None

    def kind(self, oid: bytes) -> int | None:
        """The kind of an object that the producer was given: 0 if not known, None if it was not.

        Where ``known`` does not say of which kind, the object itself does, if it can be had.
        """
        if oid in self.bases:
            return COMMIT
        if self._known is not None:
            kind = checked_kind(self._known(oid))
            return self._own_kind(oid) if kind == 0 and self.readable else kind
        return COMMIT if oid in self.prerequisites else None

    def was_given(self, oid: bytes) -> bool:
        """Whether the producer may know the object; that is so of all where none are listed."""
        if self._known is None or oid in self.bases:
            return True
        return checked_kind(self._known(oid)) is not None

    def holds(self, oid: bytes) -> bool:
        """Whether the trusted side has the object, be it given to the producer or not."""
        return self._about(oid) is not None

    def hides(self, oid: bytes) -> bool:
        """Whether the trusted side has an object that was not given: whoever names it smuggles."""
        return not self.was_given(oid) and self.holds(oid)

    def size(self, oid: bytes) -> int | None:
        """The size in bytes of an object that was given; None where it is not there.

        It is asked for before any content that a hostile file names: that may have gigabytes.
        """
        about = self.about(oid)
        return None if about is None else about[1]

    def about(self, oid: bytes) -> tuple[int, int] | None:
        """Kind and size of an object that was given; None where it is not there."""
        return self._about(oid) if self.was_given(oid) else None

    def _about(self, oid: bytes) -> tuple[int, int] | None:
        if self._base_info is not None:
            about = self._base_info(oid)
            return None if about is None else checked_info(about)
        given = self._read(oid)
        return None if given is None else (given[0], len(given[1]))

    def _own_kind(self, oid: bytes) -> int:
        kind = self._kinds.get(oid)
        if kind is None:
            about = self._about(oid)
            kind = self._kinds.keep(oid, 0 if about is None else about[0])
        return kind

    def content(self, oid: bytes, kind: int) -> bytes | None:
        """The content of an object of ``kind`` that was given; None where there is none."""
        if self._base_info is not None:
            about = self.about(oid)
            if about is None or about[0] != kind:
                return None
        given = self.read(oid)
        return given[1] if given is not None and given[0] == kind else None

    def read(self, oid: bytes) -> tuple[int, bytes] | None:
        """Kind and content of an object that was given; None where it is not there."""
        return self._read(oid) if self.was_given(oid) else None

    def _read(self, oid: bytes) -> tuple[int, bytes] | None:
        given = None if self._read_base is None else self._read_base(oid)
        return None if given is None else checked_object(self._format, oid, given)


def checked_kind(answer: object) -> int | None:
    """An answer of ``known``, or MisuseError: a truth value would be taken for a kind."""
    if answer is None or (type(answer) is int and (answer == 0 or answer in KIND_NAMES)):
        return answer
    message = f"known: the answer is None, 0 or a kind from 1 to 4, not {answer!r}"
    raise MisuseError(message)


def checked_info(answer: object) -> tuple[int, int]:
    """An answer of ``base_info`` other than None, or MisuseError."""
    if (
        isinstance(answer, tuple)
        and len(answer) == 2
        and all(type(number) is int for number in answer)
        and answer[0] in KIND_NAMES
        and answer[1] >= 0
    ):
        return answer
    message = f"base_info: the answer is None, or a kind from 1 to 4 and a size, not {answer!r}"
    raise MisuseError(message)


def checked_object(object_format: ObjectFormat, oid: bytes, given: object) -> tuple[int, bytes]:
    """An answer of ``read_base`` other than None.

    Raises MisuseError where it is no object, PackError (corruptBaseObject) where it has another id.
    """
    if not (
        isinstance(given, tuple)
        and len(given) == 2
        and type(given[0]) is int
        and given[0] in KIND_NAMES
        and isinstance(given[1], bytes | bytearray)
    ):
        message = "read_base: the answer is None, or a kind from 1 to 4 and bytes"
        raise MisuseError(message)
    kind, content = given
    if object_id(object_format, kind, content) != oid:
        message = "the trusted side's object does not hash to its id"
        raise PackError(codes.CORRUPT_BASE_OBJECT, message, oid=oid)
    return kind, bytes(content)


def object_id(object_format: ObjectFormat, kind: int, content: bytes | bytearray) -> bytes:
    """The raw id of an object of ``kind``."""
    prefix = object_prefix(kind, len(content))
    if len(content) < _SMALL:
        return object_format.new(prefix + content).digest()
    name = object_format.new(prefix)
    name.update(content)
    return name.digest()
