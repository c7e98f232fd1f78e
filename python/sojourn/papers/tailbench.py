"""What the FGCS paper measured of its nine services, beside what was found of ours.

Numbers are the paper's (P8 table 2, P10, P13 to P17). Services are other programs with inputs of
their own, and machines differ, so a number of theirs is a neighbour of ours and no target. P14 and
P15 are figures whose numbers the text gives in part; what it does not give is not here.
"""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.findings.answer import load_range
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.highest_load import MaxLoad, is_closed
from sojourn.findings.resource_use import Side, use_text
from sojourn.install import media_streaming as films
from sojourn.spec import ServiceSpec
from sojourn.stats.method import Method
from sojourn.text.numbers import percentile
from sojourn.units import show_count, show_ns

METHOD = Method(
    name="paper_tailbench",
    about="the FGCS paper's targets, loads and resources of its services beside ours",
    ids=("P8", "P10", "P13", "P14", "P15", "P16", "P17"),
    source="Pons et al., FGCS 2022, tables 2 to 4, figures 3 and 4",
)

Row = tuple[str, str, str, str]
Q = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the paper says of one service.

    Attributes:
        name: as the paper calls it.
        lqos_ms: its bound on p95.
        one: load within it on one thread, and its unit.
        scaling: load with more threads, in words.
        use: at the crossing: CPU, last-level cache, memory bandwidth, network, disk.
        class_of: which resource it needs (P17).
    """

    name: str
    lqos_ms: float
    one: str
    scaling: str
    use: str
    class_of: str


#: By our kind of service. Kinds that are not there yet cost nothing.
OF = {
    "img_dnn": Known(
        name="img-dnn",
        lqos_ms=3.6,
        one="600 requests/s",
        scaling="600, 1600 and 2900 requests/s in 1-, 2- and 8-ST (2.67 and 4.83 times)",
        use="CPU medium and level, LLC above 14 of 16.5 MB in 8-ST, memory bandwidth up by 10^4",
        class_of="CPU, scalable",
    ),
    "ordered_map": Known(
        name="masstree",
        lqos_ms=1.4,
        one="1000 requests/s",
        scaling="best in 2-ST, more in 2-SMT than there: bound by fetches from memory",
        use="CPU falls with threads, LLC and memory bandwidth level",
        class_of="CPU, not scalable",
    ),
    "moses": Known(
        name="moses",
        lqos_ms=7.1,
        one="250 requests/s",
        scaling="scales in 2- and 8-ST",
        use="CPU high and rising, LLC high, memory bandwidth up by 10^4, disk above 1 MB/s",
        class_of="disk, reads",
    ),
    "shore": Known(
        name="shore",
        lqos_ms=25.0,
        one="90 requests/s",
        scaling="scales mainly in 8-ST; insensitive to SMT",
        use="CPU low and rising, LLC about 12 of 16.5 MB in 8-ST, disk above 1 MB/s",
        class_of="disk, writes",
    ),
    "silo": Known(
        name="silo",
        lqos_ms=0.5,
        one="700 requests/s, though table and text seem to have swapped it with specjbb (D6)",
        scaling="best in 2-ST; 8-ST carries less than 1-ST",
        use="CPU low and falling, LLC and memory bandwidth level",
        class_of="CPU, not scalable",
    ),
    "specjbb": Known(
        name="specjbb",
        lqos_ms=0.7,
        one="1500 requests/s in the table, 700 in the text (D6)",
        scaling="700, 1200 and 1100 requests/s in 1-, 2- and 8-ST",
        use="CPU low and falling, LLC high and level",
        class_of="CPU, not scalable",
    ),
    "sphinx": Known(
        name="sphinx",
        lqos_ms=4275.4,
        one="0.6 requests/s",
        scaling="scales in 2- and 8-ST; ST carries 2 times as much as SMT on 2 threads, 1.4 on 8",
        use="CPU above 90 % in 8-ST, LLC above 14 of 16.5 MB, memory bandwidth up by 10^4",
        class_of="CPU, scalable",
    ),
    "xapian": Known(
        name="xapian",
        lqos_ms=6.2,
        one="300 requests/s",
        scaling="scales in 2- and 8-ST",
        use="CPU medium and level, LLC rising, memory bandwidth up by 10^3, disk above 1 MB/s",
        class_of="disk, reads",
    ),
    "media_streaming": Known(
        name="media-streaming",
        lqos_ms=500.0,
        one="25 sessions",
        scaling="up to about 75 sessions, mainly in 8-ST, then flat: saturated though the target "
        "is never missed; insensitive to SMT",
        use="CPU low and falling, LLC about 7 of 16.5 MB, network 0 to about 1000 MB/s",
        class_of="network, streaming",
    ),
}
#: Resources of a side that stand beside the paper's words, and what they are called.
SHOWN = (
    ("service_cpu_share", "CPU"),
    ("llc_bytes", "LLC"),
    ("memory_bytes_per_s", "memory"),
    ("network_tx_bytes_per_s", "network"),
    ("disk_read_bytes_per_s", "disk reads"),
    ("disk_write_bytes_per_s", "disk writes"),
)


def rows(finding: ServiceFinding, spec: ServiceSpec) -> tuple[Row, ...]:
    """All rows that apply to this service, under the levels that `spec` has."""
    known = OF.get(finding.kind)
    if known is None or finding.qos is None or finding.qos.q != Q:
        return ()
    where = f" in {name}" if (name := scenario(spec)) else ""
    bound = f"{percentile(Q)} ≤ {show_ns(known.lqos_ms * 1e6)}"
    ours = f"{percentile(finding.qos.q)} ≤ {show_ns(finding.qos.bound_ns)}; {finding.qos.rule}"
    table: list[Row] = [
        (f"QoS target of {known.name}", f"{bound} (LQoS)", ours, "P8"),
        (
            "load within QoS",
            f"{known.one} in 1-ST; {known.scaling}",
            f"{_within(finding)}{where}{_sessions(finding)}",
            "P8, P10",
        ),
    ]
    sides = finding.resources.sides if finding.resources else ()
    if sides and (used := _used(sides[0])):
        paper = f"{known.use}; {known.class_of}"
        table.append(("use at the QoS crossing", paper, f"{used}{where}", "P14 to P17"))
    return tuple(table)


def scenario(spec: ServiceSpec) -> str:
    """The scenario of P6 that a service's cores make; "" where the study does not say."""
    layout = spec.layout
    if layout is None:
        return ""
    return f"{layout.cpus}-{'SMT' if layout.cpus > layout.cores else 'ST'}"


def _within(finding: ServiceFinding) -> str:
    """The highest load within QoS: requests/s with its interval, or what the sweep says."""
    best = finding.section(MaxLoad)
    border = best.border if best else None
    if border is None or not is_closed(border):
        return f"{load_range(finding.points, best)} of max RPS"
    lo, hi = (show_count(end) for end in (border.interval_rps.lo, border.interval_rps.hi))
    return f"{show_count(border.estimate_rps)} requests/s ({lo} to {hi})"


def _sessions(finding: ServiceFinding) -> str:
    """How many sessions are under way at the highest load within QoS, by Little's law."""
    best = finding.section(MaxLoad)
    border = best.border if best else None
    if finding.kind != films.NAME or border is None or not is_closed(border):
        return ""
    begun_per_s = border.estimate_rps / (films.CHUNKS + 1)
    under_way = begun_per_s * films.SESSION_S
    return f", {show_count(under_way)} sessions under way"


def _used(side: Side) -> str:
    uses = [(what, side.use(name)) for name, what in SHOWN]
    return ", ".join(f"{what} {use_text(use)}" for what, use in uses if use is not None)
