"""The agent loop: scheduling of sub-questions, turns, tool calls, context."""
