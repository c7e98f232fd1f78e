"""Which resource a service uses up where its QoS target is missed, and how far it is from others.

All samples of the runs at a load are pooled; numbers are the median, and in brackets the middle
half of the samples. A resource is named critical only where three quarters of the samples are above
four fifths of what the service can take here; of resources whose capacity is not known nothing is
reported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from statistics import median

import numpy as np

from sojourn.analysis.load_point import SURE
from sojourn.analysis.resource_sentence import HIGHEST, HOLDS, VIOLATED, critical_uses, use_sentence
from sojourn.analysis.sample_box import box, five_numbers
from sojourn.findings.measured import Measured
from sojourn.findings.resource_use import CpuTrend, LoadUse, ResourceUse, Side, Use
from sojourn.half_width import student
from sojourn.host.usage.resource import BY_NAME
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.posterior import Posterior
from sojourn.plan.setting import TWIN
from sojourn.samples.resources import Resources
from sojourn.stats.method import Method
from sojourn.stats.times import Floats

METHOD = Method(
    name="resources",
    about="use of each resource at the QoS crossing: box plots of samples, and what is critical",
    ids=("P7", "P13"),
    source="Tukey, Exploratory Data Analysis (1977), for the boxes",
)

PHASES = (Phase.SWEEP, Phase.SEARCH, Phase.CONFIRM)
NEAR = 0.05  # loads so near the one that gives a side its name are pooled with it


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
    critical = critical_uses(sides)
    counted = {name for own in selected for name in own.names}
    events: Counter[str] = Counter()
    for own in selected:
        events.update(own.events)
    shares = [own.probe_share for own in selected if own.probe_share == own.probe_share]
    missing = {n: why for own in selected for n, why in own.not_counted.items() if n not in counted}
    return ResourceUse(
        sentence=use_sentence(service, sides, critical, missing),
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
        cpu_trend=_trend(own),
    )


def _trend(own: Sequence[Resources]) -> CpuTrend | None:
    """The mean slope of CPU time; samples of one run depend on each other, so runs are counted.

    Slopes of longer runs scatter less. Unequal variances make Student's interval wider than 95 %,
    not narrower (Ibragimov and Müller, J. Business & Economic Statistics 28, 2010).
    """
    slopes = np.array([run.cpu_trend_per_s for run in own if run.cpu_trend_per_s is not None])
    if not slopes.size:
        return None
    mean, half = float(slopes.mean()), None
    if slopes.size > 1:
        half = student(slopes.size - 1) * float(slopes.std(ddof=1)) / slopes.size**0.5
    return CpuTrend(
        per_s=mean,
        lo=None if half is None else mean - half,
        hi=None if half is None else mean + half,
        runs=int(slopes.size),
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
                (name, len(values), *five_numbers(values))
                for name, values in zip(*_pooled(own), strict=True)
            ),
        )
