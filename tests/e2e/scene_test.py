"""Scenes on a real server: a neighbour beside it, a manager above it, and a null everything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import run, samples
from sojourn.actors.probes import host as counters
from sojourn.errors import RunFault
from sojourn.plan import Point
from sojourn.spec import Study

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]


def read(folder: Path, name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / name).read_text())
    return table


def test_a_server_is_measured_beside_a_neighbour_and_then_alone(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    beside = measure(lab.study("memcached", neighbour="spin"), lab.point("memcached"))
    host, service = read(beside, "host.json"), read(beside, "service.json")
    server = service["placement"]["server"]
    assert host["neighbour"]["kind"] == "spin"
    assert set(host["neighbour"]["cpu_s"]) == {str(cpu) for cpu in server}
    assert sum(host["neighbour"]["cpu_s"].values()) > 0
    assert service["shield"] == "none"
    assert samples.read(beside).requests > 0
    alone = measure(lab.study("memcached"), lab.point("memcached", name="alone"))
    host = read(alone, "host.json")
    assert "neighbour" not in host
    assert host["neighbours_on_server_share"] == 0.0


def test_a_null_everything_is_asked_and_changes_nothing(
    lab: SimpleNamespace, measure: Measure
) -> None:
    study = lab.study("null", neighbour="null", manager="null")
    folder = measure(study, lab.point("null", measure_s=2.5))
    said = read(folder, "decisions.json")
    assert len(said["periods"]) >= 1
    assert all(period["changes"] == {} for period in said["periods"])
    assert all(period["windows"]["client"]["t_s"] > 0 for period in said["periods"])
    assert read(folder, "host.json")["manager"]["changed"] == 0
    assert samples.read(folder).requests > 0


def test_a_probe_that_cannot_enter_fails_the_point_and_leaves_its_server_for_the_next(
    lab: SimpleNamespace,
    needs: Needs,
    measure: Measure,
    session: run.Session,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    needs("memcached")

    def broken(*_: object) -> None:
        raise RunFault("no counters", at="/proc", fix="none")

    with monkeypatch.context() as patch:
        patch.setattr(counters, "moment", broken)
        with pytest.raises(RunFault, match="no counters"):
            measure(lab.study("memcached"), lab.point("memcached"))
    folder = tmp_path / "memcached-sweep-p"
    assert read(folder, "run.json")["state"] == "failed"
    pid = read(folder, "service.json")["pid"]
    again = measure(lab.study("memcached"), lab.point("memcached", name="again"))
    assert read(again, "service.json")["pid"] == pid
