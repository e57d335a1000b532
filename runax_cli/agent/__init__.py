"""The agent: a question in, tools called, an answer out with its evidence."""
