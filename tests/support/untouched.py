"""What a repository is, byte for byte, before an import and after it.

A snapshot has everything below the folder of a repository: its work tree, refs, packed-refs, HEAD,
configuration, FETCH_HEAD, index, hooks, and all files and folders below objects/.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.gitrepo import git

# Paths to kind and permissions, size, and content.
Snapshot = dict[str, tuple[int, int, bytes]]
# L1 is made by the first import that comes as far, and never deleted; what it holds is a note.
L1 = "git-candidate.lock"


def snapshot(*folders: Path) -> Snapshot:
    """Everything that is in these folders, links not followed."""
    found: Snapshot = {}
    for folder in folders:
        for top, below, files in os.walk(folder):
            for path in (Path(top, name) for name in (*below, *files)):
                if path.name != L1 or path.is_symlink() or not path.is_file():
                    found[str(path)] = _entry(path)
    return found


def _entry(path: Path) -> tuple[int, int, bytes]:
    status = path.lstat()
    if stat.S_ISREG(status.st_mode):
        return status.st_mode, status.st_size, path.read_bytes()
    content = os.fsencode(path.readlink()) if stat.S_ISLNK(status.st_mode) else b""
    return status.st_mode, 0, content


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """What was added, removed and changed, each a line."""
    changed = [path for path in before.keys() & after.keys() if before[path] != after[path]]
    return sorted(
        [f"removed {path}" for path in before.keys() - after.keys()]
        + [f"added {path}" for path in after.keys() - before.keys()]
        + [f"changed {path}" for path in changed]
    )


@contextmanager
def untouched(*folders: Path) -> Iterator[None]:
    """Whatever happens inside of the block, nothing in these folders is another afterwards."""
    before = snapshot(*folders)
    yield
    assert differences(before, snapshot(*folders)) == []


@contextmanager
def only_packs_added(repo: Path, common: Path) -> Iterator[list[str]]:
    """What happens inside of the block adds files to objects/pack, and changes nothing else.

    Gives the names that were added, once the block is over. git is asked as well for what the
    files mean: the refs and the configuration.
    """
    before, told = snapshot(repo, common), _told(repo)
    added: list[str] = []
    yield added
    packs = f"added {common}/objects/pack/"
    for line in differences(before, snapshot(repo, common)):
        assert line.startswith(packs), line
        added.append(line.removeprefix(packs))
    assert _told(repo) == told


def _told(repo: Path) -> list[bytes]:
    asked = (("for-each-ref",), ("config", "--list", "--show-origin"))
    return [git(repo, *arguments).stdout for arguments in asked]
