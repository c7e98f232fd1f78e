"""Which records tell of a service and a neighbour, and what lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.errors import SpecFault
from sojourn.foresight import doses, study
from sojourn.foresight.victims import Run, Victim
from sojourn.services import KINDS
from sojourn.text.near import near

DOSES_MIN = 4  # fewer say too little of how wrong a forecast is
RULER = "synthetic"
IDLE = 0.001  # CPUs' worth, or share of its pace: whoever uses less did not run


class Lacking(SpecFault):
    """A service has to be measured first.

    Attributes:
        kind: of that service.
        neighbours: that it has to run beside, apart from the doses.
    """

    def __init__(
        self, what: str, *, at: str, hint: str, kind: str, neighbours: Sequence[str] = ()
    ) -> None:
        fix = f"{hint}{commands(kind, neighbours)}, or add --measure"
        super().__init__(what, at=at, fix=fix)
        self.kind, self.neighbours = kind, tuple(neighbours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a forecast is made from.

    Attributes:
        service: with doses.
        level: how the neighbour is written in the rulers' records, the first of them.
        rulers: other services, each with its level of the neighbour.
    """

    service: Victim
    level: str
    rulers: tuple[tuple[Victim, str], ...]


def known(victims: Sequence[Victim], service: str, neighbour: str) -> Known:
    """Choose records; the newest of each service.

    Args:
        victims: of all records, newest first.
        service: label.
        neighbour: as people write it.

    Raises:
        SpecFault: records lack; it names the commands that make them, with minutes.
    """
    own = _service(victims, service)
    others = [one for one in victims if one.label != service and _meant(one, neighbour)]
    same = [one for one in others if one.place == own.place]
    if others and not same:
        raise _elsewhere(own, others[0], neighbour)
    way = _way(same, neighbour)
    fit = [one for one in same if one.level_like(way) and len(_shared(own, one)) >= DOSES_MIN]
    if not fit:
        raise _no_ruler(victims, own, neighbour)
    newest = {one.label: one for one in reversed(fit)}
    rulers = tuple((one, one.level_like(way)) for one in _comparable(own, [*newest.values()]))
    runs = [run for one, level in rulers for run in one.levels[level]]
    if not any(map(_is_running, runs)):
        labels = ", ".join(one.label for one, _ in rulers)
        raise SpecFault(
            f"'{neighbour}' did no work beside {labels}: there is nothing to predict from",
            at="--beside",
            fix="look at neighbour-0.log in the points of " + rulers[0][0].record,
        )
    return Known(service=own, level=rulers[0][1], rulers=rulers)


def commands(kind: str, neighbours: Sequence[str] = ()) -> str:
    """What to type to measure a service beside doses, and how long it takes."""
    beside = "".join(f" --beside {one}" for one in neighbours)
    name = f"foresight_{kind}.toml"
    return (
        f"sojourn predict --service {kind}{beside} --study > {name} && sojourn run {name}   "
        f"({study.minutes(len(neighbours)):.0f} minutes)"
    )


def _service(victims: Sequence[Victim], service: str) -> Victim:
    own = [one for one in victims if one.label == service]
    for one in own:
        if len(one.doses) >= DOSES_MIN:
            return one
    labels = sorted({one.label for one in victims})
    if own:
        raise Lacking(
            f"records of {service} have {len(own[0].doses)} doses, a forecast needs {DOSES_MIN}",
            at="--service",
            hint="",
            kind=service,
        )
    meant = near(service, labels)
    hint = f"did you mean {meant[0]}? " if meant else ""
    known_labels = f"known: {', '.join(labels)}; " if labels else ""
    raise Lacking(
        f"no record says how '{service}' takes doses of each resource",
        at="--service",
        hint=f"{hint}{known_labels}measure it: ",
        kind=service,
    )


def _meant(victim: Victim, neighbour: str) -> list[str]:
    """Levels that may be the neighbour."""
    return [one for one in victim.neighbours if doses.is_meant(neighbour, one)]


def _way(victims: Sequence[Victim], neighbour: str) -> str:
    """The level that is meant: the neighbour as written, or the only way in which it ran.

    Raises:
        SpecFault: it ran in several ways, such as on other CPUs, and none is what was written.
    """
    levels = [level for one in victims for level in _meant(one, neighbour)]
    ways = {doses.meaning(level): level for level in levels}
    if doses.meaning(neighbour) in ways or not ways:
        return neighbour
    if len(ways) == 1:
        return next(iter(ways.values()))
    raise SpecFault(
        f"'{neighbour}' ran in {len(ways)} ways: {', '.join(map(repr, sorted(ways.values())))}",
        at="--beside",
        fix="write one of them",
    )


def _shared(own: Victim, other: Victim) -> set[doses.Dose]:
    return {*own.doses} & {*other.doses}


def _comparable(own: Victim, rulers: Sequence[Victim]) -> list[Victim]:
    """Those that share enough doses with the service and with each other, in their order.

    Doses count that all have. So those that share the most with the service come first, and one
    that leaves too few is left out.

    Args:
        own: the service.
        rulers: each of them shares enough doses with it.
    """
    common, chosen = {*own.doses}, list[Victim]()
    for one in sorted(rulers, key=lambda other: -len(_shared(own, other))):
        if len(both := common & {*one.doses}) >= DOSES_MIN:
            common = both
            chosen.append(one)
    return [one for one in rulers if one in chosen]


def _elsewhere(own: Victim, other: Victim, neighbour: str) -> SpecFault:
    names = [name for name in own.place if own.place[name] != other.place.get(name)]
    name = names[0] if names else "machine"
    return SpecFault(
        f"{own.label} and '{neighbour}' were measured under another {name}: "
        f"{own.place.get(name)} and {other.place.get(name, 'not known')}",
        at=f"{own.record}, {other.record}",
        fix=f"measure both on one machine: {commands(own.label)}",
    )


def _no_ruler(victims: Sequence[Victim], own: Victim, neighbour: str) -> Lacking:
    seen = sorted({doses.short(one) for v in victims for one in v.neighbours})
    meant = near(neighbour, seen)
    hint = f"did you mean {meant[0]}? " if meant and meant[0] != neighbour else ""
    others = sorted({one.label for one in victims if one.label in KINDS} - {own.label})
    ruler = others[0] if others else RULER
    listed = f"known: {', '.join(seen)}; " if seen else ""
    return Lacking(
        f"no other service was measured beside '{neighbour}' and {DOSES_MIN} of the same doses",
        at="--beside",
        hint=f"{hint}{listed}measure one: ",
        kind=ruler,
        neighbours=[neighbour],
    )


def _is_running(run: Run) -> bool:
    return (run.progress or 0.0) > IDLE or (run.others or 0.0) > IDLE
