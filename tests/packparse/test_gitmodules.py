"""The rules of .gitmodules: a hostile file, and beside it an honest one that differs in one thing.

PG3 to PG6, PG12, case 25. The codes with git's names are compared with the installed git in
tests/differential/test_gitmodules.py; the table of URLs there is that of git 2.44 and later.
"""

from __future__ import annotations

import pytest

from packparse import pathcodes as codes
from packparse.objects.gitmodules import Modules, read
from tests.support.submodules import codes_of, details, named, of, quoted

# --- honest files -------------------------------------------------------------------------------

TWO = of(b"a") + of(b"b", path=b"lib/b")
HONEST = {
    "an empty file": b"",
    "comments alone": b"# none\n; yet\n",
    "one submodule": of(),
    "two submodules": TWO,
    "CR LF": TWO.replace(b"\n", b"\r\n"),
    "no line feed at the end": TWO[:-1],
    "a byte order mark": b"\xef\xbb\xbf" + TWO,
    "comments behind values": of(path=b"lib/x # here", url=b"../x.git ; there"),
    "all settings git has": of(
        update=b"none",
        branch=b".",
        ignore=b"dirty",
        shallow=b"true",
        fetchRecurseSubmodules=b"on-demand",
        active=b"true",
    ),
    "update = checkout": of(update=b"checkout"),
    "update = rebase": of(update=b"rebase"),
    "update = merge": of(update=b"merge"),
    "update without a value": of(update=None),
    "an exclamation mark not at the beginning": of(update=b"none!"),
    "unknown keys": of(vendor=b"!cmd", **{"x-y": b"-z"}),
    "unknown sections": TWO + b'[core]\n\tsshCommand = -x\n[other "../x"]\n\tpath = ../x\n',
    "the section without a subsection": b"[submodule]\n\tfetchJobs = 4\n\tpath = ../x\n",
    "a section that begins alike": b'[submodules "../x"]\n\tpath = ../x\n',
    "a bad name without a setting": b'[submodule "../x"]\n' + TWO,
    "a section in capitals": TWO.replace(b"submodule", b"SubModule"),
    "a name behind a dot": b"[submodule.lib]\n\tpath = lib\n",
    "a name with spaces": of(b"my lib", path=b"my lib"),
    "a name that is no ASCII": of("é/日本".encode(), path="é/日本".encode()),
    "a name that is no UTF-8": of(b"\xe9", path=b"\xe9"),
    "a name with a quote": of(b'a\\"b', path=b'"a\\"b"'),
    "a name and path with dots": of(b"a..b/..c/d../.x", path=b"a..b/..c/d../.x"),
    "a name and path that end in .git": of(b"lib/x.git", path=b"lib/x.git"),
    "a name that is github": of(b".github/x", path=b".github/x"),
    "a path with a colon further on": of(path=b"lib:x"),
    "a path with a slash at its end": of(path=b"lib/x/"),
    "a path with a dash further on": of(path=b"lib/-x"),
    "a path with a dot as its first part": of(path=b"./lib/x"),
    "names that begin alike": of(b"a") + of(b"ab", path=b"p") + of(b"a-b/c", path=b"q"),
    "a name twice with other keys": b'[submodule "a"]\n\tpath = a\n[submodule "a"]\n\turl = ./a\n',
    "paths inside of each other": of(b"a", path=b"a") + of(b"b", path=b"a/b"),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_file_has_no_oddity(name: str) -> None:
    assert details(HONEST[name]) == []


HONEST_URLS = (
    b"https://example.com/x.git",
    b"https://user:secret@example.com:8443/x.git?a=b#c",
    b"https://example.com",
    b"https://[::1]:80/x",
    b"https://[::1]/x",
    b"https://example.com/a%20b/%c3%a9/%25",
    b"https://example.com/a/../b",
    b"https://-token@example.com/x",
    b"http::https://example.com/x.git",
    b"HTTPS://example.com/x.git",
    b"ssh://git@example.com:22/x.git",
    b"ssh://git@example.com/~me/-x.git",
    b"ssh://[::1]/x",
    b"git+ssh://example.com/x",
    b"git://example.com/x",
    b"git@example.com:me/x.git",
    b"git@example.com:x",
    b"[git@example.com:22]:x",
    b"host-:x-y",
    b"../x.git",
    b"../../me/x.git",
    b"../-x",
    b"./x",
    b"./",
    b".././x",
    b"/srv/git/x.git",
    b"/srv/-x:@-y",
    b"a@-b",
    b"file:///srv/git/x.git",
    b"C:/git/x.git",
    b"x.git",
    b"codecommit::us-east-1://x",
    b"extra::x",
    b"text://x",
    "https://example.com/é".encode(),
    b"https://example.com/" + b"x" * (1024 - 20),
    b"",
)


@pytest.mark.parametrize("url", HONEST_URLS)
def test_an_honest_url_has_no_oddity(url: bytes) -> None:
    assert details(of(url=quoted(url))) == []


# --- the submodules -----------------------------------------------------------------------------


def as_table(modules: Modules) -> dict[bytes, tuple[bytes | None, bytes | None]]:
    assert all(name == found.name for name, found in modules.submodules.items())
    return {name: (found.path, found.url) for name, found in modules.submodules.items()}


LISTED: dict[str, tuple[bytes, dict[bytes, tuple[bytes | None, bytes | None]]]] = {
    "both settings": (of(b"a"), {b"a": (b"lib/x", b"https://example.com/x.git")}),
    "settings in two sections": (
        b'[submodule "a"]\npath = a\n[x]\n[submodule "a"]\nurl = ./a\n',
        {b"a": (b"a", b"./a")},
    ),
    "neither": (b'[submodule "a"]\nbranch = b\n', {b"a": (None, None)}),
    "no value": (b'[submodule "a"]\npath\nurl\n', {b"a": (None, None)}),
    "a header alone": (b'[submodule "a"]\n', {}),
    "the last one wins": (b'[submodule "a"]\npath = a\npath = b\n', {b"a": (b"b", None)}),
    "keys in capitals": (b'[submodule "a"]\nPATH = a\nUrl = b\n', {b"a": (b"a", b"b")}),
    "names that differ in case": (
        b'[submodule "A"]\npath = a\n[submodule.A]\npath = b\n',
        {b"A": (b"a", None), b"a": (b"b", None)},
    ),
    "before a fault": (b'[submodule "a"]\npath = a\n!\nurl = b\n', {b"a": (b"a", None)}),
    "a value up to its NUL": (b'[submodule "a"]\npath = a\0b\n', {b"a": (b"a", None)}),
    "a name that hides the key": (b'[submodule "a.path\0"]\nurl = b\n', {b"a": (b"b", None)}),
    "a name that hides itself": (b'[submodule "a\0b"]\nurl = b\n', {}),
    "behind a byte order mark": (
        b'\xef\xbb\xbf[submodule "a"]\npath = a\n',
        {b"a": (b"a", None)},
    ),
    "bytes that are no ASCII": (
        b'[submodule "\xc3\xa9"]\npath = \xff\n',
        {b"\xc3\xa9": (b"\xff", None)},
    ),
}


@pytest.mark.parametrize("name", LISTED)
def test_the_submodules_are_those_that_git_sees(name: str) -> None:
    content, submodules = LISTED[name]
    assert as_table(read(content)) == submodules
    assert as_table(read(bytearray(content))) == submodules


# --- git's rules --------------------------------------------------------------------------------

BAD_NAMES = {
    "an empty name": b"",
    "two dots": b"..",
    "two dots first (CVE-2018-11235)": b"../../modules/evil",
    "two dots last": b"a/..",
    "two dots in the middle": b"a/../b",
    "two dots between backslashes": b"a\\\\..\\\\b",
    "two dots and a backslash": b"..\\\\b",
}


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_climbs_or_is_empty(name: str) -> None:
    # PG3, case 25.
    found = codes_of(of(BAD_NAMES[name]))
    assert found.count(codes.GITMODULES_NAME) == 1
    assert codes.GITMODULES_NAME.severity("git") == "error"


def test_the_name_of_a_section_without_quotes_is_judged_too() -> None:
    assert details(b"[submodule...]\nx = y\n") == [("gitmodulesName", b"..")]
    assert details(b"[submodule.]\nx = y\n") == [("gitmodulesName", b"")]


# Refused by every version since 2.20 (2.27 for those with line feeds and the like).
BAD_URLS = {
    "an option (CVE-2018-17456)": b"-u./payload",
    "a dash": b"-",
    "a line feed in a relative URL": b"../x\n",
    "an escaped line feed in a relative URL": b"../x%0a",
    "an escaped line feed in capitals": b"./x%0A",
    "an escaped line feed behind a backslash": b"..\\x%0a",
    "an escaped line feed behind the colon": b"git://h/%0ahost=evil",
    "a line feed before the colon": b"../a\n:b",
    "two dots and a slash too many (CVE-2020-11008)": b"..//evil.example/x",
    "two dots and a colon": b"../../:evil.example/x",
    "two dots, a dot and a slash": b"./.././/x",
    "backslashes and a colon": b"..\\.\\:x",
    "a line feed in a path (CVE-2020-5260)": b"https://example.com/a\nb",
    "an escaped line feed in a path": b"https://example.com/a%0ab",
    "an escaped line feed in a user": b"https://a%0ab@example.com/",
    "an escaped line feed in a password": b"https://a:b%0a@example.com/",
    "an escaped line feed in a host": b"https://example.com%0a.evil/x",
    "an escaped line feed in a query": b"https://example.com/x?a%0ab",
    "an escaped line feed behind a number sign": b"ftp://example.com/x#%0a",
    "no host": b"https:///x",
    "no host behind a user": b"https://user@/x",
    "no host and a query": b"http://?example.com/x",
    "a helper and no scheme": b"http::example.com/x",
    "a helper and nothing": b"https::",
    "a helper and an empty scheme": b"ftps::://example.com",
    "a helper and no host": b"https::https:///x",
}


@pytest.mark.parametrize("name", BAD_URLS)
def test_a_url_that_is_an_option_or_misleads_curl(name: str) -> None:
    # PG4, case 25.
    found = details(of(url=quoted(BAD_URLS[name])))
    assert ("gitmodulesUrl", b"x.url") in found
    assert found.count(("gitmodulesUrl", b"x.url")) == 1


# Refused since git 2.44, which asks for URLs in a form that can be normalized. Derived from the
# source of git (url_normalize in urlmatch.c) and tried once with a build of it; the differential
# test tries them where the installed git is new enough.
BAD_URLS_SINCE_2_44 = {
    "a space in a host": b"https://exa mple.com/x",
    "a host that is no ASCII": "https://exämple.com/x".encode(),
    "a percent sign in a host": b"https://example%2ecom/x",
    "a second at sign": b"https://a@b@example.com/x",
    "a comma in a host": b"https://a,b/x",
    "a port and no host": b"https://:80/x",
    "a port and no host for a file": b"http::file://:80/x",
    "a port that is no number": b"https://example.com:http/x",
    "a port of zero": b"https://example.com:0/x",
    "a port of zeros": b"https://example.com:000/x",
    "a port that is too large": b"https://example.com:65536/x",
    "a port of six digits": b"https://example.com:100000/x",
    "a port of six digits behind brackets": b"https://[::1]:100000/x",
    "an escape that is cut": b"https://example.com/%2",
    "an escape cut by a slash": b"https://example.com/%2/0",
    "an escape that is no hex": b"https://example.com/%zz",
    "an escape that is no hex in a query": b"https://example.com/x?%",
    "an escape that is no hex in a user": b"https://a%:b@example.com/x",
    "a path that climbs": b"https://example.com/../x",
    "a path that climbs later": b"https://example.com/a/../../x",
    "a path that climbs with escapes": b"https://example.com/a/%2e%2E/.%2e/x",
    "a path that climbs with dots between": b"https://example.com/./a/././../../",
    "a digit in front of a scheme": b"http::1x://example.com/",
    "a space in a scheme": b"http::a b://example.com/",
}
# Taken by git 2.44 and later, and honest neighbours of those above.
GOOD_URLS_SINCE_2_44 = {
    "a line feed that the path climbs away": b"https://example.com/a%0a/../b",
    "a file and no host": b"http::file:///x",
    "a file in capitals and no host": b"http::FILE:///x",
    "a file, no host and a colon": b"http::file://:/x",
    "a file, a host and a port": b"http::FILE://example.com:1/x",
    "another scheme": b"https::x-1+2.3://example.com/",
    "a port with zeros in front": b"https://example.com:0000080/x",
    "the largest port": b"https://example.com:65535/x",
    "an empty port": b"https://example.com:/x",
    "a path that climbs as far as it can": b"https://example.com/a/b/../../x",
    "a path that climbs over an empty part": b"https://example.com//../x",
    "three dots": b"https://example.com/.../x",
    "an escaped percent sign": b"https://example.com/%250a",
    "an escaped NUL": b"https://example.com/%00",
    "an at sign in a path": b"https://example.com/a@b@c",
    "an underscore in a host": b"https://exa_mple.com/x",
    "a line feed escaped before the colon": b"../a%0a:b",
    "a relative URL with dots behind": b".././a/../../x",
    "two slashes behind one dot": b".//x",
    "a line feed for ssh": b"ssh://example.com/a%0a",
    "a scheme in capitals": b"HTTPS:///x%0a",
    "a helper that is not curl's": b"ext::sh -c x% %0a",
}


@pytest.mark.parametrize("name", BAD_URLS_SINCE_2_44)
def test_a_url_that_cannot_be_normalized(name: str) -> None:
    assert ("gitmodulesUrl", b"x.url") in details(of(url=quoted(BAD_URLS_SINCE_2_44[name])))


@pytest.mark.parametrize("name", GOOD_URLS_SINCE_2_44)
def test_a_url_that_git_lets_pass(name: str) -> None:
    assert codes.GITMODULES_URL not in codes_of(of(url=quoted(GOOD_URLS_SINCE_2_44[name])))


def test_a_url_ends_at_its_nul_for_git() -> None:
    assert codes_of(of(url=b"../x\0%0a")) == [codes.GITMODULES_UNSAFE_URL]
    assert codes.GITMODULES_URL in codes_of(of(url=b"https://\0example.com/x"))


@pytest.mark.parametrize("path", [b"-", b"-x", b"--help", b'"-x/y"', b"-\0"])
def test_a_path_that_is_an_option(path: bytes) -> None:
    # PG4.
    assert ("gitmodulesPath", b"x.path") in details(of(path=path))


@pytest.mark.parametrize("update", [b"!", b"!cmd", b'"!rm -rf ."', b"!\0"])
def test_an_update_that_is_a_command(update: bytes) -> None:
    # PG5, case 25.
    assert details(of(update=update)) == [("gitmodulesUpdate", b"x.update")]


HIDDEN = {
    "a URL": (b'[submodule "a.url\0"]\nx = -y\n', ("gitmodulesUrl", b"a.url")),
    "a path": (b'[submodule "a.path\0b"]\nurl = -y\n', ("gitmodulesPath", b"a.path")),
    "an update": (b'[submodule "a.update\0"]\nx = !y\n', ("gitmodulesUpdate", b"a.update")),
    "a name": (b'[submodule "a/...z\0"]\nx = y\n', ("gitmodulesName", b"a/..")),
    "an empty name": (b'[submodule ".x\0"]\nx = y\n', ("gitmodulesName", b"")),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_what_a_nul_in_a_name_hides_from_others_and_not_from_git(what: str) -> None:
    content, expected = HIDDEN[what]
    found = details(content)
    assert expected in found
    # The name as a whole has a control character.
    assert [name for name, _ in found].count("gitmodulesUnsafeName") == 1


@pytest.mark.parametrize(
    "content",
    [b'[submodule "a.URL\0"]\nx = -y\n', b'[submodule "a\0"]\nurl = -y\n', b"[a]\nx = \0\n"],
)
def test_what_a_nul_hides_from_git_as_well(content: bytes) -> None:
    assert {oddity.code for oddity in read(content).oddities} <= {codes.GITMODULES_UNSAFE_NAME}


@pytest.mark.parametrize(
    "rest", [b"!", b"[submodule", b'[submodule "b"', b"x y", b'x = "', b"\x00", b"\xef\xbb\xbf"]
)
def test_a_file_that_cannot_be_parsed(rest: bytes) -> None:
    # PG7: what came before counts, what comes after does not.
    after = b'\n[submodule "../y"]\n\tpath = y\n'
    content = of(update=b"!cmd") + rest + after
    assert details(content) == [("gitmodulesUpdate", b"x.update"), ("gitmodulesParse", b"")]
    assert codes.GITMODULES_PARSE.severity("git") == "warning"


def test_the_place_of_a_fault_is_told() -> None:
    (oddity,) = read(b"[a]\r\n\r\n  !\r\n").oddities
    assert oddity.message == "what begins at byte 9 cannot be parsed"


BLIND = {
    "a comment with 0xFF": b"# \xff\n",
    "0xFF alone": b"\xff\n",
    "a value that ends in 0xFF": b"[a]\nb = c\xff\n",
    "a quoted 0xFF": b'[a]\nb = "\xff"\n',
}


@pytest.mark.parametrize("name", BLIND)
def test_0xff_does_not_end_the_check_and_is_told(name: str) -> None:
    # git's check ends there on most machines, and its reader of the file in the work tree does not.
    found = details(BLIND[name] + of(update=b"!cmd"))
    assert ("gitmodulesUpdate", b"x.update") in found
    assert found.count(("gitmodulesParse", b"")) == 1
    assert details(BLIND[name].replace(b"\xff", b"x" * 8 + b" = y") + of()) in (
        [],
        [("gitmodulesParse", b"")],
    )


def test_0xff_is_a_line_end_as_well() -> None:
    # What git sees of these on most machines: "-y" on the next line, and "https://example.com:1".
    assert ("gitmodulesUrl", b"x.url") in details(of(url=b"\\\xff-y"))
    assert ("gitmodulesUrl", b"x.url") in details(of(url=b"https://\xff"))
    assert ("gitmodulesPath", b"x.path") not in details(of(path=b"a\xff-y"))
    # Our own rules judge the file as its readers see it.
    assert details(of() + b"# \xff path = ../y\n") == [("gitmodulesParse", b"")]


def test_a_byte_order_mark_hides_nothing() -> None:
    # git's check stops at the mark with a warning, and its reader of the work tree skips it.
    assert details(b"\xef\xbb\xbf" + of(update=b"!cmd")) == [("gitmodulesUpdate", b"x.update")]


# --- our rules ----------------------------------------------------------------------------------

UNSAFE_NAMES = {
    "a climb where a space is dropped": b".. /.. /hooks",
    "a climb where a space is dropped, behind a name": b"x/.. /.. /y",
    "an escape character": b"a\x1b[31m",
    "a carriage return": b"a\r",
    "a NUL": b"a.x\0",
    "a delete character": b"a\x7f",
    "a control character past ASCII": b"a\xc2\x9bm",
    "text turned around": "a\u202em".encode(),
    "a character of no width": "a\u200bm".encode(),
    "an absolute name": b"/a",
    "an absolute name for Windows": b"\\\\a",
    "a drive": b"c:a",
    "a part that is .git": b"a/.git/b",
    "a part that is .git in capitals": b".GIT",
    "a part that is .git on Windows": b"a\\\\git~1",
    "a part that is .git on HFS+": b"a/.g\xe2\x80\x8cit",
}


@pytest.mark.parametrize("name", UNSAFE_NAMES)
def test_an_unsafe_name(name: str) -> None:
    assert codes_of(of(UNSAFE_NAMES[name])).count(codes.GITMODULES_UNSAFE_NAME) == 1
    assert codes.GITMODULES_UNSAFE_NAME.severity("git") == "ignore"


UNSAFE_PATHS: dict[str, bytes | None] = {
    "no value": None,
    "an empty path": b"",
    "nothing before a NUL": b"\0x",
    "a carriage return at the end (CVE-2025-48384)": b'"sub\r"',
    "a carriage return inside": b"a\rb",
    "a tab": b"a\\tb",
    "a line feed": b"a\\nb",
    "an escape character": b"a\x1b[2J",
    "a delete character": b"a\x7f",
    "a control character past ASCII": b"a\xc2\x80",
    "a NUL": b"a\0b",
    "an absolute path": b"/abs",
    "an absolute path for Windows": b"\\\\abs",
    "two slashes": b"//server/share",
    "a drive": b"C:/x",
    "a drive and a relative path": b"c:x",
    "a drive that is no letter (CVE-2019-1351)": b"1:/x",
    "a drive that is no ASCII": b"\xc3\xa9:/x",
    "two dots": b"..",
    "two dots first": b"../x",
    "two dots last": b"x/..",
    "two dots between": b"x/../y",
    "two dots between backslashes": b"x\\\\..\\\\y",
    "two dots that Windows makes of more": b'"x/.. "',
    "a dot": b".",
    "a dot and slashes": b".//./",
    "a hook (GHSA-gfhv-vqv2-4544)": b".git/hooks",
    "a part that is .git": b"x/.git",
    "a part that is .git in capitals": b"x/.GiT/y",
    "a part that is .git with a dot": b".git./y",
    "a part that is .git with a stream": b"x/.git::$INDEX_ALLOCATION/y",
    "a part that is git~1": b"x\\\\GIT~1",
    "a part that is .git on HFS+": b"x/.gi\xe2\x80\x8dt",
}


@pytest.mark.parametrize("name", UNSAFE_PATHS)
def test_an_unsafe_path(name: str) -> None:
    # PG6, case 25.
    found = details(of(path=UNSAFE_PATHS[name]))
    assert found == [("gitmodulesUnsafePath", b"x.path")]
    assert codes.GITMODULES_UNSAFE_PATH.severity("git") == "ignore"


UNSAFE_URLS = {
    "a carriage return (CVE-2024-52006)": b"https://example.com/x\r",
    "an escape character (CVE-2024-50349)": b"https://example.com/\x1b[2J",
    "a line feed for ssh": b"ssh://example.com/\n",
    "a NUL": b"https://example.com/\0x",
    "a tab": b"https://example.com/\t",
    "a delete character": b"https://example.com/\x7f",
    "a control character past ASCII": b"https://example.com/\xc2\x9b",
    "text turned around": "https://example.com/\u202em".encode(),
    "an escaped character of no width": b"https://example.com/%e2%80%8bm",
    "an escaped carriage return": b"https://example.com%0D/x",
    "an escaped line feed for ssh": b"ssh://example.com/%0a",
    "an escaped NUL": b"https://example.com/%00",
    "an escaped escape character": b"https://%1b%5b2J@example.com/",
    "an escaped delete character": b"https://example.com/%7F",
    "an escaped control character past ASCII": b"https://example.com/%c2%9b",
    "a backslash": b"https://example.com\\@evil.example/x",
    "a relative URL with a backslash": b"..\\x.git",
    "ext::": b"ext::sh -c id",
    "ext:: in capitals": b"EXT::sh -c id",
    "ext.exe::": b"ext.exe::cmd",
    "ext://": b"ext://sh",
    "fd::": b"fd::17",
    "an option for ssh (CVE-2017-1000117)": b"ssh://-oProxyCommand=x/y",
    "an option behind a user": b"ssh://git@-oProxyCommand=x/y",
    "an option as the user": b"ssh://-oProxyCommand=x@example.com/y",
    "an option in brackets": b"ssh://[-oProxyCommand=x]/y",
    "an option with an escaped dash": b"ssh://%2doProxyCommand=x/y",
    "an option for another ssh": b"git+ssh://-oProxyCommand=x/y",
    "an option for ssh in capitals": b"SSH://-oProxyCommand=x/y",
    "an option for subversion": b"svn+ssh://-oProxyCommand=x/y",
    "an option for a proxy": b"git://-x/y",
    "an option before a path": b"-oProxyCommand=x:y",
    "an option as user before a path": b"-oProxyCommand=x@example.com:y",
    "an option as host before a path": b"git@-oProxyCommand=x:y",
    "an option in brackets before a path": b"[-oProxyCommand=x]:y",
    "an option as path": b"git@example.com:-x",
    "1,025 bytes (CVE-2023-29007)": b"https://example.com/" + b"x" * (1025 - 20),
}


@pytest.mark.parametrize("name", UNSAFE_URLS)
def test_an_unsafe_url(name: str) -> None:
    found = details(of(url=quoted(UNSAFE_URLS[name])))
    assert found.count(("gitmodulesUnsafeUrl", b"x.url")) == 1
    assert {code for code, _ in found} <= {"gitmodulesUnsafeUrl", "gitmodulesUrl"}
    assert codes.GITMODULES_UNSAFE_URL.severity("git") == "ignore"


NESTED: dict[str, tuple[bytes, list[bytes]]] = {
    "one in another (CVE-2019-1387)": (named(b"a", b"a/b"), [b"a/b"]),
    "the outer one last": (named(b"a/b", b"a"), [b"a/b"]),
    "one in one in one": (named(b"a", b"a/b", b"a/b/c"), [b"a/b", b"a/b/c"]),
    "several in one, and others between": (
        named(b"a-", b"a/x/y", b"a", b"a0", b"a/z", b"b"),
        [b"a/x/y", b"a/z"],
    ),
    "by a backslash": (named(b"a", b"a\\\\b"), [b"a\\b"]),
    "in other case": (named(b"lib", b"LIB/b"), [b"LIB/b"]),
    "the same in other case": (named(b"lib", b"Lib"), [b"lib"]),
    "the same in other case, no ASCII": (named("é".encode(), "É".encode()), ["é".encode()]),
    "the same with another slash": (named(b"a/b", b"a//b"), [b"a/b"]),
    "in one with a dot": (named(b"./a", b"a/b"), [b"a/b"]),
    "all in a dot": (named(b".", b"a", b"b"), [b"a", b"b"]),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_name_inside_of_another(name: str) -> None:
    content, nested = NESTED[name]
    assert sorted(details(content)) == [("gitmodulesNestedNames", inner) for inner in nested]


@pytest.mark.parametrize("names", [(b"", b"a"), (b"a", b"ab"), (b"a/b", b"a/c"), (b"a", b"b/a")])
def test_names_beside_each_other(names: tuple[bytes, ...]) -> None:
    assert codes.GITMODULES_NESTED_NAMES not in codes_of(named(*names))


DUPLICATES: dict[str, tuple[bytes, list[bytes]]] = {
    "a path twice": (of() + b"path = lib/x\n", [b"x.path"]),
    "a URL twice": (of() + b"url = ../x\n", [b"x.url"]),
    "an update twice": (of(update=b"none") + b"Update = merge\n", [b"x.update"]),
    "without a value": (of(branch=b"a") + b"branch\n", [b"x.branch"]),
    "three times": (of() + b"path = a\npath = b\n", [b"x.path"]),
    "two settings twice": (of() + of(), [b"x.path", b"x.url"]),
    "in two sections": (of() + b'[a]\n[submodule "x"]\nignore = all\nignore = all', [b"x.ignore"]),
    "all settings that git reads": (
        b'[submodule "x"]\n'
        + b"path = a\nurl = b\nupdate\nbranch\nignore\nshallow\nfetchRecurseSubmodules\n" * 2,
        [
            b"x." + key
            for key in (b"branch fetchrecursesubmodules ignore path shallow update url".split())
        ],
    ),
    "two submodules at one path (CVE-2019-1349)": (of(b"a") + of(b"b"), [b"b.path"]),
    "three submodules at one path": (of(b"a") + of(b"b") + of(b"c"), [b"b.path", b"c.path"]),
    "with a slash": (of(b"a") + of(b"b", path=b"lib/x/"), [b"b.path"]),
    "with a backslash": (of(b"a") + of(b"b", path=b"lib\\\\x"), [b"b.path"]),
    "with a dot": (of(b"a") + of(b"b", path=b"./lib/./x"), [b"b.path"]),
    "in other case": (of(b"a") + of(b"b", path=b"LIB/x"), [b"b.path"]),
    "in other case, no ASCII": (
        of(b"a", path="é".encode()) + of(b"b", path="É".encode()),
        [b"b.path"],
    ),
}


@pytest.mark.parametrize("name", DUPLICATES)
def test_a_setting_or_a_path_that_comes_twice(name: str) -> None:
    # PG12.
    content, where = DUPLICATES[name]
    assert sorted(details(content)) == [("gitmodulesDuplicate", detail) for detail in where]


@pytest.mark.parametrize(
    "content",
    [
        of() + b"x = 1\nx = 2\n",
        of(b"a", path=b"a\0z") + of(b"b", path=b"b\0z"),
        of(b"a", path=b"") + of(b"b", path=b""),
        of(b"a", path=b".") + of(b"b", path=b"."),
        of(b"a") + b"[x]\npath = a\n",
    ],
)
def test_what_is_no_duplicate(content: bytes) -> None:
    assert codes.GITMODULES_DUPLICATE not in codes_of(content)
