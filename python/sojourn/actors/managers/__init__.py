"""Who moves knobs while load runs: `sojourn manage`, by one of its rules.

There is a kind for each controller, so adding one is adding a controller (`sojourn.controllers`).
A level names a rule and, if they differ, its constants: `parties`, `static:idle=1`.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from sojourn import controllers
from sojourn.actors.kind import NamedKind
from sojourn.actors.managers.manager import FILE, Manager, Windows
from sojourn.controllers import ControllerKind
from sojourn.errors import HostFault
from sojourn.host import Facts
from sojourn.host.tree import Tree
from sojourn.kinds import made
from sojourn.knobs import Asked, cpu_idle, groups
from sojourn.services.params import Param

NONE, CPUSET = "none", "cpuset"
#: What the lab gives every manager: a source of windows with a target, and a known peak.
ALWAYS = ("tail", "load")


def of(rule: ControllerKind) -> NamedKind:
    """The kind of a manager with this rule."""
    return NamedKind(
        name=rule.name,
        about=f"sojourn manage with this rule: {rule.about}",
        params=tuple(_param(rule, name) for name in rule.constants),
        needs=tuple(controllers.NEEDS[need][0] for need in rule.needs if need not in ALWAYS),
        source=rule.source,
        check=partial(check, rule),
        build=_builds(rule),
        label=partial(_label, rule),
    )


def check(rule: ControllerKind, facts: Facts) -> None:
    """Refuse a rule where this machine lacks what it needs; nothing is started.

    Raises:
        HostFault: control groups, or something that the rule needs.
    """
    tree = Tree(Path(facts.root))
    asked = Asked(level="", tree=tree)
    if lack := groups.lacking(asked, "cpu"):
        raise HostFault(f"a manager needs {lack.missing}", at=f"manager {rule.name}", fix=lack.fix)
    rule.check(present(tree))


def present(tree: Tree) -> set[str]:
    """What rules may need, and have on this machine with groups that the lab makes."""
    results = {*ALWAYS, "cpu", "quota", "weight", "throttled"}
    if cpu_idle.lacks(Asked(level=cpu_idle.ON, tree=tree)) is None:
        results.add("idle")
    if tree.exists("/proc/self/schedstat"):
        results.add("runq_delay")
    if _have_one_path(tree):
        results.add("cores")
    return results


def _have_one_path(tree: Tree) -> bool:
    """Whether a group of the lab's can have CPUs of its own: both trees name the lab alike."""
    paths = []
    for controller in ("cpu", CPUSET):
        hierarchy = groups.find(tree, controller)
        if hierarchy is None or groups.lacking(Asked(level="", tree=tree), controller):
            return False
        paths.append(posixpath.relpath(hierarchy.folder(tree, os.getpid()), hierarchy.mount))
    return len({*paths}) == 1


def called(text: str) -> str:
    """A level in a few words: `static, idle 1`; "no manager" without one.

    >>> called("static:idle=1,quota=0.5"), called("none")
    ('static, idle 1, quota 0.5', 'no manager')
    """
    name, _, params = text.partition(":")
    if name == NONE:
        return "no manager"
    return ", ".join([name, *filter(None, params.replace("=", " ").split(","))])


def _param(rule: ControllerKind, name: str) -> Param:
    sign, allowed = ("-?", "a number") if rule.is_signed(name) else ("", "a number of 0 or more")
    return Param(
        name=name,
        about="a constant of the rule",
        default=repr(float(rule.constants[name])),
        type=str,
        pattern=sign + r"\d+(\.\d+)?(e-?\d+)?",
        allowed=allowed,
    )


def _builds(rule: ControllerKind) -> Callable[[Mapping[str, str]], Manager]:
    def build(params: Mapping[str, str]) -> Manager:
        inputs = {name: float(value) for name, value in params.items()}
        differ = {name: value for name, value in inputs.items() if value != rule.constants[name]}
        return Manager(rule.name, differ)

    return build


def _label(rule: ControllerKind, params: Mapping[str, str]) -> str:
    del params
    return rule.name


#: Every kind of manager, in reading order.
KINDS: Mapping[str, NamedKind] = made(controllers.KINDS, of)

__all__ = ["FILE", "KINDS", "Manager", "Windows", "called"]
