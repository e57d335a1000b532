"""Fault injection by seed: misbehaving models and failing networks, with checks of how runax handles them."""
