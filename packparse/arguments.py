"""The arguments of ``packcheck``: what there is, and what their texts mean."""

from __future__ import annotations

import argparse
from binascii import unhexlify

from packparse import codes, late, limits
from packparse.errors import MisuseError
from packparse.escape import printable
from packparse.objectformat import FORMATS, ObjectFormat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    Run = Callable[[argparse.Namespace], int]
    Formatter = type[argparse.HelpFormatter]

__all__ = ["Parser", "VersionAction", "build", "chosen_format", "parse_limit", "parse_oid"]

_STATUS = "\n".join(
    [
        "exit status:",
        "  0  accepted",
        *(f"  {n}  {': '.join(filter(None, texts))}" for n, texts in codes.CLASSES.items()),
        "Of several files the highest counts.",
    ]
)
_MOST_JOBS = 256
_HEX = late.pattern(r"[0-9a-f]+")
# What may be typed in after `git rev-parse` as it is.
_NAME = late.pattern(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_DIGITS = {fmt.width * 2: fmt for fmt in FORMATS.values()}


def build(
    verify: Run, explain: Run, checks: Run, version: Callable[[], None], formatter: Formatter
) -> argparse.ArgumentParser:
    """The parser; the functions are what its commands run, ``version`` prints the version.

    ``formatter`` makes the helps.
    """
    parser = Parser(
        prog="packcheck",
        description="Verify untrusted Git packs and bundles before native git sees them.",
        epilog=_STATUS,
        formatter_class=formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=VersionAction, const=version)
    # With prog given, argparse need not format a usage line, which would load shutil.
    commands = parser.add_subparsers(prog="packcheck", metavar="COMMAND", required=True)
    _add_verify(commands, verify, formatter)
    explaining = commands.add_parser(
        "explain", help="say what a code means and what to do", formatter_class=formatter
    )
    explaining.add_argument("code", metavar="CODE")
    explaining.set_defaults(run=explain)
    listing = commands.add_parser("checks", help="list all codes", formatter_class=formatter)
    listing.set_defaults(run=checks)
    return parser


def _add_verify(
    commands: argparse._SubParsersAction[Parser], run: Run, formatter: Formatter
) -> None:
    verify = commands.add_parser(
        "verify",
        help="verify packs and bundles",
        epilog=_STATUS,
        formatter_class=formatter,
        allow_abbrev=False,
    )
    verify.add_argument(
        "files", metavar="FILE", nargs="+", help="a pack, a bundle, or a folder of loose objects; "
        "- is standard input",
    )  # fmt: skip
    _add_rules(verify)
    _add_range(verify)
    verify.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="processes that share one large file, 1 to 256 (default: the processors that are "
        "available); each has the bound of memory, and 1 starts no other",
    )
    verify.add_argument("--format", choices=("text", "json", "sarif"), default="text")
    verify.add_argument(
        "--progress",
        choices=("auto", "always", "never"),
        default="auto",
        help="on standard error; auto: where that is a terminal (default)",
    )
    verify.set_defaults(run=run)


def _add_rules(verify: argparse.ArgumentParser) -> None:
    verify.add_argument(
        "--rules",
        choices=codes.RULES,
        default="candidate",
        help="git: the verdict of git index-pack --strict; candidate: all of that and more "
        "(default)",
    )
    verify.add_argument(
        "--policy",
        metavar="FILE",
        action="append",
        help="severities, limits, paths and identities: a TOML file, or one of candidate "
        "(default), fork, mirror",
    )
    verify.add_argument(
        "--limits",
        choices=limits.PRESETS,
        help="candidate: for what one run of a producer hands back; history: for whole "
        "repositories (default: what the policy says, else candidate)",
    )
    verify.add_argument(
        "--limit",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change one limit; VALUE may end in k, M or G. Names: " + ", ".join(limits.SPECS),
    )
    verify.add_argument(
        "--object-format",
        choices=tuple(FORMATS),
        help="of the repository the file comes from (default: what a bundle says, sha1 for a pack)",
    )


def _add_range(verify: argparse.ArgumentParser) -> None:
    verify.add_argument(
        "--base",
        metavar="OID",
        action="append",
        default=[],
        help="a commit that the producer was given and built on; may be repeated",
    )
    verify.add_argument(
        "--tip",
        metavar="OID",
        action="append",
        default=[],
        help="a commit that the file has to bring; may be repeated. With --base the file has to "
        "hold exactly the commits between them, and what they bring",
    )
    verify.add_argument(
        "--known",
        metavar="FILE",
        action="append",
        help="the objects that the producer was given, one OID or OID TYPE a line: links may leave "
        "the file for these alone",
    )
    verify.add_argument(
        "--base-pack",
        metavar="PACK",
        action="append",
        default=[],
        help="a pack or bundle of your repository's objects: bases for a thin pack, and what new "
        "trees are compared with; may be repeated",
    )


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MOST_JOBS):
        message = f"--jobs {text}: give a whole number from 1 to {_MOST_JOBS}"
        raise MisuseError(message)
    return int(text)


class Parser(argparse.ArgumentParser):
    """A parser, and those of its commands, that repeats no control character of an argument."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, and exit."""
        super().error(printable(message))


class VersionAction(argparse.Action):
    """``--version``, reading the version only when it is asked for."""

    def __init__(self, option_strings: list[str], dest: str, const: Callable[[], None]) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")
        self._show = const

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        """Show the version, and end."""
        self._show()
        parser.exit()


def parse_limit(text: str) -> tuple[str, int]:
    """``NAME=VALUE`` as a name of a limit and a number. Raises MisuseError."""
    name, _, value = text.partition("=")
    name = name.strip().replace("-", "_")
    number = limits.amount(value)
    if number is None:
        message = (
            f"--limit {text}: give NAME=VALUE; VALUE is a whole number and may end in k, M or G"
        )
        raise MisuseError(message)
    return name, number


def one(option: str, values: Sequence[str]) -> str:
    """The value of an option that is given once. Raises MisuseError."""
    if len(values) > 1:
        message = f"{option}: give it once; here it is {' and '.join(map(repr, values))}"
        raise MisuseError(message)
    return values[0]


def parse_oid(option: str, text: str) -> bytes:
    """An object id as raw bytes. Raises MisuseError: only whole ids in lower case are taken."""
    if len(text) not in _DIGITS or not _HEX.fullmatch(text):
        message = (
            f"{option} {text}: give the whole id, 40 or 64 digits in lower case"
            f"{f', as git rev-parse {text} prints it' if _NAME.fullmatch(text) else ''}"
        )
        raise MisuseError(message)
    return unhexlify(text)


def chosen_format(name: str | None, oids: Sequence[bytes]) -> ObjectFormat | None:
    """The object format that was asked for, by its name or by ids; None for neither."""
    widths = {len(oid) for oid in oids}
    if name is not None:
        widths.add(FORMATS[name].width)
    if len(widths) > 1:
        message = "--base, --tip and --object-format are of different object formats"
        raise MisuseError(message)
    return _DIGITS[widths.pop() * 2] if widths else None
