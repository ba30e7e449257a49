"""Ask git and packparse about the same pack, and say where they differ."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packparse.checks import CATALOG
from packparse.codes import ERROR, LIMIT
from packparse.limits import Limits
from packparse.objectformat import FORMATS
from packparse.options import Options
from packparse.report import Report
from packparse.verify import Verifier
from tests.support.gitrepo import git, git_version
from tests.support.packs import oid_length

# git's words where it has something against an object: "error: object OID: msgId: what is wrong".
_SAYS = re.compile(rb"^(error|warning): object [0-9a-f]+: ([A-Za-z0-9]+): ", re.MULTILINE)
# All that git says of a tag that lacks its name line or is too short.
_TAG = b"fatal: invalid tag"
INVALID_TAG = "invalid tag"

# Before this version git read a date as strtoumax does: with any blanks and a sign before it, and
# zeros behind more than one blank.
STRICT_DATES = (2, 40)
DATES = frozenset(("badDate", "zeroPaddedDate"))
# What it may say of such a date once it has read it.
BEHIND_DATES = DATES | {"badDateOverflow", "badTimezone"}

# Faults in what links are read from. Behind one of them we do not go on, and git, which may say
# another thing first, gives no id unless it does.
UNREADABLE = frozenset(("missingTree", "badTreeSha1", "badParentSha1", "missingObject"))
UNREADABLE |= {"badObjectSha1", "missingTypeEntry", "missingType", "badType"}
UNREADABLE |= {"missingTagEntry", "missingTag", "tagTooShort"}

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

    @property
    def errors(self) -> set[str]:
        """The names of the findings that refuse the pack."""
        found = self.report.findings.sorted()
        return {finding.code.name for finding in found if finding.severity == ERROR}

    def says(self, name: str) -> bool:
        """Whether this is among the findings, or what is found in its place."""
        old = name in BEHIND_DATES and git_version() < STRICT_DATES
        alike = UNREADABLE | {name} | (DATES if old else set())
        return not alike.isdisjoint(self.codes)


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
        found = list(self._said(b"error"))
        return found or ([INVALID_TAG] if self.stderr.strip() == _TAG else [])

    @property
    def warned(self) -> list[str]:
        """The fsck message ids that git gave as warnings."""
        return list(self._said(b"warning"))

    def _said(self, level: bytes) -> Iterator[str]:
        return (name.decode() for how, name in _SAYS.findall(self.stderr) if how == level)


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


def theirs(repo: Path, pack: bytes, fmt: str = "sha1", *config: str) -> Theirs:
    """Ask `git index-pack --strict` with one process; `repo` is not touched.

    A quick twin of gitrepo.index_pack_strict for many packs: the ids are read from the index.
    `config` are settings such as core.bigFileThreshold=1k.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, index = Path(folder, "it.pack"), Path(folder, "it.idx")
        path.write_bytes(pack)
        settings = [word for setting in config for word in ("-c", setting)]
        command = ["index-pack", "--strict", "--threads=1", "-o", str(index), str(path)]
        done = git(repo, *settings, *command, check=False)
        accepted = done.returncode == 0 and len(done.stdout.split()) == 1
        oids = _index_oids(index.read_bytes(), oid_length(fmt)) if accepted else []
    return Theirs(accepted, done.returncode, done.stderr, oids)


def _index_oids(index: bytes, width: int) -> list[str]:
    count = int.from_bytes(index[_IDS_AT - 4 : _IDS_AT])
    return [index[_IDS_AT + n * width :][:width].hex() for n in range(count)]


def is_known_to(name: str, version: tuple[int, ...]) -> bool:
    """Whether a version of git has what the code of this name stands for; it has all of ours."""
    since = CATALOG[name].since
    return not since or tuple(map(int, since.split("."))) <= version


def unexplained(mine: Ours, git_says: Theirs) -> set[str]:
    """Of what we refuse a pack for that the installed git accepts, what should not be.

    The rest is explained by rows of known.py: ids that this git does not have yet, dates that it
    reads, errors that it prints and forgets, and limits, which are no matter of right and wrong.
    """
    version = git_version()
    wrong = {name for name in mine.errors if is_known_to(name, version)} - set(git_says.grammar)
    if version < STRICT_DATES:
        wrong -= DATES
    return {name for name in wrong if CATALOG[name].klass != LIMIT}


def difference(repo: Path, pack: bytes, fmt: str = "sha1") -> str | None:
    """What is wrong between the two verdicts on a pack, or None.

    What git accepts is accepted under the rule set `git`, unless it is explained; what git refuses
    is refused under both rule sets, for what git says among others.
    """
    mine, git_says = ours(pack, "git", fmt), theirs(repo, pack, fmt)
    if git_says.accepted:
        if mine.accepted:
            return None if mine.oids == git_says.oids else "both accept, the ids differ"
        wrong = unexplained(mine, git_says)
        return f"git accepts, we refuse: {', '.join(sorted(wrong))}" if wrong else None
    words = git_says.stderr.decode(errors="replace").strip()
    for rules, verdict in (("git", mine), ("candidate", ours(pack, "candidate", fmt))):
        if verdict.accepted:
            return f"git refuses ({words}), we accept under {rules}"
    same = not git_says.grammar or any(map(mine.says, git_says.grammar))
    return None if same else f"git refuses ({words}), we find: {', '.join(mine.codes)}"


def differences(
    repo: Path, packs: Iterable[tuple[str, bytes]], fmt: str = "sha1"
) -> dict[str, str]:
    """The packs (label, bytes) on which the verdicts differ, each with what differs."""
    listed = list(packs)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda item: difference(repo, item[1], fmt), listed)
        return {label: what for (label, _), what in zip(listed, found, strict=True) if what}
