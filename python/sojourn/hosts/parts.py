"""The job of each client of a cluster: one load split. Pure.

What a job says of CPUs and processes is true of the lab's own host. On another one it would name
strangers, so it is left out there, and the client's CPUs are that host's own: all but the first,
which agent and kernel have, or the only one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sojourn.actors.clients import Job, many, turns
from sojourn.errors import SpecFault
from sojourn.host.tree import cpu_list, cpu_text
from sojourn.hosts.engine import Facts, Node
from sojourn.spec import files

OF_THE_SERVER = ("server_cpus", "server_pid", "instrument_cpus")
LOOPBACK = ("//127.", "//localhost", "@127.", "@localhost", "//[::1]")


def is_same_clock(one: Facts, other: Facts) -> bool:
    """Whether two processes read one monotonic clock: of one boot and one time namespace."""
    return bool(one["boot"]) and (one["boot"], one["time"]) == (other["boot"], other["time"])


def is_same_machine(one: Facts, other: Facts) -> bool:
    """Whether two processes share CPUs, so that the same number means the same CPU."""
    return bool(one["boot"]) and one["boot"] == other["boot"]


def is_reached_over_loopback(one: Facts, own: Facts) -> bool:
    """Whether loopback of an agent is that of the lab."""
    return is_same_machine(one, own) and one["net"] == own["net"]


def check(job: Job, hosts: Sequence[tuple[Node, Facts]], own: Facts) -> None:
    """Refuse what a client on another host cannot do.

    Raises:
        SpecFault: it names a file, a secret, or an address of this host alone.
    """
    away = [node for node, facts in hosts if not is_same_machine(facts, own)]
    named = [key for key, _ in files.named(job)]
    named += [f"auth (variable {name})" for name in files.variables(job)]
    if away and named:
        raise SpecFault(
            f"load.{named[0]} is read on the lab's host, and {away[0].text} is another",
            at="hosts.clients",
            fix="leave it out; only the text of the study itself reaches other hosts",
        )
    target = str(job.get("target", ""))
    apart = [node for node, facts in hosts if not is_reached_over_loopback(facts, own)]
    if apart and any(mark in target for mark in (*LOOPBACK, "unix:")):
        raise SpecFault(
            f"{target} is reached on the lab's host alone, and {apart[0].text} is a client",
            at="hosts.address",
            fix="give the address of this host at which the others reach it",
        )


def jobs(job: Job, hosts: Sequence[Facts], own: Facts, turns_by: str) -> list[Job]:
    """The job of each client, without its start.

    Args:
        job: of the whole load, as it would be offered from the lab's host.
        hosts: facts of each client's agent.
        own: facts of the lab.
        turns_by: name for the key `turns` of those that share a CPU; see `agent`.

    Raises:
        SpecFault: the load cannot be split.
    """
    shared = many.share({k: v for k, v in job.items() if k != "server_pid"}, len(hosts))
    every: list[Job] = [dict(one) for one in shared]
    first_here = True
    for nth, facts in enumerate(hosts):
        if is_same_machine(facts, own):
            pid = {"server_pid": job["server_pid"]} if "server_pid" in job and first_here else {}
            first_here, every[nth] = False, {**every[nth], **pid}
        else:
            every[nth] = {**_without(every[nth], OF_THE_SERVER), "wait": _wait(job)}
    for machine in _machines(hosts):
        pool = _pool(job, hosts[machine[0]], own)
        for place, nth in enumerate(machine):
            cpus = pool[place :: len(machine)] or (pool[place % len(pool)],)
            threads = min(int(every[nth].get("threads", 1)), len(cpus))
            every[nth] = {**every[nth], "cpus": cpu_text(cpus), "threads": threads}
        in_turn = turns.taken([every[nth] for nth in machine], Path(turns_by))
        for nth, one in zip(machine, in_turn, strict=True):
            every[nth] = one
    return every


def _without(job: Job, keys: Iterable[str]) -> dict[str, Any]:
    return {key: value for key, value in job.items() if key not in keys}


def _wait(job: Job) -> str:
    """How a client on another host waits: as the study says; the lab's choice is for its own."""
    return "auto" if str(job.get("wait", "auto")) in turns.SPINS else str(job["wait"])


def _machines(hosts: Sequence[Facts]) -> list[list[int]]:
    """Clients by the machine that they share, in order."""
    result: dict[str, list[int]] = {}
    for nth, facts in enumerate(hosts):
        result.setdefault(machine_of(facts, nth), []).append(nth)
    return list(result.values())


def machine_of(facts: Facts, nth: int) -> str:
    """The machine of a client: its boot, or a name of its own where that is not known."""
    return str(facts["boot"] or f"unknown {nth}")


def _pool(job: Job, facts: Facts, own: Facts) -> tuple[int, ...]:
    """CPUs for all clients of a machine."""
    if is_same_machine(facts, own) and job.get("cpus"):
        return tuple(cpu_list(str(job["cpus"])))
    cpus = tuple(facts["cpus"])
    return cpus[1:] or cpus
