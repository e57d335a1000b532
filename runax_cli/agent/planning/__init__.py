"""Planning: from a question to its sub-questions."""
