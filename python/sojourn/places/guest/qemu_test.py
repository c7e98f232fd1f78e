from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.places.guest import qemu
from sojourn.places.guest.qemu import KVM, TCG, Machine
from sojourn.places.users import User

MACHINE = Machine(
    at=Path("/run/sojourn-0123456789/1"),
    kernel=Path("/k"),
    initrd=Path("/i"),
    accelerator=TCG,
    cpus=2,
    memory_mb=512,
    channel=Path("/run/sojourn-0123456789/1/agent"),
    tap="sojourn-012345t",
    mac="02:00:00:00:00:01",
    user=User("nobody", 65_534, 65_533),
)
PANIC = """\
[    0.5] ACPI: bla
\x1b[31m[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)
[    1.3] Rebooting in -1 seconds..
"""


def words(machine: Machine, monkeypatch: pytest.MonkeyPatch, version: str = "7.2.22") -> str:
    monkeypatch.setattr(programs, "maybe", Path)
    monkeypatch.setattr(programs, "says", lambda *_: f"QEMU emulator version {version} (Debian)")
    return " ".join(map(str, qemu.command(machine)))


def test_a_guest_has_its_cpus_memory_kernel_link_and_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    text = words(MACHINE, monkeypatch)
    for part in (
        "-smp 2 -m 512 -kernel /k -initrd /i",
        "-accel tcg,thread=multi -cpu max",  # a thread for each CPU, so that each can be pinned
        "debug-threads=on",  # else no one can tell which thread that is
        "ifname=sojourn-012345t,script=no,downscript=no",
        "mac=02:00:00:00:00:01",
        "-runas 65534:65533",
        "-no-reboot",  # a guest that panics ends QEMU
        "panic=-1",
    ):
        assert part in text, part


def test_under_kvm_the_cpu_is_the_machines_with_its_defences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = words(replace(MACHINE, accelerator=KVM), monkeypatch)
    assert "-accel kvm -cpu host" in text
    assert "mitigations" not in text
    assert "mitigations=off" in words(MACHINE, monkeypatch)


def test_a_newer_qemu_gets_its_user_in_its_own_option(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-run-with user=65534:65533" in words(MACHINE, monkeypatch, "10.0.2")
    assert "-run" not in words(replace(MACHINE, user=None), monkeypatch)


def test_a_trial_has_neither_link_nor_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    text = words(replace(MACHINE, tap="", channel=None, user=None), monkeypatch)
    assert "virtio" not in text


def test_why_a_kernel_gave_up_is_read_off_its_console(tmp_path: Path) -> None:
    console = tmp_path / qemu.CONSOLE
    assert qemu.panic(console) == qemu.last_words(console) == ""
    console.write_text(PANIC)
    assert qemu.panic(console) == "VFS: Unable to mount root fs on unknown-block(0,0)"
    assert qemu.last_words(console, lines=1) == "[    1.3] Rebooting in -1 seconds.."
    assert "\x1b" not in qemu.last_words(console)


def test_threads_of_a_guests_cpus_are_told_by_name() -> None:
    names = ("qemu-system-x86", "CPU 0/TCG", "CPU 12/KVM", "worker")
    assert [m[1] for name in names if (m := qemu.VCPU.match(name))] == ["0", "12"]
