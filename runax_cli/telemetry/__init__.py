"""Event sinks for log files and metrics, and the masking of secrets."""
