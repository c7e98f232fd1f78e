"""A study on a machine whose CPUs are unlike or isolated: where services are put."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import host, programs
from sojourn.errors import AbsentFault
from sojourn.host import Facts, placement, shared, testing, testing_hosts, testing_unlike
from sojourn.run import placed, session
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.profiles import PROFILES


def facts(name: str, root: Path) -> Facts:
    machines = {**testing_unlike.MACHINES, **testing_hosts.MACHINES}
    return host.read(testing.write(machines[name], root))


def study(spec: ServiceSpec, **more: object) -> Study:
    usual = {"name": "s", "question": "?", "run": PROFILES["quick"], "services": (spec,)}
    return Study.model_validate({**usual, **more})


def test_levels_of_threads_share_the_kinds_of_the_widest(tmp_path: Path) -> None:
    seen = facts("laptop_p_e", tmp_path)
    spec = ServiceSpec(kind="memcached", measure=("sweep",), params={"threads": 1})
    key = "services.memcached.params.threads"
    for levels, kind in (([1, 2, 4], 0), ([1, 2, 7], 1)):
        whole = study(spec, factors={key: levels})
        kinds = set()
        for level in levels:
            under = whole.under({key: level}).service("memcached")
            where = session.placement(under, seen, whole)
            assert len(where.server) == level
            of = {cpu.id: cpu.capacity.kind for cpu in seen.topology.cpus}
            kinds |= {of[cpu] for cpu in where.server}
            assert shared.UNLIKE not in where.shared
            assert where.kinds
        assert kinds == {kind}, f"{levels} on kinds {kinds}"
        alone = session.placement(whole.under({key: 1}).service("memcached"), seen)
        assert {of[cpu] for cpu in alone.server} == {0}, "a run that stands alone has the best"


@pytest.mark.parametrize(
    ("params", "pin", "is_warned"),
    [
        ({"argv": "true {port} {threads}"}, "turn", True),
        ({"argv": "true {port} {threads}", "worker": "w.*"}, "turn", False),
        ({"argv": "true {port} {threads}", "worker": "w.*"}, "none", True),
    ],
)
def test_a_command_without_a_worker_is_warned_of_isolated_cpus(
    params: dict[str, object],
    pin: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_warned: bool,
) -> None:
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/usr/bin") / name)
    spec = ServiceSpec.model_validate(
        {
            "kind": "command",
            "measure": ("sweep",),
            "pin": pin,
            "params": {**params, "threads": 3, "target": "http://{host}:{port}/"},
        }
    )
    _, where = session.settle(spec, study(spec), facts("isolated", tmp_path))
    assert len(where.server) > 1
    assert (shared.UNBALANCED in where.shared) is is_warned


def test_a_study_may_name_what_a_limited_shell_does_not_start_on(tmp_path: Path) -> None:
    limited = facts("isolated_limited", tmp_path / "a")
    spec = ServiceSpec(kind="memcached", measure=("sweep",), knobs={"cpuset": "5"})
    placed.check_levels(spec, limited)
    assert session.placement(spec, limited).server == (5,)
    with pytest.raises(AbsentFault, match="CPU 5 cannot be used here"):
        placed.check_levels(spec, facts("limited_by_cpuset", tmp_path / "b"))


def test_a_service_that_runs_already_on_isolated_cpus_is_warned(tmp_path: Path) -> None:
    seen = facts("isolated", tmp_path).topology
    usable = [cpu.id for cpu in seen.usable]
    where = placement.joined(placement.place(seen), (2, 3), usable)
    assert placement.unpinned(where, seen).shared[0] == shared.UNBALANCED
