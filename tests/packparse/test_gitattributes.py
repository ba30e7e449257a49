"""What a .gitattributes makes git do, and how large it may be (PG8, PG9, CVE-2022-23521)."""

from __future__ import annotations

import pytest

from packparse import pathcodes
from packparse.codes import ERROR, POLICY, WARNING, Code
from packparse.objects import gitattributes

BOM = b"\xef\xbb\xbf"
LARGEST = 100 << 20

Pairs = list[tuple[bytes, bytes]]


def active(content: bytes) -> Pairs:
    """The pairs of a content, which are what its oddities say as well."""
    found = gitattributes.read(content)
    spoken = [o.detail for o in found.oddities if o.code is pathcodes.GITATTRIBUTES_ACTIVE]
    assert spoken == [b" ".join(pair) for pair in found.active]
    return found.active


def codes_of(content: bytes) -> list[Code]:
    return [oddity.code for oddity in gitattributes.read(content).oddities]


# --- the two bounds of git ----------------------------------------------------------------------


def line(length: int) -> bytes:
    """A harmless line of so many bytes."""
    return b"# " + b"x" * (length - 2)


LONG = {
    "the only line, without its end": line(2048),
    "the first of two": line(2048) + b"\n*.c text\n",
    "the last of two": b"*.c text\n" + line(2048) + b"\n",
    "a line after an empty one": b"\n" + line(2048),
    "a line of blanks": b" " * 2048 + b"\n",
    "a carriage return as the last byte": line(2047) + b"\r\n",
    "a mark at the beginning": BOM + line(2045),
    "a pattern with many settings": b"* " + b"text " * 500,
    "many megabytes": line(5 << 20),
    "bytes that are no text": b"\xff" * 2048,
}
SHORT = {
    "nothing": b"",
    "a line feed": b"\n",
    "one byte less": line(2047),
    "one byte less, and its end": line(2047) + b"\n",
    "one byte less with its carriage return": line(2046) + b"\r\n",
    "many lines": (line(2047) + b"\n") * 100,
    "a NUL before it": b"\0" + line(5000),
    "a NUL in an earlier line": b"*.c\0text\n" + line(5000),
    "a NUL within it": line(2047) + b"\0" + line(5000),
}


@pytest.mark.parametrize("name", LONG)
def test_a_line_of_2048_bytes_is_too_long(name: str) -> None:
    assert codes_of(LONG[name]) == [pathcodes.GITATTRIBUTES_LINE_LENGTH]


@pytest.mark.parametrize("name", SHORT)
def test_a_shorter_line_is_not_or_one_that_git_does_not_come_to(name: str) -> None:
    assert codes_of(SHORT[name]) == []


def test_each_long_line_is_told_from_others_with_the_same_beginning() -> None:
    # What the base has is let pass by its detail, so another line must have another one.
    lines = [line(3000) + b"%d" % number for number in range(3)]
    details = [oddity.detail for oddity in gitattributes.read(b"\n".join(lines)).oddities]
    assert len(set(details)) == 3
    assert all(len(detail) < 200 for detail in details)
    alone = gitattributes.read(b"# first\n" + lines[1]).oddities
    assert [oddity.detail for oddity in alone] == details[1:2]


def test_the_file_may_have_100_mib_and_not_a_byte_more() -> None:
    assert codes_of(bytes(LARGEST)) == []
    # Neither is anything else said of what was not read.
    (oddity,) = gitattributes.read(b"* filter=x".ljust(LARGEST + 1)).oddities
    assert oddity.code is pathcodes.GITATTRIBUTES_LARGE
    assert oddity.message == "the file has 104857601 bytes; git reads 104857600 at most"


@pytest.mark.parametrize(
    ("code", "name", "candidate"),
    [
        (pathcodes.GITATTRIBUTES_LARGE, "gitattributesLarge", ERROR),
        (pathcodes.GITATTRIBUTES_LINE_LENGTH, "gitattributesLineLength", ERROR),
        (pathcodes.GITATTRIBUTES_ACTIVE, "gitattributesActive", WARNING),
    ],
)
def test_names_and_severities(code: Code, name: str, candidate: str) -> None:
    assert code.name == name
    assert code.klass == POLICY
    assert code.severity("candidate") == candidate


# --- which settings are active ------------------------------------------------------------------

ACTIVE = {
    "a filter": b"filter=x",
    "the filter of Git LFS": b"filter=lfs",
    "a filter without a name, which configuration can have": b"filter=",
    "a filter with an equals sign in its name": b"filter=a=b",
    "a filter called text": b"filter=text",
    "a merge driver": b"merge=ours",
    "a merge driver like a built-in one": b"merge=unionx",
    "a merge driver with a capital": b"merge=Union",
    "a merge driver without a name": b"merge=",
    "a diff driver": b"diff=exif",
    "a diff driver like a language": b"diff=python3",
    "a language with a capital": b"diff=Python",
    "a diff driver called text": b"diff=text",
    "words of the commit in an archive": b"export-subst",
    "another encoding": b"working-tree-encoding=UTF-16LE-BOM",
    "an encoding that hides ASCII": b"working-tree-encoding=UTF-7",
    "an encoding that is not quite UTF-8": b"working-tree-encoding=UTF-8-MAC",
    "an encoding set to true, on which git stops": b"working-tree-encoding",
    "an encoding set to false, on which git stops": b"-working-tree-encoding",
    "an encoding set to false with a value": b"-working-tree-encoding=x",
}
HARMLESS = {
    "text": b"text",
    "text unset": b"-text",
    "text by content": b"text=auto",
    "line ends": b"eol=crlf",
    "line ends as they once were set": b"crlf=input",
    "the id of the blob": b"ident",
    "the built-in macro": b"binary",
    "a filter set to true": b"filter",
    "a filter unset": b"-filter",
    "a filter unspecified": b"!filter",
    "a filter unset with a value": b"-filter=x",
    "a filter unspecified with a value": b"!filter=x",
    "an attribute that ends in filter": b"xfilter=x",
    "an attribute that begins with filter": b"filters=x",
    "a filter in capitals": b"FILTER=x",
    "a merge set to true": b"merge",
    "a merge unset": b"-merge",
    "the built-in merge of text": b"merge=text",
    "the built-in merge of lines": b"merge=union",
    "the built-in merge of nothing": b"merge=binary",
    "differences set": b"diff",
    "differences unset": b"-diff",
    "differences of a language": b"diff=python",
    "differences of the longest language": b"diff=fountain",
    "differences by default": b"diff=default",
    "export-subst unset": b"-export-subst",
    "export-subst unspecified": b"!export-subst",
    "export-subst with a value, which git ignores": b"export-subst=x",
    "what an archive leaves out": b"export-ignore",
    "the encoding of all else": b"working-tree-encoding=UTF-8",
    "the same in other words": b"working-tree-encoding=utf8",
    "no encoding": b"working-tree-encoding=",
    "an encoding unspecified": b"!working-tree-encoding",
    "the encoding of a viewer": b"encoding=utf-16",
    "white space": b"whitespace=trailing-space",
    "what forges read": b"linguist-generated=true",
}


@pytest.mark.parametrize("name", ACTIVE)
def test_a_setting_by_which_the_writer_chooses_is_active(name: str) -> None:
    assert active(b"*.c %b\n" % ACTIVE[name]) == [(b"*.c", ACTIVE[name])]


@pytest.mark.parametrize("name", HARMLESS)
def test_any_other_setting_is_harmless(name: str) -> None:
    assert active(b"*.c %b\n" % HARMLESS[name]) == []


def test_what_is_active_is_no_error_under_the_rules_of_git() -> None:
    assert pathcodes.GITATTRIBUTES_ACTIVE.severity("git") == "ignore"


# --- syntax -------------------------------------------------------------------------------------

X = b"filter=x"
READ = {
    "a line without its end": (b"*.c filter=x", [(b"*.c", X)]),
    "a line that ends in CR LF": (b"*.c filter=x\r\n*.h text\r\n", [(b"*.c", X)]),
    "a line after a comment": (b"# notes\n*.c filter=x\n", [(b"*.c", X)]),
    "white space before, between and after": (b" \t*.c \t filter=x \t\n", [(b"*.c", X)]),
    "the second of three settings": (b"*.c text filter=x eol=lf\n", [(b"*.c", X)]),
    "a number sign within a pattern": (b"a#b filter=x\n", [(b"a#b", X)]),
    "a number sign as a setting, which ends nothing": (b"*.c # filter=x\n", [(b"*.c", X)]),
    "a quoted pattern": (b'"a b" filter=x\n', [(b"a b", X)]),
    "a quoted pattern with nothing between": (b'"a b"filter=x\n', [(b"a b", X)]),
    "a quoted comment, which is a pattern": (b'"#a" filter=x\n', [(b"#a", X)]),
    "escapes of C": (b'"\\a\\b\\f\\n\\r\\t\\v" filter=x\n', [(b"\a\b\f\n\r\t\v", X)]),
    "a quote and a backslash": (b'"\\"\\\\" filter=x\n', [(b'"\\', X)]),
    "octal bytes": (b'"\\303\\251\\000" filter=x\n', [(b"\xc3\xa9\0", X)]),
    "a backslash before an octal byte": (b'"\\\\303" filter=x\n', [(b"\\303", X)]),
    "an empty quoted pattern": (b'"" filter=x\n', [(b"", X)]),
    "a quote that does not end": (b'"a filter=x\n', [(b'"a', X)]),
    "a quote with an unknown escape": (b'"\\x41" filter=x\n', [(b'"\\x41"', X)]),
    "a quote with a short octal byte": (b'"\\41" filter=x\n', [(b'"\\41"', X)]),
    "a quote with an octal byte past 255": (b'"\\400" filter=x\n', [(b'"\\400"', X)]),
    "a mark at the beginning": (BOM + b"*.c filter=x\n", [(b"*.c", X)]),
    "the same mark in the second line": (b"\n" + BOM + b"*.c filter=x\n", [(BOM + b"*.c", X)]),
    "a mark before what one reader takes for a comment": (
        BOM + b"#a filter=x\n",
        [(BOM + b"#a", X)],
    ),
    "a line after a NUL, which one reader comes to": (b"a\0\n*.c filter=x\n", [(b"*.c", X)]),
    "a NUL first": (b"\0*.c filter=x\n", [(b"*.c", X)]),
    "a NUL as a blank": (b"*.c\0filter=x\n", [(b"*.c", X)]),
    "two lines, in their order": (
        b"*.h merge=y\n*.c filter=x\n",
        [(b"*.h", b"merge=y"), (b"*.c", X)],
    ),
    "two settings of one pattern": (
        b"*.bin filter=lfs diff=lfs merge=lfs -text\n",
        [(b"*.bin", b"filter=lfs"), (b"*.bin", b"diff=lfs"), (b"*.bin", b"merge=lfs")],
    ),
    "the same twice": (b"*.c filter=x\n*.c filter=x filter=x\n", [(b"*.c", X)]),
    "a setting that is taken back": (b"*.c filter=x\n*.c -filter\n", [(b"*.c", X)]),
    "a line that git skips for a bad name": (b"*.c filter=x $y\n", [(b"*.c", X)]),
    "a line that git skips for its pattern": (b"!*.c filter=x\n", [(b"!*.c", X)]),
    "a setting with a form feed in it": (b"*.c filter=x\fy\n", [(b"*.c", b"filter=x\fy")]),
    "a hostile pattern": (b"\x1b[31m\xff filter=\xe2\x80\xae\n", [
        (b"\x1b[31m\xff", b"filter=\xe2\x80\xae")
    ]),
}  # fmt: skip
NOT_READ = {
    "nothing": b"",
    "a comment": b"# *.c filter=x\n",
    "a comment after white space": b" \t# *.c filter=x\n",
    "a pattern like a setting": b"filter=x\n",
    "a pattern like a setting, and white space": b"filter=x \r\n",
    "a quoted pattern like a setting": b'"a filter=x"\n',
    "a pattern and nothing set": b"*.c\n*.h\nfilter=x text\n",
    "a setting that is a part of another": b"*.c x,filter=x\n",
    "a form feed, which is no blank": b"*.c text\ffilter=x\n",
    "two lines that make none together": b"*.c filt\ner=x\n",
}


@pytest.mark.parametrize("name", READ)
def test_lines_are_read_as_git_reads_them(name: str) -> None:
    content, pairs = READ[name]
    assert active(content) == pairs


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_no_setting_is_not_read_as_one(name: str) -> None:
    assert active(NOT_READ[name]) == []


# --- macros -------------------------------------------------------------------------------------

MACROS = {
    "one that is not used here": (b"[attr]m filter=x\n", [(b"[attr]m", X)]),
    "one that is used": (b"[attr]m filter=x\n*.c m\n", [(b"[attr]m", X), (b"*.c", b"m")]),
    "one that is used before": (b"*.c m\n[attr]m filter=x\n", [(b"*.c", b"m"), (b"[attr]m", X)]),
    "one in another": (
        b"[attr]b a\n[attr]a text filter=x\n*.c b\n",
        [(b"[attr]b", b"a"), (b"[attr]a", X), (b"*.c", b"b")],
    ),
    "two in each other": (
        b"[attr]a b\n[attr]b a filter=x\n",
        [(b"[attr]a", b"b"), (b"[attr]b", b"a"), (b"[attr]b", X)],
    ),
    "one that is unset": (b"[attr]m filter=x\n*.c -m\n", [(b"[attr]m", X)]),
    "one that is unspecified": (b"[attr]m filter=x\n*.c !m\n", [(b"[attr]m", X)]),
    "one with a value": (b"[attr]m filter=x\n*.c m=1\n", [(b"[attr]m", X)]),
    "the built-in one made anew": (
        b"[attr]binary filter=x\n*.c binary\n",
        [(b"[attr]binary", X), (b"*.c", b"binary")],
    ),
    "one of the name of a harmless attribute": (
        b"[attr]diff filter=x\n*.c diff\n",
        [(b"[attr]diff", X), (b"*.c", b"diff")],
    ),
    "a quoted one": (b'"[attr]m" filter=x\n*.c m\n', [(b"[attr]m", X), (b"*.c", b"m")]),
    "one spelled by escapes": (
        b'"\\133\\141ttr]m" filter=x\n*.c m\n',
        [(b"[attr]m", X), (b"*.c", b"m")],
    ),
    "a quoted one with blanks around its name": (
        b'"[attr] m n" filter=x\n*.c m\n*.h n\n',
        [(b"[attr]m", X), (b"*.c", b"m")],
    ),
    "after a mark": (BOM + b"[attr]m filter=x\n*.c m\n", [(b"[attr]m", X), (b"*.c", b"m")]),
    "a harmless one": (b"[attr]m text\n*.c m\n*.h filter=x\n", [(b"*.h", X)]),
    "the prefix alone, which is a pattern": (b"[attr] m filter=x\n*.c m\n", [(b"[attr]", X)]),
    "the prefix within a pattern": (b"a[attr]m filter=x\n*.c m\n", [(b"a[attr]m", X)]),
    "one that sets what stands for nothing": (
        b"[attr]m filter=x\n[attr]n text\n*.c n\n",
        [(b"[attr]m", X)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_is_reported_where_it_is_made_and_where_it_is_used(name: str) -> None:
    content, pairs = MACROS[name]
    assert active(content) == pairs


# --- messages, bounds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"*.c filter=x", "*.c has filter=x: git runs the program that is configured"),
        (b"*.c filter=lfs", "*.c has filter=lfs: git runs the filter of Git LFS"),
        (b"*.c diff=lfs", "*.c has diff=lfs: git runs the filter of Git LFS"),
        (b"*.c filter=lfsx", "*.c has filter=lfsx: git runs the program that is configured"),
        (b"*.c -working-tree-encoding", "*.c has -working-tree-encoding: git gives up"),
        (b"*.c merge=\xff", '*.c has "merge=\\377": git runs the program'),
        (b'"a\\tb" diff=x', '"a\\tb" has diff=x: git runs the program'),
        (b'"" filter=x', '"" has filter=x: git runs the program'),
        (b"[attr]m export-subst", "[attr]m has export-subst: git archive puts words"),
    ],
)
def test_messages(content: bytes, message: str) -> None:
    (oddity,) = gitattributes.read(content).oddities
    assert oddity.message.startswith(message)


def test_the_use_of_a_macro_is_said_to_be_one() -> None:
    (_, use) = gitattributes.read(b"[attr]m filter=x\n*.c m\n").oddities
    assert use.message == "*.c has m: this macro sets what git runs or rewrites"


@pytest.mark.parametrize("piece", [b"\x1b[31m", "\u202e".encode(), b"\xff", b"\x7f"])
def test_messages_are_short_and_printable(piece: bytes) -> None:
    for content in (piece * 300 + b" filter=" + piece * 300, b"* " + piece * 3000):
        for oddity in gitattributes.read(content).oddities:
            assert len(oddity.message) < 2200
            assert oddity.message.isascii()
            assert oddity.message.isprintable()


def test_a_hundred_pairs_are_listed_for_a_reviewer_and_more_are_reported() -> None:
    found = gitattributes.read(b"".join(b"%d filter=x\n" % number for number in range(150)))
    assert found.active == [(b"%d" % number, X) for number in range(100)]
    assert len(found.oddities) == 150


def test_past_a_thousand_one_oddity_stands_for_the_rest_of_this_content_alone() -> None:
    lines = [b"%d filter=x\n" % number for number in range(1001)]
    exactly = gitattributes.read(b"".join(lines[:1000])).oddities
    more = gitattributes.read(b"".join(lines)).oddities
    other = gitattributes.read(b"".join(lines) + b"* filter=y\n").oddities
    assert more[:1000] == exactly
    assert len(more) == len(other) == 1001
    assert more[1000].code is pathcodes.GITATTRIBUTES_ACTIVE
    # What is beyond the bound is never taken for what the base has.
    assert more[1000].detail != other[1000].detail


def test_long_lines_are_bounded_in_the_same_way() -> None:
    lines = [line(2048) + b"%d\n" % number for number in range(1002)]
    more, other = (gitattributes.read(b"".join(lines[:n])).oddities for n in (1001, 1002))
    assert len(more) == len(other) == 1001
    assert {oddity.code for oddity in more} == {pathcodes.GITATTRIBUTES_LINE_LENGTH}
    assert more[:1000] == other[:1000]
    assert more[1000].detail != other[1000].detail


def test_a_long_pattern_is_not_kept_again_for_each_setting() -> None:
    settings = b"".join(b" filter=%d" % number for number in range(1000))
    found = gitattributes.read(b"x" * 1_000_000 + settings).oddities
    assert sum(len(oddity.detail) for oddity in found) < 3_000_000


MEBIBYTE = 1 << 20
# Each would take minutes or gigabytes if its cost grew with the square of its length.
COSTLY = {
    "empty lines": b"\n" * MEBIBYTE + b"* filter=x",
    "blanks": b" " * MEBIBYTE + b"* filter=x",
    "blank lines": b" \n" * (MEBIBYTE >> 1) + b"* filter=x",
    "one setting over and over": b"* " + b"filter=x " * (MEBIBYTE // 9),
    "short lines and a macro": b"[attr]m filter=x\n" + b"a b\n" * (MEBIBYTE >> 2),
    "a long chain of macros": b"".join(b"[attr]m%d m%d\n" % (n, n + 1) for n in range(40_000))
    + b"[attr]m40000 filter=x\n",
    "a chain of macros from its end": b"[attr]m40000 filter=x\n"
    + b"".join(b"[attr]m%d m%d\n" % (n, n + 1) for n in reversed(range(40_000))),
    "a quote with escapes that does not end": b'"' + b'\\"' * (MEBIBYTE >> 1) + b" filter=x",
    "quotes that do not end": b'"\n' * (MEBIBYTE >> 1) + b"* filter=x",
    "a long pattern with many settings": b"x" * (MEBIBYTE >> 1)
    + b"".join(b" filter=%d" % n for n in range(40_000)),
    "lines of almost the bound": (b"x" * 2047 + b"\n") * 512,
    "words that begin like one": b"* " + b"working-tree-encodin " * 50_000 + b"filter=",
}


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.heavy
def test_a_mebibyte_of_any_shape_is_read_in_linear_time(name: str) -> None:
    found = gitattributes.read(COSTLY[name])
    assert len(found.active) <= 100
    assert len(found.oddities) <= 1002
