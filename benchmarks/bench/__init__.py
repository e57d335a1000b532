"""The bench: questions with exact answers through the whole of runax, by a model that knows, and the plain way beside.

`runax bench` runs it. `run` takes the options and gives the sections.
"""

from benchmarks.bench.claims import Claim, Section
from benchmarks.bench.course import SECTIONS, Course, run

__all__ = ["SECTIONS", "Claim", "Course", "Section", "run"]
