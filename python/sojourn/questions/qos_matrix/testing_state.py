"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.questions.qos_matrix import matrix as qos_matrix
from sojourn.questions.testing_state import Made, made, of_study


def matrix(*meets: str) -> qos_matrix.Matrix:
    """A cell for each of who meets its target there."""
    cells = tuple(made(qos_matrix.MatrixCell, row=0.1, column=0.1, meets=one) for one in meets)
    return made(qos_matrix.Matrix, services=("a", "b"), cells=cells)


def found() -> Made:
    """Two matrices, one of them with a cell that is open."""
    both = (matrix("both", "a only", "open"), matrix("neither"))
    whole = of_study("qos_matrix", qos_matrix.QosMatrix(matrices=both))
    return Made(whole, 3, 4, "cells")
