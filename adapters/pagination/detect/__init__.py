"""Static detection: which parameters of a tool page through its result."""
