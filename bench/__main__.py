"""``python -m bench``: see ``--help``."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
from pathlib import Path

from bench import contenders, machine, record
from bench.inputs import Input, InputError, from_argument, from_shape
from bench.results import CONTENDERS, FOR_GROWTH, LABELS, SCALES, Results
from bench.run import Bench, Plan
from bench.shapes import SHAPES
from bench.tables import Tables


def _say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


_DESCRIPTION = """\
Wall time and peak memory of `packcheck verify` beside git and dulwich, in one
run, alternating. A contender runs as a whole process; a round that is not
counted comes first. The ratios are those of each round, and shown as median
(least-most).\
"""

_EPILOG = """\
Without arguments the bench measures packs that it makes itself:
{shapes}

A repository is measured as one pack of all that HEAD reaches. Repositories must
be trusted: git runs in them and obeys their configuration. Nothing is written
to them.

The contenders, all of which run if --contenders does not choose:
{contenders}
Dulwich runs where the interpreter of the bench can import it.

Exit status 1: a contender failed.\
"""


def _parser() -> argparse.ArgumentParser:
    shapes = "\n".join(f"  {name:<14} {shape.about}" for name, shape in SHAPES.items())
    named = "\n".join(f"  {name:<14} {LABELS[name]}" for name in CONTENDERS)
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=_DESCRIPTION,
        epilog=_EPILOG.format(shapes=shapes, contenders=named),
    )
    parser.add_argument("inputs", nargs="*", metavar="[NAME=]PACK-or-REPO")
    parser.add_argument("--rounds", type=_positive, default=5, help="timed rounds (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save every run")
    _add_shapes(parser)
    _add_contenders(parser)
    parser.add_argument("--markdown", action="store_true", help="print markdown tables")
    return parser


def _add_shapes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shapes",
        type=_names(list(SHAPES)),
        metavar="NAME,...",
        help="which packs to make, also beside arguments",
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--scale", choices=SCALES, default="small", help="size of these packs")
    sizes.add_argument(
        "--growth",
        action="store_true",
        help="make each of these packs in all sizes, also beside arguments, and show how time "
        "grows with objects; the larger ones are for packcheck and git index-pack, if "
        "--contenders does not choose",
    )


def _add_contenders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--contenders", type=_names(list(CONTENDERS)), metavar="NAME,...", help="who runs"
    )
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


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


class _names:  # noqa: N801 - argparse shows the name of a type
    """A list of names with commas, each one of those that there are."""

    def __init__(self, known: list[str]) -> None:
        self._known = known

    def __call__(self, text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        if unknown := [name for name in names if name not in self._known]:
            known = ", ".join(self._known)
            raise argparse.ArgumentTypeError(f"no such name: {', '.join(unknown)}; choose {known}")
        return names


def _gather(options: argparse.Namespace, folder: Path) -> list[Input]:
    """All inputs, those that were given first."""
    found = [
        from_argument(argument, folder / f"argument-{number}")
        for number, argument in enumerate(options.inputs)
    ]
    names: list[str] = options.shapes if options.shapes is not None else []
    if options.shapes is None and (options.growth or not options.inputs):
        names = list(SHAPES)
    for name in names:
        for scale in SCALES if options.growth else [options.scale]:
            started = time.perf_counter()
            about = (item := from_shape(name, scale, folder)).about
            taken = time.perf_counter() - started
            size = f"{about.size / 1e6:.1f} MB, {about.objects:,} objects"
            _say(f"made {about.title}: {size} in {taken:.1f} s")
            found.append(item)
    return found


def main() -> int:
    """Gather the inputs, run all contenders, print the tables."""
    parser = _parser()
    options = parser.parse_args()
    installed = contenders.installed()
    wanted = installed if options.contenders is None else options.contenders
    if absent := [name for name in wanted if name not in installed]:
        parser.error(f"--contenders: not installed: {', '.join(absent)}")
    larger = FOR_GROWTH if options.growth and options.contenders is None else None
    plan = Plan(options.packcheck, wanted, options.rounds, options.beside, larger)
    facts = machine.describe()
    with tempfile.TemporaryDirectory(prefix="packcheck-bench-") as name:
        folder = Path(name)
        try:
            inputs = _gather(options, folder)
        except InputError as error:
            _say(str(error))
            return 2
        bench = Bench(folder, plan, _say)
        results = Results(facts, options.rounds, [bench.compare(item) for item in inputs])
    if options.json is not None:
        record.save(options.json, results)
    print(Tables(results, markdown=options.markdown).whole(), end="")
    return 1 if any(row.failed for row in results.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
