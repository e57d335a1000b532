"""The prompt of `runax chat`: reads questions and slash commands, with history and completion."""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output

from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import RunResult
from runax_cli.ui.console import Environment, SafeStream, strip_control
from runax_cli.ui.interrupt import run_interruptible
from runax_cli.ui.slash_commands import (
    COMMANDS,
    CommandResponse,
    Conversation,
    NextAction,
    SlashState,
    is_slash,
    respond,
)
from runax_cli.ui.view_factory import View

PROMPT = "runax> "
EMPTY_HINT = "Nothing is running. Press Ctrl-D or type /quit to leave, /help for help."
_MENU_ROWS = 4
CANCELLED = "Cancelled. Fetched data is kept; /retry asks again."


class PrivateHistory(FileHistory):
    """A history file that only its owner can read; write errors are ignored."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        path.chmod(0o600)
        self.is_failed = False
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Append one entry."""
        try:
            super().store_string(strip_control(string))
        except OSError:
            self.is_failed = True


def open_history(folder: Path, view: View) -> History:
    """The history file; if it cannot be used, a history in memory, with a warning."""
    path = folder / "history"
    try:
        return PrivateHistory(path)
    except OSError as error:
        view.warn(f"cannot write the history '{path}' ({error.strerror}); it is kept in memory for this session")
        return InMemoryHistory()


class WordsCompleter(Completer):
    """Completes slash commands while they are typed, and tool names on Tab."""

    def __init__(self, tools: Iterable[str]) -> None:
        self._tools = tuple(sorted(tools))

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completions at the cursor."""
        before = document.text_before_cursor
        if before.startswith("/") and " " not in before:
            matching = [name for name in COMMANDS if name.startswith(before.lower())]
            yield from (Completion(name, -len(before), display_meta=COMMANDS[name].help) for name in matching)
        elif complete_event.completion_requested:
            word = document.get_word_before_cursor(WORD=True)
            matching = [name for name in self._tools if word and name.lower().startswith(word.lower())]
            yield from (Completion(name, -len(word)) for name in matching)


def key_bindings() -> KeyBindings:
    """Enter sends the text; Alt-Enter, or Enter after a backslash, starts a new line."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


@dataclass(frozen=True, slots=True)
class PromptStreams:
    """Input and output of the prompt; None is the terminal. Tests use pipes."""

    input: Input | None = None
    output: Output | None = None


class Repl:
    """The read-eval-print loop of a chat."""

    def __init__(
        self, conversation: Conversation, view: View, *, env: Environment, streams: PromptStreams | None = None
    ) -> None:
        self._view = view
        self._out, self._err = SafeStream(env.stdout), SafeStream(env.stderr)
        self._state = SlashState(conversation)
        streams = streams or PromptStreams()
        self._prompt: PromptSession[str] = PromptSession(
            PROMPT,
            history=open_history(env.state_folder, view),
            completer=WordsCompleter(tool.name for tool in conversation.tools),
            complete_while_typing=True,
            key_bindings=key_bindings(),
            multiline=True,
            reserve_space_for_menu=_MENU_ROWS,
            prompt_continuation="... ".rjust(len(PROMPT)),
            input=streams.input,
            # Standard output is only for answers, and may be a file.
            output=streams.output or create_output(stdout=env.stderr),
        )

    async def run(self) -> ExitCode:
        """Run until the user leaves. An aborted turn ends the loop with INTERRUPTED."""
        while True:
            try:
                text = await self._prompt.prompt_async()
            except EOFError:
                return ExitCode.COMPLETE
            except KeyboardInterrupt:
                self._hint()
                continue
            try:
                if not await self._handle(text.strip()):
                    return ExitCode.COMPLETE
            except KeyboardInterrupt:
                self._view.close()
                return ExitCode.INTERRUPTED

    def _hint(self) -> None:
        # Ctrl-C with text on the line only discards the text.
        if not self._prompt.default_buffer.text:
            self._err.line(EMPTY_HINT)

    async def _handle(self, text: str) -> bool:
        """Handle one input; whether to continue."""
        if not text:
            return True
        if not is_slash(text):
            await self._ask(text)
            return True
        response = respond(text, self._state)
        self._say(response)
        if response.after is NextAction.ASK_AGAIN and self._state.last_question is not None:
            await self._ask(self._state.last_question)
        return response.after is not NextAction.QUIT

    def _say(self, response: CommandResponse) -> None:
        if response.text:
            (self._out if response.is_data else self._err).line(strip_control(response.text))

    async def _ask(self, question: str) -> None:
        self._state = replace(self._state, last_question=question)
        conversation = self._state.conversation
        try:
            self._view.print_result(await run_interruptible(conversation.ask(question)))
        except asyncio.CancelledError:
            # Only a cancellation by Ctrl-C ends here; one of this task must pass through.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            self._view.close()
            self._err.line(CANCELLED)
        self._remember(conversation.last_result)

    def _remember(self, result: RunResult | None) -> None:
        run_ids = {stored.run_id for stored in self._state.results}
        if result is not None and result.run_id not in run_ids:
            self._state = replace(self._state, results=(*self._state.results, result))
