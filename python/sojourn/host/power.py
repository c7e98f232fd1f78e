"""Frequency and idle states: what the CPUs do to save power, and so to latency (L8)."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleState:
    """One idle state. `exit_us`: time to wake from it, us."""

    name: str
    exit_us: int
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """None or "": the machine does not tell, as in most virtual machines.

    Attributes:
        governors: those in use, over all CPUs.
        turbo: whether frequencies above the nominal one are allowed.
        idle_driver, idle_states: of CPU 0.
    """

    driver: str
    governors: tuple[str, ...]
    preference: str
    turbo: bool | None
    khz_min: int | None
    khz_max: int | None
    idle_driver: str
    idle_governor: str
    idle_states: tuple[IdleState, ...]


def read(tree: Tree, cpus: tuple[int, ...]) -> Power:
    """Read cpufreq and cpuidle of `cpus`."""
    first = f"{CPU_DIR}/cpu{cpus[0] if cpus else 0}"
    results = (tree.text(f"{CPU_DIR}/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus)
    return Power(
        driver=tree.text(f"{first}/cpufreq/scaling_driver") or "",
        governors=tuple(sorted({governor for governor in results if governor})),
        preference=tree.text(f"{first}/cpufreq/energy_performance_preference") or "",
        turbo=_turbo(tree),
        khz_min=tree.number(f"{first}/cpufreq/scaling_min_freq")
        or tree.number(f"{first}/cpufreq/cpuinfo_min_freq"),
        khz_max=tree.number(f"{first}/cpufreq/scaling_max_freq")
        or tree.number(f"{first}/cpufreq/cpuinfo_max_freq"),
        idle_driver=tree.text(f"{CPU_DIR}/cpuidle/current_driver") or "",
        idle_governor=tree.text(f"{CPU_DIR}/cpuidle/current_governor") or "",
        idle_states=_idle_states(tree, f"{first}/cpuidle"),
    )


def _turbo(tree: Tree) -> bool | None:
    no_turbo = tree.number(f"{CPU_DIR}/intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = tree.number(f"{CPU_DIR}/cpufreq/boost")
    return None if boost is None else boost == 1


def _idle_states(tree: Tree, base: str) -> tuple[IdleState, ...]:
    return tuple(
        IdleState(
            name=tree.text(f"{base}/{state}/name") or state,
            exit_us=tree.number(f"{base}/{state}/latency") or 0,
            enabled=tree.number(f"{base}/{state}/disable") == 0,
        )
        for state in tree.names(base)
        if state.startswith("state")
    )
