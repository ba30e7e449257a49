"""The results as text: a plain table for the terminal, a markdown table for the docs."""

from __future__ import annotations

from bench.results import BESIDE, CONTENDERS, Outcome, Row, geometric_mean

_NONE = "-"
_RELAXED = "git refuses it under plain --strict; timed with old oddities ignored"


def render(facts: dict[str, str], rows: list[Row], rounds: int, *, markdown: bool) -> str:
    """Header, table, notes and the geometric mean, ready to print."""
    beside = any(BESIDE in row.outcomes for row in rows)
    contenders = (*CONTENDERS, BESIDE) if beside else CONTENDERS
    cells = [_head(contenders), *(_cells(row, contenders) for row in rows)]
    table = _markdown(cells) if markdown else _plain(cells)
    legend = (
        f"Seconds: median (min-max) of {rounds} alternating rounds. "
        "MiB: highest peak of resident memory."
    )
    parts = [_facts(facts, markdown=markdown), table, legend]
    if notes := _notes(rows, markdown=markdown):
        parts.append(notes)
    mean = _mean("packcheck / git with one thread", [row.ratio for row in rows])
    if beside:
        mean += "\n" + _mean("packcheck / beside", [row.beside_ratio for row in rows])
        mean += "\n" + _mean("packcheck / beside, CPU", [row.beside_cpu_ratio for row in rows])
    parts.append(mean)
    return "\n\n".join(parts) + "\n"


def _head(contenders: tuple[str, ...]) -> list[str]:
    ratios = ["packcheck / git 1"]
    if BESIDE in contenders:
        ratios += ["packcheck / beside", "the same, CPU"]
    seconds = [f"{name} (s)" for name in contenders]
    return ["input", "MB", "objects", *seconds, *ratios, *(f"{name} (MiB)" for name in contenders)]


def _cells(row: Row, contenders: tuple[str, ...]) -> list[str]:
    name = f"{row.name} (relaxed)" if row.relaxed else row.name
    outcomes = [row.outcomes[contender] for contender in contenders]
    ratios = [row.ratio]
    if BESIDE in contenders:
        ratios += [row.beside_ratio, row.beside_cpu_ratio]
    head = [name, f"{row.size / 1e6:.1f}", f"{row.objects:,}"]
    return [*head, *map(_seconds, outcomes), *map(_shown, ratios), *map(_peak, outcomes)]


def _shown(ratio: float | None) -> str:
    return _NONE if ratio is None else f"{ratio:.2f}"


def _seconds(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return "failed"
    if outcome.median is None:
        return _NONE
    times = [run.seconds for run in outcome.runs]
    digits = 3 if outcome.median < 0.1 else 2
    return f"{outcome.median:.{digits}f} ({min(times):.{digits}f}-{max(times):.{digits}f})"


def _peak(outcome: Outcome) -> str:
    return _NONE if outcome.peak_mib is None else f"{outcome.peak_mib:.0f}"


def _facts(facts: dict[str, str], *, markdown: bool) -> str:
    if markdown:
        return "\n".join(f"- {name}: {value}" for name, value in facts.items())
    width = max(map(len, facts))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in facts.items())


def _notes(rows: list[Row], *, markdown: bool) -> str:
    notes = []
    for row in rows:
        if row.relaxed:
            notes.append(f"{row.name} (relaxed): {_RELAXED}")
        for contender, outcome in row.outcomes.items():
            if outcome.failure is not None:
                notes.append(f"{row.name}: {contender} failed, {outcome.failure}")
    return "\n".join(f"- {note}" if markdown else f"! {note}" for note in notes)


def _mean(what: str, ratios: list[float | None]) -> str:
    counted = len(ratios) - ratios.count(None)
    mean = _shown(geometric_mean(ratios))
    return f"Geometric mean of {what}: {mean} ({counted} of {len(ratios)} inputs)"


def _plain(cells: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [_aligned(line, widths) for line in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _aligned(line: list[str], widths: list[int]) -> str:
    first, *rest = (
        f"{text:{'<' if column == 0 else '>'}{width}}"
        for column, (text, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()


def _markdown(cells: list[list[str]]) -> str:
    head, *body = (
        "| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in cells
    )
    rule = "| --- |" + " ---: |" * (len(cells[0]) - 1)
    return "\n".join([head, rule, *body])
