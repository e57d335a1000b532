"""Storage of datasets: an append-only spool of pages."""
