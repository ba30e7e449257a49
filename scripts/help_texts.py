"""What commands print with ``--help``, for the pages that show it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 80


@functools.cache
def help_text(package: str, command: str = "") -> str:
    """What ``python -m package [command] --help`` prints on a terminal of 80 columns."""
    arguments = [command, "--help"] if command else ["--help"]
    done = subprocess.run(
        [sys.executable, "-m", package, *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout
