"""The tracer as window source on a real memcached, beside the client."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sojourn import host
from sojourn.actors.probes import trace
from sojourn.errors import HostFault
from sojourn.manage import testing
from sojourn.manage.testing import until
from sojourn.manage.traced_testing import p99_ns, rps, seen
from sojourn.places import proc

RATE, RPS = "4k", 4000


def lack() -> str:
    """Why it cannot be done here; "": it can."""
    if shutil.which("memcached") is None:
        return "no memcached"
    try:
        trace.check(host.read(sample_s=0))
    except HostFault as fault:
        return fault.what
    return testing.lack()


pytestmark = [
    pytest.mark.privileged,
    pytest.mark.timeout(240, func_only=True),
    pytest.mark.skipif(bool(lack()), reason=lack() or "-"),
]


def test_the_servers_times_are_those_of_the_same_requests_and_no_longer_than_the_clients(
    tmp_path: Path,
) -> None:
    sides = seen(tmp_path, cost="all", rate=RATE, seconds=8)
    assert sides.ended == 0, (tmp_path / "log").read_text()
    assert [event["event"] for event in sides.audit] == ["start", "alone", "end"]
    assert len(sides.tracer) >= 20
    # The load is steady, so windows of either side have it; those at its ends are cut.
    assert 0.7 * RPS < rps(sides.tracer[2:-2]) < 1.3 * RPS
    # A request's time at the server is a part of its time at the client (bins: 0.8 %).
    assert p99_ns(sides.tracer) < 1.02 * p99_ns(sides.client)
    one = max(sides.tracer, key=lambda window: window["n"])
    assert one["lo_ns"] <= one["p99_ns"]
    assert one["above"] is not None


def test_no_tracer_outlives_a_manager_that_is_killed(tmp_path: Path) -> None:
    before = tracers()
    sides = seen(tmp_path, cost="5%", rate=RATE, seconds=6, kill=True)
    assert sides.ended == -9
    assert sides.tracer, "it had traced"
    assert until(lambda: tracers() <= before), "the tracer is left"


def tracers() -> set[int]:
    """Processes of the tracer that are there."""
    every = (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit())
    stats = (proc.stat(pid) for pid in every)
    return {one.pid for one in stats if one and one.name == "sojourn-trace" and one.state != "Z"}
