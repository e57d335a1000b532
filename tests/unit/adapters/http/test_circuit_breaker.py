"""Circuit breaker: opens after consecutive failures, and probes after the cooldown."""

from adapters.clock import ManualClock
from adapters.http.circuit_breaker import CircuitBreaker


def test_the_circuit_opens_after_failures_and_lets_one_probe_through():
    clock = ManualClock()
    breaker = CircuitBreaker(clock, failures=3, cooldown_s=10)
    for _ in range(2):
        breaker.record_failure("no route")
    breaker.record_success()
    for _ in range(2):
        breaker.record_failure("no route")
        assert breaker.open_for_s() is None
    breaker.record_failure("no route")
    assert breaker.open_for_s() == 10
    assert breaker.reason == "3 requests failed in a row; last error: no route"
    clock.now = 10.0
    assert breaker.open_for_s() is None
    assert breaker.open_for_s() == 0
    breaker.record_failure("no route")
    assert breaker.open_for_s() == 10
    clock.now = 20.0
    assert breaker.open_for_s() is None
    breaker.release()
    assert breaker.open_for_s() is None
    breaker.record_success()
    assert breaker.open_for_s() is None
