"""What joins a guest, its storage node and clients: a bridge, or Open vSwitch.

Open vSwitch runs with its datapath in user space, because many kernels lack its module. Its daemons
are the place's own, and its bridge's port goes with them. Segmentation offload must be on
(`userspace-tso-enable`) before the daemon starts: else TCP hangs although ping passes.
"""

from __future__ import annotations

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.places import network, proc
from sojourn.places.ledger import Book, Made, Undone
from sojourn.places.network import Link
from sojourn.places.place import PlaceOption
from sojourn.places.platform.daemons import Daemons

SERVER, SWITCH, CALL, TOOL = "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovsdb-tool"
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
DATAPATH = "ovs-netdev"  # a link that there is once on a machine, and stays after `kill -9`
ENTRY = "datapath"  # kind of entry in the book
MEMORY, PROC = Path("/proc/meminfo"), Path("/proc")
PAGES = re.compile(r"^HugePages_Total:\s+(\d+)", re.MULTILINE)
CALL_S_MAX = 20.0
OVS, DPDK = "ovs", "ovs_dpdk"


class Switch(ABC):
    """One switch, for one life of a service; `bridge` is its port to this machine."""

    def __init__(self, bridge: Link) -> None:
        self.bridge = bridge

    @abstractmethod
    def add(self) -> None:
        """Make the bridge; OSError or HostFault if refused."""

    def remove(self) -> None:
        """Remove it; OSError if refused."""
        network.delete(self.bridge)

    @abstractmethod
    def join(self, port: Link) -> None:
        """Make a link a port of it, and bring that up."""

    @property
    def note(self) -> str:
        """What it is, for people."""
        return "a bridge"


class Bridge(Switch):
    """The kernel's bridge, without a daemon."""

    def add(self) -> None:
        """Make it; OSError if refused."""
        network.add_bridge(self.bridge)

    def join(self, port: Link) -> None:
        """Make a link a port of it, and bring that up."""
        network.join(self.bridge, port)


class OpenVSwitch(Switch):
    """A bridge of Open vSwitch with daemons of its own."""

    def __init__(self, bridge: Link, folder: Path, book: Book) -> None:
        """Nothing is started yet; `folder` is made for its files."""
        super().__init__(bridge)
        where = {name: str(folder) for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR")}
        self._daemons = Daemons("Open vSwitch", folder, book, variables=where)
        self._folder, self._made = folder, Made(book)
        self._socket = f"unix:{folder / 'db.sock'}"

    def add(self) -> None:
        """Start its daemons and make the bridge.

        Raises:
            HostFault, RunFault: they do not start, or another one has the datapath.
        """
        if is_there(DATAPATH):
            raise HostFault(
                "Open vSwitch's datapath in user space is in use already",
                at=f"link {DATAPATH}",
                fix=f'end the other {SWITCH}, or give place = "vm" without ovs',
            )
        self._made.step(ENTRY, {"name": DATAPATH}, self._folder.mkdir, remove_datapath)
        data = self._folder / "conf.db"
        self._daemons.call([_tool(TOOL), "create", data, SCHEMA], CALL_S_MAX)
        remote = f"--remote=punix:{self._folder / 'db.sock'}"
        control = f"--unixctl={self._folder / 'server.ctl'}"
        self._daemons.start(SERVER, [_tool(SERVER), data, remote, control])
        self._daemons.wait((self._folder / "db.sock").exists, CALL_S_MAX)
        self._call("--no-wait", "init")
        offload = "other_config:userspace-tso-enable=true"
        self._call("--no-wait", "set", "Open_vSwitch", ".", offload)
        control = f"--unixctl={self._folder / 'switch.ctl'}"
        self._daemons.start(SWITCH, [_tool(SWITCH), self._socket, control])
        name, mac = self.bridge.name, self.bridge.mac
        form = ("datapath_type=netdev", f'other-config:hwaddr="{mac}"')
        self._call("add-br", name, "--", "set", "bridge", name, *form)
        self._daemons.wait(lambda: network.is_there(self.bridge), CALL_S_MAX)

    def join(self, port: Link) -> None:
        """Make a link a port of it, and bring that up."""
        network.bring_up(port.name)
        self._call("add-port", self.bridge.name, port.name)

    def remove(self) -> None:
        """End the daemons, and remove the links that they leave."""
        self._daemons.stop()
        super().remove()
        self._made.unmake()

    def _call(self, *words: str) -> None:
        limit = f"--timeout={CALL_S_MAX:.0f}"
        self._daemons.call([_tool(CALL), f"--db={self._socket}", limit, *words], CALL_S_MAX + 2)

    @property
    def note(self) -> str:
        """What it is, for people."""
        match = re.search(r"\d+(?:\.\d+)+", programs.says(_tool(SWITCH), "--version"))
        release = match[0] if match else "of unknown release"
        return f"Open vSwitch {release}, datapath in user space with segmentation offload"


def build(options: Collection[str], bridge: Link, folder: Path, book: Book) -> Switch:
    """The switch of a place with these options; its files are below a folder."""
    return OpenVSwitch(bridge, folder / OVS, book) if OVS in options else Bridge(bridge)


def refuse_dpdk() -> HostFault:
    """Why there is no DPDK here."""
    pages = PAGES.search(MEMORY.read_text(encoding="ascii"))
    path = programs.maybe(SWITCH)
    lacks = [
        "" if pages and int(pages[1]) else "hugepages are not reserved",
        "" if path and "DPDK" in programs.says(path, "--version") else f"{SWITCH} is without DPDK",
        "the lab gives no network card to DPDK",
    ]
    return HostFault(
        f"Open vSwitch with DPDK is not available: {', '.join(filter(None, lacks))}",
        at=f"place option {DPDK}",
        fix=f"take the option {OVS}: the same switch, its datapath in user space without DPDK",
    )


def is_there(name: str) -> bool:
    """Whether there is a link of this name."""
    with network.netlink() as route:
        return bool(route.link_lookup(ifname=name))


def remove_datapath() -> None:
    """Remove the link of the datapath, if it is there; OSError if refused."""
    with network.netlink() as route:
        for index in route.link_lookup(ifname=DATAPATH):
            route.link("del", index=index)


def _holds(pid: int) -> bool:
    """Whether a process has the datapath's link of this network namespace open.

    A daemon that was killed may be there as a zombie, and the machine's own Open vSwitch may have
    another datapath: their names alone say nothing.
    """
    with contextlib.suppress(OSError):  # it has just ended
        if (PROC / f"{pid}/ns/net").readlink() == (PROC / "self/ns/net").readlink():
            return any(map(_is_datapath, (PROC / f"{pid}/fdinfo").iterdir()))
    return False


def _is_datapath(file: Path) -> bool:
    with contextlib.suppress(OSError):  # it has just been closed
        return f"iff:\t{DATAPATH}\n" in file.read_text(encoding="utf-8", errors="replace")
    return False


def undo(facts: Mapping[str, Any]) -> Undone | None:
    """Remove the datapath's link that a lab noted, unless another one has it now."""
    if facts["name"] != DATAPATH or not is_there(DATAPATH) or any(map(_holds, proc.pids())):
        return None
    try:
        remove_datapath()
    except OSError as error:
        how = f"cannot be removed: {error.strerror}"
        return Undone(what=f"network link {DATAPATH}", how=how, is_done=False)
    return Undone(what=f"network link {DATAPATH}", how="removed", is_done=True)


def _tool(program: str) -> Path:
    return programs.find(program, fix="apt install openvswitch-switch")


OPTIONS = (
    PlaceOption(
        name=OVS,
        part="link",
        about="behind Open vSwitch with its datapath in user space",
        label="behind Open vSwitch",
        programs=dict.fromkeys((SERVER, SWITCH, CALL, TOOL), "openvswitch-switch"),
    ),
    PlaceOption(
        name=DPDK,
        part="link",
        about="behind Open vSwitch with DPDK, which is refused with what lacks",
        label="behind Open vSwitch with DPDK",
    ),
)
