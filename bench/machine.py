"""When and where a bench ran: the facts without which its numbers mean nothing."""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path


def describe() -> dict[str, str]:
    """Name and value of each fact, in the order in which they are shown."""
    return {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": f"{_cpu_model()}, {_cores()} cores",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "git": _git_version(),
        "zlib-ng": _distribution("zlib-ng"),
        "dulwich": _distribution("dulwich"),
    }


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return platform.processor() or platform.machine()


def _git_version() -> str:
    done = subprocess.run(["git", "version"], capture_output=True, check=True)
    return done.stdout.decode("ascii", "replace").strip().removeprefix("git version ")


def _distribution(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
