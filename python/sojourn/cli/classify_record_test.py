"""A record is read into scenarios: threads, samples at the crossing, and what is not seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sojourn import samples, store
from sojourn.analysis.testing import memcached
from sojourn.cli.models_cmd import app
from sojourn.host.usage.resource import FORM
from sojourn.models.classify import planted
from sojourn.models.classify.planted import Planted
from sojourn.models.classify.record import classes
from sojourn.models.classify.scenario import MEMORY
from sojourn.plan import Point
from sojourn.plan.next import next_point
from sojourn.samples import made
from sojourn.spec import PROFILES, Study

KEY = "services.memcached.params.threads"
S = 1_000_000_000
SECONDS = 30


def leave(
    folder: Path, point: Point, service: Planted, threads: int, unseen: Sequence[str]
) -> None:
    """What a run of a planted service leaves behind."""
    rng = np.random.default_rng(point.seed)
    use = planted.use(service, threads)
    most = use.rps / 0.75  # so that the highest load within QoS is among 30, 60 and 90 %
    offered = min(point.offered_rps or most, most)
    holds = offered <= use.rps
    times = rng.exponential(1e5 if holds else 2e6, 2_000)
    load = made.result(
        times, job={"qos_bound": "1ms", "qos_quantile": 0.99, **dict(point.overrides)},
        offered_rps=offered, achieved_rps=offered, measured_s=float(SECONDS),
        started_unix_ns=0, verdict="holds" if holds else "violated",
    )  # fmt: skip
    made.put(folder, point, load)
    table = {"workers": threads, "setup": [["items", "few"]]}
    (folder / "service.json").write_text(json.dumps(table))
    seen = planted.scenario(service, threads, rng, seconds=SECONDS, blind=unseen)
    resources = {
        "schema": FORM, "period_s": 1.0, "server_cpus": list(range(threads)), "cpus": 16,
        "probe": {"cpu_s": 0.1, "wall_s": 30.0, "cpus": [15], "is_apart": True},
        "end_unix_ns": [(at + 1) * S for at in range(SECONDS)], "length_s": [1.0] * SECONDS,
        "is_late": [False] * SECONDS, "measured_unix_ns": [0, SECONDS * S],
        "columns": {name: list(runs[0] * offered / use.rps) for name, runs in seen.series.items()},
        "capacity": {"service_cpu_share": 1.0},
        "not_counted": dict.fromkeys(unseen, "no resctrl here"),
    }  # fmt: skip
    (folder / "resources.json").write_text(json.dumps(resources))


def record(
    path: Path, service: Planted, levels: tuple[int, ...] = (1, 8), unseen: Sequence[str] = ()
) -> Path:
    """A finished record of a planted service by threads."""
    few = {"fractions": (0.3, 0.6, 0.9), "repeats": 1, "peak_repeats": 2}
    study = Study(
        name="planted", question="Does it scale?", run=PROFILES["quick"].model_copy(update=few),
        services=(memcached(measure=["sweep"]),), aa=False, factors={KEY: levels},
    )  # fmt: skip
    with store.open(path, study, machine="test", manifest={"environment": {}}) as kept:
        while (point := next_point(study, kept.outcomes())) is not None:
            folder = kept.folder(point)
            leave(folder, point, service, int(point.setting[KEY]), unseen)
            kept.add(samples.read(folder))
        kept.finish()
        return kept.path


def test_a_record_is_classified_at_the_highest_load_within_qos(tmp_path: Path) -> None:
    (found,) = classes(store.read(record(tmp_path, Planted(serial=1.0))))
    assert [seen.name for seen in found.scenarios] == ["1-ST", "8-ST"]
    one = planted.use(Planted(serial=1.0), 1).rps
    assert found.scenarios[0].load_rps == pytest.approx(one * 0.6 / 0.75, rel=1e-6)
    assert (found.scalable.word, found.smt.word, found.critical.word) == (
        "no", "no", "CPU, not scalable",
    )  # fmt: skip
    assert found.scalable.number is not None  # what it carried is known
    assert found.scalable.number.value == pytest.approx(1.0, rel=1e-6)


def test_a_scaler_of_which_memory_is_not_seen_is_told_by_what_it_carried(tmp_path: Path) -> None:
    path = record(tmp_path, Planted(), unseen=[MEMORY])
    done = CliRunner().invoke(app, ["classify", str(path), "--json"], catch_exceptions=False)
    (found,) = json.loads(done.stdout)["classes"]
    assert done.exit_code == 0, done.output
    assert (found["scalable"]["word"], found["smt"]["word"]) == ("yes", "yes")
    assert found["scalable"]["others"][0]["word"] == "undecided"
    assert ["memory bandwidth", "no resctrl here"] in found["unseen"]
    text = CliRunner().invoke(app, ["classify", str(path)], catch_exceptions=False).stdout
    assert "memcached: scalable yes" in text
    assert "not seen: memory bandwidth: no resctrl here" in " ".join(text.split())


def test_one_scenario_shows_no_trend_and_the_next_command_is_told(tmp_path: Path) -> None:
    path = record(tmp_path, Planted(cpu_s=1e-4, wait_s=1e-3), levels=(1,))
    done = CliRunner().invoke(app, ["classify", str(path)], catch_exceptions=False)
    assert done.exit_code == 3
    said = " ".join(done.stdout.split())
    assert "SMT-sensitive no" in said
    assert "sojourn run planted --vary services.memcached.params.threads=1,2,8" in said
