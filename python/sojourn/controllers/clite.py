"""CLITE: Bayesian optimisation of how cores are parted, in windows of 2 s.

Source: Patel and Tiwari, "CLITE", HPCA 2020; the objective, the kernel (Matern 3/2, noise 1e-5,
scaled scores), the first samples and the end were read in copies of the authors' public code
(GoodwillComputingLab/CLITE) and written anew. There it parts cores, cache ways and bandwidth; here
cores only. So all partitions can be listed: each is asked for its expected improvement, in place
of the search from random starts with dropout, and none is sampled twice.

First the extremes (one has all but a core of each other), then the equal parts; then the partition
with the largest expected improvement, until that is below 0.01 to the power of the number of jobs
(the code; notes on the paper say 0.01) or the score reaches 0.99. The best one stays until the load
changes, as the paper asks.
The bound of 20 % on that change is this lab's; so is the grid for the kernel's length.
All best-effort groups are one job; its work is its CPU time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sojourn import late
from sojourn.controllers import cores
from sojourn.controllers.evidence import load_library
from sojourn.controllers.kind import ControllerKind
from sojourn.controllers.look import Decision, History, Look

if TYPE_CHECKING:
    import numpy as np
    import scipy
    from numpy.typing import NDArray
else:
    np, scipy = late.module("numpy"), late.module("scipy")

CONSTANTS = {
    "window_s": 2.0,
    "least_gain": 0.01,  # to the power of jobs: expected improvement at which the search ends
    "explore": 0.01,  # taken from each improvement
    "score_end": 0.99,
    "load_change": 0.2,
    "samples_most": 100.0,
}
NOISE = 1e-5
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of the kernel, in cores
PARTITIONS_MAX = 20_000

Cores = tuple[int, ...]
Values: TypeAlias = "NDArray[np.float64]"


def decide(history: History) -> Decision:
    """One sample a window; then the next partition, or rest at the best."""
    now, c = history.now, history.constants
    memory: dict[str, Any] = dict(history.memory)
    seen = _seen(now, round(c["window_s"] * 1000))
    if seen is None or now.cpus <= len(now.critical) or not history.is_due("at", c["window_s"]):
        return Decision(memory=memory)
    services = list(now.critical)
    if memory.get("services", services) != services:
        memory = {}  # other services: all over again
    memory |= {"at": now.t_s, "services": services}
    quality, work, load = seen
    if "best" in memory:
        if abs(load - memory["load"]) <= c["load_change"] * memory["load"]:
            return Decision(memory=memory)
        memory = {"at": now.t_s, "services": services}  # another load: all over again
    samples: list[dict[str, Any]] = list(memory.get("samples", []))
    if "tried" in memory:
        samples.append({"cores": memory["tried"], "quality": quality, "work": work})
    first = _first(now.cpus, len(now.critical))
    if len(samples) < len(first):
        wanted, why = first[len(samples)], "one of the first samples"
    else:
        wanted, why = _next(now, samples, c)
    memory |= {"samples": samples, "tried": list(wanted)}
    if not why:
        memory |= {"best": list(wanted), "load": load}
        why = f"the best of {len(samples)} partitions"
    parts = dict(zip(now.critical, wanted, strict=True))
    return Decision(changes=tuple(cores.give(now, parts, why)), memory=memory)


def _seen(now: Look, length_ms: int) -> tuple[float, float, float] | None:
    """How near the targets are, best-effort CPUs, requests/s; None: something is not known."""
    windows = [group.window(length_ms) for group in now.critical.values()]
    works = [group.signal("cpu") for group in now.best_effort.values()]
    if not windows or not works or None in windows or None in works:
        return None
    ratios, load = [], 0.0
    for group, window in zip(now.critical.values(), windows, strict=True):
        slack = group.slack(length_ms)
        if window is None or slack is None:  # a service without a target
            return None
        ratios.append(1.0 if slack >= 0 else 1 / (1 - slack))
        load += window.n / window.length_ms * 1000
    return _mean(ratios), sum(one or 0.0 for one in works), load


def score(quality: float, share: float) -> float:
    """Half of the quality until all targets hold; then a half, and half of the job's share.

    >>> score(0.8, 1.0), score(1.0, 0.6)
    (0.4, 0.8)
    """
    return 0.5 * quality if quality < 1 else 0.5 + 0.5 * min(1.0, share)


def _next(now: Look, samples: Sequence[dict[str, Any]], c: Any) -> tuple[Cores, str]:
    """The next partition and why; without a reason it is the best so far, and the search ends."""
    alone = max(samples[len(now.critical)]["work"], 1e-9)  # the extreme of the job
    scores = np.array([score(one["quality"], one["work"] / alone) for one in samples])
    tried = [tuple(one["cores"]) for one in samples]
    best = tried[int(scores.argmax())]
    left = [one for one in _partitions(now.cpus, len(now.critical)) if one not in set(tried)]
    if not left or scores.max() >= c["score_end"] or len(samples) >= c["samples_most"]:
        return best, ""
    gains = _gains(np.array(tried, float), scores, np.array(left, float), c["explore"])
    most = int(gains.argmax())
    if gains[most] < c["least_gain"] ** (len(now.critical) + 1):
        return best, ""
    return left[most], f"expected improvement {gains[most]:.4f} of the score"


def _gains(at: Values, scores: Values, candidates: Values, explore: float) -> Values:
    """Expected improvement of each candidate over the best score."""
    middle, spread = scores.mean(), scores.std() or 1.0
    known = (scores - middle) / spread
    scale = max(SCALES, key=lambda one: _evidence(at, known, one))
    factor = np.linalg.cholesky(_matern(at, at, scale) + NOISE * np.eye(len(at)))
    cross = np.linalg.solve(factor, _matern(at, candidates, scale))
    mean = cross.T @ np.linalg.solve(factor, known)
    deviation = np.sqrt(np.maximum(1 - (cross**2).sum(axis=0), 1e-12)) * spread
    over = mean * spread + middle - scores.max() - explore
    z = over / deviation
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return np.asarray(over * scipy.special.ndtr(z) + deviation * density)


def _evidence(at: Values, known: Values, scale: float) -> float:
    """Logarithm of the marginal likelihood, without its constant."""
    factor = np.linalg.cholesky(_matern(at, at, scale) + NOISE * np.eye(len(at)))
    white = np.linalg.solve(factor, known)
    return float(-0.5 * white @ white - np.log(np.diag(factor)).sum())


def _matern(left: Values, right: Values, scale: float) -> Values:
    """Matern's kernel with 3/2: how alike two partitions are."""
    far = np.sqrt(((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2)) * math.sqrt(3) / scale
    return np.asarray((1 + far) * np.exp(-far))


def _first(cpus: int, services: int) -> list[Cores]:
    """The extremes, the job's last, and the equal parts."""
    most = cpus - services
    extremes = [tuple(most if i == k else 1 for i in range(services)) for k in range(services + 1)]
    return [*extremes, (max(1, cpus // (services + 1)),) * services]


def _partitions(cpus: int, services: int) -> list[Cores]:
    """Cores of the services, at least one each, and at least one for the job."""
    partitions: list[Cores] = []
    for one in _parts(cpus - 1, services):
        partitions.append(one)
        if len(partitions) >= PARTITIONS_MAX:
            break
    return partitions


def _parts(most: int, services: int) -> Iterator[Cores]:
    if services == 0:
        yield ()
        return
    for one in range(1, most - services + 2):
        for rest in _parts(most - one, services - 1):
            yield (one, *rest)


def _mean(values: Sequence[float]) -> float:
    """The geometric mean of some shares."""
    return math.exp(sum(math.log(max(one, 1e-12)) for one in values) / len(values))


KIND = ControllerKind(
    name="clite",
    about="Bayesian optimisation of the parts of cores, a sample each 2 s",
    source="Patel and Tiwari, HPCA 2020; GoodwillComputingLab/CLITE, copies read",
    needs=("tail", "cpu", "cores"),
    on_services=("cores",),
    constants=CONSTANTS,
    window="window_s",
    prepare=load_library,
    decide=decide,
)
