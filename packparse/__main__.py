"""The command as a process of its own: ``packcheck``, and ``python -m packparse``.

Loading modules makes thousands of objects and no garbage, and at the end they go with the process.
Looking through them for cycles, again and again as they come and once more before they go, would
take a tenth of the time of a small file.
"""

import gc
import sys

__all__ = ["run"]


def run() -> int:
    """Run the command with the arguments of the process. Returns the exit status."""
    gc.disable()
    from packparse.cli import main

    status = main(loaded=_watch)
    gc.freeze()
    return status


def _watch() -> None:
    # What is there by now stays; what the work makes is looked through.
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    sys.exit(run())
