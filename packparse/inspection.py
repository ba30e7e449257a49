"""What verifying a file and verifying a folder have in common: all that follows the last object.

The numbers of steps are those of verify.py. Whoever reads objects puts them into ``table`` and has
them examined; then steps 7 to 14 are the same, whatever the objects were read from.
"""

from __future__ import annotations

from packparse import checks, codes
from packparse.entry import KIND_NAMES
from packparse.errors import PackError
from packparse.examine import Examiner
from packparse.findings import Findings
from packparse.graph import LinkTable
from packparse.judge import Judge
from packparse.objectformat import SHA1, ObjectFormat
from packparse.outside import Outside
from packparse.pack import Pack
from packparse.places import Places
from packparse.report import Report
from packparse.suspects import Suspects
from packparse.table import EntryTable, IdIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from packparse.bundle import BundleHeader
    from packparse.options import Options
    from packparse.pack import Objects

    # Phase, what is done, and of how much; None where that is not known.
    OnProgress = Callable[[str, int, int | None], None]

__all__ = ["Inspection"]

# Bytes of findings kept to learn whether the base has the same.
_SPARE = 10 << 20


class Inspection:
    """One input, what is known of it so far, and its report.

    ``refused`` tells, at any time, whether going on can only confirm a refusal. ``on_progress`` is
    told how far the work is.
    """

    def __init__(self, options: Options, name: str) -> None:
        self.options = options
        self.refused = False
        self.on_progress: OnProgress | None = None
        self._limits = options.limits
        spare = _SPARE if options.read_base is not None else 0
        self._findings = Findings(options.rules, options.policy.chosen_severities(), spare=spare)
        self._places = Places()
        self._suspects = Suspects(wanted=options.read_base is not None)
        self.report = Report(name, options.rules, options.limits, self._findings)
        self.report.policy = options.policy.name
        self._header: BundleHeader | None = None
        self._prepare(options.object_format or SHA1)

    def refuse(self, error: PackError) -> None:
        """End the work on this input with a finding."""
        self.refused = True
        self._findings.add_error(error)

    def _prepare(self, object_format: ObjectFormat) -> None:
        """Begin with no object, of a format that may be known only now."""
        self._format = object_format
        self.table = EntryTable(object_format)
        self._links = LinkTable(object_format.width)
        self._examine = Examiner(
            self.table,
            self._links,
            self._limits,
            self._findings,
            self._places,
            self._suspects,
            policy=self.options.policy,
        )
        prerequisites = () if self._header is None else self._header.prerequisites
        self._outside = Outside(
            object_format,
            known=self.options.known,
            read_base=self.options.read_base,
            base_info=self.options.base_info,
            bases=self.options.bases,
            prerequisites=frozenset(prerequisites),
        )

    def _progress(self, phase: str, done: int, total: int | None = None) -> None:
        if self.on_progress is not None:
            self.on_progress(phase, done, total)

    def _check_whole(self, objects: Objects, unknown: int) -> None:
        """Steps 7 to 14. ``unknown`` counts the objects that are lost to earlier findings."""
        self._progress("checking", 0)
        index = IdIndex(self.table.ids, self.table.width)
        self._check_duplicates(index)
        pack = Pack(self.table, self._links, self._examine, index, objects, self._limits)
        try:
            if unknown:
                message = f"not checked; objects that are not known: {unknown}"
                self._findings.add(checks.LINKS_NOT_CHECKED, message)
            else:
                self._judge(pack)
        except PackError as error:
            self.refuse(error)
        self._places.fill(self.table, self._links, objects, self._examine.reader)

    def _judge(self, pack: Pack) -> None:
        Judge(
            pack,
            self._outside,
            self.report,
            self._places,
            self._suspects,
            tips=self.options.tips,
            header=self._header,
            policy=self.options.policy,
        ).run()

    def _check_duplicates(self, index: IdIndex) -> None:
        table = self.table
        for number in index.repeated():
            if table.is_resolved(number):
                message = f"the same {KIND_NAMES[table.kinds[number]]} is in the pack already"
                offset, oid = table.offsets[number], table.oid(number)
                self._findings.add(codes.DUPLICATE_OBJECT, message, offset=offset, oid=oid)

    def _fill_report(self) -> None:
        """What the report says of the objects, and of what lies around them."""
        report = self.report
        report.prerequisites = sorted(self._outside.bases | self._outside.prerequisites)
        refs = {} if self._header is None else self._header.refs
        report.tips = {**refs, **self.options.tips}
        table = self.table
        report.counts = {"objects": len(table)}
        report.counts |= {f"{name}s": table.count(kind) for kind, name in KIND_NAMES.items()}
        report.counts["deltas"] = table.deltas
