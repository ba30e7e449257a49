"""What a caller asks of a verification, for files and folders alike."""

from __future__ import annotations

from packparse.errors import MisuseError
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.policy import Policy
from packparse.resolve import CACHE_BUDGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from packparse.objectformat import ObjectFormat
    from packparse.outside import BaseInfo, BaseReader, Known

__all__ = ["Options"]


class Options:
    """How to verify.

    ``rules`` is "candidate" or "git". ``object_format`` None means: what a bundle or the names of
    loose objects say, sha1 for a pack.

    ``tips`` (names to raw ids) and ``bases`` (raw ids of commits that the other side has) are added
    to those of a bundle's header; with both, the file has to be exactly the range between them.
    ``known`` tells what the producer was given. ``read_base`` gives objects of the other side: the
    bases of a thin pack, and the trees that the new ones are compared with. ``base_info`` tells
    their kind and size where that is cheaper: hosts with large objects should give it.

    ``policy`` sets severities, and says which paths and identities are allowed; its limits are the
    caller's to put into ``limits``. ``cache_budget`` is in bytes, of each process; no verdict
    depends on it, nor on ``jobs``, how many processes may work on one large file. More than one is
    for callers that have no other threads.
    """

    def __init__(  # noqa: PLR0913 - all are named, and have a default
        self,
        *,
        rules: str = "candidate",
        limits: Limits | None = None,
        object_format: ObjectFormat | None = None,
        tips: Mapping[bytes, bytes] | None = None,
        bases: frozenset[bytes] = frozenset(),
        known: Known | None = None,
        read_base: BaseReader | None = None,
        base_info: BaseInfo | None = None,
        policy: Policy | None = None,
        cache_budget: int = CACHE_BUDGET,
        jobs: int = 1,
    ) -> None:
        self.rules = rules
        self.policy = Policy() if policy is None else policy
        self.limits = Limits() if limits is None else limits
        self.object_format = object_format
        self.tips = dict(tips or {})
        self.bases = frozenset(bases)
        if not all(isinstance(name, bytes) for name in self.tips):
            message = "tips: names are bytes"
            raise MisuseError(message)
        if not all(map(_is_id, (*self.tips.values(), *self.bases))):
            message = "tips and bases: ids are raw bytes, 20 or 32 of them, as of bytes.fromhex"
            raise MisuseError(message)
        for name, answer in (("known", known), ("read_base", read_base), ("base_info", base_info)):
            _check_answers(name, answer)
        self.known = known
        self.read_base = read_base
        self.base_info = base_info
        self.cache_budget = cache_budget
        if jobs < 1:
            message = f"jobs: at least one process works on a file, not {jobs}"
            raise MisuseError(message)
        self.jobs = jobs


def _is_id(oid: object) -> bool:
    return isinstance(oid, bytes) and len(oid) in {fmt.width for fmt in FORMATS.values()}


def _check_answers(name: str, answer: object) -> None:
    if answer is not None and not callable(answer):
        message = f"{name}: is to be called with a raw id, and {answer!r} cannot be"
        raise MisuseError(message)
