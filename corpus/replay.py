"""Verify every case with its own arguments, and say where the verdict is another one.

    python -m corpus.replay [NAME...]

A line has: name, expected verdict/class/code, given verdict/class/codes, ``ok`` or ``DIFFERS``.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

from corpus.build import ROOT, load_index
from packparse import cli

__all__ = ["judge", "main", "verify"]


def verify(row: dict[str, Any], rules: str | None = None, *, jobs: int = 1) -> dict[str, Any]:
    """The report of packcheck on the file of a case; ``error`` where there is none."""
    words = ["verify", "--format", "json", "--rules", rules or row["rules"], "--jobs", str(jobs)]
    words += [_placed(word) for word in row["arguments"]]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status: object = cli.main([*words, str(ROOT / row["file"])])
        except SystemExit as error:
            status = error.code
    if not out.getvalue():
        return {"error": f"status {status}: {err.getvalue().strip()}", "findings": []}
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def _placed(word: str) -> str:
    return str(ROOT / word) if word.startswith("extra/") else word


def judge(row: dict[str, Any], report: dict[str, Any]) -> list[str]:
    """What is wrong with a report, in words; nothing where it is as expected."""
    if "error" in report:
        return [report["error"]]
    expected = row["expected"]
    wrong = [f"{k} {report[k]}" for k in ("verdict", "class") if report[k] != expected[k]]
    errors = {finding["code"] for finding in report["findings"] if finding["severity"] == "error"}
    wanted = {expected["code"], *expected["also"]} - {None}
    wrong += [f"no {code}" for code in sorted(wanted - errors)]
    wrong += [f"also {code}" for code in sorted(errors - wanted)]
    others = {f["code"]: f["severity"] for f in report["findings"] if f["severity"] != "error"}
    wrong += [f"no note {code}" for code in expected["notes"] if code not in others]
    if row["rules"] == "candidate":
        noise = set(others) - set(expected["notes"]) - _USUAL
        wrong += [f"noted {code} ({others[code]})" for code in sorted(noise)]
    return wrong + _wrong_offset(expected, report)


# They follow from another finding, or from how the file was asked about.
_USUAL = {"linksNotChecked", "uncheckedLinks", "baseNotCompared"}


def _wrong_offset(expected: dict[str, Any], report: dict[str, Any]) -> list[str]:
    if expected["offset"] is None:
        return []
    given = [f["offset"] for f in report["findings"] if f["code"] == expected["code"]]
    return [] if not given or expected["offset"] in given else [f"offset {given}"]


def _line(row: dict[str, Any], report: dict[str, Any], wrong: list[str]) -> str:
    expected = row["expected"]
    wanted = f"{expected['verdict']}/{expected['class']}/{expected['code'] or '-'}"
    errors = {finding["code"] for finding in report["findings"] if finding["severity"] == "error"}
    found = "+".join(sorted(errors)) or "-"
    given = f"{report.get('verdict', 'none')}/{report.get('class', '-')}/{found}"
    end = f"DIFFERS: {'; '.join(wrong)}" if wrong else "ok"
    return f"{row['name']} {wanted} {given} {end}\n"


def main(names: list[str]) -> int:
    """Replay the cases of these names, or all; returns 1 where any differs."""
    rows = load_index()
    differ = 0
    for name in names or rows:
        row: dict[str, Any] = rows[name]
        report = verify(row)
        wrong = judge(row, report)
        differ += bool(wrong)
        sys.stdout.write(_line(row, report, wrong))
    sys.stdout.write(f"{len(names or rows)} cases, {differ} differ\n")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
