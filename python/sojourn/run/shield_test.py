"""Which shield a life gets, and what is said of it; no server runs here."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import services
from sojourn.host import Placement
from sojourn.host.tree import Tree
from sojourn.knobs import priority
from sojourn.knobs.priority import Rank
from sojourn.places import proc
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.plan import Phase, Point
from sojourn.plan.setting import Setting
from sojourn.run import shield
from sojourn.run.shield import PRIORITY, Shield, Wish
from sojourn.services import Allowance, Endpoint, Service
from sojourn.services.capabilities import Demands, Needs
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.profiles import PROFILES
from sojourn.testing_questions import PLANS

APART = Placement(server=(1,), client=(0,), housekeeping=(0,), client_wait="spin", shared=())
TOGETHER = Placement(server=(0,), client=(0,), housekeeping=(0,), client_wait="sleep", shared=())
LIMIT = {"rt_runtime_us": 950_000, "rt_period_us": 1_000_000}


class Workers(Service, Demands):
    """As much of a service as the decision looks at."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def needs(self) -> Needs:
        return Needs(workers=self.workers)

    def ready(self, address: Address, within_s: float) -> bool:
        raise NotImplementedError

    def endpoint(self, address: Address) -> Endpoint:
        raise NotImplementedError


def study(
    name: str = PRIORITY, *, measure: str = "sweep", trace: bool = False, neighbour: str = "none"
) -> Study:
    asked = PROFILES["quick"].model_copy(update={"shield": name})
    spec = ServiceSpec.model_validate({"kind": "null", "measure": [measure]})
    return Study(
        name="s", question="?", run=asked, services=(spec,), trace=trace, neighbour=neighbour
    )


def wish(
    asked: Study,
    *,
    phase: Phase = Phase.SWEEP,
    workers: int = 1,
    where: Placement = APART,
    **levels: str,
) -> Wish:
    bare = Point(
        key="k",
        service="null",
        phase=phase,
        offered_rps=1.0,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
        setting=Setting.of(levels),
    )
    return shield.wish(asked, asked.services[0], PLANS.stated(bare), Workers(workers), where)


def test_by_default_the_servers_threads_get_priority() -> None:
    assert PROFILES["standard"].shield == PRIORITY
    assert wish(study()) == Wish(name=PRIORITY)
    assert wish(study(), phase=Phase.SEARCH) == Wish(name=PRIORITY)


@pytest.mark.parametrize(
    ("got", "why"),
    [
        (wish(study("none")), "asks for none"),
        (wish(study(), phase=Phase.SCHEDULED), "own scheduling"),
        (wish(study("move"), phase=Phase.SCHEDULED), "own scheduling"),
        (wish(study(), where=TOGETHER), "share a CPU"),
        (wish(study(measure="breakdown"), phase=Phase.TRACE), "task on the server's CPU"),
        (wish(study(neighbour="spin")), "task on the server's CPU"),
        (wish(study(neighbour="spin"), phase=Phase.PEAK), "task on the server's CPU"),
        (wish(study(neighbour="spin", trace=True), phase=Phase.TRACE), "task on the server's CPU"),
        (wish(study(), neighbour="none"), "task on the server's CPU"),  # others have one
    ],
)
def test_none_and_the_reason(monkeypatch: pytest.MonkeyPatch, got: Wish, why: str) -> None:
    monkeypatch.setattr(priority, "is_allowed", lambda: False)
    assert got.name == "none"
    assert why in got.refused
    assert shield.put_up(got, 1, (1,)) == Shield(why=got.refused)


@pytest.mark.parametrize(
    ("where", "is_allowed", "could"),
    [(APART, True, True), (APART, False, False), (TOGETHER, True, False)],
)
def test_that_one_could_be_asked_for_is_kept_where_this_host_allows_it(
    monkeypatch: pytest.MonkeyPatch, where: Placement, *, is_allowed: bool, could: bool
) -> None:
    monkeypatch.setattr(priority, "is_allowed", lambda: is_allowed)
    up = shield.put_up(wish(study("none"), where=where), 1, (1,))
    assert up.name == "none"
    assert up.as_json().get("shield_could", False) is could
    assert "shield_could" not in shield.put_up(wish(study(), where=TOGETHER), 1, (1,)).as_json()


def test_traced_loads_without_a_disturbing_task_are_shielded_like_the_others() -> None:
    asked = study(trace=True)
    assert wish(asked, phase=Phase.TRACE, neighbour="none") == Wish(name=PRIORITY)


def test_workers_that_take_turns_keep_the_kernels_turns() -> None:
    assert wish(study(), workers=1).refused == ""
    got = wish(study(), workers=2)
    assert "2 workers take turns on 1 CPU" in got.refused
    assert shield.put_up(got, 1, (1,)).name == "none"


def test_the_instruments_own_service_is_not_shielded() -> None:
    allowance = Allowance(cpus=1, memory_bytes=1 << 30)
    asked = study()
    point = Point(
        key="k",
        service="null",
        phase=Phase.CHECK,
        offered_rps=1.0,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
    )
    try:
        service = services.build("synthetic", {}, allowance)
    except Exception:  # noqa: BLE001  # not built here
        pytest.skip("needs sojourn-serve: make build")
    assert "instrument" in shield.wish(asked, asked.services[0], point, service, APART).refused


def test_no_right_to_it_is_named_and_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(leader: int) -> int:
        del leader
        raise priority.RefusedError("no right to real-time priority (CAP_SYS_NICE, …)")

    monkeypatch.setattr(priority, "give", refuse)
    got = shield.put_up(Wish(name=PRIORITY), 4711, (1,))
    assert (got.name, got.as_json()["shield"]) == ("none", "none")
    assert "CAP_SYS_NICE" in got.text


def test_what_counts_is_what_is_read_back_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    up = Shield(why="", facts_now={"policy": "SCHED_RR", "priority": 1, **LIMIT})
    task = Task(pid=1, tid=2, name="late", command="")
    monkeypatch.setattr(proc, "tasks", lambda leader: (task,))
    monkeypatch.setattr(priority, "without", lambda leader: ())
    held = shield.look(up, 1, 0.5)
    assert held.name == PRIORITY
    assert held.text == "all 1 threads of the server at SCHED_RR 1, read back after the run"
    monkeypatch.setattr(priority, "without", lambda leader: ((task, Rank(policy=0, priority=0)),))
    lost = shield.look(up, 1, 0.5)
    assert lost.name == "none"
    assert "late (SCHED_OTHER)" in lost.why
    monkeypatch.setattr(proc, "tasks", lambda leader: ())
    monkeypatch.setattr(priority, "without", lambda leader: ())
    assert shield.look(up, 1, 0.5).name == "none"


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (LIMIT, "above 95% the kernel stops real-time threads, for up to 50 ms in every 1 s"),
        ({"rt_runtime_us": -1, "rt_period_us": 1_000_000}, "nothing limits"),
        ({}, "not known"),
    ],
)
def test_near_full_load_the_kernels_limit_is_reported(
    limit: dict[str, int], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = Shield(why="", facts_now={"policy": "SCHED_RR", "priority": 1, **limit})
    task = Task(pid=1, tid=2, name="mc", command="")
    monkeypatch.setattr(proc, "tasks", lambda leader: (task,))
    monkeypatch.setattr(priority, "without", lambda leader: ())
    assert says in shield.look(up, 1, 0.97).why
    assert says not in shield.look(up, 1, 0.8).why


def test_the_kernels_limits_are_read(tmp_path: Path) -> None:
    for name, text in (("sched_rt_runtime_us", "950000"), ("sched_rt_period_us", "1000000")):
        file = tmp_path / "proc/sys/kernel" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    got = shield.limits(Tree(tmp_path), (1,))
    assert got["rt_runtime_us"] == 950_000
    assert got["fair_runtime_ns"] is None


@pytest.mark.parametrize(
    ("levels", "text"), [({"cpu_quota": "50%"}, "its knob cpu_quota"), ({"thp": "never"}, "")]
)
def test_a_service_whose_knob_orders_its_threads_gets_no_priority(
    levels: dict[str, str], text: str
) -> None:
    spec = ServiceSpec(kind="memcached", measure=("sweep",), knobs=levels)
    assert shield._ordered(spec).startswith(text)
    assert bool(shield._ordered(spec)) == bool(text)
