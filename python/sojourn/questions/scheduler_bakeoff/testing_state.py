"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from dataclasses import replace

from sojourn.questions.qos_matrix import matrix as qos_matrix
from sojourn.questions.qos_matrix.testing_state import matrix
from sojourn.questions.scheduler_bakeoff import judge as scheduler_bakeoff
from sojourn.questions.scheduler_bakeoff.properties import ALL, Property
from sojourn.questions.testing_state import Made, made, of_study


def found() -> Made:
    """A setting that was looked at, and one that was not: all its pairs are open."""
    properties = tuple(
        Property(name=name, verdict=verdict, said="")
        for name, verdict in zip(ALL, ("yes", "no", "undecided"), strict=True)
    )
    one = made(
        scheduler_bakeoff.Candidate, properties=properties, fits=3, cells=9, open=2, paper=()
    )
    bare = replace(one, properties=(), fits=None, open=9, most=None)
    whole = of_study("scheduler_bakeoff", scheduler_bakeoff.Bakeoff(candidates=(one, bare)))
    part = qos_matrix.QosMatrix(matrices=(matrix("both", "open"),))  # is in it already
    return Made(whole.having("qos_matrix", part), 9, 24, "pairs and properties")
