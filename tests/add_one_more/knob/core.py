"""How large a core dump of a service may get: a limit that ends with the process."""

from __future__ import annotations

import resource

from sojourn.errors import HostFault
from sojourn.knobs.knob import Felt, Knob, KnobKind, Turned


class Core(Knob):
    """The soft limit of the service's first process."""

    by = "prlimit"

    def __init__(self, on: Turned) -> None:
        self._pid = on.leader
        self._was: tuple[int, int] | None = None
        self._level = ""

    def read(self) -> str:
        """The limit in bytes; "-1" is none."""
        return str(resource.prlimit(self._pid, resource.RLIMIT_CORE)[0])

    def apply(self, level: str) -> None:
        """Set it; there is nothing to undo, for it ends with the process."""
        now = resource.prlimit(self._pid, resource.RLIMIT_CORE)
        self._was = self._was or now
        try:
            resource.prlimit(self._pid, resource.RLIMIT_CORE, (int(level), now[1]))
        except (OSError, ValueError) as error:
            raise HostFault(
                f"core dumps cannot be limited to {level} bytes: {error}",
                at=f"process {self._pid}",
                fix="give a level within the hard limit: ulimit -Hc",
            ) from None
        self._level = level

    def verify(self) -> Felt:
        """Whether the limit reads back; it is not measured, for nothing dumps core here."""
        text = self.read()
        return Felt(holds=text == self._level, why=f"the limit reads {text}")

    def restore(self) -> None:
        """Put the limits back that it had."""
        if self._was is not None:
            resource.prlimit(self._pid, resource.RLIMIT_CORE, self._was)
            self._was = None


KIND = KnobKind(
    name="core",
    about="how large a core dump may get",
    level='bytes, such as "0"',
    pattern="[0-9]+",
    source="setrlimit(2)",
    build=Core,
)
