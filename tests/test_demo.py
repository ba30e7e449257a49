"""The demo ends as it says: it is the first thing that a stranger runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import gitrepo

ROOT = Path(__file__).resolve().parents[1]


def test_the_demo_ends_as_expected(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "demo.py")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.endswith("All 7 steps ended as expected.\n")
    assert [f"exit {status}, as expected." in done.stdout for status in (0, 1, 3, 4)] == [True] * 4
    assert list(tmp_path.iterdir()) == []


def test_the_demo_works_where_there_is_no_repository(tmp_path: Path) -> None:
    # An unpacked archive of the sources: the script and the package, no .git.
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "demo.py"
    script.write_bytes((ROOT / "scripts" / "demo.py").read_bytes())
    (tmp_path / "packparse").symlink_to(ROOT / "packparse")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**gitrepo.clean_env(tmp_path), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of a small one made for the demo" in done.stdout
    assert done.stdout.endswith("All 7 steps ended as expected.\n")
