"""The rate at which a service may send: a netlink message that changes an HTB class."""

from __future__ import annotations

from sojourn import knobs
from sojourn.knobs import Asked, Lack, htb
from sojourn.knobs.egress import NAME, TOLERANCE, Egress, bps_of
from sojourn.knobs.htb import Bucket
from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    Mechanism,
    MechanismInputs,
    MechanismKind,
    taken,
)

LEVELS = ("1GB/s", "2GB/s")  # more than a service of these sends


class Rate(Mechanism):
    """The rate of the service's bucket, which the knob makes and notes."""

    levels = LEVELS
    one = "an HTB class changed by netlink, its socket opened and closed as the knob does"
    knob = NAME

    def __init__(self, inputs: MechanismInputs) -> None:
        knob = knobs.kind(NAME).build(inputs.on)
        assert isinstance(knob, Egress)  # noqa: S101  # it is that kind
        self._turned = knob
        self._bps = bps_of(LEVELS[0]), bps_of(LEVELS[1])

    def prepare(self) -> None:
        """Make the bucket, which is noted first."""
        self._turned.apply(LEVELS[0])

    @property
    def _bucket(self) -> Bucket:
        assert self._turned.bucket is not None  # noqa: S101  # it was made
        return self._turned.bucket

    def act(self, which: int) -> None:
        """Change the rate of the bucket."""
        htb.set_rate(self._bucket, self._bps[which])

    def amiss(self, which: int) -> str:
        """Ask the kernel for the rate."""
        result, wanted = htb.rate(self._bucket), self._bps[which]
        return "" if abs(result - wanted) <= TOLERANCE * wanted else f"the kernel says {result} B/s"

    def put_back(self) -> None:
        """Remove the bucket; the link has what it had."""
        self._turned.restore()


def lacks(inputs: MechanismInputs) -> Lack | None:
    """What the knob lacks here, if anything."""
    asked = Asked(level=LEVELS[0], tree=inputs.on.tree, place=inputs.place)
    return taken(inputs, NAME) or knobs.kind(NAME).lacks(asked)


KIND = MechanismKind(name=NAME, about="rate at which it may send", lacks=lacks, build=Rate)
