"""The demo: the whole way of one candidate, and eight artifacts that do not get through.

Everything happens in a folder that is removed afterwards: a host repository, a launch, a producer
in the sandbox, its export, the import and the receipt; then, from a second launch, what a hostile
producer would hand back. Of the host nothing may change by these.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from candidate import hostile, sandbox
from candidate.errors import CandidateError
from candidate.launch import Order, launch
from importer import git
from importer.errors import GIT_FAILED, ImporterError, ImportFailed
from importer.repository import Repository
from importer.state import State
from importer.steps import import_candidate
from manifest import v1
from manifest.launch import PolicyText
from manifest.v1 import Artifact, Manifest, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from candidate.hostile import Hostile
    from manifest.launch import Launch
    from manifest.receipt import Receipt

__all__ = ["Refusal", "Result", "run"]

_PRODUCER = """\
set -e
printf 'for name in ("you", "me"):\\n    print("hello,", name)\\n' > hello.py
printf '#!/bin/sh\\nexec python3 hello.py\\n' > run.sh
chmod +x run.sh
git add -A
git commit -q -m 'Greet more people'
echo 'not finished' > notes.txt
sh "$GIT_CANDIDATE_EXPORT/export.sh"
"""


# Where the bundle lies that a link leads to.
_ASIDE = "aside"


class Refusal(NamedTuple):
    """What became of a hostile artifact: the code that it was to be refused for, and what was."""

    title: str
    expected: str
    code: str
    message: str


class Result(NamedTuple):
    """How the demo ended.

    ``unsandboxed`` is why there was no sandbox, empty where there was one. ``changed`` are the
    files of the host that are not what they were before the hostile artifacts.
    """

    receipt: Receipt
    unsandboxed: str
    refusals: list[Refusal]
    changed: list[str]

    @property
    def is_well(self) -> bool:
        """Whether all ended as it must."""
        right = all(refusal.code == refusal.expected for refusal in self.refusals)
        return right and not self.changed


def run(folder: str, say: Callable[[str], None], *, quiet: bool = False) -> Result:
    """Run the demo in an empty folder; ``say`` gets its lines. Raises ImporterError, OSError.

    ``quiet``: what the producer writes goes to standard error.
    """
    host = f"{folder}/host"
    base, secret = _make_host(host)
    say(f"a host repository with two commits; the base is {base[:12]}")
    with State(f"{folder}/state") as state, Repository(host, state) as repository:
        first = _launch(repository, f"{folder}/first", base)
        say(f"launch {first.launch}: a private repository with the base alone")
        unsandboxed = _produce(f"{folder}/first", say, quiet=quiet)
        receipt = import_candidate(repository, first.launch).receipt
        say(f"imported: {len(receipt.commits)} commit, {receipt.objects.count} objects, a receipt")
        say(f"$ git log {receipt.candidate}")
        shown = _git(host, "log", "--stat", "--format=%h %an: %s", f"{base}..{receipt.candidate}")
        for line in shown.splitlines():
            say(f"  {line}")
        second = _launch(repository, f"{folder}/second", base)
        say(f"launch {second.launch}, whose producer is hostile")
        before = _digests(host)
        made = hostile.artifacts(
            repository.object_format, bytes.fromhex(base), bytes.fromhex(secret)
        )
        refusals = [_offer(repository, second, one, say) for one in made]
        changed = sorted(dict(_digests(host).items() ^ before.items()))
    say("the host is as it was before" if not changed else f"CHANGED on the host: {changed}")
    return Result(receipt, unsandboxed, refusals, changed)


def _make_host(host: str) -> tuple[str, str]:
    """A repository with two commits; the second one, and a blob that only the first one has."""
    os.makedirs(host)
    _git(host, "init", "-q", "-b", "main")
    _write(f"{host}/secret.txt", b"the password is swordfish\n")
    _write(f"{host}/hello.py", b'print("hello")\n')
    _commit(host, "Say hello")
    secret = _git(host, "rev-parse", "HEAD:secret.txt").strip()
    _git(host, "rm", "-q", "secret.txt")
    _commit(host, "Take the password out")
    return _git(host, "rev-parse", "HEAD").strip(), secret


def _commit(host: str, message: str) -> None:
    _git(host, "add", "-A")
    who = ("-c", "user.name=Host", "-c", "user.email=host@example.invalid")
    _git(host, *who, "commit", "-q", "-m", message)


def _git(path: str, *arguments: str) -> str:
    told = git.ask(path, *arguments)
    if not told.answered():
        raise ImportFailed(GIT_FAILED, f"git {arguments[0]}: {told.told()}")
    return told.stdout.decode("utf-8", "replace")


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _launch(repository: Repository, folder: str, base: str) -> Launch:
    order = Order(
        base=base,
        policy=PolicyText("candidate"),
        limits={},
        issue="demo/1",
        run="demo",
        phase="ANALYZE_EXECUTE",
        repository="demo",
    )
    return launch(repository, folder, order)


def _produce(folder: str, say: Callable[[str], None], *, quiet: bool) -> str:
    """Let the honest producer work; why it was not in a sandbox, if it was not."""
    producer = ["sh", "-c", _PRODUCER]
    try:
        program = sandbox.bubblewrap()
    except CandidateError as error:
        say(f"NO SANDBOX here: {error.message}")
        say("the producer runs as an ordinary process, as with --sandbox off")
        sandbox.run(sandbox.bare(folder, producer), quiet=quiet)
        return error.message
    say("the producer, in bubblewrap:")
    sandbox.run(sandbox.sandboxed(program, folder, producer), quiet=quiet)
    return ""


def _offer(
    repository: Repository, record: Launch, made: Hostile, say: Callable[[str], None]
) -> Refusal:
    """Put a hostile artifact into the export folder, and import it."""
    key = record.key if made.key else "00" * 32
    told = v1.write(_manifest(record, made), bytes.fromhex(key))
    files = repository.world.files
    with files.folder(record.export.location) as export:
        for name in (record.artifact, _ASIDE, v1.NAME):
            files.remove(name, at=export)
        files.write_new(v1.NAME, told, at=export)
        files.write_new(_ASIDE if made.link else record.artifact, made.data, at=export)
        if made.link:
            files.make_link(record.artifact.encode(), _ASIDE.encode(), at=export)
    try:
        import_candidate(repository, record.launch)
    except ImporterError as error:
        refusal = Refusal(made.title, made.code, error.code.name, error.message)
    else:
        refusal = Refusal(made.title, made.code, "", "imported")
    how = f"refused, {refusal.code}" if refusal.code else "IMPORTED"
    say(f"{made.title}: {how}" + f" INSTEAD OF {made.code}" * (refusal.code != made.code))
    return refusal


def _manifest(record: Launch, made: Hostile) -> Manifest:
    artifact = Artifact(
        name=record.artifact,
        bytes=len(made.data),
        sha256=hashlib.sha256(made.data).hexdigest(),
        objects=made.objects,
    )
    return v1.offered(record, artifact, [made.tip.hex()], Workspace(dirty=0, paths=[]))


def _digests(folder: str) -> dict[str, str]:
    """The contents of all files below a folder, by their paths."""
    found: dict[str, str] = {}
    for parent, _folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found
