"""All records of one call on standard output: a preview, one envelope that holds them, or one record a line.

Knows the three forms. Records are printed as they are read from disk, so that no size is too large.
"""

from typing import assert_never

from runax_cli.commands.options import OutputOptions
from runax_cli.commands.printing import Printer
from runax_cli.errors import RunaxError, SourceUnavailable, UsageError
from runax_cli.executor.call import CallOutcome
from runax_cli.executor.compact import compact_bytes
from runax_cli.executor.dataset import Dataset
from runax_cli.executor.envelope import FaultCode, ToolFault
from runax_cli.exits import ExitCode
from runax_cli.results import TotalIs, counted
from runax_cli.ui.console import one_line

_RECORDS_SHOWN = 10
_CHARS_SHOWN = 200


def print_outcome(outcome: CallOutcome, printer: Printer, output: OutputOptions) -> ExitCode:
    """Print the records, and what was read of how many to standard error. Raises what the call failed of."""
    match output.form:
        case "text":
            _preview(outcome.dataset, printer)
        case "json":
            _envelope(outcome, printer)
        case "jsonl":
            _records(outcome.dataset, printer)
        case _ as never:
            assert_never(never)
    if outcome.envelope.error is not None:
        raise _error(outcome.envelope.error, outcome)
    if not output.quiet:
        printer.note(certificate_of(outcome))
    return ExitCode.COMPLETE if outcome.coverage.is_complete else ExitCode.INCOMPLETE


def _preview(dataset: Dataset | None, printer: Printer) -> None:
    if dataset is None:
        return
    for line in dataset.lines(1, 1 + _RECORDS_SHOWN):
        printer.text(one_line(line.decode("utf-8", "replace"), limit=_CHARS_SHOWN))
    if dataset.n_records > _RECORDS_SHOWN:
        printer.note(f"… and {dataset.n_records - _RECORDS_SHOWN:,} more; -o jsonl prints them all")


def _records(dataset: Dataset | None, printer: Printer, *, separator: str = "") -> None:
    lines = () if dataset is None else dataset.lines()
    for number, line in enumerate(lines):
        printer.json_line(line, before=separator if number else "", end="" if separator else "\n")
        if printer.is_broken:
            return
    printer.flush()


def _envelope(outcome: CallOutcome, printer: Printer) -> None:
    """The envelope as one object on one line, its `data` written record by record."""
    fields = outcome.envelope.model_dump(mode="json", exclude_none=True, exclude={"data"})
    printer.json_line(compact_bytes(fields)[:-1], end=',"data":[')
    _records(outcome.dataset, printer, separator=",")
    printer.json_line(b"", end="]}\n")
    printer.flush()


def _error(fault: ToolFault, outcome: CallOutcome) -> RunaxError:
    text = f"'{outcome.report.tool}' gave no data: {fault.message.rstrip('.')}"
    if fault.code is FaultCode.INVALID_ARGUMENTS:
        return UsageError(f"{text}. `runax tools show {outcome.report.tool}` tells its arguments.")
    where = f"`runax doctor` checks the source, `runax tools show {outcome.report.tool}` tells the tool's arguments."
    return SourceUnavailable(f"{text}. {'Try it again later.' if fault.retryable else where}")


def certificate_of(outcome: CallOutcome) -> str:
    """What was read of how many, in one line."""
    coverage, report = outcome.coverage, outcome.report
    least = "≥" if coverage.total_is is TotalIs.AT_LEAST else ""
    total = "?" if coverage.records_total is None else f"{least}{coverage.records_total:,}"
    noun = report.dataset.rpartition("_")[0] if report.dataset else "records"
    parts = [
        f"{coverage.records_read:,}/{total} {noun} fetched",
        counted(coverage.pages_read, "page") + (f", {coverage.pages_failed} failed" if coverage.pages_failed else ""),
        "complete" if coverage.is_complete else "incomplete",
        *(reason.text for reason in coverage.reasons),
        counted(report.requests, "request"),
        f"{report.duration_s:.1f} s",
    ]
    return " · ".join(parts)
