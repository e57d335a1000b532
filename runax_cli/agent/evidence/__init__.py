"""Evidence: what supports each statement of an answer, verified by code."""
