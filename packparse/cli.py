"""The command ``packcheck``: arguments in, reports on standard output, a class as exit status."""

from __future__ import annotations

import argparse
import os
import sys

from packparse import codes, limits
from packparse.errors import MisuseError
from packparse.limits import Limits
from packparse.objectformat import FORMATS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_STATUS = "\n".join(
    [
        "exit status:",
        "  0  accepted",
        *(f"  {n}  {': '.join(filter(None, texts))}" for n, texts in codes.CLASSES.items()),
        "Of several files the highest counts.",
    ]
)
_SUFFIXES = {"k": 10, "m": 20, "g": 30}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; ``arguments`` default to those of the process. Returns the exit status."""
    if sys.stdout is None:
        # Python leaves it so when the descriptor is closed.
        _complain("standard output is closed")
        return codes.ENVIRONMENT
    try:
        parsed = _parse(arguments)
        status: int = parsed.run(parsed)
        sys.stdout.flush()
    except MisuseError as error:
        _complain(str(error))
        return codes.USAGE
    except KeyboardInterrupt:
        _complain("interrupted")
        return codes.ENVIRONMENT
    except BrokenPipeError:
        # The reader has gone, and knows why.
        _close_stdout()
        return codes.ENVIRONMENT
    except (OSError, MemoryError) as error:
        reason = "out of memory" if isinstance(error, MemoryError) else error.strerror or str(error)
        _complain(reason)
        _close_stdout()
        return codes.ENVIRONMENT
    except Exception:  # noqa: BLE001 - a mistake of ours must not end as 1, which says "corrupt"
        import traceback

        _complain(f"{traceback.format_exc()}packcheck: internal error, please report it")
        return codes.ENVIRONMENT
    return status


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return _parser().parse_args(arguments)
    except SystemExit:
        # After --help or --version; a full disk shows only now.
        sys.stdout.flush()
        raise


def _complain(text: str) -> None:
    # Where standard error cannot be written either, the exit status must do.
    try:  # noqa: SIM105 - contextlib would cost start-up time
        print(f"packcheck: {text}", file=sys.stderr, flush=True)
    except OSError:
        pass


def _close_stdout() -> None:
    """Point standard output at nothing: Python flushes it once more at the end, and would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="packcheck",
        description="Verify untrusted Git packs and bundles before native git sees them.",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version)
    # With prog given, argparse need not format a usage line, which would load shutil.
    commands = parser.add_subparsers(prog="packcheck", metavar="COMMAND", required=True)
    _add_verify(commands)
    explain = commands.add_parser("explain", help="say what a code means and what to do")
    explain.add_argument("code", metavar="CODE")
    explain.set_defaults(run=_explain)
    checks = commands.add_parser("checks", help="list all codes")
    checks.set_defaults(run=_checks)
    return parser


def _add_verify(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verify = commands.add_parser(
        "verify",
        help="verify packs and bundles",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verify.add_argument("files", metavar="FILE", nargs="+")
    verify.add_argument(
        "--rules",
        choices=codes.RULES,
        default="candidate",
        help="git: the verdict of git index-pack --strict; candidate: all of that and more "
        "(default)",
    )
    verify.add_argument(
        "--limits",
        choices=limits.PRESETS,
        default="candidate",
        help="candidate: for what one run of a producer hands back (default); history: for whole "
        "repositories",
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
    verify.add_argument("--format", choices=("text", "json"), default="text")
    verify.set_defaults(run=_verify)


class _Version(argparse.Action):
    """``--version``, reading the version only when it is asked for."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("packcheck")
        except PackageNotFoundError:
            number = "(not installed: run from its source)"
        print("packcheck", number)
        parser.exit()


def _verify(parsed: argparse.Namespace) -> int:
    from packparse.scan import verify_path
    from packparse.verify import Options

    changes = dict(map(_parse_limit, parsed.limit))
    options = Options(
        rules=parsed.rules,
        limits=Limits(parsed.limits, changes),
        object_format=FORMATS.get(parsed.object_format),
    )
    if parsed.format == "json":
        from packparse.formats.json import render
    else:
        from packparse.formats.text import render
    if "-" in parsed.files:
        message = "standard input cannot be verified; give a file"
        raise MisuseError(message)
    status = 0
    for path in parsed.files:
        report = verify_path(path, options)
        sys.stdout.write(render(report))
        sys.stdout.flush()
        status = max(status, report.klass)
    return status


def _parse_limit(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    name = name.strip().replace("-", "_")
    digits, shift = value, 0
    if value[-1:].lower() in _SUFFIXES:
        digits, shift = value[:-1], _SUFFIXES[value[-1].lower()]
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        message = f"--limit {text}: VALUE is a whole number and may end in k, M or G"
        raise MisuseError(message)
    return name, int(digits) << shift


def _explain(parsed: argparse.Namespace) -> int:
    code = codes.BY_NAME.get(parsed.code)
    if code is None:
        import difflib

        near = difflib.get_close_matches(parsed.code, codes.BY_NAME, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; see packcheck checks"
        message = f"no code {parsed.code!r}{hint}"
        raise MisuseError(message)
    print(f"{code.name} (class {code.klass}, {codes.CLASSES[code.klass][0]})")
    print(f"  candidate rules: {code.severity('candidate')}; git rules: {code.severity('git')}")
    print(f"  {code.meaning}")
    print(f"  What to do: {code.remedy}")
    return 0


def _checks(_parsed: argparse.Namespace) -> int:
    print(f"{'code':<26} {'class':<5} {'candidate':<9} git")
    for code in codes.BY_NAME.values():
        severities = f"{code.severity('candidate'):<9} {code.severity('git')}"
        print(f"{code.name:<26} {code.klass:<5} {severities}")
    return 0
