"""A probe asks for a part of the load, so that both together are what was asked."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.actors.clients import probing
from sojourn.actors.clients.probing import Probe, probe_of
from sojourn.host import Placement

# fmt: off
JOB: dict[str, Any] = {
    "target": "memcache://h:1", "rate": "10000", "duration": "2s", "connections": 64, "seed": 5,
    "threads": 2, "cpus": "2-3", "wait": "spin", "hlog": "/p/load.hlog", "server_pid": 9,
    "qos_bound": "1ms", "qos_quantile": 0.99, "items": 100,
}
# fmt: on
PROBE = Probe(rate_rps=100.0, cpus=(0,))


def where(house: int, client: int = 1) -> Placement:
    return Placement(
        server=(2,), client=(client,), housekeeping=(house,), client_wait="spin", shared=()
    )


def test_load_and_probe_together_are_the_load() -> None:
    load, asks = probing.beside(JOB, PROBE)
    assert asks is not None
    assert (load["rate"], asks["rate"]) == ("9900", "100")
    assert {key: value for key, value in load.items() if key != "rate"} == {
        key: value for key, value in JOB.items() if key != "rate"
    }
    assert (asks["connections"], asks["threads"], asks["cpus"], asks["wait"]) == (
        1,
        1,
        "0",
        "sleep",
    )
    assert asks["seed"] not in {0, 5}
    assert (asks["items"], asks["target"]) == (100, JOB["target"])
    assert not set(probing.NOT_ITS_OWN) & set(asks)


def test_a_probe_is_a_twentieth_of_the_load_at_most_and_not_worth_its_while_below() -> None:
    load, asks = probing.beside({**JOB, "rate": "1k"}, PROBE)
    assert asks is not None
    assert (load["rate"], asks["rate"]) == ("950", "50")
    assert probing.beside({**JOB, "rate": "100"}, PROBE)[1] is None, "10 requests say nothing"


@pytest.mark.parametrize(
    "change",
    [{"arrivals": "fixed"}, {"find_max": True}, {"target": "null:"}, {"rate": "ramp:1k..2k"}],
)
def test_a_load_that_cannot_be_parted_has_none(change: dict[str, Any]) -> None:
    job = {**JOB, **change}
    assert probing.beside(job, PROBE) == (job, None)
    assert probing.beside(JOB, None) == (JOB, None)


def test_by_itself_a_probe_is_there_where_it_has_a_cpu_of_its_own() -> None:
    assert probe_of("auto", where(0)) == Probe(rate_rps=100.0, cpus=(0,))
    assert probe_of("auto", where(1)) is None, "the lab shares the client's CPU"
    assert probe_of("50", where(1)) == Probe(rate_rps=50.0, cpus=(1,))
    assert probe_of("0", where(0)) is None
