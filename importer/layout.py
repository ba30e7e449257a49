"""What git is asked about a host, and about itself, before anything of the host is trusted."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from importer import git
from importer.errors import GIT_FAILED, NOT_A_REPOSITORY, ImportFailed, ImportRefused
from packparse.escape import shorten

if TYPE_CHECKING:
    from importer.git import Program

__all__ = ["Layout", "layout", "version"]

_OLDEST = (2, 39)


class Layout(NamedTuple):
    """Where the common folder of a repository is, an absolute path, and what its objects are.

    ``shared`` is its core.sharedRepository, empty where there is none.
    """

    common_dir: str
    object_format: str
    shared: str


def layout(path: str) -> Layout:
    """Ask git which repository a folder belongs to.

    This is the one question for which the repository's own configuration is read. Raises
    ImportRefused (notARepository), ImportFailed (gitFailed).
    """
    if not os.path.isdir(path):
        raise _no_repository(path, "it is no folder")
    told = git.ask(
        path,
        "rev-parse",
        "--path-format=absolute",
        "--git-dir",
        "--git-common-dir",
        "--show-object-format",
    )
    lines = told.stdout.decode("utf-8", "surrogateescape").split("\n")
    answered = told.answered()
    if not answered or len(lines) != 4:
        raise _no_repository(path, "its path has a line feed" if answered else told.told())
    if _is_linked(path, lines[0]):
        raise _no_repository(path, "its .git is a symbolic link")
    told = git.ask(path, "config", "--default=", "--get", "core.sharedRepository")
    if not told.answered():
        raise ImportFailed(GIT_FAILED, f"git config: {told.told()}")
    shared = told.stdout.decode("ascii", "replace").strip()
    return Layout(lines[1], lines[2], shared if shared.isalnum() else "")


def _is_linked(path: str, found: str) -> bool:
    """Whether git came to the folder ``found``, of which it tells the real path, by a link."""
    at = os.path.realpath(path)
    while at not in {found, "/"} and not os.path.lexists(f"{at}/.git"):
        at = os.path.dirname(at)
    return at != found and os.path.islink(f"{at}/.git")


def _no_repository(path: str, reason: str) -> ImportRefused:
    return ImportRefused(NOT_A_REPOSITORY, f"{shorten(os.fsencode(path))}: {reason}")


def version() -> str:
    """The version of git, as ``2.39.5``. Raises ImportFailed where it is too old for us.

    It is asked again where another program is called git now: a controller runs for weeks.
    """
    return _version(git.program())


@functools.lru_cache(maxsize=1)
def _version(_program: Program) -> str:
    answer = git.ask("/", "version")
    told = answer.stdout.decode("ascii", "replace") if answer.answered() else answer.told()
    match = re.match(r"git version ((\d+)\.(\d+)[\w.-]*)", told)
    if match is None or (int(match[2]), int(match[3])) < _OLDEST:
        message = (
            f"git {_OLDEST[0]}.{_OLDEST[1]} or newer is needed; here is {shorten(told.encode())}"
        )
        raise ImportFailed(GIT_FAILED, message, retry=False)
    return match[1]
