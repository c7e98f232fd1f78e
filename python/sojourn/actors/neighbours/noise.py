"""An antagonist of one resource, whose intensity is held and reported: `sojourn-noise` (L6, L18).

    noise:cpu@50%
    noise:kind=llc,intensity=25%,size=16MiB,where=server
    noise:wave                                  6 ms of every 48 ms (L18)
    noise:disk@50MB/s,op=write,folder=/var/tmp

Each task measures what it can do alone when it enters, while the service is not loaded: what it is
asked for is a share of that, and so is what it did (M22). So no point of its own is needed, and a
machine that has become slower since an earlier point is not taken for a loss.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping

from sojourn import programs, units
from sojourn.actors.kind import WHERE, NamedKind, much, spaced
from sojourn.actors.neighbours import on_disk
from sojourn.actors.neighbours.neighbour import SERVER, Neighbour, where_param
from sojourn.actors.neighbours.ordered import (
    NICE,
    NICE_PARAM,
    OTHER,
    POLICY,
    POLICY_PARAM,
    command,
)
from sojourn.errors import HostFault, SpecFault
from sojourn.host import Facts
from sojourn.services.params import Param

PROGRAM = "sojourn-noise"
#: As `sojourn-noise --list` has them; a test holds the two against each other.
# fmt: off
ANTAGONISTS = (
    "cpu", "l1d", "l1i", "l2", "llc", "membw", "memcap", "tlb", "disk", "network", "wakeups",
    "syscalls", "locks", "wave",
)
# fmt: on
LABELS = {
    "cpu": "CPU hog",
    "l1d": "L1 data cache",
    "l1i": "L1 code cache",
    "l2": "L2 cache",
    "llc": "last-level cache",
    "membw": "memory bandwidth",
    "memcap": "memory size",
    "tlb": "TLB",
    "syscalls": "system calls",
    "wakeups": "wake-ups",
}
KIND_OF, INTENSITY, TOLERANCE = "kind", "intensity", "tolerance"
DISK, FOLDER, SIZE, FILE_SIZE = "disk", "folder", "size", "256MiB"
CHECK_S_MAX = 60.0  # of a footprint that is mapped, a file that is written
SHARE = r"(100|\d{1,2}(\.\d+)?)%"
RATE = r"\d+(\.\d+)?(k|M|G|B|kB|KB|KiB|MB|MiB|GB|GiB)?/s"
OTHERS = {
    "size": "footprint, of the file or the memory",
    "busy": "square wave: busy part of a period",
    "period": "square wave: length of a period",
    "access": "disk: sequential or random",
    "op": "disk: read or write",
    "block": "disk: bytes of a block",
    "folder": "disk: where its file lies",
    "direct": "disk: past the page cache, true or false",
    "by": "network: datagram or stream",
    "message": "network: bytes of one write",
    "threads": "locks: number of threads that want the lock",
}


def _text(name: str, about: str) -> Param:
    return Param(name=name, about=f"{about}; default: the antagonist's own", default="", type=str)


PARAMS = (
    Param(name=KIND_OF, about="which antagonist", default="cpu", type=str, choices=ANTAGONISTS),
    Param(
        name=INTENSITY,
        about="share of its pace alone, or a rate",
        default="100%",
        type=str,
        pattern=f"{SHARE}|{RATE}",
        allowed="0% to 100%, or a rate such as 500MB/s or 20k/s",
    ),
    where_param(SERVER),
    NICE_PARAM,
    POLICY_PARAM,
    Param(
        name=TOLERANCE,
        about="largest missing share of it, apart from waiting for a CPU",
        default="10%",
        type=str,
        pattern=SHARE,
        allowed="0% to 100%",
    ),
    *(_text(name, about) for name, about in OTHERS.items()),
)


class Noise(Neighbour):
    """`sojourn-noise` on each CPU of a place."""

    def __init__(self, params: Mapping[str, str]) -> None:
        """`params`: all of `PARAMS`, as texts; nothing is started yet."""
        tolerance = float(params[TOLERANCE].removesuffix("%")) / 100
        super().__init__(
            KIND.name,
            params[WHERE],
            lambda: argv(params),
            speaks=True,
            counts=True,
            called=f"{params[KIND_OF]} at {params[INTENSITY]}",
            tolerance=tolerance,
        )
        self._params = params

    def check(self, facts: Facts) -> None:
        """Refuse what the program refuses: it makes the antagonist once, and throws it away.

        Raises:
            AbsentFault: it is to have a core for itself, and there is none.
            HostFault: the program is missing, or cannot be asked.
            SpecFault: what is asked cannot be had here.
        """
        super().check(facts)
        words = [*argv({**self._params, NICE: "0", POLICY: OTHER}), "--check"]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=CHECK_S_MAX, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise HostFault(
                f"{PROGRAM} cannot be asked: {error}", at=PROGRAM, fix="run `make build`"
            ) from None
        if done.returncode:
            raise _refused(done.stderr)
        self.check_copies(1)

    def check_copies(self, count: int) -> None:
        """Refuse files of a disk's antagonist that the folder cannot take, all together.

        Raises:
            AbsentFault: it is on no disk, or has no room.
        """
        if self._params[KIND_OF] == DISK:
            folder = self._params[FOLDER] or on_disk.usual() or tempfile.gettempdir()
            size = units.parse_bytes(self._params[SIZE] or FILE_SIZE)
            on_disk.check(f"{KIND.name}:{DISK}", folder, size, count)


def _refused(text: str) -> SpecFault:
    """What the program says in three lines: error, at, fix."""
    lines = [line.strip() for line in text.splitlines()]
    parts = {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}
    return SpecFault(
        parts.get("error", text.strip()),
        at=f"neighbour noise, {parts.get('at', '')}",
        fix=parts.get("fix", f"`{PROGRAM} --list` names antagonists and parameters"),
    )


def argv(params: Mapping[str, str]) -> tuple[str, ...]:
    """The command of one task."""
    if params[KIND_OF] == DISK and not params[FOLDER]:
        params = {**params, FOLDER: on_disk.usual()}
    inputs = [f"--param={name}={params[name]}" for name in OTHERS if params[name]]
    program = str(programs.find(PROGRAM, fix="run `make build`"))
    words = (
        program,
        params[KIND_OF],
        f"--intensity={params[INTENSITY]}",
        f"--tolerance={params[TOLERANCE]}",
        *inputs,
    )
    return command(params, words)


def check(facts: Facts) -> None:
    """HostFault where the program is not installed."""
    del facts
    programs.find(PROGRAM, fix="run `make build`")


def label(params: Mapping[str, str]) -> str:
    """`cpu at 75 %`, `square wave of 6 ms in 48 ms`; what is asked for in full has no amount."""
    if params[KIND_OF] == "wave":
        ends = [spaced(params[end]) for end in ("busy", "period") if params[end]]
        return f"square wave of {' in '.join(ends)}" if ends else "square wave"
    return much(LABELS.get(params[KIND_OF], params[KIND_OF]), params[INTENSITY])


KIND = NamedKind(
    name="noise",
    about="an antagonist of one resource with a held intensity: noise:cpu@50%",
    params=PARAMS,
    needs=(PROGRAM,),
    source="iBench (IISWC 2013); L6, L14, L18; M22",
    check=check,
    build=Noise,
    lead=KIND_OF,
    at=INTENSITY,
    label=label,
)
