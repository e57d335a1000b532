"""runax: ask questions of data larger than a model's context window, and get answers with a certificate."""

__version__ = "0.1.0"
