"""Probes: how many records a call has, learned from as few requests as possible."""
