"""Where we and `git index-pack --strict` differ on purpose, by version of git.

`docs/reference/differences.md` is written from this table:

    python -m tests.differential.known > docs/reference/differences.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.differential.hostile_container import TEXT, N, raw_entry
from tests.differential.hostile_deltas import on_text
from tests.differential.hostile_grammar import ATTRIBUTES, MODULES, a_commit, a_tag, special
from tests.differential.hostile_objects import COSTLY, a_file
from tests.support import packs
from tests.support.packs import PackBuilder, commit_bytes, copy, delta
from tests.support.submodules import of

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference, shown by a pack: verdicts first, then the words for the page.

    `since` is the first version of git that behaves so, `before` the first that no longer does.
    `codes` are what packparse finds under the rule set `git`, or under `candidate` where it
    accepts under `git`.
    """

    name: str
    pack: Callable[[], bytes]
    git_accepts: bool
    we_accept: dict[str, bool]
    codes: tuple[str, ...]
    git_does: str
    we_do: str
    why: str
    since: Version = ()
    before: Version = ()

    def concerns(self, version: Version) -> bool:
        """Whether this version of git behaves so."""
        return self.since <= version and not (self.before and self.before <= version)

    @property
    def versions(self) -> str:
        """The versions of git that behave so, in words."""
        since, before = (".".join(map(str, version)) for version in (self.since, self.before))
        if since and before:
            return f"{since} to before {before}"
        return f"{since} and later" if since else f"before {before}" if before else "all"


BOTH_ACCEPT = {"git": True, "candidate": True}
BOTH_REFUSE = {"git": False, "candidate": False}


def _dictionary() -> bytes:
    return raw_entry(packs.varint_size(3, N), packs.with_dictionary(TEXT))("sha1")


def _sized(continuations: int) -> bytes:
    """Return a pack whose second entry spells its size with so many bytes after the first."""
    needed = len(packs.varint_size(3, N)) - 1
    size = packs.varint_size(3, N, pad=continuations - needed)
    return raw_entry(size, packs.stored(TEXT))("sha1")


def _wrapped_size() -> bytes:
    # Bit 64 on top of the real size: it does not fit, and git 2.39 loses it.
    low = packs.varint_size(3, N, pad=8)
    return raw_entry(low[:-1] + b"\x10", packs.stored(TEXT))("sha1")


def _delta_sizes() -> bytes:
    return on_text(delta(N, N - 1, copy(0, N - 1), base_pad=9, result_pad=9))("sha1")


def _endless_result() -> bytes:
    return on_text(b"\x05\x80\x80\x80", b"12345")("sha1")


def _no_empty_tree() -> bytes:
    pack = PackBuilder()
    pack.add("commit", commit_bytes(packs.oid("tree", b"")))
    return pack.build()


def _ring_and_whole() -> bytes:
    first, second = (packs.outside("blob", label + TEXT) for label in (b"a", b"b"))
    pack = PackBuilder()
    pack.add_ref(second, packs.edit(second.data, 0, 1, b"a")[0])
    pack.add_ref(first, packs.edit(first.data, 0, 1, b"b")[0])
    pack.add("blob", first.data)
    return pack.build()


def _modules(content: bytes) -> bytes:
    return special(MODULES, content)("sha1")


def _runs(begin: bytes) -> bytes:
    return _modules(begin + of(update=b"!cmd"))


# The order is that of a pack: container, entries, deltas, links, grammar, special files.
KNOWN: tuple[Difference, ...] = (
    Difference(
        name="bytes after the end, on a pipe",
        pack=lambda: packs.small_honest_pack() + b"PACK or anything else",
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("trailingBytes",),
        git_does=(
            "Accepts with `--stdin`, and copies the bytes to its own output. In a file it refuses "
            "them: pack has junk at the end."
        ),
        we_do="Refuses (`trailingBytes`), on a pipe as in a file.",
        why="What was verified and what is stored must be the same bytes.",
    ),
    Difference(
        name="a size in the ten bytes that 64 bits take",
        pack=lambda: _sized(9),
        since=(2, 55),
        git_accepts=False,
        we_accept=BOTH_ACCEPT,
        codes=("nonCanonicalVarint",),
        git_does="Refuses a tenth byte, whatever it holds: object size too large.",
        we_do="Accepts; a note (`nonCanonicalVarint`) under `candidate`.",
        why=(
            "The number fits, hosting services do write spare bytes, and older versions of git "
            "accept them."
        ),
    ),
    Difference(
        name="a size in more than ten bytes",
        pack=lambda: _sized(12),
        before=(2, 55),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("varintOverflow",),
        git_does="Accepts any number of spare bytes.",
        we_do="Refuses (`varintOverflow`), as git 2.55 does.",
        why="Past 64 bits the value depends on the processor that reads it.",
    ),
    Difference(
        name="a size of 65 bits",
        pack=_wrapped_size,
        before=(2, 55),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("varintOverflow",),
        git_does="Drops the bits past the 64th and accepts what is left.",
        we_do="Refuses (`varintOverflow`), as git 2.55 does.",
        why="Two readers would see objects of different sizes.",
    ),
    Difference(
        name="a preset dictionary",
        pack=_dictionary,
        before=(2, 50),
        git_accepts=False,
        we_accept=BOTH_REFUSE,
        codes=("presetDictionary",),
        git_does="Aborts by a signal: BUG: zlib.c, total_in mismatch.",
        we_do="Refuses in order (`presetDictionary`), as git 2.50 does.",
        why="Packs have no dictionaries. Only the way of refusing differs.",
    ),
    Difference(
        name="a deflate stream padded with empty blocks",
        pack=lambda: raw_entry(packs.varint_size(3, N), packs.padded(TEXT, 2_000))("sha1"),
        git_accepts=True,
        we_accept={"git": True, "candidate": False},
        codes=("paddedDeflate",),
        git_does="Accepts any number of them.",
        we_do="Refuses more than 4 KiB of padding (`paddedDeflate`) under `candidate`.",
        why="Empty blocks cost time and can hide bytes that belong to no object.",
    ),
    Difference(
        name="a size in a delta in more than ten bytes",
        pack=_delta_sizes,
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("linksNotChecked", "varintOverflow"),
        git_does="Accepts spare bytes past 64 bits as long as they are zero.",
        we_do="Refuses (`varintOverflow`).",
        why="As for the size of an entry: no writer makes them, and readers differ.",
    ),
    Difference(
        name="a delta that ends inside the size of its result",
        pack=_endless_result,
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("deltaTruncated", "linksNotChecked"),
        git_does="Takes the bits that are there; where they are zero, the object is empty.",
        we_do="Refuses (`deltaTruncated`).",
        why="A number without an end is a truncated delta.",
    ),
    Difference(
        name="a chain of more deltas than the limit",
        pack=lambda: packs.chain_pack(4_096),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("deltaTooDeep", "linksNotChecked"),
        git_does="Accepts any depth, though it writes 4,095 at most.",
        we_do=(
            "Refuses over the limit, with class 4 (`deltaTooDeep`): 4,095 with `--limits history`, "
            "256 by default. `--limit delta_depth=N` raises it."
        ),
        why=(
            "It stands for all limits: each refuses for its cost a pack that git would take, and "
            "none calls it corrupt."
        ),
    ),
    Difference(
        name="a tree that expands to more files than the limit",
        pack=lambda: COSTLY["ten folders to the tenth (CVE-2017-15298)"]("sha1"),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("tooManyFiles",),
        git_does="Accepts: it never counts what a checkout would write.",
        we_do=(
            "Refuses over the limit, with class 4 (`tooManyFiles`): 100,000,000 with `--limits "
            "history`, 1,000,000 by default."
        ),
        why="A pack of 971 bytes can hold 10,000,000,000 files.",
    ),
    Difference(
        name="a ring of deltas, one of them also there as a whole",
        pack=_ring_and_whole,
        before=(2, 50),
        git_accepts=False,
        we_accept=BOTH_REFUSE,
        codes=("duplicateObject",),
        git_does="Refuses: already resolved (duplicate base). It does so without `--strict`, too.",
        we_do=(
            "Resolves the ring, then refuses since an object comes twice (`duplicateObject`), as "
            "git 2.50 does with `--strict`."
        ),
        why="Every object can be rebuilt. Only the reason of the refusal differs.",
    ),
    Difference(
        name="the empty tree is named and is not in the pack",
        pack=_no_empty_tree,
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("absentObject",),
        git_does="Accepts: it has the empty tree (not the empty blob) built in.",
        we_do="Refuses (`absentObject`, class 5).",
        why=(
            "A pack must be complete in itself for every reader. git puts the empty tree into the "
            "packs it writes."
        ),
    ),
    Difference(
        name="a tagger line that is wrong, and an unknown header behind it",
        pack=lambda: a_tag(tagger=b"A", extra=b"x y\n")("sha1"),
        since=(2, 31),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("missingEmail",),
        git_does="Prints the error, forgets it when it comes to the header, and accepts.",
        we_do="Refuses for what is wrong with the tagger line, as git does without the header.",
        why="What git calls an error does not get better by what follows it.",
    ),
    Difference(
        name="a tagger line that is wrong, and a signature header behind it",
        pack=lambda: a_tag(tagger=b"A", extra=b"gpgsig -----BEGIN\n x\n")("sha1"),
        since=(2, 31),
        before=(2, 52),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("missingEmail",),
        git_does="Prints the error and accepts: it does not know the header yet.",
        we_do="Refuses for what is wrong with the tagger line, as git 2.52 does.",
        why="As above.",
    ),
    Difference(
        name="a date with a sign or other blanks before it",
        pack=lambda: a_commit(author=b"A <a@x> +1700000000 +0000")("sha1"),
        before=(2, 40),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("badDate",),
        git_does="Reads the number as C's strtoumax does: with any blanks and a sign before it.",
        we_do="Refuses (`badDate`), as git 2.40 does.",
        why="Two readers would see different dates.",
    ),
    Difference(
        name="a date that begins with zeros, behind two spaces",
        pack=lambda: a_commit(author=b"A <a@x>  01700000000 +0000")("sha1"),
        before=(2, 40),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("zeroPaddedDate",),
        git_does="Looks for a zero behind the first space alone.",
        we_do="Refuses (`zeroPaddedDate`), as git 2.40 does.",
        why="As above.",
    ),
    Difference(
        name="a name of more than 4,096 bytes",
        pack=lambda: a_file(b"100644", b"n" * 4_097)("sha1"),
        before=(2, 43),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("largePathname",),
        git_does="Accepts names of any length.",
        we_do="Refuses (`largePathname`), as git 2.43 does.",
        why="No system can check it out, and readers have cut such names short (CVE-2026-111760).",
    ),
    Difference(
        name="a line of 2,048 bytes in .gitattributes",
        pack=lambda: special(ATTRIBUTES, b"a" * 2_048)("sha1"),
        before=(2, 39, 1),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("gitattributesLineLength",),
        git_does="Does not look into the file.",
        we_do="Refuses (`gitattributesLineLength`), as git 2.39.1 does.",
        why="It overflowed numbers of readers (CVE-2022-23521).",
    ),
    Difference(
        name="a submodule's URL that cannot be normalized",
        pack=lambda: _modules(of(url=b"https://example.com:65536/x")),
        before=(2, 44),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("gitmodulesUrl",),
        git_does="Looks for a host and for line feeds in a URL alone.",
        we_do="Refuses (`gitmodulesUrl`) hosts, ports and escapes that are none, as git 2.44 does.",
        why="What is no URL to git may be one to another reader.",
    ),
    Difference(
        name="a submodule's URL that can be normalized, and has no host of its own",
        pack=lambda: _modules(of(url=b"http::file:///x")),
        before=(2, 44),
        git_accepts=False,
        we_accept=BOTH_ACCEPT,
        codes=(),
        git_does="Refuses it as a URL without a host (`gitmodulesUrl`).",
        we_do="Accepts, as git 2.44 does.",
        why="The rule set follows the newest version.",
    ),
    Difference(
        name="a byte 0xFF in .gitmodules",
        pack=lambda: _runs(b"# \xff\n"),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("gitmodulesParse", "gitmodulesUpdate"),
        git_does=(
            "Where C's char is signed, as on x86, its check takes the byte for the end of the file "
            "and accepts what follows. From a work tree git reads on."
        ),
        we_do="Reads on, and refuses for what stands behind the byte.",
        why="A command behind the byte would be run (CVE-2019-19604).",
    ),
    Difference(
        name="a byte order mark at the start of .gitmodules",
        pack=lambda: _runs(b"\xef\xbb\xbf"),
        git_accepts=True,
        we_accept=BOTH_REFUSE,
        codes=("gitmodulesUpdate",),
        git_does=(
            "Where C's char is signed, its check warns (`gitmodulesParse`) and reads nothing. From "
            "a work tree git reads the file."
        ),
        we_do="Reads the file, and refuses for what it says.",
        why="As above.",
    ),
)

_HEAD = """\
# Differences from git

<!-- Written by `python -m tests.differential.known`; a test keeps it up to date. -->

`packcheck verify --rules git` gives the verdict of `git index-pack --strict`, run in an empty
repository on the pack as a file, by the newest version of git. The tests ask both about packs that
git wrote, about packs made by hand to be refused, about random damage, and about objects that were
changed at random. This table lists every difference that is known and wanted; each row is shown by
a test, for the versions of git that it concerns.

`--rules candidate`, the default, refuses all of that and more: see [checks](checks.md).
"""

_NOT_SHOWN = """\
## Not shown by a test

SHA-1 collisions: git detects the known ways of making two objects with one id while it hashes, and
refuses them. packparse hashes with hashlib, which does not, so a SHA-1 pack that matters is to be
given to git as well. No colliding Git objects are public, so no test shows it.
"""


def _rows() -> Iterator[Sequence[str]]:
    yield "Input", "git versions", "`git index-pack --strict`", "packparse", "Why"
    yield ("---",) * 5
    for row in KNOWN:
        yield row.name, row.versions, row.git_does, row.we_do, row.why


def differences_markdown() -> str:
    """Return the page docs/reference/differences.md."""
    table = "".join(f"| {' | '.join(row)} |\n" for row in _rows())
    return f"{_HEAD}\n{table}\n{_NOT_SHOWN}"


if __name__ == "__main__":
    sys.stdout.write(differences_markdown())
