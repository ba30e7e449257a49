"""How faults of a .gitmodules are told, and what a hostile one costs."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from packparse.objects import gitmodules
from packparse.objects.gitmodules import read
from packparse.oddity import Oddity
from tests.support.submodules import details, named, of

# --- how it is told -----------------------------------------------------------------------------


def test_all_at_once() -> None:
    content = (
        of(b"../a", path=b"-/../x", url=b"-\\\\x", update=b"!x")
        + of(b"b", path=b"/b")
        + of(b"b/c", path=b"/b")
        + b"!"
    )
    assert details(content) == [
        ("gitmodulesName", b"../a"),
        ("gitmodulesPath", b"../a.path"),
        ("gitmodulesUnsafePath", b"../a.path"),
        ("gitmodulesUrl", b"../a.url"),
        ("gitmodulesUnsafeUrl", b"../a.url"),
        ("gitmodulesUpdate", b"../a.update"),
        ("gitmodulesUnsafePath", b"b.path"),
        ("gitmodulesUnsafePath", b"b/c.path"),
        ("gitmodulesParse", b""),
        ("gitmodulesDuplicate", b"b/c.path"),
        ("gitmodulesNestedNames", b"b/c"),
    ]


def test_a_fault_is_told_once_for_a_submodule_key_and_value() -> None:
    content = (of(b"../a", url=b"-x") + b"url = -y\n") * 2
    found = [(odd.code.name, odd.detail.partition(b"\0")[0]) for odd in read(content).oddities]
    assert found.count(("gitmodulesUrl", b"../a.url=-x")) == 1
    assert found.count(("gitmodulesUrl", b"../a.url=-y")) == 1
    assert found.count(("gitmodulesName", b"../a")) == 1


def test_git_does_not_read_a_file_of_more_than_512_mib(monkeypatch: pytest.MonkeyPatch) -> None:
    content = of(update=b"!x")
    assert gitmodules._LARGEST == 512 << 20  # noqa: SLF001 - the bound itself
    monkeypatch.setattr(gitmodules, "_LARGEST", len(content))
    assert details(content) == [("gitmodulesUpdate", b"x.update")]
    assert details(content + b"#") == [("gitmodulesLarge", b"")]


@pytest.mark.parametrize("count", [1_000, 1_001, 1_500])
def test_past_a_thousand_faults_of_a_kind_one_stands_for_the_others(count: int) -> None:
    content = b"".join(of(b"%d" % n, path=b"%d" % n, update=b"!x") for n in range(count))
    found = read(content).oddities
    assert {oddity.code.name for oddity in found} == {"gitmodulesUpdate"}
    assert len({oddity.detail for oddity in found}) == len(found) == min(count, 1_001)
    assert ("more of these" in found[-1].message) is (count > 1_000)


def test_faults_that_are_not_told_are_those_of_another_file_only_where_all_is_the_same() -> None:
    content = b"".join(of(b"%d" % n, path=b"%d" % n, update=b"!x") for n in range(1_001))
    other = content.replace(b"!x", b"!y")
    assert details(content)[-1] == details(content + b"")[-1] != details(other)[-1]


def test_a_long_value_stands_in_the_detail_with_its_hash() -> None:
    values = [b"-" + b"x" * 5_000 + end for end in (b"y", b"z")]
    shown = {read(of(url=value)).oddities[0].detail for value in values}
    assert len(shown) == 2
    assert all(len(detail) < 1_200 for detail in shown)


MESSAGES = {
    "a name": (of(b"../a"), "submodule ../a: the name climbs out of .git/modules"),
    "no name": (of(b""), 'submodule "": the name is empty'),
    "a path": (of(path=b"-a"), "submodule x: path -a begins with a dash"),
    "no path": (of(path=b""), 'submodule x: path "" is empty'),
    "a path without a value": (of(path=None), "submodule x: path is empty"),
    "an update": (of(update=b"!a"), "submodule x: update !a is a command"),
    "a setting twice": (of(branch=b"a") + b"branch = b", "submodule x: branch is set twice"),
    "a path twice": (
        of(b"a") + of(b"b"),
        "submodule b: path lib/x is that of submodule a as well",
    ),
    "names in each other": (
        named(b"a", b"a/b"),
        "submodule a/b: the name is, or lies inside, that of submodule a",
    ),
    "a name that is not shown": (
        of(b"\x1b"),
        'submodule "\\033": the name has a control or invisible character (U+001B)',
    ),
    "bytes that are not shown": (
        of(path=b"\xe2\x80\xae/.."),
        'submodule x: path "\\342\\200\\256/.." has a control or invisible character (U+202E)',
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_names_the_submodule_and_the_setting(name: str) -> None:
    content, message = MESSAGES[name]
    assert message in [oddity.message for oddity in read(content).oddities]


@pytest.mark.parametrize("filling", [b"a", b"\x1b", b"\xff", b'\\"', "\u202e".encode()])
def test_messages_are_short_and_printable(filling: bytes) -> None:
    value = filling * 50_000
    content = of(b"../%b" % value, path=b"-%b/.." % value, url=b"-%b\\n" % value, update=value)
    content += of(b"../%b/x" % value, path=b"-%b/.." % value, update=b"!%b" % value)
    found = read(content).oddities
    assert len(found) >= 8
    assert all(isinstance(oddity, Oddity) for oddity in found)
    assert all(len(oddity.message) < 3000 for oddity in found)
    assert all(oddity.message.isascii() and oddity.message.isprintable() for oddity in found)


# --- cost ---------------------------------------------------------------------------------------

SIZE = 256 << 10
# Copies of this for each setting would take long.
LONG = b"n" * (1 << 20)


def many(form: bytes) -> bytes:
    """Repeat a form up to SIZE bytes, with a number in the place of each %x."""
    wanted = form.count(b"%x")
    count = SIZE // (len(form) + 2 * wanted)
    return b"".join(form % ((number,) * wanted) for number in range(count))


COSTLY = {
    "submodules": many(b'[submodule "%x"]\nx\n'),
    "submodules with faults": many(b'[submodule "%x"]path=\n'),
    "submodules in one": many(b'[submodule "a/%x"]x\n') + b'[submodule "a"]x',
    "submodules in each other": b"".join(
        b'[submodule "%b"]\nx\n' % (b"a/" * depth) for depth in range(1, 500)
    ),
    "submodules at one path": many(b'[submodule "%x"]path=x\n'),
    "settings of one long name": b'[submodule "%b/../.git"]\n' % LONG + b"path=-\n" * 75_000,
    "settings hidden by a long name": b'[submodule "%b.url\0"]\n' % LONG + b"x=-\n" * 75_000,
    "parts of a path": b'[submodule "a"]\npath = ' + many(b"%x/"),
    "parts of a name": b'[submodule "' + many(b"%x/") + b'"]\nx',
    "parts that may be .git": b'[submodule "a"]\npath = ' + many(b".g%x/"),
    "two dots in a path": b'[submodule "a"]\npath = x' + b"/.. x" * (SIZE // 5),
    "two dots in a URL": b'[submodule "a"]\nurl = https://h/' + b"a/../" * (SIZE // 5),
    "parts of a URL": b'[submodule "a"]\nurl = https://h/' + b"a/" * (SIZE // 2),
    "escapes in a URL": b'[submodule "a"]\nurl = https://h/' + b"%41" * (SIZE // 3),
    "a relative URL": b'[submodule "a"]\nurl = ' + b"./../" * (SIZE // 5),
    "at signs": b'[submodule "a"]\nurl = x' + b"@" * SIZE + b":",
    "colons": b'[submodule "a"]\nurl = https://h' + b":" * SIZE,
    "zeros": b'[submodule "a"]\nurl = https://h:' + b"0" * SIZE + b"x",
    "0xFF": b"\xff" * SIZE,
    "0xFF in settings": many(b'[submodule "%x"]\npath=\xff\n'),
}


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.heavy
def test_a_large_file_takes_no_more_than_linear_time(name: str) -> None:
    # Squares of these numbers would take far longer; the bound is wide for machines that are busy.
    begin = time.process_time()
    read(COSTLY[name])
    assert time.process_time() - begin < 8


@pytest.mark.parametrize("key", [b"url", b"path", b"branch"])
def test_a_thousand_faults_of_one_long_name_take_little_memory(key: bytes) -> None:
    lines = b"".join(b"%b = -%d\n" % (key, number) for number in range(1_000))
    content = b'[submodule "%b"]\n%b' % (b"n" * 900_000, lines)
    tracemalloc.start()
    found = read(content).oddities
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found
    assert sum(len(oddity.detail) + len(oddity.message) for oddity in found) < 2_000_000
    assert peak < 20 << 20


def test_long_names_that_begin_alike_are_told_apart() -> None:
    names = [b"n" * 1_000 + end for end in (b"/../a", b"/../b")]
    found = [details(of(name)) for name in names]
    assert found[0] != found[1]
