"""`runax bench`: questions with known answers, by a model that knows or a real one; tokens, time and the plain way.

Knows how the bench is started, printed and written. What it asks and what it has to reach is in the checkout's
`benchmarks`, which no wheel ships.
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
    """Run the sections, print each as it ends, write the figures, and say by the exit code whether targets were met."""
    bench = _bench()
    if unknown := sorted(set(options.sections) - set(bench.SECTIONS)):
        raise UsageError(f"there is no section '{unknown[0]}'. There are {', '.join(bench.SECTIONS)}.")
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
    async for section in bench.run(course, _teller(printer, common)):
        _print(section, printer, common)
        sections.append(section)
    code = exit_code([claim.holds for section in sections for claim in section.claims])
    _finish(sections, code, options.json_file, printer, common)
    return code


def exit_code(held: Sequence[bool | None]) -> ExitCode:
    """SMOKE_FAILED where a claim did not hold, SMOKE_INCONCLUSIVE where none could be judged."""
    if False in held:
        return ExitCode.SMOKE_FAILED
    return ExitCode.COMPLETE if True in held else ExitCode.SMOKE_INCONCLUSIVE


def _bench() -> Any:
    """The package of the bench. Raises UsageError where it is not at hand."""
    try:
        return importlib.import_module(_PACKAGE)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("benchmarks"):
            raise
        raise UsageError(
            "`runax bench` runs from a checkout of runax: the folder 'benchmarks' with its questions is not installed. "
            "Run it in the root of a checkout; `runax smoke` needs none."
        ) from error


def _teller(printer: Printer, common: CommonOptions) -> Any:
    def tell(line: str) -> None:
        if not common.output.quiet:
            printer.note(f"bench: {line}")

    return tell


def _print(section: Any, printer: Printer, common: CommonOptions) -> None:
    """A table in the text form; in the others the figures come at the end."""
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


def _finish(
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
    printer.note(f"bench: {sum(c.holds is True for c in claims)} of {len(claims)} targets reached; {code.meaning}")
    if path is None:
        return
    try:
        path.write_text(to_json(report) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"'{path}' cannot be written ({error.strerror}). Name a file in a folder that exists."
        ) from error
