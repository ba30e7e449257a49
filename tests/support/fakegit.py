"""A git first on the search path that goes wrong in one command, and is the real one otherwise."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# What a script of the command finds: "$@" are the arguments, and "$real" is the real git.
_SCRIPT = """#!/bin/sh
real={real}
for word; do
    if [ "$word" = {command} ]; then
{script}
    fi
done
exec "$real" "$@"
"""


@contextmanager
def faked(folder: Path, command: str, script: str) -> Iterator[None]:
    """Inside of the block a git command is a script; ``$real`` in it is the real git."""
    real = shutil.which("git")
    assert real is not None
    made = folder / f"fake-{len(list(folder.glob('fake-*')))}"
    made.mkdir()
    text = _SCRIPT.format(real=shlex.quote(real), command=shlex.quote(command), script=script)
    (made / "git").write_text(text)
    (made / "git").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{made}{os.pathsep}{os.environ['PATH']}")
        yield
