"""Many hosts: clients on the nodes of a cluster act as one client.

    [hosts] ─► ray_engine ─► crew ─► fleet.offer ─► follow ─► joined ─► load.json
               connect       agents  jobs, clocks      T … end   sums,     hosts.json
                                                                 doubts

Ray is the engine and is imported by `ray_engine` alone, when a study has `[hosts]`. Nothing here is
imported where it has none.
"""

from __future__ import annotations

from sojourn.host import Facts, place
from sojourn.hosts.fleet import Fleet
from sojourn.run import lab_cpus
from sojourn.run.watch import Show
from sojourn.spec import Study

__all__ = ["Fleet", "fleet"]


def fleet(study: Study, show: Show, facts: Facts) -> Fleet:
    """The clients of a study with `[hosts]`; what is started here stays off the server's CPUs.

    Raises:
        SpecFault, HostFault, RunFault: they cannot be had.
    """
    from sojourn.hosts import ray_engine  # noqa: PLC0415  # where it is used

    assert study.hosts is not None  # noqa: S101  # asked of a study that has them
    with lab_cpus.on(place(facts.topology).housekeeping):
        return Fleet(study.hosts, ray_engine.connect(study.hosts), show)
