"""A guest as a domain of libvirt, from the same arguments as QEMU's own.

What libvirt has a word for is its own to say: memory, CPUs, kernel. The devices are handed on to
QEMU as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from sojourn.places.guest import qemu
from sojourn.places.guest.qemu import KVM, Machine

SPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
_MODELS = {"host": "host-passthrough", "max": "maximum"}  # QEMU's word for a CPU → libvirt's


def definition(
    machine: Machine,
    *,
    name: str,
    emulator: Path,
    cpus: Sequence[int],
    variables: Mapping[str, str],
) -> str:
    """The domain as XML.

    Args:
        machine: the guest as QEMU is to make it.
        name: of the domain.
        emulator: the program that is QEMU.
        cpus: where its threads may run; none: anywhere.
        variables: of its environment.
    """
    ET.register_namespace("qemu", SPACE)
    is_kvm = machine.accelerator == KVM
    top = ET.Element("domain", type="kvm" if is_kvm else "qemu")
    _add(top, "name", name)
    _add(top, "memory", str(machine.memory_mb), unit="MiB")
    where = {"placement": "static", "cpuset": ",".join(map(str, cpus))} if cpus else {}
    _add(top, "vcpu", str(machine.cpus), **where)
    system = _add(top, "os")
    _add(system, "type", "hvm", arch="x86_64", machine="q35")
    _add(system, "kernel", str(machine.kernel))
    _add(system, "initrd", str(machine.initrd))
    _add(system, "cmdline", qemu.kernel_words(machine.accelerator))
    _add(_add(top, "features"), "acpi")
    _add(top, "cpu", mode=_MODELS[qemu.cpu(machine.accelerator)])
    for event in ("on_poweroff", "on_reboot", "on_crash"):
        _add(top, event, "destroy")
    devices = _add(top, "devices")
    _add(devices, "emulator", str(emulator))
    _add(devices, "controller", type="usb", model="none")
    _add(devices, "memballoon", model="none")
    more = _add(top, f"{{{SPACE}}}commandline")
    for word in qemu.devices(machine):
        _add(more, f"{{{SPACE}}}arg", value=str(word))
    for key, value in variables.items():
        _add(more, f"{{{SPACE}}}env", name=key, value=value)
    return ET.tostring(top, encoding="unicode")


def _add(above: ET.Element, tag: str, text: str = "", **words: str) -> ET.Element:
    result = ET.SubElement(above, tag, words)
    result.text = text or None
    return result
