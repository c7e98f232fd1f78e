"""Replaces `run`, so that the whole program can be tested without a machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from sojourn import host, report
from sojourn import run as runs
from sojourn.errors import BUG
from sojourn.host import facts as machine
from sojourn.plan import Phase, Point
from sojourn.plan.setting import TRACER
from sojourn.run import turn
from sojourn.samples import made
from sojourn.spec import Study

CAPACITY_RPS = 20_000.0


class Lab:
    """Replaces `run`: measures an M/M/1 queue in no time, and can be told to fail."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.trouble: Callable[[Point, int], None] = lambda _point, _number: None

    def execute(
        self,
        _study: Study,
        point: Point,
        folder: Path,
        _session: object,
        beside: Sequence[Path] = (),
    ) -> None:
        """Leave the files of each point in its folder, as `run.execute` does."""
        for member, its_folder in zip(point.all, (folder, *beside), strict=True):
            self._measure(member, its_folder)

    def _measure(self, point: Point, folder: Path) -> None:
        self.points.append(point)
        self.trouble(point, len(self.points))
        offered = point.offered_rps or CAPACITY_RPS
        rng = np.random.default_rng(point.seed)
        size = max(1, round(min(offered, CAPACITY_RPS) * point.measure_s))
        mean_ns = 1e9 / (CAPACITY_RPS - offered) if offered < CAPACITY_RPS else 1e9
        times = np.maximum(1.0, rng.exponential(mean_ns, size))
        job = {"qos_bound": "", "qos_quantile": 0.0, **dict(point.overrides)}
        load = made.result(
            times, job=job, offered_rps=offered, achieved_rps=min(offered, CAPACITY_RPS)
        )
        made.put(folder, point, load)
        made.put_raw(folder, times)
        service = {"schema": "sojourn.service/1", "setup": [["items", "few"]], "workers": 1}
        (folder / "service.json").write_text(json.dumps(service), encoding="utf-8")
        if point.phase is Phase.TRACE:
            made.put_host(folder, length_s=point.measure_s, server_cpu_s=1e-5 * size)
            if point.setting[TRACER]:
                made.put_trace(folder, mean_ns=float(times.mean()), requests=size)


class Session:
    """Replaces `run.Session`: starts nothing, so nothing has to be ended."""

    def __init__(self, _facts: object, **_: Any) -> None: ...

    def away_s(self, _point: Point) -> float | None:
        """A simulated service is always there, so there is no time to wait for it, s."""
        return 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def is_bug(text: str) -> bool:
    """Whether the program told of an error that it does not know, however its lines are broken."""
    return BUG in " ".join(text.split())


@cache
def _here() -> host.Facts:
    """This machine. To look at it takes a second; who uses its CPUs now differs from run to run."""
    facts = machine.read(sample_s=0.0)
    return replace(facts, activity=replace(facts.activity, busy=()))


def _read(root: Path = Path("/"), **how: Any) -> host.Facts:
    return _here() if root == Path("/") else machine.read(root, **how)


def seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at this machine once a process."""
    monkeypatch.setattr(host, "read", _read)


def installed(monkeypatch: pytest.MonkeyPatch, locks: Path, *, pages: bool = False) -> Lab:
    """A lab in the place of `run`, and no pages unless they are asked for."""
    lab = Lab()
    seen_once(monkeypatch)
    locks.chmod(0o1777)
    monkeypatch.setattr(turn, "FOLDERS", (locks,))
    monkeypatch.setattr(runs, "ready", lambda *_, **__: runs.Ready())
    monkeypatch.setattr(runs, "execute", lab.execute)
    monkeypatch.setattr(runs, "Session", Session)
    monkeypatch.setattr(runs, "check", lambda *_: ())
    if not pages:
        monkeypatch.setattr(
            report, "write", lambda _findings, path, _parts, **_: [path / "report.html"]
        )
    return lab
