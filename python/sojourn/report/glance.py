"""What `sojourn try` says: a sentence with its number first, a plot, doubts, what to run next."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from sojourn.analysis import lqos
from sojourn.analysis.service import NOT_RESTARTED
from sojourn.findings.findings import Qos, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.load_point import LoadPoint
from sojourn.plan.points import Verdict
from sojourn.report import doubts as doubts_of
from sojourn.report import parts, people, show
from sojourn.report.draw.lookup import of_point, tail_q
from sojourn.spec import MaxRps

DOUBTS = 5
AGAIN = ": run the study again, it resumes"  # ends a reason of a study; here nothing is stored
STOPPED_MAX = 0.01  # share of a run from which it is reported; M27


def text(
    service: ServiceFinding, of: parts.Parts, *, target: str, command: str, width: int = 80
) -> str:
    """The whole of it in at most `width` columns.

    Args:
        service: what was found.
        of: how questions are shown.
        target: what was asked, as people know it.
        command: to be run next.
        width: columns, at least 60.
    """
    with parts.using(of):
        return _text(service, target, command, width)


def _text(service: ServiceFinding, target: str, command: str, width: int) -> str:
    lines = [*textwrap.wrap(sentence(service, target), width, break_on_hyphens=False), ""]
    is_drawn = any(point.is_believed for point in service.points)
    for kind in parts.sections():  # a plot without valid loads would be almost empty
        lines += kind.plot(service, width) if is_drawn else kind.table(service, width)
    for doubt in doubts(service):
        lines += textwrap.wrap(doubt, width, initial_indent="doubt: ", subsequent_indent="  ")
    return "\n".join([*(line.rstrip() for line in lines), f"next: {command}"])


def sentence(service: ServiceFinding, target: str) -> str:
    """The answer in one sentence, the number with its interval first; or that it is unknown."""
    message = _answer(service, target)
    limit = service.limit.text if service.limit else ""
    if not limit or limit in message:
        return message
    return f"{message} {limit[0].upper()}{limit[1:]}."


def _answer(service: ServiceFinding, target: str) -> str:
    """The answer, or why it is unknown."""
    message = _sentence(service, target)
    if service.verdict is not Verdict.UNKNOWN or "unknown" in message:
        return message
    search = service.section(MaxLoad)
    reasons = [*(search.reasons if search else ()), *service.reasons]
    why = doubts_of.foremost([reason for reason in reasons if reason != NOT_RESTARTED])
    return f"{message} The answer is unknown{f': {_without_resuming(why)}' if why else ''}."


def _sentence(service: ServiceFinding, target: str) -> str:
    search = service.section(MaxLoad)
    most = _saturates(service)
    if search is not None and search.border is not None and service.qos is not None:
        number = show.border(search.border)
        unit = "" if number in {"unknown", "no load"} else " requests/s"
        fits = f"{number}{unit} ({show.within(search.border)}) fit within {_bound(service.qos)}"
        return f"{fits}: {target} ({most})." if most else f"{fits}: {target}."
    if service.points and service.max_rps_rule == MaxRps.ASKED:
        message = ", ".join(_at(point, tail_q(service)) for point in service.points)
        return f"{message}: {target}{_target_text(service)}."
    reasons = [*(search.reasons if search else ()), *service.reasons]
    why = doubts_of.foremost([one for one in reasons if one != NOT_RESTARTED])
    why = _without_resuming(why) or "nothing was measured"
    if most:
        return f"{most}: {target}. How much of it fits within a bound is unknown: {why}."
    return f"How much load {target} takes is unknown: {why}."


def _without_resuming(reason: str) -> str:
    """A reason without the advice that holds for a record only.

    >>> _without_resuming("the search was not finished: run the study again, it resumes")
    'the search was not finished in this time; a study measures longer'
    """
    if not reason.endswith(AGAIN):
        return reason
    return f"{reason.removesuffix(AGAIN)} in this time; a study measures longer"


def _bound(qos: Qos) -> str:
    """The target, and where its bound comes from unless the user named it."""
    known = f"{show.quantile(qos.q)} ≤ {show.time(qos.bound_ns)}"
    source = show.uncoded(qos.rule)
    return known if source == lqos.BY_STUDY else f"{known} ({source})"


def _saturates(service: ServiceFinding) -> str:
    if not service.highest_rps or service.max_rps_rule == MaxRps.ASKED:
        return ""
    return f"{show.count(service.highest_rps, 1)} requests/s at most"


def _at(point: LoadPoint, q: float) -> str:
    """`p99 0.9 ms (0.8–1.1 ms, 95 %) at 1.00k requests/s`."""
    estimate, at = of_point(point, q), f"at {show.count(point.offered_rps)} requests/s"
    if estimate is None or estimate.value is None:
        return f"{show.quantile(q)} unknown {at}"
    if not math.isfinite(estimate.value):
        return f"{show.quantile(q)} without end {at}"
    within = f" ({show.times(estimate.interval)}, 95 %)" if estimate.interval else ""
    return f"{show.quantile(q)} {show.time(estimate.value)}{within} {at}"


def _target_text(service: ServiceFinding) -> str:
    if service.qos is None:
        return ""
    held = [p for p in service.points if p.verdict is Verdict.HOLDS]
    missed = [p for p in service.points if p.verdict is Verdict.VIOLATED]
    if missed:
        return f", which misses {_bound(service.qos)} from {show.count(missed[0].offered_rps)} on"
    return (
        f", which keeps {_bound(service.qos)} at all of them" if held == [*service.points] else ""
    )


def doubts(service: ServiceFinding) -> Iterator[str]:
    """What speaks against it, the first few."""
    selected = [_without_resuming(reason) for reason in service.reasons if reason != NOT_RESTARTED]
    stopped = max((r.outage_share or 0.0 for p in service.points for r in p.runs), default=0.0)
    if stopped > STOPPED_MAX:
        selected.append(
            f"the client did not run for up to {show.share(stopped)} of a run; requests "
            "then are left out"
        )
    for doubt in people.doubts(service, only=tail_q(service)):
        detail = f": {doubt.detail}" if doubt.detail else ""
        selected.append(f"{doubt.what} at {doubt.where}{detail}")
    yield from selected[:DOUBTS]
    if len(selected) > DOUBTS:
        yield f"and {len(selected) - DOUBTS} more"
