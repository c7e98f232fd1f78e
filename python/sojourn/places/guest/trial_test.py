"""Whether KVM is believed; QEMU is a fake, and so is the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn import programs
from sojourn.places import process
from sojourn.places.guest import qemu, testing, trial
from sojourn.places.guest.qemu import KVM, TCG
from sojourn.places.guest.testing import ENDED, FakeQemu


class Machine:
    """A machine with a /dev/kvm; `console` is what a guest under it says."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.console, self.trials, self.boot = "", 0, tmp_path / "boot_id"
        self.made, self._at = testing.made(tmp_path / "made"), tmp_path
        self.boot.write_text("one")
        self.device = tmp_path / "kvm"
        self.device.touch()
        monkeypatch.setattr(trial, "DEVICE", self.device)
        monkeypatch.setattr(trial, "BOOT_ID", self.boot)
        monkeypatch.setattr(programs, "find", Path)
        monkeypatch.setattr(process, "start", self._start)

    def _start(self, *_: object, cwd: Path, **__: Any) -> FakeQemu:
        self.trials += 1
        (cwd / qemu.CONSOLE).write_text(self.console)
        made = FakeQemu()
        made.ended = ENDED if self.console else None
        return made

    def verdict(self) -> trial.Verdict:
        ledger: Any = None
        return trial.verdict(self.made, self._at / f"trial-{self.trials}", ledger)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_a_device_proves_nothing_a_guest_that_booted_does(machine: Machine) -> None:
    machine.console = "Probing EDD (edd=off to disable)... ok\n"
    result = machine.verdict()
    assert result.accelerator == TCG
    assert result.is_emulated
    assert "a guest under it" in result.why
    machine.boot.write_text("two")
    machine.console = f"bla\n{trial.UP}\n"
    assert machine.verdict().accelerator == KVM


def test_a_trial_that_failed_holds_for_this_process_and_no_longer(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.verdict().accelerator == TCG
    machine.console = trial.UP
    assert machine.verdict().accelerator == TCG, "the points of a study are of one kind"
    assert machine.trials == 1
    assert not (machine.made.at / trial.STORE).exists()
    monkeypatch.setattr(trial, "_REFUSED", {})  # the next process
    assert machine.verdict().accelerator == KVM
    assert machine.trials == 2


def test_a_trial_that_failed_for_an_older_lab_is_tried_again(machine: Machine) -> None:
    machine.console = trial.UP
    stored = machine.made.at / trial.STORE
    machine.verdict()
    stored.write_text(stored.read_text().replace(f'"{KVM}"', f'"{TCG}"'))
    assert machine.verdict().accelerator == KVM
    assert machine.trials == 2


def test_one_that_says_nothing_is_given_up(machine: Machine) -> None:
    result = machine.verdict()
    assert result.accelerator == TCG
    assert "printed nothing" in result.why


def test_a_verdict_holds_for_one_boot_of_the_machine(machine: Machine) -> None:
    machine.console = trial.UP
    first = machine.verdict()
    assert machine.verdict() == first
    assert machine.trials == 1
    machine.boot.write_text("two")
    machine.verdict()
    assert machine.trials == 2
    (machine.made.at / trial.STORE).write_text("{broken")
    machine.verdict()
    assert machine.trials == 3


def test_without_a_device_nothing_is_tried(machine: Machine) -> None:
    machine.device.unlink()
    assert machine.verdict() == trial.Verdict(TCG, f"{machine.device} is not there")
    assert machine.trials == 0
