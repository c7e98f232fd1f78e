"""CPUs of a guest on those of its server, and workers on CPUs of the guest."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.places import proc
from sojourn.places.guest import qemu
from sojourn.places.guest.guest import Guest
from sojourn.places.pinning import Pinned, Workers, put


def pin(guest: Guest, pid: int, workers: Workers, cpus: Sequence[int]) -> Pinned:
    """Each CPU of the guest on one of the server's, and inside each worker on one of those.

    Args:
        guest: it has answered.
        pid: of its QEMU.
        workers: of its service.
        cpus: of this machine, for the server.
    """
    tids = qemu.vcpus(proc.tasks(pid))
    pins = put(workers.label, tids, cpus)
    outside = f"{len(pins)} CPUs of the guest, one to a CPU, read back"
    tasks = guest.tasks()
    listed, crew = workers.choose(tasks), workers.crew(tasks)
    if len(listed) < workers.count or not tids:
        report = f"{len(listed)} of {workers.count} workers can be recognised by name"
        return Pinned(pins=pins, text=f"{outside}; inside as the guest schedules: {report}")
    where = [(tid, n % len(tids)) for n, tid in enumerate(listed)]
    done = sum(
        all(guest.pin(each, vcpu) for each in (tid, *crew.get(tid, ()))) for tid, vcpu in where
    )
    inside = f"inside {done} of {len(listed)} workers, one to a CPU of the guest in turn"
    return Pinned(pins=pins, text=f"{outside}; {inside}, read back (L23)")
