"""A stressor of stress-ng, in short runs whose bogo operations are counted (P20, PARTS).

    stress:matrixprod
    stress:memrate@500MB/s
    stress:kind=cache,where=free

A rate caps what a stressor asks for, where stress-ng can cap it; its pace alone is the one under
that cap. Stressors that leave files when they are killed are not here: `fio` writes to disks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn import programs
from sojourn.actors.kind import NamedKind, much
from sojourn.actors.neighbours.driven import COMMON, RATE, Driven, Work
from sojourn.actors.neighbours.neighbour import SERVER, where_param
from sojourn.errors import SpecFault
from sojourn.services.params import Param

PROGRAM, FIX = "stress-ng", "apt install stress-ng"
STRESSOR, CAP = "kind", "cap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stressor:
    """One stressor.

    Attributes:
        words: its options; it is the first of them.
        operations: bogo operations of a run, which is to take a tenth of a second or so.
        caps: options that take a rate in MB/s; (): it cannot be capped.
    """

    words: tuple[str, ...]
    operations: int
    caps: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What stress-ng calls it, which its options begin with."""
        return self.words[0].removeprefix("--")


def _cpu(method: str, operations: int) -> Stressor:
    return Stressor(words=("--cpu", "1", "--cpu-method", method), operations=operations)


#: By name, in reading order.
STRESSORS: Mapping[str, Stressor] = {
    "matrixprod": _cpu("matrixprod", 80),
    "int64": _cpu("int64", 200),
    "fft": _cpu("fft", 200),
    "cache": Stressor(words=("--cache", "1"), operations=5),
    "matrix": Stressor(words=("--matrix", "1"), operations=200),
    "memcpy": Stressor(words=("--memcpy", "1"), operations=15),
    "memrate": Stressor(
        words=("--memrate", "1", "--memrate-bytes", "1M"),
        operations=1,
        caps=("--memrate-rd-mbs", "--memrate-wr-mbs"),
    ),
    "stream": Stressor(words=("--stream", "1", "--stream-l3-size", "4M"), operations=2),
    "switch": Stressor(words=("--switch", "1"), operations=20_000),
    "pipe": Stressor(words=("--pipe", "1"), operations=20_000),
}

PARAMS = (
    Param(
        name=STRESSOR,
        about="which stressor",
        default="matrixprod",
        type=str,
        choices=tuple(STRESSORS),
    ),
    Param(
        name=CAP,
        about="limit per second, for stressors that have one",
        default="",
        type=str,
        pattern=f"({RATE})?",
        allowed="a rate such as 500MB/s",
    ),
    where_param(SERVER),
    *COMMON,
)


def mib(cap: str) -> str:
    """A rate in what stress-ng counts: whole MiB a second, of which it wants one at least.

    >>> mib("500MB/s"), mib("1MB/s")
    ('477', '1')
    """
    return str(max(1, round(int(cap.removesuffix("MB/s")) * 1_000_000 / (1 << 20))))


def build(params: Mapping[str, str]) -> Driven:
    """The stressor on each CPU of its place.

    Raises:
        SpecFault: stress-ng has no cap for it.
    """
    name, cap = params[STRESSOR], params[CAP]
    if cap and not STRESSORS[name].caps:
        capped = ", ".join(one for one, stressor in STRESSORS.items() if stressor.caps)
        raise SpecFault(
            f"stress-ng has no cap for {name}",
            at=f"neighbour stress, {CAP} = {cap}",
            fix=f"leave the rate out; {capped} can be capped",
        )
    return Driven(KIND.name, params, lambda: work_of(name, cap), called=f"{PROGRAM} {name}")


def work_of(name: str, cap: str) -> Work:
    """A run of so many operations; HostFault where stress-ng is not installed."""
    stressor = STRESSORS[name]
    path = str(programs.find(PROGRAM, fix=FIX))
    rate = mib(cap) if cap else ""
    caps = [word for option in stressor.caps if cap for word in (option, rate)]
    words = (*stressor.words, *caps, f"--{stressor.name}-ops", str(stressor.operations))
    return Work(
        unit="bogo operations",
        how="command",
        argv=(path, "--metrics", *words),
        reader="stress-ng",
        is_cpu=not cap,
    )


KIND = NamedKind(
    name="stress",
    about="a stressor of stress-ng with counted operations: stress:memrate@500MB/s",
    params=PARAMS,
    needs=(PROGRAM,),
    source="stress-ng (King); P20, M22",
    build=build,
    lead=STRESSOR,
    at=CAP,
    label=lambda params: much(f"{PROGRAM} {params[STRESSOR]}", params[CAP]),
)
