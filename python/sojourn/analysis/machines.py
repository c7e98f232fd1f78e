"""What holds for machines like these, of a study on equal servers (M15, M16).

A number of one machine is that machine's. Every block measures all machines, so machine is a factor
with levels that are a sample. It has a component of variance beside that of runs, and the interval
of a mean over machines has both. An effect of another factor is compared with its scatter from
machine to machine, by the log ratio of each machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sojourn import units
from sojourn.analysis import block_values, machine_facts, machine_table
from sojourn.analysis.block_values import Combinations
from sojourn.analysis.combinations import Part
from sojourn.analysis.effect_sentences import LIMIT, PEAK
from sojourn.findings.effects import EqualMachines, Scatter
from sojourn.half_width import normal
from sojourn.host.shared import SERVERS
from sojourn.plan.setting import Level, Setting, level_text
from sojourn.spec import Study
from sojourn.spec.hosts import SERVER
from sojourn.stats import equal_machines
from sojourn.stats.equal_machines import Equal
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import Blocks, Contrast
from sojourn.stats.variance_components import Component
from sojourn.text.numbers import percent
from sojourn.visible import in_line

OPEN = 10.0  # from one end of an interval to the other: then nothing useful is known
_LOG_MAX = 700.0  # e to the power of more is no number
OWN = "the lab's own host"
Show = Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """A quantile of a time: in words, its load as a share of max RPS, and the quantile."""

    what: str
    load: float
    q: float


@dataclass(frozen=True, slots=True)
class _Words:
    """How a value is shown: in digits, with a unit behind, and beside what it is compared with."""

    show: Show
    unit: str = ""
    than: str = ""


def is_alike(study: Study) -> bool:
    """Whether the servers of a study are called equal machines."""
    return study.hosts is not None and study.hosts.alike


def is_spread(service: Combinations) -> bool:
    """Whether a service was measured on several machines that are called equal."""
    study = service.study
    return is_alike(study) and SERVER in study.factors and len(service.levels(SERVER)) > 1


def in_turn(parts: Sequence[Part]) -> list[str]:
    """Services that several machines served in turn under one name, as after a resumed study."""
    every = ((part.title, dict(part.data.setups.get(part.spec.label, ()))) for part in parts)
    return [
        f"{title}: several machines served in turn ({in_line(rows[SERVERS])}), so what differs "
        "between them is in its numbers: measure it anew on one"
        for title, rows in every
        if SERVERS in rows
    ]


def one_machine(study: Study, parts: Sequence[Part]) -> str:
    """That all numbers are one machine's, of a study that names one or asks about equal ones."""
    levels = study.factors.get(SERVER, ())
    if study.hosts is None or len(levels) > 1 or in_turn(parts):
        return ""
    server = str(levels[0]) if levels else study.hosts.server
    if not server and not study.hosts.alike:
        return ""
    text = f"All numbers are of one machine, {server or OWN}"
    if not study.hosts.alike:
        return f"{text}."
    return f"{text}: how much machines like it differ was not measured; vary {SERVER} to know."


def unlike(service: Combinations) -> EqualMachines | None:
    """Why nothing holds for machines like these; None if none is known to differ."""
    if not (reason := machine_facts.unlike(service)):
        return None
    text = f"no number is for machines like these, because {reason}"
    return EqualMachines(what="every number", machines=0, reason=reason, sentence=text)


def numbers(service: Combinations, time: Time | None, coverage: float) -> Iterator[EqualMachines]:
    """What holds for machines like these, where the machine is the only factor.

    Args:
        service: with its machines.
        time: the quantile that is in the words; None: none was measured.
        coverage: of the intervals of how much load fits.
    """
    borders = block_values.borders(service)
    if endless := (borders.fitting | borders.without) - borders.closed.keys():
        names = ", ".join(sorted(str(at[SERVER]) for at in endless))
        yield _unknown(LIMIT, f"it is no number on {names}")
    elif borders.closed:
        yield _of_borders(service, borders.closed, normal(coverage))
    if time is not None:
        values, _ = block_values.times(service, time.load, time.q)
        alone, words = machine_table.alone, _Words(units.show_ns)
        yield _of_table(service, time.what, values, alone, words, time=time)
    if peaks := block_values.peaks(service):
        yield _of_table(service, PEAK, peaks, machine_table.alone, _Words(_rate))


def effects(
    service: Combinations, contrast: Contrast, name: str, time: Time | None
) -> Iterator[EqualMachines]:
    """What two levels of another factor do on machines like these.

    Args:
        service: with its machines.
        contrast: the levels.
        name: of the factor.
        time: the quantile that is in the words; None: none was measured.
    """
    base, level = map(level_text, (contrast.base, contrast.level))
    than = f"with {name} = {level} as with {base}"
    ratio = machine_table.ratio_of(contrast)
    if time is not None:
        values, _ = block_values.times(service, time.load, time.q)
        yield _of_table(service, time.what, values, ratio, _times(f" as long {than}"))
    if peaks := block_values.peaks(service):
        yield _of_table(service, PEAK, peaks, ratio, _times(f" as high {than}"))


def _of_table(
    service: Combinations,
    what: str,
    values: Blocks,
    of: machine_table.Of,
    words: _Words,
    *,
    time: Time | None = None,
) -> EqualMachines:
    """One number of the machines; with a time, also the scatter of its windows."""
    made = machine_table.table(service, values, of)
    if isinstance(made, str):
        return _unknown(f"{what}{words.than}", made)
    within = machine_table.windows(service, made, time.load, time.q) if time else None
    return _known(what, equal_machines.crossed(made.values, within), made.without, words)


def _times(than: str) -> _Words:
    return _Words(_ratio, " times", than)


def _of_borders(
    service: Combinations, borders: Mapping[Setting, tuple[float, Interval]], half: float
) -> EqualMachines:
    """How much load fits: one number a machine, with an interval of its own."""
    has = {at[SERVER] for at in borders}
    equal = equal_machines.of_estimates(
        [math.log(value) for value, _ in borders.values()],
        [math.log(ends.hi / ends.lo) / 2 / half for _, ends in borders.values()],
    )
    without = tuple(one for one in service.levels(SERVER) if one not in has)
    return _known(LIMIT, equal, without, _Words(_rate))


def _unknown(what: str, reason: str) -> EqualMachines:
    text = f"what {what} is on machines like these is unknown: {reason}"
    return EqualMachines(what=what, machines=0, reason=reason, sentence=text)


def _known(
    what: str, equal: Equal | None, without: Sequence[Level], words: _Words
) -> EqualMachines:
    """What is known as a finding, with its sentence."""
    if equal is None:
        return _unknown(what, machine_table.FEW)
    mean, another = _raised(equal.interval), _raised(equal.another)
    is_open = mean.hi > OPEN * mean.lo
    unknown = f"what {what} is on machines like these is hardly known from {_few(equal)}"
    first = unknown if is_open else _mean(what, equal, words)
    parts = [first, _between(equal), *_runs(equal)]
    if without:
        parts.append(f"left out, for too few numbers: {', '.join(map(str, without))}")
    return EqualMachines(
        what=what,
        machines=equal.count,
        blocks=equal.blocks,
        value=None if is_open else math.exp(equal.mean),
        interval=None if is_open else mean,
        another=None if is_open or another.hi > OPEN * another.lo else another,
        between=_scatter(equal.machines, is_known=equal.is_known),
        runs=_scatter(equal.runs),
        starts=_scatter(equal.starts),
        windows=_scatter(equal.windows),
        reason=f"{_few(equal)} leave too much open" if is_open else "",
        sentence="; ".join(parts),
    )


def _mean(what: str, equal: Equal, words: _Words) -> str:
    """`max RPS is 52.1k/s (48k/s to 56k/s) on machines like these (4 measured), …`."""
    another = _raised(equal.another)
    unit, than = words.unit, words.than
    text = (
        f"{what} is {words.show(math.exp(equal.mean))}{unit} "
        f"({_ends(_raised(equal.interval), words.show)}){than} on machines like these "
        f"({equal.count} measured)"
    )
    if another.hi > OPEN * another.lo:
        return text
    return f"{text}, and {_ends(another, words.show)}{unit} on average on one more such machine"


def _between(equal: Equal) -> str:
    """What machines differ by; of two only what they differ by at most."""
    high = equal.machines.interval.hi
    most = f", at most {percent(math.expm1(high), 1)}" if high < math.log(OPEN) else ""
    if not equal.is_known:
        return f"how much such machines differ is hardly known from two{most}"
    if equal.machines.interval.lo <= 0:
        return f"no difference from machine to machine is shown{most}"
    return f"from machine to machine it differs by {_size(equal.machines)}"


def _runs(equal: Equal) -> Iterator[str]:
    """What runs on one machine differ by, and how that divides."""
    if equal.runs is None:
        return
    text = f"from run to run on one machine by {_size(equal.runs)}"
    if equal.starts is not None and equal.windows is not None:
        text += (
            f", of which {_size(equal.starts)} from start to start; "
            f"windows within a run by {_size(equal.windows)}"
        )
    yield text


def _few(equal: Equal) -> str:
    blocks = f" in {equal.blocks} blocks" if equal.blocks else ""
    return f"{equal.count} machines{blocks}"


def _scatter(of: Component | None, *, is_known: bool = True) -> Scatter | None:
    if of is None:
        return None
    ends = Interval(lo=math.expm1(of.interval.lo), hi=math.expm1(of.interval.hi))
    return Scatter(share=math.expm1(of.sigma) if is_known else None, interval=ends)


def _size(of: Component) -> str:
    low, high = (percent(math.expm1(end)) for end in (of.interval.lo, of.interval.hi))
    return f"{percent(math.expm1(of.sigma))} ({low} to {high})"


def _raised(ends: Interval) -> Interval:
    """The ends of logarithms as numbers; beyond what a number can be they are infinite.

    >>> _raised(Interval(lo=0.0, hi=1e9)).hi
    inf
    """
    low, high = (math.exp(end) if end < _LOG_MAX else math.inf for end in (ends.lo, ends.hi))
    return Interval(lo=low, hi=high)


def _ends(ends: Interval, show: Show) -> str:
    return f"{show(ends.lo)} to {show(ends.hi)}"


def _rate(rps: float) -> str:
    return f"{units.show_count(rps)}/s"


def _ratio(value: float) -> str:
    return f"{value:.3g}"
