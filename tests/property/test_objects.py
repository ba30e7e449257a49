"""Objects changed at random: each quick way of looking into them finds what the exact one finds."""

from __future__ import annotations

import random

import pytest

from packparse.codes import ERROR
from packparse.delta import changed_ranges, read_sizes
from packparse.errors import PackError
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.objects import commit
from packparse.objects.tree import TreeLinks, TreeReader, patched_links
from packparse.options import Options
from packparse.verify import verify_bytes
from tests.support import packs
from tests.support.packs import PackBuilder, commit_bytes, copy, delta, insert, tree_bytes

Entry = tuple[bytes, bytes, bytes]
WIDTHS = {fmt: packs.oid_length(fmt) for fmt in FORMATS}
FILE, LINK, FOLDER, SUBMODULE = b"100644", b"120000", b"40000", b"160000"

formats = pytest.mark.parametrize("fmt", FORMATS)

# --- trees: at once and exactly -----------------------------------------------------------------

MODES = [FILE, FILE, FILE, b"100755", LINK, FOLDER, SUBMODULE, b"100664", b"0100644", b"644", b"0"]
MODES += [b"37777777777100644", b"777777", b"040000"]
NAMES = [b"%b%02d" % (letter, n) for letter in (b"a", b"m", b"q") for n in range(12)]
ODD = [
    b".git", b"git~1", b"git~2", b".gitmodules", b"GITMOD~1", b".gitattributes", b".gitignore ",
    b"HEAD", b"objects", b"refs", b"con", b"-x", b"A00", b"a00.", b"\xff", b"caf\xc3\xa9", b".",
    b"..", b"cafe\xcc\x81", b"a/b", b"a\\..\\b", b"\xe2\x80\x8bm", b"\n", b"n" * 120,
    b"n" * 4_100, b"a b",
]  # fmt: skip


def random_entries(rng: random.Random, width: int) -> list[Entry]:
    """Return entries that git might write, but for one or two in some of the lists."""
    names = rng.sample(NAMES, rng.randrange(1, len(NAMES)))
    listed = [(rng.choice(MODES[:6]), name, rng.randbytes(width)) for name in names]
    if rng.random() < 0.2:
        listed.append((SUBMODULE, b"lib", rng.randbytes(width)))
    for _ in range(rng.choice((0, 0, 1, 2))):
        target = rng.choice((bytes(width), rng.randbytes(width), rng.randbytes(width)))
        listed.append((rng.choice(MODES), rng.choice(ODD), target))
    listed.sort(key=lambda entry: entry[1] + b"/" * (entry[0] == FOLDER))
    if rng.random() < 0.2:
        at = rng.randrange(len(listed))
        listed.insert(rng.randrange(len(listed)), listed[at])
    return listed


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return a tree's content, in one of four cases with a byte changed or its end cut off."""
    if not content or rng.random() < 0.75:
        return content
    at = rng.randrange(len(content))
    return content[:at] + (bytes([rng.randrange(256)]) + content[at + 1 :]) * rng.randrange(2)


def said(links: TreeLinks) -> object:
    """What is read of a tree, as values that can be compared."""
    return links.trees, links.blobs, links.entries, links.special, links.oddities


def read(reader: TreeReader, content: bytes, *, exactly: bool) -> object:
    try:
        return said(reader.read_exactly(content) if exactly else reader.read(content))
    except PackError as error:
        return error.code, error.message


@formats
@pytest.mark.parametrize("seed", range(3))
def test_reading_a_tree_at_once_finds_what_reading_it_exactly_finds(fmt: str, seed: int) -> None:
    rng = random.Random(seed)
    width = WIDTHS[fmt]
    limits = Limits("history")
    quick, exact = TreeReader(width, limits), TreeReader(width, limits)
    kinds = {"refused": 0, "odd": 0, "plain": 0}
    before: list[bytes] = []
    for _ in range(700):
        if before and rng.random() < 0.3:
            # Versions of one tree share what is remembered of it.
            content = _other_ids(rng, rng.choice(before), width)
        else:
            content = tree_bytes(random_entries(rng, width), ordered=False)
            before.append(content)
        content = damaged(rng, content)
        found = read(quick, content, exactly=False)
        assert found == read(exact, content, exactly=True), content
        assert isinstance(found, tuple)
        kinds["refused" if len(found) == 2 else "odd" if found[-1] else "plain"] += 1
    assert min(kinds.values()) > 60, kinds


def _other_ids(rng: random.Random, content: bytes, width: int) -> bytes:
    at = content.index(b"\0") + 1
    new = bytes(width) if rng.random() < 0.1 else rng.randbytes(width)
    return content[:at] + new + content[at + width :]


# --- trees: patched and whole -------------------------------------------------------------------


def exchanged(rng: random.Random, entries: list[Entry], width: int) -> list[Entry]:
    """Return the entries with a few other ids, now and then one of zeros or another mode."""
    listed = list(entries)
    for at in rng.sample(range(len(listed)), rng.randrange(1, 6)):
        mode, name, _ = listed[at]
        new = bytes(width) if rng.random() < 0.02 else rng.randbytes(width)
        listed[at] = mode, name, new
    if rng.random() < 0.1:
        mode, name, oid = listed[at]
        listed[at] = b"100755" if mode == FILE else b"100664"[: len(mode)], name, oid
    return listed


def as_delta(base: bytes, result: bytes) -> bytes:
    """Return a delta that copies in place what both have there, wherever that begins and ends."""
    ops, at = b"", 0
    while at < len(result):
        end = at
        while end < len(result) and result[end : end + 4] == base[end : end + 4]:
            end += 4
        if end > at:
            ops += copy(at, min(end, len(result)) - at)
        at = min(end, len(result))
        ops += insert(result[at : at + 4])
        at += 4
    return delta(len(base), len(result), ops)


@formats
@pytest.mark.parametrize("seed", range(3))
def test_a_patched_tree_is_as_odd_as_the_whole_one(fmt: str, seed: int) -> None:
    rng = random.Random(seed)
    width = WIDTHS[fmt]
    reader, exact = TreeReader(width, Limits()), TreeReader(width, Limits())
    patched = not_patched = 0
    for _ in range(250):
        entries = random_entries(rng, width)
        while len(entries) < 6:
            entries = random_entries(rng, width)
        made = exchanged(rng, entries, width)
        base, content = (tree_bytes(listed, ordered=False) for listed in (entries, made))
        before = reader.read(base)
        # Of a tree with an error no other one is made, see Examiner.
        if any(odd.code.severity("candidate") == ERROR for odd in before.oddities):
            continue
        change = as_delta(base, content)
        ranges = changed_ranges(change, read_sizes(change)[2])
        result = patched_links(before, base, content, ranges, width)
        if result is None:
            not_patched += 1
            continue
        patched += 1
        links, whole = result[0], exact.read_exactly(content)
        assert (links.trees, links.blobs, links.entries) == (
            whole.trees,
            whole.blobs,
            whole.entries,
        )
        # What was special before is known already.
        known = {oid for _flags, oid in before.special}
        assert set(links.special) == {item for item in whole.special if item[1] not in known}
        assert names_of(links) == names_of(whole)
    assert patched > 60
    assert not_patched > 3


def names_of(links: TreeLinks) -> list[tuple[str, bytes]]:
    """Codes and names, without the ids that may follow these."""
    return [(odd.code.name, odd.detail.partition(b"\0")[0]) for odd in links.oddities]


# --- whole packs: as deltas and without ---------------------------------------------------------

GOOD = b'[submodule "x"]\n\tpath = lib\n\turl = https://example.com/x\n'
FILES = [
    b"one\n",
    b"two\n",
    b"x" * 4_200,
    b"../../x",
    b"/etc",
    b"lib/../../x",
    b".git/hooks",
    b"\x1b",
    b"",
]
FILES += [
    GOOD,
    GOOD.replace(b'"x"', b'"../x"'),
    GOOD + b"]",
    b"* filter=x\n",
    b"a" * 2_048,
    b"* text\n",
]


def history(rng: random.Random, fmt: str) -> tuple[bytes, bytes]:
    """Return a pack of versions of a tree as deltas of each other, and one of them as a whole."""
    deltas, whole = PackBuilder(fmt), PackBuilder(fmt)
    blobs = [both("blob", content, deltas, whole) for content in FILES]
    inner = both("tree", tree_bytes([(FILE, b"x", blobs[0])]), deltas, whole)
    targets = {FOLDER: [inner], SUBMODULE: [b"\x11" * WIDTHS[fmt], b"\x22" * WIDTHS[fmt]]}
    modes = [rng.choice((FILE, FILE, FILE, LINK, FOLDER, b"100755")) for _ in range(40)]
    entries = [(mode, b"n%03d" % n) for n, mode in enumerate(modes)]
    entries += [
        (FILE, b".gitattributes"),
        (FILE, b".gitmodules"),
        (SUBMODULE, b"lib"),
        (LINK, b"link"),
    ]
    if rng.random() < 0.4:
        entries.append((FILE, rng.choice((b"-x", b"con", b"N001", b".git", b"\x1b"))))
    entries.sort(key=lambda entry: entry[1] + b"/" * (entry[0] == FOLDER))
    listed = [(mode, name, rng.choice(targets.get(mode, blobs))) for mode, name in entries]
    content = tree_bytes(listed, ordered=False)
    base = deltas.add("tree", content)
    whole.add("tree", content)
    parents: list[bytes] = []
    there = {content}
    for number in range(8):
        for at in rng.sample(range(len(listed)), rng.randrange(1, 4)):
            mode, name, _ = listed[at]
            listed[at] = mode, name, rng.choice(targets.get(mode, blobs))
        content = tree_bytes(listed, ordered=False)
        if content in there:
            continue
        there.add(content)
        handle = deltas.add_ofs(base, as_delta(base.data, content), content)
        base = handle if rng.random() < 0.6 else base
        whole.add("tree", content)
        text = commit_bytes(handle.oid, parents, message=b"%d\n" % number)
        parents = [both("commit", text, deltas, whole)]
    return deltas.build(), whole.build()


def both(kind: str, content: bytes, *builders: PackBuilder) -> bytes:
    """Append an object to all packs; return its raw id."""
    handles = [builder.add(kind, content) for builder in builders]
    return handles[0].oid


def found_in(pack: bytes, fmt: str, rules: str) -> tuple[object, ...]:
    report = verify_bytes(pack, Options(rules=rules, object_format=FORMATS[fmt]))
    found = report.findings.sorted()
    return report.klass, sorted(
        (f.code.name, f.severity, f.oid or b"", f.detail or b"", f.message, f.path or b"")
        for f in found
    )


@formats
@pytest.mark.parametrize("seed", range(40))
def test_the_same_is_found_whether_trees_are_deltas_or_not(fmt: str, seed: int) -> None:
    deltas, whole = history(random.Random(seed), fmt)
    assert len(deltas) < len(whole)
    for rules in ("candidate", "git"):
        assert found_in(deltas, fmt, rules) == found_in(whole, fmt, rules)


# --- commits ------------------------------------------------------------------------------------


def lines_of(rng: random.Random, width: int) -> bytes:
    who = [
        b"A U Thor <a@example.com> 1700000000 +0100",
        b"A <> 1 +0000",
        b"A <a@x> 01 +0000",
        b"\x1b <a> 1 +0",
    ]
    who += ["É <é@example.com> 1700000000 +0000".encode(), b"A\xe9 <a@x> 1700000000 -0930"]
    extra = [
        b"",
        b"",
        b"",
        b"encoding UTF-8\n",
        b"encoding latin1\n",
        b"x y\n",
        b"parent 1\n",
        b"author x\n",
    ]
    extra += [
        b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n",
        b"gpgsig x\n",
    ]
    parents = [rng.randbytes(width) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    parents += parents[:1] * (rng.random() < 0.1)
    return commit_bytes(
        rng.randbytes(width),
        parents,
        author=rng.choice(who[:1] * 4 + who),
        committer=rng.choice(who[:1] * 4 + who),
        extra=b"".join(rng.choices(extra, k=rng.randrange(3))),
        message=rng.choice(
            (b"text\n", b"", "zwölf\n".encode(), b"\xe9\n", b"a\0b", b"\r\n\x1b[1m\n")
        ),
    )


@formats
@pytest.mark.parametrize("seed", range(2))
def test_the_quick_look_at_a_commit_finds_what_the_exact_one_finds(fmt: str, seed: int) -> None:
    rng = random.Random(seed)
    plain = odd = 0
    for _ in range(2_500):
        content = damaged(rng, lines_of(rng, WIDTHS[fmt]))
        found = commit.oddities(content, WIDTHS[fmt])
        assert found == commit.oddities_exactly(content, WIDTHS[fmt]), content
        odd += bool(found)
        plain += not found
    assert min(plain, odd) > 250
