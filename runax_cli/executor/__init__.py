"""The executor: a decided call in, all its data (of any size) on disk and an envelope out."""
