"""The user interface: help, log lines, live view, JSON output, answer and chat prompt."""
