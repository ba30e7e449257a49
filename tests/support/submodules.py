"""Write files named .gitmodules, and say what packparse finds in them."""

from __future__ import annotations

from packparse.codes import Code
from packparse.objects.gitmodules import read


def of(name: bytes = b"x", **settings: bytes | None) -> bytes:
    """Write one submodule; what is not said is honest. Values are written as they stand."""
    usual: dict[str, bytes | None] = {"path": b"lib/x", "url": b"https://example.com/x.git"}
    lines = [
        b"\t%b" % key.encode() if value is None else b"\t%b = %b" % (key.encode(), value)
        for key, value in (usual | settings).items()
    ]
    return b'[submodule "%b"]\n' % name + b"\n".join(lines) + b"\n"


def quoted(value: bytes) -> bytes:
    for byte, escape in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        value = value.replace(byte, escape)
    return b'"%b"' % value


def codes_of(content: bytes) -> list[Code]:
    return [oddity.code for oddity in read(content).oddities]


def details(content: bytes) -> list[tuple[str, bytes]]:
    """Codes and details, these without the value behind the key."""
    found = read(content).oddities
    return [
        (oddity.code.name, oddity.detail.partition(b"\0")[0].partition(b"=")[0]) for oddity in found
    ]


def named(*names: bytes) -> bytes:
    return b"".join(of(name, path=b"p%d" % n) for n, name in enumerate(names))
