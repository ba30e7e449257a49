"""Characters that make a reader see something else than what is there, as patterns of UTF-8.

Sources: Unicode's Default_Ignorable_Code_Point and Bidi_Control, ECMA-48 for control characters,
CVE-2021-42574 for what bidirectional ones do to a reviewer.
"""

from __future__ import annotations

from packparse import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

__all__ = [
    "C1", "IGNORABLE", "SELECTOR", "TURNING", "first", "first_control", "first_deceptive",
    "has_control", "is_deceptive",
]  # fmt: skip

# Each to be built into other patterns, in brackets or beside a bar.
C1 = rb"\xc2[\x80-\x9f]"
_CONTROLS = rb"[\x00-\x1f\x7f]|" + C1
# What turns text around: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
TURNING = rb"\xd8\x9c|\xe2(?:\x80[\x8e\x8f\xaa-\xae]|\x81[\xa6-\xa9])"
# What some file systems ignore and no reader sees (Default_Ignorable_Code_Point, without the
# selectors): U+00AD, U+034F, U+061C, U+115F-1160, U+17B4-17B5, U+180E, U+200B-200F, U+202A-202E,
# U+2060-206F, U+3164, U+FEFF, U+FFA0, U+FFF0-FFF8, U+1BCA0-1BCA3, U+1D173-1D17A, U+E0000-E00FF,
# U+E01F0-E0FFF.
IGNORABLE = (
    rb"\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0\x8e)"
    rb"|\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])|\xe3\x85\xa4"
    rb"|\xef(?:\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xb8])|\xf0(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])"
    rb"|\xf3\xa0(?:[\x80-\x83\x88-\xbf][\x80-\xbf]|\x87[\xb0-\xbf])"
)
# Selectors choose among the shapes of the character before: U+180B-180D, U+180F, U+FE00-FE0F,
# U+E0100-E01EF. Names with emoji have them.
SELECTOR = (
    rb"(?:\xe1\xa0[\x8b-\x8d\x8f]|\xef\xb8[\x80-\x8f]"
    rb"|\xf3\xa0(?:[\x84-\x86][\x80-\xbf]|\x87[\x80-\xaf]))"
)
# Line and paragraph separators, the blank Braille pattern, marks of annotations.
_INVISIBLE = rb"\xe2(?:\x80[\xa8\xa9]|\xa0\x80)|\xef\xbf[\xb9-\xbb]"
# After nothing, ASCII or another selector a selector chooses nothing; U+20E3 makes keycaps.
_IDLE = rb"(?:\A|[\x00-\x7f]|" + SELECTOR + b")" + SELECTOR + rb"(?!\xe2\x83\xa3)"
_DECEIVERS = IGNORABLE + b"|" + _INVISIBLE + b"|" + _IDLE

_CONTROL = late.pattern(_CONTROLS)
_DECEPTIVE = late.pattern(_DECEIVERS)
_ANY = late.pattern(_CONTROLS + b"|" + _DECEIVERS)


def has_control(text: bytes) -> bool:
    """Whether there is a control character of ASCII or, in UTF-8, of Latin-1."""
    return _CONTROL.search(text) is not None


def is_deceptive(text: bytes) -> bool:
    """Whether there is a character that no reader sees, or one that reorders others."""
    return not text.isascii() and _DECEPTIVE.search(text) is not None


def first(text: bytes) -> str:
    """The first control or deceptive character, as in ``U+200B``; empty where there is none."""
    return _first(_ANY, text)


def first_control(text: bytes) -> str:
    """The first control character, as in ``U+001B``; empty where there is none."""
    return _first(_CONTROL, text)


def first_deceptive(text: bytes) -> str:
    """The first deceptive character, as in ``U+200B``; empty where there is none."""
    return _first(_DECEPTIVE, text)


def _first(characters: re.Pattern[bytes], text: bytes) -> str:
    match = characters.search(text)
    # Before a selector may stand what makes it idle.
    return "" if match is None else f"U+{ord(match[0].decode()[-1]):04X}"
