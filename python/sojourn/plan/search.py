"""The highest load within the QoS target: one model over all runs, which chooses the next (M28).

Every probe is a run from a fresh start of the service (M15). The model of `posterior` takes sweep
and probes together and says where the border may lie; the next probe is made at one of its
quantiles, so that probes gather around the border and still look beyond both ends. The search ends
when the interval is narrow and rests on enough starts and time, or when its time is spent; it
always has an interval.

Where others take the server's CPUs so often that the machine decides, there are two borders: as
experienced, and undisturbed (M29). Probes then take turns between both, because a search of the
first alone would end far below the second and say little of the service.

Last come a few longer runs at the lower end, which enter the model like any other. Where the
service had its CPUs to itself they take turns with runs without that shield (M32): what the shield
changed is measured at the load that was found.

Source: Rodriguez and Ludkovski, Information-directed sampling for root finding (2017) and Waeber,
Frazier and Henderson, Bisection search with noisy responses (2013), for probing at quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.plan import make
from sojourn.plan.axis import Axis, Target
from sojourn.plan.evidence import EXCURSION, Trial, trials
from sojourn.plan.ladder import FLOOR
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.posterior import Posterior, border
from sojourn.plan.setting import RATE, Setting
from sojourn.spec import MaxRps, ServiceSpec, Study

QUANTILES = (0.5, 0.5, 0.2, 0.8, 0.35, 0.65, 0.1, 0.9)  # of the border, probe by probe
BLIND = (0.5, 0.8)  # of the peak: the first probes where nothing is known
STARTS_MIN = 8  # of the service: fewer do not show how starts differ
PROBES_MIN = 3  # whatever they take: without them there is no search
LEAST_S = 22.0  # of load
EXCURSIONS = 3  # of `EXCURSION` bounds at the target's share: less load can show nothing
NEAR = 1.15  # ratio to the border within which load counts as near it
APART = 1.2  # ratio of the undisturbed border to the experienced one from which both are probed
LOWER = 0.05  # quantile of the border at which the last runs are made


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How far the search has come, and what it says so far.

    Attributes:
        posterior: of the border, from all runs; None before there is one.
        trials: the runs it rests on.
        at_rps: the load of the last, longer runs; None while the search goes on.
        next: the run to make; None when the search is over.
    """

    posterior: Posterior | None
    trials: tuple[Trial, ...]
    at_rps: float | None
    next: Point | None

    @property
    def interval_rps(self) -> tuple[float, float] | None:
        """90 % interval of the border, requests/s: 0 and infinity are open ends."""
        return self.posterior.interval() if self.posterior else None

    @property
    def estimate_rps(self) -> float | None:
        """Median of the border, requests/s, kept on the grid of loads; None without a run."""
        return self.posterior.within(0.5) if self.posterior else None

    @property
    def highest_rps(self) -> float:
        """The highest load of which the runs say anything, requests/s; 0 without a run."""
        return self.posterior.rps[-1] if self.posterior else 0.0

    @property
    def starts(self) -> int:
        """Starts of the service that the runs share."""
        return len({trial.life for trial in self.trials})


def search(
    study: Study,
    service: ServiceSpec,
    outcomes: Sequence[Outcome],
    axis: Axis,
    target: Target,
) -> Search:
    """Where the search of a service stands; `outcomes` are all of that service, in order."""
    asked = _Asked(study=study, label=service.label, outcomes=outcomes, axis=axis, target=target)
    is_axis = service.max_rps is MaxRps.QOS  # then the sweep follows from it, and may not move it
    swept = () if is_axis else (Phase.SWEEP,)
    probed = trials(outcomes, (*swept, Phase.SEARCH))
    before = asked.border(probed)
    calm = trials(outcomes, (*swept, Phase.SEARCH), undisturbed=True)
    if point := _probe(asked, (before, probed), (asked.border(calm), calm)):
        return Search(posterior=before, trials=probed, at_rps=None, next=point)
    if before is None:
        return Search(posterior=None, trials=probed, at_rps=None, next=None)
    at_rps = make.rounded(before.within(LOWER))
    report = trials(outcomes, (*swept, Phase.SEARCH, Phase.CONFIRM))
    return Search(
        posterior=asked.border(report),
        trials=report,
        at_rps=at_rps,
        next=_last_runs(asked, at_rps),
    )


def needs_s(q: float, bound_s: float) -> float:
    """Load without which no one can know, s: a few excursions at the share that is allowed.

    >>> round(needs_s(0.99, 1e-3)), round(needs_s(0.99, 20e-3))
    (22, 30)
    """
    return max(LEAST_S, EXCURSIONS * EXCURSION * bound_s / (1 - q))


def scheduled(
    outcomes: Sequence[Outcome], axis: Axis, target: Target
) -> tuple[Posterior | None, tuple[Trial, ...]]:
    """The border without the shield, from the runs that had none, and those runs."""
    bare = trials(outcomes, (Phase.SCHEDULED,))
    return border_of(bare, axis, target), bare


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A service's search, and all that is known of it."""

    study: Study
    label: str
    outcomes: Sequence[Outcome]
    axis: Axis
    target: Target

    def made(self, phase: Phase) -> list[Outcome]:
        return [o for o in self.outcomes if o.point.phase is phase]

    def border(self, results: tuple[Trial, ...]) -> Posterior | None:
        return border_of(results, self.axis, self.target)

    def point(self, phase: Phase, rps: float, measure_s: float) -> Point:
        """The next run of a phase, from a fresh start of the service."""
        setting = Setting.of({RATE: make.rounded(rps)})
        return make.point(
            self.study,
            Cell(self.label, phase, len(self.made(phase)), setting),
            measure_s=measure_s,
            offered_rps=rps,
            fraction=round(rps / self.axis.rps, 4),
            overrides=self.target.overrides,
        )


def border_of(results: tuple[Trial, ...], axis: Axis, target: Target) -> Posterior | None:
    """What these runs say about the border of a service; None without a run."""
    if not results:
        return None
    return border(results, peak_rps=axis.rps, bound_s=target.bound_ns / 1e9, q=target.q)


Known = tuple[Posterior | None, Sequence[Trial]]


def _probe(asked: _Asked, experienced: Known, undisturbed: Known) -> Point | None:
    """The next probe; None when the search is narrow enough or out of time."""
    spec = asked.study.run.search
    made = asked.made(Phase.SEARCH)
    spent_s = sum(o.wall_s for o in made)
    another_s = spent_s / len(made) if made else spec.probe_s
    if spent_s + another_s > max(spec.budget_s, PROBES_MIN * another_s):
        return None
    both = (
        [experienced, undisturbed] if _are_apart(experienced[0], undisturbed[0]) else [experienced]
    )
    if len(made) >= STARTS_MIN and all(_is_narrow(asked, *known) for known in both):
        return None
    turn, which = divmod(len(made), len(both))
    now, _ = both[which]
    if now is None:
        rps = BLIND[turn % len(BLIND)] * asked.axis.rps
    else:
        rps = _quantile(now, QUANTILES[turn % len(QUANTILES)], asked.axis)
    return asked.point(Phase.SEARCH, rps, spec.probe_s)


def _quantile(now: Posterior, p: float, axis: Axis) -> float:
    """A load at a quantile of the border; where even the lowest may fail, half of that.

    The grid reaches down to each load that was run, so the next quantile may lie lower still.
    """
    if now.load_at(p) > 0:
        return now.within(p)
    lowest = now.rps[0]
    return max(lowest / 2, min(lowest, FLOOR * axis.rps))


def _are_apart(experienced: Posterior | None, undisturbed: Posterior | None) -> bool:
    """Whether the machine decides rather than the service."""
    if experienced is None or undisturbed is None:
        return False
    return undisturbed.within(0.5) > APART * experienced.within(0.5)


def _is_narrow(asked: _Asked, now: Posterior | None, probed: Sequence[Trial]) -> bool:
    if now is None:
        return False
    lo, hi = now.interval()
    measured_s = sum(trial.seconds for trial in probed)
    is_enough = measured_s >= needs_s(asked.target.q, asked.target.bound_ns / 1e9)
    is_above_all = lo == now.rps[-1]  # no higher load can be offered
    return is_enough and (is_above_all or hi <= lo * (1 + 2 * asked.study.run.search.resolution))


def _last_runs(asked: _Asked, at_rps: float) -> Point | None:
    """The longer runs at the lower end, each after one without the shield where there is one."""
    spec = asked.study.run.search
    confirmed, bare = len(asked.made(Phase.CONFIRM)), len(asked.made(Phase.SCHEDULED))
    is_shielded = any(o.shield != "none" for o in asked.made(Phase.SEARCH))
    wanted = spec.confirm_repeats if is_shielded else 0
    if bare < wanted and bare <= confirmed:
        return asked.point(Phase.SCHEDULED, at_rps, spec.confirm_s)
    if confirmed < spec.confirm_repeats:
        return asked.point(Phase.CONFIRM, at_rps, spec.confirm_s)
    if bare >= 2 * wanted:
        return None
    alone, _ = scheduled(asked.outcomes, asked.axis, asked.target)
    if alone is None or alone.holds_at(at_rps) > 0.5:
        return None  # without the shield it holds there as well, or nothing is known of it
    return asked.point(Phase.SCHEDULED, alone.within(0.5), spec.confirm_s)
