"""Total cost of ownership of a server, and what co-location gains (L31, L32, L34).

    TCO(u) = price + burden · grid · energy(u)
    burden = 1 + K1 + L1 + K2·L1        power delivery and cooling, per $ of grid power
    energy = peak · (idle + (1 − idle)·u) · 24 h · 365 · years

Source: Leverich and Kozyrakis 2014, Table 2 and section 5.1, after Patel and Shah (2005).

>>> costs = Costs()
>>> [f"{costs.server_usd(u):.2f}" for u in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)]
['3050.15', '3155.16', '3365.19', '3575.22', '3785.25', '3995.28', '4100.30']
>>> [f"{100 * gain(costs, load, s):.2f}" for load, s in GOLDEN_L32]
['51.95', '29.07', '17.19', '10.32', '17.44']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from sojourn.errors import SpecFault

HOURS_PER_YEAR = 24 * 365
LARGEST = 1e12  # beyond it a number is a slip of the pen, and products are no numbers any more
# Load and geometric mean of the neighbours' throughput: L28, Table 2.
GOLDEN_L32 = ((0.1, 0.75), (0.3, 0.47), (0.5, 0.30), (0.7, 0.18), (0.9, 0.20))


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The cost model's parameters; the defaults are the paper's (L31).

    Attributes:
        price_usd: one server.
        peak_kw: power at full utilisation.
        idle_ratio: power when idle, over that.
        energy_usd_per_kwh: price of grid power.
        years: how long a server is stored.
        delivery_burden: K1, cost of power delivery per $ of grid power.
        cooling_load: L1, cooling power per power of the servers.
        cooling_burden: K2, cost of cooling equipment per $ of cooling power.
    """

    price_usd: float = 2000.0
    peak_kw: float = 0.3
    idle_ratio: float = 0.5
    energy_usd_per_kwh: float = 0.08
    years: float = 3.0
    delivery_burden: float = 1.33
    cooling_load: float = 0.8
    cooling_burden: float = 0.25

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < float("inf"):
                raise SpecFault(
                    f"{field.name} is {value:g}", at=field.name, fix="give a number of 0 or more"
                )
            if value > LARGEST:
                raise SpecFault(
                    f"{field.name} is {value:g}", at=field.name, fix=f"give at most {LARGEST:g}"
                )
        if self.years == 0:
            raise SpecFault("years is 0: nothing is paid for", at="years", fix="give years above 0")
        if self.idle_ratio > 1:
            raise SpecFault(
                f"idle_ratio is {self.idle_ratio:g}: an idle server uses more than a busy one",
                at="idle_ratio",
                fix="give a ratio from 0 to 1",
            )

    def with_pue(self, pue: float) -> Costs:
        """The same with a cooling load that follows from `pue`, L1 = PUE − 1.

        The paper states PUE 1.25 and L1 = 0.8 at once; by this definition 0.8 is a PUE of 1.8.
        Its results need 0.8, so that is the default, and PUE is never applied on top of it.
        """
        if not 1 <= pue < float("inf"):
            raise SpecFault(f"PUE is {pue:g}", at="pue", fix="give a PUE of 1 or more")
        return replace(self, cooling_load=pue - 1)

    @property
    def burden(self) -> float:
        """$ per $ of grid power.

        >>> round(Costs().burden, 2)
        3.33
        """
        cooling = self.cooling_load * (1 + self.cooling_burden)
        return 1 + self.delivery_burden + cooling

    def energy_kwh(self, utilisation: float) -> float:
        """Energy of one server over its life."""
        kw = self.peak_kw * (self.idle_ratio + (1 - self.idle_ratio) * utilisation)
        return kw * HOURS_PER_YEAR * self.years

    def server_usd(self, utilisation: float) -> float:
        """TCO of one server whose CPUs are busy for this share of the time."""
        if not 0 <= utilisation <= 1:
            raise SpecFault(
                f"utilisation is {utilisation:g}", at="utilisation", fix="give a share from 0 to 1"
            )
        return self.price_usd + self.burden * self.energy_usd_per_kwh * self.energy_kwh(utilisation)


def gain(costs: Costs, load: float, throughput: float) -> float:
    """What two clusters would cost over the one that co-locates both, minus one (L32).

    Args:
        costs: the cost model.
        load: utilisation by the service alone, 0 to 1.
        throughput: what the neighbour achieves beside it, alone = 1. A cluster of its own would
            need this many servers per co-located one.
    """
    if not 0 <= throughput <= 1:
        raise SpecFault(f"throughput is {throughput:g}", at="throughput", fix="give 0 to 1")
    return _over_shared(costs, costs.server_usd(load) + throughput * costs.server_usd(1))


def used_gain(costs: Costs, busy: float, batch: float) -> float:
    """The same for batch work of which the CPU time is known, as a share of the machine's.

    L32 has neighbours that use all that the service leaves, so its shared servers are always busy.
    Batch work that is held back leaves them idle for a part of the time, and idle time costs less
    energy. What the service uses more of because of the batch work is left out.

    Args:
        costs: the cost model.
        busy: CPU time of the service alone.
        batch: CPU time of the batch work beside it. Apart it needs as many busy servers.

    >>> used_gain(Costs(), 0.4, 0.6) == gain(Costs(), 0.4, 0.6)
    True
    >>> f"{used_gain(Costs(), 0.4, 0.05):.3f}, {gain(Costs(), 0.4, 0.05):.3f}"
    '0.043, -0.104'
    """
    if not 0 <= batch <= 1:
        raise SpecFault(f"batch is {batch:g}", at="batch", fix="give 0 to 1")
    apart = costs.server_usd(busy) + batch * costs.server_usd(1)
    return _over_shared(costs, apart, min(1.0, busy + batch))


def shared_gain(costs: Costs, core_share: float, load: float, throughput: float = 1.0) -> float:
    """The same where the service has cores of its own and its neighbours the rest (L33, L34).

    Apart, the neighbours' cluster is busy on their cores alone, and the service's whole load fits
    on `core_share · load` servers per shared one. It is a share of the cores that is saved, never
    a whole cluster: 12,000 servers with half their cores at 60 % stand for 3,600.

    Args:
        costs: the cost model.
        core_share: share of the cores that the service has, above 0 and below 1.
        load: of the service on its cores, 0 to 1.
        throughput: what the neighbours achieve on theirs, alone = 1; the paper leaves a loss out.

    >>> [f"{100 * shared_gain(Costs(), 0.5, load):.2f}" for load in (0.5, 0.6)]
    ['12.19', '17.19']
    """
    wrong = (
        ("core_share", core_share, 0 < core_share < 1),
        ("load", load, 0 <= load <= 1),
        ("throughput", throughput, 0 <= throughput <= 1),
    )
    for name, value, is_right in wrong:
        if not is_right:
            raise SpecFault(f"{name} is {value:g}", at=name, fix="give a share between 0 and 1")
    neighbours = throughput * costs.server_usd(1 - core_share)
    return _over_shared(costs, neighbours + core_share * load * costs.server_usd(1))


def _over_shared(costs: Costs, apart_usd: float, used: float = 1.0) -> float:
    shared_usd = costs.server_usd(used)
    if shared_usd == 0:
        raise SpecFault(
            "a server costs nothing, so there is no gain to compute",
            at="price_usd",
            fix="give a price or an energy cost above 0",
        )
    return apart_usd / shared_usd - 1


def matched_servers(servers: int, throughput: float) -> int:
    """Servers of a cluster of its own that does what the neighbours do (L32).

    >>> matched_servers(12_000, 0.741), matched_servers(12_000, 0.754)
    (8892, 9048)
    """
    return round(servers * throughput)


def discount(gained: float) -> float | None:
    """The same gain as a price cut on what was gained; None where two clusters cost nothing.

    >>> round(discount(0.52), 2)
    0.34
    >>> discount(-1.0)
    """
    return 1 - 1 / (1 + gained) if gained > -1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """How much one parameter moves the gain.

    Attributes:
        name: of the parameter.
        low, high: its value, changed by the share down and up.
        gain_low, gain_high: the gain at these values.
    """

    name: str
    low: float
    high: float
    gain_low: float
    gain_high: float

    @property
    def width(self) -> float:
        """Length of the tornado's bar."""
        return abs(self.gain_high - self.gain_low)


def tornado(
    costs: Costs, load: float, throughput: float, share: float = 0.2, *, core_share: float = 1.0
) -> Sequence[Swing]:
    """One parameter at a time, down and up by `share`; the widest bar first.

    Args:
        costs: the cost model.
        load: of the service.
        throughput: what neighbours achieve beside it. On cores of its own the gain of L34 leaves it
            out, so the load is changed instead.
        share: of each parameter.
        core_share: share of the cores that the service has.

    >>> [s.low for s in tornado(Costs(), 0.5, 0.9, core_share=0.5) if s.name == "load"]
    [0.4]
    """
    if not 0 < share < 1:
        raise SpecFault(f"share is {share:g}", at="share", fix="give a share between 0 and 1")
    name, value = ("throughput", throughput) if core_share == 1 else ("load", load)

    def gained(costs: Costs, value: float) -> float:
        if core_share == 1:
            return gain(costs, load, value)
        return shared_gain(costs, core_share, value)

    swings = []
    for field in fields(costs):
        low, high = _ends(field.name, getattr(costs, field.name), share)
        ends = [gained(replace(costs, **{field.name: end}), value) for end in (low, high)]
        swings.append(_swing(field.name, (low, high), ends))
    own = _ends(name, value, share)
    swings.append(_swing(name, own, [gained(costs, end) for end in own]))
    return sorted(swings, key=lambda swing: (-swing.width, swing.name))


def _ends(name: str, value: float, share: float) -> tuple[float, float]:
    """The value, changed by the share down and up; a share of a whole is at most 1."""
    high = value * (1 + share)
    is_share = name in ("idle_ratio", "throughput", "load")
    return value * (1 - share), min(1.0, high) if is_share else high


def _swing(name: str, ends: tuple[float, float], gains: Sequence[float]) -> Swing:
    return Swing(name=name, low=ends[0], high=ends[1], gain_low=gains[0], gain_high=gains[1])
