"""A core for itself: found on made-up machines, refused where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import actors, host, spec
from sojourn.actors.actor import Role
from sojourn.actors.neighbours import core
from sojourn.errors import AbsentFault, RunFault

Host = Callable[[str], Path]


def stage(root: Path, *, client: tuple[int, ...], server: tuple[int, ...], served: bool) -> Any:
    return SimpleNamespace(
        facts=host.read(root, sample_s=0),
        cpus={Role.CLIENT: client, Role.PROBE: client, Role.SERVICE: server},
        services={"x": SimpleNamespace(process=object() if served else None)},
    )


def test_one_copy_has_a_thread_and_two_have_both_of_a_core_that_no_one_has(fake_host: Host) -> None:
    """Cores are {0, 2} and {1, 3}."""
    at = stage(fake_host("four_smt"), client=(0,), server=(1,), served=False)
    assert core.cpus_of("core", at) == (1,)
    assert core.cpus_of("pair", at) == (1, 3)
    taken = stage(fake_host("four_smt"), client=(0,), server=(1,), served=True)
    with pytest.raises(RunFault, match="leave no core"):
        core.cpus_of("pair", taken)


@pytest.mark.parametrize(
    ("machine", "is_there"),
    [
        ("four_smt", True),
        ("big_server", True),
        ("two_cpus", False),
        ("one_cpu", False),
        ("two_siblings", False),
    ],
)
def test_a_machine_without_hyper_threads_to_spare_is_refused_before_the_run(
    machine: str, *, is_there: bool, fake_host: Host
) -> None:
    facts = host.read(fake_host(machine), sample_s=0)
    core.check("server", facts)
    if is_there:
        core.check("pair", facts)
        return
    with pytest.raises(AbsentFault, match="hyper-threads") as fault:
        core.check("pair", facts)
    assert "smt/control" in fault.value.fix


@pytest.mark.parametrize(
    "neighbour",
    ["spin:core", "rival:core", "stream:pair", "noise:cpu,where=core", "batch:xz,where=core"],
)
def test_every_kind_refuses_it_before_the_run(neighbour: str, fake_host: Host) -> None:
    facts = host.read(fake_host("two_cpus"), sample_s=0)
    study = spec.load("latency_vs_load", overrides=[f"neighbour={neighbour}"])
    with pytest.raises(AbsentFault, match="hyper-threads"):
        actors.check(study, study.services[0], facts)
