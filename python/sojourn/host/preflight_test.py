"""What stops mean, in closed form, and a look that runs."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from sojourn.host import preflight
from sojourn.host.preflight import Look, Stops, Target, look

MS = 1_000_000
S = 1_000_000_000


def stops(*lengths_ms: float, watched_s: float = 1.0) -> Stops:
    return Stops(
        lengths_ns=tuple(round(length * MS) for length in lengths_ms),
        watched_ns=round(watched_s * S),
    )


def seen(everybody: Stops, machine: Stops | None = None, **facts: float) -> Look:
    return Look(cpus=(1,), all=everybody, machine=machine, **facts)  # type: ignore[arg-type]


def test_f_is_rate_times_mean_excess_over_the_bound() -> None:
    rng = np.random.default_rng(5)
    mean_ms, per_s, watched_s, bound_ms = 2.0, 3.0, 10_000.0, 1.0
    lengths = rng.exponential(mean_ms, rng.poisson(per_s * watched_s))
    f = stops(*lengths, watched_s=watched_s).over_share(bound_ms * MS)
    # E[(L − b)⁺] = mean · exp(−b / mean) of an exponential; its variance gives five sigma.
    excess_ms = mean_ms * math.exp(-bound_ms / mean_ms)
    sigma = math.sqrt(2 * mean_ms * excess_ms / (per_s * watched_s)) * per_s / 1e3
    assert f == pytest.approx(per_s * excess_ms / 1e3, abs=5 * sigma)


def test_the_same_stops_matter_by_quantile_and_bound() -> None:
    result = stops(3.0)  # 2 ms of 1 s beyond 1 ms: f = 0.002
    assert Target(q=0.99, bound_ns=MS).lost_share(result) == pytest.approx(0.2)
    assert Target(q=0.9, bound_ns=MS).lost_share(result) == pytest.approx(0.02)
    assert Target(q=0.99, bound_ns=3 * MS).lost_share(result) == 0
    assert Target(q=0.9999, bound_ns=MS).lost_share(result) == 1, "no more than all"


def test_what_decides_is_named() -> None:
    target = Target(q=0.99, bound_ns=MS)
    quiet, little, much = stops(), stops(3.0), stops(8.0, 8.0)
    assert seen(quiet).is_calm(target)
    assert "the service's own" in seen(quiet).effect(target)
    assert not seen(little).is_calm(target)
    assert "about 20 % too low" in seen(little).effect(target)
    assert "the answer will be the machine's" in seen(much).effect(target)
    assert "up to 8 ms at once" in seen(much).seen(target)
    busy = stops(*[0.5] * 200)  # a tenth of the CPU, but never longer than the bound
    assert not seen(busy).is_calm(target)
    assert "10 % less of its CPU" in seen(busy).effect(target)
    assert "M27" in seen(quiet, steal_share=0.02).effect(target)


def test_a_shielded_server_meets_only_the_machine() -> None:
    target = Target()
    result = seen(stops(8.0, 8.0), stops(0.2))
    assert not result.is_calm(target)
    assert result.is_calm(target, is_shielded=True)
    assert "cannot stop, lost 0.02 %" in result.seen(target)
    no_rights = seen(stops(8.0, 8.0))
    assert not no_rights.is_calm(target, is_shielded=True), "unseen is not calm"


def test_a_look_watches_each_cpu_for_as_long_as_asked() -> None:
    cpus = tuple(sorted(os.sched_getaffinity(0)))[-2:]
    result = look(cpus, 0.2)
    assert result.cpus == cpus
    assert result.all.watched_ns >= 0.2 * S * len(cpus)
    assert 0 <= result.all.taken_share < 1
    assert sum(result.all.lengths_ns) <= result.all.watched_ns


def test_a_task_that_uses_the_same_cpu_is_seen() -> None:
    cpu = max(os.sched_getaffinity(0))
    alone = look((cpu,), 1.0)
    twice = look((cpu, cpu), 1.0)  # two watchers of one CPU take turns, whoever else runs
    assert twice.all.taken_share > max(0.1, 0.5 * alone.all.taken_share)


def test_what_could_not_be_watched_is_not_called_calm() -> None:
    """Where a sandbox refuses to put the watching tasks on a CPU, none of them reports anything."""
    target, blind = Target(), seen(Stops())
    for is_shielded in (False, True):
        assert not blind.is_calm(target, is_shielded=is_shielded)
        assert "is not known" in blind.effect(target, is_shielded=is_shielded)
    assert blind.seen(target) == "CPU 1 could not be watched"


def test_watchers_that_cannot_be_placed_have_watched_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preflight, "SENTINEL", preflight.SENTINEL.with_name("is_not_there.py"))
    assert not look((0,), 0.1).is_watched
