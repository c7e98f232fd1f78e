"""A study held against this machine before anything is started or recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sojourn.actors import Catalogue, clients
from sojourn.errors import AbsentFault, HostFault, SkippedFault, SpecFault
from sojourn.host import Facts
from sojourn.places import Address, ports
from sojourn.plan import design, next_point
from sojourn.plan.left_out import SKIPPED, LeftOut
from sojourn.plan.setting import Setting
from sojourn.run import consent, generator_job
from sojourn.run.execute import job
from sojourn.run.live import RunningService
from sojourn.run.session import settle
from sojourn.spec import ServiceSpec, Study, files

# What a job has of its point: it is known when the point is measured, and refused there.
UNKNOWN_YET = {"rate": "1", "find_max": False, "hlog": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A study held against a machine.

    Attributes:
        skipped: combinations that this machine cannot host; () without factors.
        faults: what refuses the whole study, in its order, each once.
        is_empty: nothing of it can be measured here.
    """

    skipped: tuple[LeftOut, ...] = ()
    faults: tuple[SpecFault | HostFault, ...] = ()
    is_empty: bool = False


def check(study: Study, facts: Facts, catalogue: Catalogue) -> tuple[LeftOut, ...]:
    """Refuse what cannot be measured here: services, sizes, and the generator's job.

    Returns:
        Combinations of levels that this machine cannot host, for the others to be measured.

    Raises:
        SpecFault, HostFault: what it is, where it is written, and how to fix it.
        SkippedFault: this machine can host none of the combinations.
    """
    held = hold(study, facts, catalogue)
    for fault in held.faults:
        raise fault
    if held.is_empty:
        raise nothing_left(study, held.skipped)
    return held.skipped


def mistakes(study: Study, facts: Facts, catalogue: Catalogue) -> Iterator[SpecFault | HostFault]:
    """What refuses the whole study here, in its order, each once."""
    yield from hold(study, facts, catalogue).faults


def hold(study: Study, facts: Facts, catalogue: Catalogue, *, asks_others: bool = True) -> Held:
    """Hold each combination of levels against the machine, without starting anything.

    Services that run already are asked three times; those of other machines only if `asks_others`.

    What is wrong anywhere refuses the study. What only this machine lacks refuses it too where
    nothing is varied; else the combinations that need it are skipped, and the others stay.
    """
    faults: dict[str, SpecFault | HostFault] = {}
    skipped: list[LeftOut] = []
    every = design.studies(study)
    look = partial(_check, catalogue=catalogue, asks_others=asks_others)
    result = _faults(every, facts, study, look)
    for (label, levels, _), fault in zip(every, result, strict=True):
        if fault is None:
            continue
        if study.factors and isinstance(fault, HostFault | AbsentFault):
            skipped.append(
                LeftOut(
                    state=SKIPPED, service=label, levels=levels, reason=fault.what, fix=fault.fix
                )
            )
        else:
            faults.setdefault(str(fault), fault)
    is_empty = len(skipped) == len(every)
    return Held(skipped=tuple(skipped), faults=tuple(faults.values()), is_empty=is_empty)


def nothing_left(study: Study, skipped: Sequence[LeftOut]) -> SkippedFault:
    """The fault of a study whose combinations are all skipped: each reason once."""
    reasons = dict.fromkeys(one.reason for one in skipped)
    fixes = dict.fromkeys(one.fix for one in skipped if one.fix)
    count = len(skipped)
    return SkippedFault(
        f"{study.name}: nothing can be measured on this machine, "
        f"{f'all {count} combinations are' if count > 1 else 'the only combination is'} skipped: "
        f"{'; '.join(reasons)}",
        at=", ".join(study.factors),
        fix="; or ".join(fixes),
    )


def _faults(
    every: Sequence[tuple[str, Setting, Study]],
    facts: Facts,
    whole: Study,
    look: Callable[[Study, Facts, Study], None],
) -> Iterator[SpecFault | HostFault | None]:
    """What is wrong with each combination; None if nothing is. Equal ones are looked at once."""
    seen: dict[str, SpecFault | HostFault | None] = {}
    for label, _, under in every:
        alone = under.model_copy(update={"services": (under.service(label),)})
        text = alone.model_dump_json()
        if text not in seen:
            seen[text] = None
            try:
                look(alone, facts, whole)
            except (SpecFault, HostFault) as fault:
                seen[text] = fault
        yield seen[text]


def _check(
    alone: Study, facts: Facts, whole: Study, *, catalogue: Catalogue, asks_others: bool
) -> None:
    """A study of one service, under one combination of the levels of a whole one."""
    spec = alone.services[0]
    _check_files(spec)
    is_asked = asks_others or all(target.is_here for target in consent.targets(alone))
    service, where = settle(spec, alone, facts, whole, catalogue, is_asked=is_asked)
    first = next_point(alone, [], catalogue.questions)
    if first is None:  # each question refuses this itself; what is forgotten ends here
        asked_for = ", ".join(spec.measure)
        raise SpecFault(
            f"there is nothing to measure of {spec.label}: {asked_for} has no point",
            at=f"services.{spec.label}.measure",
            fix="ask for a sweep, or give what is asked its loads",
        )
    live = RunningService(
        label=spec.label,
        life=first.life,
        service=service,
        placement=where,
        work=Path(),
        address=Address(ports.HOST, 1),
    )
    asked = job(live, spec, first, Path(), raw_max=0)
    inputs = {**asked, **UNKNOWN_YET}
    try:
        n = 2 if alone.hosts and spec.clients else spec.clients  # as two as any number of them
        parts = clients.chosen(n).share(inputs, n)
    except SpecFault as fault:
        raise SpecFault(fault.what, at=f"services.{spec.label}.{fault.at}", fix=fault.fix) from None
    if not str(inputs["target"]).startswith("://"):  # no one has asked yet what it speaks
        generator_job.check(parts[0], at=f"services.{spec.label}.load")


def _check_files(spec: ServiceSpec) -> None:
    """Refuse a file that the generator is to read and cannot."""
    for key, path in files.named(spec.load):
        if why := files.unreadable(path):
            raise SpecFault(
                f"{path} cannot be read: {why}",
                at=f"services.{spec.label}.load.{key}",
                fix="give the name of a file; a relative one is in the folder of the study's file",
            )
