"""Whether network namespaces can be made here; tried in a thread, with which all of it goes."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading

from sojourn.host.tree import Tree

CLONE_NEWNET = 0x4000_0000  # include/uapi/linux/sched.h
LINKS = ("veth", "bridge")
# From include/uapi/linux: netlink.h, rtnetlink.h, if_link.h.
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
RTM_NEWLINK, IFLA_LINKINFO, IFLA_INFO_KIND = 16, 18, 1
HEAD = struct.Struct("=IHHII")  # length, type, flags, number, port
NO_MESSAGE = bytes(16)  # struct ifinfomsg: any kind of link, any number


def lacking(tree: Tree, capabilities: tuple[str, ...]) -> str:
    """What is missing for a network namespace with links to it; "" if nothing is.

    On a kernel with modules a link is not tried, because that would load its module for good.

    Args:
        tree: the machine, or a fake of it, which is only read.
        capabilities: in effect, by name.
    """
    if not tree.exists("/proc/self/ns/net"):
        return "a kernel with network namespaces (CONFIG_NET_NS)"
    if tree.number("/proc/sys/user/max_net_namespaces") == 0:
        return "network namespaces (user.max_net_namespaces is 0)"
    if not tree.is_live or not {"sys_admin", "net_admin"} <= set(capabilities):
        return ""  # rights are a need of their own
    reports: list[str] = []
    thread = threading.Thread(target=lambda: reports.append(_tried(tree)), name="netns")
    thread.start()
    thread.join()
    return reports[0] if reports else "network namespaces: the trial failed"


def _tried(tree: Tree) -> str:
    """The same, by doing it: from here on, this thread is in a namespace of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        return f"the right to a network namespace ({os.strerror(ctypes.get_errno())})"
    if tree.exists("/proc/modules"):
        return ""
    refused = [kind for kind in LINKS if not _takes(kind)]
    return f"a kernel with {' and '.join(refused)}" if refused else ""


def _takes(kind: str) -> bool:
    """Whether the kernel makes a link of this kind in the thread's namespace."""
    body = NO_MESSAGE + _attribute(
        IFLA_LINKINFO, _attribute(IFLA_INFO_KIND, kind.encode("ascii") + b"\0")
    )
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(HEAD.pack(HEAD.size + len(body), RTM_NEWLINK, flags, 1, 0) + body)
        reply = kernel.recv(4096)
    return int(struct.unpack_from("=i", reply, HEAD.size)[0]) == 0


def _attribute(kind: int, value: bytes) -> bytes:
    """One netlink attribute, filled up to four bytes."""
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
