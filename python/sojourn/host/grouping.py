"""How the scheduler groups a task: by its control group, or by its session (autogroup).

Tasks that want one CPU share it group by group before they share it within a group, so how a
service, its client and their neighbours are grouped decides who waits for whom. The kernel goes by
the group of the controller `cpu`; only tasks of the topmost one are grouped by session, where that
is switched on (sched(7)).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sojourn.disk import tables
from sojourn.host.tree import Tree, as_int

ENABLED = "/proc/sys/kernel/sched_autogroup_enabled"
BY_GROUP, BY_SESSION, BY_NOTHING = "control group", "session", "nothing"
SESSION = 3  # field of /proc/PID/stat after the name, from 0 (proc(5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """Of one process.

    Attributes:
        by: what the scheduler groups it by.
        cgroup: its group of the controller `cpu`; "/": the topmost.
        autogroup: its session's group, such as "autogroup-70 nice 0"; "": the kernel has none.
        session: number of the process that opened its session; None: not told.
    """

    by: str
    cgroup: str
    autogroup: str
    session: int | None

    def as_json(self) -> dict[str, Any]:
        """As it is written in a record."""
        return asdict(self)

    @property
    def text(self) -> str:
        """In a few words, for people."""
        named = {BY_GROUP: f"control group {self.cgroup}", BY_SESSION: f"session {self.session}"}
        return named.get(self.by, "no group of its own")


def read(tree: Tree, pid: int | None = None) -> Grouping:
    """Read how a process is grouped; None: this one."""
    at = f"/proc/{pid or 'self'}"
    fields = (tree.text(f"{at}/stat") or "").rpartition(")")[2].split()
    session = as_int(fields[SESSION]) if len(fields) > SESSION else None
    return of(tree, tree.text(f"{at}/cgroup") or "", tree.text(f"{at}/autogroup") or "", session)


def of(tree: Tree, cgroup: str, autogroup: str, session: int | None) -> Grouping:
    """How a process is grouped, by its own /proc/PID/cgroup and /proc/PID/autogroup."""
    group, auto = _group(cgroup), autogroup.strip().lstrip("/")
    is_on = tree.text(ENABLED) == "1" and bool(auto)
    return Grouping(
        by=BY_GROUP if group not in {"/", ""} else BY_SESSION if is_on else BY_NOTHING,
        cgroup=group,
        autogroup=auto,
        session=session,
    )


def _group(text: str) -> str:
    """The group of the controller `cpu`, or the one of version 2."""
    results = {}
    for line in tables.lines(text):
        number, names, path = [*line.split(":", 2), "", ""][:3]
        for name in names.split(",") if number != "0" else [""]:
            results[name] = path
    return results.get("cpu", results.get("", ""))
