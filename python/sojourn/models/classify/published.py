"""The papers' nine services as data, and how the rules agree with what the paper found of them.

The rules were read from these nine, so agreement shows that they are written down rightly here, and
not that they hold of other services. What says more is what is lost when less can be seen, and what
simpler rules than the paper's would have missed.

Source: Pons et al., FGCS 2022, Table 3 (P16), Table 4 (P17), and the text where a table is silent:
6.1 on which drops of CPU use are sharp, 7.4 on who reads, 5.3 on loads within QoS (P10: the
paper gives specjbb 700 requests/s with one thread in the text and 1500 in its Table 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.models.classify import judge
from sojourn.models.classify.answer import Class, Word
from sojourn.models.classify.evidence import Ends
from sojourn.models.classify.signs import Level, Signs, Trend

L, M, H = Level.LOW, Level.MEDIUM, Level.HIGH
SHARP, FALLS, FLAT, RISES = Trend.SHARP, Trend.FALLS, Trend.FLAT, Trend.RISES
UNKNOWN_LEVEL, UNKNOWN_TREND = Level.UNKNOWN, Trend.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One service of the paper.

    Attributes:
        signs: its row of Table 3; who reads from 7.4.
        scalable, smt: as Table 3 has them: "++", "+", "No".
        group: of Table 4.
    """

    service: str
    signs: Signs
    scalable: str
    smt: str
    group: tuple[str, str]


def _row(service: str, row: tuple[Level, Trend, Trend, Level, Level], *results: str) -> Published:
    cpu, cpu_trend, memory_trend, network, disk = row
    scalable, smt, group, category = results
    signs = Signs(
        cpu=cpu,
        cpu_trend=cpu_trend,
        memory_trend=memory_trend,
        network=network,
        disk=disk,
        is_reader={"read": True, "write": False}.get(category),
    )
    return Published(
        service=service, signs=signs, scalable=scalable, smt=smt, group=(group, category)
    )


TABLE: tuple[Published, ...] = (
    _row("img-dnn", (M, FLAT, RISES, L, L), "++", "+", "CPU", "scalable"),
    _row("masstree", (M, SHARP, FLAT, L, L), "No", "No", "CPU", "non-scalable"),
    _row("moses", (H, RISES, RISES, L, M), "+", "+", "disk", "read"),
    _row("shore", (L, RISES, RISES, L, M), "++", "No", "disk", "write"),
    _row("silo", (L, SHARP, FLAT, L, L), "No", "No", "CPU", "non-scalable"),
    _row("specjbb", (L, SHARP, FLAT, L, L), "No", "No", "CPU", "non-scalable"),
    _row("sphinx", (H, RISES, RISES, L, L), "++", "++", "CPU", "scalable"),
    _row("xapian", (M, FLAT, RISES, L, M), "+++", "++", "disk", "read"),
    _row("media-streaming", (L, FALLS, RISES, H, L), "++", "No", "network", "streaming"),
)

CARRIED = (  # P10, requests/s with 1 and 8 threads; no intervals in the paper
    ("img-dnn", 600.0, 2900.0),
    ("specjbb", 700.0, 1100.0),
    ("specjbb, as Table 2 has it", 1500.0, 1100.0),
)
ST_OVER_SMT = (("sphinx", "2", 1 / 2.0), ("sphinx", "8", 1 / 1.4))  # P10: ST over SMT is 2 and 1.4

#: Our kinds of service → the paper's that they stand for; the others have its names.
STAND_FOR = {"img_dnn": "img-dnn", "ordered_map": "masstree", "media_streaming": "media-streaming"}

Blind = Callable[[Signs], Signs]
SIGHTS: tuple[tuple[str, Blind], ...] = (
    ("all counters", lambda signs: signs),
    ("no memory bandwidth", lambda signs: replace(signs, memory_trend=UNKNOWN_TREND)),
    (
        "no disk, no network",
        lambda signs: replace(signs, disk=UNKNOWN_LEVEL, network=UNKNOWN_LEVEL),
    ),
    (
        "one scenario only",
        lambda signs: replace(signs, cpu_trend=UNKNOWN_TREND, memory_trend=UNKNOWN_TREND),
    ),
)
"""What a host may be able to see, and what is left of a row then."""

Simple = Callable[[Signs], bool]
SIMPLE: tuple[tuple[str, str, Simple], ...] = (
    (judge.SCALABLE, "CPU use does not fall", lambda signs: signs.cpu_trend not in {SHARP, FALLS}),
    (judge.SCALABLE, "memory bandwidth grows", lambda signs: signs.memory_trend is RISES),
    (judge.SMT, "CPU use is not low", lambda signs: signs.cpu is not L),
    (judge.SMT, "memory bandwidth grows", lambda signs: signs.memory_trend is RISES),
)
"""Rules of one sensor: (answer, "yes" where, of a row)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One answer about one service, ours beside the paper's.

    Attributes:
        ours: "yes", "no", "undecided"; of the critical resource its group of Table 4.
        paper: the same.
    """

    service: str
    question: str
    ours: str
    paper: str

    @property
    def is_right(self) -> bool:
        """Whether both say the same."""
        return self.ours == self.paper

    @property
    def is_wrong(self) -> bool:
        """Whether ours is decided, and otherwise."""
        return not self.is_right and self.ours != Word.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """All answers under one sight: what a host can see."""

    sight: str
    classes: tuple[Class, ...]
    rows: tuple[Agreed, ...]

    def counts(self, question: str) -> tuple[int, int, tuple[str, ...]]:
        """Right, undecided, and the services that are wrong."""
        own = [row for row in self.rows if row.question == question]
        right = sum(row.is_right for row in own)
        wrong = tuple(row.service for row in own if row.is_wrong)
        return right, len(own) - right - len(wrong), wrong


def agreement(sight: str, blind: Blind) -> Agreement:
    """Classify the nine by what is left of their rows, beside what the paper found."""
    classes = tuple(judge.judged(row.service, blind(row.signs)) for row in TABLE)
    rows = [
        agreed
        for row, result in zip(TABLE, classes, strict=True)
        for agreed in _beside(row, result)
    ]
    return Agreement(sight=sight, classes=classes, rows=tuple(rows))


def agreements() -> tuple[Agreement, ...]:
    """Under every sight, all counters first."""
    return tuple(agreement(name, blind) for name, blind in SIGHTS)


def beside_ours(kinds: Mapping[str, str], classes: Iterable[Class]) -> tuple[Agreed, ...]:
    """What was found of services here, beside what the paper found of those that they stand for.

    Args:
        kinds: label → kind of service.
        classes: that were found; those of services that stand for none of the paper's are left out.
    """
    table = {row.service: row for row in TABLE}
    results = []
    for one in classes:
        kind = kinds.get(one.service.partition(",")[0], "")
        row = table.get(STAND_FOR.get(kind, kind))
        if row is not None:
            results += [replace(text, service=one.service) for text in _beside(row, one)]
    return tuple(results)


def simple() -> tuple[tuple[str, str, int, tuple[str, ...]], ...]:
    """(question, rule of one sensor, right, services that it misses)."""
    results = []
    for question, rule, holds in SIMPLE:
        others = {row.service: _paper(row, question) == Word.YES for row in TABLE}
        missed = tuple(row.service for row in TABLE if holds(row.signs) != others[row.service])
        results.append((question, rule, len(TABLE) - len(missed), missed))
    return tuple(results)


def by_load() -> tuple[tuple[str, str, Ends, str, str], ...]:
    """(service, question, how many times, ours, the paper's) where its text gives loads."""
    others = {row.service: row for row in TABLE}
    results = []
    for name, one, eight in CARRIED:
        result, ends, _ = judge.threads_help(_plain(eight / one), 8, ("1-ST", "8-ST"), "within QoS")
        paper = _paper(others[name.partition(",")[0]], judge.SCALABLE)
        results.append((name, judge.SCALABLE, ends, result.word, paper))
    for name, threads, retained in ST_OVER_SMT:
        names = (f"{threads}-ST", f"{threads}-SMT")
        result, ends, _ = judge.siblings_cost(_plain(retained), names, "within QoS")
        results.append((name, judge.SMT, ends, result.word, _paper(others[name], judge.SMT)))
    return tuple(results)


def _plain(value: float) -> Ends:
    return Ends(value=value, lo=value, hi=value)


def _beside(row: Published, result: Class) -> Sequence[Agreed]:
    group = Word.UNDECIDED if result.group is None else ", ".join(result.group)
    ours = {judge.SCALABLE: result.scalable.word, judge.SMT: result.smt.word, judge.CRITICAL: group}
    return [
        Agreed(service=row.service, question=name, ours=str(text), paper=_paper(row, name))
        for name, text in ours.items()
    ]


def _paper(row: Published, question: str) -> str:
    if question == judge.CRITICAL:
        return ", ".join(row.group)
    scalable = row.scalable if question == judge.SCALABLE else row.smt
    return str(Word.NO if scalable == "No" else Word.YES)
