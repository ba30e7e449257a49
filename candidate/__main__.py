"""The command as a process of its own: ``git candidate``, and ``python -m candidate``."""

import sys

from candidate.cli import main

__all__ = ["run"]


def run() -> int:
    """Run the command with the arguments of the process. Returns the exit status."""
    return main()


if __name__ == "__main__":
    sys.exit(run())
