"""Which resource a service uses up where its QoS target is missed, and how far it is from others.

All samples of the runs at a load are pooled; numbers are the median, and in brackets the middle
half of the samples. A resource is named critical only where three quarters of the samples are above
four fifths of what the service can take here; of resources whose capacity is not known nothing is
reported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median

import numpy as np

from sojourn.analysis.load_point import SURE
from sojourn.findings.measured import Measured
from sojourn.findings.resource_use import Box, LoadUse, ResourceUse, Side, Use, use_text
from sojourn.host.usage.resource import BY_NAME
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.posterior import Posterior
from sojourn.plan.setting import TWIN
from sojourn.samples.resources import Resources
from sojourn.stats.method import Method
from sojourn.stats.times import Floats
from sojourn.units import show_count

METHOD = Method(
    name="resources",
    about="use of each resource at the QoS crossing: box plots of samples, and what is critical",
    ids=("P7", "P13"),
    source="Tukey, Exploratory Data Analysis (1977), for the boxes",
)

PHASES = (Phase.SWEEP, Phase.SEARCH, Phase.CONFIRM)
NEAR = 0.05  # loads so near the one that gives a side its name are pooled with it
WHISKER = 1.5  # of the box
OUTLIERS_MAX = 20
CRITICAL, HALF, STOLEN = 0.8, 0.5, 0.02
HOLDS, VIOLATED, HIGHEST = "holds", "violated", "highest"
_WHERE = {
    HOLDS: "At the highest load within QoS",
    VIOLATED: "At the first load that misses QoS",
    HIGHEST: "At the highest load",
}
_JUDGED = tuple(name for name, one in BY_NAME.items() if not one.is_part)
_OF_CPUS = {"server_busy_share", "machine_busy_share"}  # follow from the service's and the client's


def find(
    measured: Iterable[Measured], service: str, posterior: Posterior | None
) -> ResourceUse | None:
    """What a service used; None if no run has samples in its measured part.

    Args:
        measured: its points.
        service: how people call it.
        posterior: what all its runs say about any load; None without a target.
    """
    runs = [m for m in measured if counts(m)]
    selected = [run.resources for run in runs if run.resources is not None]
    if not selected:
        return None
    sides = tuple(_sides(runs, posterior))
    critical = _critical(sides)
    counted = {name for own in selected for name in own.names}
    events: Counter[str] = Counter()
    for own in selected:
        events.update(own.events)
    shares = [own.probe_share for own in selected if own.probe_share == own.probe_share]
    missing = {n: why for own in selected for n, why in own.not_counted.items() if n not in counted}
    return ResourceUse(
        sentence=_sentence(service, sides, critical, missing),
        critical=tuple(use.title for use in critical),
        sides=sides,
        loads=tuple(_loads(runs)),
        not_counted=tuple((BY_NAME[n].title, why) for n, why in missing.items() if n in BY_NAME),
        late=sum(own.late for own in selected),
        samples=sum(own.samples for own in selected),
        events=tuple(events.most_common()),
        probe_share=(median(shares), max(shares)) if shares else None,
        is_apart=all(own.is_apart for own in selected),
    )


def counts(run: Measured, phases: Collection[Phase] = PHASES) -> bool:
    """Whether a run of these phases is believed and has samples of its measured part."""
    outcome = run.outcome
    is_believed = outcome.verdict is not Verdict.UNKNOWN and outcome.requests > 0
    is_there = run.resources is not None and run.resources.samples > 0
    return outcome.point.phase in phases and is_believed and is_there


def _sides(runs: Sequence[Measured], posterior: Posterior | None) -> Iterable[Side]:
    """The runs on either side of the crossing; the highest load where there is no target."""
    loads = sorted({run.outcome.offered_rps for run in runs})
    if posterior is None:
        yield _side(HIGHEST, runs, loads[-1] * (1 - NEAR), loads[-1], None)
        return
    chance = {rps: posterior.holds_at(rps) for rps in loads}
    held = [rps for rps in loads if chance[rps] >= SURE] or [
        rps for rps in loads if chance[rps] >= 0.5
    ]
    missed = [rps for rps in loads if chance[rps] <= 1 - SURE] or [
        rps for rps in loads if chance[rps] < 0.5
    ]
    if held:
        top = max(held)
        near = [rps for rps in held if rps >= top * (1 - NEAR)]
        yield _side(HOLDS, runs, min(near), top, chance[top])
    if missed:
        low = min(missed)
        near = [rps for rps in missed if rps <= low * (1 + NEAR)]
        yield _side(VIOLATED, runs, low, max(near), chance[low])


def _side(
    what: str, runs: Sequence[Measured], lo_rps: float, hi_rps: float, chance: float | None
) -> Side:
    near = [run for run in runs if lo_rps <= run.outcome.offered_rps <= hi_rps]
    named = max if what != VIOLATED else min
    outcome = named((run.outcome for run in near), key=lambda one: one.offered_rps)
    own = [run.resources for run in near if run.resources is not None]
    return Side(
        what=what,
        lo_rps=min(run.outcome.offered_rps for run in near),
        hi_rps=max(run.outcome.offered_rps for run in near),
        fraction=_fraction(outcome),
        chance=chance,
        runs=len(near),
        samples=sum(one.samples for one in own),
        uses=tuple(_uses(own)),
    )


def _fraction(outcome: Outcome) -> float | None:
    return outcome.point.fraction


def _uses(own: Sequence[Resources]) -> Iterable[Use]:
    """Every resource that was counted, in the order of the table."""
    for name, values in zip(*_pooled(own), strict=True):
        known = [one.capacity[name] for one in own if name in one.capacity]
        what = BY_NAME[name]
        yield Use(
            name=name,
            title=what.title,
            unit=what.unit,
            box=box(values),
            capacity=min(known) if len(known) == len(own) else None,
            is_part=what.is_part,
        )


def _pooled(own: Sequence[Resources]) -> tuple[list[str], list[Floats]]:
    """Names of what was counted, and of each all samples that are known, ascending."""
    names, whole = _together(own)
    whole.sort(axis=1)  # NaN last
    report = whole.shape[1] - np.isnan(whole).sum(axis=1)
    selected = [nth for nth, n in enumerate(report) if n]
    return [names[nth] for nth in selected], [whole[nth, : report[nth]] for nth in selected]


def _together(own: Sequence[Resources]) -> tuple[Sequence[str], Floats]:
    """The samples of all runs beside each other, a row for each resource that any of them has."""
    names: Sequence[str] = own[0].names
    if any(one.names != names for one in own):
        names = [name for name in BY_NAME if any(name in one.names for one in own)]
    whole = np.full((len(names), sum(one.samples for one in own)), np.nan)
    first = 0
    for one in own:
        rows = slice(None) if one.names == names else [names.index(name) for name in one.names]
        whole[rows, first : first + one.samples] = one.values
        first += one.samples
    return names, whole


def box(values: Floats) -> Box:
    """A box plot of samples, which are ascending and at least one.

    >>> box(np.array([1.0, 2.0, 3.0, 4.0, 100.0])).outliers
    (100.0,)
    """
    least, q1, middle, q3, greatest = _five(values)
    reach = WHISKER * (q3 - q1)
    is_in = (values >= q1 - reach) & (values <= q3 + reach)
    inside, beyond = values[is_in], values[~is_in]
    if len(beyond) > OUTLIERS_MAX:
        beyond = np.concatenate([beyond[: OUTLIERS_MAX // 2], beyond[-OUTLIERS_MAX // 2 :]])
    return Box(
        n=len(values),
        least=_short(least),
        lo=_short(inside[0]),
        q1=_short(q1),
        median=_short(middle),
        q3=_short(q3),
        hi=_short(inside[-1]),
        greatest=_short(greatest),
        outliers=tuple(map(_short, beyond)),
    )


def _loads(runs: Sequence[Measured]) -> Iterable[LoadUse]:
    """Quartiles at each load of the sweep."""
    at: dict[float, list[Measured]] = defaultdict(list)
    for run in runs:
        point = run.outcome.point
        if point.phase is Phase.SWEEP and TWIN not in point.setting and point.fraction is not None:
            at[point.fraction].append(run)
    for fraction in sorted(at):
        own = [run.resources for run in at[fraction] if run.resources is not None]
        yield LoadUse(
            fraction=fraction,
            offered_rps=float(np.mean([run.outcome.offered_rps for run in at[fraction]])),
            runs=len(own),
            uses=tuple(
                (name, len(values), *_five_numbers(values))
                for name, values in zip(*_pooled(own), strict=True)
            ),
        )


def _five(values: Floats) -> tuple[float, float, float, float, float]:
    """Least, quartiles and greatest of ascending values, interpolated as `np.quantile` does."""
    q1, middle, q3 = (_quantile(values, q) for q in (0.25, 0.5, 0.75))
    return float(values[0]), q1, middle, q3, float(values[-1])


def _five_numbers(values: Floats) -> tuple[float, float, float, float, float]:
    least, q1, middle, q3, greatest = map(_short, _five(values))
    return least, q1, middle, q3, greatest


def _quantile(values: Floats, q: float) -> float:
    """Of ascending values; ten times as fast as numpy's own, of a few."""
    low, rest = divmod((len(values) - 1) * q, 1)
    at = float(values[int(low)])
    return at + rest * (float(values[int(low) + 1]) - at) if rest else at


def _short(value: float) -> float:
    """The digits that samples have."""
    return float(f"{value:.6g}")


def _critical(sides: Sequence[Side]) -> list[Use]:
    """What is used up where the target is missed first, or else at the highest load that holds.

    The CPUs of service and machine as a whole are named only where the service's own is not: then
    it is somebody else who uses them up.
    """
    selected = [use for use in _at_crossing(sides) if _share(use, use.box.q1) >= CRITICAL]
    own = [use for use in selected if use.name not in _OF_CPUS]
    return own or selected


def _at_crossing(sides: Sequence[Side]) -> list[Use]:
    """Resources of known capacity on the side where they are short."""
    by_name = {side.what: side for side in sides}
    side = by_name.get(VIOLATED) or by_name.get(HOLDS)  # without a target nothing is short
    return [] if side is None else [u for u in side.uses if u.capacity and not u.is_part]


def _share(use: Use, value: float) -> float:
    return value / use.capacity if use.capacity else 0.0


def _sentence(
    service: str, sides: Sequence[Side], critical: Sequence[Use], missing: Mapping[str, str]
) -> str:
    """The use at the highest load that holds, what is critical, and what is not known."""
    if not sides:
        return ""
    side = sides[0]
    texts = [f"{_WHERE[side.what]} ({_load(side)}) {_uses_cpu(service, side)}"]
    texts += [_short_of(sides, critical)] if len(sides) > 1 or critical else []
    texts.append(_others(side, critical))
    texts.append(_unknown(side, missing))
    return " ".join(filter(None, texts))


def _load(side: Side) -> str:
    share = "" if side.fraction is None else f", {100 * side.fraction:.4g} %"
    rps = side.hi_rps if side.what != VIOLATED else side.lo_rps
    sure = side.chance is None or not 1 - SURE < side.chance < SURE
    doubt = "" if sure else f"; it holds with probability {side.chance:.2f}"
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


def _short_of(sides: Sequence[Side], critical: Sequence[Use]) -> str:
    where = sides[-1]
    at = "there" if where.what == HOLDS else f"at the first load that misses it ({_load(where)})"
    if where is sides[0]:
        at = "there"
    if critical:
        named = " and ".join(f"{_called(use)}, {use_text(use)}" for use in critical)
        return f"Critical {at}: {named}."
    known = [_called(use) for use in _at_crossing(sides) if use.name not in _OF_CPUS]
    if not known:
        return ""
    return (
        f"What is critical is unknown: {at} none of {_listed(known)} is used to"
        f" {100 * CRITICAL:.0f} % by three quarters of the samples."
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
