"""Who limited the load, or delayed it beyond when it was due."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sojourn.referee.stops import Gaps
from sojourn.referee.usage import Usage
from sojourn.units import show_length

FULL = 0.9  # of the time a thread, or all CPUs together, are wanted
REACHED = 0.98  # of its rate, and a tool has reached it
SIGMAS = 3.0  # of a Poisson count: by chance as many requests lack
OF_MISSING = 0.8  # of what lacks, and a cause explains it
STOPPED = 0.002  # of the time the server stood still, and it is worth a word
HELD = 0.5  # of the requests followed a reply at once: connections were what lacked
SEEN_S = 2.0  # of load, in which there are two looks at threads at least
HIDDEN = (
    "most connections had one request, so whether requests waited for replies is not known; "
    "--rate decides it"
)
FASTER = 1.5  # times the rate of users: a tool that sends as fast as replies come


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limit.

    Attributes:
        who: "client", "server", "client and server", "connections", "none" or "unknown".
        why: in a sentence.
        is_server_stopped: whether the server stood still for some time.
        is_short: whether requests are missing that were not due in a stop.
    """

    who: str
    why: str
    is_server_stopped: bool = False
    is_short: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the limit is found from.

    Attributes:
        rate_rps: asked for; None: not known, or as fast as it goes.
        due: requests that were due by that rate.
        sent: requests that came.
        seconds: of load.
        is_random: they were due at random, so their number is.
        seen: stops and pauses.
        held_share: of the requests that followed a reply at once; None: too few had one before.
        client, server: what their threads did; None: not seen.
    """

    rate_rps: float | None
    due: float
    sent: int
    seconds: float
    seen: Gaps
    held_share: float | None
    client: Usage | None
    server: Usage | None
    is_random: bool = False

    @property
    def missing(self) -> float:
        """Requests that were due and did not come; 0 if the tool reached its rate."""
        chance = SIGMAS * math.sqrt(self.due) if self.is_random else 0.0
        lack = self.due - self.sent
        return lack if lack > max((1 - REACHED) * self.due, chance) else 0.0


def limit(of: Evidence) -> Limit:
    """Name the limit.

    A client that spins uses a CPU and is no limit as long as it sends what is due.
    """
    stopped_s = sum(stop.length_ns for stop in of.seen.stops) / 1e9
    is_stopped = stopped_s > STOPPED * of.seconds
    is_rated = of.rate_rps and of.sent <= FASTER * of.due
    who, why = _rated(of) if is_rated else _unrated(of)
    is_short = _is_short(of)
    is_other = who == "none" or (who == "connections" and not is_short) or why == HIDDEN
    if is_stopped and is_other:
        count = len(of.seen.stops)
        who = "server"
        why = f"it {of.seen.how} {count} times, {show_length(stopped_s)} in all"
    elif who == "none" and of.seen.behind:
        longest_s = max(one.lag_ns for one in of.seen.behind) / 1e9
        who = "server"
        why = f"requests fell behind {len(of.seen.behind)} times, by up to {show_length(longest_s)}"
    return Limit(who=who, why=why, is_server_stopped=is_stopped, is_short=is_short)


def _is_short(of: Evidence) -> bool:
    omitted = sum(stop.omitted for stop in of.seen.stops)
    return of.rate_rps is not None and omitted < OF_MISSING * of.missing


def _rated(of: Evidence) -> tuple[str, str]:
    missing = of.missing
    if not missing:
        return "none", f"{of.sent:,} of {of.due:,.0f} due requests came"
    lack = f"{missing:,.0f} of {of.due:,.0f} due requests are missing"
    if not _is_short(of):
        return "server", f"{lack}, and they were due while it {of.seen.how}"
    who, why = _full(of)
    if not who and of.held_share is not None and of.held_share >= HELD:
        who, why = "connections", f"{of.held_share:.0%} of the requests waited for one"
    if who:
        return who, f"{lack}; {why}"
    return "unknown", f"{lack}, and {_dark(of) or 'no CPU was full'}"


def _unrated(of: Evidence) -> tuple[str, str]:
    who, why = _full(of)
    if "client" not in who and (dark := _dark(of, *(["client"] if who else []))):
        return "unknown", dark
    if who:
        return who, why
    if of.held_share is None and of.rate_rps:
        return "none", f"{of.sent:,} requests came, and {of.due:,.0f} were due"
    if of.held_share is None:
        return "unknown", HIDDEN
    if of.held_share >= HELD:
        return (
            "connections",
            f"{of.held_share:.0%} of the requests followed a reply at once, and no CPU was full",
        )
    return "none", "no CPU was full, and connections had time between requests"


def _full(of: Evidence) -> tuple[str, str]:
    """Whose threads or CPUs were full."""
    sides = [("client", of.client), ("server", of.server)]
    full = [(who, _how_full(use)) for who, use in sides if use is not None and _is_full(use)]
    return " and ".join(who for who, _ in full), "; ".join(f"{who}: {how}" for who, how in full)


def _dark(of: Evidence, *of_whom: str) -> str:
    """Of which threads no sample shows whether they were full; "" if there is none such.

    Args:
        of: the evidence.
        of_whom: the sides that are asked for; (): both.
    """
    sides = [("client", of.client), ("server", of.server)]
    dark = [who for who, use in sides if use is not None and use.seconds <= 0]
    named = [who for who in dark if not of_whom or who in of_whom]
    if not named:
        return ""
    return (
        f"whether a CPU was full is not known, because no two looks at the {' and '.join(named)} "
        f"lie within {of.seconds:.2g} s of load: run it for {SEEN_S:g} s or longer"
    )


def _is_full(use: Usage) -> bool:
    return use.busiest_wants >= FULL or use.wants >= FULL


def _how_full(use: Usage) -> str:
    if use.busiest_wants >= FULL:
        text = f"its thread {use.busiest} wanted a CPU {use.busiest_wants:.0%} of the time"
    else:
        text = f"its threads wanted {use.wants:.0%} of {use.cpus} CPUs"
    return f"{text}, and waited for one in {use.waits:.0%} of that"
