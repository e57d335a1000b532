"""Reproducible random numbers: a function of a seed and of what they are for."""

import hashlib
import random

_MASK = (1 << 64) - 1


def seeded_random(seed: int, *parts: str | int) -> random.Random:
    """A generator for what `parts` name; the same parts give the same generator on every machine."""
    name = "\x1f".join(map(str, (seed, *parts))).encode()
    return random.Random(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big"))


def hash_bits(seed: int, n: int) -> int:
    """64 well-mixed bits of (seed, n) (splitmix64), for quick decisions about a million records."""
    z = (seed * 0x9E3779B97F4A7C15 + n * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
