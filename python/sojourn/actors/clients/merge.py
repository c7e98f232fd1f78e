"""The results of several generators that shared one load → one, in the form of each of them.

Counts and histograms add up, without loss. What a share or a worst case says is taken over all
requests or all processes. The service was offered what all offered together, so the QoS target is
held against all requests. The verdict is `unknown` if that of any process is: a client that did not
do its share makes another load of all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from hdrh.histogram import HdrHistogram

from sojourn import units
from sojourn.actors.clients import hdr, replies, sessions, turns
from sojourn.actors.clients.client import Job

Result: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Sequence[Any], Sequence[int]], Any]  # values, and weights

SPANS = (
    "sojourn_ns",
    "sojourn_all_ns",
    "wire_ns",
    "first_byte_ns",
    "send_lag_ns",
    "pick_up_ns",
)
UNKNOWN, HOLDS, VIOLATED = "unknown", "holds", "violated"


@hdr.in_words()
def merged(
    results: Sequence[Result],
    job: Job,
    sums: hdr.Sums | None = None,
    machines: Sequence[str] = (),
) -> dict[str, Any]:
    """One result of several.

    Args:
        results: of each process, in order; each began at the same instant.
        job: that was shared among them.
        sums: of their histograms; None: they are in the results.
        machines: on which each ran, because CPUs of two have the same numbers; (): all on one.

    Raises:
        RunFault: a histogram cannot be read.
    """
    first, weights = results[0], [int(result["requests"]) for result in results]
    sums = sums or hdr.Sums(results)
    totals = {name: sums.total(name) for name in SPANS}
    spans = {name: hdr.span([one[name] for one in results], totals[name]) for name in SPANS}
    parts = _parts(results, spans["sojourn_ns"], sums)
    crowded = turns.crowded(results, machines or [""] * len(results))
    verdict, reasons = _judged(results, job, spans["sojourn_ns"], totals["sojourn_ns"], crowded)
    return {
        **first,
        "job": _job(results, job),
        "addresses": list(dict.fromkeys(it for one in results for it in one.get("addresses", ()))),
        "started_unix_ns": min(result["started_unix_ns"] for result in results),
        "start_ns": max(result.get("start_ns", 0) for result in results),
        "measured_s": max(result["measured_s"] for result in results),
        "offered_rps": sum(result["offered_rps"] for result in results),
        "achieved_rps": sum(result["achieved_rps"] for result in results),
        "requests": sum(weights),
        "errors": dict(sum((Counter(result["errors"]) for result in results), Counter())),
        "reply_bytes": sum(result["reply_bytes"] for result in results),
        "replies": replies.merged([result.get("replies") for result in results]),
        "sessions": sessions.merged([result.get("sessions") for result in results]),
        "tls": replies.handshakes([result.get("tls") for result in results]),
        "timely_ratio": _mean([result["timely_ratio"] for result in results], weights),
        "outages": _outages(results, spans["sojourn_ns"], spans["sojourn_all_ns"]),
        "verdict": verdict,
        "reasons": reasons,
        "lateness": _notices(results, "lateness"),
        "lateness_ns": _largest([result.get("lateness_ns") for result in results]),
        "upper_bounds": any(result.get("upper_bounds", False) for result in results),
        "notes": _notices(results, "notes"),
        "qos": None,  # of one process's sample; the lab judges all together
        "refused": {},  # a run that is one of several gives every quantile
        **spans,
        "probe_sojourn_ns": _probe(results),
        "windows": _windows([result.get("windows") for result in results]),
        "server_stops": next(filter(None, (one.get("server_stops") for one in results)), None),
        "undisturbed_ns": None,  # one process alone has a log of the server's CPUs
        "threads": parts,
        "checks": _by_rules(CHECKS, [result["checks"] for result in results], weights),
        "cost": _by_rules(COST, [result["cost"] for result in results], weights),
    }


def _job(results: Sequence[Result], job: Job) -> dict[str, Any]:
    """As the first process resolved it, with what all have together."""
    whole = {
        key: job[key] for key in ("rate", "seed", "cpus", "hlog", "raw", "raw_max") if key in job
    }
    own = results[0]["job"]
    return {
        **own,
        **whole,
        "connections": sum(result["job"]["connections"] for result in results),
        "threads": sum(result["job"]["threads"] for result in results),
    }


def _judged(
    results: Sequence[Result],
    job: Job,
    sojourn: Mapping[str, Any],
    total: HdrHistogram,
    crowded: str,
) -> tuple[str, list[str]]:
    if any(result["verdict"] == UNKNOWN for result in results):
        return UNKNOWN, _notices(results, "reasons", UNKNOWN)
    if crowded:
        return UNKNOWN, [crowded]
    q, bound = float(job.get("qos_quantile") or 0.0), str(job.get("qos_bound") or "")
    if not bound or not sojourn["count"]:
        return HOLDS, []
    outcome, bound_ns = hdr.quantile(total, q, sojourn["lost"]), units.parse_ns(bound)
    if outcome is not None and outcome <= bound_ns:
        return HOLDS, []
    text = "infinite (failed requests)" if outcome is None else units.show_ns(outcome)
    at = f"the bound is {units.show_ns(bound_ns)}"
    return VIOLATED, [f"qos: quantile {q:g} of the sojourn time is {text}, {at}"]


def _notices(results: Sequence[Result], key: str, verdict: str = "") -> list[str]:
    """What processes, or those of a verdict, say of themselves, each by its number."""
    return [
        f"client {nth} of {len(results)}: {text}"
        for nth, result in enumerate(results, 1)
        if not verdict or result["verdict"] == verdict
        for text in result.get(key, ())
    ]


def _parts(
    results: Sequence[Result], sojourn: Mapping[str, Any], sums: hdr.Sums
) -> list[dict[str, Any]]:
    """Each process by itself, in the place of threads (M14)."""
    p99 = sojourn["p99"]
    lost = [int(result["sojourn_ns"]["lost"]) for result in results]
    above = [0] * len(lost) if p99 is None else sums.above("sojourn_ns", p99)
    beyond = [n + k for n, k in zip(lost, above, strict=True)]
    selected = [int(result["sojourn_ns"]["count"]) for result in results]
    all_n, all_k = sum(selected), sum(beyond)
    is_reported = all_k >= 100
    return [
        {
            "requests": n,
            "p50": result["sojourn_ns"]["p50"],
            "p99": result["sojourn_ns"]["p99"],
            "tail_factor": (k / all_k) / (n / all_n) if is_reported and n else None,
            "cpu_share": sum(thread["cpu_share"] for thread in result["threads"]),
        }
        for result, n, k in zip(results, selected, beyond, strict=True)
    ]


def _outages(
    results: Sequence[Result], selected: Mapping[str, Any], all_: Mapping[str, Any]
) -> dict[str, Any]:
    """Outages of all; a time in which several stood still counts once where each is listed."""
    of = [result["outages"] for result in results]
    log = sorted(tuple(entry) for one in of for entry in one["log"])
    end, covered = None, 0
    for start, length in log:
        covered += max(0, start + length - max(start, start if end is None else end))
        end = max(start + length, start if end is None else end)
    measured_ns = max(result["measured_s"] for result in results) * units.NS_PER_S
    is_whole = all(len(one["log"]) == one["count"] for one in of)
    share = min(1.0, covered / measured_ns) if is_whole and measured_ns else 0.0
    excluded = 1 - int(selected["count"]) / int(all_["count"]) if all_["count"] else 0.0
    return {
        "count": sum(one["count"] for one in of),
        "total_ns": sum(one["total_ns"] for one in of),
        "longest_ns": max(one["longest_ns"] for one in of),
        "share_time": max(share, *(one["share_time"] for one in of)),
        "share_excluded": excluded,
        "allowance": max(one.get("allowance", 1.0) for one in of),
        "log": [list(entry) for entry in log],
    }


def _windows(windows: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Requests and misses by windows, which began together; None unless all are equally long."""
    known = [one for one in windows if one is not None]
    if len(known) < len(windows) or len({one["length_ns"] for one in known}) != 1:
        return None

    def sums(key: str) -> list[int]:
        longest = max(len(one[key]) for one in known)
        return [sum(one[key][at] for one in known if at < len(one[key])) for at in range(longest)]

    return {
        "length_ns": known[0]["length_ns"],
        "n": sums("n"),
        "k": sums("k"),
        "over": sum(one["over"] for one in known),
        "disturbed": sorted({at for one in known for at in one["disturbed"]}),
    }


def _probe(results: Sequence[Result]) -> dict[str, Any] | None:
    outcome = [result["probe_sojourn_ns"] for result in results if result["probe_sojourn_ns"]]
    return hdr.span(outcome) if outcome else None


def _largest(values: Sequence[Any], _: Sequence[int] = ()) -> Any:
    return max((value for value in values if value is not None), default=None)


def _least(values: Sequence[Any], _: Sequence[int] = ()) -> Any:
    return min((value for value in values if value is not None), default=None)


def _sum(values: Sequence[Any], _: Sequence[int] = ()) -> Any:
    return sum(value or 0 for value in values)


def _first(values: Sequence[Any], _: Sequence[int] = ()) -> Any:
    return values[0]


def _furthest(values: Sequence[Any], _: Sequence[int] = ()) -> Any:
    """The one that is furthest from 0."""
    return max(values, key=lambda value: abs(value or 0.0))


def _furthest_from_1(values: Sequence[Any], _: Sequence[int] = ()) -> Any:
    known = [value for value in values if value is not None]
    return max(known, key=lambda value: abs(value - 1), default=None)


def _mean(values: Sequence[Any], weights: Sequence[int]) -> Any:
    """By requests; None if any is not known."""
    if any(value is None for value in values):
        return None
    if not sum(weights):
        return _first(values)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def _by_rules(
    rules: Mapping[str, Rule], tables: Sequence[Mapping[str, Any]], weights: Sequence[int]
) -> dict[str, Any]:
    return {
        key: rules.get(key, _first)([table.get(key) for table in tables], weights)
        for key in tables[0]
    }


#: How each of a result's checks is put together: the worst, the sum, or by requests.
CHECKS: Mapping[str, Rule] = {
    "rate_error": _furthest,
    "sent_rate_error": _furthest,
    "pick_up_timely_ratio": _mean,
    "lag_share_p99": _largest,
    "waited_share": _mean,
    "arrival_fit_a2": _largest,
    "planned_fit_a2": _largest,
    "arrival_fit_limit": _first,
    "arrival_fit_gap_ns": _largest,
    "dispersion": _furthest_from_1,
    "dispersion_within": _largest,
    "poll_gap_p99_ns": _largest,
    "poll_gap_max_ns": _largest,
    "backlog_max": _largest,
    "broken_connections": _sum,
    "timed_out": _sum,
    "reconnects": _sum,
    "replaced_connections": _sum,
    "sent_again": _sum,
    "overlong_replies": _sum,
    "cpu_share_max": _largest,
    "server_idle_share": _least,
    "server_steal_share": _largest,
    "steal_share": _largest,
}
COST: Mapping[str, Rule] = {
    "cpu_ns_per_request": _mean,
    "syscalls_per_request": _mean,
    "transport": _first,
    "wait": _first,
}
