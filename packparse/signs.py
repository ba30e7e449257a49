"""Signs by which the usual is told from what has to be looked into.

Most names and blobs are usual, and most small packs hold nothing else: the rooms of the rules are
loaded once something is not.
"""

from __future__ import annotations

__all__ = ["LONGEST_POINTER", "PLAIN_NAME", "POINTER"]

# A name that nothing is wrong with (paths.py says what may be). As a pattern to be built into
# others, before a NUL or the end: printable ASCII without what is forbidden somewhere and without
# the tilde of short names, no dash first, no dot or space last, no device, and not what git reads.
PLAIN_NAME = (
    rb"(?!-|(?i:\.(?:git(?:modules|attributes|ignore)?|mailmap)(?![^\0])"
    rb"|(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?![^\0. ])))"
    rb"[ !#%&'()+,\-.0-9;=@A-Z[\]^_`a-z{}]{1,255}+(?<![. ])"
)

# A pointer of Git LFS (objects/lfs.py reads it) begins so, and has fewer bytes than these.
POINTER = b"version "
LONGEST_POINTER = 1_024
