"""Knobs on a server that is measured: felt, or the point is unknown; nothing left after a kill.

`SOJOURN_KILLS=50 pytest tests/e2e/knobs_test.py -k random` kills as often; a seed is printed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import host, knobs, places, programs, run, samples
from sojourn.host.abilities import abilities
from sojourn.knobs.cpu_quota import CpuQuota
from sojourn.knobs.groups import Group
from sojourn.places import network

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

Measure = Callable[..., Path]
Needs = Callable[[str], None]
KILLS = int(os.environ.get("SOJOURN_KILLS", "4"))
LIFE_S = 6.0  # within which a lab has started, turned all knobs and is measuring, most of the time
PLACES = ("local", "netns", "runc", "nspawn", "lxc")  # in turn, where the machine has them
#: What is turned at once in a lab that is killed.
# fmt: off
ALL = {
    "cpu_weight": "50", "cpu_quota": "150%", "policy": "batch", "memory_limit": "1GiB", "numa": "0",
    "io_limit": "500MB/s", "egress": "500MB/s", "irq": "0", "rps": "1", "thp": "never",
    "cstates": "pm_qos:0us", "busy_poll": "1us",
}
# fmt: on


def can(name: str, level: str, place: str = "local") -> bool:
    """Whether this machine has what a level needs."""
    return knobs.kind(name).lacks(knobs.Asked(level=level, place=place)) is None


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("cpu_quota", "50%"),
        ("cpu_weight", "1000"),
        ("memory_limit", "256MiB"),
        ("io_limit", "4MB/s"),
        ("egress", "50MB/s"),
        ("policy", "nice:10"),
    ],
)
def test_a_knob_of_a_measured_server_is_set_measured_and_reported(
    lab: SimpleNamespace, needs: Needs, measure: Measure, name: str, level: str
) -> None:
    needs("memcached")
    if not can(name, level):
        pytest.skip(f"this machine cannot turn {name}")
    folder = measure(lab.study("memcached", knobs={name: level}), lab.point("memcached"))
    served = json.loads((folder / "service.json").read_text())
    report = served["knobs"][name]
    assert report["level"] == level
    assert report["felt"] in {"holds", "unknown"}, report["why"]
    assert report["felt"] == "holds" or "back" in report["why"]
    if knobs.kind(name).orders:
        assert served["shield"] == "none"


def test_what_a_server_sends_is_limited_inside_its_own_namespace(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("memcached")
    if not _may_netns() or not can("egress", "20MB/s", "netns"):
        pytest.skip("this machine makes no network namespace")
    study = lab.study("memcached", place="netns", knobs={"egress": "20MB/s"})
    table = json.loads((measure(study, lab.point("memcached")) / "service.json").read_text())
    knob = table["knobs"]["egress"]
    assert knob["by"] == "htb on eth0"
    assert knob["felt"] in {"holds", "unknown"}, knob["why"]
    assert "a probe sent" in knob["why"]


class Lying(CpuQuota):
    """Writes nothing, and says that it reads back."""

    def files(self, value: Any, group: Group) -> tuple[()]:
        del value, group
        return ()

    def read_back(self, group: Group) -> Any:
        del group
        return self.value(self._level) if self._level else (None, 100_000, 0)


def test_a_knob_that_lies_makes_the_point_unknown(
    lab: SimpleNamespace, needs: Needs, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("memcached")
    if not can("cpu_quota", "5%"):
        pytest.skip("this machine has no control group for CPU time")
    lying = replace(knobs.kind("cpu_quota"), build=Lying)
    monkeypatch.setattr(knobs, "KINDS", {**knobs.KINDS, "cpu_quota": lying})
    # So little that a burner gets more of it on the busiest machine.
    folder = measure(lab.study("memcached", knobs={"cpu_quota": "2%"}), lab.point("memcached"))
    outcome = samples.read(folder)
    assert outcome.verdict == "unknown"
    assert any(
        "cpu_quota not in force: 2% was set, but the cap had no effect" in r
        for r in outcome.reasons
    )


def test_killed_at_random_moments_nothing_is_left(
    tmp_path: Path, lab: SimpleNamespace, needs: Needs
) -> None:
    needs("memcached")
    seed = int(os.environ.get("SOJOURN_SEED", str(random.SystemRandom().randrange(1 << 30))))
    draw = random.Random(seed)  # noqa: S311  # moments, no secrets
    reached: dict[str, int] = {}
    here = [name for name in PLACES if _may(name)]
    for number in range(KILLS):
        place = here[number % len(here)]
        levels = {name: level for name, level in ALL.items() if can(name, level, place)}
        before = snapshot()
        report = kill_one(lab, tmp_path / str(number), place, levels, draw.uniform(0.3, LIFE_S))
        reached[report] = reached.get(report, 0) + 1
        assert snapshot() == before, f"kill {number} of seed {seed}, after {report}"
    print(f"seed {seed}, killed after: {reached}")  # noqa: T201  # for the record


def _may(place: str) -> bool:
    """Whether this machine has what a kind of place needs."""
    kind = places.kind(place)
    can = {ability.name for ability in abilities(host.read(sample_s=0)) if ability.can}
    return {*kind.abilities} <= can and all(map(programs.maybe, kind.programs))


def _may_netns() -> bool:
    return not host.read(sample_s=0).rights.no_netns and os.geteuid() == 0


def kill_one(
    lab: SimpleNamespace, folder: Path, place: str, levels: Mapping[str, str], after_s: float
) -> str:
    """Kill a lab after a while, restore; what it had noted when it died, in words."""
    folder.mkdir()
    state = folder / "state"
    words = ["memcached", str(folder / "p"), str(state), place, "none", json.dumps(levels)]
    with subprocess.Popen(
        [sys.executable, str(lab.path), *words], start_new_session=True, stderr=subprocess.DEVNULL
    ) as made:
        time.sleep(after_s)
        ended = made.poll()
        made.kill()
    assert ended is None, f"the lab ended by itself: {ended}"
    lines = [line for path in state.glob("*") for line in path.read_text().splitlines()]
    last = [json.loads(line)["event"] for line in lines][-1:]
    until = time.monotonic() + 300
    while any(not one.is_done for one in run.restore(state)) and time.monotonic() < until:
        time.sleep(0.05)
    assert run.restore(state) == ()
    assert not list(state.glob("*"))
    return (last or ["nothing"])[0]


def snapshot() -> dict[str, object]:
    """All that knobs and places change on a machine, as it is now."""
    with network.netlink() as route:
        qdiscs = [(q["index"], q["handle"], q.get_attr("TCA_KIND")) for q in route.get_qdiscs()]
        links = sorted(link.get_attr("IFLA_IFNAME") for link in route.get_links())
    files = [
        *Path("/proc/irq").glob("*/smp_affinity_list"),
        *Path("/sys/class/net").glob("*/queues/*/rps_cpus"),
        *Path("/sys/class/net").glob("*/threaded"),
        *Path("/sys/devices/system/cpu").glob("cpu*/cpuidle/state*/disable"),
        *Path("/proc/sys/net/core").glob("busy_*"),
        Path("/sys/kernel/mm/transparent_hugepage/enabled"),
        Path("/proc/self/mountinfo"),
        Path("/proc/self/cgroup"),
    ]
    groups = [path for path in Path("/sys/fs/cgroup").rglob("*") if path.is_dir()]
    handed = Path("/sys/fs/cgroup").glob("**/cgroup.subtree_control")
    # Groups of others come and go, as of a shell that somebody opens: those of labs are compared.
    return {
        "qdiscs": sorted(qdiscs),
        "links": links,
        "files": {str(path): text(path) for path in files},
        "groups": sorted(str(path) for path in groups if "sojourn-" in str(path)),
        "handed": {str(path): text(path) for path in handed},
        "namespaces": sorted(network.RUN.glob("*")) if network.RUN.exists() else [],
        "affinity": os.sched_getaffinity(0),
    }


def text(path: Path) -> str:
    """What a file says; why not."""
    try:
        return path.read_text()
    except OSError as error:
        return error.strerror or "refused"
