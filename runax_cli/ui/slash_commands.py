"""The slash commands of the chat prompt, in one table from which `/help` is generated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Protocol

from adapters.base import ToolSpec
from runax_cli.core.results import RoleUsage, RunResult, counted
from runax_cli.ui.answer import evidence_lines
from runax_cli.ui.console import one_line
from runax_cli.ui.json_output import to_json
from runax_cli.ui.log_lines import usd


class Conversation(Protocol):
    """The conversation as the prompt uses it."""

    async def ask(self, question: str) -> RunResult:
        """Answer one question. If it is cancelled, `last_result` has the partial result."""

    @property
    def last_result(self) -> RunResult | None:
        """The result of the previous turn, including an interrupted one."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools as the model sees them."""

    @property
    def models(self) -> Mapping[str, str]:
        """The model name of each role."""


class NextAction(StrEnum):
    """What the prompt does after a command."""

    GO_ON = "go_on"
    ASK_AGAIN = "ask_again"
    QUIT = "quit"


@dataclass(frozen=True, slots=True)
class CommandResponse:
    """The output of a command and the next action. `is_data` marks text for stdout; other text goes to stderr."""

    text: str = ""
    after: NextAction = NextAction.GO_ON
    is_data: bool = False


@dataclass(frozen=True, slots=True)
class SlashState:
    """The input of a command: the conversation, its results, and the last question."""

    conversation: Conversation
    results: tuple[RunResult, ...] = ()
    last_question: str | None = None


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command: its name with the slash, its help text, and its function, which gets the text after the name."""

    name: str
    help: str
    run: Callable[[SlashState, str], CommandResponse]


_NO_RESULT = CommandResponse("No question has been answered yet.")


def _help(_state: SlashState, _rest: str) -> CommandResponse:
    width = max(len(command.name) for command in COMMANDS.values())
    lines = [f"{command.name:<{width}}  {command.help}" for command in COMMANDS.values()]
    keys = "Alt-Enter or trailing backslash: new line · Tab: complete · Ctrl-C: cancel the turn · Ctrl-D: quit"
    return CommandResponse("\n".join([*lines, keys]))


def _tools(state: SlashState, rest: str) -> CommandResponse:
    tools = [tool for tool in state.conversation.tools if rest.lower() in tool.name.lower()]
    lines = [f"{tool.name} [{tool.effect}] {one_line(tool.description, limit=100)}" for tool in tools]
    return CommandResponse("\n".join(lines) or (f"No tool name contains '{rest}'." if rest else "There are no tools."))


def _model(state: SlashState, _rest: str) -> CommandResponse:
    return CommandResponse("\n".join(f"{role}: {one_line(name)}" for role, name in state.conversation.models.items()))


def _usage(state: SlashState, _rest: str) -> CommandResponse:
    if not state.results:
        return _NO_RESULT
    lines = [_role_line(role, _summed(state.results, role)) for role in _roles(state.results)]
    costs = [result.cost_usd for result in state.results if result.cost_usd is not None]
    is_whole = len(costs) == len(state.results)
    cost = f"{usd(sum(costs))}{'' if is_whole else ' plus requests without a known price'}" if costs else "unknown"
    return CommandResponse("\n".join([*lines, f"cost: {cost} · {counted(len(state.results), 'turn')}"]))


def _roles(results: Sequence[RunResult]) -> list[str]:
    return list(dict.fromkeys(role for result in results for role in result.usage.by_role))


def _summed(results: Sequence[RunResult], role: str) -> RoleUsage:
    used = [result.usage.by_role[role] for result in results if role in result.usage.by_role]
    return RoleUsage(
        requests=sum(usage.requests for usage in used),
        input_tokens=sum(usage.input_tokens for usage in used),
        output_tokens=sum(usage.output_tokens for usage in used),
    )


def _role_line(role: str, usage: RoleUsage) -> str:
    return (
        f"{role}: {counted(usage.requests, 'request')}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    )


def _why(state: SlashState, rest: str) -> CommandResponse:
    if not state.results:
        return _NO_RESULT
    evidence = state.results[-1].evidence
    if rest.isdigit() and 1 <= int(rest) <= len(evidence):
        evidence = (evidence[int(rest) - 1],)
    return CommandResponse("\n".join(evidence_lines(evidence)))


def _trace(state: SlashState, _rest: str) -> CommandResponse:
    if not state.results:
        return _NO_RESULT
    return CommandResponse(state.results[-1].trace_path or "This run has no trace: its log could not be written.")


def _retry(state: SlashState, _rest: str) -> CommandResponse:
    if state.last_question is None:
        return CommandResponse("No question to ask again.")
    return CommandResponse(f"Asking again: {one_line(state.last_question)}", NextAction.ASK_AGAIN)


def _json(state: SlashState, _rest: str) -> CommandResponse:
    return (
        CommandResponse(to_json(state.results[-1].model_dump(mode="json")), is_data=True)
        if state.results
        else _NO_RESULT
    )


def _quit(_state: SlashState, _rest: str) -> CommandResponse:
    return CommandResponse(after=NextAction.QUIT)


_ALL: Sequence[SlashCommand] = (
    SlashCommand("/help", "list the commands", _help),
    SlashCommand("/tools", "list the tools; /tools WORD filters by name", _tools),
    SlashCommand("/model", "show the model of each role", _model),
    SlashCommand("/usage", "show requests, tokens and cost of this conversation", _usage),
    SlashCommand("/why", "show the evidence of the last answer; /why N shows statement N", _why),
    SlashCommand("/trace", "show the path of the event log of the last run", _trace),
    SlashCommand("/retry", "ask the last question again", _retry),
    SlashCommand("/json", "print the last result as JSON", _json),
    SlashCommand("/quit", "leave the chat (or press Ctrl-D)", _quit),
)
COMMANDS: Mapping[str, SlashCommand] = {command.name: command for command in _ALL}


def is_slash(text: str) -> bool:
    """Whether `text` is a command; a path with a second slash, such as `/tickets/4 …`, is a question."""
    head = text.split(maxsplit=1)[0] if text.split() else ""
    return head.startswith("/") and "/" not in head[1:]


def respond(text: str, state: SlashState) -> CommandResponse:
    """Run the command in `text`. For an unknown command, suggest the most similar one."""
    name, _, rest = text.strip().partition(" ")
    command = COMMANDS.get(name.lower())
    if command is not None:
        return command.run(state, rest.strip())
    nearest = get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean {nearest[0]}?" if nearest else "/help lists the commands."
    return CommandResponse(f"Unknown command '{one_line(name)}'. {hint}")
