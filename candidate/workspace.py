"""What git is asked about the workspace of a producer, in the producer's own world.

git reads the configuration and the attributes that the producer left there, and does what they say:
a host never asks a producer's workspace any of this.

Whatever a configuration could change about the bytes of a pack or about the paths is set here, so
that they depend on the commits alone; exporter.sh has the same settings.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from candidate.errors import (
    EXPORT_TOO_LARGE,
    NO_WORKSPACE,
    NOT_ON_BASE,
    TIP_UNKNOWN,
    CandidateError,
)
from importer import git
from importer.durable import pieces
from importer.errors import GIT_FAILED, ImportFailed
from manifest.atoms import COMMITS
from packparse.escape import quote, shorten

if TYPE_CHECKING:
    from importer.world import World

__all__ = ["PACK", "SETTINGS", "Workspace"]

SETTINGS = (
    # The workspace may belong to another user, who made it; whoever commits in it trusts it.
    "safe.directory=*",
    "advice.graftFileDeprecated=false",
    "core.commitGraph=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    # Of the user's own, which an exporter elsewhere does not have.
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "core.quotePath=true",
    "diff.autoRefreshIndex=true",
    "core.compression=6",
    "pack.compression=6",
    "pack.window=10",
    "pack.depth=50",
    "pack.packSizeLimit=0",
    "pack.allowPackReuse=false",
    "pack.usePathWalk=false",
    "feature.experimental=false",
    # Larger ones are not made deltas of: an import rebuilds none that is larger than 64 MiB.
    "core.bigFileThreshold=32m",
    "pack.windowMemory=256m",
    "pack.deltaCacheSize=64m",
)
# Every object is searched for a delta and deflated anew: how the workspace stores it is no matter.
# Without --no-sparse objects of the base may be packed as well.
PACK = (
    "pack-objects", "--revs", "--stdout", "--delta-base-offset", "--no-reuse-delta",
    "--no-reuse-object", "--no-use-bitmap-index", "--no-sparse", "--threads=1", "-q",
)  # fmt: skip
_OPTIONS = tuple(word for setting in SETTINGS for word in ("-c", setting))
_CHANGED = (
    "diff", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv",
    "--ignore-submodules=dirty", "HEAD", "--",
)  # fmt: skip
_NEW = ("ls-files", "--others", "--exclude-standard", "-z")
# The sandbox is what limits a producer: a limit that suits an import would fail an honest export.
_CAPS = {"memory": 1 << 50, "file": 1 << 50}


class Workspace:
    """The work tree that a folder lies in. Raises CandidateError: noWorkspace; ImportFailed.

    So may everything that is asked: ImportFailed (gitFailed), where git cannot answer.
    """

    def __init__(self, world: World, path: str) -> None:
        self._world = world
        self._place = git.workplace(world, path, GIT_GRAFT_FILE=os.devnull)
        self._caps = git.Caps(**_CAPS, seconds=int(world.git_seconds) + 1)
        if not os.path.isdir(path):
            raise CandidateError(NO_WORKSPACE, f"{shorten(os.fsencode(path))}: it is no folder")
        told = self._run("rev-parse", "--is-inside-work-tree", "--show-cdup")
        if not told.answered():
            raise CandidateError(NO_WORKSPACE, told.told())
        inside, *up = told.stdout.decode("ascii", "replace").split("\n")
        if inside != "true":
            raise CandidateError(NO_WORKSPACE, "the folder lies in no work tree")
        # git lists new files of the folder that it runs in, and of no other.
        self._place = self._place._replace(path=os.path.join(path, *up[:1]))

    def commit(self, name: str) -> str | None:
        """The id of the commit that a revision names; None where it names none."""
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        told = self._run(*asked)
        # A silent 1 is a no.
        if told.status == 1:
            return None
        return self._good(told, "rev-parse").stdout.decode("ascii", "replace").strip()

    def range(self, base: str, name: str) -> list[str]:
        """The commits from the base to a revision, each after its parents; none where it is one.

        Raises CandidateError: tipUnknown, notOnBase, exportTooLarge.
        """
        shown = shorten(os.fsencode(name))
        tip = self.commit(name)
        if tip is None:
            raise CandidateError(TIP_UNKNOWN, f"{shown} is no commit of the workspace")
        if self.commit(base) is None or not self._descends(tip, base):
            raise CandidateError(NOT_ON_BASE, f"{shown} does not descend from {base}")
        with git.given() as out:
            told = self._run("rev-list", "--topo-order", "--reverse", f"{base}..{tip}", stdout=out)
            self._good(told, "rev-list")
            commits = b"".join(pieces(out)).decode("ascii", "replace").split()
        if len(commits) > COMMITS:
            message = f"there are {len(commits)} commits, and a manifest lists {COMMITS}"
            raise CandidateError(EXPORT_TOO_LARGE, message)
        return commits

    def _descends(self, tip: str, base: str) -> bool:
        told = self._run("merge-base", "--is-ancestor", base, tip)
        if told.status == 1:
            return False
        self._good(told, "merge-base")
        return True

    def uncommitted(self) -> list[str]:
        """The paths, quoted and sorted, that are not as HEAD has them, or are new and not ignored.

        Submodules are left out that have nothing but uncommitted work in them.
        """
        found: set[bytes] = set()
        for command in (_CHANGED, _NEW):
            with git.given() as out:
                self._good(self._run(*command, stdout=out), command[0])
                found.update(b"".join(pieces(out)).split(b"\0"))
        return sorted(quote(path) for path in found if path)

    def pack(self, base: str, tip: str, descriptor: int) -> None:
        """Write a pack of what the tip reaches and the base does not; it is whole, not thin."""
        with git.given(f"{tip}\n^{base}\n".encode()) as wanted:
            told = self._run(*PACK, stdin=wanted, stdout=descriptor)
        self._good(told, PACK[0])

    def _run(
        self, *arguments: str, stdin: int | None = None, stdout: int | None = None
    ) -> git.Outcome:
        return git.run(
            self._place, [*_OPTIONS, *arguments], stdin=stdin, stdout=stdout, caps=self._caps
        )

    def _good(self, told: git.Outcome, command: str) -> git.Outcome:
        if not told.answered():
            raise ImportFailed(GIT_FAILED, f"git {command}: {told.told()}")
        return told
