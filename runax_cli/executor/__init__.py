"""The executor: a decided call in, all its data on disk and an envelope out, whatever the size."""
