"""Reduction: records packed into chunks, read by a model, findings merged."""
