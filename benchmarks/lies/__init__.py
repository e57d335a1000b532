"""Planted errors and honest answers over five datasets: how many errors the checks catch, and how many false alarms.

`python -m benchmarks.lies` prints both by kind and language. The cases were written without sight of the checks.
"""
