"""A service with a known border, for tests: it drifts, is noisy, fails self-checks, and crashes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn import spec
from sojourn.plan import Planner, progress
from sojourn.plan.points import Outcome, Point, Verdict
from sojourn.plan.questions import Questions
from sojourn.plan.rehearsal import imagine
from sojourn.spec import Study

RUNS_MAX = 2_000


@dataclass(kw_only=True)
class Simulated:
    """An M/M/1 queue whose capacity differs between starts of the service and drifts with time.

    Attributes:
        capacity_rps: its median.
        restart_sd: standard deviation of the capacity between lives, as a ratio.
        drift: change of the capacity over one hour, as a ratio.
        unknown_share: share of runs whose self-check fails.
        correlation: requests that miss together.
    """

    capacity_rps: float = 100_000.0
    restart_sd: float = 0.0
    drift: float = 0.0
    unknown_share: float = 0.0
    correlation: float = 1.0
    seed: int = 1
    clock_s: float = 0.0
    lives: dict[str, float] = field(default_factory=dict)

    def measure(self, point: Point) -> Outcome:
        """What becomes of one point; time goes on."""
        draw = _draw(self.seed, point.key)
        life = _draw(self.seed, point.life)
        factor = self.lives.setdefault(point.life, life.gauss(1, self.restart_sd))
        capacity = self.capacity_rps * factor * (1 + self.drift * self.clock_s / 3600)
        ideal = imagine(point, capacity_rps=capacity)
        self.clock_s += ideal.wall_s
        if draw.random() < self.unknown_share:
            return replace(ideal, verdict=Verdict.UNKNOWN, reasons=("client stopped",))
        if ideal.over_bound is None:
            return ideal
        clumps = ideal.requests / self.correlation
        share = ideal.over_bound / max(1, ideal.requests)
        over = round(_binomial(draw, clumps, share) * self.correlation)
        return replace(ideal, over_bound=min(over, ideal.requests), correlation=self.correlation)

    def border_rps(self, bound_ns: float, q: float) -> float:
        """Where the q-quantile of the median life meets the bound: T ~ Exp(μ − λ)."""
        return self.capacity_rps - math.log(1 / (1 - q)) / (bound_ns / 1e9)


def _draw(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed}/{name}")  # noqa: S311 - not a secret


def _binomial(draw: random.Random, n: float, p: float) -> float:
    """By the normal where it is one, else by the Poisson limit of what is rarer."""
    if p > 0.5:
        return max(0.0, n - _binomial(draw, n, 1 - p))
    mean = n * p
    if mean * (1 - p) > 50:
        return max(0.0, draw.gauss(mean, (mean * (1 - p)) ** 0.5))
    count, product = 0, draw.random()
    while product > math.exp(-mean):
        count += 1
        product *= draw.random()
    return float(count)


def play(
    study: Study,
    measure: Callable[[Point], Outcome],
    questions: Questions,
    outcomes: list[Outcome] | None = None,
    *,
    stop_after: int = RUNS_MAX,
) -> list[Outcome]:
    """Run a study to its end, or to `stop_after` points, as the pipeline does."""
    played = list(outcomes or [])
    planner, keys = Planner(study, questions), {outcome.point.key for outcome in played}
    while len(played) < stop_after and (point := planner.next(played)):
        if point.key in keys:
            raise AssertionError(f"{point.key} was planned twice")
        played += map(measure, point.all)
        keys |= {member.key for member in point.all}
    return played


def study(*sets: str, name: str = "max_load_memcached", profile: str = "standard") -> Study:
    """A built-in study with some keys set; without A/A points, unless they are asked for."""
    return spec.load(name, profile=profile, overrides=("aa=false", *sets))


def search_of(
    played: Sequence[Outcome], of: Study, questions: Questions, label: str = "memcached"
) -> Any:
    """The `Search` of a service; a test asks for parts that may lack, and fails if they do."""
    result = questions.search_of(progress(of, of.service(label), played, questions))
    if result is None:
        raise AssertionError(f"the search of {label} was not begun")
    return result
