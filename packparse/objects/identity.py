"""Identities: ``Name <email> date zone``, the value of an author, committer or tagger line.

Source: fsck_ident in git's fsck.c for what git refuses. Dates past 2099 and zones that no place on
earth has are rules of ours.
"""

from __future__ import annotations

from packparse import checks, late
from packparse.escape import shorten
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.codes import Code

__all__ = ["oddities", "without_date"]

# What git reads up to the end of the date; the date is a zero, or begins with another digit.
_NAME = rb"[^<>]*+"
_MAIL = _NAME + rb"(?<= )<[^<>]*+"
_UP_TO_DATE = late.pattern(_MAIL + rb"> [ \t]*+(0(?= )|[1-9][0-9]*+)")
_ZONE = late.pattern(rb" [+-]([0-9]{2})([0-9]{2})\Z")

# Faults before the end of the date. The first that matches is the one that git gives.
_FAULTS = tuple(
    (code, late.pattern(pattern), words)
    for code, pattern, words in (
        (checks.MISSING_NAME_BEFORE_EMAIL, rb"<", "has no name before the e-mail address"),
        (checks.MISSING_EMAIL, _NAME + rb"\Z", "has no e-mail address"),
        (checks.BAD_NAME, _NAME + rb">", "has an angle bracket in the name"),
        (
            checks.MISSING_SPACE_BEFORE_EMAIL,
            _NAME + rb"(?<! )<",
            "has no space before the e-mail address",
        ),
        (checks.BAD_EMAIL, _MAIL + rb"(?!>)", "has an e-mail address that does not end"),
        (checks.MISSING_SPACE_BEFORE_DATE, _MAIL + rb">(?! )", "has no space before the date"),
        (checks.ZERO_PADDED_DATE, _MAIL + rb"> [ \t]*+0", "has a date that begins with zeros"),
        (checks.BAD_DATE, rb"", "has no date"),
    )
)

# git keeps a date in 63 bits, which have this many digits.
_LARGEST_DATE = (1 << 63) - 1
_MOST_DIGITS = 19
_YEAR_2100 = 4_102_444_800
# UTC+14 is the zone furthest from UTC that is in use.
_FURTHEST_MINUTES = 14 * 60

# Name and address as git takes them out of a line, be the rest as it may.
_IDENTITY = late.pattern(rb"[^<>]*+<[^<>]*+>")


def oddities(line: bytes, who: bytes) -> list[Oddity]:
    """What is wrong with an identity.

    ``line`` is the value of the header ``who`` (``author``, ``committer`` or ``tagger``), without
    its line feed. Of git's ids at most one is given.
    """
    head = _UP_TO_DATE.match(line)
    if head is None:
        found = ((code, words) for code, pattern, words in _FAULTS if pattern.match(line))
        return [_oddity(*next(found), line, who)]
    digits = head[1]
    date = int(digits) if len(digits) <= _MOST_DIGITS else _LARGEST_DATE + 1
    if date > _LARGEST_DATE:
        words = "has a date that does not fit into 63 bits"
        return [_oddity(checks.BAD_DATE_OVERFLOW, words, line, who)]
    zone = _ZONE.match(line, head.end())
    if zone is None:
        if line.startswith(b" ", head.end()):
            words = "has a zone that is not a sign and four digits"
            return [_oddity(checks.BAD_TIMEZONE, words, line, who)]
        return [_oddity(checks.BAD_DATE, "has no space behind the date", line, who)]
    return _implausible(date, int(zone[1]), int(zone[2]), line, who)


def without_date(line: bytes) -> bytes:
    """``Name <email>`` of a line as for :func:`oddities`; the whole line where it has none."""
    found = _IDENTITY.match(line)
    return found[0] if found else line


def _implausible(date: int, hours: int, minutes: int, line: bytes, who: bytes) -> list[Oddity]:
    found = []
    if date >= _YEAR_2100:
        words = "has a date past the year 2099"
        found.append(_oddity(checks.IMPLAUSIBLE_DATE, words, line, who))
    if minutes > 59 or hours * 60 + minutes > _FURTHEST_MINUTES:
        words = "has a zone that no place on earth has"
        found.append(_oddity(checks.IMPLAUSIBLE_TIMEZONE, words, line, who))
    return found


def _oddity(code: Code, words: str, line: bytes, who: bytes) -> Oddity:
    return Oddity(code, who, f"the {who.decode()} line {words}: {shorten(line)}")
