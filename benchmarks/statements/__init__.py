"""Statements whose truth is known, over a small world of records and results: the material of `benchmarks.lies`."""
