"""``python -m bench``: see ``--help``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import sys
import tempfile
import time
from pathlib import Path

from bench import machine, table
from bench.inputs import Input, InputError, from_argument, from_shape
from bench.results import Row
from bench.run import Bench
from bench.shapes import SCALES, SHAPES


def _say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    shapes = "\n".join(f"  {name:<12} {shape.about}" for name, shape in SHAPES.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Wall time and peak memory of `packcheck verify --policy mirror --limits "
        "history`\nbeside `git index-pack --strict`, in one run, alternating.",
        epilog=f"Without arguments the bench measures packs that it makes itself:\n{shapes}\n\n"
        "Repositories must be trusted: git runs in them and obeys their configuration.\n"
        "Nothing is written to them. Exit status 1: a contender failed.",
    )
    parser.add_argument("inputs", nargs="*", metavar="PACK-or-REPO")
    parser.add_argument("--rounds", type=_positive, default=5, help="timed rounds (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save all raw numbers")
    parser.add_argument(
        "--shapes",
        type=_shape_names,
        metavar="NAME,...",
        help="which packs to make, also beside arguments",
    )
    parser.add_argument("--scale", choices=SCALES, default="small", help="size of these packs")
    parser.add_argument("--markdown", action="store_true", help="print a markdown table")
    parser.add_argument(
        "--packcheck",
        type=shlex.split,
        default=[sys.executable, "-m", "packparse"],
        metavar="COMMAND",
        help="measure this command instead of the packparse that the bench lies with",
    )
    parser.add_argument(
        "--beside",
        type=shlex.split,
        metavar="COMMAND",
        help="measure another version of packcheck in the same rounds, old ones too: it gets no "
        "policy, and may refuse what it has looked at to the end",
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _shape_names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in SHAPES]:
        raise argparse.ArgumentTypeError(f"no such shape: {', '.join(unknown)}")
    return names


def _gather(options: argparse.Namespace, folder: Path) -> list[Input]:
    names: list[str] = options.shapes if options.shapes is not None else []
    if options.shapes is None and not options.inputs:
        names = list(SHAPES)
    found = []
    for name in names:
        started = time.perf_counter()
        item = from_shape(name, options.scale, folder)
        taken = time.perf_counter() - started
        _say(f"made {name}: {item.size / 1e6:.1f} MB, {item.objects:,} objects in {taken:.1f} s")
        found.append(item)
    for number, argument in enumerate(options.inputs):
        found.append(from_argument(argument, folder / f"argument-{number}"))
    return found


def _save(path: Path, facts: dict[str, str], rows: list[Row], rounds: int) -> None:
    report = {
        "schema": "packcheck.bench/1",
        "machine": facts,
        "rounds": rounds,
        "inputs": [_as_dict(row) for row in rows],
    }
    path.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def _as_dict(row: Row) -> dict[str, object]:
    ratios = {name: getattr(row, name) for name in ("ratio", "beside_ratio", "beside_cpu_ratio")}
    return {**dataclasses.asdict(row), **ratios}


def main() -> int:
    """Gather the inputs, run all contenders, print the table."""
    options = _parser().parse_args()
    facts = machine.describe()
    with tempfile.TemporaryDirectory(prefix="packcheck-bench-") as name:
        folder = Path(name)
        try:
            inputs = _gather(options, folder)
        except InputError as error:
            _say(str(error))
            return 2
        bench = Bench(folder, options.packcheck, options.rounds, _say, beside=options.beside)
        rows = [bench.compare(item) for item in inputs]
    print(table.render(facts, rows, options.rounds, markdown=options.markdown), end="")
    if options.json is not None:
        _save(options.json, facts, rows, options.rounds)
    return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
