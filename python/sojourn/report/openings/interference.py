"""Antagonists of one resource each: which is worst, which does nothing that was seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.effects import LOST_OR_GREW, MORE_THAN_SERVED, Effect, FactorFinding
from sojourn.findings.findings import Findings
from sojourn.report import labels, show
from sojourn.report.draw.antagonists import BETTER, SAME
from sojourn.report.figures.antagonists import (
    NAME,
    factors_of,
    numbers,
    ranked,
    state,
    text_of,
    times,
)
from sojourn.report.openings.opening import Opening, Opens, an, fitting, listed, short

NAMED = 3


class InterferenceOpens(Opens):
    """Several antagonists at several intensities, against no one."""

    name = "interference"
    place = 50

    def applies(self, findings: Findings) -> bool:
        """Where one service was compared beside several antagonists."""
        factors = factors_of(findings)
        return len(factors) == 1 and bool(numbers(findings, factors[0]))

    def opening(self, findings: Findings, width: int) -> Opening:
        """The worst at the highest load, then at the others, then what showed nothing."""
        (factor,) = factors_of(findings)
        whats = numbers(findings, factor)
        return Opening(
            headline=_headline(factor, whats),
            sentences=tuple(_sentences(factor, whats))[:3],
            figures=(NAME,),
            text=tuple(_text(factor, whats, width)),
        )


def _of(factor: FactorFinding, what: str) -> list[Effect]:
    return [effect for effect in factor.effects if effect.what == what]


def _who(effect: Effect) -> str:
    return labels.neighbour_name(text_of(effect.level))


def _headline(factor: FactorFinding, whats: Sequence[str]) -> str:
    for what in reversed(whats):
        if worse := ranked(_of(factor, what)):
            count = f"{len(worse)} of {len(_of(factor, what))} neighbours cost {factor.service}"
            if worse[0].endless:
                endless = [one for one in worse if one.endless]
                who = f"{len(endless)} of {len(_of(factor, what))} neighbours"
                return fitting(_no_room(who, what, endless), count)
            lead = f"Worst neighbour{':' if _is_worst(worse) else ' may be'} {_who(worse[0])}"
            return fitting(f"{lead}, {what} {times(worse[0])}", f"{lead}, {times(worse[0])}", count)
    return "No difference was shown beside any neighbour"


def _is_worst(worse: Sequence[Effect]) -> bool:
    """Whether the first costs surely more than each of the others, by their intervals."""
    first, *others = [one.interval for one in worse]
    known = [one for one in others if one is not None]
    if first is None or len(known) < len(others):
        return False
    if worse[0].is_time:
        return all(first.lo > other.hi for other in known)
    return all(first.hi < other.lo for other in known)


def _sentences(factor: FactorFinding, whats: Sequence[str]) -> Iterator[str]:
    """Of each load the worst, the highest load first; then what showed nothing."""
    for what in reversed(whats):
        effects = _of(factor, what)
        if worse := ranked(effects):
            if endless := [one for one in worse if one.endless]:
                yield _endless(what, endless)
                worse = [one for one in worse if not one.endless]
            if not worse:
                continue
            first, last = worse[0], worse[-1]
            ends = f" ({_ends(first)})"
            mild = f"; least of {len(worse)}: {_who(last)}, {times(last)}"
            least = mild if len(worse) > 1 else ""
            text = f"{what} is {times(first)} that alone{ends} beside {an(_who(first))}"
            yield short(f"{text}{least}.", f"{text}.")
    every = [e for what in whats for e in _of(factor, what)]
    unshown = [e for e in every if state(e) == SAME]
    better = sum(state(e) == BETTER for e in every)
    whole = len(every)
    known = [times(e) for e in unshown if times(e).startswith("≤")]
    if unshown:
        most = max((float(t[1:-1]) for t in known), default=None)
        is_known = most is not None and len(known) == len(unshown)
        seen = f"; what is there is at most {most:g}×" if is_known else ""
        less = f"; in {better} it is better than alone" if better else ""
        yield f"In {len(unshown)} of {whole} cells no difference was shown{seen}{less}."


def _no_room(who: str, what: str, effects: Sequence[Effect]) -> str:
    """What so many neighbours do to a number that is endless beside them."""
    if not effects[0].is_time:
        return f"{who} leave no load within QoS"
    number, _, load = what.partition(" at ")
    if any(one.reason != MORE_THAN_SERVED for one in effects):
        return f"{who} make {number} infinite at {load}"
    return f"{who} leave no room for {load}"


def _endless(what: str, effects: Sequence[Effect]) -> str:
    """Where a number has no end beside these: the queue grows, requests are lost, no load fits."""
    who = [an(_who(one)) for one in effects]
    number, _, load = what.partition(" at ")
    beside = " and ".join(filter(None, [", ".join(who[:-1]), who[-1]]))
    if not effects[0].is_time:
        return short(
            f"No load fits within QoS beside {beside}.",
            f"No load fits within QoS beside {len(who)} neighbours.",
        )
    if any(one.reason != MORE_THAN_SERVED for one in effects):
        return short(
            f"At {load} {number} is infinite beside {beside}.",
            f"At {load} {number} is infinite beside {len(who)} neighbours: {LOST_OR_GREW}.",
        )
    return short(
        f"At {load} {number} grows without end beside {beside}.",
        f"At {load} {number} grows without end beside {len(who)} neighbours: it is more than is "
        "served there.",
    )


def _ends(effect: Effect) -> str:
    ends = effect.interval
    if ends is None:
        return "one block"
    half = (ends.hi - ends.lo) / 2
    return f"{show.known(ends.lo, half):g}–{show.known(ends.hi, half):g}"


def _text(factor: FactorFinding, whats: Sequence[str], width: int) -> Iterator[str]:
    """A table for each number: antagonists down, intensities across."""
    names, amounts = (
        list(dict.fromkeys(labels.antagonist(text_of(level))[nth] for level in factor.levels[1:]))
        for nth in range(2)
    )
    cells = {(labels.antagonist(text_of(e.level)), e.what): times(e) for e in factor.effects}
    head = ["beside", *(f"{amount} {_short(what)}" for what in whats for amount in amounts)]
    rows = [
        [name, *(cells.get(((name, amount), what), "–") for what in whats for amount in amounts)]
        for name in names
    ]
    yield "times that alone; ≤: no difference shown, at most that"
    if any(effect.endless for effect in factor.effects):
        yield "∞: it grows as long as the load lasts, or requests were lost; 0×: no load fits"
    yield from listed(head, rows, width)


def _short(what: str) -> str:
    return what.removesuffix(" load")


KIND = InterferenceOpens()
