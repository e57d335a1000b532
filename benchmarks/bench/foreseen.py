"""How far the forecast of `runax plan` is off from the tokens that the questions used.

Fetches nothing but what a forecast fetches.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.bench.claims import Claim, Section
from benchmarks.bench.judged import Asked
from benchmarks.bench.sections import AnyQuestion, Tell
from benchmarks.bench.stage import Setting, Stage, stage_of
from benchmarks.questions import COMPOUNDS, EXACT, LABELS
from runax_cli.commands.plan import forecast_of, preview_of

MOST_OFF_PERCENT, LEAST_SHARE = 25.0, 0.9


async def foreseen(setting: Setting, answered: Sequence[Asked], tell: Tell) -> Section:
    """Compare the forecast of every answered question, made afterwards, with its usage."""
    questions: list[AnyQuestion] = [*EXACT, *COMPOUNDS, *LABELS]
    by_id = {question.id: question for question in questions}
    rows: list[dict[str, Any]] = []
    for is_hiding in (False, True):
        some = [asked for asked in answered if (asked.kind == "label") is is_hiding]
        if some:
            async with stage_of(setting, is_hiding=is_hiding) as stage:
                # The first request of a process differs from all later ones: its counter is not calibrated.
                await stage.anew().ask(by_id[some[0].id])
                rows += [await _row(stage, asked, by_id[asked.id]) for asked in some]
        tell(f"{len(some)} forecasts made")
    columns = ("id", "forecast", "used", "off_percent", "why")
    return Section(name="forecast", columns=columns, rows=rows, claims=(_claim(rows),))


def _claim(rows: Sequence[Mapping[str, Any]]) -> Claim:
    near = sum(row["off_percent"] is not None and abs(row["off_percent"]) <= MOST_OFF_PERCENT for row in rows)
    text = f"forecast within {MOST_OFF_PERCENT:g} % of the tokens used: {near} of {len(rows)} (target 90 %)"
    return Claim(text, near >= LEAST_SHARE * len(rows) if rows else None)


async def _row(stage: Stage, asked: Asked, question: AnyQuestion) -> dict[str, Any]:
    conversation = stage.anew().conversation
    report = forecast_of(question.text, await preview_of(question.text, conversation), conversation.runtime)
    errors = [str(part.error) for part in report.parts if part.error]
    off = round(100 * (report.tokens - asked.tokens) / asked.tokens, 1) if asked.tokens else None
    return {
        "id": asked.id,
        "kind": asked.kind,
        "forecast": report.tokens,
        "used": asked.tokens,
        "off_percent": off,
        "why": "; ".join(errors),
    }
