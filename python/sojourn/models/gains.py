"""What a co-location table is worth: the gains of L32 and L34 from any table, by one path.

L32: beside the service on all cores, at each load what neighbours achieve there. L34: up to the
load that a QoS bound and a largest loss admit; on cores of its own the service's share of them is
gained, on shared ones what neighbours achieve at that load.

Numbers that were measured have intervals, and so have the gains, by interval arithmetic. A gain of
L32 rises with the throughput, so its ends are the gains at the ends of that. The load of L34 lies
between the one that is admitted surely (every interval within its bound) and the one that cannot be
excluded (a part of every interval is), and the gain between the least and the most over all loads
of the table from the one to the other; where nothing is admitted surely no one need be co-located,
which gains nothing.

>>> from sojourn.models.colocation import L28, L33
>>> [f"{100 * one.gain:.2f}" for one in of_loads(L28, Costs())]
['51.95', '29.07', '17.19', '10.32', '17.44']
>>> found = admitted(L33, Costs(), bound_ns=500e3, loss_max=0.10)
>>> found.load, f"{100 * found.gain:.2f}"
(0.6, '17.19')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.models.colocation import MEAN, Table
from sojourn.models.colocation_row import Beside
from sojourn.models.provision import Word, provision
from sojourn.models.tco import Costs, gain, shared_gain

#: The paper's row of Table 2, made from unrounded throughputs (L28): load and gain as printed.
PAPER_L32 = {0.1: 0.52, 0.3: 0.29, 0.5: 0.18, 0.7: 0.11, 0.9: 0.18}
#: Its rule for cores of their own (L34): bound, ns, and largest loss; load and gain as printed.
PAPER_L34 = (500e3, 0.10, 0.60, 0.17)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What co-location gains at one load (L32, and L34 on cores of its own).

    Attributes:
        load: of the service, share of its peak.
        throughput, throughput_lo, throughput_hi: of the neighbour, alone = 1; ends None: it has no
            interval.
        gain, gain_lo, gain_hi: what two clusters would cost over the one, minus one. On cores of
            its own the paper leaves out what neighbours lose, so there it has no ends.
        after_loss, after_loss_lo, after_loss_hi: the same less what neighbours on their own cores
            lose; on shared ones it is the gain.
    """

    load: float
    throughput: float
    throughput_lo: float | None
    throughput_hi: float | None
    gain: float
    gain_lo: float | None
    gain_hi: float | None
    after_loss: float
    after_loss_lo: float | None
    after_loss_hi: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The load that a bound and a loss admit, and what co-location gains there (L34).

    Attributes:
        bound_ns, loss_max: the rule.
        load: by the numbers themselves; None: none.
        load_lo, load_hi: surely, and what cannot be excluded; None: none.
        gain: at `load`; 0 where none is admitted; None: nothing is known of the throughput there.
        gain_lo, gain_hi: its ends; equal to it without intervals.
        verdict: of the sure plan.
        unknown: neighbours of which it is not known whether any load fits. Where others surely fit,
            these are left out of all three loads.
    """

    bound_ns: float
    loss_max: float
    load: float | None
    load_lo: float | None
    load_hi: float | None
    gain: float | None
    gain_lo: float | None
    gain_hi: float | None
    verdict: Word
    unknown: tuple[str, ...]


def of_loads(table: Table, costs: Costs, neighbour: str = MEAN) -> tuple[Gain, ...]:
    """The gain at each load at which the neighbour's throughput is known, ascending.

    Raises:
        SpecFault: the table has no throughput of this neighbour.
    """
    rows = [r for r in table.rows if r.neighbour == neighbour and r.throughput is not None]
    if not rows:
        raise table.lacks(neighbour)
    return tuple(_gain(table, costs, row) for row in sorted(rows, key=lambda row: row.load))


def _gain(table: Table, costs: Costs, row: Beside) -> Gain:
    value = row.throughput or 0.0
    ends = (row.throughput_lo, row.throughput_hi)
    after = [None if end is None else _after_loss(table, costs, row.load, end) for end in ends]
    gains = after if table.core_share == 1 else [None, None]
    return Gain(
        load=row.load,
        throughput=value,
        throughput_lo=ends[0],
        throughput_hi=ends[1],
        gain=_at(table, costs, row.load, value),
        gain_lo=gains[0],
        gain_hi=gains[1],
        after_loss=_after_loss(table, costs, row.load, value),
        after_loss_lo=after[0],
        after_loss_hi=after[1],
    )


def _at(table: Table, costs: Costs, load: float, throughput: float) -> float:
    """The papers' gain: on cores of its own without what neighbours lose (L34)."""
    if table.core_share == 1:
        return gain(costs, load, throughput)
    return shared_gain(costs, table.core_share, load)


def _after_loss(table: Table, costs: Costs, load: float, throughput: float) -> float:
    if table.core_share == 1:
        return gain(costs, load, throughput)
    return shared_gain(costs, table.core_share, load, throughput)


def admitted(
    table: Table,
    costs: Costs,
    *,
    bound_ns: float,
    loss_max: float = 1.0,
    neighbour: str = MEAN,
) -> Admitted:
    """The load beside every neighbour that fits at all, and the gain there, with their ends.

    Args:
        table: tails and throughputs.
        costs: of a server.
        bound_ns: QoS bound on the table's quantile.
        loss_max: largest loss of a neighbour's throughput, 0 to 1.
        neighbour: whose throughput is worth it; "mean" for the mean of all.
    """
    sure = provision(table, bound_ns=bound_ns, loss_max=loss_max)
    # A neighbour that may not fit is forbidden until it is measured. Else the best case would be a
    # plan with that one too, which may allow less load than the sure plan without it.
    rest = table if sure.load is None else table.without(sure.unknown)
    best, likely = (
        provision(one, bound_ns=bound_ns, loss_max=loss_max)
        for one in (rest.at_best(), rest.plain())
    )
    most = best.load
    if sure.load is None:  # any of them may turn out to fit alone
        most = max((one.load for one in best.limits if one.load is not None), default=most)
    lo, hi = _between(rest, costs, neighbour, sure.load, most)
    return Admitted(
        bound_ns=bound_ns,
        loss_max=loss_max,
        load=likely.load,
        load_lo=sure.load,
        load_hi=most,
        gain=_of_load(table.plain(), costs, neighbour, likely.load),
        gain_lo=lo,
        gain_hi=hi,
        verdict=sure.verdict,
        unknown=sure.unknown,
    )


def _between(
    table: Table, costs: Costs, neighbour: str, sure: float | None, most: float | None
) -> tuple[float | None, float | None]:
    """Least and most gain over the loads from the sure one to the one that is not excluded."""
    if most is None:
        return 0.0, 0.0
    lowest = table.loads[0] if sure is None else sure
    loads = [load for load in table.loads if lowest <= load <= most]
    ends = [
        _of_load(one, costs, neighbour, load)
        for one in (table.surely(), table.at_best())
        for load in loads
    ]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends) or not known:
        return None, None
    nothing: Sequence[float] = [0.0] if sure is None else []
    return min([*known, *nothing]), max([*known, *nothing])


def _of_load(table: Table, costs: Costs, neighbour: str, load: float | None) -> float | None:
    if load is None:
        return 0.0
    row = table.at(neighbour, load)
    throughput = row.throughput if row else None
    if throughput is None and table.core_share == 1:
        return None
    return _at(table, costs, load, throughput or 0.0)
