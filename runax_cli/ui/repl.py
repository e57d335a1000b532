"""The prompt: questions and slash commands, line after line, until the user leaves.

Knows keys, history and completion. Talks to a `Conversation`, and knows nothing of how it is set up.
"""

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
EMPTY_HINT = "Nothing is running. Ctrl-D or /quit leaves, /help lists the commands."
_MENU_ROWS = 4
CANCELLED = "Cancelled. What was fetched is kept; /retry asks again."


class PrivateHistory(FileHistory):
    """History in a file that only its owner reads; a disk that fails costs the history and nothing else."""

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
    """The history across sessions; one in memory, with a warning, where the file cannot be used."""
    path = folder / "history"
    try:
        return PrivateHistory(path)
    except OSError as error:
        view.warn(f"the history '{path}' cannot be written ({error.strerror}); this session's is kept in memory")
        return InMemoryHistory()


class WordsCompleter(Completer):
    """Slash commands at the beginning as they are typed, names of tools anywhere on Tab."""

    def __init__(self, tools: Iterable[str]) -> None:
        self._tools = tuple(sorted(tools))

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What may stand where the cursor is."""
        before = document.text_before_cursor
        if before.startswith("/") and " " not in before:
            matching = [name for name in COMMANDS if name.startswith(before.lower())]
            yield from (Completion(name, -len(before), display_meta=COMMANDS[name].help) for name in matching)
        elif complete_event.completion_requested:
            word = document.get_word_before_cursor(WORD=True)
            known = (name for name in self._tools if word and name.lower().startswith(word.lower()))
            yield from (Completion(name, -len(word)) for name in known)


def key_bindings() -> KeyBindings:
    """Enter sends, but after a backslash, and Alt-Enter, begin a new line."""
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
    """Where keys come from and where the prompt is drawn; None is the terminal. Tests hand in pipes."""

    input: Input | None = None
    output: Output | None = None


class Repl:
    """Reads, asks, prints, and starts over."""

    def __init__(
        self, conversation: Conversation, view: View, *, env: Environment, ears: PromptStreams | None = None
    ) -> None:
        self._view = view
        self._out, self._err = SafeStream(env.stdout), SafeStream(env.stderr)
        self._state = SlashState(conversation)
        ears = ears or PromptStreams()
        self._prompt: PromptSession[str] = PromptSession(
            PROMPT,
            history=open_history(env.state_folder, view),
            completer=WordsCompleter(tool.name for tool in conversation.tools),
            complete_while_typing=True,
            key_bindings=key_bindings(),
            multiline=True,
            reserve_space_for_menu=_MENU_ROWS,
            prompt_continuation="... ".rjust(len(PROMPT)),
            input=ears.input,
            # Standard output is for answers alone, and may be a file.
            output=ears.output or create_output(stdout=env.stderr),
        )

    async def run(self) -> ExitCode:
        """Until the user leaves. A turn that is aborted ends the prompt: INTERRUPTED."""
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
        # Ctrl-C over a half-written line only throws it away.
        if not self._prompt.default_buffer.text:
            self._err.line(EMPTY_HINT)

    async def _handle(self, text: str) -> bool:
        """Whether to go on."""
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
            # Our own cancelling is the answer to Ctrl-C; one from outside must pass through.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            self._view.close()
            self._err.line(CANCELLED)
        self._remember(conversation.last_result)

    def _remember(self, result: RunResult | None) -> None:
        known = {kept.run_id for kept in self._state.results}
        if result is not None and result.run_id not in known:
            self._state = replace(self._state, results=(*self._state.results, result))
