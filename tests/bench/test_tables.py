"""The tables say what was measured, on a terminal and in markdown."""

from __future__ import annotations

from bench.results import (
    BESIDE,
    DULWICH,
    GIT_ONE,
    PACKCHECK_GIT,
    PACKCHECK_ONE,
    Outcome,
    Results,
    Row,
    Run,
)
from bench.tables import PARTS, Tables
from tests.bench.made import about, outcome, results, row


def plain(made: Results, name: str) -> str:
    return Tables(made, markdown=False).part(name)


def lines(made: Results, name: str) -> list[list[str]]:
    """The cells of a markdown table, without the line below the head."""
    shown = Tables(made, markdown=True).part(name).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in shown]
    return [cells[0], *cells[2:]]


def test_all_of_it_on_a_terminal() -> None:
    made = row(outcome(0.5, 1.0, 2.0), outcome(2.0, 2.0, 2.0, peak_mib=7), outcome(0.01234))
    assert Tables(results(made, rounds=3), markdown=False).whole() == (
        "date    2026-01-02\n"
        "cpu     one\n"
        "rounds  3, alternating\n"
        "\n"
        "input   MB  objects  commit\n"
        "-----  ---  -------  ------\n"
        "in     2.5   12,345       -\n"
        "\n"
        "         packcheck       git        git\n"
        "seconds      1 job  1 thread  2 threads\n"
        "-------  ---------  --------  ---------\n"
        "in            1.00      2.00      0.012\n"
        "\n"
        "                       packcheck 1\n"
        "ratio of seconds           / git 1\n"
        "----------------  ----------------\n"
        "in                0.50 (0.25-1.00)\n"
        "\n"
        "geometric mean          all inputs    highest\n"
        "-------------------  -------------  ---------\n"
        "packcheck 1 / git 1  0.50 (1 of 1)  0.50 (in)\n"
        "\n"
        "          packcheck       git        git\n"
        "peak MiB      1 job  1 thread  2 threads\n"
        "--------  ---------  --------  ---------\n"
        "in               20         7         20\n"
        "\n"
        "Seconds: median of 3 rounds. Ratios: of each round; median (least-most).\n"
        "MiB: highest peak of resident memory; of several processes together, sampled.\n"
    )


def test_markdown_has_room_for_the_fastest_and_the_slowest() -> None:
    made = results(row(outcome(0.5, 1.0, 2.0), outcome(2.0, 2.0, 2.0), name="a|b"), rounds=3)
    tables = Tables(made, markdown=True)
    assert tables.part("facts").splitlines()[-1] == "- rounds: 3, alternating"
    assert tables.part("seconds") == (
        "| seconds | packcheck, 1 job | git, 1 thread | git, 2 threads |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| a\\|b | 1.00 (0.50-2.00) | 2.00 (2.00-2.00) | 1.00 (1.00-1.00) |"
    )
    assert lines(made, "ratios") == [
        ["ratio of seconds", "packcheck 1 / git 1"],
        ["a\\|b", "0.50 (0.25-1.00)"],
    ]


def test_a_clone_is_shown_with_its_commit_and_a_shape_with_its_size() -> None:
    clone, shape = row(outcome(1.0), outcome(1.0)), row(outcome(1.0), outcome(1.0))
    clone.about, shape.about = about("flask", commit="0123456789abcdef"), about(scale="large")
    clone.relaxed = True
    made = results(clone, shape)
    assert [line[0] for line in lines(made, "inputs")] == ["input", "flask (relaxed)", "in, large"]
    assert [line[-1] for line in lines(made, "inputs")] == ["commit", "0123456789ab", "-"]
    assert plain(made, "notes").startswith("! flask (relaxed): git refuses it under plain --strict")


def test_the_means_are_of_given_inputs_and_of_shapes_where_there_are_both() -> None:
    given = [row(outcome(4.0), outcome(1.0)), row(outcome(1.0), outcome(1.0), name="b")]
    shape = row(outcome(1.0), outcome(16.0))
    shape.about = about("c", scale="small")
    failed = row(Outcome(failure="exit 1"), outcome(1.0), name="d")
    made = results(*given, shape, failed)
    assert lines(made, "means") == [
        ["geometric mean", "all inputs", "given inputs", "shapes", "highest"],
        ["packcheck 1 / git 1", "0.63 (3 of 4)", "2.00 (2 of 3)", "0.06 (1 of 1)", "4.00 (in)"],
    ]
    assert lines(results(shape), "means")[0] == ["geometric mean", "all inputs", "highest"]
    assert lines(results(failed), "means")[1][1:] == ["- (0 of 1)", "-"]


def sized(scale: str, objects: int, ours: Outcome, git: float = 1.0, name: str = "in") -> Row:
    outcomes = {PACKCHECK_ONE: ours, GIT_ONE: outcome(git)}
    return Row(about(name, objects, scale), outcomes)


def test_growth_is_time_beside_objects() -> None:
    made = results(
        sized("small", 100, outcome(1.0)),
        sized("medium", 300, outcome(3.0), 2.0),
        sized("large", 800, outcome(9.0), 0.05),
    )
    assert lines(made, "growth") == [
        [
            *("growth", "objects", "x objects"),
            *("packcheck, 1 job (s)", "x time", "for 10 x"),
            *("git, 1 thread (s)", "x time", "for 10 x"),
        ],
        ["in", "100", "1.00", "1.00", "1.00", "10.0", "1.00", "1.00", "10.0"],
        ["in, medium", "300", "3.00", "3.00", "3.00", "10.0", "2.00", "2.00", "6.7"],
        ["in, large", "800", "8.00", "9.00", "9.00", "11.2", "0.050", "0.05", "0.1"],
    ]
    assert "For 10 x" in plain(made, "legend")


def test_growth_needs_several_sizes_of_one_shape() -> None:
    alone = [sized("large", 800, outcome(9.0)), sized("small", 1, outcome(9.0), name="b")]
    made = results(*alone, row(outcome(1.0), outcome(1.0)))
    assert plain(made, "growth") == ""
    assert "For 10 x" not in plain(made, "legend")


def test_growth_of_what_failed_is_not_known() -> None:
    failed = sized("large", 800, Outcome(failure="exit 1"))
    line = lines(results(sized("small", 100, outcome(1.0)), failed), "growth")[-1]
    assert line[3:6] == ["failed", "-", "-"]


def test_another_version_has_its_columns() -> None:
    made = row(outcome(1.5), outcome(1.0))
    made.outcomes[PACKCHECK_ONE] = Outcome([Run(1.5, 1.1, 0.1, 20 << 10)])
    made.outcomes[BESIDE] = Outcome([Run(1.0, 0.7, 0.1, 9 << 10)])
    head, line = lines(results(made), "ratios")
    assert dict(zip(head[2:], line[2:], strict=True)) == {
        "packcheck 1 / beside": "1.50 (1.50-1.50)",
        "the same, CPU": "1.50 (1.50-1.50)",
    }
    assert [line[0] for line in lines(results(made), "means")][2:] == [
        "packcheck 1 / beside",
        "the same, CPU",
    ]
    assert lines(results(made), "memory")[1][-1] == "9"


def test_a_failure_is_a_cell_and_a_note() -> None:
    made = row(Outcome(failure="exit 1: broken"), outcome(1.0), Outcome())
    made.outcomes[PACKCHECK_GIT] = outcome(1.0)
    shown = results(made)
    assert lines(shown, "seconds")[1] == [
        "in", "failed", "1.00 (1.00-1.00)", "-", "1.00 (1.00-1.00)",
    ]  # fmt: skip
    assert plain(shown, "notes") == "! in: packcheck, 1 job failed, exit 1: broken"
    assert lines(shown, "memory")[1] == ["in", "-", "20", "-", "20"]


def test_without_anything_to_compare_there_are_no_ratios() -> None:
    made = results(Row(about(), {DULWICH: outcome(1.0)}))
    assert plain(made, "ratios") == plain(made, "means") == ""
    assert {name for name in PARTS if plain(made, name)} == {
        "facts", "inputs", "seconds", "memory", "legend",
    }  # fmt: skip
