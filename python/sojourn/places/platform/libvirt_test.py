"""libvirt with fakes of its programs; a real one is in tests/privileged."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sojourn import places, programs
from sojourn.errors import HostFault, RunFault
from sojourn.install import vm as parts
from sojourn.places import Launch, proc
from sojourn.places.guest import domain
from sojourn.places.guest.qemu import KVM, TCG, Machine, command
from sojourn.places.platform import libvirt
from sojourn.places.platform.libvirt import Libvirt
from sojourn.places.platform.platform_test import Book, fake
from sojourn.places.users import User

NAME = "sojourn-0123456789"
#: libvirtd as a socket in its folder, the sixth word after the namespace's.
DAEMON = 'mkdir -p "$6/run/qemu"; : > "$6/libvirt-sock"; exec sleep 600'
#: A guest that sleeps; it writes its number itself, because one that still execs has no arguments.
SLEEPER = """
import os, sys, time
os.setsid()
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(600)
"""
GUEST = f"{sys.executable} -S -c {shlex.quote(SLEEPER)}"
#: virsh as that guest: what is created leaves its number where libvirt does.
CALL = f"""
at=${{3#*socket=}}; at=${{at%/*}}
case ${{4:-$1}} in
    --version) echo 9.0.0 ;;
    create)
        env > "$at/environment"
        file="$at/run/qemu/sojourn-0123456789-1.pid"
        rm -f "$file"
        {GUEST} "$file" guest=sojourn-0123456789-1,debug-threads=on > /dev/null 2>&1 &
        until [ -s "$file" ]; do sleep 0.01; done ;;
    destroy) kill -9 "$(cat "$at/run/qemu/$5.pid")" ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(
        at=tmp_path / "vm" / "1",
        kernel=tmp_path / "kernel & co",
        initrd=tmp_path / "initrd",
        accelerator=TCG,
        cpus=2,
        memory_mb=320,
        channel=tmp_path / "agent",
        tap="sojourn-t",
        mac="02:00:00:00:00:01",
        user=User("nobody", 65534, 65534),
    )


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for fakes of programs; others are not found."""
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o755)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(programs, "places", lambda: (folder,))
    for name in (libvirt.DAEMON, libvirt.WITNESS, parts.QEMU, "setsid"):
        fake(folder, name)
    fake(folder, "unshare", DAEMON)
    fake(folder, libvirt.CALL, CALL)
    return folder


def test_a_domain_has_the_devices_of_the_lab_and_what_libvirt_has_a_word_for(
    machine: Machine,
) -> None:
    text = domain.definition(
        machine, name=NAME, emulator=Path("/q"), cpus=(3, 1), variables={"LOG": "/a"}
    )
    top = ET.fromstring(text)  # noqa: S314  # the lab's own
    space = f"{{{domain.SPACE}}}"
    assert top.get("type") == "qemu"
    assert top.findtext("memory") == "320"
    vcpu, cpu = top.find("vcpu"), top.find("cpu")
    assert vcpu is not None
    assert (vcpu.text, vcpu.get("cpuset")) == ("2", "3,1")
    assert top.findtext("os/kernel") == str(machine.kernel)
    assert cpu is not None
    assert cpu.get("mode") == "maximum"
    words = [one.get("value") for one in top.iter(f"{space}arg")]
    plain = [str(word) for word in command(machine)]
    assert words == plain[-len(words) :], "QEMU's own arguments, from the console on"
    assert "virtio-net-pci,netdev=net,mac=02:00:00:00:00:01,romfile=" in words
    assert "65534:65534" in words
    assert [one.attrib for one in top.iter(f"{space}env")] == [{"name": "LOG", "value": "/a"}]
    on_kvm = domain.definition(
        replace(machine, accelerator=KVM), name=NAME, emulator=Path("/q"), cpus=(), variables={}
    )
    top = ET.fromstring(on_kvm)  # noqa: S314  # the lab's own
    assert top.get("type") == "kvm"
    assert [one.get("mode") for one in top.iter("cpu")] == ["host-passthrough"]
    assert [one.get("cpuset") for one in top.iter("vcpu")] == [None]


def test_a_guest_is_created_seen_and_destroyed(
    tools: Path, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBVIRT_DEFAULT_URI", "qemu+ssh://elsewhere/system")
    monkeypatch.setenv("LIBVIRT_LOG_OUTPUTS", "1:file:/tmp/log")
    machine.at.mkdir(parents=True)
    steps: list[str] = []
    book = Book(steps)
    under = Libvirt(NAME, tmp_path / "vm", book)
    under.enter()
    try:
        assert under.note == "libvirt 9.0.0"
        launch = Launch("web", ["x"], cwd=tmp_path, ledger=book, log=tmp_path / "log", cpus=(0,))
        guest = under.start(machine, launch)
        assert guest.poll() is None
        assert proc.stat(guest.pid) is not None
        assert "note process web" in steps
        assert f'name="{libvirt.LOG}" value="/proc/' in (machine.at / "domain.xml").read_text()
        ended = guest.stop()
        assert ended.message == "was ended by libvirt"
        assert guest.stop() == ended
        seen = (tmp_path / "vm/libvirt/environment").read_text()
        assert "LIBVIRT_" not in seen
        assert "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent" in seen, "no systemd-machined"
        assert f"destroy {NAME}-1" in (tmp_path / "asked").read_text()
        guest = under.start(replace(machine), replace_name(under, launch))
        guest.send(signal.SIGKILL)
        lost = guest.poll(20.0)
        assert lost is not None
        assert lost.text == "has ended by itself"
    finally:
        under.leave()
    assert not book.open


def replace_name(under: Libvirt, launch: Launch) -> Launch:
    """The same launch once more; the fake knows one name."""
    under._count = 0
    return launch


def test_what_lacks_is_named_with_its_package(tools: Path, tmp_path: Path) -> None:
    for program, package in libvirt.PACKAGES.items():
        script = (tools / program).read_text()
        (tools / program).unlink()
        with pytest.raises(HostFault) as caught:
            Libvirt(NAME, tmp_path / "vm", Book([])).enter()
        assert caught.value.what == f"program {program} is not installed"
        assert caught.value.fix == f"apt install {package}"
        assert not (tmp_path / "vm").exists()
        (tools / program).write_text(script)
        (tools / program).chmod(0o755)
    (option,) = places.options("vm:libvirt")
    assert option.programs == libvirt.PACKAGES


def test_a_file_of_libvirt_that_cannot_be_made_is_named_as_one(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm" / libvirt.NAME).write_text("in the way")
    under = Libvirt(NAME, tmp_path / "vm", Book([]))
    with pytest.raises(HostFault) as caught:
        under.enter()
    assert caught.value.what.startswith("libvirt: a file cannot be made or read: ")
    assert caught.value.at.startswith(str(tmp_path / "vm" / libvirt.NAME))
    assert "has room" in caught.value.fix
    under.leave()


def test_a_domain_that_libvirt_refuses_is_reported_in_its_words(
    tools: Path, tmp_path: Path, machine: Machine
) -> None:
    machine.at.mkdir(parents=True)
    fake(tools, libvirt.CALL, "echo 'error: unsupported configuration: cpu' >&2; exit 1")
    book = Book([])
    under = Libvirt(NAME, tmp_path / "vm", book)
    under.enter()
    launch = Launch("web", ["x"], cwd=tmp_path, ledger=book, log=tmp_path / "log")
    with pytest.raises(HostFault) as caught:
        under.start(machine, launch)
    assert "virsh failed (exit 1)" in caught.value.what
    assert "unsupported configuration" in caught.value.at
    under.leave()
    assert not book.open


@pytest.mark.parametrize("number", ["", "4194305", "own"])
def test_a_domain_that_has_ended_as_it_was_created_is_a_fault_and_no_other_process_is_taken(
    number: str, tools: Path, tmp_path: Path, machine: Machine
) -> None:
    number = number.replace("own", str(os.getpid()))
    machine.at.mkdir(parents=True)
    at = tmp_path / "vm/libvirt/run/qemu"
    fake(tools, libvirt.CALL, f"[ -z '{number}' ] || echo {number} > {at}/{NAME}-1.pid")
    steps: list[str] = []
    book = Book(steps)
    under = Libvirt(NAME, tmp_path / "vm", book)
    under.enter()
    launch = Launch("web", ["x"], cwd=tmp_path, ledger=book, log=tmp_path / "log")
    try:
        with pytest.raises(RunFault, match="QEMU ended as it was started"):
            under.start(machine, launch)
    finally:
        under.leave()
    assert "note process web" not in steps


def test_a_guest_is_ended_where_libvirtd_is_gone(
    tools: Path, tmp_path: Path, machine: Machine
) -> None:
    machine.at.mkdir(parents=True)
    book = Book([])
    under = Libvirt(NAME, tmp_path / "vm", book)
    under.enter()
    launch = Launch("web", ["x"], cwd=tmp_path, ledger=book, log=tmp_path / "log")
    guest = under.start(machine, launch)
    (daemon, _), *_ = under._daemons._running
    os.kill(daemon.pid, signal.SIGKILL)
    fake(tools, libvirt.CALL, "echo 'error: failed to connect' >&2; exit 1")
    assert guest.stop().is_clean
    under.leave()
    left = proc.stat(guest.pid)
    assert left is None or left.state == "Z"  # a fake's parent does not reap it
    assert not book.open


def test_a_cache_into_which_others_may_write_is_not_used(tools: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.chmod(0o777)
    under = Libvirt(NAME, tmp_path / "vm", Book([]))
    under.enter()
    under.leave()
    assert not any(cache.iterdir())
    assert under._emulator.is_relative_to(tmp_path / "vm")


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
def test_a_folder_that_lacks_one_for_libvirt_has_all_that_it_had(tmp_path: Path) -> None:
    at, cache = tmp_path / "at", tmp_path / "cache"
    at.mkdir()
    cache.mkdir()
    for name in ("passwd", "group"):
        (at / name).write_text(f"{name} of libvirt\n")
    made = (
        "mount -t tmpfs none /var/log; cd /var/log; : > .dot; : > plain; mkdir one; ln -s one two"
    )
    seen = "ls -A /var/log; cat /etc/passwd; : > /var/log/libvirt/own"
    script = f"{made}; exec sh {libvirt.SCRIPT} {at} {cache} sh -c '{seen}'"
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    words = done.stdout.split()
    assert words == [".dot", "libvirt", "one", "plain", "two", "passwd", "of", "libvirt"]
    assert (at / "log/own").exists()
    assert not (at / "passwd").read_text().startswith("root")


def test_the_script_that_is_qemu_is_written_once_for_each_qemu(tools: Path, tmp_path: Path) -> None:
    program = tools / parts.QEMU
    program.write_text('#!/bin/sh\necho "$0 $*"\n')
    one = libvirt.emulator(tmp_path, program)
    stamp, its = one.stat(), program.stat()
    assert libvirt.emulator(tmp_path, program) == one
    assert one.stat().st_ctime_ns == stamp.st_ctime_ns, "libvirt goes by its time of change"
    program.write_text("#!/bin/sh\n# another release\n")
    other = libvirt.emulator(tmp_path, program)
    assert other != one
    text = other.read_text()
    assert program.stat().st_size in map(int, re.findall(r"# (\d+) bytes", text))
    assert shlex.split(text.splitlines()[-1])[:3] == ["exec", str(tools / "setsid"), str(program)]
    one.write_text("echo evil")
    program.write_text('#!/bin/sh\necho "$0 $*"\n')
    os.utime(program, ns=(its.st_atime_ns, its.st_mtime_ns))
    assert libvirt.emulator(tmp_path, program) == one
    assert "evil" not in one.read_text()
    odd = tmp_path / "$(reboot) 'of mine'\nreboot"
    odd.write_text("")
    text = libvirt.emulator(tmp_path, odd).read_text()
    assert shlex.split(text.partition("exec ")[2].partition("exec ")[2]) == [
        str(tools / "setsid"),
        str(odd),
        "$@",
    ]
