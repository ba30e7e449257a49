"""Limits, lowered so that small files pass them, and shapes that are small and cost much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from corpus.deflate import run
from corpus.model import Asked, Case, bad, good
from corpus.writer import DIR, FILE, SUB, TEXT, File, Kit, Obj, copy, delta, insert

__all__ = ["cases"]

N = len(TEXT)


def _limit(name: str, value: int | str) -> Asked:
    return {"arguments": ("--limit", f"{name}={value}")}


def cases(kit: Kit) -> Iterator[Case]:
    """All cases of this subject; the neighbour of a limit is the same file within it."""
    for make in (_container, _bombs, _deltas, _objects, _trees, _names):
        yield from make(kit)


def _pair(
    name: str, file: File, code: str, origin: str, limit: str, most: int, *, both: bool = False
) -> Iterator[Case]:
    """The same file just within a limit and just over it."""
    within = f"limit-{name}-within"
    yield good(within, file, origin, both=both, **_limit(limit, most))
    yield bad(f"limit-{name}-over", file, code, within, origin, both=both,
              **_limit(limit, most - 1))  # fmt: skip


def _project(kit: Kit) -> list[Obj]:
    blob = kit.blob()
    root = kit.tree((FILE, b"file", blob))
    return [blob, root, kit.commit(root)]


def _container(kit: Kit) -> Iterator[Case]:
    three = kit.packed(*_project(kit))
    size = len(three.data)
    most = max(len(item.data) for item in _project(kit))
    yield from _pair("pack-bytes", three, "packTooLarge", "PI1, A7", "pack_bytes", size, both=True)
    yield from _pair("objects", three, "tooManyObjects", "PI2, A8", "objects", 3, both=True)
    yield from _pair("object-bytes", three, "objectTooLarge", "PI3, A9", "object_bytes", most)
    total = sum(len(item.data) for item in _project(kit))
    origin = "PI4, PC9"
    yield from _pair("inflated-bytes", three, "inflatedTooMuch", origin, "inflated_bytes", total)


def _bombs(kit: Kit) -> Iterator[Case]:
    """Few bytes that make many: a ratio of 158 is the most of fixed codes."""
    size = 1 << 20
    origin = "PI3, PI4, PC9, A9, case 18, dulwich 1.2.9"
    pack = kit.pack()
    stream = run(0, size)
    big = kit.blob(bytes(size))
    pack.add(big, stream=stream)
    file = pack.file()
    yield from _pair("blob-bomb", file, "objectTooLarge", origin, "object_bytes", size)
    yield from _pair("blob-bomb-in-all", file, "inflatedTooMuch", origin, "inflated_bytes", size)


def _growing(kit: Kit, base: int, times: int, steps: int) -> File:
    """A small blob and deltas of which each is so many times as long as its base."""
    item = kit.blob(b"x" * base)
    pack = kit.pack()
    at = pack.add(item)
    size = base
    for _ in range(steps):
        here = pack.offset
        pack.ofs(at, delta(size, size * times, *([copy(0, size)] * times)))
        at, size = here, size * times
    return pack.file()


def _line(kit: Kit, depth: int) -> File:
    item = kit.blob(TEXT)
    pack = kit.pack()
    at = pack.add(item)
    for number in range(depth):
        here = pack.offset
        label = b"%04d" % number
        pack.ofs(at, delta(N, N, insert(label), copy(4, N - 4)))
        at = here
    return pack.file()


def _deltas(kit: Kit) -> Iterator[Case]:
    bomb = _growing(kit, 1024, 16, 3)
    huge = "PD7, A9, case 18, CVE-2026-53585"
    largest = 1024 * 16**3
    total = 1024 * (16 + 16**2 + 16**3)
    yield from _pair("rebuilt-object", bomb, "rebuiltObjectTooLarge", huge, "rebuilt_object_bytes",
                     largest, both=True)  # fmt: skip
    origin = "PD8, CVE-2026-53585, case 18"
    yield from _pair("rebuilt-bytes", bomb, "rebuiltTooMuch", origin, "rebuilt_bytes", total)
    origin = "PD9, case 18"
    yield from _pair("copied-bytes", bomb, "copiedTooMuch", origin, "copied_bytes", total)
    # 32 MiB from 200 bytes, over the limit of 1 MiB, and 64 GiB from as many.
    terabyte = _growing(kit, 1024, 255, 4)
    name = "limit-delta-bomb-of-4-tib"
    within = "limit-rebuilt-object-within"
    origin = "PD7, A9, CVE-2026-53585, CVE-2026-47734"
    yield bad(name, terabyte, "rebuiltObjectTooLarge", within, origin)
    ten = _line(kit, 10)
    origin = "PD10, PD11, case 35, libgit2#1666"
    yield from _pair("delta-depth", ten, "deltaTooDeep", origin, "delta_depth", 10, both=True)
    deep = _line(kit, 257)
    name = "limit-delta-depth-of-257"
    yield bad(name, deep, "deltaTooDeep", "limit-delta-depth-within", f"{origin}, libgit2#2093")
    yield from _restored(kit)
    step = len(delta(N, N, insert(b"0000"), copy(4, N - 4)))
    yield from _pair("delta-bytes", ten, "deltasTooLong", "PD9", "delta_bytes", 10 * step)


def _restored(kit: Kit) -> Iterator[Case]:
    """A chain of large deltas by id, each with one more on it that comes up on the way back."""
    size, depth = 4 << 20, 6
    fill = b"x" * (size - 8)

    def step(number: int) -> bytes:
        return delta(size, size, insert(b"%08d" % number), copy(8, size - 8))

    chain = [kit.blob(b"x" * size)]
    chain += [kit.blob(b"%08d" % number + fill) for number in range(depth)]
    pack = kit.pack()
    pack.add(chain[0], stream=run(ord("x"), size))
    for number in range(depth):
        pack.ref(chain[number], step(number))
    for number in range(depth):
        pack.ref(chain[number], step(1000 + number))
    file = pack.file()
    within = "limit-restored-bytes-within"
    origin = "PD8, PD19, PI4"
    yield good(within, file, origin)
    yield bad("limit-restored-bytes-over", file, "restoredTooMuch", within, origin,
              **_limit("restored_bytes", 1000))  # fmt: skip


def _objects(kit: Kit) -> Iterator[Case]:
    project = _project(kit)
    root = project[1]
    commits: list[Obj] = [project[2]]
    for number in range(4):
        commits.append(kit.commit(root, commits[-1], message=b"%d\n" % number))
    line = kit.packed(*project[:2], *commits)
    yield from _pair("commits", line, "tooManyCommits", "PH9, A19", "commits", 5, both=True)
    heads = [kit.commit(root, message=b"head %d\n" % number) for number in range(17)]
    octopus = kit.packed(*project[:2], *heads, kit.commit(root, *heads))
    yield from _pair("parents", octopus, "tooManyParents", "PH9, A15", "parents", 17)
    # A tree for each of five commits, a parent for four, and the file.
    yield from _pair("links", line, "tooManyLinks", "PI8", "links", 5 + 4 + 1)
    text = kit.commit(root, message=b"m" * 5_000)
    file = kit.packed(*project[:2], text)
    origin = "CVE-2022-41903, case 62"
    size = len(text.data)
    yield from _pair("message-bytes", file, "messageTooLong", origin, "message_bytes", size)
    tag = kit.tag(project[2], message=b"m" * 5_000)
    file = kit.packed(*project, tag)
    size = len(tag.data)
    yield from _pair("tag-bytes", file, "messageTooLong", origin, "message_bytes", size)


def _nested(kit: Kit, depth: int, width: int = 1) -> tuple[File, Obj]:
    """Folders in folders to a depth, each of so many entries; files at the end."""
    blob = kit.blob(b"0123456789")
    last = kit.tree(*((FILE, b"%d" % number, blob) for number in range(width)))
    items = [blob, last]
    for _ in range(depth - 1):
        last = kit.tree(*((DIR, b"%d" % number, last) for number in range(width)))
        items.append(last)
    commit = kit.commit(last)
    return kit.packed(*items, commit), commit


def _trees(kit: Kit) -> Iterator[Case]:
    bomb, _ = _nested(kit, 10, 10)
    origin = "PF23, CVE-2017-15298"
    name = "limit-git-bomb"
    four, _ = _nested(kit, 4, 10)
    yield bad(name, bomb, "tooManyFiles", "limit-files-within", origin, both=True,
              also="expandedTooLarge", parity="git has no such limit")  # fmt: skip
    # Folders count as well.
    yield from _pair("files", four, "tooManyFiles", origin, "files", 11_110, both=True)
    yield from _pair("expanded-bytes", four, "expandedTooLarge", origin, "expanded_bytes", 100_000)
    deep, _ = _nested(kit, 8)
    # The root counts as well.
    yield from _pair("tree-depth", deep, "treeTooDeep", "PF21", "tree_depth", 8)
    too_deep, _ = _nested(kit, 200)
    name = "limit-tree-of-200-folders"
    yield bad(name, too_deep, "treeTooDeep", "limit-tree-depth-within", "PF21, CVE-2016-2315")
    wide = kit.tree(*((FILE, b"%03d" % number, kit.blob()) for number in range(50)))
    file = kit.packed(kit.blob(), wide, kit.commit(wide))
    yield from _pair("tree-entries", file, "tooManyTreeEntries", "PF22", "tree_entries", 50)
    text = b'[submodule "sub"]\n\tpath = sub\n\turl = https://example.com/x\n'
    modules = kit.blob(text)
    root = kit.tree((FILE, b".gitmodules", modules), (SUB, b"sub", kit.absent))
    file = kit.packed(modules, root, kit.commit(root))
    origin = "PG7, PG8, CVE-2022-23521"
    for case in _pair(
        "special-bytes", file, "specialFileTooLarge", origin, "special_bytes", len(text)
    ):
        yield replace(case, notes=("gitlinkEntry",))


def _named(kit: Kit, *names: bytes) -> File:
    blob = kit.blob()
    root = kit.tree((FILE, names[-1], blob))
    items = [blob, root]
    for name in reversed(names[:-1]):
        items.append(kit.tree((DIR, name, items[-1])))
    return kit.packed(*items, kit.commit(items[-1]))


def _names(kit: Kit) -> Iterator[Case]:
    long = _named(kit, b"n" * 255)
    origin = "PF20, CVE-2016-2324, CVE-2026-111760"
    yield from _pair("name-bytes", long, "nameTooLong", origin, "name_bytes", 255)
    name = "limit-name-of-256-bytes"
    yield bad(name, _named(kit, b"n" * 256), "nameTooLong", "limit-name-bytes-within", origin,
              both=True)  # fmt: skip
    # Readers that keep twelve bits of a length saw the rest of it.
    wrapped = _named(kit, b"n" * 4096 + b".git")
    name = "limit-name-that-wraps-to-dotgit"
    yield bad(name, wrapped, "nameTooLong", "limit-name-bytes-within", origin,
              also="largePathname pathTooLong",
              parity="git has largePathname since 2.43")  # fmt: skip
    large = _named(kit, b"n" * 4097)
    most = _limit("name_bytes", 5000)
    path = ("--limit", "path_bytes=5000")
    arguments: Asked = {"arguments": (*most["arguments"], *path)}
    yield good("limit-name-of-4096-bytes", _named(kit, b"n" * 4096), "PF20, case 79", **arguments)
    name = "limit-name-of-4097-bytes"
    differs = "git has largePathname since 2.43"
    yield bad(name, large, "largePathname", "limit-name-of-4096-bytes", "PF20, case 79, A14",
              parity=differs, **arguments)  # fmt: skip
    file = _named(kit, b"d" * 60, b"e" * 60, b"f" * 60)
    origin = "PF21, CVE-2016-2315, CVE-2018-11233"
    yield from _pair("path-bytes", file, "pathTooLong", origin, "path_bytes", 182)
    deep = _named(kit, *[b"d" * 250] * 17)
    name = "limit-path-of-4266-bytes"
    yield bad(name, deep, "pathTooLong", "limit-path-bytes-within", origin, both=True)
