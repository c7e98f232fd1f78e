"""Who made the slowest requests slow: what the tracer found in each run, put together.

Times are means over the requests of the runs that list a suspect. The tracer leaves out those with
next to no share of the excess, whatever time they take: so shares are over the excess of all runs,
and those that do not list it add nothing. A suspect is named if the tracer's own rule names it in
more than half of the runs that were asked, believed or not: a restart is the unit here (M15), and
what strikes one of them is an event, no cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from sojourn.findings.measured import Measured
from sojourn.plan.points import Verdict
from sojourn.questions.breakdown.findings import Culprits, Suspect
from sojourn.samples.traced import Blame, Folded, SuspectShare
from sojourn.stats.method import Method
from sojourn.stats.pooling import mean
from sojourn.text.numbers import percent, percentile
from sojourn.units import show_ns

METHOD = Method(
    name="culprits",
    about="who or what made the slowest requests slow, by share of their excess over the others",
    ids=("M21", "M15", "L3"),
    source="docs/howto/trace.md, Who is to blame for the tail; the rule is the tracer's",
)
NAMED = 3  # in the sentence
UNNAMED_MIN = 0.1  # share from which on what is not named is reported
LISTED_MIN = 0.005  # of the excess: the tracer lists no less (`crates/trace/src/culprit/result.rs`)
_UNNAMED = "no suspect can be named"


def pooled(measured: Sequence[Measured], blocks: int = 0) -> Culprits | None:
    """The runs of one condition together; None if in none of them anybody was asked for.

    Args:
        measured: those that may be used.
        blocks: in which it was asked, those without a valid run included; they count if they are
            more than the runs.
    """
    asked = [(m.traced.blame, m.stacks) for m in measured if m.traced and m.traced.blame]
    if not asked:
        return None
    count = max(blocks, len(asked))
    sure = [(blame, stacks) for blame, stacks in asked if blame.verdict is Verdict.HOLDS]
    blames = [blame for blame, _ in sure]
    q = asked[0][0].q
    tail_ns = _mean([(b.tail_requests, b.tail_mean_ns) for b in blames])
    body_ns = _mean([(b.body_requests, b.body_mean_ns) for b in blames])
    reasons = tuple(dict.fromkeys(r for blame, _ in asked for r in blame.reasons))
    if tail_ns <= body_ns or not any(map(_weight, blames)):
        why = reasons[0] if reasons and not sure else "they take no longer than the others"
        return _none(q, f"{percentile(q)}: {_UNNAMED}: {why}", reasons)
    culprits = Culprits(
        q=q,
        answer="",
        runs=len(sure),
        requests=sum(b.tail_requests for b in blames),
        others=sum(b.body_requests for b in blames),
        tail_ns=tail_ns,
        body_ns=body_ns,
        suspects=_suspects(blames, count),
        unexplained_share=_of_excess(blames, [b.unexplained_share for b in blames]),
        stacks=_added([stacks for _, stacks in sure]),
        verdict=Verdict.HOLDS,
        reasons=(),
    )
    answer = blames[0].answer if count == 1 else _sentence(culprits, count)
    return replace(culprits, answer=answer)


def _none(q: float, answer: str, reasons: tuple[str, ...]) -> Culprits:
    return Culprits(
        q=q,
        answer=answer,
        runs=0,
        requests=0,
        others=0,
        tail_ns=0.0,
        body_ns=0.0,
        suspects=(),
        unexplained_share=0.0,
        stacks=(),
        verdict=Verdict.UNKNOWN,
        reasons=reasons,
    )


def _suspects(blames: Sequence[Blame], asked: int) -> tuple[Suspect, ...]:
    """Each of them over all runs that are believed, of so many that were asked."""
    by: dict[tuple[str, str], dict[int, SuspectShare]] = defaultdict(dict)
    for run, blame in enumerate(blames):
        for suspect in blame.suspects:
            by[suspect.kind, suspect.about][run] = suspect
    suspects = [_suspect(kind, about, each, blames, asked) for (kind, about), each in by.items()]
    return tuple(sorted(suspects, key=lambda s: -s.share))


def _suspect(
    kind: str,
    about: str,
    each: dict[int, SuspectShare],
    blames: Sequence[Blame],
    asked: int,
) -> Suspect:
    shares = [each[run].share if run in each else 0.0 for run in range(len(blames))]
    named = sum(suspect.is_named for suspect in each.values())
    lows = [suspect.share_low for suspect in each.values()]
    return Suspect(
        kind=kind,
        about=about,
        tail_ns=_mean([(blames[run].tail_requests, s.tail_mean_ns) for run, s in each.items()]),
        body_ns=_mean([(blames[run].body_requests, s.body_mean_ns) for run, s in each.items()]),
        share=_of_excess(blames, shares),
        share_low=min([*lows, 0.0] if len(each) < len(blames) else lows),
        named=named,
        is_named=2 * named > asked,
        tids=tuple(dict.fromkeys(tid for _, one in sorted(each.items()) for tid in one.tids)),
    )


def _weight(blame: Blame) -> float:
    """Excess of all requests of its tail, ns."""
    excess_ns = (blame.tail_mean_ns or 0.0) - (blame.body_mean_ns or 0.0)
    return blame.tail_requests * max(0.0, excess_ns)


def _of_excess(blames: Sequence[Blame], shares: Sequence[float]) -> float:
    """A share of the excess of all runs, from the share in each."""
    weights = [_weight(blame) for blame in blames]
    return sum(w * share for w, share in zip(weights, shares, strict=True)) / sum(weights)


def _added(runs: Sequence[Folded]) -> Folded:
    """Time by stack over all runs: each holds the sums over its requests."""
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for stacks in runs:
        for frames, us in stacks:
            sums[frames] += us
    return tuple(sums.items())


def _sentence(culprits: Culprits, asked: int) -> str:
    """Who, and how much of the excess; in how many of the runs that were asked."""
    head = percentile(culprits.q)
    own = next((s for s in culprits.suspects if s.kind == "stage"), None)
    reports = [f"{percent(own.share)} {own.about}"] if own and own.share >= UNNAMED_MIN else []
    named = [s for s in culprits.suspects if s.is_named][:NAMED]
    if not named:
        longer = show_ns(culprits.tail_ns - culprits.body_ns)
        few = f"more than half of {asked} runs ({culprits.runs} could be asked)"
        runs = few if culprits.runs < asked else f"{asked} runs"
        tasks = [s.share for s in culprits.suspects if s.kind == "task" and s.share >= LISTED_MIN]
        behind = "" if reports else _behind(tasks)
        is_many = bool(behind) and len(tasks) > 1
        who = "no single task can be named" if is_many else "no suspect is to blame"
        of_it = "".join(f", of it {part}" for part in (*reports, behind) if part)
        return f"{head}: {who} in {runs}: these requests take {longer} longer{of_it}"
    first, *others = [(percent(s.share), f"{s.who} (in {s.named} of {asked} runs)") for s in named]
    parts = [f"{first[0]} of the excess is {first[1]}", *map(" ".join, others), *reports]
    return (
        f"{head}: {', '.join(parts)}, {percent(max(0.0, culprits.unexplained_share))} unexplained"
    )


def _behind(shares: Sequence[float]) -> str:
    """Tasks none of which may be named by itself; "" if they made little difference."""
    if sum(shares) < UNNAMED_MIN:
        return ""
    whom = "one task" if len(shares) == 1 else f"{len(shares)} tasks"
    return f"{percent(sum(shares))} run-queue delay behind {whom}"


def _mean(parts: Sequence[tuple[int, float | None]]) -> float:
    """Mean over the requests of all runs; 0 without any."""
    return mean(parts) or 0.0
