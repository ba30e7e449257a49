"""``git candidate check``: both verdicts on any bundle; nothing is imported."""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING

from candidate.commands.common import add_command, add_policy, print_object
from importer import layout
from importer.checkup import Wanted, check_bundle
from importer.repository import Repository
from importer.state import State
from packparse.arguments import parse_limit, parse_oid
from packparse.checks import SMUGGLED_BASE
from packparse.errors import MisuseError
from packparse.escape import shorten
from packparse.formats import json as report_json
from packparse.formats import text as report_text
from packparse.scan import find_policy

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands
    from importer.checkup import Checked
    from packparse.objectformat import ObjectFormat

__all__ = ["add"]

_DESCRIPTION = """\
Say what an import would say of a bundle: packcheck's verdict, then that of git index-pack --strict
in a quarantine outside of the repository. The repository is only read."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "check", "verify a bundle, and import nothing", _DESCRIPTION, stateful=False
    )
    parser.add_argument("bundle", metavar="BUNDLE")
    parser.add_argument(
        "--repo", metavar="DIR", default=".", help="the repository that has the base (default: .)"
    )
    parser.add_argument(
        "--base",
        metavar="OID",
        action="append",
        required=True,
        help="a commit that the producer was given and built on; may be repeated",
    )
    parser.add_argument(
        "--tip",
        metavar="OID",
        help="the commit that the bundle has to bring (default: that of its first ref that is no "
        "base)",
    )
    parser.add_argument(
        "--seed",
        choices=("depth-one", "full"),
        default="depth-one",
        help="what the producer was given of the base: its tree, or its whole history as well "
        "(default: depth-one)",
    )
    add_policy(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    if parsed.bundle == "-":
        message = "standard input is not read: give a file"
        raise MisuseError(message)
    policy = find_policy(parsed.policy)
    wanted = Wanted(
        bases=frozenset(parse_oid("--base", text) for text in parsed.base),
        tip=None if parsed.tip is None else parse_oid("--tip", parsed.tip),
        policy=policy,
        limits=policy.made_limits(parsed.limits, dict(map(parse_limit, parsed.limit))),
        full=parsed.seed == "full",
    )
    # Nothing is kept, so the state is a folder that goes with the answer.
    with (
        tempfile.TemporaryDirectory(prefix="git-candidate-") as folder,
        State(f"{folder}/state", apart=False) as state,
        Repository(parsed.repo, state) as repository,
    ):
        _check_widths(parsed, repository.object_format)
        checked = check_bundle(repository, parsed.bundle, wanted)
    if parsed.format == "json":
        print_object(_as_object(checked))
    else:
        sys.stdout.write(_as_text(checked) + _hint(checked, wanted))
    return checked.klass


def _check_widths(parsed: argparse.Namespace, object_format: ObjectFormat) -> None:
    """Ids of another object format than the repository's are none of its."""
    options = [("--base", oid) for oid in parsed.base] + [("--tip", parsed.tip)] * bool(parsed.tip)
    for option, oid in options:
        if len(oid) != 2 * object_format.width:
            message = (
                f"{option} {oid}: the repository has ids of {object_format.name}, which have "
                f"{2 * object_format.width} digits"
            )
            raise MisuseError(message)


def _as_object(checked: Checked) -> dict[str, object]:
    refused = checked.refused
    return {
        "schema": "git-candidate.check/1",
        "verdict": "accepted" if refused is None else "refused",
        "class": checked.klass,
        "code": None if refused is None else refused.code.name,
        "message": None if refused is None else refused.message,
        "packcheck": None if checked.report is None else report_json.as_object(checked.report),
        "git": None
        if checked.relaxed is None
        else {"version": layout.version(), "relaxed": list(checked.relaxed)},
        "chosen": None if checked.chosen is None else shorten(checked.chosen),
    }


def _as_text(checked: Checked) -> str:
    report = checked.report
    text = "" if report is None else report_text.render(report, "git candidate explain")
    refused = checked.refused
    if checked.relaxed is not None:
        verdict = "accepts" if refused is None else "refuses"
        excused = f", told to pass {', '.join(checked.relaxed)}" if checked.relaxed else ""
        text += f"git {layout.version()} index-pack --strict {verdict}{excused}\n"
    # What packcheck refuses is in its report, which says how a code is explained.
    if refused is not None and (report is None or report.accepted):
        text += f"refused: {refused}\n  {refused.code.remedy}\n"
    if checked.chosen is not None:
        text += (
            f"the tip is taken to be that of {shorten(checked.chosen)}; "
            "bundle that branch alone, or the one that is meant\n"
        )
    return text


def _hint(checked: Checked, wanted: Wanted) -> str:
    refused = checked.refused
    if refused is None or refused.code is not SMUGGLED_BASE or wanted.full:
        return ""
    return (
        "if the producer was given the whole history of the base, say --seed full; a revert made "
        "in a clone with bitmaps needs that as well\n"
    )
