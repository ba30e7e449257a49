"""Write Git bundles line by line, honest or malformed, around a given pack."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.packs import small_honest

Text = str | bytes


def bundle(
    pack: bytes,
    refs: Sequence[tuple[Text, Text] | bytes] = (),
    prerequisites: Sequence[Text | tuple[Text, Text]] = (),
    version: int = 2,
    capabilities: Sequence[Text] = (),
    end: bytes = b"\n",
    *,
    signature: bytes | None = None,
    lines: Sequence[bytes] | None = None,
    trailing: bytes = b"",
) -> bytes:
    r"""Return signature, capabilities, prerequisites, refs, `end` and the pack.

    A ref is (hex id, name), a prerequisite a hex id or (hex id, comment), a capability the text
    after "@". A bytes item that ends in "\n" is taken as the whole raw line in its place.
    `signature` replaces the first line, `lines` everything between it and `end`; `trailing`
    follows the pack.
    """
    if signature is None:
        signature = b"# v%d git bundle\n" % version
    if lines is None:
        lines = [
            *(capability_line(item) for item in capabilities),
            *(_prerequisite(item) for item in prerequisites),
            *(item if isinstance(item, bytes) else ref_line(*item) for item in refs),
        ]
    return signature + b"".join(lines) + end + pack + trailing


def capability_line(text: Text) -> bytes:
    """Return the header line of one capability, such as object-format=sha256."""
    return _as_line(text, b"@")


def prerequisite_line(oid_hex: Text, comment: Text = b"") -> bytes:
    """Return the header line of one prerequisite; git too writes a space before no comment."""
    return b"-" + _encode(oid_hex) + b" " + _encode(comment) + b"\n"


def ref_line(oid_hex: Text, name: Text) -> bytes:
    """Return the header line of one ref."""
    return _encode(oid_hex) + b" " + _encode(name) + b"\n"


def honest_bundle(fmt: str = "sha1", version: int | None = None) -> bytes:
    """Return a bundle of `small_honest` with a branch, a tag and HEAD; sha256 makes it v3."""
    example = small_honest(fmt)
    refs: list[tuple[Text, Text] | bytes] = [
        (example.commit.hex, "refs/heads/main"),
        (example.commit.hex, "HEAD"),
    ]
    if example.tag:
        refs.insert(1, (example.tag.hex, "refs/tags/v1"))
    if version is None:
        version = 2 if fmt == "sha1" else 3
    capabilities = [f"object-format={fmt}"] if version > 2 else []
    return bundle(example.pack, refs, version=version, capabilities=capabilities)


def _prerequisite(item: Text | tuple[Text, Text]) -> bytes:
    if isinstance(item, tuple):
        return prerequisite_line(*item)
    if isinstance(item, bytes) and item.endswith(b"\n"):
        return item
    return prerequisite_line(item)


def _as_line(text: Text, prefix: bytes) -> bytes:
    if isinstance(text, bytes) and text.endswith(b"\n"):
        return text
    return prefix + _encode(text) + b"\n"


def _encode(text: Text) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
