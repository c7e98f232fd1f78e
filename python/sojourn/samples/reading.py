"""A point's folder → the few numbers on which the plan decides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import units
from sojourn.errors import StoreFault
from sojourn.plan import codec, traced
from sojourn.plan.evidence import is_mostly_disturbed
from sojourn.plan.points import Misses, Outcome, Point, Verdict
from sojourn.samples import clusters, dependence, excluded, failed, lateness, raw
from sojourn.samples.contract import LoadResult, load_result
from sojourn.samples.interval import intervals
from sojourn.samples.names import HLOG, HOST, HOSTS, LOAD, POINT, PROBE, RAW, SERVICE
from sojourn.samples.served import cpu_ns, served, used_cpus
from sojourn.samples.versioned import check_version, read_json

OTHERS_MAX = 0.05  # of the time of the server's CPUs, used by other processes
_NEIGHBOUR = re.compile(r"neighbour(_\d+)?")  # keys of host.json, one for each
QOS = "qos"  # as the generator's reasons begin that are about the target alone
SHIELD_HELPS = "or run with --shield priority"
USUAL_Q = 0.99  # whose exceedances show dependence where there is no QoS target


def read(folder: Path) -> Outcome:
    """What became of the point that was measured into `folder`.

    `wall_s` is 0 here: how long the point took is known to whoever ran it.

    Raises:
        StoreFault: a file is missing, damaged, or of a newer version.
    """
    point = read_point(folder / POINT)
    at = folder / LOAD
    result = load_result(at)
    span, probe = result.sojourn_ns, probe_result(folder)
    others = others_share(folder / HOST, point)
    verdict, reasons = judged(result, point, others, could_shield=could_shield(folder / SERVICE))
    ratio = correlation(folder, result).ratio
    missed, undisturbed = misses(folder, result, ratio)
    is_disturbed = lateness.is_logged(result) and is_mostly_disturbed(
        point, span.count, undisturbed
    )
    is_one_sided = is_upper(result, verdict) or (is_disturbed and verdict is not Verdict.UNKNOWN)
    doubts = (unfelt(folder / SERVICE), not_as_asked(folder / HOST), *not_one(folder / HOSTS))
    for why in filter(None, doubts):
        verdict, reasons, is_one_sided = Verdict.UNKNOWN, (why, *reasons), False
    did, refused = neighbour(folder / HOST).get("progress", {}), failed.refused(result)
    return Outcome(
        point=point,
        verdict=verdict,
        reasons=failed.reasons(result, reasons),
        offered_rps=result.offered_rps + (probe.offered_rps if probe else 0.0),
        achieved_rps=result.achieved_rps + (probe.achieved_rps if probe else 0.0),
        requests=span.count,
        over_bound=missed.over if missed else None,
        lost=span.lost,
        mean_ns=None if span.lost else span.mean,
        p50_ns=span.p50,
        p95_ns=span.p95,
        p99_ns=span.p99,
        correlation=ratio,
        wall_s=0.0,
        folder=str(folder),
        clusters=missed.clusters if missed else (),
        undisturbed=undisturbed,
        over_surely=surely(folder, result) if is_one_sided and missed else None,
        shield=shield(folder / SERVICE),
        neighbour_per_s=did.get("per_s"),
        neighbour_of_alone=did.get("of_alone"),
        cpu_ns=cpu_ns(folder / HOST, served(result, probe)),
        p999_ns=span.at(0.999),
        refused=sum(refused.values()),
        refused_with=tuple(refused),
        used_cpus=used_cpus(folder / HOST),
        failed=failed.without_a_wait(result),
    )


def probe_result(folder: Path) -> LoadResult | None:
    """What the probe client beside the load saw, whose requests are part of it, or None."""
    at = folder / PROBE
    return load_result(at) if at.exists() else None


def judged(
    result: LoadResult, point: Point, others: float, *, could_shield: bool = False
) -> tuple[Verdict, tuple[str, ...]]:
    """The run's verdict and reasons, for what its point is made for.

    A late instrument can only make the service look worse. Where a load is held against a bound the
    generator's verdict takes that into account and stands; the quantiles are upper bounds then.
    Where they are what is asked for, the run is believed if the lateness has a known size, which
    is reported beside them, and not otherwise (M3).

    So it is with other processes on the server's CPUs, unless the point is as the machine schedules
    it: a bound that holds in spite of them holds. Behind a shield they run while the server has
    nothing to do, and are no reason for doubt (M32). Where a log has each of their turns that kept
    the service from its CPUs, the generator has judged them, and both readings stand (M29).

    Args:
        result: of the generator.
        point: that was measured.
        others: share of the time of the server's CPUs that other processes used, which are not
            there on purpose.
        could_shield: a shield was not asked for, and this host allows it.
    """
    rules = point.rules
    if rules.is_decided and excluded.is_overrun_run(result):
        return Verdict.VIOLATED, result.reasons
    if lateness.added_ns(result) is None and not rules.is_decided:
        return Verdict.UNKNOWN, (*excluded.overload(result), *result.lateness, *result.reasons)
    holds_anyway = rules.is_decided and result.verdict is Verdict.HOLDS
    if others > OTHERS_MAX and not (holds_anyway or rules.is_bare or lateness.is_logged(result)):
        why = (
            f"server disturbed: other processes used {others:.1%} of the time of the server's "
            f"CPUs, {OTHERS_MAX:.0%} may be where no log says when; end them, "
            f"{SHIELD_HELPS if could_shield else 'or give the server CPUs of its own'}"
        )
        return Verdict.UNKNOWN, (why, *result.reasons)
    is_only_near = result.verdict is Verdict.UNKNOWN and all(
        reason.startswith(QOS) for reason in result.reasons
    )
    if result.upper_bounds and is_only_near:  # its numbers are sound, and the bound is within them
        return Verdict.VIOLATED, result.reasons
    return result.verdict, result.reasons


def is_upper(result: LoadResult, verdict: Verdict) -> bool:
    """Whether the run's misses are evidence from one side: too many if anything (M33).

    A run that the lab voids for a reason of its own is no evidence, whatever the generator says.
    """
    is_voided = verdict is Verdict.UNKNOWN and result.verdict is not Verdict.UNKNOWN
    is_proved = result.verdict is Verdict.VIOLATED  # by more than all that the client can have done
    return result.upper_bounds and not is_voided and not is_proved


def surely(folder: Path, result: LoadResult) -> int:
    """Requests that missed the bound by more than all that the client can have added (M3, M33).

    Where the server's CPUs were stopped and no log says when, each miss may be of a stop. Where so
    much of them was taken that the server fell behind, its queue is that of the stops throughout.
    Exclusion leaves a factor, which is known up to the share of requests that may be excluded.
    Beyond it the run is void, and `excluded` says how many of its misses count.
    """
    if lateness.is_server_unknown(result) or excluded.is_starved_run(result):
        return failed.without_a_wait(result)
    share = result.outages.share_excluded
    is_void = share > float(result.job.get("excluded_share_max", excluded.EXCLUDED_MAX))
    if is_void and share > excluded.VOID_MAX:
        return 0  # not even requests without a reply
    span = result.sojourn_ns
    doubts = [why for why in result.reasons if not why.startswith(QOS)]
    late_ns = result.lateness_ns or 0.0
    if (result.lateness or doubts) and result.lateness_ns is None:
        late_ns = lateness.latest_ns(result)
    bound_ns = units.parse_ns(str(result.job["qos_bound"])) + late_ns
    times = span.histogram(f"{folder / LOAD} sojourn_ns.hdr")
    if is_void:
        return excluded.surely_of_void(int(times.over(bound_ns)), share) + span.lost
    return int(times.over(bound_ns * result.outages.allowance)) + span.lost


def others_share(at: Path, point: Point) -> float:
    """What `host.json` says of others on the server's CPUs; 0 if nothing, or behind a shield.

    A point's neighbour is not one of them. Until neighbours were counted by themselves they stood
    among the others: points beside one say nothing then of anybody else.
    """
    if not at.exists() or shield(at.with_name(SERVICE)) != "none":
        return 0.0
    table = read_json(at)
    if traced.is_disturbed(point) and "neighbours_on_server_share" not in table:
        return 0.0
    return float(table.get("others_on_server_share") or 0.0)


def unfelt(at: Path) -> str:
    """Which knob of `service.json` was set and not felt (M23), and why; "" if there is none."""
    table = read_json(at).get("knobs", {}) if at.exists() else {}
    for name, knob in table.items():
        if knob["felt"] == Verdict.VIOLATED:
            return f"{name} not in force: {knob['level']} was set, but {knob['why']}"
    return ""


def neighbour(at: Path) -> Mapping[str, Any]:
    """What `host.json` says of the point's neighbour; empty where there was none."""
    table: Mapping[str, Any] = read_json(at).get("neighbour", {}) if at.exists() else {}
    return table


def not_as_asked(at: Path) -> str:
    """Why the machine or a neighbour of `host.json` was not as it had to be; "" if it was (M22)."""
    table = read_json(at) if at.exists() else {}
    if (slept_s := table.get("suspended_s")) is not None:
        return f"the machine was suspended for {slept_s} s while load ran; keep it awake"
    if (set_s := table.get("clock_set_s")) is not None:
        return f"the machine's time was set by {set_s} s while load ran, and samples go by it"
    every = [name for name in sorted(table) if _NEIGHBOUR.fullmatch(name)]
    return next((why for name in every if (why := _not_as_asked(name, table[name]))), "")


def not_one(at: Path) -> tuple[str, ...]:
    """Why clients on several hosts were not as one client: what `hosts.json` doubts (M14)."""
    table = read_json(at) if at.exists() else {}
    return tuple(str(why) for why in table.get("doubts", ()))


def _not_as_asked(name: str, results: Mapping[str, Any]) -> str:
    """`name`: its key, with which its logs are named too."""
    if died := results.get("died"):
        log = results.get("died_log") or f"{name}-0.log"
        return f"neighbour died: {results['kind']} {died[0]} while load ran; see {log}"
    if why := results.get("not_held"):
        return f"neighbour {results['kind']} did not hold its intensity: {why}"
    return ""


def shield(at: Path) -> str:
    """The shield that `service.json` names; "none" where it names none."""
    return str(read_json(at).get("shield", "none")) if at.exists() else "none"


def could_shield(at: Path) -> bool:
    """Whether `service.json` says that a shield was not asked for and could be had."""
    return bool(at.exists() and read_json(at).get("shield_could", False))


def read_point(path: Path) -> Point:
    """The point of a `point.json`."""
    table = read_json(path)
    check_version(table, codec.FORM, codec.MAJOR, oldest=codec.OLDEST, at=path)
    try:
        return codec.from_json(table)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreFault(
            f"the point cannot be read: {error}",
            at=str(path),
            fix="remove this point's folder and run the study again: it resumes there",
        ) from None


def misses(folder: Path, result: LoadResult, ratio: float) -> tuple[Misses | None, Misses | None]:
    """What missed the job's QoS bound, and what of it remains without disturbed windows.

    Args:
        folder: of the point.
        result: of the generator.
        ratio: n / n_eff, where the record has neither windows nor raw requests.

    Returns:
        None without a target; None for the second if nothing was disturbed, or it is not known.
    """
    bound = str(result.job.get("qos_bound") or "")
    if not bound:
        return None, None
    bound_ns = units.parse_ns(bound)
    windows = result.windows
    if windows is None:
        span = result.sojourn_ns
        over = span.histogram(f"{folder / LOAD} sojourn_ns.hdr").over(bound_ns) + span.lost
        sizes = older_clusters(folder, result, over, ratio)
        return Misses(requests=span.count, over=over, clusters=sizes), None
    missed = clusters.of_windows(windows, bound_ns)
    if not windows.disturbed:
        return missed, None
    return missed, clusters.of_windows(windows, bound_ns, is_undisturbed=True)


def older_clusters(folder: Path, result: LoadResult, over: int, ratio: float) -> tuple[int, ...]:
    """Of `over` misses in a record without windows: by raw requests, or else by `ratio`."""
    retained = raw.requests(folder / RAW) if over else None
    if retained is None:
        return clusters.alike(over, ratio)
    due_ns, sojourn_ns = retained
    bound_ns = units.parse_ns(str(result.job["qos_bound"]))
    return clusters.of_times(due_ns[sojourn_ns > bound_ns], over, bound_ns) or clusters.alike(
        over, ratio
    )


def correlation(folder: Path, result: LoadResult) -> dependence.Dependence:
    """Ratio n / n_eff of a run, and from what it was found."""
    return dependence.of_run(
        raw.sojourn_ns(folder / RAW),
        [part for part in intervals(folder / HLOG) if not part.tag],
        requests=result.sojourn_ns.count,
        q=float(result.job.get("qos_quantile") or USUAL_Q),
    )
