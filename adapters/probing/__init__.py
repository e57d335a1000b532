"""The cheap look before a call, in parts; its door is `adapters.probe`."""
