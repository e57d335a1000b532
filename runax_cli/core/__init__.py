"""Values that every package may import: budget, events, results, errors, exit codes."""
