"""The runtime: settings turned into sources, models, state and a session."""
