"""Every id of the three papers: measured, simulated, computed, or not yet, and by what.

`measured` names a study that comes with the lab; a test holds that it is there. An id that a later
study will measure is `not yet` until then, with what it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["measured", "simulated", "computed", "not yet", "background"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One id.

    Attributes:
        id, about: from PAPERS.
        state: how it can be had today; `background`: there is nothing to replicate.
        how: the command that does it, or what it waits for.
    """

    id: str
    about: str
    state: State
    how: str


_LATENCY = "sojourn run latency_vs_load"
_STAGES = "sojourn run breakdown"
_MANY = "needs more CPUs than this project was developed on, and a study"
_COLOCATION = "needs the co-location studies"
_KNOBS = "needs the isolation studies"
_READ = ""
_CLASSIFY = "sojourn classify --paper"
_TAILBENCH = "sojourn run tailbench"
_RESOURCES = "sojourn run resource_use"

_TABLE: tuple[tuple[str, str, State, str], ...] = (
    ("L1", "headlines: +52 % throughput per TCO", "computed", "sojourn replicate L32"),
    ("L2", "motivation: utilisation in industry", "background", _READ),
    ("L3", "causes: queueing, scheduling, imbalance", "measured", _STAGES),
    ("L4", "realistic QoS, unloaded latency, M/M/n beside it", "measured", _LATENCY),
    ("L5", "M/M/1: mean and p95 by load", "simulated", "sojourn replicate L5"),
    ("L6", "all loads from 0 to 100 %", "measured", _LATENCY),
    ("L7", "imbalance probes", "simulated", "sojourn replicate L7"),
    ("L8", "test bed", "background", _READ),
    ("L9", "load: exponential gaps, GET of 200 B", "measured", _LATENCY),
    ("L10", "life of a request in 15 steps", "measured", _STAGES),
    ("L11", "CPU split user, kernel, softIRQ", "measured", _STAGES),
    ("L12", "Table 1: stages unloaded and loaded", "simulated",
     "sojourn replicate L12 (measured: sojourn run breakdown)"),
    ("L13", "at overload nearly all is queueing", "simulated",
     "sojourn replicate L12 (measured: sojourn run breakdown)"),
    ("L14", "Fig. 2: L3 interference by load", "simulated", "sojourn replicate L14"),
    ("L15", "Fig. 3: 13 threads on 12 cores", "simulated", "sojourn replicate L15"),
    ("L16", "connections placed on threads", "simulated",
     "sojourn-sim queue --discipline placed:64; part of sojourn replicate L15"),
    ("L17", "Fig. 4: context switches cost nothing", "simulated",
     "sojourn replicate L17 (measured: sojourn run context_switch)"),
    ("L18", "Fig. 5: square wave under CFS and BVT", "simulated",
     "sojourn replicate L18 (measured: sojourn run square_wave)"),
    ("L19", "Fig. 6: two services under CFS", "simulated", "sojourn replicate L19"),
    ("L20", "CFS's wake-up placement", "simulated", "sojourn replicate L18"),
    ("L21", "network neighbours, floods, mixes", "simulated",
     "sojourn replicate L21 (the network neighbour alone)"),
    ("L22", "interference-aware provisioning", "computed", "sojourn provision"),
    ("L23", "Fig. 8: threads pinned 1:1", "simulated", "sojourn replicate L15"),
    ("L24", "nice, RT, quota, BVT", "simulated",
     "sojourn replicate L25 (measured: sojourn run scheduler_bakeoff)"),
    ("L25", "Fig. 9: schedulers compared", "simulated",
     "sojourn replicate L25 (measured: sojourn run scheduler_bakeoff)"),
    ("L26", "BVT", "simulated", "sojourn replicate L18"),
    ("L27", "neighbour metric: throughput over alone", "simulated", "sojourn replicate L29"),
    ("L28", "Table 2: time-shared with SPEC", "computed", "sojourn replicate L32 (its TCO row)"),
    ("L29", "neighbours do better at 90 % than at 70 %", "simulated", "sojourn replicate L29"),
    ("L30", "admission rule from Table 2", "computed", "sojourn replicate L34 (arithmetic)"),
    ("L31", "TCO model", "computed", "sojourn tco"),
    ("L32", "gain, matched servers, discount", "computed", "sojourn replicate L32"),
    ("L33", "Table 3: half the cores each", "computed", "sojourn replicate L34 (from its numbers)"),
    ("L34", "Google scenario", "computed", "sojourn replicate L34 (arithmetic)"),
    ("C1", "headlines", "background", _READ),
    ("C2", "Table I: platforms and prices", "simulated", "sojourn fleet with two platforms"),
    ("C3", "deployment: IRQ cores apart", "not yet", _MANY),
    ("C4", "default memcached and NGINX", "measured", _LATENCY),
    ("C5", "max RPS", "measured", _LATENCY),
    ("C6", "open-loop client", "measured", _LATENCY),
    ("C7", "Fig. 1: mean and p99 by load", "measured", _LATENCY),
    ("C8", "Table II: stages of memcached", "measured", _STAGES),
    ("C9", "Table III: stages of NGINX", "measured", _STAGES),
    ("C10", "decomposition as a bar", "measured", _STAGES),
    ("C11", "Fig. 2: thread scaling", "simulated", "sojourn replicate C11"),
    ("C12", "Fig. 3: key size", "not yet", "needs the input studies"),
    ("C13", "Fig. 4: value size", "not yet", "needs the input studies"),
    ("C14", "Fig. 5: number of items", "not yet", "needs the input studies"),
    ("C15", "Fig. 6: NGINX file size", "not yet", "needs the input studies"),
    ("C16", "Fig. 7: number of files", "not yet", "needs the input studies"),
    ("C17", "Fig. 8: container over bare metal", "measured", "sojourn run virtualisation"),
    ("C18", "isolation mechanisms", "not yet", _KNOBS),
    ("C19", "Table IV: cost of applying them", "not yet", _KNOBS),
    ("C20", "Figs. 9, 10: threads against cores", "simulated",
     "sojourn replicate C20 (arithmetic)"),
    ("C21", "Table V: hyper-threads", "not yet", "needs a machine with SMT, and a study"),
    ("C22", "Fig. 11: memcached with NGINX", "simulated", "sojourn replicate C22"),
    ("C23", "Table VI: on the IRQ cores", "not yet", _MANY),
    ("C24", "Figs. 12, 13: LLC ways", "not yet", "needs resctrl"),
    ("C25", "memory and network shares", "not yet", _KNOBS),
    ("C26", "fan-out", "simulated", "sojourn replicate C26 (arithmetic)"),
    ("P1", "non-scalable and SMT-insensitive services", "computed", _CLASSIFY),
    ("P2", "test bed", "background", _READ),
    ("P3", "resource manager", "not yet", "needs the run-time manager"),
    ("P4", "TailBench services", "measured", _TAILBENCH),
    ("P5", "timely ratio", "measured", _LATENCY),
    ("P6", "ST and SMT scenarios", "not yet", _MANY),
    ("P7", "metrics", "measured", _RESOURCES),
    ("P8", "LQoS = 5 × service", "computed", "sojourn replicate P8 (arithmetic)"),
    ("P9", "Fig. 3: scatter with LOWESS", "measured", _TAILBENCH),
    ("P10", "scaling by threads", "simulated", "sojourn replicate P10"),
    ("P11", "causes of not scaling", "not yet", _MANY),
    ("P12", "actions to take", "computed", "sojourn classify prints them"),
    ("P13", "Fig. 4: resources at LQoS", "measured", _RESOURCES),
    ("P14", "CPU and LLC by scenario", "measured", _RESOURCES),
    ("P15", "disk and network by service", "measured", _RESOURCES),
    ("P16", "Table 3: signatures", "computed", _CLASSIFY),
    ("P17", "Table 4: classes", "computed", _CLASSIFY),
    *((f"P{n}", about, "not yet", why) for n, about, why in (
        (18, "Fig. 5: CAT", "needs resctrl"),
        (19, "Fig. 6: MBA", "needs resctrl"),
        (20, "Fig. 7: disk", _COLOCATION),
        (21, "Fig. A.8: SMT speed-up", "needs a machine with SMT"),
        (22, "coverage of resources", "needs the run-time manager"),
    )),
)  # fmt: skip

CATALOGUE: tuple[Entry, ...] = tuple(Entry(*row) for row in _TABLE)
