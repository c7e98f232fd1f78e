"""What a rule may change: of best-effort groups all, of a service little.

A rule may be a foreign program, which must not be able to stop what it protects. So of a service it
sets only knobs that are its own (`on_services`), and it takes neither the last core nor weight that
the service had before. Levels must be some that the knob has.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from sojourn.controllers.look import Allocation, Change, Knob
from sojourn.controllers.rule import Rule
from sojourn.errors import Exit, HostFault, RunFault
from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import Tree, cpu_list, cpu_text
from sojourn.manage import levels
from sojourn.manage.groups import Managed

ONLINE = f"{CPU_DIR}/online"


def check(change: Change, groups: Mapping[str, Managed], rule: Rule) -> Managed:
    """The group of a change; RunFault where the rule may not make it, or no rule could."""
    at, group = f"controller {rule.name}", groups.get(change.group)
    if group is None:
        raise RunFault(
            f"the controller wants to change {change.group}, which it was not given",
            at=at,
            fix=f"it was given {', '.join(groups)}",
        )
    if not group.is_best_effort and (why := harm(change, group.start, rule.on_services)):
        raise RunFault(
            f"the controller may not set {change.knob} {change.level} of {change.group}: {why}",
            at=at,
            fix="see docs/howto/manage.md, A rule of your own",
        )
    try:
        levels.changed(group.allocation, change.knob, change.level, len(group.cpus))
    except ValueError as error:
        raise refused(change.group, f"{change.knob} {change.level}", str(error)) from None
    return group


def harm(change: Change, start: Allocation, allowed: Collection[Knob]) -> str:
    """What a change would take from a service; "": nothing that the rule may not take.

    Args:
        change: of a service.
        start: what the service had before the manager.
        allowed: knobs of services that the rule may set.
    """
    if change.knob not in allowed:
        return f"of a service it sets {' and '.join(allowed) or 'no knob'}"
    if change.knob == "cores" and change.level == 0:
        return "a service has at least one core"
    level = change.level
    if change.knob == "weight" and isinstance(level, int | float) and level < start.weight:
        return f"the service had {start.weight} before"
    return ""


def cpus(wanted: tuple[int, ...], tree: Tree) -> None:
    """HostFault where a configuration names CPUs that the machine does not have."""
    online = {*cpu_list(tree.text(ONLINE))}
    if online and (lacking := {*wanted} - online):
        raise HostFault(
            f"this machine has no CPU {cpu_text(tuple(sorted(lacking)))}",
            at="cpus",
            fix=f"it has {cpu_text(tuple(sorted(online)))}",
        )


def not_itself(group: Managed) -> None:
    """HostFault where a best-effort group has the manager: its caps would stop it."""
    if group.is_best_effort and os.getpid() in group.pids():
        raise HostFault(
            f"the manager itself is in {group.name}, and would be limited with it",
            at=f"groups.{group.name}",
            fix="start the manager outside of that group, such as by systemd-run, or name another",
        )


class MissedFault(HostFault):
    """A service misses its target alone: no manager can help, and another start would not either.

    The unit is not started again by this exit code (`systemd`).
    """

    exit = Exit.VIOLATED


class RefusedFault(RunFault):
    """A group does not have what it was to have."""


def refused(name: str, what: str, why: str) -> RefusedFault:
    """The fault of a group that does not have what it was to have."""
    return RefusedFault(
        f"{name} cannot be given {what}: {why}",
        at=f"groups.{name}",
        fix="see `sojourn doctor`, and docs/howto/manage.md",
    )
