"""`sojourn tco RECORD --server` reads anybody's record, and without rights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import pipeline, store
from sojourn.cli import lowered, tco_platforms
from sojourn.errors import SpecFault
from sojourn.findings.findings import Findings
from sojourn.models.tco import Costs
from sojourn.report import platforms, testing, testing_answers
from sojourn.spec.hosts import SERVER, HostsSpec, PlatformSpec

HOSTS = HostsSpec(
    at="10.9.0.1:6379",
    platforms={
        "a": PlatformSpec(price_usd=2000, peak_watts=200),
        "b": PlatformSpec(peak_watts=100),
    },
)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A record with two servers of 3 CPUs: one with a highest load, one on which none fits."""
    loads = ((30_000.0, 36_000.0, 40_000.0), (0.0, 10_000.0, 0.0))
    services = tuple(
        replace(
            testing.memcached(),
            levels=((SERVER, name),),
            sections={
                "max_load": testing_answers.max_load(testing_answers.border(middle, low, high))
            },
        )
        for name, (low, middle, high) in zip("ab", loads, strict=True)
    )
    record: Any = SimpleNamespace(path=tmp_path, study=SimpleNamespace(hosts=HOSTS), outcomes=tuple)
    findings: Findings = replace(testing.findings(), services=services)
    monkeypatch.setattr(store, "resolve", lambda _results, _name: tmp_path)
    monkeypatch.setattr(store, "read", lambda _: record)
    monkeypatch.setattr(lowered, "for_reading", lambda _: None)
    monkeypatch.setattr(pipeline, "findings_of", lambda _: findings)
    monkeypatch.setattr(platforms, "_cpus", lambda *_: 3.0)
    return tmp_path


def test_root_gives_up_its_rights_before_the_record_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[object] = []

    monkeypatch.setattr(store, "resolve", lambda _results, _name: tmp_path)
    monkeypatch.setattr(lowered, "for_reading", order.append)
    monkeypatch.setattr(store, "read", lambda path: order.append(("read", path)))
    monkeypatch.setattr(pipeline, "findings_of", lambda path: order.append(("read", path)))
    monkeypatch.setattr(platforms, "prices_of", lambda *_: {})
    monkeypatch.setattr(platforms, "platforms", lambda *_: [])
    tco_platforms.show("x", tmp_path, ["a=1"], Costs(), as_json=True)
    assert order == [tmp_path, ("read", tmp_path), ("read", tmp_path)]
    assert json.loads(capsys.readouterr().out)["rows"] == []


def test_the_table_has_a_dash_where_there_is_no_price(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = Costs()
    tco_platforms.show("x", two, ["a=2000", "b=3000"], costs, as_json=False)
    out = capsys.readouterr().out
    assert platforms.NONE in out
    assert "3,000" not in out
    tco_platforms.show("x", two, ["a=2000", "b=3000"], costs, as_json=True)
    one, other = json.loads(capsys.readouterr().out)["rows"]
    assert other["about"] == "no load fits"
    assert other["usd_per_krps"] is None
    assert one["price_usd"] == 2000.0


def test_prices_and_watts_are_those_of_the_study(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tco_platforms.show("x", two, [], Costs(), as_json=True)
    one, other = json.loads(capsys.readouterr().out)["rows"]
    assert (one["price_usd"], other["price_usd"]) == (2000.0, None)
    assert one["per_cpu_rps"] == 12_000.0
    assert one["watts"] is not None
    assert one["per_watt_rps"] == pytest.approx(36_000 / one["watts"])
    tco_platforms.show("x", two, ["a=4000"], Costs(), as_json=True)
    dear, _ = json.loads(capsys.readouterr().out)["rows"]
    assert dear["price_usd"] == 4000.0, "the command line is the last to speak"
    assert dear["usd_per_krps"] > one["usd_per_krps"]


def test_a_study_without_prices_needs_them_on_the_command_line(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare: Any = SimpleNamespace(path=two, study=SimpleNamespace(hosts=None), outcomes=tuple)
    monkeypatch.setattr(store, "read", lambda _: bare)
    with pytest.raises(SpecFault, match="a has no price"):
        tco_platforms.show("x", two, [], Costs(), as_json=True)
    with pytest.raises(SpecFault, match="is no NAME=PRICE"):
        tco_platforms.prices(["host2"])
