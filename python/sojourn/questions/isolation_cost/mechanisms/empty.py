"""The empty measurement: what is taken where nothing is applied. It is subtracted from nothing."""

from __future__ import annotations

from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    Mechanism,
    MechanismInputs,
    MechanismKind,
)


class Empty(Mechanism):
    """A call that does nothing."""

    levels = ("nothing", "nothing")
    one = "a call that does nothing"

    def prepare(self) -> None:
        """There is nothing to note."""

    def act(self, which: int) -> None:
        """Return at once, and change nothing."""

    def amiss(self, which: int) -> str:
        """Nothing was set, so nothing is amiss."""
        del which
        return ""

    def put_back(self) -> None:
        """Nothing was changed, so nothing is left."""


def build(inputs: MechanismInputs) -> Empty:
    """It needs nothing of the machine."""
    del inputs
    return Empty()


KIND = MechanismKind(name="empty", about="the empty measurement", lacks=lambda _: None, build=build)
