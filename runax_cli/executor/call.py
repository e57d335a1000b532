"""One call end to end: probe, strategy, pages, dataset, reading, envelope.

Knows the order of the stages. Knows no wire, no wording of a prompt, and nothing of the conversation around it.
"""

from runax_cli.executor.outcome import CallOutcome, DecidedCall, Finding, Need, Scope

__all__ = ["CallOutcome", "DecidedCall", "Finding", "Need", "Scope"]
