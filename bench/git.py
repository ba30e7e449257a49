"""Running git for the bench: a clean environment, and packs written the same way each time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path


def clean_environment(home: Path) -> dict[str, str]:
    """An environment in which no configuration of the user or the machine reaches git."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env.update(
        HOME=str(home),
        XDG_CONFIG_HOME=str(home),
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_NO_REPLACE_OBJECTS="1",
        LC_ALL="C",
        TZ="UTC",
    )
    return env


def owner_environment() -> dict[str, str]:
    """The user's own environment, without the variables that point git at another repository."""
    keep = {"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"}
    env = {n: v for n, v in os.environ.items() if n in keep or not n.startswith("GIT_")}
    env.update(GIT_NO_REPLACE_OBJECTS="1", GIT_OPTIONAL_LOCKS="0", LC_ALL="C")
    return env


def output(
    arguments: list[str], env: dict[str, str], cwd: Path | None = None, data: bytes = b""
) -> str:
    """What git prints, given ``data``; raises ``subprocess.CalledProcessError`` when it fails."""
    done = subprocess.run(
        ["git", *arguments], env=env, cwd=cwd, input=data, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "replace").strip()


def init_bare(path: Path, env: dict[str, str], object_format: str = "sha1") -> None:
    """Make an empty bare repository without templates (so without hooks)."""
    output(
        ["init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(path)],
        env,
    )


def fast_import(repository: Path, stream: Iterable[bytes], env: dict[str, str]) -> None:
    """Feed a ``git fast-import`` stream; deltas are left to ``write_pack``."""
    command = ["git", "-C", str(repository), "-c", "pack.compression=0"]
    command += ["fast-import", "--quiet", "--depth=0"]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE) as child:
        if child.stdin is not None:
            child.stdin.writelines(stream)
            child.stdin.close()
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)


def write_pack(
    repository: Path, target: Path, env: dict[str, str], *options: str, revisions: str = ""
) -> None:
    """Write one pack file of what the options, and the revisions for ``--revs``, ask for."""
    command = ["git", "-C", str(repository), "pack-objects", "--stdout", "--quiet", *options]
    with target.open("wb") as sink:
        subprocess.run(command, env=env, input=revisions.encode(), stdout=sink, check=True)
