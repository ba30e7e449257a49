"""``git fsck`` as a contender.

It needs a repository: a bare one is thrown together, which has the pack and its index by a link,
and a reference to everything that nothing else names, so that it walks as in a real one.

It looks at everything that it can read whatever it finds, and old histories have what it calls
errors. So its exit status says little: before the timed runs it names each object that it checks
and they are counted; a timed run counts if it ends in the same way and misses nothing.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from bench import git
from bench.contenders import Contender, NotReadyError
from bench.place import Call, End, last_line

# Bits of the exit status: an object is odd, and so is what the pack holds.
_ODD = 1 | 4
_FSCK = ["git", "fsck", "--full", "--strict", "--no-progress"]
_CHECKING = re.compile(rb"^Checking (?:blob|commit|tag|tree) ", re.MULTILINE)
_DANGLING = re.compile(r"^dangling \w+ ([0-9a-f]+)$", re.MULTILINE)


class Fsck(Contender):
    """``git fsck --full --strict`` in a repository that holds the pack and nothing else."""

    _status = 0

    @property
    def _repository(self) -> Path:
        return self.place.folder / f"fsck-{self.item.pack.parent.name}-{self.item.pack.stem}.git"

    def prepare(self) -> None:
        """Make the repository, and have git say what it looks at in it."""
        try:
            self._make()
        except subprocess.CalledProcessError as error:
            raise NotReadyError(f"git {error.cmd[1]} ends with {error.returncode}") from error
        done = subprocess.run(
            [*_FSCK, "--verbose"],
            cwd=self._repository,
            env=self.place.git_env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        seen = len(_CHECKING.findall(done.stderr))
        if seen != self.item.about.objects or done.returncode & ~_ODD:
            raise NotReadyError(f"exit {done.returncode} after {seen} objects")
        self._status = done.returncode
        self._name(_DANGLING.findall(done.stdout.decode("ascii", "replace")))

    def _make(self) -> None:
        env = self.place.git_env
        git.init_bare(self._repository, env, self.item.about.object_format)
        pack = self._repository / "objects" / "pack" / "pack-in.pack"
        pack.symlink_to(self.item.pack.resolve())
        index = str(pack.with_suffix(".idx"))
        git.output(["index-pack", "--no-rev-index", "-o", index, str(pack)], env, self._repository)

    def _name(self, tips: list[str]) -> None:
        lines = "".join(f"create refs/bench/{n} {oid}\n" for n, oid in enumerate(tips))
        env = self.place.git_env
        git.output(["update-ref", "--stdin"], env, self._repository, lines.encode())

    def call(self) -> Call:
        """What dangles is known."""
        return Call([*_FSCK, "--no-dangling"], self._repository, self.place.git_env)

    def failure(self, end: End) -> str | None:
        """It ends as before; anything on standard output is about what is not there."""
        if end.code != self._status:
            return self.place.failure(end)
        missed = last_line(end.stdout)
        return f"unexpected output: {missed}" if missed else None
