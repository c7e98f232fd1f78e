"""Mechanisms that are settings: threads of the service, or files of the kernel.

Each setting is noted with both of its levels and what it was, so that whichever is in force when
the lab is killed is known for the lab's own and put back (`settings.put_back`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from sojourn.knobs import settings
from sojourn.knobs.settings import Setting
from sojourn.questions.isolation_cost.mechanisms.mechanism import Mechanism, MechanismInputs

NAMED_MAX = 3


class Settled(Mechanism):
    """Settings that change between two levels."""

    def __init__(self, inputs: MechanismInputs, levels: tuple[str, str]) -> None:
        self.levels = levels
        self._on = inputs.on
        self._of: tuple[list[Setting], list[Setting]] = ([], [])
        self._calls: tuple[list[Callable[[], None]], list[Callable[[], None]]] = ([], [])
        self._entry = 0

    @abstractmethod
    def current(self, level: str) -> Sequence[Setting]:
        """What a level sets, with what each is now, in an order that both levels have."""

    @abstractmethod
    def call(self, setting: Setting) -> Callable[[], None]:
        """What puts a setting's new level in force: the kernel's call and nothing beside it."""

    @abstractmethod
    def counted(self, count: int) -> str:
        """What one application is, of so many settings."""

    def takes_part(self, both: tuple[Setting, Setting]) -> bool:
        """Whether a setting takes part: its levels differ."""
        return both[0].new != both[1].new

    def prepare(self) -> None:
        """Note both levels of all settings, then set the first."""
        low, high = (self.current(level) for level in self.levels)
        pairs = [pair for pair in zip(low, high, strict=True) if self.takes_part(pair)]
        if not pairs:
            raise OSError(0, "there is nothing that these levels would change")
        self._of = [a for a, _ in pairs], [b for _, b in pairs]
        every = [*self._of[0], *self._of[1]]
        self._entry = settings.note(self._on.book, every, root=str(self._on.tree.root))
        for setting in self._of[0]:
            if why := settings.change(setting, setting.new, self._on.tree):
                raise OSError(0, f"{setting.what}: {why}")
        self._calls = [self.call(s) for s in self._of[0]], [self.call(s) for s in self._of[1]]
        self.one = self.counted(len(pairs))

    def act(self, which: int) -> None:
        """One call for each setting."""
        for call in self._calls[which]:
            call()

    def amiss(self, which: int) -> str:
        """Read every setting back; a thread that is gone is no fault."""
        off = [
            f"{setting.what} is {now}"
            for setting in self._of[which]
            if (now := settings.read(setting, self._on.tree)) not in (None, setting.new)
        ]
        return ", ".join(off[:NAMED_MAX])

    def put_back(self) -> None:
        """Give every setting back what it had, unless somebody else has set it since."""
        if not self._entry:
            return
        every = [*self._of[0], *self._of[1]]
        left = [s for s in reversed(every) if settings.put_back(s, self._on.tree)]
        if not left:
            self._on.book.undone(self._entry)
            self._entry, self._of, self._calls = 0, ([], []), ([], [])
