"""Fetching: pages of one call in parallel, repaired, verified and stored."""
