"""The sandbox: what a producer sees of the host, what it can do to it, and what stays of it.

In bubblewrap, for real; where that makes no sandbox these tests are skipped, and say why.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from candidate import sandbox
from candidate.errors import CandidateError
from candidate.launch import launch
from importer.repository import Repository
from importer.state import State
from importer.steps import import_candidate
from tests.support.gitrepo import git
from tests.support.launched import Launched, bubblewrap, launched, order
from tests.support.launches import Host, commit, make_host
from tests.support.untouched import only_packs_added, untouched

SECRETS = {
    "a ref": b"branch-that-is-secret",
    "a tag": b"tag-that-is-secret",
    "a remote": b"remote-that-is-secret.example",
    "a setting": b"setting-that-is-secret",
    "a hook": b"hook-that-is-secret",
    "an untracked file": b"untracked-that-is-secret",
    "an ignored file": b"ignored-that-is-secret",
    "a deleted file": b"deleted-that-is-secret",
    "a file of another branch": b"elsewhere-that-is-secret",
    "a message of the history": b"message-that-is-secret",
    "an exclude file": b"exclude-that-is-secret",
    "the environment": b"environment-that-is-secret",
    "what lies beside": b"beside-that-is-secret",
}


@pytest.fixture
def secretive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host with something secret in every place that a host has."""
    text = {name: secret.decode() for name, secret in SECRETS.items()}
    host = make_host(tmp_path)
    repo = host.repo
    first = commit(repo, host.base, {"old.txt": SECRETS["a deleted file"]})
    git(repo, "update-ref", "refs/heads/main", first)
    second = commit(repo, first, {"old.txt": None, ".gitignore": b"*.ignored\n"})
    git(repo, "update-ref", "refs/heads/main", second)
    git(repo, "reset", "-q", "--hard", second)
    other = commit(repo, first, {"other.txt": SECRETS["a file of another branch"]})
    git(repo, "update-ref", f"refs/heads/{text['a ref']}", other)
    git(repo, "tag", text["a tag"], first)
    git(repo, "remote", "add", "origin", f"https://u:p@{text['a remote']}/x")
    git(repo, "config", "user.signingKey", text["a setting"])
    empty = ("commit", "--allow-empty", "-q", "-m")
    git(repo, "-c", "user.name=x", "-c", "user.email=x@x", *empty, text["a message of the history"])
    git(repo, "reset", "-q", "--hard", second)
    (repo / "untracked.txt").write_bytes(SECRETS["an untracked file"])
    (repo / "x.ignored").write_bytes(SECRETS["an ignored file"])
    (host.common / "hooks").mkdir(exist_ok=True)
    (host.common / "hooks" / "pre-commit").write_bytes(SECRETS["a hook"])
    (host.common / "info").mkdir(exist_ok=True)
    (host.common / "info" / "exclude").write_bytes(SECRETS["an exclude file"])
    (tmp_path / "beside.txt").write_bytes(SECRETS["what lies beside"])
    monkeypatch.setenv("A_TOKEN", text["the environment"])
    host.base = second
    return host


# Everything that it can read, but for the programs of the system; objects unpacked.
_LOOK = """\
find / -xdev \\( -path /usr -o -path /proc -o -path /dev \\) -prune -o -print 2>/dev/null
cat /proc/self/mountinfo /proc/self/environ /proc/1/cmdline /proc/1/environ 2>/dev/null
for file in $(find /source /workspace /export /home /tmp /etc -type f); do cat "$file"; done
git cat-file --batch-all-objects --batch --unordered
git log --all --reflog; git for-each-ref; git config --list; git stash list
env
"""


def run(made: Launched, script: str, tmp_path: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a script as the producer of a launch, in the sandbox."""
    world = sandbox.sandboxed(bubblewrap(), str(made.folder), ["sh", "-c", script])
    # From a folder of the host, and with an environment, neither of which may get there.
    return subprocess.run(
        world.command, cwd=tmp_path, env=world.environment, capture_output=True, check=False
    )


@pytest.mark.parametrize("full", [False, True], ids=["depth one", "full"])
def test_a23_the_whole_world_of_a_producer_has_nothing_of_the_host(
    tmp_path_factory: pytest.TempPathFactory, secretive: Host, tmp_path: Path, full: bool
) -> None:
    # The path of its own folder is one that it can read, so it lies elsewhere.
    apart = tmp_path_factory.mktemp("apart")
    state_path = tmp_path / "state"
    with State(str(state_path)) as state, Repository(str(secretive.repo), state) as repository:
        record = launch(repository, str(apart / "one"), order(secretive.base, full=full))
        other = launch(repository, str(apart / "two"), order(secretive.base))
    made = Launched(secretive.repo, state_path, apart / "one", record)
    told = run(made, _LOOK, tmp_path).stdout
    # It did look.
    assert b"dir0/file0.txt" in told
    assert record.key.encode() in told
    hidden = {
        **SECRETS,
        "the path of the host": os.fsencode(secretive.repo),
        "the path of the state": os.fsencode(state_path),
        "the key of another launch": other.key.encode(),
        "the id of another launch": other.launch.encode(),
        "the place of another launch": os.fsencode(apart / "two"),
        "the home of the user": os.fsencode(Path.home() / ".gitconfig"),
    }
    if full:
        # It is a part of the history that was asked for.
        del hidden["a deleted file"]
    assert [name for name, secret in hidden.items() if secret in told] == []


@pytest.fixture
def made(tmp_path: Path) -> Launched:
    host = make_host(tmp_path)
    return launched(host.repo, host.base, tmp_path)


ATTEMPTS = {
    "write to the git folder of the host": "echo x >> {repo}/.git/config",
    "write through the way up": "echo x >> /workspace/../..{repo}/.git/config",
    "make a ref of the host": "git --git-dir={repo}/.git update-ref refs/heads/x HEAD",
    "read the state folder": "ls {state}",
    "read another launch": "cat {folder}/../other/export/ticket.json",
    "read its own folder from outside": "ls {folder}",
    "write to what it may only read": "echo x > /source/dir0/file0.txt",
    "make what it may only read writable": "chmod -R u+w /source && echo x > /source/x",
    "mount what it may only read again": "mount -o remount,rw /source",
    "write to the programs of the system": "touch /usr/bin/x",
    "make a device": "mknod /workspace/disk b 254 0 && head -c 1 /workspace/disk",
    "see the processes of the host": "kill -0 {pid}",
    "become another user": "chown 65534 /workspace/dir0 && true",
    "reach a server on the host": "git ls-remote git://127.0.0.1:{port}/x",
    "reach a server by the shell": "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "reach a socket of the host": "test -S {folder}/../socket",
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a25_a27_a_producer_fails_to(made: Launched, tmp_path: Path, name: str) -> None:
    host = Host(made.repo, made.record.base, "sha1", tmp_path)
    with (
        State(str(made.state)) as state,
        Repository(str(host.repo), state) as repository,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        launch(repository, str(tmp_path / "other"), order(host.base))
        local.bind(str(tmp_path / "socket"))
        server.settimeout(0)
        attempt = ATTEMPTS[name].format(
            repo=made.repo,
            state=made.state,
            folder=made.folder,
            pid=os.getpid(),
            port=server.getsockname()[1],
        )
        with untouched(made.repo, made.state, made.source):
            done = run(made, f"bash -c {shlex.quote(attempt)}", tmp_path)
        assert done.returncode != 0, done
        with pytest.raises(BlockingIOError):
            server.accept()


def test_the_same_attempts_work_on_what_is_its_own(made: Launched, tmp_path: Path) -> None:
    done = run(
        made,
        "set -e; echo x > /workspace/x; echo x > /export/x; echo x > /tmp/x; echo x > $HOME/x\n"
        "cat /source/dir0/file0.txt /export/ticket.json >/dev/null\n"
        "git add x; git commit -qm x; git log --format=%an\n"
        "(exec 3<>/dev/null); mkdir /workspace/d; kill -0 $$",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"producer\n")


def test_what_a_producer_left_running_has_ended_when_it_has(made: Launched, tmp_path: Path) -> None:
    # The pipe is closed once the last of them has ended, which this waits for.
    world = sandbox.sandboxed(
        bubblewrap(), str(made.folder), ["sh", "-c", "setsid sleep 1234 & (sleep 1234 &) ; exit 0"]
    )
    with subprocess.Popen(world.command, env={}, stdout=subprocess.PIPE) as producer:
        assert producer.communicate(timeout=60)[0] == b""
    assert producer.returncode == 0
    assert tmp_path.exists()


def test_a_producer_ends_with_whoever_started_it(made: Launched) -> None:
    world = sandbox.sandboxed(
        bubblewrap(), str(made.folder), ["sh", "-c", "echo began; sleep 1234"]
    )
    script = f"{shlex.join(world.command)} & wait"
    # In a shell that is killed: the pipe is at its end once nobody writes to it any more.
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"began\n"
        starter.kill()
        assert starter.stdout.read() == b""


HOSTILE = """\
set -e
cd /workspace
echo x > new; git add new; git commit -qm new
cat > .git/hooks-x <<'END'
#!/bin/sh
touch {canary}
END
chmod +x .git/hooks-x
mkdir -p .git/hooks
for hook in post-checkout pre-push reference-transaction post-index-change fsmonitor-watchman; do
    cp .git/hooks-x .git/hooks/$hook
done
git config core.fsmonitor /workspace/.git/hooks-x
git config core.hooksPath /workspace/.git/hooks
git config core.sshCommand {canary}
git config filter.x.smudge {canary}
git config alias.log '!touch {canary}'
sh /export/export.sh
git config include.path {repo}/.git/config
git config core.worktree {repo}
echo {repo}/.git/objects > .git/objects/info/alternates
echo {repo}/.git > .git/commondir
echo 'gitdir: {repo}/.git' > gitdir
ln -s {repo}/.git/refs .git/more
rm -rf .git/refs; ln -s {repo}/.git/refs .git/refs
"""


@pytest.mark.parametrize("sandboxed", [True, False], ids=["in the sandbox", "without one"])
def test_what_a_producer_does_to_its_repository_changes_nothing_on_the_host(
    made: Launched, tmp_path: Path, sandboxed: bool
) -> None:
    canary = tmp_path / "canary"
    script = HOSTILE.format(canary=canary, repo=made.repo)
    if sandboxed:
        done = run(made, script, tmp_path)
    else:
        here = script.replace("/workspace", str(made.workspace))
        here = here.replace("/export/", f"{made.export}/")
        world = sandbox.bare(str(made.folder), ["sh", "-c", here])
        done = subprocess.run(
            world.command, cwd=world.folder, env=world.environment, capture_output=True, check=False
        )
        # Its own git may do its bidding.
        canary.unlink(missing_ok=True)
    assert done.returncode == 0, done.stderr
    with made.opened() as repository, only_packs_added(made.repo, made.repo / ".git"):
        receipt = import_candidate(repository, made.record.launch).receipt
    assert git(made.repo, "cat-file", "-t", receipt.candidate).stdout == b"commit\n"
    assert not canary.exists()


def test_where_the_system_has_folders_instead_of_links_these_are_shown(
    made: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "islink", lambda _path: False)
    command = sandbox.sandboxed("bwrap", str(made.folder), ["true"]).command
    # Not user-try, which --unshare-all means.
    assert "--unshare-user" in command
    at = command.index("/lib")
    assert command[at - 1 : at + 2] == ["--ro-bind", "/lib", "/lib"]
    assert "--symlink" not in command


# --- where there is none ------------------------------------------------------------------------


def test_without_bubblewrap_there_is_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CandidateError, match="sandboxMissing: there is no bwrap in PATH"):
        sandbox.bubblewrap()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'No permissions to create a new namespace' >&2; exit 1", "No permissions to create"),
        (None, "Exec format error"),
    ],
    ids=["the system allows none", "it cannot be run"],
)
def test_a_bubblewrap_that_makes_none_says_why(
    tmp_path: Path, script: str | None, why: str
) -> None:
    program = tmp_path / "bwrap"
    program.write_bytes(b"\x7fELF" if script is None else f"#!/bin/sh\n{script}\n".encode())
    program.chmod(0o755)
    with pytest.raises(CandidateError, match="sandboxMissing") as missing:
        sandbox.probe(str(program))
    assert why in missing.value.message


@pytest.mark.parametrize(
    ("producer", "how"),
    [
        (["sh", "-c", "exit 3"], "it ended with status 3"),
        (["sh", "-c", "kill -9 $$"], "it ended by signal 9"),
        (["no-such-program"], "it cannot be started: No such file or directory"),
    ],
    ids=["with a status", "by a signal", "never started"],
)
def test_a_producer_that_fails_is_told(made: Launched, producer: list[str], how: str) -> None:
    with pytest.raises(CandidateError, match="producerFailed") as failed:
        sandbox.run(sandbox.bare(str(made.folder), producer))
    assert failed.value.message == how


def test_an_ordinary_process_has_the_environment_of_a_sandbox(
    made: Launched, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "secret")
    sandbox.run(sandbox.bare(str(made.folder), ["sh", "-c", "pwd; env"]), quiet=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[0] == str(made.workspace)
    assert f"GIT_CANDIDATE_EXPORT={made.export}" in err
    assert "A_TOKEN" not in err


def test_the_line_for_a_shell_does_the_same(made: Launched, tmp_path: Path) -> None:
    producer = ["sh", "-c", 'echo "$0 $1"; pwd', "it's", "a  b"]
    world = sandbox.sandboxed(bubblewrap(), str(made.folder), producer)
    done = subprocess.run(
        ["sh", "-c", world.as_shell()], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"it's a  b\n/workspace\n", b"")


def test_a_folder_of_tools_can_be_read_and_not_written_to(made: Launched, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "hello").write_text("#!/bin/sh\necho hello\n")
    (tools / "hello").chmod(0o755)
    shown = sandbox.check_shown([str(tools)], [str(made.state), str(made.repo)])
    producer = ["sh", "-c", f"{tools}/hello; touch {tools}/x"]
    world = sandbox.sandboxed(bubblewrap(), str(made.folder), producer, shown=shown)
    done = subprocess.run(world.command, env={}, capture_output=True, check=False)
    assert done.stdout == b"hello\n"
    assert b"Read-only file system" in done.stderr


@pytest.mark.parametrize("where", ["it", "in it", "around it", "a link to it", "no folder"])
def test_what_is_hidden_cannot_be_shown_as_a_folder_of_tools(tmp_path: Path, where: str) -> None:
    hidden = tmp_path / "hidden"
    (hidden / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(hidden)
    paths = {
        "it": hidden,
        "in it": hidden / "below",
        "around it": tmp_path,
        "a link to it": tmp_path / "link",
        "no folder": tmp_path / "nothing",
    }
    with pytest.raises(CandidateError, match="sandboxUnsafe"):
        sandbox.check_shown([str(paths[where])], [str(hidden)])
