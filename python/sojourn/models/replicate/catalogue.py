"""Every id of the three papers: measured, simulated, computed, or not yet, and by which command.

The list is derived: a study names the ids that it measures (`papers` in its file), an experiment
those that it simulates or computes (`Experiment.ids`). Here stand only the ids, what each is, and
commands that are neither a study nor an experiment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sojourn.models.replicate.kind import Experiment

State = Literal["measured", "simulated", "computed", "not yet", "background"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One id.

    Attributes:
        id, about: from PAPERS.
        state: how to get it today; `background`: there is nothing to replicate.
        how: the commands that do it, or what is missing.
        studies: the built-in studies that measure it.
    """

    id: str
    about: str
    state: State
    how: str
    studies: tuple[str, ...] = ()


_MANY = "needs more CPUs than this project was developed on, and a study"
_CLASSIFY = "sojourn classify --paper"

#: Id → what it is.
_ABOUT: Mapping[str, str] = {
    "L1": "headlines: +52 % throughput per TCO",
    "L2": "motivation: utilisation in industry",
    "L3": "causes: queueing, scheduling, imbalance",
    "L4": "realistic QoS, unloaded latency, M/M/n beside it",
    "L5": "M/M/1: mean and p95 by load",
    "L6": "all loads from 0 to 100 %",
    "L7": "imbalance probes",
    "L8": "test bed: idle states and frequency scaling off",
    "L9": "load: exponential gaps, GET of 200 B",
    "L10": "life of a request in 15 steps",
    "L11": "CPU split user, kernel, softIRQ",
    "L12": "Table 1: stages unloaded and loaded",
    "L13": "at overload nearly all is queueing",
    "L14": "Fig. 2: L3 interference by load",
    "L15": "Fig. 3: 13 threads on 12 cores",
    "L16": "connections placed on threads",
    "L17": "Fig. 4: context switches cost nothing",
    "L18": "Fig. 5: square wave under CFS and BVT",
    "L19": "Fig. 6: two services under CFS",
    "L20": "CFS's wake-up placement",
    "L21": "network neighbours, floods, mixes",
    "L22": "interference-aware provisioning",
    "L23": "Fig. 8: threads pinned 1:1",
    "L24": "nice, RT, quota, BVT",
    "L25": "Fig. 9: schedulers compared",
    "L26": "BVT",
    "L27": "neighbour metric: throughput over alone",
    "L28": "Table 2: time-shared with SPEC",
    "L29": "neighbours do better at 90 % than at 70 %",
    "L30": "admission rule from Table 2",
    "L31": "TCO model",
    "L32": "gain, matched servers, discount",
    "L33": "Table 3: half the cores each",
    "L34": "Google scenario",
    "C1": "headlines",
    "C2": "Table I: platforms and prices",
    "C3": "deployment: IRQ cores apart",
    "C4": "default memcached and NGINX",
    "C5": "max RPS",
    "C6": "open-loop client",
    "C7": "Fig. 1: mean and p99 by load",
    "C8": "Table II: stages of memcached",
    "C9": "Table III: stages of NGINX",
    "C10": "decomposition as a bar",
    "C11": "Fig. 2: thread scaling",
    "C12": "Fig. 3: key size",
    "C13": "Fig. 4: value size",
    "C14": "Fig. 5: number of items",
    "C15": "Fig. 6: NGINX file size",
    "C16": "Fig. 7: number of files",
    "C17": "Fig. 8: container over bare metal",
    "C18": "isolation mechanisms",
    "C19": "Table IV: cost of applying them",
    "C20": "Figs. 9, 10: threads against cores",
    "C21": "Table V: hyper-threads",
    "C22": "Fig. 11: memcached with NGINX",
    "C23": "Table VI: on the IRQ cores",
    "C24": "Figs. 12, 13: LLC ways",
    "C25": "memory and network shares",
    "C26": "fan-out",
    "P1": "non-scalable and SMT-insensitive services",
    "P2": "test bed",
    "P3": "resource manager",
    "P4": "TailBench services",
    "P5": "timely ratio",
    "P6": "ST and SMT scenarios",
    "P7": "metrics",
    "P8": "LQoS = 5 × service",
    "P9": "Fig. 3: scatter with LOWESS",
    "P10": "scaling by threads",
    "P11": "causes of not scaling",
    "P12": "actions to take",
    "P13": "Fig. 4: resources at LQoS",
    "P14": "CPU and LLC by scenario",
    "P15": "disk and network by service",
    "P16": "Table 3: signatures",
    "P17": "Table 4: classes",
    "P18": "Fig. 5: CAT",
    "P19": "Fig. 6: MBA",
    "P20": "Fig. 7: disk",
    "P21": "Fig. A.8: SMT speed-up",
    "P22": "coverage of resources",
}

#: Ids of which there is nothing to replicate.
_BACKGROUND = frozenset({"L2", "C1", "P2"})

#: Commands that are neither a study nor an experiment, or what is missing.
_OTHER: Mapping[str, tuple[State, str]] = {
    "L1": ("computed", "sojourn replicate L32"),
    "L16": ("simulated", "sojourn-sim queue --discipline placed:64"),
    "L22": ("computed", "sojourn provision"),
    "L31": ("computed", "sojourn tco"),
    "C2": ("simulated", "sojourn fleet (with two platforms)"),
    "C3": ("not yet", _MANY),
    "P1": ("computed", _CLASSIFY),
    "P11": ("not yet", _MANY),
    "P12": ("computed", "sojourn classify (prints them)"),
    "P16": ("computed", _CLASSIFY),
    "P17": ("computed", _CLASSIFY),
    "P22": ("not yet", "needs more moved than CPU time and cores"),
}


def entries(
    experiments: Sequence[Experiment], studies: Mapping[str, Sequence[str]]
) -> tuple[Entry, ...]:
    """The list in the papers' order.

    Args:
        experiments: what simulates or computes.
        studies: id → the built-in studies that measure it.
    """
    by_id = {name: experiment for experiment in experiments for name in experiment.ids}
    return tuple(_entry(name, by_id.get(name), tuple(studies.get(name, ()))) for name in _ABOUT)


def _entry(name: str, experiment: Experiment | None, studies: tuple[str, ...]) -> Entry:
    """One id: measured where a study measures it, else as the experiment or command has it."""
    state, how = _OTHER.get(name, ("background" if name in _BACKGROUND else "not yet", ""))
    commands = [f"sojourn run {study}" for study in studies]
    if experiment is not None:
        state = experiment.label
        before = f"{state}: " if studies else ""
        commands.append(f"{before}sojourn replicate {experiment.ids[0]}")
    if studies:
        state = "measured"
    if how and not (commands and how.startswith("needs ")):
        commands.append(how)
    return Entry(name, _ABOUT[name], state, "; ".join(commands), studies)
