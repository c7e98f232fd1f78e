"""`[qos_matrix]`: two services under every pair of loads, and which of them meets its target."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from sojourn.questions.together.asks import Together, UnfitError, refuse
from sojourn.spec import Study
from sojourn.spec.base import Model
from sojourn.spec.form import Asks


class QosMatrix(Model):
    """Two services under every pair of loads: which of them meets its QoS target (L19, C22)."""

    loads: Together = Field(default_factory=lambda: MappingProxyType({}))
    """label = loads, rising, as shares of max RPS; two services, the first gives the rows."""
    full: bool = False
    """Measure every pair `run.repeats` times and judge it by its own runs. Else a cell may follow
    from others: who meets its target does so with less load, and beside less."""
    sure: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """How probable it must be what a cell is."""
    properties: bool = False
    """Also measure what each combination of scheduler settings can do: reserve, use what is left
    idle, and know who goes first (L25)."""
    audit: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Of the cells that only follow from others, the share that is measured all the same."""

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without `properties` where it is false: resuming compares texts, older ones lack it."""
        table: dict[str, Any] = write(self)
        if not self.properties:
            table.pop("properties", None)
        return table


def refuse_matrix(matrix: QosMatrix, targets: Mapping[str, bool]) -> None:
    """`UnfitError` if there can be no such matrix; `targets`: label → whether it has a QoS."""
    if not matrix.loads:
        return
    try:
        refuse(matrix.loads, list(targets))
    except UnfitError as error:
        raise UnfitError(str(error), "qos_matrix", "loads", *error.key[1:]) from None
    if len(matrix.loads) != 2:  # rows and columns
        what = f"it names {len(matrix.loads)} services; rows and columns are two"
        raise UnfitError(what, "qos_matrix", "loads")
    for label, loads in matrix.loads.items():
        if list(loads) != sorted(loads):
            raise UnfitError("the loads do not rise; sort them", "qos_matrix", "loads", label)
        if not targets[label]:
            what = f"{label} has no QoS target to meet; add a [services.qos] table to it"
            raise UnfitError(what, "qos_matrix", "loads", label)


class OfStudy(Study):
    """What a study may have of it."""

    qos_matrix: QosMatrix = Field(default_factory=QosMatrix)
    """Two services under every pair of loads: both, one or none meets its QoS target."""

    @model_validator(mode="after")
    def _has_rows_and_columns(self) -> Self:
        targets = {service.label: service.qos is not None for service in self.services}
        refuse_matrix(self.qos_matrix, targets)
        return self


def of(study: Study) -> QosMatrix:
    """What is asked of a study's services; without loads nothing is."""
    return study.qos_matrix if isinstance(study, OfStudy) else QosMatrix()


ASKS = Asks(study=OfStudy)
