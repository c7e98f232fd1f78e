"""How much of each resource was used, as findings have it: boxes of samples, at loads."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.host.usage.resource import BYTES, BYTES_PER_S, SHARE
from sojourn.units import show_bytes, show_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box plot after Tukey.

    Attributes:
        n: samples.
        q1, median, q3: quartiles.
        lo, hi: whiskers: the last samples within 1.5 times the box beyond it.
        least, greatest: of all samples.
        outliers: samples beyond the whiskers, ascending; of many the outermost.
    """

    n: int
    least: float
    lo: float
    q1: float
    median: float
    q3: float
    hi: float
    greatest: float
    outliers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One resource at one load.

    Attributes:
        name, title, unit: as `host.usage.RESOURCES` has them.
        capacity: how much of it the service can take here; None: not known.
        is_part: of the one before it.
    """

    name: str
    title: str
    unit: str
    box: Box
    capacity: float | None = None
    is_part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTrend:
    """By how much the service's share of its CPUs grows each second, in the mean of runs.

    Attributes:
        lo, hi: 95 % interval over runs (Student's t); None of a single run.
    """

    per_s: float
    lo: float | None
    hi: float | None
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """All samples of runs on one side of the QoS crossing.

    Attributes:
        what: "holds": the highest load that meets the target; "violated": the first that does not;
            "highest": of a service without a target.
        lo_rps, hi_rps: offered loads of the runs, requests/s.
        fraction: of max RPS, of the load that gives the side its name; None without an axis.
        chance: probability that this load meets the target; None without one.
        runs: how many.
        samples: how many together.
        uses: resources that were counted.
        cpu_trend: of its CPU time within a run; None: not known.
    """

    what: str
    lo_rps: float
    hi_rps: float
    fraction: float | None
    chance: float | None
    runs: int
    samples: int
    uses: tuple[Use, ...]
    cpu_trend: CpuTrend | None = None

    def use(self, name: str) -> Use | None:
        """One resource; None if it was not counted."""
        return next((use for use in self.uses if use.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadUse:
    """All samples at one load of the sweep.

    Attributes:
        uses: (name, n, least, q1, median, q3, greatest) of each resource.
    """

    fraction: float
    offered_rps: float
    runs: int
    uses: tuple[tuple[str, int, float, float, float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUse:
    """What a service uses, at the QoS crossing and at every load (P7, P13).

    Attributes:
        sentence: the same in words; "" if no run has samples in its measured part.
        critical: titles of the resources that are used up at the crossing; () if none can be named.
        sides: of the crossing: the highest load that holds, and the first that does not.
        loads: of the sweep, ascending.
        not_counted: (title, why) of what is not counted here.
        late: samples that came late, of all.
        samples: of all runs.
        events: (what made samples unusable or coarser, how often), the most frequent first.
        probe_share: CPU time of the probe itself, of one CPU: the median run's, and the most.
        is_apart: it never ran on CPUs of a service.
    """

    sentence: str
    critical: tuple[str, ...]
    sides: tuple[Side, ...]
    loads: tuple[LoadUse, ...]
    not_counted: tuple[tuple[str, str], ...]
    late: int
    samples: int
    events: tuple[tuple[str, int], ...]
    probe_share: tuple[float, float] | None
    is_apart: bool


def use_text(use: Use) -> str:
    """Median and the middle half of the samples, in the resource's unit.

    >>> box_of = Box(n=9, least=0.8, lo=0.8, q1=0.85, median=0.87, q3=0.9, hi=1, greatest=1)
    >>> use_text(Use(name="service_cpu_share", title="", unit="share", box=box_of))
    '87 % (85 to 90)'
    """
    own = use.box
    middle, lo, hi = (amount(value, use.unit) for value in (own.median, own.q1, own.q3))
    _, blank, word = middle.partition(" ")
    unit = f"{blank}{word}" or ("/s" if middle.endswith("/s") else "")
    if unit and lo.endswith(unit) and hi.endswith(unit):
        lo, hi = lo.removesuffix(unit), hi.removesuffix(unit)
    return f"{middle} ({lo} to {hi})"


def amount(value: float, unit: str) -> str:
    """A number of a unit as people read it.

    >>> amount(0.871, "share"), amount(0.0123, "s/s"), amount(1234.0, "1/s"), amount(2e6, "bytes/s")
    ('87 %', '12.3 ms/s', '1.23k/s', '2 MB/s')
    """
    if unit == SHARE:
        percent = 100 * value
        return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"
    if unit == "s/s":
        return f"{float(f'{1000 * value:.3g}'):g} ms/s" if value < 1 else f"{value:.3g} s/s"
    if unit == BYTES:
        return show_bytes(value)
    if unit == BYTES_PER_S:
        return f"{show_bytes(value)}/s"
    return f"{show_count(value)}/s"
