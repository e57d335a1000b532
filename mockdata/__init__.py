"""Seeded data of an internet provider's customer support, and questions about it with exact answers."""
