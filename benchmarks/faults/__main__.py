"""Both fault suites, one after the other: misbehaving models, and failing networks.

`python -m benchmarks.faults [--scripts 500] [--plans 300] [--seed 0]` prints both tables and exits with 10 if a run of
either was wrong.
"""

import argparse
import sys

from benchmarks.faults import models, network


def main() -> int:
    """Run both suites; returns the worse exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scripts", type=int, default=500)
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    seed = ["--seed", str(given.seed)]
    misbehaving = models.main(["--scripts", str(given.scripts), *seed])
    failing = network.main(["--plans", str(given.plans), *seed])
    return max(misbehaving, failing)


if __name__ == "__main__":
    sys.exit(main())
