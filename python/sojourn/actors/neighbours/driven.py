"""A neighbour that `sojourn.drive` drives: what it repeats, how it is held, what refuses it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sojourn import drive
from sojourn.actors.kind import WHERE
from sojourn.actors.neighbours.neighbour import Neighbour
from sojourn.actors.neighbours.ordered import NICE_PARAM, POLICY_PARAM, command
from sojourn.actors.neighbours.ordinary import as_ordinary_user
from sojourn.actors.neighbours.progress import FIRST_S_MAX
from sojourn.host import Facts
from sojourn.services.params import Param

DRIVER = Path(drive.__file__).with_name("__main__.py")
TOLERANCE, ALONE_S = "tolerance", "alone_s"
WRITTEN_BPS_MIN = 10e6  # of a file: a slow disk
SHARE = r"(100|[1-9]\d?(\.\d+)?|0\.\d*[1-9]\d*)%"
RATE = r"\d*[1-9]\d*MB/s"
PERCENT = r"(100|\d{1,2}(\.\d+)?)%"

#: Parameters of all kinds that are driven.
COMMON = (
    NICE_PARAM,
    POLICY_PARAM,
    Param(
        name=TOLERANCE,
        about="largest missing share of its rate, apart from waiting for a CPU",
        default="10%",
        type=str,
        pattern=PERCENT,
        allowed="0% to 100%",
    ),
    Param(
        name=ALONE_S,
        about="length of the measurement of its pace alone, s",
        default="1",
        type=str,
        pattern=r"\d{1,3}(\.\d+)?",
        allowed="0 to 999",
        unit="s",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is repeated, and how it is counted; fields that are not said here as in `drive.job.Job`.

    Attributes:
        footprint_bytes: memory that one takes.
    """

    unit: str
    how: str
    argv: tuple[str, ...]
    host: tuple[str, ...] = ()
    reader: str = ""
    text: str = ""
    text_bytes: int = 0
    file_bytes: int = 0
    folder: str = ""
    seed: int = 1
    is_cpu: bool = True
    per_s: float = 0.0
    footprint_bytes: int = 0

    def having(self, **fields: Any) -> Work:
        """The same with other values."""
        return replace(self, **fields)


class Driven(Neighbour):
    """A driver on each CPU of a place, with its work."""

    def __init__(
        self,
        name: str,
        params: Mapping[str, str],
        work: Callable[[], Work],
        *,
        called: str,
        share: float = 1.0,
        writes_bytes: int = 0,
    ) -> None:
        """Nothing is started yet.

        Args:
            name: of its kind.
            params: all of its kind, as texts; `COMMON` and "where" among them.
            work: what is repeated; HostFault if that cannot be had here.
            called: what it is to people: "xz".
            share: of its pace alone, that it is asked for.
            writes_bytes: size of a file that it writes before it begins.
        """
        super().__init__(
            name,
            params[WHERE],
            self.argv,
            speaks=True,
            counts=True,
            called=called,
            tolerance=share_of(params[TOLERANCE]),
            first_s=FIRST_S_MAX + float(params[ALONE_S]) + writes_bytes / WRITTEN_BPS_MIN,
        )
        self._params, self._work, self._share = params, work, share

    def check(self, facts: Facts) -> None:
        """Refuse what cannot be had here; nothing is left started.

        Raises:
            AbsentFault: it is to have a core for itself, and there is none.
            HostFault: it is not installed; the fault says what installs it.
        """
        super().check(facts)
        self.argv()

    def argv(self) -> tuple[str, ...]:
        """The command of one task."""
        work = self._work()
        self._footprint_bytes = work.footprint_bytes
        job = {key: value for key, value in asdict(work).items() if key not in _OURS}
        job |= {"share": self._share, "alone_s": float(self._params[ALONE_S])}
        words = (sys.executable, "-I", "-S", str(DRIVER), json.dumps(job))
        needs = (DRIVER, *(Path(word) for word in work.argv[:1] if word.startswith("/")))
        return command(self._params, as_ordinary_user(words, needs, work.folder))


_OURS = {"footprint_bytes"}


def share_of(percent: str) -> float:
    """A share that is written as a percentage.

    >>> share_of("12.5%")
    0.125
    """
    return float(percent.removesuffix("%")) / 100
