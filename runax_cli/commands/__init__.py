"""One module a command: parse, build the runtime, choose a view, return the exit code."""
