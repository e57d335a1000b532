"""What earlier probes of a tool taught, so that the next one asks no question twice.

Knows tools by source and name. Kept by whoever outlives a call, handed to every probe; forgetting it costs requests
and nothing else. What a server refused once is not asked for again while the memory lives.
"""

from dataclasses import dataclass, field, replace

from adapters.base import Pagination, ToolSpec
from adapters.probing.outcome import Rung


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What is known of one tool.

    `declared` is the pagination that its document gave, for which the rest holds; `pagination` the confirmed or
    corrected one. `vain` are rungs that were refused or told nothing. `takes_totals` is False where the flags for
    totals were refused, `trials` counts those of arguments of unknown meaning, which found nothing.
    """

    declared: Pagination
    pagination: Pagination
    vain: frozenset[Rung] = frozenset()
    takes_totals: bool = True
    trials: int = 0


@dataclass
class ProbeMemory:
    """The memory of one program: `recalled` is a fresh start for a tool never probed, or changed since."""

    _known: dict[tuple[str, str], Learnt] = field(default_factory=dict)

    def recalled(self, tool: ToolSpec) -> Learnt:
        """What is known of a tool."""
        known = self._known.get((tool.source, tool.name))
        if known is None or known.declared != tool.pagination:
            return Learnt(declared=tool.pagination, pagination=tool.pagination)
        return known

    def keep(self, tool: ToolSpec, learnt: Learnt) -> None:
        """Remember."""
        self._known[tool.source, tool.name] = replace(learnt, declared=tool.pagination)
