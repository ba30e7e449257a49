"""What git and we say of the same .gitmodules, and of the same configuration files.

git is asked with one pack that holds all contents before the trees that name them: so it checks
each one at the end and goes on after a fault. Where the two differ on purpose, or where versions of
git differ, the kind is listed by its name here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from packparse.objects.config import Settings
from packparse.objects.gitmodules import read
from tests.differential.compare import Theirs, theirs
from tests.packparse import test_gitmodules as tables
from tests.support.gitrepo import git, git_version
from tests.support.packs import PackBuilder, tree_bytes
from tests.support.submodules import of, quoted

Ids = frozenset[str]

# Since then fsck takes URLs of curl's transports only where they can be normalized.
NORMALIZED_SINCE = (2, 44)
# Since then space in values is kept as it is; before, each byte of it became a space.
SPACE_SINCE = (2, 45)

_TOLD = re.compile(rb"^(?:error|warning): object ([0-9a-f]+): (gitmodules\w+): ", re.MULTILINE)


def a_pack(contents: Iterable[bytes], *, trees_first: bool = False) -> tuple[bytes, list[str]]:
    """Write all contents, each as .gitmodules of a tree; give the pack and the ids of contents."""
    pack, ids = PackBuilder(), []
    aside = PackBuilder()
    objects = []
    for content in contents:
        blob = aside.add("blob", content)
        ids.append(blob.oid.hex())
        objects.append(("blob", content))
        objects.append(("tree", tree_bytes([(b"100644", b".gitmodules", blob.oid)])))
    objects.sort(key=lambda made: made[0] == ("blob" if trees_first else "tree"))
    for kind, data in objects:
        pack.add(kind, data)
    return pack.build(), ids


def told(verdict: Theirs) -> dict[str, Ids]:
    """Give what git said, by the id of the content."""
    found: dict[str, Ids] = {}
    for oid, name in _TOLD.findall(verdict.stderr):
        found[oid.decode()] = found.get(oid.decode(), Ids()) | {name.decode()}
    return found


def asked(repo: Path, contents: Iterable[bytes]) -> dict[bytes, Ids]:
    """Ask git about many contents at once."""
    listed = list(dict.fromkeys(contents))
    pack, ids = a_pack(listed)
    verdict = theirs(repo, pack)
    found = told(verdict)
    # Nothing is wrong but with the contents, and none was left unread.
    assert verdict.accepted == (Ids().union(*found.values()) <= {"gitmodulesParse"})
    assert b"unable to read" not in verdict.stderr
    return {content: found.get(oid, Ids()) for content, oid in zip(listed, ids, strict=True)}


def ours(content: bytes) -> Ids:
    """Give the codes we found that are git's."""
    return Ids(oddity.code.name for oddity in read(content).oddities if oddity.code.since)


# --- where the two may differ -------------------------------------------------------------------


def with_one_url(url: bytes) -> bytes:
    return b'[submodule "x"]\n\turl = %b\n' % quoted(url)


def urls(content: bytes) -> Iterator[bytes]:
    """Give the URLs of submodules as git's check reads them: names and values end at a NUL."""
    for section, key, value in Settings(content):
        variable = b"%b.%b" % (section, key)
        begin, _, last = variable.partition(b"\0")[0].rpartition(b".")
        if value is not None and begin.startswith(b"submodule.") and last == b"url":
            yield value.partition(b"\0")[0]


def _decoded(part: bytes) -> bytes:
    begin, colon, rest = part.partition(b":")
    plain = re.sub(
        rb"%(?!00)([0-9a-fA-F]{2})",
        lambda escape: bytes([int(escape[1], 16)]),
        colon + rest if begin and colon else part,
    )
    return begin + plain if begin and colon else plain


def older_rule(url: bytes) -> bool:
    """Tell whether git from 2.27 to 2.43 refuses a URL of curl (credential_from_url_1)."""
    scheme, found, rest = url.partition(b"://")
    if not found or not scheme or b"\n" in scheme:
        return True
    authority = re.split(rb"[/?#]", rest, maxsplit=1)[0]
    user, at, host = authority.partition(b"@")
    path = rest[len(authority) :].lstrip(b"/")
    parts = [*user.split(b":", 1), host, path] if at else [authority, path]
    return not parts[-2] or any(b"\n" in _decoded(part) for part in parts)


def expected(content: bytes) -> Ids:
    """Give what the installed git should say, from what we say."""
    mine = ours(content)
    if git_version() >= NORMALIZED_SINCE:
        return mine
    refused = False
    # With the byte 0xFF in it, a content is judged in both ways in which git may read it.
    for url in {*urls(content), *urls(content.replace(b"\xff", b"\n"))}:
        curl = re.match(rb"(https?|ftps?)(::|(?=://))", url)
        if curl:
            refused |= older_rule(url[curl.end() :] if curl[2] else url)
        else:
            refused |= "gitmodulesUrl" in ours(with_one_url(url))
    return mine - {"gitmodulesUrl"} | ({"gitmodulesUrl"} if refused else set())


# Kinds of contents on which we say more than git on machines whose char is signed: there it takes
# the byte 0xFF in memory for the end of the file, and a byte order mark for a fault. From a file
# in the work tree it reads both as they are, which is why its check must not be trusted here.
KNOWN: dict[str, Callable[[bytes, Ids, Ids], bool]] = {
    "a byte 0xFF": lambda content, mine, git_says: b"\xff" in content and git_says <= mine,
    "a byte order mark": lambda content, _, git_says: (
        content.startswith(b"\xef\xbb\xbf") and git_says == {"gitmodulesParse"}
    ),
}


def disagreements(judged: dict[bytes, Ids]) -> dict[bytes, tuple[Ids, Ids]]:
    """Give the contents on which git and we differ and should not, with (git's ids, ours)."""
    found = {}
    for content, git_says in judged.items():
        mine = expected(content)
        if git_says != mine and not any(kind(content, mine, git_says) for kind in KNOWN.values()):
            found[content] = git_says, mine
    return found


# --- tables -------------------------------------------------------------------------------------

ALL_URLS = [
    *tables.HONEST_URLS,
    *tables.BAD_URLS.values(),
    *tables.BAD_URLS_SINCE_2_44.values(),
    *tables.GOOD_URLS_SINCE_2_44.values(),
    *tables.UNSAFE_URLS.values(),
]
TABLE = [
    *tables.HONEST.values(),
    *map(with_one_url, ALL_URLS),
    *(content for content, _ in tables.LISTED.values()),
    *map(of, tables.BAD_NAMES.values()),
    *map(of, tables.UNSAFE_NAMES.values()),
    *(content for content, _ in tables.HIDDEN.values()),
    *(of(path=path) for path in tables.UNSAFE_PATHS.values()),
    *(of(path=path) for path in (b"-", b"-x", b'"-x/y"', b"-\0", b"x-")),
    *(of(update=update) for update in (b"!", b"!cmd", b'"!x"', b"!\0", b"x!", None)),
    *(content for content, _ in tables.NESTED.values()),
    *(content for content, _ in tables.DUPLICATES.values()),
]


def test_the_tables_say_what_git_says(empty: dict[str, Path]) -> None:
    assert disagreements(asked(empty["sha1"], TABLE)) == {}


def test_a_url_refused_by_all_versions_is_refused_by_this_one(empty: dict[str, Path]) -> None:
    judged = asked(empty["sha1"], map(with_one_url, tables.BAD_URLS.values()))
    assert [content for content, ids in judged.items() if "gitmodulesUrl" not in ids] == []


@pytest.mark.skipif(git_version() < NORMALIZED_SINCE, reason="the rule came with git 2.44")
def test_a_url_that_cannot_be_normalized_is_refused_since_2_44(empty: dict[str, Path]) -> None:
    bad = set(map(with_one_url, tables.BAD_URLS_SINCE_2_44.values()))
    good = set(map(with_one_url, tables.GOOD_URLS_SINCE_2_44.values()))
    judged = asked(empty["sha1"], bad | good)
    assert {content for content, ids in judged.items() if "gitmodulesUrl" in ids} == bad


@pytest.mark.parametrize("trees_first", [False, True])
def test_the_verdict_on_one_file_depends_on_errors_alone(
    empty: dict[str, Path], trees_first: bool
) -> None:
    # With the tree first git checks the content when it comes, otherwise at the end (case 4).
    cases = {
        of(): True,
        of(path=b'"s\r"'): True,  # case 25: git lets unsafe paths pass
        of(path=b".git/hooks"): True,
        of() + b"!": True,
        of(b"../x"): False,
        of(update=b"!cmd"): False,
        of(url=b"-x") + b"!": False,
    }
    for content, accepted in cases.items():
        pack, (oid,) = a_pack([content], trees_first=trees_first)
        verdict = theirs(empty["sha1"], pack)
        assert verdict.accepted is accepted
        assert told(verdict).get(oid, Ids()) == expected(content)


@pytest.mark.parametrize("kind", ["a byte 0xFF", "a byte order mark"])
def test_the_work_tree_is_read_past_what_the_check_stops_at(
    empty: dict[str, Path], kind: str
) -> None:
    begin = {"a byte 0xFF": b"# \xff\n", "a byte order mark": b"\xef\xbb\xbf"}[kind]
    content = begin + of(update=b"!cmd")
    command = ["config", "-f", "-", "submodule.x.update"]
    assert git(empty["sha1"], *command, input=content).stdout == b"!cmd\n"
    assert "gitmodulesUpdate" in ours(content)


# --- random contents ----------------------------------------------------------------------------

SEEDS = (
    of(b"lib/x", branch=b"main", update=b"none", url=b"https://example.com:8080/a/../b.git"),
    of(b"a b", path=b'"a b"', url=b"../x.git").replace(b"\n", b"\r\n") + b"; c\r\n",
    b'[submodule "y\\"\\\\z"]\n\turl = -x\n path=-y # c\n update = !x\n[core]\nx=1\n',
    b'[submodule.Foo] url = git://h/%0a ; [x]\nurl="a\\nb" \\\n c\n[submodule ".."] p\n',
    b'[submodule "u/../v"]\nurl = http::https://u:p@[::1]:80/%2e/x?y#z\n[core]\nx=1\n',
    b'[submodule "v"]\nurl=https://h/a%0ab/../c\nurl\n[submodule "w.x"]\nupdate=!y',
    b'[submodule "a.url\0"]\nb = -x\n[submodule "c.path"]\npath = d  "e f"\t g\n',
)
PIECES = (
    b'"', b"\\", b"\r", b"\0", b"[", b"]", b"\n", b" ", b"\t", b"=", b"#", b";", b".", b"..", b"/",
    b"-", b"!", b"%0a", b"%", b":", b"@", b"url", b"\xff", b"\x80", b"\r\n", b"a", b"submodule",
    b"\xef\xbb\xbf", b"\v", b"\f", b"\\n", b'\\"', b"\\\n", b'""', b"  ",
)  # fmt: skip


def mutated(rng: random.Random, content: bytes) -> bytes:
    """Change up to three places of a content."""
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(content) + 1)
        before, after = content[:at], content[at:]
        flipped = bytes(byte ^ 1 << rng.randrange(8) for byte in after[:1])
        content = rng.choice((
            before,
            before + flipped + after[1:],
            before + rng.choice(PIECES) + after,
            before + rng.choice(PIECES) + after[1:],
            before + after[rng.randrange(1, 6) :],
        ))  # fmt: skip
    return content


URL_BEGINNINGS = (
    b"", b"http://", b"https://h", b"https://h/", b"https://h/a/..", b"http::", b"ftps::https://",
    b"ftp://u@h:1", b"http::file://", b"git://", b"../", b"./", b"ssh://",
)  # fmt: skip
URL_PIECES = (
    b"http", b"://", b"::", b":", b"/", b"..", b".", b"%2e", b"%2E.", b"%0a", b"%0A", b"\n", b"@",
    b"h", b"[", b"]", b"80", b"0", b"65535", b"65536", b"#", b"?", b"file", b"./", b"../", b"..\\",
    b"%", b"%zz", b"%00", b"\\", b"-", b"_", b" ", b"\x80", b"%25", b"~", b"x",
)  # fmt: skip


def random_url(rng: random.Random) -> bytes:
    return rng.choice(URL_BEGINNINGS) + b"".join(rng.choices(URL_PIECES, k=rng.randrange(8)))


def random_files() -> Iterator[bytes]:
    """Give valid contents with edits, and contents with a made-up URL."""
    rng = random.Random(25)
    for number in range(3000):
        yield mutated(rng, SEEDS[number % len(SEEDS)])
        yield with_one_url(random_url(rng))


def test_random_files(empty: dict[str, Path]) -> None:
    judged = asked(empty["sha1"], random_files())
    assert disagreements(judged) == {}
    # Were all of one kind, or most of them excused, the two would agree for no good reason.
    excused = [content for content, ids in judged.items() if ids != expected(content)]
    assert len(excused) < len(judged) // 20
    wanted = {f"gitmodules{name}" for name in ("Name", "Parse", "Path", "Update", "Url")}
    assert wanted <= Ids().union(*judged.values())
    assert len(judged) // 8 < list(judged.values()).count(Ids()) < len(judged) // 8 * 7


# --- configuration files ------------------------------------------------------------------------


def listed_by_git(repo: Path, content: bytes) -> tuple[list[bytes], bool]:
    """Give what git config reads, as (name, line feed, value) each, and whether it reads all."""
    done = git(repo, "config", "--list", "-z", "-f", "-", input=content, check=False)
    return done.stdout.split(b"\0")[:-1], done.returncode == 0


def listed_by_us(content: bytes) -> tuple[list[bytes], bool]:
    """Give the same from Settings; a C string ends at its NUL."""
    settings, lines = Settings(content), []
    for section, key, value in settings:
        name = b"%b.%b" % (section, key) if section else key
        lines.append(name.partition(b"\0")[0])
        if value is not None:
            lines[-1] += b"\n" + value.partition(b"\0")[0]
    return lines, settings.stopped is None


def without_space(listed: tuple[list[bytes], bool]) -> tuple[list[bytes], bool]:
    """Make a space of each tab and carriage return, also of those that were written in quotes."""
    return [re.sub(rb"[\t\r]", b" ", line) for line in listed[0]], listed[1]


def random_settings() -> Iterator[bytes]:
    rng = random.Random(7)
    for number in range(400):
        yield mutated(rng, SEEDS[number % len(SEEDS)])
        yield b'[a.B "C"]\nk =' + b"".join(rng.choices(PIECES, k=rng.randrange(12)))


def test_settings_are_those_that_git_reads_from_a_file(empty: dict[str, Path]) -> None:
    contents = list(random_settings())
    with ThreadPoolExecutor(2) as pool:
        judged = list(pool.map(lambda content: listed_by_git(empty["sha1"], content), contents))
    normal = without_space if git_version() < SPACE_SINCE else lambda listed: listed
    differing = {
        content: theirs_
        for content, theirs_ in zip(contents, judged, strict=True)
        if normal(theirs_) != normal(listed_by_us(content))
    }
    assert differing == {}
    assert 100 < sum(whole for _, whole in judged) < 700
