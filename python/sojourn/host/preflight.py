"""Whether the CPUs that a server would get are its own, looked at before anything is measured.

Two tasks of the lab's own watch each of these CPUs (`sentinel.py`). What stops the ordinary one is
what an unshielded server meets: other tasks, interrupts, the hypervisor. What stops the real-time
one is what nothing can shield: interrupts and the hypervisor.

Stops of length L, ν a second, hold up a share f = ν·E[(L − bound)⁺] of the time for longer than the
QoS bound. At load ρ, f/(1 − ρ) of the requests are above it, so the highest load within the target
ends near ρ = 1 − f/(1 − q): `f/(1 − q)` of the load is the machine's, and is what is judged here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.host.activity import STEAL, cpu_ticks
from sojourn.host.tree import Tree, cpu_text
from sojourn.units import show_ns

SENTINEL = Path(__file__).with_name("sentinel.py")
BUSY, URGENT = "busy", "urgent"
START_S_MAX = 20.0  # an interpreter on a machine that is busy indeed
CALM_SHARE_MAX = 0.1  # of the load; a tenth of the answer is about its own uncertainty
MACHINE_SHARE_MIN = 0.5  # from here on the machine decides (half the load and more)
TAKEN_SHARE_MAX = 0.05  # of the CPU's time, by stops of any length
STEAL_SHARE_MAX = 0.01  # M27


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """Times for which a CPU did not run a task that was ready.

    Attributes:
        lengths_ns: of each stop above 0.1 ms.
        watched_ns: how long was watched, summed over the CPUs.
    """

    lengths_ns: tuple[int, ...] = ()
    watched_ns: int = 0

    @property
    def longest_ns(self) -> int:
        """The longest; 0 without any."""
        return max(self.lengths_ns, default=0)

    @property
    def taken_share(self) -> float:
        """Share of the time in stops of any length."""
        return sum(self.lengths_ns) / self.watched_ns if self.watched_ns else 0.0

    def over_share(self, bound_ns: float) -> float:
        """f: share of the time in which a stop had lasted longer than `bound_ns`.

        >>> Stops(lengths_ns=(3_000_000, 500_000), watched_ns=1_000_000_000).over_share(1e6)
        0.002
        """
        late_ns = sum(max(0.0, length - bound_ns) for length in self.lengths_ns)
        return late_ns / self.watched_ns if self.watched_ns else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What stops are judged by: the share 1 − q of requests may take longer than the bound."""

    q: float = 0.99
    bound_ns: float = 1e6

    def lost_share(self, stops: Stops) -> float:
        """f/(1 − q), at most 1: the share of the highest load that the machine takes."""
        return min(1.0, stops.over_share(self.bound_ns) / (1.0 - self.q))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The server's CPUs for some seconds.

    Attributes:
        cpus: that were watched.
        all: what stopped an ordinary task.
        machine: what stopped a real-time task: interrupts, hypervisor; None: rights lack.
        steal_share: what the hypervisor says it took; None: not told.
        names: who ran there, worst first; empty: not asked.
    """

    cpus: tuple[int, ...]
    all: Stops
    machine: Stops | None = None
    steal_share: float | None = None
    names: tuple[str, ...] = field(default=())

    @property
    def is_watched(self) -> bool:
        """Whether the CPUs could be watched: a sandbox may refuse to put a task on one."""
        return self.all.watched_ns > 0

    def decides(self, *, is_shielded: bool) -> Stops:
        """The stops that a server meets: a shielded one meets only the machine's."""
        return self.machine if is_shielded and self.machine is not None else self.all

    def is_calm(self, target: Target, *, is_shielded: bool = False) -> bool:
        """Whether the answer would be the service's own."""
        stops = self.decides(is_shielded=is_shielded)
        return (
            self.is_watched
            and target.lost_share(stops) <= CALM_SHARE_MAX
            and stops.taken_share <= TAKEN_SHARE_MAX
            and (self.steal_share or 0.0) <= STEAL_SHARE_MAX
        )

    def seen(self, target: Target) -> str:
        """What was seen, in a line."""
        cpus = cpu_text(self.cpus)
        if not self.is_watched:
            return f"CPU {cpus} could not be watched"
        parts = [f"an ordinary task {_words(self.all, target, f'CPU {cpus}')}"]
        if self.machine is not None:
            words = _words(self.machine, target)
            parts.append(f"a real-time one, which ordinary tasks cannot stop, {words}")
        if self.steal_share:
            parts.append(f"steal {_percent(self.steal_share)}")
        who = f" (ran there: {', '.join(self.names)})" if self.names else ""
        return "; ".join(parts) + who

    def effect(self, target: Target, *, is_shielded: bool = False) -> str:
        """What that does to the answer, in a line."""
        stops = self.decides(is_shielded=is_shielded)
        lost = target.lost_share(stops)
        if not self.is_watched:
            return "what the machine does to the answer is not known"
        if lost >= MACHINE_SHARE_MIN:
            return (
                f"the answer will be the machine's: stops above {show_ns(target.bound_ns)} alone "
                f"use up {_percent(lost)} of what the QoS target allows"
            )
        if lost > CALM_SHARE_MAX:
            return f"the highest load comes out about {_percent(lost)} too low"
        if stops.taken_share > TAKEN_SHARE_MAX:
            return f"the server gets {_percent(stops.taken_share)} less of its CPU"
        if (self.steal_share or 0.0) > STEAL_SHARE_MAX:
            return "points with more than 1 % of steal are unknown (M27)"
        return "little: the answer will be the service's own"


def look(cpus: Sequence[int], length_s: float, *, tree: Tree | None = None) -> Look:
    """Watch the CPUs that a server would get.

    Args:
        cpus: of the server.
        length_s: how long; the CPUs are kept busy meanwhile.
        tree: where /proc lies.
    """
    tree = tree or Tree()
    before = [cpu_ticks(tree, cpu) for cpu in cpus]
    text = _watch(cpus, length_s)
    after = [cpu_ticks(tree, cpu) for cpu in cpus]
    ticks = sum(sum(b) - sum(a) for a, b in zip(before, after, strict=True))
    stolen = sum(b[STEAL] - a[STEAL] for a, b in zip(before, after, strict=True))
    urgent = [result for result in text[URGENT] if result["is_urgent"]]
    return Look(
        cpus=tuple(cpus),
        all=_sum(text[BUSY]),
        machine=_sum(urgent) if urgent else None,
        steal_share=stolen / ticks if ticks > 0 else None,
    )


def summary(seen: Look, target: Target | None = None) -> dict[str, Any]:
    """A look as JSON values; of the stops only what they come to. `over_share` is f."""
    target = target or Target()
    results = {"all": seen.all, "machine": seen.machine}
    return {
        "cpus": list(seen.cpus),
        "bound_ns": target.bound_ns,
        "q": target.q,
        "steal_share": seen.steal_share,
        "names": list(seen.names),
        **{
            name: None
            if stops is None
            else {
                "watched_s": stops.watched_ns / 1e9,
                "stops": len(stops.lengths_ns),
                "longest_ns": stops.longest_ns,
                "taken_share": stops.taken_share,
                "over_share": stops.over_share(target.bound_ns),
            }
            for name, stops in results.items()
        },
    }


def _watch(cpus: Sequence[int], length_s: float) -> dict[str, list[dict[str, object]]]:
    """What the sentinels say, by way; one that cannot watch is left out."""
    running: list[tuple[str, subprocess.Popen[str]]] = []
    texts: dict[str, list[dict[str, object]]] = {BUSY: [], URGENT: []}
    end = time.monotonic() + length_s + START_S_MAX
    try:
        for cpu in cpus:
            for way in (BUSY, URGENT):
                command = [sys.executable, "-I", "-S", str(SENTINEL), str(cpu), str(length_s), way]
                running.append((way, _start(command)))
        for way, process in running:
            try:
                out, _ = process.communicate(timeout=max(0.1, end - time.monotonic()))
                texts[way].append(json.loads(out))
            except (subprocess.TimeoutExpired, ValueError):
                continue
    finally:
        for _, process in running:
            process.kill()  # no effect on one that has ended and was waited for
            process.wait()
    return texts


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # ^C is for the lab, which ends them
    )


def _sum(texts: Sequence[dict[str, object]]) -> Stops:
    lengths: list[int] = []
    watched = 0
    for result in texts:
        stops, watched_ns = result["stops_ns"], result["watched_ns"]
        lengths += stops if isinstance(stops, list) else []
        watched += watched_ns if isinstance(watched_ns, int) else 0
    return Stops(lengths_ns=tuple(lengths), watched_ns=watched)


def _words(stops: Stops, target: Target, where: str = "") -> str:
    of = f" of {where}" if where else ""
    if not stops.lengths_ns:
        return f"lost nothing{of}"
    over = _percent(stops.over_share(target.bound_ns))
    return (
        f"lost {_percent(stops.taken_share)}{of}, up to {show_ns(stops.longest_ns)} at once, "
        f"{over} beyond {show_ns(target.bound_ns)}"
    )


def _percent(share: float) -> str:
    """Two digits that say something.

    >>> _percent(0.0041), _percent(0.999), _percent(0)
    ('0.41 %', '100 %', '0 %')
    """
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"
