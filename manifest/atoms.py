r"""The smallest parts of records, each with its bounds: whatever a record holds is one of these.

msgspec checks them on decoding only (constructors check nothing), so records are made through
``codec.made``. ``\Z`` and not ``$``, which also matches before a line feed at the end.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta

from packparse.escape import quote, unquote

__all__ = [
    "COMMITS", "LISTED_PATHS", "LONGEST_QUOTED", "Amount", "CodeName", "Digest", "FileName",
    "FormatName", "LaunchId", "Name", "Oid", "QuotedPath", "Sentence", "is_launch_id", "pack_path",
    "unpack_path",
]  # fmt: skip

# More than any preset lets through; a list of so many ids is what makes a manifest long.
COMMITS = 10_000
# Enough for a person to act on.
LISTED_PATHS = 100
# A path of 4,096 bytes, each as four characters, and the quotes.
LONGEST_QUOTED = 16_400

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/#@+=,-]{0,127}\Z"
_LAUNCH = r"^[0-9a-f]{32}\Z"

# What a controller calls an issue, a run, a phase or a repository.
Name = Annotated[str, Meta(pattern=_NAME)]
LaunchId = Annotated[str, Meta(pattern=_LAUNCH)]
Oid = Annotated[str, Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")]
# A SHA-256, or a key of that length.
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
# A name inside of one folder, which is no path, no option and no hidden file.
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
FormatName = Literal["sha1", "sha256"]
# That of a finding or a refusal.
CodeName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]{1,64}\Z")]
# JSON numbers up to here are exact in every reader.
Amount = Annotated[int, Meta(ge=0, le=2**53 - 1)]
# A path as git prints it; see `unpack_path`.
QuotedPath = Annotated[str, Meta(min_length=1, max_length=LONGEST_QUOTED, pattern=r"^[ -~]+\Z")]
# Text for people: printable ASCII.
Sentence = Annotated[str, Meta(max_length=2_000, pattern=r"^[ -~]*\Z")]


def is_launch_id(text: str) -> bool:
    """Whether ``text`` may be the id of a launch."""
    return re.match(_LAUNCH, text) is not None


def pack_path(path: str) -> str:
    """A path of this system, in which odd bytes are surrogates, as a ``QuotedPath``."""
    return quote(path.encode("utf-8", "surrogateescape"))


def unpack_path(text: str) -> str | None:
    """The path that ``pack_path`` made ``text`` of; None if it made no such text."""
    path = unquote(text)
    return None if path is None else path.decode("utf-8", "surrogateescape")
