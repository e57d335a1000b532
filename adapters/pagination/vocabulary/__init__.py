"""Names and words that APIs use for pagination."""
