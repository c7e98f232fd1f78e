"""Which neighbour is to blame for a missed target, on which resource, and who is cleared (M22)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sojourn import units
from sojourn.analysis import rerun
from sojourn.analysis.answer_kind import Answer
from sojourn.analysis.counted import Counted, count
from sojourn.analysis.more import BLOCKS_MAX, HALVES
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.state import Settle
from sojourn.plan import make
from sojourn.plan.next import Progress
from sojourn.plan.points import Verdict
from sojourn.questions.blame import asks, files, randomisation
from sojourn.questions.blame.asks import Blame as Asked
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.files import Blamed, Window
from sojourn.questions.blame.plan import LOOK, NAME, PHASE, SPARE, State, states, suspects
from sojourn.questions.blame.plan import blocks as planned_blocks
from sojourn.questions.blame.suspects import (
    GUILTY,
    UNDECIDED,
    by_block,
    judged,
    suspect_row,
    times_of,
)
from sojourn.questions.blame.words import sentence
from sojourn.spec import ServiceSpec

TRACED_MAX = 5  # lines of the tracer


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
        strangers = _strangers(looks)
        section = replace(
            section,
            traced=tuple(_traced(looks)),
            look_why=next(filter(None, map(_look_why, looks)), ""),
            strangers=strangers,
            stranger_pids=tuple(_pids(looks, name) for name in strangers),
        )
        if progress.next is None or data.is_complete:  # else the study's own command goes on
            section = replace(section, settle=_settle(section, data, spec, asked))
        return _with_sentences(section, spec.label, reasons)

    def counted(self, findings: Findings) -> Counted | None:
        """Suspects that are guilty or cleared."""
        blames = _sections(findings)
        rows = [row for one in blames for row in one.rows]
        return count((row.word != UNDECIDED for row in rows), "suspects") if blames else None

    def settle(self, findings: Findings) -> Settle | None:
        """That of the service that takes longest, under each combination of levels."""
        own = [(s.label, one) for s in findings.services if (one := s.section(Blames))]
        each = [(label, one.settle) for label, one in own if one.settle]
        if not each:
            return None
        label, longest = max(each, key=lambda pair: pair[1].seconds)
        alike = sum(other == label for other, _ in own)
        more_s = max(0.0, longest.seconds - findings.wall_s)
        return replace(longest, seconds=longest.seconds + (alike - 1) * more_s)


def _sections(findings: Findings) -> list[Blames]:
    return [section for one in findings.services if (section := one.section(Blames))]


def _before_end(windows: Sequence[Window], number: int) -> list[Window]:
    """Those up to the last in which the suspect lived: gaps of one that works in bursts count."""
    last = {w.block[0]: at for at, w in enumerate(windows) if w.has(number)}
    return [w for at, w in enumerate(windows) if at <= last.get(w.block[0], -1)]


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
    everybody = frozenset(range(len(names)))
    state: State = frozenset()
    asked_of = [(state, frozenset({n})) for n in range(len(names))]
    if len(names) > 1:
        asked_of += [(everybody - {n}, everybody) for n in range(len(names))]
    # Of a suspect that has ended both states are the same, which would clear it.
    living = [_before_end(windows, n) for n in range(len(names))]
    blocks = [by_block(each) for each in living]
    contrasts = randomisation.corrected(
        [
            randomisation.contrast(
                times_of(blocks[number % len(names)], *both), section.q, seed=seed + number
            )
            for number, both in enumerate(asked_of)
        ]
    )
    as_is = [w.sojourn_ns for w in windows if not w.stopped]
    rest = [w.sojourn_ns for w in windows if names and w.stopped == everybody]
    rows = []
    for n, name in enumerate(names):
        alone = contrasts[n + len(names)] if len(names) > 1 else None
        row = judged(name, contrasts[n], alone, matters)
        is_short = row.stop.blocks < randomisation.BLOCKS_MIN and len(living[n]) < len(windows)
        if is_short and row.word == UNDECIDED:
            row = replace(row, doubt=f"it had ended: {row.doubt}")
        both = asked_of[n + len(names) if row.is_hidden else n]
        rate = section.rate_rps
        rows.append(suspect_row(row, n, both, living[n], rate_rps=rate, traces=traces))
    return replace(
        section,
        as_is_ns=randomisation.pooled(as_is, section.q),
        as_is=randomisation.spread(as_is, section.q, seed=seed),
        rest_ns=randomisation.pooled(rest, section.q),
        rest=randomisation.spread(rest, section.q, seed=seed),
        blocks=len(by_block(windows)),
        rows=tuple(rows),
    )


def _valid_windows(measured: Sequence[Measured]) -> list[Blamed]:
    return [one for one in map(files.of, measured) if one is not None]


def _traces(looks: Sequence[Measured]) -> list[Blamed]:
    """The looks that may be used."""
    each = ((files.of(look), look) for look in looks)
    return [one for one, look in each if one and one.trace and not _look_why(look)]


def _look_why(look: Measured) -> str:
    """Why the tracer did not look, or why what it saw is not used; "" if it is."""
    one = files.of(look)
    if one is None or one.why:
        return one.why if one else ""
    if look.outcome.verdict is Verdict.UNKNOWN:
        return next(iter(look.outcome.reasons), "the run is in doubt")
    if one.trace is None or one.trace.blame is None:
        return "it did not say whom the slowest requests waited for" if one.trace else ""
    blame, trust = one.trace.blame, one.trace.verdict
    if trust.verdict is not Verdict.HOLDS and not one.trace.is_only_slowed:
        return next(iter(trust.reasons), "the trace is in doubt")
    if blame.verdict is not Verdict.HOLDS:
        return next(iter(blame.reasons), "its answer is in doubt")
    return ""


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


def _pids(looks: Sequence[Measured], name: str) -> tuple[int, ...]:
    """The processes of a stranger at the last look that has them: others may have ended since."""
    return next((m.culprit_pids[name] for m in reversed(looks) if name in m.culprit_pids), ())


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
    """The study once more with four times the blocks, which halve the intervals.

    Four times as many as were planned, because the same share of them will not be believed. Starts,
    the look and all other services take what they took.
    """
    is_open = any(row.word == UNDECIDED for row in section.rows) or section.misses is None
    if not is_open or not section.rows:
        return None
    planned = planned_blocks(data.study, asked, len(section.rows))
    blocks = min(BLOCKS_MAX, HALVES * planned)
    command = rerun.with_values(data, {f"services.{spec.label}.blame.blocks": blocks})
    if not command or blocks <= planned:
        return None
    windows = (blocks - planned) * data.study.run.repeats * len(states(len(section.rows)))
    now_s = max(data.wall_s, sum(m.outcome.wall_s for m in data.measured))
    return Settle(
        command=command,
        seconds=now_s + SPARE * windows * asked.window_ns / 1e9,
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


KIND = BlameAnswer()
