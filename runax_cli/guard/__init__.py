"""The guard: what becomes of a call that the model asks for, before anything is sent."""
