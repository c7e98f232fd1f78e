"""What the benches of servers as they come take for right."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def bench(bench_modules: Any) -> Any:
    """A module of `bench/` by its name."""
    return bench_modules("", "trace")


def row(bench: Any, client: str, lost: dict[str, int], scheme: str = "http") -> Any:
    return bench("losses").Row("nginx: reload", scheme, client, 0, 100, lost)


def test_a_case_is_wrong_where_ours_loses_more_than_go(bench: Any) -> None:
    losses = bench("losses")
    go, ours = losses.GO, losses.OURS
    same = [row(bench, go, {"EOF": 2}), row(bench, ours, {"closed": 1, "timed_out": 1})]
    more = [row(bench, go, {}, "h2"), row(bench, ours, {"closed": 1}, "h2")]
    text, is_right = losses.table(same)
    assert is_right
    assert "2/100" in text
    text, is_right = losses.table([*same, *more])
    assert not is_right
    assert [line.split()[-1] for line in text.splitlines()[1:]] == ["yes", "NO"]
    assert losses.table([row(bench, ours, {"closed": 1})])[0].count("\n") == 0, "nothing beside it"


def test_every_case_has_a_server_and_a_name_of_its_own(bench: Any) -> None:
    cases, servers = bench("wire.usual.cases"), bench("wire.usual.servers")
    assert {case.server for case in cases.CASES} == set(servers.SERVERS)
    assert len({case.name for case in cases.CASES}) == len(cases.CASES)


def traced(stages: dict[str, float], work: float, total_ms: float) -> dict[str, Any]:
    return {
        "stages": [{"name": name, "mean_ns": ms * 1e6} for name, ms in stages.items()],
        "causes": [{"cause": "work", "share": work}, {"cause": "waiting", "share": 1 - work}],
        "total": {"mean_ns": total_ms * 1e6},
        "matched": 100,
        "requests": 100,
        "verdict": {"verdict": "holds"},
        "answer": "",
    }


@pytest.mark.parametrize(
    ("stages", "work", "is_right"),
    [
        ({"wait_upstream": 5.1, "application": 0.1}, 0.02, True),
        ({"wait_upstream+wait_sleep": 5.1}, 0.02, True),
        ({"wait_upstream": 2.0, "application": 3.1}, 0.6, False),
        ({"wait_lock": 5.1}, 0.02, False),
        ({"wait_upstream": 5.1}, 0.4, False),
    ],
)
def test_a_wait_is_right_in_its_own_stage_and_at_least_as_long_as_it_was_made(
    bench: Any, stages: dict[str, float], work: float, *, is_right: bool
) -> None:
    waits = bench("waits")
    plant = next(one for one in waits.PLANTS if one.name == "HAProxy")
    seen = {"wire_ns": {"p50": 5.3e6}}
    result = waits.judged(plant, ("--all",), traced(stages, work, 5.3), seen)
    assert result.is_right is is_right
