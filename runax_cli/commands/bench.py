"""`runax bench`: run the benchmark and print its results.

The benchmark itself is in the folder `benchmarks` of a source checkout; wheels do not contain it.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runax_cli.commands.options import BenchOptions, CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.ui.json_output import to_json

_PACKAGE = "benchmarks.bench"
_LONGEST_CELL = 100


async def run(options: BenchOptions, common: CommonOptions) -> ExitCode:
    """Run the sections, print each when it ends, and write the results. The exit code says if the targets were met."""
    bench = _load_benchmark()
    if unknown := sorted(set(options.sections) - set(bench.SECTIONS)):
        raise UsageError(f"unknown section '{unknown[0]}'. Known sections: {', '.join(bench.SECTIONS)}.")
    printer = Printer(environment_of(common), common.output.form)
    course = bench.Course(
        common=common,
        sections=options.sections or tuple(name for name in bench.SECTIONS if name != "plain" or options.is_plain),
        only=options.only,
        events=options.events,
        p=options.p,
        seed=options.seed,
        latency_s=options.latency,
    )
    sections = []
    async for section in bench.run(course, _progress_printer(printer, common)):
        _print(section, printer, common)
        sections.append(section)
    code = exit_code([claim.holds for section in sections for claim in section.claims])
    _write_report(sections, code, options.json_file, printer, common)
    return code


def exit_code(held: Sequence[bool | None]) -> ExitCode:
    """SMOKE_FAILED if a claim failed, SMOKE_INCONCLUSIVE if none could be judged."""
    if False in held:
        return ExitCode.SMOKE_FAILED
    return ExitCode.COMPLETE if True in held else ExitCode.SMOKE_INCONCLUSIVE


def _load_benchmark() -> Any:
    """Import the benchmark package. Raises UsageError if it is not available."""
    try:
        return importlib.import_module(_PACKAGE)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("benchmarks"):
            raise
        raise UsageError(
            "`runax bench` needs the folder 'benchmarks' of a source checkout, which is not installed. Run it in the "
            "root of a checkout, or use `runax smoke`."
        ) from error


def _progress_printer(printer: Printer, common: CommonOptions) -> Any:
    def print_progress(line: str) -> None:
        if not common.output.quiet:
            printer.note(f"bench: {line}")

    return print_progress


def _print(section: Any, printer: Printer, common: CommonOptions) -> None:
    """Print a section as a table; the JSON formats print all sections at the end."""
    if common.output.form != "text":
        return
    printer.text(f"\n{section.name}")
    rows = [{name: _cell(row.get(name, "")) for name in section.columns} for row in section.rows]
    printer.rows(section.name, rows, columns=section.columns)
    for note in section.notes:
        printer.text(f"note: {note}")
    for claim in section.claims:
        printer.text(f"{claim.mark}: {claim.text}")


def _cell(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "NO"
        case int():
            return f"{value:,}"
        case _:
            text = str(value)
            return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _write_report(
    sections: Sequence[Any], code: ExitCode, path: Path | None, printer: Printer, common: CommonOptions
) -> None:
    report = {"exit_code": int(code), "sections": [section.as_json() for section in sections]}
    claims = [claim for section in sections for claim in section.claims]
    if common.output.form == "text":
        printer.text("\nsummary")
        for claim in claims:
            printer.text(f"{claim.mark}: {claim.text}")
    else:
        printer.json(report)
    printer.note(f"bench: {sum(c.holds is True for c in claims)} of {len(claims)} targets met; {code.meaning}")
    if path is None:
        return
    try:
        path.write_text(to_json(report) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write '{path}' ({error.strerror}). Choose a file in an existing folder.") from error
