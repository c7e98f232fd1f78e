"""A controller that is ready to decide: a kind, or a foreign program."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Protocol, Self

from sojourn.controllers.kind import ControllerKind, Levels
from sojourn.controllers.look import Decision, History, Knob


class Rule(Protocol):
    """What decides; a context manager, because a program must be ended."""

    @property
    def name(self) -> str:
        """As it is written in the audit log."""

    @property
    def constants(self) -> Mapping[str, float]:
        """Numbers of the rule, by name."""

    @property
    def on_services(self) -> Collection[Knob]:
        """Knobs of services that it may set; of best-effort groups it may set all."""

    def decide(self, history: History) -> Decision:
        """What changes now; a RunFault where a program fails."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class OfKind:
    """One of the lab's own."""

    def __init__(self, kind: ControllerKind, inputs: Mapping[str, float]) -> None:
        self.kind = kind
        self.name = kind.name
        self.constants: Mapping[str, float] = kind.settled(inputs)
        self.on_services: Collection[Knob] = kind.on_services

    def check(self, present: Collection[str], reasons: Mapping[str, tuple[str, str]]) -> None:
        """Refuse it, as the kind does, with what its constants ask for."""
        self.kind.check(present, self.kind.asks(self.constants), reasons)

    @property
    def levels(self) -> Levels:
        """Of best-effort groups, that it may set and that may be refused."""
        return self.kind.levels(self.constants)

    def check_windows(self, every_s: float) -> None:
        """Refuse it where the source has windows each `every_s` that are too long for it."""
        self.kind.check_windows(self.constants, every_s)

    def decide(self, history: History) -> Decision:
        """What the kind decides at this history."""
        return self.kind.decide(history)

    def __enter__(self) -> Self:
        self.kind.prepare()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
