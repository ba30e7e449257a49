"""The command ``packcheck``: arguments in, reports on standard output, a class as exit status."""

from __future__ import annotations

import argparse
import os
import sys

from packparse import checks, codes, console
from packparse.arguments import build, chosen_format, one, parse_limit, parse_oid
from packparse.errors import MisuseError, PackError
from packparse.objectformat import SHA1, ObjectFormat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from packparse.basepack import BasePacks
    from packparse.options import Options
    from packparse.outside import Known
    from packparse.policy import Policy
    from packparse.progress import Progress
    from packparse.report import Report

__all__ = ["main"]


def main(
    arguments: Sequence[str] | None = None, loaded: Callable[[], object] = lambda: None
) -> int:
    """Run the command; ``arguments`` default to those of the process. Returns the exit status.

    ``loaded`` is called once the modules that every verification needs are there, before any file
    is read.
    """
    return console.run("packcheck", lambda: _answered(arguments, loaded))


def _answered(arguments: Sequence[str] | None, loaded: Callable[[], object]) -> int:
    try:
        parsed = _parser().parse_args(arguments)
        parsed.loaded = loaded
        status: int = parsed.run(parsed)
    except MisuseError as error:
        console.complain("packcheck", str(error))
        return codes.USAGE
    except PackError as error:
        # Of the trusted side's files; what is found in FILE is in its report.
        console.complain("packcheck", str(error))
        return codes.ENVIRONMENT
    return status


def _parser() -> argparse.ArgumentParser:
    return build(_verify, _explain, _checks, _show_version, _Formatter)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal.

    argparse makes a formatter for every argument that it is told of, and to find out the width of a
    terminal loads what takes as long as verifying a small pack.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size().columns or 80
    except (OSError, ValueError):
        return 80


def _show_version() -> None:
    from packparse.version import installed

    print("packcheck", installed() or "(not installed: run from its source)")


def _verify(parsed: argparse.Namespace) -> int:
    from packparse.scan import verify_path

    render = _renderer(parsed.format)
    parsed.loaded()
    reports: list[Report] = []
    status = 0
    if parsed.files.count("-") > 1:
        message = "standard input can be verified once"
        raise MisuseError(message)
    progress = _progress(parsed.progress)
    options, packs = _options(parsed, progress)
    try:
        for path in parsed.files:
            if packs is not None:
                packs.renew()
            report = verify_path(path, options, progress)
            status = max(status, report.klass)
            if render is None:
                reports.append(report)
                continue
            sys.stdout.write(render(report))
            sys.stdout.flush()
    finally:
        if packs is not None:
            packs.close()
    if render is None:
        from packparse.formats import sarif
        from packparse.version import installed

        sys.stdout.write(sarif.render_all(reports, installed()))
    return status


def _renderer(name: str) -> Callable[[Report], str] | None:
    """What makes the text of one report; None for a format that has all reports in one text."""
    if name == "sarif":
        return None
    if name == "json":
        from packparse.formats.json import render as render_json

        return render_json
    from packparse.formats.text import render as render_text

    return render_text


def _progress(mode: str) -> Progress | None:
    """What shows the progress, where anything is to be shown."""
    if mode == "never" or (mode == "auto" and not sys.stderr.isatty()):
        return None
    from time import monotonic

    from packparse.progress import Progress

    return Progress(sys.stderr, mode, monotonic)


def _options(
    parsed: argparse.Namespace, progress: Progress | None
) -> tuple[Options, BasePacks | None]:
    """How to verify, and the base packs that are open for it."""
    from packparse.options import Options

    policy = _policy(one("--policy", parsed.policy or ["candidate"]))
    bases = [parse_oid("--base", text) for text in parsed.base]
    tips = [parse_oid("--tip", text) for text in parsed.tip]
    chosen = chosen_format(parsed.object_format, bases + tips)
    known = packs = None
    limits = policy.made_limits(parsed.limits, dict(map(parse_limit, parsed.limit)))
    if parsed.known:
        known = _known(one("--known", parsed.known), chosen or SHA1, bases)
    if parsed.base_pack:
        from packparse.scan import open_base_packs

        packs = open_base_packs(parsed.base_pack, chosen or SHA1, limits, progress)
    options = Options(
        rules=parsed.rules,
        policy=policy,
        limits=limits,
        object_format=chosen,
        tips={b"the tip" if n == 1 else b"tip %d" % n: oid for n, oid in enumerate(tips, 1)},
        bases=frozenset(bases),
        known=known,
        read_base=None if packs is None else packs.read,
        base_info=None if packs is None else packs.about,
        jobs=_processors() if parsed.jobs is None else parsed.jobs,
    )
    return options, packs


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _known(path: str, chosen: ObjectFormat, bases: list[bytes]) -> Known:
    from packparse.scan import read_known

    known = read_known(path, chosen).kind
    for oid in bases:
        # Whoever builds on a commit was given it: the list is another one, or was not written.
        if known(oid) is None:
            message = f"--known {path}: the list does not hold the base {oid.hex()}"
            raise MisuseError(message)
    return known


def _policy(name: str) -> Policy:
    if name == "candidate":
        from packparse.policy import Policy

        return Policy()
    from packparse.scan import find_policy

    return find_policy(name)


def _explain(parsed: argparse.Namespace) -> int:
    code = checks.CATALOG.get(parsed.code)
    if code is None:
        import difflib

        near = difflib.get_close_matches(parsed.code, checks.CATALOG, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; see packcheck checks"
        message = f"no code {parsed.code!r}{hint}"
        raise MisuseError(message)
    from packparse.explain import described

    print(described(code))
    return 0


def _checks(_parsed: argparse.Namespace) -> int:
    print(f"{'code':<26} {'class':<5} {'candidate':<9} git")
    for code in checks.CATALOG.values():
        severities = f"{code.severity('candidate'):<9} {code.severity('git')}"
        print(f"{code.name:<26} {code.klass:<5} {severities}")
    return 0
