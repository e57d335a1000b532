"""HTTP for adapters: transport, limits of bodies and rates, circuit breaker, URL safety, secret masking."""
