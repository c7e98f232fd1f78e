"""A record's loads: by service and setting, with the peaks of the same setting."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.errors import SpecFault
from sojourn.models.points import doubted
from sojourn.models.record_loads import chosen, is_record, read
from sojourn.plan import codec
from sojourn.plan.points import Phase, Point
from sojourn.plan.setting import Level, Setting
from sojourn.store import columns

THREADS = "services.memcached.params.threads"
PHASES = {"sweep": Phase.SWEEP, "peak": Phase.PEAK}


def put(
    record: Path,
    phase: str,
    rps: float,
    *,
    service: str = "memcached",
    is_whole: bool = True,
    **levels: Level,
) -> Path:
    """A point as a run leaves it; `threads` is a factor of the service."""
    number = len(list(record.glob("points/*")))
    named = {THREADS if key == "threads" else key: level for key, level in levels.items()}
    point = Point(
        key=f"{service}/{phase}/{number}",
        service=service,
        phase=PHASES[phase],
        setting=Setting.of(named),
        offered_rps=rps,
        measure_s=1,
        warmup_s=0,
        seed=1,
    )
    folder = record / "points" / f"{number:04d}-{service}-{phase}"
    folder.mkdir(parents=True)
    (folder / "point.json").write_text(codec.dumps(point))
    span = {"mean": 5.0, "p50": 4, "p95": 9, "p99": 12, "lost": 0, "hdr": ""}
    result = {"offered_rps": rps, "achieved_rps": rps, "sojourn_ns": span}
    (folder / "load.json").write_text(json.dumps(result))
    if is_whole:
        (folder / "outcome.parquet").touch()
    return folder


def test_a_point_that_was_copied_is_no_run_more(tmp_path: Path) -> None:
    for load in (0.2, 0.5):
        folder = put(tmp_path, "sweep", 10_000 * load, load=load)
    shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"))
    [one] = read(tmp_path)
    assert [point.runs for point in one.points] == [1, 1]


def test_each_service_and_setting_has_its_own_loads_and_peak(tmp_path: Path) -> None:
    for threads in (1, 2):
        put(tmp_path, "peak", 10_000 * threads, threads=threads)
        for load in (0.2, 0.5):
            put(tmp_path, "sweep", 10_000 * threads * load, threads=threads, load=load)
    put(tmp_path, "sweep", 70, service="nginx", load=0.7)
    put(tmp_path, "sweep", 1, threads=1, load=0.9, is_whole=False)
    assert is_record(tmp_path)
    results = {(one.service, one.setting): one for one in read(tmp_path)}
    rates = {key: [point.rate_rps for point in one.points] for key, one in results.items()}
    assert rates == {
        ("memcached", "threads = 1"): [2_000, 5_000],
        ("memcached", "threads = 2"): [4_000, 10_000],
        ("nginx", ""): [70],
    }
    assert [one.peak_rps for one in results.values()] == [10_000, 20_000, None]


def test_a_mixture_is_refused_with_the_options_that_choose(tmp_path: Path) -> None:
    for threads in (1, 2):
        put(tmp_path, "sweep", 100.0 * threads, threads=threads, load=0.5)
    put(tmp_path, "sweep", 70, service="nginx", load=0.7)
    every = read(tmp_path)
    with pytest.raises(SpecFault, match="3 sweeps") as caught:
        chosen(every, "here")
    assert "--service memcached --setting 'threads = 2'" in caught.value.fix
    assert "--service nginx" in caught.value.fix
    with pytest.raises(SpecFault, match="2 sweeps") as caught:
        chosen(every, "here", service="memcached")
    assert "nginx" not in caught.value.fix
    with pytest.raises(SpecFault, match="no sweep of that") as caught:
        chosen(every, "here", service="redis")
    assert "--service nginx" in caught.value.fix
    one = chosen(every, "here", service="memcached", setting="threads = 2")
    assert [point.rate_rps for point in one.points] == [200]
    assert chosen(every[:1], "here").setting == "threads = 1"


def test_a_twin_of_a_load_is_a_run_of_it(tmp_path: Path) -> None:
    put(tmp_path, "sweep", 100, load=0.5)
    put(tmp_path, "sweep", 100, load=0.5, twin=True)
    (one,) = read(tmp_path)
    assert [point.runs for point in one.points] == [2]


def test_the_peak_is_the_median_of_those_of_its_setting(tmp_path: Path) -> None:
    put(tmp_path, "sweep", 100, load=0.5)
    for rps in (7_000, 9_000, 8_000):
        put(tmp_path, "peak", rps)
    assert read(tmp_path)[0].peak_rps == 8_000


def test_a_peak_whose_self_check_failed_is_no_peak_if_there_is_another(tmp_path: Path) -> None:
    put(tmp_path, "sweep", 100, load=0.5)
    for rps in (9_000, 8_000):
        file = put(tmp_path, "peak", rps) / "load.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "verdict": "unknown"}))
    assert read(tmp_path)[0].peak_rps == 8_500, "there is no other"
    put(tmp_path, "peak", 7_000)
    assert read(tmp_path)[0].peak_rps == 7_000


def test_a_run_that_the_lab_does_not_believe_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The generator's own checks passed in both; other programs ran beside the first one."""
    disturbed, _ = put(tmp_path, "sweep", 100, load=0.5), put(tmp_path, "sweep", 100, load=0.5)
    monkeypatch.setattr(
        columns,
        "read",
        lambda path: SimpleNamespace(is_believed=path.parent != disturbed, cpu_ns=None),
    )
    (one,) = read(tmp_path)
    assert [point.runs for point in one.points] == [1]
    assert one.points[0].is_believed


def test_cpu_time_is_that_of_the_service_and_not_of_all_who_used_its_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others filled both CPUs; the two workers took 40 µs of each of 10,000 requests/s."""
    folder = put(tmp_path, "sweep", 10_000, load=0.5)
    result = json.loads((folder / "load.json").read_text())
    (folder / "load.json").write_text(json.dumps({**result, "checks": {"server_idle_share": 0.0}}))
    monkeypatch.setattr(columns, "read", lambda _: SimpleNamespace(is_believed=True, cpu_ns=40e3))
    assert read(tmp_path)[0].points[0].cpu_share == 1, "how many workers it has is not known"
    facts = {"workers": 2, "placement": {"server": [0, 1]}}
    (folder / "service.json").write_text(json.dumps(facts))
    assert read(tmp_path)[0].points[0].cpu_share == pytest.approx(0.2)


def test_loads_that_rest_on_doubtful_runs_alone_are_counted(tmp_path: Path) -> None:
    for load in (0.2, 0.5):
        put(tmp_path, "sweep", 1000 * load, load=load)
    assert not doubted(read(tmp_path)[0].points)
    file = put(tmp_path, "sweep", 900, load=0.9) / "load.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "verdict": "unknown"}))
    text = doubted(read(tmp_path)[0].points)
    assert text == "1 of 3 loads have only runs that failed a self-check"


@pytest.mark.parametrize(
    ("facts", "workers"),
    [
        ([{"workers": 4, "placement": {"server": [0, 1, 2, 3]}}], 4),
        ([{"workers": 4, "placement": {"server": [0, 2]}}], 2),
        ([{"workers": 2}], 2),
        ([{"workers": 1}, {"workers": 2}], None),
        ([{"workers": 1}, None], None),
        ([{"workers": 0}], None),
        ([None], None),
    ],
)
def test_workers_are_those_that_can_serve_at_once(
    tmp_path: Path, facts: list[dict[str, object] | None], workers: int | None
) -> None:
    for number, each in enumerate(facts, 1):
        folder = put(tmp_path, "sweep", 100.0 * number, load=0.1 * number)
        if each is not None:
            (folder / "service.json").write_text(json.dumps(each))
    assert read(tmp_path)[0].workers == workers


@pytest.mark.parametrize("name", ["point.json", "load.json"])
@pytest.mark.parametrize("text", ["{}", "[]", "{", "[" * 100_000])
def test_a_damaged_point_is_a_fault_of_the_record(tmp_path: Path, name: str, text: str) -> None:
    folder = put(tmp_path, "sweep", 100, load=0.5)
    (folder / name).write_text(text)
    with pytest.raises(SpecFault, match="cannot read points") as caught:
        read(tmp_path)
    assert str(tmp_path) in caught.value.at


def test_a_record_without_a_sweep_has_no_points(tmp_path: Path) -> None:
    put(tmp_path, "peak", 100)
    with pytest.raises(SpecFault, match="no points"):
        read(tmp_path)
