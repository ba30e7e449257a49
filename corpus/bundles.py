"""Bundles: header lines, refs, prerequisites, and the pack behind the header."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from corpus.model import Asked, Case, bad, good
from corpus.writer import FILE, File, Kit, Obj

__all__ = ["cases"]

PLAIN = "bundle-plain"
V3 = "bundle-version-3"
OPEN = "bundle-with-a-prerequisite"
TWO = "bundle-of-two-refs"
MAIN = b"refs/heads/main"


@dataclass(frozen=True)
class _Whole:
    """A pack of a whole history, and its parts."""

    kit: Kit
    blob: Obj
    root: Obj
    commit: Obj
    pack: File

    def plain(self, *refs: tuple[Obj | bytes, bytes]) -> File:
        """A bundle of these refs, or of main."""
        return self.kit.bundle(self.pack, refs or [(self.commit, MAIN)])

    def line(self, name: bytes = MAIN, oid: Obj | bytes | None = None) -> bytes:
        """A ref as a line of the header."""
        return b"%s %s\n" % (self.kit.hex(oid or self.commit), name)

    def head(self, *lines: bytes, version: int = 2, end: bytes = b"\n") -> File:
        """A bundle of exactly these lines."""
        return self.kit.headed(b"# v%d git bundle\n" % version + b"".join(lines) + end, self.pack)


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject."""
    for case in _cases(kit):
        if case.file.data[:1] == b"#":
            yield _as_bundle(case)
        else:
            yield case


def _as_bundle(case: Case) -> Case:
    return replace(case, bundle=True)


def _cases(kit: Kit) -> Iterator[Case]:
    blob = kit.blob()
    root = kit.tree((FILE, b"file", blob))
    commit = kit.commit(root)
    whole = _Whole(kit, blob, root, commit, kit.packed(blob, root, commit))
    yield good(PLAIN, whole.plain(), "PB1, PB16, PB17", both=True)
    if kit.fmt == "sha1":
        # The other format needs version 3 and a capability: these lines would be other ones.
        for make in (_lines, _names, _capabilities, _ends, _prerequisites, _limits):
            yield from make(kit, whole)
    for make in (_tips, _packs):
        yield from make(kit, whole)


def _lines(kit: Kit, whole: _Whole) -> Iterator[Case]:
    oid = kit.hex(whole.commit)
    line = whole.line()
    first = 16
    second = first + len(line)
    code = "bundleBadLine"
    table = {
        "of-words": (b"hello\n", "PB1"),
        "with-an-id-in-capitals": (oid.upper() + b" refs/heads/x\n", "PB1, PE8"),
        "with-a-short-id": (oid[:-1] + b" refs/heads/x\n", "PB1"),
        "with-a-long-id": (oid + b"0 refs/heads/x\n", "PB1"),
        "with-an-id-of-sha-256": (oid + b"0" * 24 + b" refs/heads/x\n", "PB1, PB4, case 55"),
        "without-a-name": (oid + b"\n", "PB1"),
        "with-a-tab-before-the-name": (oid + b"\trefs/heads/x\n", "PB1"),
        "with-a-space-before-the-id": (b" " + line, "PB1"),
        "that-is-a-capability-in-version-2": (b"@object-format=sha1\n", "PB3"),
    }
    for name, (text, origin) in table.items():
        file = whole.head(line, text)
        yield bad(f"bundle-line-{name}", file, code, PLAIN, origin, at=second)
    blanks = {"carriage-return": b"\r", "space": b" ", "tab": b"\t", "several": b" \t\r"}
    for name, blank in blanks.items():
        file = whole.head(line[:-1] + blank + b"\n")
        full = f"bundle-ref-that-ends-in-{name}"
        yield bad(full, file, "bundleLineEnding", PLAIN, "PB11", at=first)
    dos = whole.head(line[:-1] + b"\r\n", end=b"\r\n")
    yield bad("bundle-with-dos-line-ends", dos, "bundleLineEnding", PLAIN, "PB11, PB12",
              at=first, also=code)  # fmt: skip
    alone = whole.head(oid + b" \n")
    yield bad("bundle-ref-of-a-space", alone, code, PLAIN, "PB1, PB11", at=first,
              also="bundleLineEnding")  # fmt: skip


def _names(kit: Kit, whole: _Whole) -> Iterator[Case]:
    name, dash, replaced = "badRefName", "dashRefName", "replaceRef"
    oid = kit.hex(whole.commit)
    climbs = "PB9, A18, case 22, CVE-2026-71557, CVE-2026-105437"
    table = {
        "that-climbs": (b"refs/heads/../../x", name, climbs, ""),
        "outside-of-refs": (b"main", name, "PB9, A18", ""),
        "with-an-escape": (b"refs/heads/\x1b[31mx", name, "PB9, case 22", ""),
        "with-a-space": (b"refs/heads/a b", name, "PB9, case 22", ""),
        "with-nul": (b"refs/heads/a\0b", name, "PB9, case 22", ""),
        "that-is-a-pattern": (b"refs/heads/*", name, "PB9, A18", ""),
        "with-a-plus": (b"+refs/heads/main", name, "PB9, A18", ""),
        "that-ends-in-lock": (b"refs/heads/main.lock", name, "PB9", ""),
        "with-a-colon": (b"refs/heads/a:refs/heads/b", name, "PB9", ""),
        "with-an-at-brace": (b"refs/heads/a@{1}", name, "PB9", ""),
        "with-a-backslash": (b"refs/heads/a\\b", name, "PB9", ""),
        "with-two-slashes": (b"refs/heads//a", name, "PB9", ""),
        "that-begins-with-a-dot": (b"refs/heads/.a", name, "PB9", ""),
        "that-is-absolute": (b"/refs/heads/main", name, "PB9", ""),
        "that-is-an-option": (b"refs/heads/--mirror", dash, "A18, case 22, CVE-2018-17456", ""),
        "with-a-part-like-an-option": (b"refs/heads/-x/y", dash, "A18, case 22", ""),
        "that-is-an-option-alone": (b"--upload-pack=x", name, "A18, case 22", dash),
        "that-replaces-an-object": (b"refs/replace/" + oid, replaced, "A18, PH10, case 59", ""),
        "that-is-a-graft": (b"refs/grafts/x", replaced, "PH10, case 59", ""),
    }
    for label, (raw, code, origin, also) in table.items():
        file = whole.plain((whole.commit, raw))
        yield bad(f"bundle-ref-{label}", file, code, PLAIN, origin, at=16, also=also)
    line = whole.line()
    second = 16 + len(line)
    other = whole.line(oid=whole.root)
    conflict = whole.head(line, other)
    yield bad("bundle-ref-of-two-objects", conflict, "conflictingRef", PLAIN,
              "PB10, case 53", at=second)  # fmt: skip
    twice = whole.head(line, line)
    yield good("bundle-ref-twice", twice, "PB10, case 53", notes=("duplicateRef",))
    pseudo = whole.plain((whole.commit, b"HEAD"))
    yield good("bundle-ref-head", pseudo, "PB9")


def _capabilities(kit: Kit, whole: _Whole) -> Iterator[Case]:
    line = whole.line()
    fmt = b"@object-format=sha1\n"
    yield good(V3, whole.head(fmt, line, version=3), "PB2, PB4")
    first, second = 16, 16 + len(fmt)
    repeated, misplaced = "repeatedCapability", "misplacedCapability"
    unknown, wrong = "unknownObjectFormat", "badFilter"
    table = {
        "unknown": ((b"@unknown=x\n", line), "unknownCapability", "PB3, A18, case 55", first),
        "of-no-name": ((b"@\n", line), "unknownCapability", "PB3", first),
        "in-capitals": ((b"@Object-Format=sha1\n", line), "unknownCapability", "PB3", first),
        "format-twice": ((fmt, fmt, line), repeated, "PB6", second),
        "filter-twice": ((b"@filter=blob:none\n", b"@filter=tree:0\n", line), repeated, "PB6",
                         16 + 18),
        "format-behind-a-ref": ((line, fmt), misplaced, "PB6", 16 + len(line)),
        "format-unknown": ((b"@object-format=md5\n", line), unknown, "PB4", first),
        "format-empty": ((b"@object-format=\n", line), unknown, "PB4", first),
        "format-sha-256": ((b"@object-format=sha256\n", line), "bundleBadLine",
                           "PB4, case 55", 16 + 22),
        "filter-unknown": ((b"@filter=zzz\n", line), wrong, "PB5, A18, case 55", first),
        "filter-empty": ((b"@filter=\n", line), wrong, "PB5", first),
        "filter-without-limit": ((b"@filter=blob:limit=\n", line), wrong, "PB5", first),
    }  # fmt: skip
    for name, (lines, code, origin, at) in table.items():
        file = whole.head(*lines, version=3)
        notes = ("filteredBundle",) if name == "filter-twice" else ()
        yield bad(f"bundle-capability-{name}", file, code, V3, origin, at=at, notes=notes)
    file = whole.head(b"@filter=blob:none\n", line, version=3)
    yield good("bundle-filtered-and-whole", file, "PB5, case 20", notes=("filteredBundle",))
    without = kit.bundle(
        kit.packed(whole.root, whole.commit),
        [(whole.commit, MAIN)],
        capabilities=[b"filter=blob:none"],
    )
    name = "bundle-filtered-and-not-whole"
    plain = "bundle-filtered-and-whole"
    yield bad(name, without, "absentObject", plain, "PB5, A18, case 20",
              notes=("filteredBundle",))  # fmt: skip
    yield bad(
        "bundle-of-another-format",
        whole.head(fmt, line, version=3),
        "objectFormatMismatch",
        V3,
        "PB4, case 83",
        arguments=("--object-format", "sha256"),
    )


def _ends(_kit: Kit, whole: _Whole) -> Iterator[Case]:
    line = whole.line()
    end = 16 + len(line)
    blank = "bundleMissingBlankLine"
    yield bad("bundle-without-a-blank-line", whole.head(line, end=b""), blank, PLAIN,
              "PB12", at=end)  # fmt: skip
    head = b"# v2 git bundle\n" + line
    cut = {
        "before-the-blank-line": (head, blank, end),
        "in-a-line": (head[:-1], "truncated", end - 1),
        "in-the-signature": (head[:9], "truncated", 9),
        "after-the-header": (head + b"\n", "bundleMissingPack", end + 1),
        "after-the-signature": (head[:16], blank, 16),
        "in-the-pack": (whole.plain().data[:-25], "truncated", None),
        "in-the-header-of-the-pack": (head + b"\nPACK", "truncated", end + 1),
    }
    for name, (data, code, at) in cut.items():
        origin = "PB12, PB16, A10, case 2"
        yield bad(f"bundle-cut-{name}", data, code, PLAIN, origin, at=at)
    for version in (1, 4):
        file = whole.head(line, version=version)
        yield bad(f"bundle-version-{version}", file, "badSignature", PLAIN, "PB1", at=0)
    name = "bundle-signature-with-dos-line-end"
    file = File(b"# v2 git bundle\r\n" + whole.plain().data[16:])
    yield bad(name, file, "badSignature", PLAIN, "PB1, PB11", at=0)


def _prerequisites(kit: Kit, whole: _Whole) -> Iterator[Case]:
    base = kit.commit(whole.root, message=b"Base\n")
    commit = kit.commit(whole.root, base)
    pack = kit.packed(whole.blob, whole.root, commit)
    line = whole.line(oid=commit)
    before = b"-" + kit.hex(base)
    notes = ("uncheckedLinks",)

    def head(*lines: bytes, version: int = 2) -> File:
        return kit.headed(b"# v%d git bundle\n" % version + b"".join(lines) + b"\n", pack)

    yield good(OPEN, head(before + b" A message\n", line), "PB13", notes=notes)
    yield good("bundle-prerequisite-without-a-comment", head(before + b"\n", line), "PB13",
               notes=notes)  # fmt: skip
    twice = (*notes, "duplicateRef")
    file = head(before + b" x\n", before + b" x\n", line)
    yield good("bundle-prerequisite-twice", file, "PB6", notes=twice)
    code = "bundleBadLine"
    table = {
        "with-a-short-id": before[:-1] + b" x\n",
        "with-an-id-in-capitals": before.upper() + b" x\n",
        "with-a-letter-behind-its-id": before + b"x\n",
        "with-a-tab-behind-its-id": before + b"\tx\n",
        "without-an-id": b"-\n",
    }
    for name, text in table.items():
        file = head(text, line)
        yield bad(f"bundle-prerequisite-{name}", file, code, OPEN, "PB1, PB13", at=16)
    file = head(line, before + b" x\n")
    name = "bundle-prerequisite-behind-a-ref"
    yield bad(name, file, "misplacedPrerequisite", OPEN, "PB6", at=16 + len(line), notes=notes)
    fmt = b"@object-format=sha1\n"
    file = head(before + b" x\n", fmt, line, version=3)
    name = "bundle-capability-behind-a-prerequisite"
    yield bad(name, file, "misplacedCapability", OPEN, "PB6", at=16 + 44, notes=notes)
    gone = kit.bundle(pack, [(commit, MAIN)])
    name = "bundle-without-its-prerequisite"
    yield bad(name, gone, "absentObject", OPEN, "PB13, PH1, case 1, case 19")


def _limits(kit: Kit, whole: _Whole) -> Iterator[Case]:
    refs = [(whole.commit, b"refs/heads/%d" % number) for number in range(4)]
    four = kit.bundle(whole.pack, refs)
    few = "bundle-of-four-refs"
    yield good(few, four, "PB8")

    def limited(name: str, value: int) -> Asked:
        return {"arguments": ("--limit", f"{name}={value}")}

    yield bad("bundle-of-too-many-refs", four, "tooManyRefs", few, "PB8, PI7, case 56",
              **limited("refs", 3))  # fmt: skip
    yield bad("bundle-header-over-its-limit", four, "bundleHeaderTooLarge", few, "PB7",
              **limited("bundle_header_bytes", 150))  # fmt: skip
    yield bad("bundle-line-over-its-limit", four, "bundleLineTooLong", few, "PB7", at=16,
              **limited("bundle_line_bytes", 40))  # fmt: skip
    long = whole.plain((whole.commit, b"refs/heads/" + b"x" * 9_000))
    yield bad("bundle-line-of-9000-bytes", long, "bundleLineTooLong", PLAIN, "PB7, A10", at=16)


def _tips(kit: Kit, whole: _Whole) -> Iterator[Case]:
    absent = whole.plain((kit.absent, MAIN))
    origin = "PB15, case 58"
    lost = "stowawayObject"
    yield bad("bundle-ref-of-nothing", absent, "missingTip", PLAIN, origin, both=True)
    code = "branchNotCommit"
    for item, name in ((whole.blob, "blob"), (whole.root, "tree")):
        file = whole.plain((item, MAIN))
        both = name == "blob"
        full = f"bundle-branch-of-a-{name}"
        yield bad(full, file, code, PLAIN, origin, also=lost, both=both)
    tag = kit.tag(whole.commit)
    pack = kit.packed(whole.blob, whole.root, whole.commit, tag)
    branch = kit.bundle(pack, [(tag, MAIN)])
    honest = kit.bundle(pack, [(tag, b"refs/tags/v1")])
    yield good("bundle-of-a-tag", honest, "PB15")
    yield bad("bundle-branch-of-a-tag", branch, code, "bundle-of-a-tag", origin)
    two = whole.plain((whole.commit, MAIN), (whole.commit, b"refs/heads/other"))
    yield good(TWO, two, "PB8", both=True)


def _packs(kit: Kit, whole: _Whole) -> Iterator[Case]:
    """``git bundle verify`` says of all of these that they are okay."""
    refs = [(whole.commit, MAIN)]
    data = whole.pack.data
    start = len(whole.plain().data) - len(data)
    end = start + len(data)
    blob = whole.pack.offsets[whole.blob.oid]

    def flipped(at: int) -> bytes:
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    table = {
        "with-a-bit-flipped": (flipped(blob + 40), "badDeflate", start + blob),
        "with-a-wrong-checksum": (flipped(-1), "packChecksumMismatch", end - kit.width),
        "with-bytes-behind-it": (data + b"x", "trailingBytes", end),
        "of-version-4": (data[:7] + b"\4" + data[8:], "badPackVersion", start + 4),
        "of-another-signature": (b"PUCK" + data[4:], "badSignature", start),
        "without-its-tree": (kit.packed(whole.blob, whole.commit).data, "absentObject", None),
        "with-a-wrong-count": (_counted(whole, 4), "objectCountMismatch", start + 8),
    }
    for name, (pack, code, at) in table.items():
        file = kit.bundle(pack, refs)
        origin = "PB16, A10, case 2"
        both = name == "with-a-bit-flipped"
        full = f"bundle-pack-{name}"
        yield bad(full, file, code, PLAIN, origin, at=at, both=both)
    empty = kit.bundle(kit.pack().file(), refs)
    name = "bundle-pack-of-no-object"
    yield bad(name, empty, "missingTip", PLAIN, "PB15, PB16, PA7", notes=("emptyPack",))


def _counted(whole: _Whole, count: int) -> bytes:
    pack = whole.kit.pack()
    for item in (whole.blob, whole.root, whole.commit):
        pack.add(item)
    return pack.file(count=count).data
