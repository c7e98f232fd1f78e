"""Studies with roles on planted hosts, which are threads of the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import pipeline, report, run, spec
from sojourn.hosts import ray_engine
from sojourn.hosts.engine import Node
from sojourn.hosts.testing import Cluster, Host
from sojourn.testing import seen_once

STUDY = """
name = "roles"
question = "Does a service on another host answer as one here?"
probe = "0"
aa = false
{neighbour}
[hosts]
at = "10.9.0.1:6379"
clients = ["host0", "host1"]
{roles}
[run]
profile = "quick"
measure_s = {seconds}
warmup_s = 0.2
repeats = 1
fractions = []
rates = ["{rate}"]
retries = 0
[[services]]
kind = "synthetic"
measure = ["sweep"]
max_rps = "asked"
params = {{ service = "fixed:20us", mode = "sleep" }}
load = {{ connections = 8, wait = "sleep", outage_over = "10s", timely_within = "10s" }}
{more}
"""


class Quiet:
    """Somebody who watches a study and hears of nothing."""

    def opened(self, *_: object) -> None:
        """Take note of nothing of it."""

    def event(self, *_: object) -> None:
        """Take note of nothing of it."""

    def began(self, *_: object) -> None:
        """Take note of nothing of it."""

    def ended(self, *_: object) -> None:
        """Take note of nothing of it."""


class Here(Cluster):
    """Planted hosts with addresses that this machine has."""

    def nodes(self) -> tuple[Node, ...]:
        """As a cluster names them."""
        return tuple(
            Node(id=node.id, name=node.name, address=f"127.0.0.{nth + 1}")
            for nth, node in enumerate(super().nodes())
        )


Measured = Callable[..., Path]


def measuring(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    """What runs a study with some roles on four planted hosts; it gives the folder of its record.

    Args:
        folder: for the study, its results and the state.
        monkeypatch: of the test.
    """
    monkeypatch.setenv("SOJOURN_STATE", str(folder / "state"))
    monkeypatch.setattr("sojourn.hosts.about.FEATURES", {})  # no host has any
    seen_once(monkeypatch)
    monkeypatch.setattr(report, "write", lambda _findings, path, _parts, **_: [path])

    def measure(
        roles: str,
        neighbour: str = "",
        *,
        seconds: float = 0.6,
        rate: str = "500",
        more: str = "",
    ) -> Path:
        cluster = Here(*(Host() for _ in range(4)), facts={n: {} for n in range(4)})
        monkeypatch.setattr(ray_engine, "connect", lambda _: cluster)
        path = folder / "study.toml"
        load = {"seconds": seconds, "rate": rate}
        text = STUDY.format(roles=roles, neighbour=neighbour, more=more, **load)
        path.write_text(text)
        patience = run.Patience(is_forced=True)
        done = pipeline.run_study(spec.load(path), folder / "results", Quiet(), patience=patience)
        return done.path

    return measure
