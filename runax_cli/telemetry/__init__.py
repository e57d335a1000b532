"""Listeners that keep what happened: log files, counts, and the masking of secrets.

Knows events. Knows nothing of terminals; how an event reads as a line is handed in.
"""
