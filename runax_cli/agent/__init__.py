"""The agent: a question in, tools called, an answer out with the proof of what it rests on."""
