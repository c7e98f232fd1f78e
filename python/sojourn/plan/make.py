"""Makes points: keys that stay over resumes, seeds that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.spec import Study


def seed_of(study: Study, key: str) -> int:
    """A seed of 48 bits, never 0, that depends on the study's seed and the point's key only."""
    digest = blake2b(f"{study.seed}/{key}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") or 1


def point(
    study: Study,
    key: str,
    phase: Phase,
    *,
    measure_s: float,
    offered_rps: float | None = None,
    fraction: float | None = None,
    repeat: int = 0,
    overrides: tuple[tuple[str, str | float | int | bool], ...] = (),
) -> Point:
    """One point; `key` begins with the label of its service."""
    return Point(
        key=key,
        service=key.partition("/")[0],
        phase=phase,
        offered_rps=None if offered_rps is None else rounded(offered_rps),
        fraction=fraction,
        repeat=repeat,
        measure_s=measure_s,
        warmup_s=study.run.warmup_s,
        seed=seed_of(study, key),
        overrides=overrides,
    )


def rounded(rps: float) -> float:
    """Four significant digits: loads that people can read and type again."""
    return float(f"{rps:.4g}")


def by_key(outcomes: Iterable[Outcome]) -> dict[str, Outcome]:
    """Outcomes by the key of their point; the last one of a key counts."""
    return {outcome.point.key: outcome for outcome in outcomes}


def attempt(key: str, number: int) -> str:
    """Key of the n-th attempt at a point: `…/f0.70`, `…/f0.70~1`, `…/f0.70~2`."""
    return f"{key}~{number}" if number else key


def attempts(key: str, done: Mapping[str, Outcome]) -> Sequence[Outcome]:
    """What became of a point, attempt by attempt."""
    found: list[Outcome] = []
    while (name := attempt(key, len(found))) in done:
        found.append(done[name])
    return found


def is_open(tried: Sequence[Outcome], retries: int) -> bool:
    """Whether a point wants another attempt: none was believable, and there may be one more."""
    return len(tried) <= retries and all(o.verdict is Verdict.UNKNOWN for o in tried)
