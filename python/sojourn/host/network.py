"""The network as a request meets it: queues, steering, busy polling, backlogs."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.host.tree import Tree, as_int, mask_is_set

CORE = "/proc/sys/net/core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One network device. `rps`, `xps`: how many of its queues are steered by software."""

    name: str
    rx_queues: int
    tx_queues: int
    rps: int
    xps: int
    mtu: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Devices and the settings that every socket has."""

    devices: tuple[Device, ...]
    busy_poll_us: int | None
    busy_read_us: int | None
    somaxconn: int | None
    netdev_backlog: int | None
    port_first: int | None
    port_last: int | None
    congestion: str


def read(tree: Tree) -> Network:
    """Devices and settings of the network, from the tree's /proc and /sys."""
    ports = (tree.text("/proc/sys/net/ipv4/ip_local_port_range") or "").split()
    return Network(
        devices=tuple(_device(tree, name) for name in tree.names("/sys/class/net")),
        busy_poll_us=tree.number(f"{CORE}/busy_poll"),
        busy_read_us=tree.number(f"{CORE}/busy_read"),
        somaxconn=tree.number(f"{CORE}/somaxconn"),
        netdev_backlog=tree.number(f"{CORE}/netdev_max_backlog"),
        port_first=as_int(ports[0]) if ports else None,
        port_last=as_int(ports[-1]) if ports else None,
        congestion=tree.text("/proc/sys/net/ipv4/tcp_congestion_control") or "",
    )


def _device(tree: Tree, name: str) -> Device:
    base = f"/sys/class/net/{name}"
    queues = tree.names(f"{base}/queues")
    rx = [queue for queue in queues if queue.startswith("rx-")]
    tx = [queue for queue in queues if queue.startswith("tx-")]
    return Device(
        name=name,
        rx_queues=len(rx),
        tx_queues=len(tx),
        rps=sum(mask_is_set(tree.text(f"{base}/queues/{queue}/rps_cpus")) for queue in rx),
        xps=sum(mask_is_set(tree.text(f"{base}/queues/{queue}/xps_cpus")) for queue in tx),
        mtu=tree.number(f"{base}/mtu"),
    )
