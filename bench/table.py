"""Laying out a table: plain for a terminal, or in markdown for the docs."""

from __future__ import annotations

from collections.abc import Sequence


def render(cells: Sequence[Sequence[str]], *, markdown: bool, texts: int = 1) -> str:
    """A table with its head; the first ``texts`` columns are aligned to the left.

    In a plain one heads are broken at line ends and commas, so that columns stay narrow.
    """
    return _markdown(cells, texts) if markdown else _plain(cells, texts)


def _plain(cells: Sequence[Sequence[str]], texts: int) -> str:
    broken = [head.replace(", ", "\n").split("\n") for head in cells[0]]
    height = max(map(len, broken))
    # Short heads stand at the bottom.
    padded = [[""] * (height - len(head)) + head for head in broken]
    lines = [*zip(*padded, strict=True), *cells[1:]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = [_aligned(line, widths, texts) for line in lines]
    shown.insert(height, "  ".join("-" * width for width in widths))
    return "\n".join(shown)


def _aligned(line: Sequence[str], widths: Sequence[int], texts: int) -> str:
    return "  ".join(
        f"{text:{'<' if column < texts else '>'}{width}}"
        for column, (text, width) in enumerate(zip(line, widths, strict=True))
    ).rstrip()


def _markdown(cells: Sequence[Sequence[str]], texts: int) -> str:
    head, *body = ("| " + " | ".join(map(_escaped, line)) + " |" for line in cells)
    rule = "|" + " --- |" * texts + " ---: |" * (len(cells[0]) - texts)
    return "\n".join([head, rule, *body])


def _escaped(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")
