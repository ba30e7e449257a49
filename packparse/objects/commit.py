"""Commits: the tree and the parents they link to, and what is wrong with their headers and text.

Source: git-commit-tree; parse_commit_buffer in git's commit.c, which reads ``tree`` first, then the
``parent`` lines directly after it, and nothing else anywhere; fsck_commit in its fsck.c. Lines that
git reads in one place alone are read elsewhere by other tools (CVE-2026-45022).
"""

from __future__ import annotations

from binascii import unhexlify

from packparse import checks, late
from packparse.codes import ERROR
from packparse.errors import PackError
from packparse.escape import shorten
from packparse.objects import text
from packparse.oddity import Oddity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packparse.limits import Limits

__all__ = ["identities", "links", "oddities", "oddities_exactly"]

_TREE = 5  # length of "tree "
_PARENT = 7  # length of "parent "
_DIGITS = {20: 40, 32: 64}

# git reads ids in capitals as well.
_HEADS = {
    width: late.pattern(
        rb"tree ([0-9a-fA-F]{%d})\n((?:parent [0-9a-fA-F]{%d}\n)*+)(parent )?" % (digits, digits)
    )
    for width, digits in _DIGITS.items()
}

# The headers of nearly all commits, with nothing odd about them: up to two parents, dates from 1973
# to 2096, no encoding but UTF-8, one signature. Bytes from 0x80 on are let through, and looked at
# later.
_CALM = rb"[^\x00-\x1f\x7f<>]"
_WHO = (
    _CALM + rb"++(?<= )<" + _CALM + rb"*+> (?:[1-9][0-9]{8}|[1-3][0-9]{9})"
    rb" [+-](?:0[0-9]|1[0-3])[0-5][0-9]\n"
)
_USUAL = {
    width: late.pattern(
        (
            rb"tree [0-9a-f]{%d}\n"
            rb"(?:parent ([0-9a-f]{%d})\n(?:parent (?!\1)[0-9a-f]{%d}\n)?)?"
            % (digits, digits, digits)
        )
        + (rb"author " + _WHO + rb"committer " + _WHO)
        + rb"(?:encoding (?i:utf-8)\n)?(?:gpgsig -----BEGIN ([A-Z0-9 ]++)-----\n"
        rb"(?: (?!-----)[^\n]*+\n)*+ -----END \2-----\n(?: \n)*+)?\n"
    )
    for width, digits in _DIGITS.items()
}

_AUTHOR = late.pattern(rb"author ([^\n]*+)\n?")
_COMMITTER = late.pattern(rb"committer ([^\n]*+)\n?")
_CAPITALS = late.pattern(rb"[A-F]")

# Headers that git reads in their own place alone.
_PLACED = {b"tree", b"parent", b"author", b"committer"}
# Headers that git knows behind them.
_KNOWN = {b"encoding", b"mergetag", *text.SIGNATURES}


def links(data: bytes | bytearray, width: int, limits: Limits) -> tuple[bytes, bytes]:
    """Return (raw id of the tree, raw ids of the parents, packed) of a commit's content.

    ``width`` is that of a raw id. Raises PackError: missingTree, badTreeSha1, badParentSha1,
    tooManyParents.
    """
    head = _HEADS[width].match(data)
    if head is None:
        if data[:_TREE] == b"tree ":
            raise PackError(checks.BAD_TREE_SHA1, "the tree line has no valid id")
        raise PackError(checks.MISSING_TREE, "the commit does not begin with a tree line")
    line = _PARENT + width * 2 + 1
    parents = (head.end(2) - head.start(2)) // line
    if head[3]:
        raise PackError(checks.BAD_PARENT_SHA1, "a parent line has no valid id")
    if parents > limits.parents:
        raise limits.passed("parents", parents, "a commit has")
    # git reads a tree or parent line only where something follows it.
    if head.end() == len(data):
        code = checks.BAD_PARENT_SHA1 if parents else checks.BAD_TREE_SHA1
        raise PackError(code, "the commit ends with a tree or parent line")
    return unhexlify(head[1]), _parents(head[2], width * 2)


def _parents(lines: bytes, digits: int) -> bytes:
    line = _PARENT + digits + 1
    found = [lines[at + _PARENT : at + _PARENT + digits] for at in range(0, len(lines), line)]
    return unhexlify(b"".join(found))


def oddities(data: bytes | bytearray, width: int) -> list[Oddity]:
    """What is odd about a commit's content of which :func:`links` succeeded.

    ``width`` is that of a raw id. Details are names of headers, or empty.
    """
    if _USUAL[width].match(data) and text.shows_itself(data):
        return []
    return oddities_exactly(data, width)


def oddities_exactly(data: bytes | bytearray, width: int) -> list[Oddity]:
    """The plain twin of :func:`oddities`: header by header, for any commit."""
    data = bytes(data)
    headers, message = text.split(data)
    found = text.frame(headers, "commit")
    head = _HEADS[width].match(headers)
    if head is None:
        return found
    found += _of_ids(head[1], head[2])
    who, end = _of_people(headers, head.end(2))
    encoding, others = _of_others(headers[end:], width)
    found += who + others
    if b"\0" in message:
        words = f"the message of the commit has a NUL, at byte {message.index(0)}"
        found.append(Oddity(checks.NUL_IN_COMMIT, b"", words))
    return found + text.reading(headers, message, encoding, "commit")


def identities(data: bytes | bytearray) -> tuple[bytes, bytes]:
    """Return (author, committer) as ``Name <email>``, each as the first such header has it.

    Empty where there is none; the whole value where that has no e-mail address.
    """
    end = data.find(b"\n\n")
    return _who(data, b"\nauthor ", end), _who(data, b"\ncommitter ", end)


def _of_ids(tree: bytes, parents: bytes) -> list[Oddity]:
    found = []
    for name, ids in ((b"tree", tree), (b"parent", parents)):
        if _CAPITALS.search(ids):
            words = f"the id in a {name.decode()} line is written in capitals"
            found.append(Oddity(checks.UPPER_CASE_ID, name, words))
    lines = parents.lower().splitlines()
    if len(set(lines)) < len(lines):
        words = f"{len(lines)} parents, and only {len(set(lines))} different ones"
        found.append(Oddity(checks.DUPLICATE_PARENTS, b"parent", words))
    return found


def _of_people(headers: bytes, at: int) -> tuple[list[Oddity], int]:
    """What is wrong with author and committer, which begin at ``at``; and where they end."""
    from packparse.objects import identity

    found: list[Oddity] = []
    authors = 0
    while author := _AUTHOR.match(headers, at):
        authors += 1
        at = author.end()
        # One is enough, of however many lines.
        found = found or identity.oddities(author[1], b"author")
    if not authors:
        words = "no author line follows the tree and the parents"
        found.append(Oddity(checks.MISSING_AUTHOR, b"author", words))
    elif authors > 1:
        words = f"the commit has {authors} author lines"
        found.append(Oddity(checks.MULTIPLE_AUTHORS, b"author", words))
    committer = _COMMITTER.match(headers, at)
    if committer is None:
        words = "no committer line follows the author"
        found.append(Oddity(checks.MISSING_COMMITTER, b"committer", words))
        return found, at
    return found + identity.oddities(committer[1], b"committer"), committer.end()


def _of_others(lines: bytes, width: int) -> tuple[bytes | None, list[Oddity]]:
    """The encoding, and what is odd about the headers behind the committer, once for each name."""
    known, found = text.others(lines, _PLACED, _KNOWN, checks.UNKNOWN_HEADER)
    seen: dict[bytes, bytes] = {}
    faults: dict[bytes, str] = {}
    for name, value in known:
        if name not in faults and (words := _fault(name, value, width, again=name in seen)):
            faults[name] = words
        seen.setdefault(name, value)
    found += [Oddity(checks.MALFORMED_HEADER, name, words) for name, words in faults.items()]
    return seen.get(b"encoding"), found


def _fault(name: bytes, value: bytes, width: int, *, again: bool) -> str:
    """What is wrong with a header that git knows; empty where nothing is."""
    if name == b"mergetag":
        # One for each tag that was merged.
        return "" if _is_tag(value + b"\n", width) else "a mergetag header holds no tag"
    if again:
        return f"the header {name.decode()} comes twice"
    if name == b"encoding":
        if text.keeps_ascii(value):
            return ""
        return f"the encoding is not known to keep ASCII as it is: {shorten(value)}"
    return "" if text.is_signature(value) else f"the header {name.decode()} holds no signature"


def _is_tag(data: bytes, width: int) -> bool:
    from packparse.objects import tag

    try:
        tag.link(data, width)
    except PackError:
        return False
    return not any(odd.code.severity("git") == ERROR for odd in tag.oddities(data, width))


def _who(data: bytes | bytearray, header: bytes, end: int) -> bytes:
    from packparse.objects import identity

    start = data.find(header, 0, end if end >= 0 else len(data))
    if start < 0:
        return b""
    start += len(header)
    stop = data.find(b"\n", start)
    return identity.without_date(bytes(data[start : stop if stop >= 0 else len(data)]))
