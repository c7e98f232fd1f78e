"""How many clients a study needs: by what clients of its newest record took, or it says why not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import store
from sojourn.cli import clients_need
from sojourn.errors import StoreFault
from sojourn.plan import Point, Verdict
from sojourn.plan.points import Phase
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.hosts import HostsSpec
from sojourn.spec.profiles import PROFILES

SERVICE = ServiceSpec(kind="null", measure=("sweep",))


def study(**more: Any) -> Study:
    run = PROFILES["quick"].model_copy(update={"fractions": (), "rates": ("100k",)})
    about: dict[str, Any] = {"name": "s", "question": "?", "run": run, "services": (SERVICE,)}
    return Study(**(about | {"hosts": HostsSpec(at="local:2")} | more))


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A record with one point, of which each client brought home one of these results."""

    def record(
        parts: Sequence[dict[str, Any]],
        *,
        is_believed: bool = True,
        at: str = "points/0001",
        offered_rps: float | None = 20_000.0,
    ) -> None:
        folder = tmp_path / "points/0001"
        folder.mkdir(parents=True)
        for nth, part in enumerate(parts, 1):
            (folder / f"load.{nth}.json").write_text(json.dumps(part))
            (folder / f"load.{nth}.job.json").write_text("{}")
        point = Point(
            key="k",
            service="null",
            phase=Phase.SWEEP,
            offered_rps=offered_rps,
            measure_s=1.0,
            warmup_s=0.0,
            seed=1,
        )
        outcome = SimpleNamespace(
            point=point, folder=at, is_believed=is_believed, achieved_rps=20_000.0
        )
        made: Any = SimpleNamespace(path=tmp_path, outcomes=lambda: (outcome,))
        made.folder_of = lambda one: store.Record.folder_of(made, one)
        monkeypatch.setattr(store, "last", lambda *_: made)

    return record


def part(wait: str, verdict: Verdict = Verdict.HOLDS, cost_ns: float = 5_000.0) -> dict[str, Any]:
    cost = {"wait": wait, "cpu_ns_per_request": cost_ns}
    return {"verdict": verdict, "offered_rps": 10_000.0, "cost": cost}


def needed(asked: Study) -> list[str]:
    return list(clients_need.needs(asked, Path()))


def test_of_clients_that_slept_their_cpu_time_decides(recorded: Any) -> None:
    recorded([part("sleep", cost_ns=10_000.0), part("sleep")])
    (line,) = needed(study())
    assert "100k requests/s need 2 clients" in line
    assert "10.0 µs of its CPU" in line


def test_of_clients_that_spun_the_rate_decides_that_one_carried(recorded: Any) -> None:
    recorded([part("spin"), part("yield")])
    (line,) = needed(study())
    assert "need 10 clients at most: one carried 10.0k on time" in line


def test_a_client_that_was_not_sound_has_shown_nothing(recorded: Any) -> None:
    recorded([part("spin", Verdict.UNKNOWN)])
    assert "no known number of clients" in needed(study())[0]


def test_one_host_is_not_asked_for_clients() -> None:
    assert needed(study(hosts=None)) == []


def test_of_many_clients_what_the_hosts_file_has_of_each_decides(
    recorded: Any, tmp_path: Path
) -> None:
    recorded([])
    every = [part("spin"), part("spin", Verdict.UNKNOWN), part("yield")]
    at = tmp_path / "points/0001"
    (at / "hosts.json").write_text(json.dumps({"clients": every}))
    (at / "load.json").write_text(json.dumps({**part("spin"), "offered_rps": 20_000.0}))
    assert "need 10 clients at most: one carried 10.0k on time" in needed(study())[0]
    (at / "hosts.json").write_text("[")
    assert "no known number of clients" in needed(study())[0], "no one carried the load of all"


def hosted(host: str, cost_ns: float, wait: str = "sleep", **more: Any) -> dict[str, Any]:
    return {**part(wait, cost_ns=cost_ns), "host": host, **more}


def of_hosts(recorded: Any, tmp_path: Path, *rows: dict[str, Any]) -> str:
    recorded([])
    (tmp_path / "points/0001/hosts.json").write_text(json.dumps({"clients": rows}))
    return needed(study())[0]


def test_of_unlike_hosts_the_slowest_decides_and_each_is_listed(
    recorded: Any, tmp_path: Path
) -> None:
    rows = (hosted("fast", 5_000.0), hosted("slow", 20_000.0), hosted("fast", 4_000.0))
    line = of_hosts(recorded, tmp_path, *rows)
    assert "need 5 clients: one carries 24.2k, because a request took 20.0 µs of its CPU" in line
    assert line.endswith("each has an equal share: slow 24.2k, fast 160k")


def test_hosts_that_are_nearly_alike_are_not_listed(recorded: Any, tmp_path: Path) -> None:
    line = of_hosts(recorded, tmp_path, hosted("a", 10_000.0), hosted("b", 10_500.0))
    assert "unlike" not in line


def test_of_unlike_hosts_that_spun_the_lowest_of_their_highest_rates_decides(
    recorded: Any, tmp_path: Path
) -> None:
    rows = [hosted("a", 1.0, "spin", offered_rps=rps) for rps in (5_000.0, 50_000.0)]
    line = of_hosts(recorded, tmp_path, *rows, hosted("b", 1.0, "spin", offered_rps=20_000.0))
    assert "need 5 clients at most: one carried 20.0k on time" in line


def test_a_client_with_more_threads_carries_more(recorded: Any, tmp_path: Path) -> None:
    line = of_hosts(recorded, tmp_path, hosted("a", 20_000.0, threads=3))
    assert "need 2 clients: one with 3 threads carries 72.8k" in line


def test_the_time_of_a_request_counts_at_the_highest_rate(recorded: Any, tmp_path: Path) -> None:
    """At a low rate each request wakes its client, which is dearer than the request."""
    rare = hosted("a", 60_000.0, offered_rps=100.0)
    line = of_hosts(recorded, tmp_path, rare, hosted("a", 10_000.0))
    assert "a request took 10.0 µs" in line


@pytest.mark.parametrize(
    ("more", "clients"),
    [
        ({}, 54),  # 50 us
        ({"timely_within": "50000ns"}, 54),
        ({"timely_within": "500us"}, 8),
        ({"timely_within": "150us", "cost": {"wait": "sleep:100000ns"}}, 54),
    ],
)
def test_how_late_a_request_may_be_counts(
    recorded: Any, tmp_path: Path, more: dict[str, Any], clients: int
) -> None:
    row = hosted("a", 60_000.0)
    cost = {**row["cost"], **more.pop("cost", {})}
    line = of_hosts(recorded, tmp_path, {**row, **more, "cost": cost})
    assert f"need {clients} clients" in line


def test_of_a_dear_request_the_number_of_clients_stays_sane(recorded: Any) -> None:
    """Kingman's bound asked for 3.5 million clients here."""
    recorded([part("sleep", cost_ns=200_000.0)])
    assert "need 606 clients: one carries 165, because" in needed(study())[0]


def test_a_peak_that_is_not_valid_is_no_highest_rate(recorded: Any) -> None:
    recorded([part("sleep")], is_believed=False, offered_rps=None)
    run = PROFILES["quick"]
    assert "is known once max RPS is" in needed(study(run=run))[0]


@pytest.mark.parametrize("at", ["/etc", "../other/points/0001", "points/.."])
def test_a_point_that_names_a_folder_elsewhere_is_refused(recorded: Any, at: str) -> None:
    recorded([part("sleep")], at=at)
    with pytest.raises(StoreFault, match="not in the record"):
        needed(study())


@pytest.mark.parametrize("number", [0.0, 5e-324, 1e308, float("nan"), -1.0, "x", None])
def test_numbers_that_no_run_has_are_left_out(recorded: Any, number: Any) -> None:
    recorded([part("sleep", cost_ns=number), part("spin") | {"offered_rps": number}])
    line = " ".join(needed(study()))
    assert "no known number of clients" in line or "need 10 clients at most" in line


@pytest.mark.parametrize(
    ("hosts", "hours", "text"),
    [
        (None, 0.5, ""),
        (HostsSpec(at="local:4"), 0.5, ""),
        (HostsSpec(at="auto", clients=("a", "a", "b")), 1.5, "1.5 machine-hours: 3 machines"),
        (HostsSpec(at="auto", clients=("role=client",)), None, "and of each that is a client"),
        (HostsSpec(at="auto"), None, "and of each that is a client"),
    ],
)
def test_machine_hours_count_each_machine_once(
    hosts: HostsSpec | None, hours: float | None, text: str
) -> None:
    asked = study(hosts=hosts)
    assert clients_need.machine_hours(asked, 1800.0) == hours
    assert text in clients_need.cost(asked, 1800.0)
    assert bool(clients_need.cost(asked, 1800.0)) is bool(text)


def test_machine_hours_count_every_server_of_a_factor() -> None:
    hosts = HostsSpec(at="auto", clients=("c",), server="a", observers=("d",))
    asked = study(hosts=hosts, run=PROFILES["quick"], factors={"hosts.server": ("a", "b")})
    assert clients_need.machine_hours(asked, 3600.0) == 5, "the lab's own, c, d, and both servers"
    assert "5 machine-hours: 5 machines" in clients_need.cost(asked, 3600.0)
