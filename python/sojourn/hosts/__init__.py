"""Many hosts: clients on the nodes of a cluster act as one client.

    [hosts] ─► ray_engine ─► crew ─► fleet.offer ─► follow ─► joined ─► load.json
               connect       agents  jobs, clocks      T … end   sums,     hosts.json
                                                                 doubts

Ray is the engine and is imported by `ray_engine` alone, when a study has `[hosts]`. Nothing here is
imported where it has none. Roles other than clients are in `away`:

    server, neighbours ─► station ─► agent ─► stage ─► `python -m sojourn.stage` on that host
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from sojourn.host import Facts, place
from sojourn.hosts.away import Away
from sojourn.hosts.fleet import Fleet
from sojourn.plan import design
from sojourn.run import Source, lab_cpus
from sojourn.run.watch import Show
from sojourn.spec import Study

__all__ = ["Away", "Fleet", "fleet", "source"]


def fleet(study: Study, show: Show, facts: Facts, *, is_forced: bool = False) -> Fleet:
    """The clients of a study with `[hosts]`; what is started here stays off the server's CPUs.

    They have their machines to themselves, unless `is_forced`.

    Raises:
        SpecFault, HostFault, RunFault: they cannot be had.
    """
    from sojourn.hosts import ray_engine  # noqa: PLC0415  # where it is used

    assert study.hosts is not None  # noqa: S101  # asked of a study that has them
    with lab_cpus.on(place(facts.topology).housekeeping):
        name = "" if is_forced else study.name
        return Fleet(study.hosts, ray_engine.connect(study.hosts), show, study=name)


@contextmanager
def source(study: Study, show: Show, facts: Facts, *, is_forced: bool = False) -> Iterator[Source]:
    """Where the load of a study with `[hosts]` comes from, with all its roles.

    Raises:
        SpecFault, HostFault, RunFault: a role has no host.
    """
    assert study.hosts is not None  # noqa: S101
    with (
        fleet(study, show, facts, is_forced=is_forced) as clients,
        closing(Away(study, clients, show, is_forced=is_forced)) as away,
    ):
        yield Source(
            offer=away.offer,
            address=study.hosts.address,
            rows=(("clients", clients.text), *away.rows),
            cast=away.cast,
            measure=away.measure if design.servers(study) != ("",) else None,
            skipped=away.skipped,
        )
