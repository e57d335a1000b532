"""The bench: questions with exact answers, asked of runax with an oracle model, compared with a plain agent.

`runax bench` runs it. `run` takes the options and yields the sections.
"""

from benchmarks.bench.claims import Claim, Section
from benchmarks.bench.course import SECTIONS, Course, run

__all__ = ["SECTIONS", "Claim", "Course", "Section", "run"]
