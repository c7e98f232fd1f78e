"""Scenarios of a service → its class: what it carried where that was measured, else the rules."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.host.usage.resource import BY_NAME
from sojourn.models.classify import evidence, rules, signs
from sojourn.models.classify.answer import MEASURED, Answer, Class, Route, Seen, Word
from sojourn.models.classify.evidence import Ends
from sojourn.models.classify.scenario import SEEN, Scenario, ends, pair
from sojourn.models.classify.signs import MORE, NO_MORE, Signs

KEEPS = 0.9  # of the load: who loses less on shared cores is not sensitive; ours
SCALABLE, SMT, CRITICAL = "scalable", "SMT-sensitive", "critical resource"


def classify(service: str, scenarios: Sequence[Scenario]) -> Class:
    """What kind of service it is.

    Args:
        service: how people call it.
        scenarios: that were measured, at least one.

    Raises:
        ValueError: there is none.
    """
    first, last = ends(scenarios)
    if first is None:
        raise ValueError("no scenario was measured")
    report = signs.of(first, last)
    return judged(
        service,
        report,
        scales=_grown(first, last) if last else None,
        keeps=_valid_number(scenarios),
        unseen=_unseen(scenarios),
        scenarios=tuple(
            Seen(
                name=one.name,
                load_rps=one.load_rps,
                where=one.where,
                nearness=one.nearness,
                runs=one.runs,
                samples=one.samples,
            )
            for one in sorted(scenarios, key=lambda one: (one.threads, one.is_packed))
        ),
    )


Number = tuple[Route, Ends, str]


def judged(
    service: str,
    report: Signs,
    *,
    scales: Number | None = None,
    keeps: Number | None = None,
    unseen: tuple[tuple[str, str], ...] = (),
    scenarios: tuple[Seen, ...] = (),
) -> Class:
    """The class that follows from signs, and from what was carried where that is known.

    Args:
        service: how people call it.
        report: levels and trends.
        scales: what was carried says of more threads, with its number.
        keeps: what it says of shared cores.
        unseen: resources that could not be seen, and why.
        scenarios: that were looked at.
    """
    scalable = _answer(SCALABLE, rules.scalable(report), scales)
    smt = _answer(SMT, rules.smt_sensitive(report, scalable.word), keeps)
    critical = _answer(CRITICAL, rules.critical(report, scalable.word), None)
    return Class(
        service=service,
        scalable=scalable,
        smt=smt,
        critical=critical,
        group=rules.GROUPS.get(critical.word),
        readings=report.readings,
        unseen=unseen,
        scenarios=scenarios,
        actions=rules.actions(scalable.word, smt.word, critical.word, report),
    )


def _answer(question: str, inferred: Route, measured: Number | None) -> Answer:
    """What was measured has the last word where it decides."""
    if measured is None:
        return Answer(question=question, word=inferred.word, why=inferred.why, by=inferred.by)
    result, number, what = measured
    lead, other = (result, inferred) if result.word != Word.UNDECIDED else (inferred, result)
    return Answer(
        question=question,
        word=lead.word,
        why=lead.why,
        by=lead.by,
        number=number,
        number_is=what,
        others=(other,),
    )


def threads_help(result: Ends, threads: float, names: tuple[str, str], what: str) -> Number:
    """Whether threads help, by how many times as much was carried (P10).

    Args:
        result: that many times.
        threads: how many times as many threads.
        names: of the scenarios, the one with fewer threads first.
        what: that was carried.
    """
    power = evidence.exponent(result, threads)
    word, why = Word.UNDECIDED, "the interval is too wide, or between the two"
    if power and power.is_above(MORE):
        word, why = Word.YES, f"it carries more than √{threads:g} times as much"
    elif power and power.is_below(NO_MORE):
        word, why = Word.NO, f"it carries less than {threads**NO_MORE:.3g} times as much"
    text = f"load {what}, {names[1]} over {names[0]}"
    return Route(word=word, why=why, by=MEASURED), result, text


def siblings_cost(result: Ends, names: tuple[str, str], what: str) -> Number:
    """Whether sharing cores costs load.

    Args:
        result: what it carries on shared cores, over that on cores of its own.
        names: of the scenarios, the one on cores of its own first.
        what: that was carried.
    """
    word, why = Word.UNDECIDED, "the interval reaches over 90 %"
    if result.is_above(KEEPS):
        word, why = Word.NO, "on shared cores it keeps more than 90 % of its load"
    elif result.is_below(KEEPS):
        word, why = Word.YES, "on shared cores it loses more than 10 % of its load"
    text = f"load {what}, {names[1]} over {names[0]}"
    return Route(word=word, why=why, by=MEASURED), result, text


def _grown(first: Scenario, last: Scenario) -> Number | None:
    result = evidence.times(first.carried, last.carried)
    if result is None or first.carried is None:
        return None
    return threads_help(
        result, last.threads / first.threads, (first.name, last.name), first.carried.what
    )


def _valid_number(scenarios: Sequence[Scenario]) -> Number | None:
    both = pair(scenarios)
    if both is None:
        return None
    apart, packed = both
    result = evidence.times(apart.carried, packed.carried)
    if result is None or apart.carried is None:
        return None
    return siblings_cost(result, (apart.name, packed.name), apart.carried.what)


def _unseen(scenarios: Sequence[Scenario]) -> tuple[tuple[str, str], ...]:
    """What the rules would look at and no scenario has."""
    why = {name: text for one in scenarios for name, text in one.unseen.items()}
    there = {name for one in scenarios for name, runs in one.series.items() if any(map(len, runs))}
    return tuple(
        (BY_NAME[name].title, why.get(name, "it was not recorded"))
        for name in SEEN
        if name not in there
    )
