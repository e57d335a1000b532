"""A change of a prompt is a change of its version, seen in review as a change of its snapshot.

To renew one, write `name@version`, a blank line and the text into `snapshots/<name>.txt`.
"""

import re
from pathlib import Path

import pytest

from runax_cli.agent import prompts
from runax_cli.models.base import Prompt
from runax_cli.models.tokens import O200kCounter

SNAPSHOTS = Path(__file__).parent / "snapshots"
FIELDS = {
    "agent_system": {"today"},
    "agent_forced": {"reason"},
    "agent_folded": {"tool"},
    "agent_entities": {"entities"},
    "agent_sweep": {"entity", "skipped"},
    "sweep_focus": {"question", "entity"},
    "summary_user": {"question", "conversation"},
    "summary_block": {"mark", "summary", "kept"},
    "reducer_user": {"focus", "records"},
    "reducer_repair": {"errors"},
    "merge_user": {"focus", "findings"},
    "labeller_user": {"instruction", "fields", "texts"},
    "labeller_repair": {"errors"},
    "reviewer_user": {"question", "evidence", "statements"},
    "reviewer_repair": {"errors"},
    "planner_system": {"today", "tools", "most"},
    "planner_user": {"question"},
    "planner_revise": {"question", "parts", "why", "open"},
    "part_expects": {"question", "expects"},
    "part_context": {"question", "context"},
}


def rendered(prompt: Prompt) -> str:
    return f"{prompt.id}\n\n{prompt.text}\n"


@pytest.mark.parametrize("prompt", prompts.ALL, ids=lambda prompt: prompt.name)
def test_the_wording_is_that_of_its_version(prompt: Prompt) -> None:
    assert rendered(prompt) == (SNAPSHOTS / f"{prompt.name}.txt").read_text(encoding="utf-8")


def test_every_prompt_of_the_module_is_listed_under_a_name_of_its_own() -> None:
    defined = {value for value in vars(prompts).values() if isinstance(value, Prompt)}
    assert defined == set(prompts.ALL)
    assert len({prompt.name for prompt in prompts.ALL}) == len(prompts.ALL)
    assert {path.stem for path in SNAPSHOTS.iterdir()} == {prompt.name for prompt in prompts.ALL}


@pytest.mark.parametrize("prompt", prompts.ALL, ids=lambda prompt: prompt.name)
def test_the_fields_are_those_that_callers_fill(prompt: Prompt) -> None:
    assert set(re.findall(r"\{\{(.*?)\}\}", prompt.text)) == FIELDS.get(prompt.name, set())


def test_the_reducers_message_has_the_agreed_form() -> None:
    filled = prompts.REDUCER_USER.fill(focus="Co se stalo?", records='[1] {"id":1}\n[2] {"id":2}')
    assert filled == 'FOCUS:\nCo se stalo?\n\n<records>\n[1] {"id":1}\n[2] {"id":2}\n</records>'


def test_the_merging_message_has_the_agreed_form() -> None:
    filled = prompts.MERGE_USER.fill(focus="f", findings="[f1] a\n[f2] b")
    assert filled == "FOCUS:\nf\n\n<findings>\n[f1] a\n[f2] b\n</findings>"


@pytest.mark.parametrize(
    ("prompt", "most"), [(prompts.AGENT_SYSTEM, 1100), (prompts.REDUCER_SYSTEM, 600), (prompts.PLANNER_SYSTEM, 600)]
)
def test_prompts_that_every_request_pays_for_stay_short(prompt: Prompt, most: int) -> None:
    assert O200kCounter().count(prompt.text) <= most
