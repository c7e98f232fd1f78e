"""Whether the simulator puts scheduler settings in the order in which they were measured (L18).

A study of memcached beside a square wave under several settings gives loads at which the tail
departs, with intervals. The simulator of `replicate L18` is run with the study's own parameters:
its service time from the load axis, its wave, its kernel's policy, and outside of the core what the
measured tail alone has more than the simulated one. Then every pair of settings that the simulator
distinguishes is concordant, reversed, or undecided by the measured intervals.

What differs: the simulated wave sleeps after its work is done, the measured one keeps its period;
a slice is that of all simulated tasks, and of the service alone here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sojourn.errors import Fault
from sojourn.findings.findings import Findings
from sojourn.questions.beside.costs import Beside, BesideSection, Simulated
from sojourn.questions.beside.judge import NAME
from sojourn.questions.beside.simulation import Asked, base_of, known
from sojourn.questions.beside.words import break_words
from sojourn.spec import words

POLICY = ".knobs.policy"  # the factor whose levels are settings
CONCORDANT, REVERSED, UNDECIDED = "concordant", "reversed", "undecided"


def with_order(findings: Findings, folder: Path) -> Findings:
    """The findings with the simulator's order in their section, where the study is about one.

    Args:
        findings: of a record.
        folder: of the record, where the simulator's answer is stored: it is the same every time.
    """
    section = findings.section(BesideSection)
    if section is None or (asked := asked_of(section, findings)) is None:
        return findings
    try:
        at = known(asked, folder)
    except Fault as fault:
        message = f"The simulator's order of the settings is unknown: {fault.what}."
        return findings.having(NAME, replace(section, order_words=message))
    own = [one for one in section.found if setting_of(one) in at]
    pairs = tuple(pairs_of(own, at))
    text = in_words(pairs, asked, [setting_of(one) for one in section.found], at)
    result = findings.having(NAME, replace(section, order=pairs, order_words=text))
    answer = findings.answer.replace(section.headline, f"{section.headline} {text}", 1)
    return replace(result, answer=answer)


def setting_of(one: Beside) -> str:
    """The level of the knob `policy`, if that alone tells settings apart; else ""."""
    keys = [key for key, _ in one.levels]
    return str(one.levels[0][1]) if len(keys) == 1 and keys[0].endswith(POLICY) else ""


def asked_of(section: BesideSection, findings: Findings) -> Asked | None:
    """What is to be simulated; None where this is not about settings beside one square wave."""
    selected = [one for one in section.found if setting_of(one) and "wave" in one.neighbour]
    services = {(one.service, one.neighbour) for one in selected}
    if len(selected) < 2 or len(services) != 1:
        return None
    label, neighbour = services.pop()
    axis = next((s.max_rps for s in findings.services if s.label == label and s.max_rps), None)
    rows = [row for row in selected[0].rows if row.alone_ns and math.isfinite(row.alone_ns)]
    if axis is None or not rows:
        return None
    inputs = words.read(neighbour, lead="kind", at="intensity").params
    return Asked(
        settings=tuple(setting_of(one) for one in selected),
        service_us=1e6 / axis,
        busy=str(inputs.get("busy", "6ms")),
        period=str(inputs.get("period", "48ms")),
        most=max(row.load for one in selected for row in one.rows),
        alone_us=(rows[0].alone_ns or 0.0) / 1e3,
        alone_load=rows[0].load,
        base=base_of(findings.environment),
        q=f"p{100 * selected[0].q:g}",
    )


def pairs_of(cases: Sequence[Beside], at: Mapping[str, float]) -> list[Simulated]:
    """Every pair of settings that the simulator distinguishes, the one that breaks first before.

    Args:
        cases: as measured, settings that were simulated.
        at: load at which each breaks in the simulator.
    """
    pairs = []
    for one, other in itertools.combinations(cases, 2):
        first, second = sorted((one, other), key=lambda b: at[setting_of(b)])
        loads = at[setting_of(first)], at[setting_of(second)]
        if loads[0] == loads[1]:
            continue
        verdict = UNDECIDED
        if first.breaks.most and second.breaks.most:
            if first.breaks.is_before(second.breaks):
                verdict = CONCORDANT
            elif second.breaks.is_before(first.breaks):
                verdict = REVERSED
        pairs.append(
            Simulated(
                one=setting_of(first),
                other=setting_of(second),
                simulated=loads,
                verdict=verdict,
                measured=(break_words(first.breaks), break_words(second.breaks)),
            )
        )
    return pairs


def in_words(
    pairs: Sequence[Simulated], asked: Asked, settings: Sequence[str], at: Mapping[str, float]
) -> str:
    """Whether the simulator's order is the measured one, and where not, in one or two sentences."""
    count = {word: sum(p.verdict == word for p in pairs) for word in (CONCORDANT, REVERSED)}
    model = f"{asked.service_us:.3g} µs a request, busy {asked.busy} of {asked.period}"
    if not pairs:
        text = f"The simulator ({model}) separates no two of these settings"
    elif count[CONCORDANT] == len(pairs):
        text = f"The simulator's order of the settings ({model}) is the measured one in all pairs"
    else:
        text = (
            f"The simulator's order of the settings ({model}) is the measured one in "
            f"{count[CONCORDANT]} of {len(pairs)} pairs, reversed in {count[REVERSED]} and "
            f"undecided in {len(pairs) - count[CONCORDANT] - count[REVERSED]}"
        )
    wrong = [f"{p.other} breaks before {p.one}" for p in pairs if p.verdict == REVERSED]
    text += f"; measured, but not simulated: {', '.join(wrong)}" if wrong else ""
    unknown = [name for name in settings if name and name not in at]
    text += f"; it knows no {', '.join(unknown)}" if unknown else ""
    tied = math.comb(len(at), 2) - len(pairs)
    return text + (f"; {tied} more break at the same load there." if tied > 0 and pairs else ".")
