"""A study held against this machine before anything is started or recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sojourn.actors import clients
from sojourn.errors import HostFault, SpecFault
from sojourn.host import Facts
from sojourn.places import Address, ports
from sojourn.plan import design, next_point
from sojourn.run import generator
from sojourn.run.execute import job
from sojourn.run.live import RunningService
from sojourn.run.session import settle
from sojourn.spec import Study

# What a job has of its point: it is known when the point is measured, and refused there.
UNKNOWN_YET = {"rate": "1", "find_max": False, "hlog": ""}


def check(study: Study, facts: Facts) -> None:
    """Refuse what cannot be measured here: services, sizes, and the generator's job.

    Raises:
        SpecFault, HostFault: what it is, where it is written, and how to mend it.
    """
    for fault in mistakes(study, facts):
        raise fault


def mistakes(study: Study, facts: Facts) -> Iterator[SpecFault | HostFault]:
    """The same for each service that cannot be measured here, in the study's order.

    With factors each combination of levels is held against the machine, and each fault told once.
    """
    seen: list[Study] = []
    told: set[str] = set()
    for label, _, under in design.studies(study):
        alone = under.model_copy(update={"services": (under.service(label),)})
        if alone in seen:
            continue
        seen.append(alone)
        try:
            _check(alone, facts)
        except (SpecFault, HostFault) as fault:
            if str(fault) not in told:
                told.add(str(fault))
                yield fault


def _check(alone: Study, facts: Facts) -> None:
    """A study of one service."""
    spec = alone.services[0]
    service, where = settle(spec, alone, facts)
    first = next_point(alone, [])
    assert first is not None  # noqa: S101  # a study without outcomes has a first point
    live = RunningService(
        label=spec.label,
        life=first.life,
        service=service,
        placement=where,
        work=Path(),
        address=Address(ports.HOST, 1),
    )
    asked = job(live, spec, first, Path(), raw_max=0)
    whole = {**asked, **UNKNOWN_YET}
    try:
        parts = clients.chosen(spec.clients).share(whole, spec.clients)
    except SpecFault as fault:
        raise SpecFault(fault.what, at=f"services.{spec.label}.{fault.at}", fix=fault.fix) from None
    generator.check(parts[0], at=f"services.{spec.label}.load")
