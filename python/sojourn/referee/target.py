"""The server behind a port, and whether this program may look at it."""

from __future__ import annotations

from sojourn import programs
from sojourn.errors import HostFault, SpecFault
from sojourn.host import rights
from sojourn.host.tree import Tree
from sojourn.host.writable import ON_HOST
from sojourn.places import ports, proc
from sojourn.visible import in_line

TRACER = "sojourn-trace"
AT = "sojourn judge"


def check_rights() -> None:
    """Refuse where nothing can be traced; nothing is started.

    Raises:
        HostFault: the tracer, the right, or the kernel's types are missing.
    """
    programs.find(TRACER, fix="make build says what it needs")
    here = rights.read(Tree())
    if not here.has_btf:
        raise HostFault(
            "the kernel does not describe its types (BTF), which eBPF needs",
            at="/sys/kernel/btf/vmlinux",
            fix="boot a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions build it",
        )
    if lacking := here.lacking_to_trace:
        raise HostFault(
            f"no right to look into the kernel (eBPF): missing {lacking}",
            at=AT,
            fix=ON_HOST
            if here.is_inner or here.is_root
            else 'run it as root: sudo "$(command -v sojourn)" judge …; the load can run as you, '
            "with --pid",
        )


def server(port: int, pid: int = 0) -> int:
    """The first process of the server that listens on a port.

    Args:
        port: of the server.
        pid: the user says that it is this one; 0: it is looked for.

    Raises:
        SpecFault: there is none, or there are several.
        HostFault: someone listens, and no process can be seen.
    """
    if pid:
        if proc.stat(pid) is None:
            raise SpecFault(
                f"there is no process {pid}", at="--server-pid", fix="give the server's process"
            )
        return pid
    inodes = ports.listeners(port)
    if not inodes:
        near = ", ".join(map(str, ports.listening()[:20])) or "none"
        raise SpecFault(
            f"no server listens on TCP port {port} here; ports in use: {near}",
            at="--port",
            fix="start the server first; give --server-pid if it is in a container",
        )
    holders = ports.holders(inodes, proc.pids())
    if not holders:
        raise HostFault(
            f"no process that listens on port {port} can be seen",
            at=f"port {port}",
            fix="run as root, on the host of the container; or give --server-pid",
        )
    return _first(holders, port)


def _first(holders: tuple[int, ...], port: int) -> int:
    """The one from which the others come, such as NGINX's master."""
    stats = {one: proc.stat(one) for one in holders}
    firsts = [one for one, stat in stats.items() if stat and stat.parent not in stats]
    if len(firsts) == 1:
        return firsts[0]
    named = ", ".join(f"{in_line(s.name)} ({one})" for one in firsts if (s := stats[one]))
    raise SpecFault(
        f"several servers listen on port {port}: {named}",
        at="--port",
        fix="name one with --server-pid",
    )
