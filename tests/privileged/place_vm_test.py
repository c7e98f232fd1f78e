"""A service in a virtual machine, for real: it answers, is pinned, ends, and nothing of it is left.

Needs QEMU and a guest kernel (`sojourn install vm`); where either lacks the tests say so and skip.
Times are a translator's where KVM runs no guest, so none is judged.
"""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from sojourn import host, places, programs, services
from sojourn.errors import Fault
from sojourn.host.abilities import abilities
from sojourn.install.vm import PART
from sojourn.places import Launch, network, proc, process_end, remains, users
from sojourn.places.guest.guest import Guest
from sojourn.places.pinning import Workers
from sojourn.places.platform import storage, switch
from sojourn.places.vm import Vm
from sojourn.run import work
from sojourn.run.journal import Journal
from sojourn.run.restore import restore
from sojourn.services import Allowance, Program
from sojourn.services.capabilities import Checks, Prepares, needs, pinned
from sojourn.services.params import Value

pytestmark = [pytest.mark.privileged, pytest.mark.timeout(400)]
ANSWER_S_MAX = 180.0
CLOCK_S_MAX = 30.0  # of a machine that others use as well; unset it is off by the guest's age
#: Small enough to be made, carried over and served by a CPU that is translated.
PARAMS: dict[str, dict[str, Value]] = {
    "memcached": {"items": 1000},
    "nginx": {"files": 10},
    "img_dnn": {},
    "ordered_map": {"items": 1000},
    "silo": {},
}
ALLOWANCE = Allowance(cpus=1, memory_bytes=1 << 30)


@pytest.fixture(autouse=True)
def machines() -> None:
    """Skip where this machine cannot make virtual machines, naming what it lacks."""
    (ability,) = (a for a in abilities(host.read(sample_s=0)) if a.name == "virtual machines")
    if not ability.can:
        pytest.skip(f"needs {ability.missing}: {ability.fix}")


def left_of(name: str) -> tuple[list[str], list[str]]:
    """Links, namespaces, folders and programs of one; other labs have theirs."""
    tag = name[: len("sojourn-") + 6]
    with network.netlink() as route:
        links = [str(one.get_attr("IFLA_IFNAME")) for one in route.get_links()]
    namespaces = [path.name for path in network.RUN.glob("sojourn-*")]
    folders = [path.name for at in (remains.RUN, storage.ROOT) for path in at.glob("sojourn-*")]
    lines = [bytes_of(pid).decode("utf-8", "replace") for pid in proc.pids()]
    running = [line for line in lines if f"/{name}/" in line]
    links = [one for one in (*links, *namespaces) if one.startswith(tag)]
    return links, [one for one in folders if name in one] + running


def bytes_of(pid: int) -> bytes:
    """Command line of a process; none of one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def programs_of(place: str) -> None:
    """Skip where the programs of a place's options lack, naming the package."""
    for option in places.options(place):
        for program, package in option.programs.items():
            if programs.maybe(program) is None:
                pytest.skip(f"needs {program}: apt install {package}")


class Life:
    """One life of a service in a place, as `run.begin` leads it."""

    def __init__(self, kind: str, state: Path, place: str = "vm") -> None:
        try:
            service = services.build(kind, PARAMS[kind], ALLOWANCE)
        except Fault as lack:
            pytest.skip(str(lack))
        assert isinstance(service, Program)
        self.service = service
        self.book, self.user = Journal.create(state), users.server_user()
        self.work, self._entry = work.make(self.book, self.user)
        if isinstance(service, Prepares):
            service.prepare(self.work)
        work.hand_over(self.work, self.user)
        self.place = places.build(place)
        self.place.fit(needs(self.service).memory_bytes)
        self.log = self.work / "service.log"

    @property
    def name(self) -> str:
        """Of the virtual machine."""
        assert isinstance(self.place, Vm)
        return self.place._name

    def start(self) -> Guest:
        """Boot it, and wait until its service answers."""
        self.place.enter(self.book)
        self.address = self.place.address(0)
        start = self.service.start(self.work, self.address)
        cpu = min(os.sched_getaffinity(0))
        launch = Launch(
            "web",
            [str(start.program), *start.words],
            cwd=self.work,
            ledger=self.book,
            log=self.log,
            user=self.user,
            cpus=(cpu,),
            open_files=start.open_files,
        )
        made = self.place.start(launch)
        assert isinstance(made, Guest)
        end = time.monotonic() + ANSWER_S_MAX
        while not self.service.ready(self.address, 1.0):
            ended = made.poll(0.1)
            assert ended is None, f"{ended} {process_end.last_words(self.log)}"
            assert time.monotonic() < end, process_end.last_words(self.log)
        return made

    def end(self) -> None:
        """Leave nothing of it."""
        self.place.leave()
        work.remove(self.work, self._entry, self.book)
        self.book.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("memcached", "vm"),
        ("nginx", "vm"),
        ("nginx", "vm:nbd"),  # whose files are checked, and lie on the disk
        ("memcached", "vm:ovs"),
        ("nginx", "vm:ceph+ovs"),
        ("memcached", "vm:libvirt"),
        ("nginx", "vm:libvirt+nbd"),
    ],
)
def test_a_service_in_a_guest_answers_is_pinned_and_ends(
    kind: str, place: str, state: Path
) -> None:
    programs_of(place)
    life = Life(kind, state, place)
    try:
        guest = life.start()
        assert guest.poll() is None
        assert guest.booted_s is not None
        pids = [member.pid for member in proc.session(guest.pid)]
        assert life.place.owner(life.address.port, pids) == guest.pid
        assert life.place.owner(life.address.port + 1, pids) is None
        if kind == "nginx":
            assert isinstance(life.service, Checks)
            assert life.service.check(life.address)
        count, choose = needs(life.service).workers, partial(pinned, life.service)
        workers = Workers(label="web", count=count, choose=choose)
        cpu = min(os.sched_getaffinity(0))
        result = life.place.pin(guest, workers, (cpu,))
        assert set(result.pins.values()) == {cpu}
        assert all(os.sched_getaffinity(tid) == {cpu} for tid in result.pins)
        assert "inside 1 of 1 workers" in result.text
        ended = guest.stop(term_s=60.0)
        assert ended.status == 0, ended
        assert not proc.session(guest.pid)
        assert all(left_of(life.name))
        assert dict(life.place.notes).get("disk", "").count("Ceph") == place.count("ceph")
        assert dict(life.place.notes)["place"].count("Open vSwitch") == place.count("ovs")
        assert dict(life.place.notes)["place"].count("under libvirt") == place.count("libvirt")
    finally:
        life.end()
    assert not any(left_of(life.name))


@pytest.mark.parametrize("kind", ["img_dnn", "ordered_map", "silo"])
def test_services_of_the_third_paper_answer_on_its_platform(kind: str, state: Path) -> None:
    place = "vm:restored+nbd+ovs"
    programs_of(place)
    life = Life(kind, state, place)
    try:
        guest = life.start()
        assert guest.poll() is None
        assert isinstance(life.service, Checks)
        assert life.service.check(life.address)
        assert guest.stop(term_s=60.0).is_clean
    finally:
        life.end()
    assert not any(left_of(life.name))


def test_a_restored_guest_answers_like_a_booted_one_and_has_the_time(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first start boots and saves its state; a state that was changed is not loaded."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)
    kernel = PART.ready().at
    monkeypatch.setenv("SOJOURN_CACHE", str(cache))
    (cache / kernel.name).symlink_to(kernel)
    reports = []
    for nth in range(4):
        life = Life("memcached", state, "vm:restored")
        try:
            guest = life.start()
            assert guest.clock_off_s is not None
            assert abs(guest.clock_off_s) < CLOCK_S_MAX
            (_, report), *more = life.place.start_notes
            assert not more
            reports.append(report)
            assert len(guest.tasks()) > 1
            ended = guest.stop(term_s=60.0)
            assert ended.status == 0, ended
        finally:
            life.end()
        assert not any(left_of(life.name))
        if nth == 2:
            (path,) = cache.glob("vm-state-*/state")
            path.write_bytes(path.read_bytes()[:-1] + b"\0")
    assert "booted, because no state has been saved yet; its state was saved" in reports[0]
    assert all(text.startswith("restored from its state after boot") for text in reports[1:3])
    assert "booted, because the saved state is not what was saved" in reports[3]


@pytest.mark.parametrize("place", ["vm", "vm:libvirt", "vm:nbd+ovs", "vm:ceph+ovs"])
def test_whatever_a_lab_that_was_killed_left_of_a_guest_is_undone(place: str, state: Path) -> None:
    programs_of(place)
    life = Life("memcached", state, place)
    report, tell = os.pipe()
    child = os.fork()
    if child == 0:  # a lab of its own, which dies with its guest up
        try:
            life.book = Journal.create(state / "child")
            guest = life.start()
            os.write(tell, f"{guest.pid} {life.name}\n".encode())
            time.sleep(600)
        finally:
            os._exit(1)
    os.close(tell)
    with os.fdopen(report, encoding="ascii") as stream:
        line = stream.readline()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert line, "its guest did not come up"
    pid, name = line.split()
    assert all(left_of(name))
    what = [one.what.split()[0] for one in restore(state / "child") if one.is_done]
    assert {"virtual", "network"} <= set(what)
    assert not proc.session(int(pid))
    assert not any(left_of(name))
    assert "ovs" not in place or not switch.is_there(switch.DATAPATH)
    life.end()
