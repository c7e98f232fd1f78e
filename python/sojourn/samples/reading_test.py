"""What is read from a point's folder beside the load's own verdict."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from sojourn import samples
from sojourn.plan import Phase, Point
from sojourn.samples import made
from sojourn.samples.names import HOSTS, PROBE
from sojourn.samples.testing_point import first_point, stated

JOB = {"qos_bound": "500us", "qos_quantile": 0.5}


@pytest.fixture
def point() -> Point:
    return stated(first_point(), phase=Phase.SEARCH)


def test_a_probe_client_s_requests_are_part_of_the_load(point: Point, tmp_path: Path) -> None:
    folder = made.put(tmp_path, point, made.result([1e5] * 90, achieved_rps=80.0))
    alone = samples.read(folder)
    (folder / PROBE).write_text(json.dumps(made.result([1e5] * 10, achieved_rps=9.0)))
    outcome = samples.read(folder)
    assert (alone.offered_rps, alone.achieved_rps) == (90.0, 80.0)
    assert (outcome.offered_rps, outcome.achieved_rps) == (100.0, 89.0)


def test_clients_that_were_not_as_one_client_make_a_point_unknown(
    point: Point, tmp_path: Path
) -> None:
    folder = made.put(tmp_path, point, made.result([1e5] * 10, verdict="holds"))
    (folder / HOSTS).write_text('{"doubts": ["client 2 of 4 was late"]}')
    outcome = samples.read(folder)
    assert (outcome.verdict, outcome.reasons) == ("unknown", ("client 2 of 4 was late",))


def test_a_few_misses_are_no_overrun_however_far_behind_the_server_is(
    point: Point, tmp_path: Path
) -> None:
    load = made.result(
        [1e5] * 95 + [7e5] * 5,
        achieved_rps=50.0,
        verdict="holds",
        job=JOB,
        windows={"length_ns": 250_000, "n": [100], "k": [5], "over": 5},
    )
    assert samples.read(made.put(tmp_path, point, load)).verdict == "holds"


@pytest.mark.parametrize(("lateness", "surely"), [([], 9), (["send lag: 9 %"], 3)])
def test_a_late_client_excuses_misses_by_as_much_as_it_was_late_and_no_lost_request(
    point: Point, tmp_path: Path, lateness: list[str], surely: int
) -> None:
    load = made.result(
        [1e5] * 91 + [7e5] * 6 + [math.inf] * 3,
        verdict="unknown",
        upper_bounds=True,
        lateness=lateness,
        job=JOB,
        windows={"length_ns": 250_000, "n": [100], "k": [9], "over": 6},
    )
    load["pick_up_ns"] = {**load["pick_up_ns"], "max": 4e5}
    load["checks"]["poll_gap_max_ns"] = 0.0
    assert samples.read(made.put(tmp_path, point, load)).over_surely == surely
