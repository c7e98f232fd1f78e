"""What kind of machine it is: the CPU's name, and the hypervisor that it runs under.

Each architecture has its own words in /proc/cpuinfo, and only x86 has a flag for a hypervisor.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.host.tree import Tree

#: Names of a CPU in /proc/cpuinfo: x86, LoongArch, MIPS, POWER, RISC-V, sparc.
NAMES = ("model name", "Model Name", "cpu model", "cpu", "uarch")
#: Arm: implementer → part → name (Linux, arch/arm64/include/asm/cputype.h).
# fmt: off
ARM = {
    "0x41": (
        "ARM",
        {
            "0xc05": "Cortex-A5", "0xc07": "Cortex-A7", "0xc08": "Cortex-A8",
            "0xc09": "Cortex-A9", "0xc0e": "Cortex-A17", "0xc0f": "Cortex-A15",
            "0xd03": "Cortex-A53", "0xd04": "Cortex-A35", "0xd05": "Cortex-A55",
            "0xd07": "Cortex-A57", "0xd08": "Cortex-A72", "0xd09": "Cortex-A73",
            "0xd0a": "Cortex-A75", "0xd0b": "Cortex-A76", "0xd0c": "Neoverse-N1",
            "0xd0d": "Cortex-A77", "0xd40": "Neoverse-V1", "0xd41": "Cortex-A78",
            "0xd44": "Cortex-X1", "0xd46": "Cortex-A510", "0xd47": "Cortex-A710",
            "0xd48": "Cortex-X2", "0xd49": "Neoverse-N2", "0xd4b": "Cortex-A78C",
            "0xd4d": "Cortex-A715", "0xd4e": "Cortex-X3", "0xd4f": "Neoverse-V2",
            "0xd80": "Cortex-A520", "0xd81": "Cortex-A720", "0xd82": "Cortex-X4",
            "0xd83": "Neoverse-V3AE", "0xd84": "Neoverse-V3", "0xd85": "Cortex-X925",
            "0xd87": "Cortex-A725", "0xd8e": "Neoverse-N3",
        },
    ),
    "0x42": ("Broadcom", {"0x516": "Vulcan"}),
    "0x43": ("Cavium", {"0x0a1": "ThunderX", "0x0af": "ThunderX2"}),
    "0x46": ("Fujitsu", {"0x001": "A64FX"}),
    "0x48": ("HiSilicon", {"0xd01": "TSV110"}),
    "0x4e": ("NVIDIA", {"0x003": "Denver 2", "0x004": "Carmel"}),
    "0x51": ("Qualcomm", {"0x001": "Oryon"}),
    "0x61": ("Apple", {}),
    "0xc0": ("Ampere", {"0xac3": "Ampere-1", "0xac4": "Ampere-1a"}),
}
# fmt: on
#: Makers of virtual machines alone, as the firmware's tables name them: word → name.
MAKERS = {
    "QEMU": "QEMU",
    "KVM": "KVM",
    "VMware": "VMware",
    "innotek": "VirtualBox",
    "VirtualBox": "VirtualBox",
    "Xen": "Xen",
    "Parallels": "Parallels",
    "Bochs": "Bochs",
    "BHYVE": "bhyve",
    "Apple Virtualization": "Apple",
    "OpenStack Nova": "OpenStack",
}
#: Clouds, by product. They rent whole machines too, so on x86 the CPU's flag is heard first.
CLOUDS = {
    "Google Compute Engine": "Google",
    "Alibaba Cloud ECS": "Alibaba Cloud",
    "Droplet": "DigitalOcean",
    "vServer": "Hetzner",
    "SCW-": "Scaleway",
    "Virtual Machine": "Hyper-V",
    "Compute Instance": "Akamai",
}
AMAZON = "Amazon EC2"
DMI = "/sys/class/dmi/id"
CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
BY_CLOCK = {"kvm-clock": "KVM", "hyperv": "Hyper-V", "xen": "Xen"}


def read(tree: Tree) -> str:
    """The CPU's name; "unknown" where no file tells it. Of several kinds of core: all of them."""
    table = tree.table("/proc/cpuinfo")
    parts = (_arm(one) for one in _records(tree) if one.get("CPU part"))
    if results := list(dict.fromkeys(parts)):
        return " + ".join(results)
    if named := next((table[name] for name in NAMES if table.get(name)), ""):
        return named
    if "s390" in table.get("vendor_id", "").lower():
        return " ".join(filter(None, (table["vendor_id"], _machine(table))))
    board = tree.text("/proc/device-tree/model")
    return table.get("Model") or board or table.get("Hardware") or table.get("isa") or "unknown"


def _records(tree: Tree) -> list[dict[str, str]]:
    """The blocks of /proc/cpuinfo, one a CPU."""
    blocks = (tree.text("/proc/cpuinfo") or "").split("\n\n")
    pairs = ([line.partition(":") for line in block.splitlines()] for block in blocks)
    return [{name.strip(): value.strip() for name, _, value in lines} for lines in pairs]


def _arm(one: dict[str, str]) -> str:
    """One core's name, such as `Neoverse-N1`; by numbers where the table has none."""
    maker, parts = ARM.get(one.get("CPU implementer", "").lower(), ("Arm", {}))
    part = one["CPU part"].lower()
    return parts.get(part, f"{maker} part {part}")


def _machine(table: dict[str, str]) -> str:
    """Of s390: the machine's number, from a line such as `… identification = 1, machine = 3906`."""
    for value in table.values():
        words = [word.strip() for word in value.split(",")]
        for word in words:
            if word.startswith("machine ="):
                return word.partition("=")[2].strip()
    return ""


def hypervisor(tree: Tree) -> str:
    """Its name, "unknown" where only its presence is reported, or "" on bare metal."""
    flags = tree.table("/proc/cpuinfo").get("flags", "").split()
    kind = tree.text("/sys/hypervisor/type") or ""
    if "hypervisor" in flags:
        clocks = tree.text(CLOCKS) or ""
        by_clock = next((name for word, name in BY_CLOCK.items() if word in clocks), "unknown")
        return kind or _by_firmware(tree, {**MAKERS, **CLOUDS}) or by_clock
    if flags:  # x86, whose clouds set the flag
        return kind or _by_firmware(tree, MAKERS, is_rented=False)
    return kind or _by_firmware(tree, {**MAKERS, **CLOUDS}) or _by_platform(tree)


def _by_firmware(tree: Tree, makers: Mapping[str, str], *, is_rented: bool = True) -> str:
    """By what the firmware's tables say of who made the machine."""
    files = ("sys_vendor", "product_name", "board_vendor", "bios_vendor")
    says = {file: tree.text(f"{DMI}/{file}") or "" for file in files}
    whole = " ".join(says.values())
    if AMAZON in whole:
        return AMAZON if is_rented and ".metal" not in says["product_name"] else ""
    return next((name for word, name in makers.items() if word in whole), "")


def _by_platform(tree: Tree) -> str:
    """Where there are no such tables: the device tree, s390's own file, or POWER's."""
    compatible = tree.text("/proc/device-tree/hypervisor/compatible") or ""
    if compatible:
        return next((n for w, n in (("kvm", "KVM"), ("xen", "Xen")) if w in compatible), "unknown")
    if tree.exists("/proc/device-tree/fw-cfg") or tree.exists("/sys/firmware/qemu_fw_cfg"):
        return "QEMU"
    board = tree.text("/proc/device-tree/model") or ""
    if "linux,dummy-virt" in board + (tree.text("/proc/device-tree/compatible") or ""):
        return "QEMU"
    return _by_system_z(tree) or _by_power(tree)


def _by_system_z(tree: Tree) -> str:
    """z/VM or KVM of a second level; a logical partition is PR/SM's."""
    table = tree.table("/proc/sysinfo")
    control = table.get("VM00 Control Program", "").split()
    if control:
        return control[0]
    return "PR/SM" if "LPAR Number" in table else ""


def _by_power(tree: Tree) -> str:
    """IBM's PowerVM, or QEMU that plays its part."""
    if tree.exists("/proc/device-tree/ibm,partition-name"):
        return "PowerVM"
    platform = tree.table("/proc/cpuinfo")
    return "QEMU" if "emulated by qemu" in platform.get("machine", "") else ""
