"""Every function, method, property and class of the shipped packages is used outside of the tests."""

from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).parents[2]
PACKAGES = ("runax_cli", "adapters", "mock_api", "mockdata")
KINDS = frozenset({"class", "function", "method", "property"})
REGISTERED = ["@*.command", "@*.callback", "@*.register", "@*.add", "@_command", "@field_validator", "@model_validator"]
CALLED_FROM_OUTSIDE = {
    "capture_signals": "overrides uvicorn.Server",
    "get_completions": "overrides prompt_toolkit.completion.Completer",
    "settings_customise_sources": "hook of pydantic-settings",
    "AlwaysAllow": "in-memory twin of a protocol, for tests and embedders",
    "ManualClock": "in-memory twin of a protocol, for tests and embedders",
    "MemorySource": "in-memory twin of a protocol, for tests and embedders",
    "ScriptedModel": "in-memory twin of a protocol, for tests and embedders",
    "create_unusual_app": "mock server of the contract tests",
    "create_conventions_mcp_app": "mock server of the contract tests",
}


def test_everything_that_is_defined_is_used_by_the_product() -> None:
    scanner = Vulture(ignore_names=list(CALLED_FROM_OUTSIDE), ignore_decorators=REGISTERED)
    scanner.scavenge([str(ROOT / package) for package in PACKAGES])
    unused = [item for item in scanner.get_unused_code() if item.typ in KINDS]
    assert [f"{item.filename.relative_to(ROOT)}:{item.first_lineno} {item.typ} {item.name}" for item in unused] == []
