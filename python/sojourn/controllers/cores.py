"""Whole cores: how many each service has, and one more or less for one of them.

Rules that part the machine's cores share this. Cores that no service has are the best-effort
groups'.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.controllers.look import Change, Look, for_all


def of_services(look: Look) -> dict[str, int]:
    """Cores of each service; where nothing was set yet, equal parts of all."""
    services = look.critical
    equal = max(1, look.cpus // max(1, len(services)))
    return {
        name: equal if group.allocation.cores is None else group.allocation.cores
        for name, group in services.items()
    }


def are_parted(look: Look) -> bool:
    """Whether each service has a number of cores of its own."""
    return all(group.allocation.cores is not None for group in look.critical.values())


def give(now: Look, cores: Mapping[str, int], why: str) -> list[Change]:
    """Give each service these cores, and the best-effort groups what is left.

    Nothing where there are fewer CPUs than that: whole cores cannot be parted then.
    """
    if sum(cores.values()) > now.cpus:
        return []
    services = [for_all({n: now.groups[n]}, "cores", level=cores[n], why=why) for n in cores]
    left = now.cpus - sum(cores.values())
    best_effort = for_all(now.best_effort, "cores", level=left, why=why)
    return [*(change for one in services for change in one), *best_effort]


def giver(now: Look, name: str, slack: Mapping[str, float]) -> str:
    """Who gives a core where none is free: the other service with most slack; "": there is none."""
    cores = of_services(now)
    others = [n for n in now.critical if n != name and cores[n] > 1]
    return max(others, key=lambda one: slack[one], default="")


def moved(now: Look, name: str, by: int, why: str, from_whom: str = "") -> list[Change]:
    """One core more or less for a service; nothing where there is none to move."""
    cores = of_services(now)
    free = now.cpus - sum(cores.values())
    if by > 0 and free < 1 and not from_whom:
        return []
    if by < 0 and cores[name] <= 1:
        return []
    if by > 0 and free < 1:
        cores[from_whom] -= 1
    cores[name] += by
    return give(now, cores, why)
