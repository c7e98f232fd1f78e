"""Records of planted services, as a run would leave them: for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sojourn import samples, store
from sojourn.analysis.testing import memcached
from sojourn.host.usage.resource import FORM
from sojourn.models.classify import planted
from sojourn.models.classify.planted import Planted
from sojourn.models.classify.scenario import CPU
from sojourn.plan import Planner, Point
from sojourn.samples import made
from sojourn.spec import PROFILES, Study
from sojourn.testing_questions import PLANS

KEY, EACH = "services.memcached.params.threads", "services.each.cores"
S = 1_000_000_000
SECONDS = 30


def leave(
    folder: Path,
    point: Point,
    service: Planted,
    threads: int,
    *,
    unseen: Sequence[str],
    idle_cpus: int,
) -> None:
    """Write what a run of a planted service leaves behind, with so many threads."""
    rng = np.random.default_rng(point.seed)
    use = planted.use(service, threads)
    most = use.rps / 0.75  # so that the highest load within QoS is among 30, 60 and 90 %
    offered = min(point.offered_rps or most, most)
    holds = offered <= use.rps
    times = rng.exponential(1e5 if holds else 2e6, 2_000)
    load = made.result(
        times,
        job={"qos_bound": "1ms", "qos_quantile": 0.99, **dict(point.overrides)},
        offered_rps=offered,
        achieved_rps=offered,
        measured_s=float(SECONDS),
        started_unix_ns=0,
        verdict="holds" if holds else "violated",
    )
    made.put(folder, point, load)
    table = {"workers": threads, "setup": [["items", "few"]]}
    (folder / "service.json").write_text(json.dumps(table))
    seen = planted.scenario(service, threads, rng, seconds=SECONDS, blind=unseen)
    cpus, load_share = threads + idle_cpus, offered / use.rps
    columns = {name: list(runs[0] * load_share) for name, runs in seen.series.items()}
    columns[CPU] = [share * threads / cpus for share in columns[CPU]]
    resources = {
        "schema": FORM,
        "period_s": 1.0,
        "server_cpus": list(range(cpus)),
        "cpus": 16,
        "probe": {"cpu_s": 0.1, "wall_s": 30.0, "cpus": [15], "is_apart": True},
        "end_unix_ns": [(at + 1) * S for at in range(SECONDS)],
        "length_s": [1.0] * SECONDS,
        "is_late": [False] * SECONDS,
        "measured_unix_ns": [0, SECONDS * S],
        "columns": columns,
        "capacity": {"service_cpu_share": 1.0},
        "not_counted": dict.fromkeys(unseen, "no resctrl here"),
    }
    (folder / "resources.json").write_text(json.dumps(resources))


def record(
    path: Path,
    service: Planted,
    levels: tuple[int, ...] = (1, 8),
    *,
    unseen: Sequence[str] = (),
    idle_cpus: int = 0,
    is_by_cores: bool = False,
    does: str = "",
) -> Path:
    """A finished record of a planted service by threads.

    Args:
        path: folder of results.
        service: that was measured.
        levels: numbers of threads.
        unseen: resources that the host does not count.
        idle_cpus: that the service has beside one a thread.
        is_by_cores: the factor is `services.each.cores`, as the FGCS paper's studies have it.
        does: what the study says that was planted; "": it says memcached.
    """
    key = EACH if is_by_cores else KEY
    values = tuple(map(str, levels)) if is_by_cores else levels
    spec = memcached(measure=["sweep"])
    if does:  # its label stays
        spec = spec.model_copy(update={"kind": "planted", "params": {"does": does}})
    few = {"fractions": (0.3, 0.6, 0.9), "repeats": 1, "peak_repeats": 2}
    study = Study(
        name="planted",
        question="Does it scale?",
        run=PROFILES["quick"].model_copy(update=few),
        services=(spec,),
        aa=False,
        factors={key: values} if len(levels) > 1 else {},
    )
    with store.open(path, study, machine="test", manifest={"environment": {}}) as retained:
        planner = Planner(study, PLANS)
        while (point := planner.next(retained.outcomes())) is not None:
            folder = retained.folder(point)
            threads = int(point.setting.get(key, levels[0]))
            leave(folder, point, service, threads, unseen=unseen, idle_cpus=idle_cpus)
            retained.add(samples.read(folder))
        retained.finish()
        return retained.path
