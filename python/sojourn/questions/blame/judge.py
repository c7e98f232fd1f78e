"""Which neighbour is to blame for a missed target, on which resource, and who is cleared (M22)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sojourn import units
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.section import Section
from sojourn.findings.state import Settle
from sojourn.plan import make
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.questions.blame import asks, files, randomisation
from sojourn.questions.blame.asks import Blame as Asked
from sojourn.questions.blame.files import Blamed, Window
from sojourn.questions.blame.plan import LOOK, NAME, PHASE, State, states, suspects
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.blame.suspects import (
    CLEARED,
    GUILTY,
    UNDECIDED,
    Row,
    by_block,
    judged,
    suspect_row,
    times_of,
)
from sojourn.spec import ServiceSpec
from sojourn.stats.interval import Interval
from sojourn.text.numbers import percentile

TRACED_MAX = 5  # lines of the tracer
MORE = 4  # times as many blocks halve an interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Blames(Section):
    """All suspects of one service.

    Attributes:
        q, bound_ns: the target; rate_rps: the load.
        as_is_ns: the quantile with all suspects running; as_is: its interval over windows.
        rest_ns: the same with all of them stopped; rest: its interval.
        blocks: that the experiment rests on.
        traced: (in words, share of the excess of the slowest, whether a culprit) of the tracer.
        look_why: why the tracer did not look; "" if it did.
        strangers: who else ran for long on the service's CPUs, and was not suspected.
        settle: what would decide what is open; None: nothing is.
    """

    q: float = 0.99
    bound_ns: float = 0.0
    rate_rps: float = 0.0
    as_is_ns: float | None = None
    as_is: Interval | None = None
    rest_ns: float | None = None
    rest: Interval | None = None
    blocks: int = 0
    rows: tuple[Row, ...] = ()
    traced: tuple[tuple[str, float, bool], ...] = ()
    look_why: str = ""
    strangers: tuple[str, ...] = ()
    settle: Settle | None = None

    @property
    def misses(self) -> bool | None:
        """Whether the target is missed as it is; None where that is not sure."""
        if self.as_is is None:
            return None
        if self.as_is.lo > self.bound_ns:
            return True
        return False if self.as_is.hi <= self.bound_ns else None


class BlameAnswer(Answer):
    """A row for each suspect, and what is left when all are stopped."""

    name = NAME
    section = Blames
    methods = (randomisation.METHOD,)

    def answer(
        self, data: StudyData, spec: ServiceSpec, progress: Progress, finding: ServiceFinding
    ) -> Blames | None:
        """All believed points of the experiment together."""
        asked, qos = asks.of(spec), spec.qos
        own = [m for m in data.of(spec.label) if m.outcome.point.phase is PHASE]
        if asked is None or qos is None or not own:
            return None
        names = suspects(data.study, spec)
        bound_ns = float(qos.bound_ns or 0)
        section = Blames(q=qos.q, bound_ns=bound_ns, rate_rps=units.parse_count(asked.rate))
        believed = [m for m in own if m.outcome.verdict is not Verdict.UNKNOWN]
        windows = [w for one in _valid_windows(believed) for w in one.windows]
        reasons = tuple(_reasons(own, progress, bound_ns))
        if not windows:
            text = f"{finding.service}: who is to blame is unknown."
            return replace(
                section,
                headline=text,
                answer=text,
                verdict=Verdict.UNKNOWN,
                reasons=reasons or ("no window of the experiment had requests",),
            )
        looks = [m for m in data.of(spec.label) if m.outcome.point.phase is LOOK]
        seed = make.seed_of(data.study, f"{spec.label}/{NAME}")
        section = _comparisons(
            section, windows, names, matters=asked.matters, traces=_traces(looks), seed=seed
        )
        section = replace(
            section,
            traced=tuple(_traced(looks)),
            look_why=next((one.why for one in _valid_windows(looks) if one.why), ""),
            strangers=_strangers(looks),
        )
        section = replace(section, settle=_settle(section, data, spec, asked))
        return _with_sentences(section, spec.label, reasons)

    def counted(self, findings: Findings) -> Counted | None:
        """Suspects that are guilty or cleared."""
        blames = _sections(findings)
        rows = [row for one in blames for row in one.rows]
        return count((row.word != UNDECIDED for row in rows), "suspects") if blames else None

    def settle(self, findings: Findings) -> Settle | None:
        """That of the service that takes longest."""
        each = [one.settle for one in _sections(findings) if one.settle]
        return max(each, key=lambda one: one.seconds, default=None)


def _sections(findings: Findings) -> list[Blames]:
    return [section for one in findings.services if (section := one.section(Blames))]


def _comparisons(
    section: Blames,
    windows: Sequence[Window],
    names: Sequence[str],
    *,
    matters: float,
    traces: Sequence[Blamed],
    seed: int,
) -> Blames:
    """Every comparison of every suspect, judged together."""
    blocks = by_block(windows)
    everybody = frozenset(range(len(names)))
    state: State = frozenset()
    asked_of = [(state, frozenset({n})) for n in range(len(names))]
    if len(names) > 1:
        asked_of += [(everybody - {n}, everybody) for n in range(len(names))]
    contrasts = randomisation.corrected(
        [
            randomisation.contrast(times_of(blocks, *both), section.q, seed=seed + number)
            for number, both in enumerate(asked_of)
        ]
    )
    as_is = [w.sojourn_ns for w in windows if not w.stopped]
    rest = [w.sojourn_ns for w in windows if names and w.stopped == everybody]
    rows = []
    for n, name in enumerate(names):
        alone = contrasts[n + len(names)] if len(names) > 1 else None
        row = judged(name, contrasts[n], alone, matters)
        both = asked_of[n + len(names) if row.is_hidden else n]
        rate = section.rate_rps
        rows.append(suspect_row(row, n, both, windows, rate_rps=rate, traces=traces))
    return replace(
        section,
        as_is_ns=randomisation.pooled(as_is, section.q),
        as_is=randomisation.spread(as_is, section.q, seed=seed),
        rest_ns=randomisation.pooled(rest, section.q),
        rest=randomisation.spread(rest, section.q, seed=seed),
        blocks=len(blocks),
        rows=tuple(rows),
    )


def _valid_windows(measured: Sequence[Measured]) -> list[Blamed]:
    return [one for one in map(files.of, measured) if one is not None]


def _traces(looks: Sequence[Measured]) -> list[Blamed]:
    return [one for one in _valid_windows(looks) if one.trace and one.trace.blame]


def _traced(looks: Sequence[Measured]) -> Iterator[tuple[str, float, bool]]:
    for one in _traces(looks)[:1]:
        if one.trace and one.trace.blame:
            for suspect in one.trace.blame.suspects[:TRACED_MAX]:
                yield suspect.about, suspect.share, suspect.is_named


def _strangers(looks: Sequence[Measured]) -> tuple[str, ...]:
    """Tasks with long runs on the service's CPUs that belong to no one who was suspected."""
    known = {c for one in _valid_windows(looks) for s in one.file.suspects for c in s.comms}
    seen = (task for m in looks for task in m.culprits)
    return tuple(dict.fromkeys(task for task in seen if task not in known))


def _reasons(measured: Sequence[Measured], progress: Progress, bound_ns: float) -> Iterator[str]:
    if progress.next is not None:
        yield "the study was not finished: run it again, it resumes"
    if not bound_ns:
        yield "the target has no bound of its own: give services.qos.bound"
    for one in _valid_windows(measured):
        if one.file.failed:
            yield f"stopping suspects failed: {one.file.failed}"
    if all(m.outcome.verdict is Verdict.UNKNOWN for m in measured):
        yield from dict.fromkeys(reason for m in measured for reason in m.outcome.reasons)


def _settle(section: Blames, data: StudyData, spec: ServiceSpec, asked: Asked) -> Settle | None:
    """The study once more with four times the blocks, which halve the intervals."""
    is_open = any(row.word == UNDECIDED for row in section.rows) or section.misses is None
    if not is_open or not section.rows:
        return None
    typed = data.command or f"sojourn run {data.study.name} --profile {data.study.run.profile}"
    key = f"services.{spec.label}.blame.blocks"
    before = re.sub(rf" --set {re.escape(key)}=\S+", "", typed)
    blocks = math.ceil(MORE * section.blocks / data.study.run.repeats)
    whole_s = blocks * data.study.run.repeats * len(states(len(section.rows)))
    return Settle(
        command=f"{before} --set {key}={blocks}",
        seconds=whole_s * asked.window_ns / 1e9,
        why="halve the intervals",
    )


def _with_sentences(section: Blames, label: str, reasons: tuple[str, ...]) -> Blames:
    more = list(reasons)
    is_open = [row for row in section.rows if row.word == UNDECIDED]
    guilty = [row for row in section.rows if row.word == GUILTY]
    if section.misses is None:
        more.append("whether the target is missed is not sure: its interval holds the bound")
    more += [f"{row.name} is undecided: {row.doubt or 'too few blocks'}" for row in is_open]
    is_answered = section.misses is False or guilty or not is_open
    verdict = Verdict.VIOLATED if section.misses else Verdict.HOLDS
    if section.misses is None or not is_answered or reasons:
        verdict = Verdict.UNKNOWN
    text = sentence(section, label)
    return replace(
        section,
        headline=text,
        answer=text,
        verdict=verdict,
        reasons=tuple(more) if verdict is not Verdict.HOLDS else reasons,
    )


def sentence(section: Blames, label: str) -> str:
    """Who is to blame, who is cleared, and what is left: numbers with intervals."""
    q, guilty = percentile(section.q), [r for r in section.rows if r.word == GUILTY]
    guilty.sort(key=lambda row: -(row.comparison.ratio or 0.0))
    target = f"{q} ≤ {units.show_ns(section.bound_ns)}"
    verb = {True: "misses", False: "meets", None: "may miss"}[section.misses]
    parts = [f"{label} {verb} {target}"]
    if guilty and section.misses is not False:
        parts[0] += f" because of {_harm(guilty[0], q)}"
        parts += [f"and of {_harm(row, q)}" for row in guilty[1:]]
    else:
        at = f": {q} {_time(section.as_is_ns)}{_span(section.as_is)} as it is"
        parts[0] += at
        parts += [f"made longer by {_harm(row, q)}" for row in guilty]
    for word in (CLEARED, UNDECIDED):
        parts += [f"{r.name} {word} {_ratios(r)}" for r in section.rows if r.word == word]
    text = f"{'; '.join(parts)}."
    if section.misses is not False and section.rows and (section.rest_ns or 0) > section.bound_ns:
        rest = f"{q} {_time(section.rest_ns)}{_span(section.rest)}"
        text += f" With all suspects stopped it is still {rest}: the rest is not theirs."
    if section.strangers and section.misses is not False:
        named = ", ".join(section.strangers[:3])
        text += f" Not suspected, but on its CPUs: {named}."
    return text


def _harm(row: Row, q: str) -> str:
    report = row.comparison
    where = f", on {row.resource}" if row.resource else ", on an unknown resource"
    how = "stopped"
    beside = "with it"
    if row.is_hidden:
        beside, how = "with it alone", "nobody"
        hidden = f"; beside the others {_ratio(row.stop)}"
        return (
            f"{row.name}{where}: {q} {_time(report.with_ns)} {beside} and "
            f"{_time(report.without_ns)} with {how} (ratio {_ratio(report)}{hidden})"
        )
    return (
        f"{row.name}{where}: {q} {_time(report.with_ns)} {beside} and "
        f"{_time(report.without_ns)} with it {how} (ratio {_ratio(report)})"
    )


def _ratios(row: Row) -> str:
    """The ratio of stopping it; where it is not that which leaves it open, also by itself."""
    both = f"({_ratio(row.stop)}"
    if row.word == UNDECIDED and row.alone is not None:
        both += f"; by itself {_ratio(row.alone)}"
    return f"{both})"


def _ratio(contrast: Contrast) -> str:
    if contrast.ratio is None or contrast.interval is None:
        return contrast.refused or "no ratio"
    lo, hi = contrast.interval.lo, contrast.interval.hi
    return f"{_digits(contrast.ratio)}, {_digits(lo)} to {_digits(hi)}"


def _digits(value: float) -> str:
    """Three digits around one, two elsewhere.

    >>> _digits(1.024), _digits(23.4), _digits(0.934)
    ('1.02', '23', '0.93')
    """
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def _time(ns: float | None) -> str:
    if ns is None:
        return "unknown"
    return units.show_ns(ns) if ns != float("inf") else "beyond every request that ended"


def _span(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f" ({units.show_ns(interval.lo)} to {units.show_ns(interval.hi)})"


KIND = BlameAnswer()
