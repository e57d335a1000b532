"""The summarizer: asks a cheap model to shorten what is older, and puts its summary in the place of it.

Knows when, and what is told. What may be cut and what must be kept is in `summarize`. A summary that cannot be had
costs nothing but its request: the conversation stays as it is, and results are folded where there is no room.
"""

import asyncio

from runax_cli.agent.context import Context
from runax_cli.agent.summarize import block_of, kept_of, request_for
from runax_cli.errors import BudgetExhausted, ModelError
from runax_cli.events import Emitter, TokensChanged, Warned
from runax_cli.memory.working import WorkingMemory
from runax_cli.models.base import Model
from runax_cli.models.tokens import CalibratedCounter


class Summarizer:
    """Shortens the conversation of one part of a question."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        question: str,
        effective_tokens: int,
        emitter: Emitter,
        run_id: str,
    ) -> None:
        self._model, self._counter, self._question = model, counter, question
        self._effective, self._emitter, self._run_id = effective_tokens, emitter, run_id
        self._has_failed = False

    async def shorten(self, context: Context, working: WorkingMemory) -> tuple[str, ...]:
        """Where it is time to, put a summary in the place of what is older; the calls whose results went."""
        older = None if self._has_failed else await context.older(working)
        if older is None:
            return ()
        request = await asyncio.to_thread(
            request_for,
            older.messages,
            self._question,
            self._counter,
            effective_tokens=self._effective,
            run_id=self._run_id,
        )
        try:
            reply = await self._model.complete(request)
        except (ModelError, BudgetExhausted) as error:
            self._has_failed = True
            self._emitter.emit(Warned(code="not_summarized", text=f"the conversation could not be shortened: {error}"))
            return ()
        block = block_of(reply.text, await asyncio.to_thread(kept_of, older.messages))
        after, dropped = await context.summarized(older, block, working)
        self._emitter.emit(TokensChanged(before=older.used_tokens, after=after))
        sizes = f"{older.used_tokens:,} -> {after:,} tokens"
        text = f"{len(older.messages)} older messages were replaced by a summary ({sizes})"
        self._emitter.emit(Warned(code="summarized", text=text))
        return dropped
