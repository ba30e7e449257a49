"""Ask git and packparse about the same pack, and say where they differ."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packparse.codes import BY_NAME, RULES
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.report import Report
from packparse.verify import Options, Verifier
from tests.support.gitrepo import git
from tests.support.packs import oid_length

# git's words where it refuses an object for its grammar: "error: object OID: msgId: what is wrong".
_FSCK = re.compile(rb"^error: object [0-9a-f]+: ([A-Za-z0-9]+): ", re.MULTILINE)
# All that git says of a tag that lacks its name line or is too short.
_TAG = b"fatal: invalid tag"
INVALID_TAG = "invalid tag"

# Of a version 2 index: magic and version, the fanout table of which the last number counts all.
_IDS_AT = 8 + 256 * 4


@dataclass(frozen=True, slots=True)
class Ours:
    """What packparse said of one pack under one rule set, and the ids it found, sorted."""

    accepted: bool
    report: Report
    oids: list[str]

    @property
    def codes(self) -> list[str]:
        """The names of all findings, sorted."""
        return sorted({finding.code.name for finding in self.report.findings.sorted()})


@dataclass(frozen=True, slots=True)
class Theirs:
    """What git said of one pack; `oids` are the sorted ids of the index it wrote."""

    accepted: bool
    rc: int
    stderr: bytes
    oids: list[str]

    @property
    def grammar(self) -> list[str]:
        """The fsck message ids that git gave as errors, or INVALID_TAG."""
        found = [name.decode() for name in _FSCK.findall(self.stderr)]
        return found or ([INVALID_TAG] if self.stderr.strip() == _TAG else [])

    @property
    def excused(self) -> bool:
        """Whether git refuses only for grammar that packparse has no code for yet."""
        return bool(self.grammar) and not any(name in BY_NAME for name in self.grammar)


def ours(
    data: bytes, rules: str = "git", fmt: str = "sha1", options: Options | None = None
) -> Ours:
    """Verify a pack or bundle as a whole, within the limits for whole repositories."""
    if options is None:
        limits = Limits("history")
        options = Options(rules=rules, limits=limits, object_format=FORMATS[fmt])
    verifier = Verifier(options, length=len(data))
    verifier.feed(data)
    report = verifier.finish(lambda offset, length: data[offset : offset + length])
    return Ours(report.accepted, report, [oid.hex() for oid in verifier.table.sorted_ids()])


def theirs(repo: Path, pack: bytes, fmt: str = "sha1") -> Theirs:
    """Ask `git index-pack --strict` with one process; `repo` is not touched.

    A quick twin of gitrepo.index_pack_strict for many packs: the ids are read from the index.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, index = Path(folder, "it.pack"), Path(folder, "it.idx")
        path.write_bytes(pack)
        command = ["index-pack", "--strict", "--threads=1", "-o", str(index), str(path)]
        done = git(repo, *command, check=False)
        accepted = done.returncode == 0 and len(done.stdout.split()) == 1
        oids = _index_oids(index.read_bytes(), oid_length(fmt)) if accepted else []
    return Theirs(accepted, done.returncode, done.stderr, oids)


def _index_oids(index: bytes, width: int) -> list[str]:
    count = int.from_bytes(index[_IDS_AT - 4 : _IDS_AT])
    return [index[_IDS_AT + n * width :][:width].hex() for n in range(count)]


def difference(repo: Path, pack: bytes, fmt: str = "sha1") -> str | None:
    """What is wrong between the two verdicts on a pack, or None.

    Where git refuses for grammar that has no code here yet, ours may accept.
    """
    judged = {rules: ours(pack, rules, fmt) for rules in RULES}
    git_says = theirs(repo, pack, fmt)
    if git_says.accepted:
        mine = judged["git"]
        if not mine.accepted:
            return f"git accepts, we refuse: {', '.join(mine.codes)}"
        return None if mine.oids == git_says.oids else "both accept, the ids differ"
    if git_says.excused:
        return None
    liked = [rules for rules in RULES if judged[rules].accepted]
    words = git_says.stderr.decode(errors="replace").strip()
    return f"git refuses ({words}), we accept under {' and '.join(liked)}" if liked else None


def differences(
    repo: Path, packs: Iterable[tuple[str, bytes]], fmt: str = "sha1"
) -> dict[str, str]:
    """The packs (label, bytes) on which the verdicts differ, each with what differs."""
    listed = list(packs)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda item: difference(repo, item[1], fmt), listed)
        return {label: what for (label, _), what in zip(listed, found, strict=True) if what}
