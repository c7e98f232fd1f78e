"""The place `vm` on a machine that is only told about; a real boot is in tests/privileged."""

from __future__ import annotations

from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import HostFault, RunFault
from sojourn.install.part import Part
from sojourn.places import netns, network, proc, remains, vm
from sojourn.places.guest import starting, testing, trial
from sojourn.places.guest.qemu import KVM, TCG
from sojourn.places.guest.trial import Verdict
from sojourn.places.network_test import Book
from sojourn.places.pinning import Workers
from sojourn.places.place import GuestLinks
from sojourn.places.task import Task
from sojourn.places.vm import Vm

EMULATED = Verdict(TCG, "/dev/kvm is not there")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was done, in order."""
    reports: list[str] = []

    def act(name: str, *about: object) -> None:
        reports.append(name)

    for name in ("add_bridge", "add_tap", "join", "bring_up", "delete"):
        monkeypatch.setattr(network, name, partial(act, name))
    monkeypatch.setattr(network, "routed", lambda: (IPv4Network("10.0.0.0/8"),))
    monkeypatch.setattr(remains, "RUN", tmp_path)
    monkeypatch.setattr(Part, "ready", lambda _: testing.made(tmp_path / "made"))
    monkeypatch.setattr(trial, "verdict", lambda *_: EMULATED)
    return reports


def test_every_step_is_noted_before_it_is_done_and_crossed_out_after_it_is_undone(
    done: list[str], tmp_path: Path
) -> None:
    place, book = Vm(), Book(done)
    place.enter(book)
    assert place.host != netns.UNKNOWN
    assert f"note {vm.ENTRY}" == done[0]
    assert [path.name[:8] for path in tmp_path.glob("sojourn-*")] == ["sojourn-"]
    place.leave()
    assert done == [
        *("note vm", "note link", "add_bridge", "note link", "add_tap"),
        *("join", "bring_up"),
        *("delete", "cross out link", "delete", "cross out link", "cross out vm"),
    ]
    assert not book.open
    assert not list(tmp_path.glob("sojourn-*"))
    place.leave()  # again, nothing is left


def test_its_links_are_those_that_were_made_and_none_when_it_was_left(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Vm()
    assert place.guest_links is None
    names: list[str] = []
    monkeypatch.setattr(network, "add_tap", lambda link: names.append(link.name))
    place.enter(Book(done))
    assert place.guest_links == GuestLinks(tap=names[0])
    place._storage = storage = SimpleNamespace(link="sojourn-s", leave=lambda: None)  # type: ignore[assignment]
    assert place.guest_links == GuestLinks(tap=names[0], storage=storage.link)
    place.leave()
    assert place.guest_links is None


def test_a_guest_that_cannot_be_killed_keeps_nothing_else_from_being_unmade(
    done: list[str], tmp_path: Path
) -> None:
    def hangs(**_: object) -> None:
        raise RunFault("process 7 cannot be killed", at="state D", fix="look at dmesg")

    place, book = Vm(), Book(done)
    place.enter(book)
    left: list[str] = []
    place._storage = SimpleNamespace(link="s", leave=lambda: left.append("disk"))  # type: ignore[assignment]
    place._guest = SimpleNamespace(stop=hangs)  # type: ignore[assignment]
    with pytest.raises(RunFault, match="cannot be killed"):
        place.leave()
    assert left == ["disk"]
    assert not book.open
    assert not list(tmp_path.glob("sojourn-*"))


def test_what_is_refused_on_the_way_unmakes_what_was_made(
    done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(network, "add_tap", refuse)
    book = Book(done)
    with pytest.raises(HostFault) as caught:
        Vm().enter(book)
    assert "Operation not permitted" in caught.value.what
    assert "root" in caught.value.fix
    assert not book.open
    assert not list(tmp_path.glob("sojourn-*"))


def test_without_a_guest_kernel_nothing_is_made_and_the_command_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    reports: list[str] = []
    with pytest.raises(HostFault) as caught:
        Vm().enter(Book(reports))
    assert caught.value.what == "vm: not installed"
    assert caught.value.fix == "sojourn install vm"
    assert not reports


def test_an_emulated_guest_says_so_and_why(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Vm()
    place.enter(Book(done))
    notes = dict(place.notes)
    assert "emulated (TCG)" in notes["place"]
    assert "/dev/kvm is not there" in notes["emulated"]
    assert "emulated" in place.starting
    place.leave()
    monkeypatch.setattr(trial, "verdict", lambda *_: Verdict(KVM, "a guest has booted under it"))
    place.enter(Book(done))
    assert [what for what, _ in place.notes] == ["place"]
    assert "on KVM" in dict(place.notes)["place"]
    place.leave()


def test_cpus_of_the_guest_are_pinned_outside_and_workers_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = [(10, "qemu-system-x86"), (13, "CPU 1/TCG"), (12, "CPU 0/TCG")]
    monkeypatch.setattr(
        proc, "tasks", lambda _: tuple(Task(pid=10, tid=t, name=n, command="") for t, n in threads)
    )
    put: list[tuple[int, set[int]]] = []
    monkeypatch.setattr("os.sched_setaffinity", lambda tid, cpus: put.append((tid, cpus)))
    monkeypatch.setattr("os.sched_getaffinity", lambda tid: dict(put)[tid])
    inside: list[tuple[int, int]] = []

    def pin(tid: int, vcpu: int) -> bool:
        inside.append((tid, vcpu))
        return True

    fake: Any = SimpleNamespace(tasks=tuple, pin=pin, stop=lambda **_: None)
    place, outer = Vm(), testing.FakeQemu()
    place._guest = fake
    result = place.pin(outer, Workers(label="w", count=3, choose=lambda _: (71, 72, 73)), (4, 5))
    assert result.pins == {12: 4, 13: 5}
    assert inside == [(71, 0), (72, 1), (73, 0)]
    assert "2 CPUs of the guest" in result.text
    assert "inside 3 of 3 workers" in result.text
    result = place.pin(outer, Workers(label="w", count=3, choose=lambda _: ()), (4, 5))
    assert result.pins == {12: 4, 13: 5}
    assert "0 of 3 workers can be recognised by name" in result.text


def test_a_guest_has_room_for_its_files_twice_and_for_what_its_service_says() -> None:
    small, large = (starting.memory_mb(64 << 20, need) for need in (0, 1 << 30))
    assert small >= starting.BASE_MB + 2 * 64
    assert large - small == 1024


def test_only_what_bears_the_labs_name_is_undone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(remains, "RUN", tmp_path)
    name = remains.name()
    (tmp_path / name).mkdir()
    (tmp_path / "somebody").mkdir()
    facts = {"program": "qemu-system-x86_64", "traces": []}
    assert vm.undo({"name": "somebody", **facts}) is None
    undone = vm.undo({"name": name, **facts})
    assert undone is not None
    assert undone.is_done
    assert undone.what == f"virtual machine {name}"
    assert vm.undo({"name": name, **facts}) is None
    assert [path.name for path in tmp_path.iterdir()] == ["somebody"]
