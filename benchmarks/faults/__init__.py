"""What goes wrong on purpose: models that misbehave, by seed, and what runax must make of each."""
