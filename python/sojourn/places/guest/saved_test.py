from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.places.guest import saved
from sojourn.places.guest.qemu import KVM, TCG, Machine
from sojourn.places.guest.saved import Saved


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o755)
    release(monkeypatch, "7.2.22")
    for name in ("kernel", "initrd", "job"):
        (tmp_path / name).write_text(name)
    return Machine(
        at=tmp_path,
        kernel=tmp_path / "kernel",
        initrd=tmp_path / "initrd",
        accelerator=TCG,
        cpus=1,
        memory_mb=512,
        channel=tmp_path / "agent",
        tap="sojourn-012345t",
        mac="02:00:00:00:00:01",
        job=tmp_path / "job",
    )


def release(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setattr(programs, "maybe", Path)
    monkeypatch.setattr(programs, "says", lambda *_: f"QEMU emulator version {number} (Debian)")


def kept(machine: Machine) -> Saved:
    state = saved.of(machine)
    state.begin().write_bytes(b"RAM")
    state.keep()
    return state


def test_a_state_fits_a_guest_of_the_same_form_with_other_links_and_files(
    machine: Machine, tmp_path: Path
) -> None:
    assert saved.of(machine).misfit() == "no state has been saved yet"
    kept(machine)
    other = replace(machine, tap="sojourn-abcdeft", mac="02:00:00:00:00:02", at=tmp_path / "2")
    assert saved.of(other).misfit() == ""
    assert saved.of(replace(machine, awaits_state=True)).misfit() == ""


def test_another_release_kernel_or_root_folder_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(machine)
    release(monkeypatch, "9.1.0")
    why = saved.of(machine).misfit()
    assert why == "the saved state has another QEMU: QEMU 7.2.22, not QEMU 9.1.0"
    release(monkeypatch, "7.2.22")
    machine.kernel.write_text("a newer one")
    assert "another kernel" in saved.of(machine).misfit()
    machine.kernel.write_text("kernel")
    machine.initrd.write_text("a newer agent")
    assert "another root folder" in saved.of(machine).misfit()


def test_another_cpu_model_is_reported_because_qemu_itself_accepts_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(saved, "CPUINFO", tmp_path / "cpuinfo")
    machine = replace(machine, accelerator=KVM)
    (tmp_path / "cpuinfo").write_text("model name\t: Xeon 1\nflags\t\t: fpu avx\n\n")
    kept(machine)
    assert saved.of(machine).misfit() == ""
    (tmp_path / "cpuinfo").write_text("model name\t: Xeon 1\nflags\t\t: fpu\n\n")
    assert "another CPU model: Xeon 1" in saved.of(machine).misfit()


def test_guests_of_other_sizes_have_states_of_their_own(machine: Machine) -> None:
    kept(machine)
    for other in (replace(machine, cpus=2), replace(machine, memory_mb=576)):
        assert saved.of(other).misfit() == "no state has been saved yet"
    assert saved.of(machine).misfit() == ""


def test_a_state_that_has_changed_or_that_others_may_write_is_not_loaded(machine: Machine) -> None:
    state = kept(machine)
    state.state.write_bytes(b"another")
    assert state.misfit() == "the saved state is not what was saved"
    state.state.write_bytes(b"RAM")
    assert state.misfit() == ""
    state.at.chmod(0o777)
    assert "its state is not used" in state.misfit()


def test_facts_that_are_damaged_are_no_state(machine: Machine) -> None:
    state = kept(machine)
    for text in ("", "[1]", "{", "7"):
        (state.at / saved.FACTS).write_text(text)
        assert state.misfit() == "no state has been saved yet"


def test_what_was_begun_and_not_finished_is_no_state(machine: Machine) -> None:
    state = saved.of(machine)
    state.begin().write_bytes(b"half")
    assert state.misfit() == "no state has been saved yet"
    state.drop()
    assert list(state.at.parent.iterdir()) == []


def test_the_states_that_were_used_least_recently_are_removed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "STATES_MAX", 3)
    states = []
    for number in range(3):
        states.append(kept(replace(machine, memory_mb=512 + 64 * number)))
        os.utime(states[-1].at, (number, number))
    begun = saved.of(replace(machine, memory_mb=4096))
    begun.begin()
    states[0].used()
    states.append(kept(replace(machine, memory_mb=1024)))
    assert [one.at.exists() for one in states] == [True, False, True, True]
    assert begun.at.with_name(f"{begun.at.name}.part").exists()
