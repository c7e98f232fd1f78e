"""What a scheduler setting can do, seen by processes of the lab's own under the same levels.

`stand_in` is a process that is under the levels of a service; `measure` lets two of them want one
CPU. What they came to is judged later, by `properties`.
"""

from sojourn.questions.scheduler_bakeoff.property.measure import MeasureInputs, measured

__all__ = ["MeasureInputs", "measured"]
