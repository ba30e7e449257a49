"""Start one program, wait for it, print what it took: run as a script, on its own.

``python -I -S measure.py STDOUT STDERR PROGRAM [ARGUMENT ...]`` prints wall, user and system
seconds, the peak resident size in KiB and the exit status on one line.

A process of its own because Linux carries the peak of the process that calls exec over to the new
program: started from the bench itself, every contender would seem to need what the bench needs.
The floor is therefore the size of this small interpreter.
"""

import os
import sys
import time


def measure(stdout: str, stderr: str, command: list[str]) -> str:
    """Run ``command`` with its output in two files; the line of numbers described above."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, stdout, flags, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, stderr, flags, 0o600),
    ]
    started = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    return f"{wall:.6f} {usage.ru_utime:.6f} {usage.ru_stime:.6f} {peak} {code}"


if __name__ == "__main__":
    print(measure(sys.argv[1], sys.argv[2], sys.argv[3:]))
