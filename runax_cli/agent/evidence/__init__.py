"""Evidence: what each statement of an answer rests on, verified by code."""
