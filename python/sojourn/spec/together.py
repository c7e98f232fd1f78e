"""`[together]` and `[qos_matrix]`: services that are measured at once, and the loads of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from sojourn.spec.base import Model

Share = Annotated[float, Field(gt=0, le=2)]  # of max RPS


def _listed(value: object) -> object:
    """A TOML array as the tuple that strict models want."""
    return tuple(value) if isinstance(value, list) else value


Together = Annotated[
    Mapping[str, Annotated[tuple[Share, ...], BeforeValidator(_listed)]],
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]


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
    idle, and be told who goes first (L25)."""
    audit: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Of the cells that only follow from others, the share that is measured all the same."""


class UnfitError(ValueError):
    """Services that cannot be measured at once; `key`: where in the study that stands."""

    def __init__(self, what: str, *key: str) -> None:
        super().__init__(what)
        self.key = key


def refuse(together: Mapping[str, Sequence[float]], labels: Sequence[str]) -> None:
    """`UnfitError` if these services of a study cannot be measured at once."""
    for label, loads in together.items():
        if label not in labels:
            what = f"there is no service '{label}'; the services are {', '.join(labels)}"
            raise UnfitError(what, "together", label)
        if not loads:
            raise UnfitError("it is empty; give a load, such as [0.3]", "together", label)
        if len(set(loads)) < len(loads):
            raise UnfitError("a load comes twice; leave one out", "together", label)
    if len(together) == 1:
        raise UnfitError("it names one service; a second one is to run beside it", "together")


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
