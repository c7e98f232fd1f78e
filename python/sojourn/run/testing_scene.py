"""A scene of one service that does nothing, and an actor that notes its steps."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sojourn import host
from sojourn.actors import Actor, Role, Stage
from sojourn.errors import RunFault
from sojourn.host import Placement
from sojourn.plan import Phase, Point
from sojourn.plan.setting import Setting
from sojourn.run.journal import Journal
from sojourn.run.scene import Scene
from sojourn.spec import ServiceSpec

CPUS = sorted(os.sched_getaffinity(0))
WHERE = Placement(
    server=(CPUS[-1],), client=(CPUS[0],), housekeeping=(CPUS[0],), client_wait="sleep", shared=()
)
SPEC = ServiceSpec(kind="null", measure=("sweep",))


def point(**levels: str | float) -> Point:
    """A point of the service that does nothing, under these levels."""
    return Point(
        key="k",
        service="null",
        phase=Phase.SWEEP,
        offered_rps=1.0,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
        setting=Setting.of(levels),
    )


@contextmanager
def new_ledger(folder: Path) -> Iterator[Journal]:
    """A journal in which nothing is left at the end."""
    made = Journal.create(folder / "state")
    yield made
    made.close()
    assert not list((folder / "state").iterdir()), "something was left to be undone"  # noqa: S101


def new_scene(at: Path, ledger: Journal) -> Scene:
    """A scene of one service that does nothing."""
    folder = at / "point"
    folder.mkdir()
    live: Any = SimpleNamespace(
        label="null",
        placement=WHERE,
        process=None,
        members=tuple,
        tasks=tuple,
        cpu_ns=lambda: 0,
        workers_cpu_ns=dict,
        knobs={},
    )
    return Scene(
        point=point(),
        spec=SPEC,
        folder=folder,
        placement=WHERE,
        facts=host.read(sample_s=0),
        book=ledger,
        services={"null": live},
    )


class Noted(Actor):
    """Writes down when it enters and leaves, and fails where it is told to."""

    role = Role.PROBE

    def __init__(self, name: str, diary: list[str], fails: str = "") -> None:
        self.name = name
        self._diary = diary
        self._fails = fails

    def _note(self, step: str) -> None:
        self._diary.append(f"{step} {self.name}")
        if self._fails == f"{step} {self.name}":
            raise RunFault(self._fails, at="here", fix="none")

    def enter(self, stage: Stage) -> None:
        """Write it down; the stage knows it already."""
        assert self in stage.entered  # noqa: S101
        self._note("enter")

    def leave(self) -> None:
        """Write down that it leaves, or fail."""
        self._note("leave")

    def saw(self) -> Mapping[str, Any]:
        """What it saw, by its name."""
        return {self.name: "seen"}
