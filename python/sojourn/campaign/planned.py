"""Each study of a campaign as it is planned on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sojourn import plan, questions, run, spec
from sojourn.errors import AbsentFault, Fault, HostFault
from sojourn.host import Facts
from sojourn.plan import Rehearsal, left_out
from sojourn.report import index, not_measured
from sojourn.report.index import Entry
from sojourn.run import Held
from sojourn.spec import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A study, held against this machine, before anything is measured.

    Attributes:
        name: as it was asked for.
        study: without what this machine cannot host.
        whole: as its file has it.
        ahead: its points; None where nothing of it can be measured.
        fault: why not.
    """

    name: str
    study: Study
    whole: Study
    held: Held
    ahead: Rehearsal | None
    fault: Fault | None = None

    @property
    def entry(self) -> Entry:
        """Its line before anything was measured."""
        return Entry(
            study=self.name,
            question=self.whole.question,
            planned=len(self.ahead.points) if self.ahead else 0,
            planned_s=self.ahead.wall_s if self.ahead else 0.0,
            **not_measured.of_entry(self.held.skipped),
            reason=self.fault.what if self.fault else "",
            fix=self.fault.fix if self.fault else "",
            state=state_of(self.fault) if self.fault else index.WAITING,
        )


def survey(
    names: Sequence[str],
    facts: Facts,
    *,
    profile: str | None = None,
    sets: Sequence[str] = (),
    may: Callable[[str, Study], bool] = lambda *_: False,
) -> Iterator[Planned]:
    """Each study with what it would measure here; all are read before the first is reported.

    Args:
        names: of studies that come with the lab, or paths of files.
        facts: of the machine.
        profile: of all; None: each has its own.
        sets: `key=value` for every study.
        may: says of each study by its name whether it may ask services of other machines.

    Raises:
        SpecFault: one of them is wrong.
    """
    known = [
        spec.load(name, profile=profile, overrides=sets, asks=questions.PLANS.mistakes)
        for name in names
    ]
    allowed = [may(name, study) for name, study in zip(names, known, strict=True)]
    each = zip(names, known, allowed, strict=True)
    return (_planned(name, study, facts, asks_others=asks) for name, study, asks in each)


def _planned(name: str, study: Study, facts: Facts, *, asks_others: bool) -> Planned:
    if asks_others or all(target.is_here for target in run.targets(study)):
        held = run.hold(study, facts, questions.catalogue())
    else:
        held = run.hold(study, facts, questions.catalogue(), asks_others=False)
    here = left_out.without(study, held.skipped)
    fault: Fault | None = next(iter(held.faults), None)
    if held.is_empty and fault is None:
        fault = run.nothing_left(study, held.skipped)
    ahead = plan.rehearse(here, questions.PLANS) if fault is None else None
    return Planned(name=name, study=here, whole=study, held=held, ahead=ahead, fault=fault)


def state_of(fault: Fault) -> str:
    """Skipped where this machine lacks something, else failed."""
    return index.SKIPPED if isinstance(fault, HostFault | AbsentFault) else index.FAILED
