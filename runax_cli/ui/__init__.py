"""What a person or a script sees: log lines, the live view, JSON, the answer, the prompt.

Knows events, results and the terminal. Knows nothing of how an answer comes about, and decides nothing.
"""
