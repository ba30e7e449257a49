"""``git candidate export``: hand over what was committed; the producer runs it in its sandbox."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from candidate.commands.common import add_command, print_object
from candidate.export import export

if TYPE_CHECKING:
    import argparse

    from candidate.commands.common import Commands
    from manifest.v1 import Manifest

__all__ = ["add"]

_DESCRIPTION = """\
Write a bundle and its manifest into the export folder of a launch: the commits from its base to
HEAD. Only what is committed is exported. This is for the producer, inside of its sandbox: git does
what the configuration of the workspace says, so never run it in a workspace that you do not trust.
Where there is no Python, `sh /export/export.sh` does the same."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "export", "hand over what was committed", _DESCRIPTION, stateful=False
    )
    parser.add_argument(
        "--workspace", metavar="DIR", default=".", help="where the commits are (default: .)"
    )
    parser.add_argument(
        "--to",
        metavar="DIR",
        help="the export folder, which has the ticket (default: $GIT_CANDIDATE_EXPORT, else "
        "/export)",
    )
    parser.add_argument(
        "--tip", metavar="REV", default="HEAD", help="the commit to hand over (default: HEAD)"
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command."""
    folder = parsed.to
    if folder is None:
        folder = os.environ.get("GIT_CANDIDATE_EXPORT") or "/export"
    manifest = export(parsed.workspace, folder, tip=parsed.tip).manifest
    if parsed.format == "json":
        print_object(_as_object(manifest))
    else:
        sys.stdout.write(_as_text(manifest))
    return 0


def _as_object(manifest: Manifest) -> dict[str, object]:
    import msgspec

    return {
        "schema": "git-candidate.export/1",
        "launch": manifest.launch,
        "base": manifest.base,
        "candidate": manifest.candidate,
        "commits": len(manifest.commits),
        "artifact": msgspec.to_builtins(manifest.artifact),
        "workspace": msgspec.to_builtins(manifest.workspace),
    }


def _as_text(manifest: Manifest) -> str:
    """The script says the same."""
    artifact, workspace = manifest.artifact, manifest.workspace
    lines = [
        f"exported candidate {manifest.candidate}",
        f"  {len(manifest.commits)} commits, {artifact.objects} objects, {artifact.bytes} bytes",
    ]
    if workspace.dirty:
        lines.append(f"{workspace.dirty} uncommitted paths are NOT exported:")
        lines += [f"  {path}" for path in workspace.paths]
        more = workspace.dirty - len(workspace.paths)
        lines += [f"  and {more} more"] * bool(more)
    return "\n".join(lines) + "\n"
