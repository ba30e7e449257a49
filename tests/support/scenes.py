"""A host and a producer, both real repositories: what is given, committed, bundled and verified.

The bundle is made as a producer makes it: a header with one ref and the base as its prerequisite,
then what ``git pack-objects`` writes. The host is asked by ``git cat-file --batch``.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.policy import Policy
from packparse.report import Report
from packparse.verify import verify_bytes
from tests.support.gitrepo import clean_env, git, init
from tests.support.packs import KIND_NUMBERS

MAIN = "refs/heads/main"

# Content, a target after "->", or None for a file that is removed. Executables have a "*" in front
# of their path.
Files = Mapping[str, str | None]


class Repo:
    """A repository with a work tree."""

    def __init__(self, path: Path, fmt: str = "sha1") -> None:
        self.path = init(path, fmt)
        self.fmt = fmt

    def __call__(self, *args: str, **more: bytes) -> str:
        return git(self.path, *args, **more).stdout.decode().strip()  # type: ignore[arg-type]

    def write(self, files: Files) -> None:
        """Change the work tree."""
        for name, content in files.items():
            path = self.path / name.lstrip("*")
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink():
                path.unlink()
            if content.startswith("->"):
                path.symlink_to(content[2:])
            else:
                path.write_text(content)
                path.chmod(0o755 if name.startswith("*") else 0o644)

    def commit(self, files: Files | None = None, message: str = "message") -> str:
        """Write, stage and commit everything; return the id."""
        self.write(files or {})
        self("add", "-A")
        self("commit", "-q", "--allow-empty", "-m", message)
        return self("rev-parse", "HEAD")

    def tree(self, *entries: tuple[str, str, str]) -> str:
        """Write a tree as it stands: mode, name, id."""
        data = b"".join(
            f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in entries
        )
        return self("hash-object", "-t", "tree", "-w", "--stdin", "--literally", input=data)

    def blob(self, content: str) -> str:
        return self("hash-object", "-w", "--stdin", input=content.encode())

    def commit_tree(self, tree: str, *parents: str) -> str:
        """Commit a tree as it stands, and move the branch there."""
        args = [part for parent in parents for part in ("-p", parent)]
        oid = self("commit-tree", tree, *args, "-m", "message")
        self("update-ref", MAIN, oid)
        return oid


class Reader:
    """Objects of a repository by raw id, from one process; `asked` lists what was looked for."""

    def __init__(self, repo: Repo) -> None:
        self.asked: list[bytes] = []
        self._child = subprocess.Popen(
            ["git", "cat-file", "--batch"],
            cwd=repo.path,
            env=clean_env(repo.path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __call__(self, oid: bytes) -> tuple[int, bytes] | None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self.asked.append(oid)
        self._child.stdin.write(oid.hex().encode() + b"\n")
        self._child.stdin.flush()
        head = self._child.stdout.readline().split()
        if head[1] == b"missing":
            return None
        content = self._child.stdout.read(int(head[2]))
        self._child.stdout.read(1)
        return KIND_NUMBERS[head[1].decode()], content

    def close(self) -> None:
        with self._child:
            assert self._child.stdin is not None
            self._child.stdin.close()


@dataclass
class Scene:
    """A host, a base on it, and a producer that was given the base: its history too if `full`."""

    host: Repo
    producer: Repo
    base: str
    full: bool
    reader: Reader
    given: set[str]

    def bundle(self, tip: str, pack: bytes) -> bytes:
        lines = [f"# v{2 if self.host.fmt == 'sha1' else 3} git bundle"]
        if self.host.fmt != "sha1":
            lines.append(f"@object-format={self.host.fmt}")
        lines += [f"-{self.base} ", f"{tip} {MAIN}", "", ""]
        return "\n".join(lines).encode() + pack

    def export(self, tip: str, *, thin: bool) -> bytes:
        """The bundle of a producer that plays by the rules."""
        options = ["--revs", "--stdout", "-q", *(["--thin"] if thin else [])]
        revs = f"{tip}\n^{self.base}\n".encode()
        pack = git(self.producer.path, "pack-objects", *options, input=revs).stdout
        return self.bundle(tip, pack)

    def range(self, tip: str) -> list[str]:
        """The ids of all objects from the base to the tip."""
        listed = self.producer("rev-list", "--objects", "--no-object-names", tip, f"^{self.base}")
        return listed.split()

    def forge(self, tip: str, oids: list[str]) -> bytes:
        """A bundle of exactly these objects."""
        listed = "".join(f"{oid}\n" for oid in oids).encode()
        pack = git(self.producer.path, "pack-objects", "--stdout", "-q", input=listed).stdout
        return self.bundle(tip, pack)

    def verify(self, tip: str, data: bytes, policy: Policy | None = None) -> Report:
        given = {bytes.fromhex(oid) for oid in self.given}
        options = Options(
            tips={MAIN.encode(): bytes.fromhex(tip)},
            bases=frozenset([bytes.fromhex(self.base)]),
            known=lambda oid: 0 if oid in given else None,
            read_base=self.reader,
            policy=policy,
            object_format=FORMATS[self.host.fmt],
        )
        return verify_bytes(data, options)

    def judge(self, tip: str, *, thin: bool = False, policy: Policy | None = None) -> Report:
        return self.verify(tip, self.export(tip, thin=thin), policy)


def seeded(host: Repo, base: str, *, full: bool) -> set[str]:
    """What the producer is given."""
    if full:
        return set(host("rev-list", "--objects", "--no-object-names", base).split())
    root = host("rev-parse", f"{base}^{{tree}}")
    below = host("ls-tree", "-r", "-t", "--format=%(objecttype) %(objectname)", base).splitlines()
    return {base, root, *(line.split()[1] for line in below if not line.startswith("commit"))}


def scene(path: Path, host: Repo, base: str, *, full: bool) -> Scene:
    """A producer with exactly the seeded set, its branch at the base."""
    producer = Repo(path / "producer", host.fmt)
    given = seeded(host, base, full=full)
    listed = "".join(f"{oid}\n" for oid in sorted(given)).encode()
    pack = git(host.path, "pack-objects", "--stdout", "-q", input=listed).stdout
    git(producer.path, "unpack-objects", "-q", input=pack)
    if not full:
        (producer.path / ".git" / "shallow").write_text(f"{base}\n")
    producer("update-ref", MAIN, base)
    producer("reset", "-q", "--hard")
    return Scene(host, producer, base, full, Reader(host), given)
