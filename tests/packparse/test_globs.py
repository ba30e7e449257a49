"""Globs: git's meaning of them, the broad reading of lists that deny, and the time they take."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

from packparse.errors import MisuseError
from packparse.globs import Globs, IdentityGlobs
from tests.support.gitrepo import clean_env


def exactly(glob: str, path: bytes) -> bool:
    return Globs([glob], broad=False).first(path) is not None


def broadly(glob: str, path: bytes) -> bool:
    return Globs([glob], broad=True).first(path) is not None


# What a glob means, for a whole path: glob, a path that matches, an honest neighbour that does not.
MEANINGS = {
    "a name without a slash is one at the root": ("a.txt", b"a.txt", b"a.txt.x"),
    "and one in any folder": ("a.txt", b"x/y/a.txt", b"x/y/ba.txt"),
    "a slash at the beginning fixes it to the root": ("/a", b"a", b"x/a"),
    "a slash inside fixes it to the root": ("d/a", b"d/a", b"x/d/a"),
    "a slash at the end means what is in the folder": ("d/", b"d/a", b"d"),
    "and that at any depth": ("d/", b"x/d/y/a", b"x/dd/a"),
    "unless another slash fixes it": ("/d/", b"d/a", b"x/d/a"),
    "a star takes a part of a name": ("*.exe", b"a.exe", b"a.exe.txt"),
    "a star takes nothing, too": ("a*b", b"ab", b"a/b"),
    "a star takes no slash": ("d/*", b"d/a", b"d/e/a"),
    "two stars inside a name are one": ("d/a**b", b"d/axb", b"d/ax/xb"),
    "a double star before takes no folder": ("**/a", b"a", b"ab"),
    "a double star before takes folders": ("**/d/a", b"x/y/d/a", b"x/yd/a"),
    "a double star between takes no folder": ("d/**/a", b"d/a", b"da"),
    "a double star between takes folders": ("d/**/a", b"d/x/y/a", b"x/d/a"),
    "a double star after takes all in the folder": ("d/**", b"d/x/y", b"d"),
    "a double star alone takes all": ("**", b"x/y", b""),
    "double stars in a row are one": ("d/**/**/a", b"d/a", b"d/b"),
    "three stars are a double star": ("d/***", b"d/x/y", b"e/x/y"),
    "stars and double stars together": ("**/*a*/**/b*", b"x/xax/y/z/bb", b"x/xbx/y/z/bb"),
    "the first place is not the only one": ("**/a/b", b"a/x/a/b", b"a/x/a/c"),
    "the first piece is not the only one": ("*ab*abc", b"abxabxabc", b"abxabxab"),
    "a question mark takes one byte": ("a?c", b"abc", b"ac"),
    "a question mark takes no slash": ("d/a?c", b"d/a.c", b"d/a/c"),
    "a set takes one of its bytes": ("[ab]c", b"bc", b"cc"),
    "a range": ("[a-cx]z", b"bz", b"dz"),
    "a set turned round": ("[!a-c]z", b"dz", b"bz"),
    "a set turned round by the other mark": ("[^a]z", b"bz", b"az"),
    "a set turned round takes no slash": ("d[!a]z", b"dbz", b"d/z"),
    "a bracket first in a set": ("[]x]z", b"]z", b"[z"),
    "a dash at the end of a set": ("[a-]z", b"-z", b"bz"),
    "a class in a set": ("[[:digit:]_]z", b"7z", b"az"),
    "a backslash in a set": (r"[\]]z", b"]z", b"\\z"),
    "what is only like a class is a set": ("[[:]z", b":z", b"az"),
    "a star that is meant": (r"a\*", b"a*", b"ab"),
    "a letter after a backslash": (r"\a", b"a", b"\\a"),
    "a mark that is meant": (r"\!a", b"!a", b"a"),
    "a dot is a dot": ("a.b", b"a.b", b"axb"),
    "case counts": ("README", b"README", b"readme"),
    "names are bytes": ("\xe9*", b"\xc3\xa9t\xff", b"\xe9t"),
    "a line feed is a byte as any": ("a*b", b"a\nb", b"a\nbc"),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_a_glob_means_what_it_means_in_git(name: str) -> None:
    glob, hit, miss = MEANINGS[name]
    assert exactly(glob, hit)
    assert not exactly(glob, miss)
    assert broadly(glob, hit)


# What a list that denies or watches takes as well, and what it does not for all that.
BROAD = {
    "what lies below": ("vendor", b"vendor/x/y", b"vendored/x"),
    "what lies below a name with a star": ("*.exe", b"a.exe/b", b"a.exes/b"),
    "small letters": ("/Makefile", b"makefile", b"makefiles"),
    "capitals": (".github/workflows/**", b".GitHub/WORKFLOWS/x.yml", b".github/workflow/x.yml"),
    "a plain name in capitals, in any folder": (".envrc", b"x/.ENVRC", b"x/.envrcs"),
    "a set in capitals": ("[a-c]z", b"BZ", b"DZ"),
    "case folding beyond ASCII": (".vscode/**", b".v\xc5\xbfcode/x", b".v\xc5\xbecode/x"),
    "capitals beyond ASCII": ("\xe9t\xe9/x", "\xc9T\xc9/x".encode(), "\xc8T\xc9/x".encode()),
    "the other normal form": ("\xe9t\xe9/x", b"e\xcc\x81te\xcc\x81/x", b"e\xcc\x80te\xcc\x81/x"),
    "a dot at the end of a name": (
        ".vscode/tasks.json",
        b".vscode./tasks.json",
        b".vs./tasks.json",
    ),
    "a space at the end of the path": (".envrc", b"x/.envrc ", b"x/.envrc x"),
    "a character that HFS ignores": (".envrc", b".en\xe2\x80\x8bvrc", b".en\xe2\x80vrc"),
    "a link in the place of a folder": (".github/workflows/**", b".github", b".gitlab"),
    "a link in the place of a folder further down": ("a/b/c/**", b"a/b", b"a/c"),
    "a link in the place of the folder itself": (".husky/", b"x/.husky", b"x/.huskys"),
    "a link in the place of a folder at any depth": ("**/.idea/tools/**", b"x/.idea", b"x/idea"),
    "a link before a double star": ("a/b/**/c", b"a/b", b"a/x"),
    "a link after a double star": ("a/**/b/c", b"a/x/y/b", b"a/x/y/d"),
    "a link between two double stars": ("**/b/**/c/d", b"x/b/y/c", b"x/b/y/e"),
    "but no file of any name where a folder has any name": ("*/secret", b"x/secret", b"README"),
    "nor where what is in any folder is meant": ("*/**", b"x/y", b"README"),
    "nor where the name has a set": ("[a-z]/b/**", b"a/b", b"a"),
}


@pytest.mark.parametrize("name", BROAD)
def test_a_list_that_denies_is_read_broadly(name: str) -> None:
    glob, hit, miss = BROAD[name]
    assert broadly(glob, hit)
    assert not broadly(glob, miss)


NARROW = (
    "what lies below", "small letters", "capitals", "a set in capitals", "the other normal form",
    "a dot at the end of a name", "a link in the place of a folder",
)  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
def test_a_list_that_allows_is_read_by_the_letter(name: str) -> None:
    glob, hit, _miss = BROAD[name]
    assert not exactly(glob, hit)


def test_an_escaped_name_is_spelled_out_as_well() -> None:
    assert broadly(r"\[x\]/y", b"[x]")
    assert not broadly(r"\\[x]/y", b"\\x")


def test_the_glob_that_matches_is_told() -> None:
    globs = Globs(["/a", "b", "c*", "**/d/e/**", "x/**/y"], broad=True)
    for path, glob in {
        b"a": "/a",
        b"q/b": "b",
        b"q/cc": "c*",
        b"q/d/e/f": "**/d/e/**",
        b"x/q/y": "x/**/y",
        b"q": None,
    }.items():
        assert globs.first(path) == glob
    assert len(globs) == 5
    assert globs.texts == ("/a", "b", "c*", "**/d/e/**", "x/**/y")


def test_a_list_of_plain_names_alone_matches() -> None:
    assert Globs([".envrc", ".husky/"], broad=True).first(b"x/.husky/y") == ".husky/"
    assert Globs([".envrc", ".husky/"], broad=True).first(b"x/husky/y") is None


def test_an_empty_list_matches_nothing_and_is_false() -> None:
    assert not Globs(broad=True)
    assert Globs(broad=True).first(b"a") is None
    assert not IdentityGlobs()


MISUSED = {
    "nothing": ("", "is empty"),
    "a thousand bytes": ("a" * 1001, "more than 1000 bytes"),
    "sixty-five parts": ("a/" * 65, "more than 64 parts"),
    "a NUL": ("a\0", "printed"),
    "an escape": ("a\x1b[m", "printed"),
    "half a character": ("\udc80", "printed"),
    "a slash alone": ("/", "empty, . or .."),
    "two slashes": ("a//b", "empty, . or .."),
    "two slashes at the end": ("a//", "empty, . or .."),
    "a dot as a part": ("./a", "empty, . or .."),
    "two dots as a part": ("a/../b", "empty, . or .."),
    "folders of no name": ("**/", "write **"),
    "a list's exception": ("!a", "takes back"),
    "a backslash at the end": ("a\\", "backslash"),
    "a backslash before a slash": (r"a\/b", "backslash"),
    "a set without an end": ("a[b", "without its ]"),
    "a set with only an end": ("a[]", "without its ]"),
    "a set across a slash": ("a[b/c]d", "without its ]"),
    "a set that ends in a backslash": ("a[b\\", "without its ]"),
    "a set without an end, in a range": ("a[b-\\", "without its ]"),
    "a range backwards": ("[z-a]", "ends before it begins"),
    "a class nobody knows": ("[[:vowel:]]", "known: alnum"),
    "a set of more than bytes": ("[\xe9]", "outside ASCII"),
}


@pytest.mark.parametrize("broad", [False, True])
@pytest.mark.parametrize("name", MISUSED)
def test_a_glob_that_can_match_nothing_is_misuse(name: str, broad: bool) -> None:
    glob, words = MISUSED[name]
    with pytest.raises(MisuseError) as caught:
        Globs(["a", glob], broad=broad).check()
    message = str(caught.value)
    assert words in message
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 200


def test_globs_at_their_bounds_are_read() -> None:
    assert exactly("a" * 1000, b"a" * 1000)
    assert broadly("/".join(["a"] * 64), b"/".join([b"a"] * 64))


# --- people -------------------------------------------------------------------------------------

JANE = b"Jane Doe <jane@example.com>"
PEOPLE = {
    "an address": ("jane@example.com", JANE, b"Jane Doe <june@example.com>"),
    "any address of a host": ("*@example.com", JANE, b"Jane <jane@example.com.evil.org>"),
    "no name that looks like it": ("*@example.com", JANE, b"a@example.com <jane@evil.org>"),
    "an address in capitals": ("*@example.com", b"J <JANE@Example.COM>", b"J <jane@example.org>"),
    "a glob in capitals": ("*@EXAMPLE.com", JANE, b"J <jane@example.org>"),
    "a name and an address": ("Jane Doe <jane@example.com>", JANE, b"J Doe <jane@example.com>"),
    "a name in its case": ("Jane Doe <*>", JANE, b"jane doe <jane@example.com>"),
    "a name with a star": ("Jane* <*>", b"Jane/X Doe <a@b>", b"Jan <a@b>"),
    "a name, and whose address it has": ("* <jane@*>", JANE, b"Jane Doe <june@example.com>"),
    "an address of many parts": ("*@*.example.com", b"J <j@a.b.example.com>", b"J <j@example.com>"),
    "no name": ("*@example.com", b"<jane@example.com>", b"<jane@example.org>"),
    "anybody, but with an address": ("*", b"J <>", b"J"),
    "no two addresses": ("*", JANE, b"Jane <jane@example.com> <jane@example.com>"),
    "no bracket inside a name": ("*@example.com", JANE, b"J> <x <jane@example.com>"),
    "no space missing": ("*@example.com", JANE, b"Jane<jane@example.com>"),
    "no NUL": ("*@example.com", JANE, b"Jane\0 <jane@example.com>"),
    "nothing after": ("*@example.com", JANE, JANE + b" "),
    "no space inside the brackets": ("*@example.com", JANE, b"Jane <jane@example.com >"),
    "names beyond ASCII": ("J\xe9 <*>", b"J\xc3\xa9 <a@b>", b"J\xe9 <a@b>"),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_ph8_a_glob_for_people(name: str) -> None:
    glob, hit, miss = PEOPLE[name]
    globs = IdentityGlobs(["nobody@example.invalid", glob])
    globs.check()
    assert globs.match(hit)
    assert not globs.match(miss)


MISUSED_PEOPLE = {
    "nothing": ("", "is empty"),
    "a name alone": ("Jane Doe", "no e-mail address"),
    "a name with an empty address": ("Jane Doe <>", "ADDRESS or NAME <ADDRESS>"),
    "no name": ("<jane@example.com>", "ADDRESS or NAME <ADDRESS>"),
    "no space": ("Jane<jane@example.com>", "ADDRESS or NAME <ADDRESS>"),
    "words after it": ("Jane <jane@example.com> x", "ADDRESS or NAME <ADDRESS>"),
    "a set without an end": ("[a@b", "without its ]"),
    "a name with a set without an end": ("[J <a@b>", "without its ]"),
}


@pytest.mark.parametrize("name", MISUSED_PEOPLE)
def test_a_glob_that_can_match_nobody_is_misuse(name: str) -> None:
    glob, words = MISUSED_PEOPLE[name]
    with pytest.raises(MisuseError, match=words):
        IdentityGlobs(["*@example.com", glob]).check()


# --- time ---------------------------------------------------------------------------------------

MIB = 1 << 20
SLOW = {
    "stars against a run of their letter": ("a*a*a*a*b", b"a" * MIB),
    "eight stars": ("*a*a*a*a*a*a*a*b", b"a" * MIB),
    "stars in two parts": ("**/*a*b/*a*b/c", b"aab/" * (MIB // 4) + b"d"),
    "double stars against a run of their name": ("**/a/**/a/**/a/**/b", b"a/" * (MIB // 2) + b"c"),
    "double stars and stars": ("**/*a*/**/*a*/**/b", b"a/" * (MIB // 2) + b"c"),
    "a long run of parts": ("**/a/a/a/a/a/b", b"a/" * (MIB // 2) + b"c"),
    "questions": ("**/?a?*[!b]*c/x", b"aa/" * (MIB // 3) + b"d"),
    "dots at the end of nothing": (".envrc", b"." * MIB + b"x"),
    "marks that Unicode would sort": (".envrc", b"\xcc\x81\xcc\xa7" * (MIB // 4)),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_hostile_path_takes_no_long_time(name: str) -> None:
    glob, path = SLOW[name]
    start = time.process_time()
    assert not exactly(glob, path)
    assert not broadly(glob, path)
    # What backtracks takes hours.
    assert time.process_time() - start < 10


def test_a_hostile_identity_takes_no_long_time() -> None:
    globs = IdentityGlobs(["*a*a*a*a*b@*", "*a*a*a*a*b <*@*>"])
    start = time.process_time()
    assert not globs.match(b"a" * MIB + b" <" + b"a" * MIB + b"@>")
    assert not globs.match(b"a" * MIB)
    assert time.process_time() - start < 10


# --- git itself ---------------------------------------------------------------------------------

PIECES = (
    "a", "b", "c", "A", "*", "?", "/", "/", "/**/", "**/", "/**", "[ab]", "[!a]", "[b-c]", "\\*",
    "[[:upper:]]", "[]a]", "\xe9",
)  # fmt: skip


def asked(repo: Path, glob: str, paths: list[str]) -> tuple[set[str], set[str]]:
    """The paths that git's attributes match with ``glob``, and those that it ignores."""
    text = "".join(f"{path}\0" for path in paths).encode()

    def run(*words: str) -> list[str]:
        # That nothing is ignored ends in a status of 1.
        done = subprocess.run(
            ["git", *words],
            cwd=repo,
            env=clean_env(repo),
            input=text,
            capture_output=True,
            check=False,
        )
        assert done.returncode in {0, 1}
        assert not done.stderr
        return done.stdout.decode().split("\0")

    (repo / ".gitattributes").write_text(f"{glob} hit\n", "utf-8")
    fields = run("check-attr", "-z", "--stdin", "hit")
    (repo / ".gitattributes").unlink()
    (repo / ".gitignore").write_text(f"{glob}\n", "utf-8")
    ignored = run("-c", "core.ignoreCase=true", "check-ignore", "--no-index", "-z", "--stdin")
    (repo / ".gitignore").unlink()
    attributes = zip(fields[0::3], fields[2::3], strict=False)
    return {path for path, value in attributes if value == "set"}, set(ignored)


@pytest.mark.parametrize("seed", range(4))
def test_git_matches_the_same_paths(seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"globs-{seed}")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, env=clean_env(tmp_path), check=True)
    compared = 0
    while compared < 25:
        glob = "".join(rng.choices(PIECES, k=rng.randint(1, 6)))
        # git reads letters before two stars by themselves, and then takes these for a double star.
        if "**" in glob.replace("/**/", "/").removeprefix("**/").removesuffix("/**"):
            continue
        try:
            Globs([glob], broad=False).check()
        except MisuseError:
            continue
        compared += 1
        names = ["".join(rng.choices("abcA*\xe9", k=rng.randint(1, 3))) for _ in range(40)]
        paths = sorted({"/".join(rng.choices(names, k=rng.randint(1, 4))) for _ in range(60)})
        attributes, ignored = asked(tmp_path, glob, paths)
        # Attributes know no slash at the end.
        if not glob.endswith("/"):
            assert {path for path in paths if exactly(glob, path.encode())} == attributes, glob
        matched = {path for path in paths if broadly(glob, path.encode())}
        assert ignored - {""} <= matched, glob
