"""Real servers in containers, and nothing of them left: at the end, nor after `kill -9`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import host, places, programs, samples
from sojourn.errors import Fault
from sojourn.places import Launch, cgroups, network, ports, proc, remains
from sojourn.places.contained import Contained
from sojourn.plan import Point
from sojourn.questions import PLANS
from sojourn.run import placed
from sojourn.run.journal import Journal
from sojourn.run.restore import restore
from sojourn.spec import ServiceSpec, Study

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

Measure = Callable[[Study, Point], Path]
CONTAINERS = [name for name, kind in places.KINDS.items() if isinstance(kind.build(), Contained)]


@pytest.fixture(params=CONTAINERS)
def kind(request: pytest.FixtureRequest, needs_place: Callable[[str], None]) -> str:
    """Each kind of container; skips where this machine lacks what it needs."""
    name: str = request.param
    needs_place(name)
    return name


def machine() -> tuple[object, ...]:
    """Every control group, mount, link, named namespace, and what is in the run folders."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    mounts = [line for line in lines if "/sojourn-" in line]
    groups = {folder for mount in cgroups.mounts() for folder, _, _ in os.walk(mount)}
    with network.netlink() as route:
        links = {(one["index"], one.get_attr("IFLA_IFNAME")) for one in route.get_links()}
    named = {path.name for path in network.RUN.glob("*")}
    runs = {str(path) for path in remains.RUN.rglob("*sojourn*")}
    made = {path for path in groups if "sojourn" in path}
    return made, mounts, {link for link in links if "sojourn" in str(link)}, named, runs


@pytest.fixture(autouse=True)
def machine_is_left_as_it_was() -> Iterator[None]:
    before = machine()
    yield
    assert machine() == before


def test_a_server_in_a_container_answers_and_is_pinned_by_the_cpuset(
    lab: SimpleNamespace, needs: Callable[[str], None], measure: Measure, kind: str
) -> None:
    needs("memcached")
    study = lab.study("memcached", place=kind, knobs={"cpuset": "0"})
    folder = measure(study, lab.point("memcached"))
    served = json.loads((folder / "service.json").read_text())
    assert (served["place"], served["host"]) == (kind, ports.HOST)
    assert served["knobs"]["cpuset"]["felt"]
    assert set(served["pins"].values()) == {0}
    assert any(what == "place" and kind in how for what, how in served["setup"])
    assert samples.read(folder).achieved_rps > 0


def test_it_is_in_namespaces_of_its_own_as_a_user_without_rights(kind: str, state: Path) -> None:
    state.mkdir()
    place, book = places.build(kind), Journal.create(state)
    place.enter(book)
    try:
        words, log = ["/bin/sleep", "600"], state / "log"
        made = place.start(Launch("sleeper", words, cwd=state, ledger=book, log=log, cpus=[0]))
        try:
            status = Path(f"/proc/{made.pid}/status").read_text()
            assert f"NSpid:\t{made.pid}\t1\n" in status
            assert os.sched_getaffinity(made.pid) == {0}
            for own in ("mnt", "pid", "ipc"):
                ours, its = (Path(f"/proc/{pid}/ns/{own}").readlink() for pid in ("self", made.pid))
                assert ours != its
        finally:
            ended = made.stop(term_s=0.1)
        assert ended.is_clean
        assert proc.stat(made.pid) is None
    finally:
        place.leave()
        book.close()
        (state / "log").unlink()


def test_what_cannot_be_started_there_is_reported_with_the_reason(kind: str, state: Path) -> None:
    state.mkdir()
    place, book = places.build(kind), Journal.create(state)
    place.enter(book)
    try:
        launch = Launch("nothing", ["/no/such"], cwd=state, ledger=book, log=state / "log")
        with pytest.raises(Fault) as caught:
            place.start(launch)
        assert "nothing cannot be started in a container" in caught.value.what
        assert "/no/such" in caught.value.at
    finally:
        place.leave()
        book.close()
        (state / "log").unlink()


def test_whatever_the_step_a_lab_dies_at_nothing_is_left(
    tmp_path: Path, lab: SimpleNamespace, kind: str
) -> None:
    dirty = lab.killed_at_every_step("container", tmp_path, machine, kind)
    assert len(dirty) > 8
    (tmp_path / "log").unlink(missing_ok=True)


def test_a_lab_that_is_killed_in_mid_measurement_leaves_its_container_to_restore(
    lab: SimpleNamespace,
    needs: Callable[[str], None],
    eventually: Callable[[Callable[[], bool], str], None],
    tmp_path: Path,
    state: Path,
    kind: str,
) -> None:
    needs("memcached")
    before, folder = machine(), tmp_path / "point"
    words = [sys.executable, str(lab.path), "memcached", str(folder), str(state), kind]
    with subprocess.Popen(words) as child:
        eventually((folder / "measuring").exists, "nothing was measured")
        assert machine() != before
        child.kill()
    assert any(one.what.startswith("container sojourn-") for one in restore(state))
    assert machine() == before


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_runtime_that_is_missing_is_told_at_check_with_its_package(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = places.kind(name)
    monkeypatch.setattr(placed, "abilities", lambda _: ())
    monkeypatch.setattr(programs, "maybe", lambda _: None)
    spec = ServiceSpec(kind="memcached", place=name, measure=("sweep",))
    started = SimpleNamespace(
        program="x", is_foreign=False, bears_image=False, has_secrets=False, wanted_port=0
    )
    with pytest.raises(Fault) as caught:
        placed.check(spec, started, host.read(sample_s=0), PLANS)  # type: ignore[arg-type]
    (package,) = result.programs.values()
    assert f"apt install {package}" in caught.value.fix
