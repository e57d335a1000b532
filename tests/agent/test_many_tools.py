"""Hundreds of tools: the main model gets the few that fit, finds the others, and pays for no more."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import ToolSpec
from adapters.catalog import ToolCatalog
from adapters.memory_source import MemorySource
from adapters.openapi.adapter import OpenApiSource
from adapters.openapi.settings import OpenApiSettings
from runax_cli.agent.loop.toolbox import MAX_FOUND, ToolLimits, ToolRegistry, ToolSelection
from runax_cli.agent.session import TurnLimits
from runax_cli.guard.visible_tool import visible_tool
from runax_cli.models.base import ByteCounter, Message, ModelRequest, Role
from runax_cli.models.rules import RulesModel
from runax_cli.models.tokens import CalibratedCounter

SPECS = Path(__file__).parents[2].parent / "shared" / "specs"
BYTES = CalibratedCounter(ByteCounter())
THINGS = ("order", "invoice", "shipment", "customer", "supplier", "refund", "coupon", "review", "basket", "warehouse")
ASPECTS = ("status", "history", "owner", "price", "tag", "comment", "attachment", "approval", "audit", "label")
VERBS = ("list", "get", "count", "search", "export", "archive")


def synthetic(stage: Any) -> list[ToolSpec]:
    """Six hundred tools: every verb for every aspect of every thing."""
    return [
        stage.tool(f"{verb}_{thing}_{aspect}", description=f"{verb.title()} the {aspect} of {thing}s.")
        for thing in THINGS
        for aspect in ASPECTS
        for verb in VERBS
    ]


def behaviours(specs: Sequence[ToolSpec]) -> dict[str, Any]:
    return {spec.name: lambda _call: [{"id": 7, "name": "found"}] for spec in specs}


async def begin(stage: Any, script: Any, **changes: Any) -> Any:
    specs = synthetic(stage)
    bench = await stage.start(script, behaviours(specs), specs=specs, **changes)
    assert len(bench.session.catalog.tools) == 600
    return bench


def unused(_arguments: Any, _page: Any) -> Any:
    raise AssertionError("must not be called")


def names(request: ModelRequest) -> list[str]:
    return [tool.name for tool in request.tools]


async def test_the_list_has_the_tools_that_fit_and_a_way_to_the_others(stage: Any) -> None:
    bench = await begin(stage, [stage.says("Nothing."), stage.says("Nothing.")])
    await bench.session.ask("What is the price of the shipment?")
    request = bench.model.requests[0]
    assert names(request)[0] == "find_tools"
    assert {"list_shipment_price", "get_shipment_price"} <= set(names(request))
    assert len(names(request)) <= 21
    [told] = bench.bodies("tools.offered")
    assert told.total == 600
    assert told.tools == tuple(names(request))
    assert 0 < told.tokens < 8_000


async def test_a_tool_that_is_found_can_be_called_and_stays_for_the_turn(stage: Any) -> None:
    script = [
        stage.calls(("find_tools", {"query": "audit of a warehouse"})),
        stage.calls(("list_warehouse_audit", {"customer_id": 4})),
        stage.says("It is found [audit_1#1]."),
    ]
    bench = await begin(stage, script)
    result = await bench.session.ask("q")
    first, second, third = (names(request) for request in bench.model.requests)
    assert "list_warehouse_audit" not in first
    assert "list_warehouse_audit" in second
    assert "list_warehouse_audit" in third
    found, answered = bench.envelopes(-1)
    assert found["status"] == "success"
    assert {"tool": "list_warehouse_audit", "does": "List the audit of warehouses."} in found["data"]
    assert len(found["data"]) <= MAX_FOUND
    assert answered["status"] == "success"
    assert result.exit_code == 0
    assert result.coverage.records_read == 1


async def test_words_that_no_tool_has_are_told_with_what_there_is(stage: Any) -> None:
    bench = await begin(stage, [stage.calls(("find_tools", {"query": "zebra"})), stage.says("No data.")])
    result = await bench.session.ask("q")
    [nothing] = bench.envelopes(-1)
    assert nothing["data"] == []
    assert "Search again" in nothing["next_action_hint"]
    assert "history 60" in nothing["next_action_hint"]
    assert result.exit_code == 0


async def test_a_tool_that_is_not_on_the_list_can_be_called_by_its_name(stage: Any) -> None:
    script = [stage.calls(("list_coupon_label", {"customer": 4})), stage.says("Wrong."), stage.says("Wrong.")]
    bench = await begin(stage, script)
    await bench.session.ask("q")
    [refused] = bench.envelopes(-1)
    assert refused["status"] == "validation_error"
    assert "customer_id" in refused["error"]["message"]
    assert "list_coupon_label" in names(bench.model.requests[1]), "so that it can be seen what it takes"


async def test_a_question_that_goes_on_has_the_tools_of_the_one_before(stage: Any) -> None:
    script = [stage.calls(("list_coupon_label", {})), stage.says("One [label_1#1]."), stage.says("Yes.")]
    bench = await begin(stage, script)
    await bench.session.ask("Which labels do coupons have?")
    await bench.session.ask("Sure?")
    assert names(bench.model.requests[-1]) == ["find_tools", "list_coupon_label"]


async def test_few_tools_are_all_offered_and_nothing_else(stage: Any) -> None:
    script = [stage.says("No.")] * 2
    bench = await stage.start(script, behaviours(specs := synthetic(stage)[:30]), specs=specs)
    await bench.session.ask("q")
    assert names(bench.model.requests[0]) == [spec.name for spec in specs]


async def test_a_source_with_such_a_tool_keeps_its_name(stage: Any) -> None:
    specs = [*synthetic(stage), stage.tool("find_tools")]
    bench = await stage.start([stage.says("No.")], behaviours(specs), specs=specs)
    await bench.session.ask("q")
    assert "runax_find_tools" in names(bench.model.requests[0])


async def test_a_planner_is_told_of_the_tools_that_fit(stage: Any) -> None:
    seen: list[str] = []

    def script(request: ModelRequest) -> Any:
        seen.append("\n".join(message.content for message in request.messages))
        return stage.says(json.dumps({"parts": []}))

    bench = await begin(stage, script)
    await bench.session.ask("What is the price of the shipment, which coupons have labels, and who owns the basket?")
    assert "list_coupon_label" in seen[0]
    assert "and 560 more" in seen[0]


def test_the_rules_model_looks_for_tools_once_where_none_fits(stage: Any) -> None:
    box = ToolSelection(registry := ToolRegistry(synthetic(stage)), registry, limits=ToolLimits(tools=9), counter=BYTES)
    box.select_for("")
    assert [schema.name for schema in box.offered] == ["find_tools"]
    asked = Message("user", "Show the approval of the refund")
    request = ModelRequest(role=Role.AGENT, messages=(asked,), tools=tuple(box.offered), max_output_tokens=100)
    first = RulesModel().reply(request)
    assert [call.name for call in first.tool_calls] == ["find_tools"]
    box.add_found(box.search(json.loads(first.tool_calls[0].arguments)["query"]))
    told = Message("tool", json.dumps({"status": "success", "data": []}), tool_call_id=first.tool_calls[0].id)
    said = (asked, Message("assistant", "", tool_calls=first.tool_calls), told)
    second = RulesModel().reply(replace(request, messages=said, tools=tuple(box.offered)))
    assert [call.name.partition("_")[2] for call in second.tool_calls] == ["refund_approval"]
    third = RulesModel().reply(replace(request, messages=said))
    assert third.tool_calls == ()


@pytest.mark.parametrize("limits", [ToolLimits(tools=5), ToolLimits(tokens=3_000), ToolLimits(tools=10, tokens=2_500)])
def test_no_list_is_above_its_limits_however_much_is_found(limits: ToolLimits, stage: Any) -> None:
    registry = ToolRegistry(synthetic(stage))
    box = ToolSelection(registry, registry, limits=limits, counter=BYTES)
    box.select_for("orders and their status")
    for thing in THINGS:
        for aspect in ASPECTS[:3]:
            latest = box.search(f"{thing} {aspect}")
            box.add_found(latest)
            listed = [schema.name for schema in box.offered if schema.name != "find_tools"]
            assert latest
            assert latest[0] in listed
            assert limits.allows(len(listed), sum(registry.token_count(name, BYTES) for name in listed))


def test_what_was_called_never_leaves_the_list(stage: Any) -> None:
    registry = ToolRegistry(synthetic(stage))
    box = ToolSelection(registry, registry, limits=ToolLimits(tools=6), counter=BYTES)
    box.select_for("orders and their status")
    box.pin("get_basket_owner")
    for thing in THINGS:
        box.add_found(box.search(thing))
    assert "get_basket_owner" in [schema.name for schema in box.offered]


def test_a_tool_is_made_visible_when_it_is_looked_at(stage: Any) -> None:
    specs = synthetic(stage)
    registry = ToolRegistry(specs)
    assert registry[specs[3].name] == visible_tool(specs[3])
    assert list(registry) == [spec.name for spec in specs]
    assert "zebra" not in registry


QUESTIONS = (
    ("Which open issues does the repository have?", "issues_list-for-repo"),
    ("Who are the contributors of a repository?", "repos_list-contributors"),
    ("List pull requests of the repository", "pulls_list"),
    ("What branches are there in the repository?", "repos_list-branches"),
    ("Which workflow runs failed last week?", "actions_list-workflow-runs-for-repo"),
    ("Which comments were made on issue 12?", "issues_list-comments"),
    ("Show the releases of a repository", "repos_list-releases"),
    ("Who are the members of the organization acme?", "orgs_list-members"),
    ("Secret scanning alerts of the organization", "secret-scanning_list-alerts-for-org"),
    ("Which gists did user mona publish?", "gists_list-for-user"),
    ("Search code for a string", "search_code"),
    ("Dependabot alerts for a repository", "dependabot_list-alerts-for-repo"),
    ("Commits by an author in a repository", "repos_list-commits"),
    ("Labels used in the repository", "issues_list-labels-for-repo"),
    ("Which teams exist in the organization?", "teams_list"),
    ("Followers of user mona", "users_list-followers-for-user"),
    ("Deployments of a repository", "repos_list-deployments"),
    ("Které otevřené issues má repozitář?", "issues_list-for-repo"),
    ("Jaké jsou větve repozitáře?", "repos_list-branches"),
    ("Kdo jsou členové organizace acme?", "orgs_list-members"),
    ("Jaké milníky má repozitář?", "issues_list-milestones"),
    ("Kteří uživatelé sledují uživatele mona?", "users_list-followers-for-user"),
    ("Jaké týmy má organizace?", "teams_list"),
    ("Štítky v repozitáři", "issues_list-labels-for-repo"),
)


@pytest.fixture(scope="module")
def github() -> Path:
    if not (SPECS / "github_api.json").is_file():
        pytest.skip("the document of GitHub is not there")
    return SPECS / "github_api.json"


async def test_of_a_thousand_real_tools_the_one_that_a_question_needs_is_offered_at_once(github: Path) -> None:
    source = await OpenApiSource.open(OpenApiSettings(name="github", document=str(github)))
    try:
        registry = ToolRegistry((await source.list_tools()).tools)
    finally:
        await source.aclose()
    assert len(registry) > 1_000
    missed, sizes = [], []
    for question, name in QUESTIONS:
        box = ToolSelection(registry, registry, limits=ToolLimits(tokens=32_000), counter=BYTES)
        box.select_for(question)
        sizes.append(sum(registry.token_count(schema.name, BYTES) for schema in box.offered[1:]))
        if name not in [schema.name for schema in box.offered]:
            missed.append(question)
    assert missed == []
    assert max(sizes) <= 32_000


async def test_looking_for_tools_several_times_is_progress(stage: Any) -> None:
    looks = [stage.calls(("find_tools", {"query": f"{thing} label"})) for thing in THINGS[:5]]
    script = [*looks, stage.calls(("list_review_label", {})), stage.says("One [label_1#1].")]
    bench = await begin(stage, script)
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code) == ("complete", 0)
    assert len(result.calls) == 6


@pytest.mark.usefixtures("switch_threads_often")
async def test_what_several_looks_find_at_once_is_all_on_the_list(stage: Any) -> None:
    looks = [[("find_tools", {"query": f"{one} {two} {n}"}) for one in THINGS[:4]] for n, two in enumerate(ASPECTS * 3)]
    bench = await begin(
        stage, [*(stage.calls(*four) for four in looks), stage.says("No data.")], limits=TurnLimits(steps=40, calls=200)
    )
    await bench.session.ask("q")
    with_tools = [n for n, request in enumerate(bench.model.requests) if request.tools and n]
    assert len(with_tools) > 3
    for n in with_tools:
        told = {tool["tool"] for envelope in bench.envelopes(n)[-4:] for tool in envelope["data"]}
        assert told <= set(names(bench.model.requests[n]))


async def test_tools_of_several_sources_stand_on_one_list(stage: Any) -> None:
    specs = synthetic(stage)
    shop, desk = (MemorySource(name, {s.name: (s, unused) for s in specs[:300]}) for name in ("shop", "desk"))
    registry = ToolRegistry((await ToolCatalog.load([shop, desk])).tools)
    box = ToolSelection(registry, registry, limits=ToolLimits(), counter=BYTES)
    box.select_for("list the owner of orders")
    assert {"shop__list_order_owner", "desk__list_order_owner"} <= {schema.name for schema in box.offered}
    assert set(box.search("desk list invoice tag")[:1]) == {"desk__list_invoice_tag"}
