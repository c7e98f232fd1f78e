"""Which resource a service uses up, in a sentence, or why that is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sojourn.analysis.load_point import SURE
from sojourn.findings.resource_use import Side, Use, use_text
from sojourn.host.usage.resource import BY_NAME
from sojourn.units import show_count

CRITICAL, HALF, STOLEN = 0.8, 0.5, 0.02
HOLDS, VIOLATED, HIGHEST = "holds", "violated", "highest"
_WHERE = {
    HOLDS: "At the highest measured load within QoS",
    VIOLATED: "At the first load that misses QoS",
    HIGHEST: "At the highest load",
}
_MAY = {
    HOLDS: "At the highest measured load that may be within QoS",
    VIOLATED: "At the first load that may miss QoS",
}
_JUDGED = tuple(name for name, one in BY_NAME.items() if not one.is_part)
_OF_CPUS = {"server_busy_share", "machine_busy_share"}  # follow from the service's and the client's


def critical_uses(sides: Sequence[Side]) -> list[Use]:
    """What is used up where the target is missed first, or else at the highest load that holds.

    The CPUs of service and machine as a whole are named only where the service's own CPU time is
    not, and only if most of it is the service's. The rest is its interrupts, for example. Where
    others fill these CPUs, such as the client, nothing of the service is used up.
    """
    selected = [use for use in _at_crossing(sides) if _is_full(use)]
    own = [use for use in selected if use.name not in _OF_CPUS]
    return own or ([] if filled_by_others(sides) else selected)


def filled_by_others(sides: Sequence[Side]) -> tuple[Use, Use | None] | None:
    """CPUs that are full, and the service's CPU time, if most of it is not the service's.

    That is None where it was not counted: then nothing shows that the service fills them. If only
    the machine as a whole is full, it is full beyond the service's CPUs.
    """
    side = _where_short(sides)
    full = [use for use in _at_crossing(sides) if use.name in _OF_CPUS and _is_full(use)]
    if side is None or not full:
        return None
    own, busy = side.use("service_cpu_share"), full[0]
    is_of_server = busy.name == "server_busy_share"
    if own is not None and is_of_server and own.box.median >= HALF * busy.box.median:
        return None
    return busy, own


def _is_full(use: Use) -> bool:
    return _share(use, use.box.q1) >= CRITICAL


def _where_short(sides: Sequence[Side]) -> Side | None:
    """The side on which resources are short; None: without a target nothing is."""
    by_name = {side.what: side for side in sides}
    return by_name.get(VIOLATED) or by_name.get(HOLDS)


def _at_crossing(sides: Sequence[Side]) -> list[Use]:
    """Resources of known capacity on the side where they are short."""
    side = _where_short(sides)
    return [] if side is None else [u for u in side.uses if u.capacity and not u.is_part]


def _share(use: Use, value: float) -> float:
    return value / use.capacity if use.capacity else 0.0


def use_sentence(
    service: str, sides: Sequence[Side], critical: Sequence[Use], missing: Mapping[str, str]
) -> str:
    """The use at the highest load that holds, what is critical, and what is not known."""
    if not sides:
        return ""
    side = sides[0]
    where = _WHERE[side.what] if is_sure(side) else _MAY[side.what]
    texts = [f"{where} ({_load(side)}) {_uses_cpu(service, side)}"]
    is_short = len(sides) > 1 or critical or filled_by_others(sides)
    texts += [_short_of(service, sides, critical)] if is_short else []
    texts.append(_others(side, critical))
    texts.append(_unknown(side, missing))
    return " ".join(filter(None, texts))


def is_sure(side: Side) -> bool:
    """Whether its load holds or misses the target, rather than being borderline."""
    return side.chance is None or not 1 - SURE < side.chance < SURE


def _load(side: Side) -> str:
    share = "" if side.fraction is None else f", {100 * side.fraction:.4g} %"
    rps = side.hi_rps if side.what != VIOLATED else side.lo_rps
    doubt = "" if is_sure(side) else f"; it holds with probability {side.chance:.2f}"
    return f"{show_count(rps)} requests/s{share}{doubt}"


def _uses_cpu(service: str, side: Side) -> str:
    cpu, wait = side.use("service_cpu_share"), side.use("runq_delay_share")
    parts = []
    if cpu is not None:
        parts.append(f"uses {use_text(cpu)} of its CPUs")
    if wait is not None:
        parts.append(f"its threads wait {use_text(wait)} for a CPU")
    stolen = side.use("server_steal_share")
    if stolen is not None and stolen.box.median >= STOLEN:
        parts.append(f"the hypervisor takes {use_text(stolen)} of its CPUs")
    if not parts:
        return f"what {service} uses is not known."
    return f"{service} {'; '.join(parts)}."


def _short_of(service: str, sides: Sequence[Side], critical: Sequence[Use]) -> str:
    where = sides[-1]
    verb = "misses" if is_sure(where) else "may miss"
    at = f"at the first load that {verb} it ({_load(where)})"
    if where.what == HOLDS or where is sides[0]:
        at = "there"
    if critical:
        named = " and ".join(f"{_called(use)}, {use_text(use)}" for use in critical)
        return f"Critical {at}: {named}."
    if crowd := filled_by_others(sides):
        return _crowded(service, at, *crowd)
    known = [_called(use) for use in _at_crossing(sides) if use.name not in _OF_CPUS]
    if not known:
        return ""
    return (
        f"What is critical is unknown: {at} none of {_listed(known)} is used to"
        f" {100 * CRITICAL:.0f} % by three quarters of the samples."
    )


def _crowded(service: str, at: str, full: Use, own: Use | None) -> str:
    """That others fill the CPUs, or that it is not seen who does."""
    text = f"What is critical is unknown: {at} {full.title} {use_text(full)}"
    if own is None:
        return f"{text}, and how much of that is {service} was not counted."
    return (
        f"{text}, while {service} uses {use_text(own)} of its CPUs. Others fill them, such as the "
        "client: give it CPUs of its own, or another machine."
    )


def _others(side: Side, critical: Sequence[Use]) -> str:
    """The resources above half of what the service can take, or that there are none."""
    named = {use.name for use in critical} | {"service_cpu_share"} | _OF_CPUS
    rest = [use for use in side.uses if use.capacity and not use.is_part and use.name not in named]
    above = [use for use in rest if _share(use, use.box.q3) > HALF]
    if above:
        listed = _listed([f"{_called(use)} ({use_text(use)})" for use in above])
        return f"Above half of what it can take here: {listed}."
    if not rest:
        return ""
    return f"No more than half of what it can take here: {_listed([_called(u) for u in rest])}."


def _unknown(side: Side, missing: Mapping[str, str]) -> str:
    """What nothing is reported about: resources of unknown capacity, and those not counted."""
    groups = {"network": False, "disk": False, "memory bandwidth": False}
    for use in side.uses:
        for name in groups:
            if use.title.startswith(name) and not use.capacity:
                groups[name] = True
    open_ = [name for name, is_open in groups.items() if is_open]
    lacking = [BY_NAME[name].title for name in missing if name in _JUDGED]
    texts = []
    if open_:
        texts.append(f"how much {_listed(open_, last='or')} it can take here is not known")
    if lacking:
        verb = "is" if len(lacking) == 1 else "are"
        texts.append(f"{_listed(lacking)} {verb} not counted here")
    text = "; ".join(texts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _called(use: Use) -> str:
    return f"its {use.title}" if use.name == "thread_cpu_share_max" else use.title


def _listed(names: Sequence[str], last: str = "and") -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"
