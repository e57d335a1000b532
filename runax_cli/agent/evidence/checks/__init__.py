"""Checks of one statement against what it cites, one module for each kind of claim. All are pure."""
