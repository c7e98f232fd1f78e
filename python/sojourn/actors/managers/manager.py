"""A manager: once a period it learns what everybody saw, and says which knobs to turn.

The period is a second, by the generator's line: where no one decides, lines come more seldom,
because each wakes the lab, which stops the client on a machine where they share a CPU.
What was decided is in `decisions.json` beside the point.

    windows of client, service, neighbours, probes → decide → changes → knobs
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, TypeAlias

from sojourn import disk
from sojourn.actors.actor import Actor, Role, Stage, Window
from sojourn.knobs import Knob

FILE = "decisions.json"
#: By actor; "client" has the generator's line, summed over all services, "LABEL.client" each one's.
Windows: TypeAlias = Mapping[str, Window]
Changes: TypeAlias = Mapping[str, str]  # knob → level


class Manager(Actor):
    """Decides which knobs are turned while load runs."""

    role = Role.MANAGER
    every_s = 1.0

    def __init__(self) -> None:
        self._stage: Stage | None = None
        self._before: dict[str, str] = {}
        self._texts: list[dict[str, Any]] = []

    @abstractmethod
    def decide(self, windows: Windows, knobs: Mapping[str, Knob]) -> Changes:
        """Which knobs get which level now.

        Args:
            windows: what everybody sees now, by actor.
            knobs: what may be turned, by name.

        Returns:
            Level by knob; empty: nothing changes.
        """

    def enter(self, stage: Stage) -> None:
        """Nothing is turned before the load runs."""
        self._stage = stage

    def period(self, windows: Windows) -> None:
        """Ask it, and do what it says.

        Raises:
            KeyError: it wants to turn a knob that is not there.
        """
        assert self._stage is not None  # noqa: S101  # it has entered
        knobs = self._stage.knobs
        changes = dict(self.decide(windows, knobs))
        for name, level in changes.items():
            self._before.setdefault(name, knobs[name].read())
            knobs[name].apply(level)
        self._texts.append({"windows": dict(windows), "changes": changes})

    def leave(self) -> None:
        """Turn every knob back to where it was, the last first, and keep what was decided."""
        if self._stage is None:
            return
        with ExitStack() as stack:  # one that cannot be turned back keeps no other from it
            for name, level in self._before.items():
                stack.callback(self._stage.knobs[name].apply, level)
        table = {"schema": "sojourn.decisions/1", "manager": self.name, "periods": self._texts}
        disk.keep_json(self._stage.folder / FILE, table, indent=1)

    def saw(self) -> Mapping[str, Any]:
        """How often it was asked, and how often it changed something."""
        changed = sum(bool(period["changes"]) for period in self._texts)
        counts = {"periods": len(self._texts), "changed": changed}
        return {"manager": {"kind": self.name, **counts}}
