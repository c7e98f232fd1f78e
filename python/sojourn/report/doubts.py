"""What speaks against a study's numbers: one sentence for all combinations that share it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sojourn.analysis.reasons import topic
from sojourn.analysis.service import AXIS_INVALID, NOT_RESTARTED
from sojourn.findings.findings import Findings
from sojourn.report import labels, people

_GENERAL = (AXIS_INVALID, NOT_RESTARTED)  # they do not say what went wrong
_NUMBER = re.compile(r"[+-]?\d[\d.,]*")


def reasons(findings: Findings) -> tuple[str, ...]:
    """The study's reasons, those of most combinations first; each with one instance.

    Reasons of single runs are left out, because `people.lost` has them.

    Returns:
        Sentences without the end; what is reported about one combination alone bears its name.
    """
    places = {f"{s.service}: ": labels.called(s) for s in findings.services}
    texts: dict[str, list[tuple[str, str]]] = {}
    for reason in findings.reasons:
        if people.is_of_lost(reason, findings.points):
            continue
        lead = max((one for one in places if reason.startswith(one)), key=len, default="")
        text = reason.removeprefix(lead)
        texts.setdefault(_topic(text), []).append((places.get(lead, ""), text))
    ranked = sorted(texts.values(), key=lambda outcome: -len(outcome))
    return tuple(_sentence(result, len(findings.services)) for result in ranked)


def of_services(findings: Findings, *, has_runs: bool = False) -> tuple[people.Doubt, ...]:
    """The doubts of all services together: each what once, at how many combinations, how often.

    Args:
        findings: of a study.
        has_runs: with the reasons of single runs, which `people.lost` says else.
    """
    results: dict[str, list[tuple[str, people.Doubt]]] = {}
    for service in findings.services:
        for doubt in people.doubts(service, has_runs=has_runs or not findings.points):
            results.setdefault(doubt.what, []).append((labels.called(service), doubt))
    return tuple(sorted(_merged(results, len(findings.services)), key=lambda one: -one.times))


def foremost(texts: Sequence[str]) -> str:
    """The reason that explains best why there is no answer: the first that is not of every run.

    >>> foremost([NOT_RESTARTED, AXIS_INVALID, "content: empty"]), foremost([NOT_RESTARTED])[:15]
    ('content: empty', 'never restarted')
    """
    return next((one for one in texts if one not in _GENERAL), texts[0] if texts else "")


def title(reason: str) -> str:
    """What one of `reasons` is about, as doubts are called.

    >>> title("client stopped (2 of 3 combinations), for instance: it did not run for 1.4 s")
    'client stopped'
    """
    return topic(reason).partition(" (")[0]


def _merged(
    results: dict[str, list[tuple[str, people.Doubt]]], services: int
) -> Iterator[people.Doubt]:
    for what, own in results.items():
        name, first = own[0]
        where = f"{name}, {first.where}"
        if len(own) > 1:
            where = f"{len(own)} of {services} combinations"
        yield people.Doubt(
            what=what, where=where, detail=first.detail, times=sum(one.times for _, one in own)
        )


def _topic(text: str) -> str:
    """What a reason is about, whatever its numbers are."""
    return _NUMBER.sub("#", topic(text))


def _sentence(results: Sequence[tuple[str, str]], services: int) -> str:
    place, text = results[0]
    named = {where for where, _ in results if where}
    if len(results) == 1:
        return f"{place}: {text}" if place else text
    often = f"{len(named)} of {services} combinations" if named else f"{len(results)} times"
    if len({one for _, one in results}) == 1:
        return f"{text} ({often})"
    title = topic(text)
    detail = text.removeprefix(title).removeprefix(": ")
    return f"{title} ({often}), for instance: {detail}" if detail else f"{title} ({often})"
