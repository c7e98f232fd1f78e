"""Made-up findings of this question, for what opens a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from sojourn.findings.findings import Findings
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.paired_costs import Change
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.blame.suspects import (
    CLEARED,
    CPU,
    GUILTY,
    OTHERS,
    OWN,
    SOFTIRQ,
    UNDECIDED,
    WAIT,
)
from sojourn.questions.blame.suspects import Row as Suspect
from sojourn.questions.testing_openings import Case
from sojourn.report import testing
from sojourn.stats.interval import Interval


def blame(*words: str) -> Findings:
    """A condition for each word, in which a neighbour is that; the innocent one is in all."""
    names = ("noise:cpu@100%,where=one", "noise:membw@100%,where=free", "noise:disk@50MB/s")
    services = []
    for name, word in zip(names, words, strict=False):
        rows = (_suspect(name, word), _suspect("noise:syscalls@1%,where=one", CLEARED))
        section = Blames(bound_ns=1e6, rows=rows, as_is_ns=2e6, as_is=Interval(lo=1.5e6, hi=3e6))
        base = replace(
            testing.memcached(),
            label="memcached",
            levels=(("neighbour", name),),
            service=f"memcached, neighbour = {name}",
            points=(),
        )
        services.append(base.having("blame", section))
    return replace(testing.findings(), services=tuple(services), sections={})


def _change(cost: str) -> Change:
    ends = Interval(lo=500.0, hi=1500.0)
    return Change(name=cost, with_=2e3, without=1e3, more=1e3, interval=ends)


def _suspect(name: str, word: str) -> Suspect:
    at = {GUILTY: 23.0, CLEARED: 1.02, UNDECIDED: 1.4}[word]
    wide = 3.0 if word == UNDECIDED else 1.15
    stop = Contrast(
        ratio=at,
        interval=Interval(lo=at / wide, hi=at * wide),
        p=0.01,
        p_holm=0.02,
        blocks=8,
        requests=999,
        with_ns=2e6,
        without_ns=1e6,
    )
    return Suspect(
        name=name,
        word=word,
        resource=CPU if word == GUILTY else "",
        stop=stop,
        alone=None,
        costs=tuple(map(_change, (WAIT, SOFTIRQ, OWN, OTHERS))),
        cpu_share=0.5,
        still_share=0.0,
        disk_bytes_per_s=0.0,
        traced_share=None,
        matters=1.25,
    )


CASES: Mapping[str, Case] = {
    "guilty": Case(
        partial(blame, GUILTY, CLEARED, UNDECIDED), "CPU hog is guilty, on the CPU: p99 23 times"
    ),
    "innocent": Case(partial(blame, CLEARED, CLEARED), "No suspect is to blame"),
    "open": Case(partial(blame, UNDECIDED), "Who is to blame is undecided"),
}
