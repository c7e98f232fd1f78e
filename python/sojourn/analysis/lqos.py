"""The QoS bound that follows from the service itself: LQoS, five times its mean service time.

P8 takes the mean service time at 20 % CPU with one thread. Seen from outside there is the mean
sojourn time at 20 % load, which also holds a little queueing (a fourth of the service time in an
ideal M/M/1) and the network. Rule "lqos" takes it as it is, and is the looser bound; rule
"service_time" takes the ideal queue's share off again (`plan.axis.service_ns`), which leaves the
network in.
"""

from __future__ import annotations

from sojourn import units
from sojourn.findings.findings import Qos
from sojourn.plan.axis import Target
from sojourn.spec import QosRule, ServiceSpec
from sojourn.stats.method import Method
from sojourn.text.numbers import percent, percentile

METHOD = Method(
    name="lqos",
    about="the QoS bound as a multiple of the service's own time at a low load",
    ids=("P8", "L19"),
    source="Pons et al., FGCS 2022, section 4 (P8); Leverich and Kozyrakis, EuroSys 2014 (L19)",
)

FACTOR = 5.0
LOAD = 0.2
BY_STUDY = "given by the study"


def bound_ns(mean_low_load_ns: float, *, factor: float = FACTOR) -> float:
    """LQoS from the mean sojourn time at a low load.

    >>> bound_ns(280_000.0)
    1400000.0
    """
    return factor * mean_low_load_ns


def without_queue(mean_sojourn_ns: float, load: float = LOAD) -> float:
    """Mean service time of an ideal M/M/1 whose mean sojourn time at `load` this is."""
    return mean_sojourn_ns * (1 - load)


def qos(spec: ServiceSpec, target: Target | None) -> Qos | None:
    """The target as the report shows it, with where its bound comes from."""
    if target is None or spec.qos is None:
        return None
    low = percent(spec.qos.at_fraction)
    base = units.show_ns(target.bound_ns / spec.qos.factor)
    rules = {
        QosRule.GIVEN: BY_STUDY,
        QosRule.LQOS: f"{spec.qos.factor:g} times the mean sojourn time at {low} load, "
        f"{base} (LQoS; the paper takes the mean service time, PAPERS P8)",
        QosRule.SERVICE_TIME: f"{spec.qos.factor:g} times the mean service time of one thread at "
        f"{low} load, {base}: its sojourn time there without the queueing of an ideal queue "
        "(PAPERS P8)",
        QosRule.LOW_LOAD: f"{spec.qos.factor:g} times {percentile(target.q)} at {low} load, "
        f"{base} (PAPERS L19)",
    }
    return Qos(q=target.q, bound_ns=target.bound_ns, rule=rules[target.rule])
