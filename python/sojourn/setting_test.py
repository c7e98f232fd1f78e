"""Every load that is asked for is a point of its own, from the plan to the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn import pipeline, spec, store
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.plan import Phase
from sojourn.questions.breakdown.testing import breakdown_of
from sojourn.testing import Lab, installed

LOADS = (0.125, 0.901, 0.904)
SETS = (
    "aa=false",
    "trace=true",
    f"run.fractions={list(LOADS)}",
    "run.measure_s=0.5",
    "run.repeats=2",
    "run.peak_s=0.2",
    'services.memcached.measure=["sweep"]',
    'services.nginx.measure=["sweep"]',
)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return installed(monkeypatch, tmp_path_factory.mktemp("locks"), pages=True)


def test_two_loads_that_differ_by_little_are_two_points_and_a_traced_eighth_is_in_the_table(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = [part for text in SETS for part in ("--set", text)]
    command = ["run", "latency_vs_load", "-p", "quick", *sets, "--results", str(tmp_path)]
    assert main(command) in {Exit.OK, Exit.UNKNOWN}
    capsys.readouterr()

    swept = [p for p in lab.points if (p.service, p.phase) == ("memcached", Phase.SWEEP)]
    assert sorted((p.setting["load"], p.repeat) for p in swept) == [
        (load, block) for load in LOADS for block in (0, 1)
    ]
    assert len({p.offered_rps for p in swept}) == 3

    path = store.resolve(tmp_path, None)
    counted = "select load, tracer, count(*) from outcomes where service = 'memcached' and phase "
    _, rows = store.query(tmp_path, f"{counted} = 'sweep' group by all order by all")
    assert rows == [(load, None, 2) for load in LOADS]
    _, rows = store.query(tmp_path, f"{counted} = 'trace' group by all order by all")
    assert rows == [(load, tracer, 2) for load in LOADS for tracer in (False, True)]

    result = pipeline.findings_of(path).services[0]
    assert [(p.fraction, len(p.runs)) for p in result.points] == [(load, 2) for load in LOADS]
    named = [(c.name, c.fraction, c.runs, c.cost.pairs) for c in breakdown_of(result).columns]
    assert named == [
        ("12.5 % load", 0.125, 2, 2),
        ("90.1 % load", 0.901, 2, 2),
        ("90.4 % load", 0.904, 2, 2),
    ]
    assert breakdown_of(result).columns[0].mean_ns is not None
    page = (path / "report.html").read_text(encoding="utf-8")
    for load in ("12.5 %", "90.1 %", "90.4 %"):
        assert f"{load} load" in page


def test_the_plan_names_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    sets = [part for text in SETS for part in ("--set", text)]
    assert main(["plan", "latency_vs_load", "-p", "quick", *sets, "--json"]) == Exit.OK
    points = json.loads(capsys.readouterr().out)["points"]
    traced = [p["setting"] for p in points if p["phase"] == "trace" and p["service"] == "nginx"]
    wanted = [
        {"neighbour": "none", "load": load, "tracer": tracer}
        for load in LOADS
        for tracer in (False, True)
    ] * 2
    assert sorted(traced, key=str) == sorted(wanted, key=str)
    assert len({p["key"] for p in points}) == len(points)


def test_every_point_that_is_planned_is_reported(lab: Lab, tmp_path: Path) -> None:
    """The report waits for nothing: what the plan asks for and what is kept are the same cells."""
    study = spec.load("latency_vs_load", profile="quick", overrides=SETS)
    with store.open(tmp_path, study) as record:
        pipeline.measure(study, record, None, _Silent())  # type: ignore[arg-type]
    cells = [outcome.point.cell for outcome in store.read(record.path).outcomes()]
    assert cells == [point.cell for point in lab.points]
    reasons = pipeline.findings_of(record.path).reasons
    assert not [reason for reason in reasons if "was not finished" in reason]


class _Silent:
    def began(self, *_: object) -> None: ...

    def ended(self, *_: object) -> None: ...
