"""A shop with things."""
