from __future__ import annotations

import re
import socket
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from sojourn import host, knobs, places, programs, services
from sojourn.errors import HostFault, SpecFault
from sojourn.host import Facts, Placement
from sojourn.host.tree import Tree
from sojourn.knobs import Asked
from sojourn.places import PlaceKind, ports, users
from sojourn.places.local import Local
from sojourn.places.users import User
from sojourn.run import placed
from sojourn.run.session import placement
from sojourn.services import Allowance, Service
from sojourn.spec import Pin, ServiceSpec
from sojourn.testing_questions import PLANS

Host = Callable[[str], Path]
FAKE = "stages inside the kernel (eBPF)"  # an ability that a bare tree lacks


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """A machine of which nothing is known: nothing is allowed there."""
    return host.read(tmp_path_factory.mktemp("bare"), sample_s=0)


def service(kind: str, monkeypatch: pytest.MonkeyPatch, **params: int) -> Service:
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/nowhere") / name)
    return services.build(kind, params, Allowance(cpus=1, memory_bytes=1 << 30))


def test_a_service_that_is_no_program_may_be_anywhere(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("null", "local"):
        spec = ServiceSpec(kind="null", place=place, measure=("sweep",))
        placed.check(spec, service("null", monkeypatch), facts, PLANS)


def test_a_program_cannot_be_nowhere(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ServiceSpec(kind="memcached", place="null", measure=("sweep",))
    with pytest.raises(SpecFault) as caught:
        placed.check(spec, service("memcached", monkeypatch), facts, PLANS)
    assert caught.value.at == "services.memcached.place"
    assert "local" in caught.value.fix


def test_what_the_place_lacks_here_is_named_with_its_fix(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = PlaceKind(name="far", about="far away", abilities=(FAKE,), build=Local)
    monkeypatch.setattr(places, "KINDS", {**places.KINDS, "far": far})
    spec = ServiceSpec(kind="memcached", place="far", measure=("sweep",))
    with pytest.raises(HostFault) as caught:
        placed.check(spec, service("memcached", monkeypatch), facts, PLANS)
    assert "kernel types (BTF) is missing" in caught.value.what
    assert "CONFIG_DEBUG_INFO_BTF" in caught.value.fix


@pytest.mark.parametrize("name", places.KINDS)
def test_no_place_shows_a_secret_to_other_users(
    name: str, facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = replace(places.kind(name), abilities=(), programs={})
    monkeypatch.setattr(places, "KINDS", {**places.KINDS, name: kind})
    made = services.build(
        "command",
        {"argv": "sh {port}", "environment": "A=file:/dev/null"},
        Allowance(cpus=1, memory_bytes=1 << 30),
    )
    spec = ServiceSpec(kind="command", place=name, measure=("sweep",))
    try:
        placed.check(spec, made, facts, PLANS)
    except SpecFault as fault:
        assert ("shows the variables" in fault.what) == kind.shows_environment  # noqa: PT017
    else:
        assert not kind.shows_environment


@pytest.mark.parametrize(
    ("place", "is_refused"), [("vm", True), ("vm:restored", True), ("local", False)]
)
def test_a_guest_with_more_memory_than_the_machine_is_refused_before_it_is_made(
    place: str, facts: Facts, monkeypatch: pytest.MonkeyPatch, *, is_refused: bool
) -> None:
    kind = replace(places.kind("vm"), abilities=(), programs={})
    monkeypatch.setattr(places, "KINDS", {**places.KINDS, "vm": kind})
    inputs: dict[str, str | int] = {"argv": "sh {port}", "memory_bytes": 9 << 30}
    made = services.build("command", inputs, Allowance(cpus=1, memory_bytes=1 << 30))
    spec = ServiceSpec(kind="command", place=place, measure=("sweep",))
    small = replace(facts, memory=replace(facts.memory, total_bytes=8 << 30))
    placed.check(spec, made, facts, PLANS)  # how much there is is not known
    if not is_refused:
        placed.check(spec, made, small, PLANS)
        return
    with pytest.raises(HostFault, match=r"9\.66 GB in a virtual machine") as caught:
        placed.check(spec, made, small, PLANS)
    assert "memory_bytes" in caught.value.fix


def test_a_port_that_is_taken_there_is_refused(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.bind((ports.HOST, 0))
        other.listen()
        asked = service("memcached", monkeypatch, port=other.getsockname()[1])
        with pytest.raises(HostFault, match="is taken by"):
            placed.check(ServiceSpec(kind="memcached", measure=("sweep",)), asked, facts, PLANS)


@pytest.mark.parametrize(
    ("levels", "fault", "text"),
    [
        ({"cpuset": "0-999"}, SpecFault, "999 cannot be used here; CPUs 0"),
        ({"cpuset": "1-0"}, SpecFault, "1-0 ends before it begins"),
        ({"cpuset": "0,3-1"}, SpecFault, "3-1 ends before it begins"),
        ({"cpuset": "two"}, SpecFault, "cpuset is 'two'"),
        ({"cpu": "0"}, SpecFault, "no knob cpu"),
        ({"cpu_quota": "half"}, SpecFault, "cpu_quota is 'half'"),
        ({"numa": "999"}, HostFault, "knob numa is not available here: node 999 is missing"),
    ],
)
def test_a_level_that_cannot_be_set_here_is_refused_before_anything_runs(
    levels: dict[str, str], fault: type[Exception], text: str
) -> None:
    spec = ServiceSpec.model_validate(
        {"kind": "memcached", "measure": ["sweep"], "knobs": levels}, strict=False
    )
    with pytest.raises(fault, match=text):
        placed.check_levels(spec, host.read(sample_s=0))


@pytest.mark.parametrize(
    ("knob", "refused", "taken"),
    [
        ("cpu_quota", ("0%", "0.5%", "20ms/2s", "20ms/50ms+30ms"), ("1%", "none")),
        ("rt_quota", ("0%/24ms", "30ms/24ms", "load/0ms"), ("none",)),
        ("policy", ("nice:20", "nice:-21", "rr:0", "slice:900ms"), ("nice:-20", "batch")),
        ("memory_limit", ("0", "100B"), ("1MiB",)),
        ("io_limit", ("0MB/s", "read:1MB/s+write:0MB/s"), ("none",)),
        ("egress", ("0Mbit/s",), ("none",)),
        ("llc_ways", ("0", "0x0"), ("none",)),
        ("memory_bandwidth", ("0%", "101%"), ("none",)),
        ("frequency", ("min:2GHz+max:1GHz", "max:0GHz"), ()),
        ("busy_poll", ("2147483648us",), ("50us",)),
        ("numa", ("1-0", "0,3-1"), ("0-1", "none")),
        ("irq", ("1-0",), ("server", "0,2-3")),
        ("rps", ("1-0",), ("lab", "none", "0")),
    ],
)
def test_a_level_that_no_kernel_takes_is_refused_on_every_machine(
    knob: str, refused: Sequence[str], taken: Sequence[str]
) -> None:
    facts = host.read(sample_s=0)
    for level in refused:
        spec = ServiceSpec(kind="memcached", measure=("sweep",), knobs={knob: level})
        with pytest.raises(SpecFault, match=rf"{knob} is '{re.escape(level)}', but ") as caught:
            placed.check_levels(spec, facts)
        assert caught.value.at == f"services.memcached.knobs.{knob}"
    assert not any(map(knobs.kind(knob).refuses, taken))


@pytest.mark.parametrize(("knob", "level"), [("thp", "never"), ("egress", "10MB/s")])
def test_a_knob_that_does_not_reach_into_the_place_is_refused_with_why(
    knob: str, level: str
) -> None:
    facts = host.read(sample_s=0)
    inputs = {"kind": "memcached", "measure": ["sweep"], "knobs": {knob: level}, "place": "vm"}
    with pytest.raises(SpecFault, match="does not reach a service in place vm") as caught:
        placed.check_levels(ServiceSpec.model_validate(inputs, strict=False), facts)
    assert caught.value.at == f"services.memcached.knobs.{knob}"
    for kind in places.KINDS.values():
        assert set(kind.out_of_reach) <= set(knobs.KINDS), kind.name
        assert all(kind.out_of_reach.values())


@pytest.mark.parametrize(("kind", "is_labs"), [("command", True), ("memcached", False)])
def test_a_knob_is_asked_of_the_folder_that_the_service_s_user_can_enter(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_labs: bool
) -> None:
    """What runs as the lab works where TMPDIR says; a server's user may not get in there."""
    asked: list[Asked] = []

    def lacks(one: Asked) -> None:
        asked.append(one)

    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(users, "server_user", lambda **_: User("server", 61_999, 61_999))
    io_limit = replace(knobs.kind("io_limit"), lacks=lacks)
    monkeypatch.setattr(knobs, "KINDS", {**knobs.KINDS, "io_limit": io_limit})
    room = Allowance(cpus=1, memory_bytes=1 << 30)
    params: dict[str, services.Value] = {"argv": "sh -c {port}"} if is_labs else {}
    made = services.build(kind, params, room) if is_labs else service(kind, monkeypatch)
    spec = ServiceSpec(kind=kind, measure=("sweep",), knobs={"io_limit": "10MB/s"})
    facts = host.read(sample_s=0)
    placed.check_levels(spec, facts)
    placed.check(spec, made, facts, PLANS)
    (one,) = asked
    assert (one.work == tmp_path) is is_labs


def test_each_knob_is_asked_once_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that depends on the folder is asked by the second check, the others by the first."""
    names = ("io_limit", "cpu_quota", "cpuset")
    asked: list[str] = []

    def counted(name: str) -> Callable[[Asked], None]:
        return lambda _: asked.append(name)

    mine = {name: replace(knobs.kind(name), lacks=counted(name)) for name in names}
    monkeypatch.setattr(knobs, "KINDS", {**knobs.KINDS, **mine})
    facts = host.read(sample_s=0)
    cpu = f"{facts.topology.usable[0].id}"
    levels = {"io_limit": "10MB/s", "cpu_quota": "50%", "cpuset": cpu}
    spec = ServiceSpec(kind="memcached", measure=("sweep",), knobs=levels)
    placed.check_levels(spec, facts)
    placed.check(spec, service("memcached", monkeypatch), facts, PLANS)
    assert sorted(asked) == sorted(names)


def test_the_cpus_that_a_knob_leaves_are_where_the_server_is_placed() -> None:
    facts = host.read(sample_s=0)
    cpu = facts.topology.usable[-1].id
    spec = ServiceSpec.model_validate(
        {"kind": "memcached", "measure": ["sweep"], "knobs": {"null": "1", "cpuset": f"{cpu}"}},
        strict=False,
    )
    placed.check_levels(spec, facts)
    assert placed.knob_cpus(spec) == (cpu,)
    assert placement(spec, facts).server == (cpu,)


def test_workers_that_want_a_cpu_each_are_refused_where_there_are_too_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = Placement(server=(1,), client=(0,), housekeeping=(0,), client_wait="spin", shared=())
    two = service("memcached", monkeypatch, threads=1, instances=2)
    for pin in Pin:
        spec = ServiceSpec(kind="memcached", pin=pin)
        if pin is Pin.ONE:
            with pytest.raises(HostFault, match="2 workers with a CPU each need as many"):
                placed.check_pin(spec, two, where)
        else:
            placed.check_pin(spec, two, where)


def test_words_for_parties_become_their_cpus() -> None:
    where = Placement(server=(1, 2), client=(3,), housekeeping=(0,), client_wait="spin", shared=())
    knobs = {"rps": "server", "irq": "lab", "cpuset": "1-2", "policy": "batch"}
    spec = ServiceSpec.model_validate({"kind": "memcached", "knobs": knobs}, strict=False)
    assert placed.levels(spec) == knobs
    assert placed.levels(spec, where) == {**knobs, "rps": "1-2", "irq": "0"}


def test_a_service_is_placed_by_its_cores_and_else_by_its_workers(fake_host: Host) -> None:
    facts = replace(
        host.read(sample_s=0), topology=host.topology.read(Tree(fake_host("big_server")))
    )

    def of(**keys: object) -> int:
        table = {"kind": "memcached", **keys}
        return len(placement(ServiceSpec.model_validate(table, strict=False), facts).server)

    assert of(cores="4:7") == 7
    assert of(cores=4, params={"threads": 7}) == 4
    assert of(params={"threads": 2, "instances": 3}) == 6
    assert of() == 7
    assert of(params={"threads": "cpus+1"}) == 17  # of 23 beside the lab's, the client has 6


@pytest.mark.parametrize(
    ("cores", "layout"), [("", None), ("4", (4, 4)), (3, (3, 3)), ("4:7", (4, 7)), ("2:2", (2, 2))]
)
def test_cores_are_read(cores: object, layout: tuple[int, int] | None) -> None:
    result = ServiceSpec.model_validate({"kind": "memcached", "cores": cores}, strict=False)
    assert result.layout == layout


@pytest.mark.parametrize("cores", ["0", "4:3", "4-7", "four", 0, True, "4:"])
def test_what_is_no_number_of_cores_is_refused(cores: object) -> None:
    with pytest.raises(ValidationError):
        ServiceSpec.model_validate({"kind": "memcached", "cores": cores}, strict=False)
