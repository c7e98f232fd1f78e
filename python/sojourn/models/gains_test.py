"""Planted tables with known gains, and the papers' tables by the same path."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.errors import SpecFault
from sojourn.models import gains, tco
from sojourn.models.colocation import L28, L33, MEAN, Table
from sojourn.models.colocation_row import Beside
from sojourn.models.fleet import CURVE, fed
from sojourn.models.fleet_test import Platforms
from sojourn.models.simulator import Command, Result
from sojourn.models.tco import Costs

#: TCO(u) = 1 + u: so gains can be said by heart.
EVEN = Costs(
    price_usd=1.0,
    peak_kw=2.0,
    idle_ratio=0.0,
    years=1 / (24 * 365),
    energy_usd_per_kwh=0.5,
    delivery_burden=0.0,
    cooling_load=0.0,
)


def row(name: str, load: float, tail: float, value: float | None = None, **ends: float) -> Beside:
    return Beside(neighbour=name, load=load, tail_ns=tail, throughput=value, **ends)


def planted(*, core_share: float = 1.0, noise: float = 0.0) -> Table:
    """Keeps 0.8 and 0.5 at 20 % and 40 % load; the tail is 1 µs, and 2 µs at 40 %."""
    rows = []
    for load, tail, retained in ((0.2, 1e3, 0.8), (0.4, 2e3, 0.5)):
        ends = {
            "tail_lo_ns": tail * (1 - noise),
            "tail_hi_ns": tail * (1 + noise),
            "throughput_lo": retained - noise / 10,
            "throughput_hi": retained + noise / 10,
        }
        rows.append(row("none", load, 1e3))
        rows += [row(name, load, tail, retained, **(ends if noise else {})) for name in ("x", MEAN)]
    return Table(
        name="planted",
        label="measured",
        source="a test",
        service="s",
        q=0.99,
        core_share=core_share,
        rows=tuple(rows),
    )


def test_the_papers_tables_give_the_papers_numbers_by_the_path_of_measured_ones() -> None:
    rows = gains.of_loads(L28, Costs())
    assert [round(100 * one.gain, 2) for one in rows] == [51.95, 29.07, 17.19, 10.32, 17.44]
    assert all(abs(one.gain - gains.PAPER_L32[one.load]) < 0.01 for one in rows)
    assert {one.gain_lo for one in rows} == {None}
    bound_ns, loss_max, load, gained = gains.PAPER_L34
    admitted_load = gains.admitted(L33, Costs(), bound_ns=bound_ns, loss_max=loss_max)
    assert (admitted_load.load, admitted_load.load_lo, admitted_load.load_hi) == (load, load, load)
    assert admitted_load.gain is not None
    assert round(admitted_load.gain, 2) == gained
    assert admitted_load.gain_lo == admitted_load.gain_hi == admitted_load.gain


def test_planted_gains_and_their_ends_come_out() -> None:
    """(1 + m + 2·s) / 2 − 1: at 20 % 0.4, at 40 % 0.2; an end moves it by its own distance."""
    low, high = gains.of_loads(planted(noise=0.1), EVEN)
    assert (low.gain, high.gain) == pytest.approx((0.4, 0.2))
    assert (low.gain_lo, low.gain_hi) == pytest.approx((0.39, 0.41))
    assert (high.gain_lo, high.after_loss_hi) == pytest.approx((0.19, 0.21))
    ((_, share), _) = L28.throughputs("lbm")[:2]
    assert gains.of_loads(L28, Costs(), "lbm")[0].gain == tco.gain(Costs(), 0.1, share)


def test_on_cores_of_its_own_the_share_of_them_is_gained_and_the_loss_is_apart() -> None:
    """(TCO(.5) + .5·load·TCO(1)) / TCO(1) − 1 = (1.5 + load) / 2 − 1, whatever is stored."""
    low, _ = gains.of_loads(planted(core_share=0.5, noise=0.1), EVEN)
    assert low.gain == pytest.approx(-0.15)
    assert low.gain_lo is None
    assert low.after_loss == pytest.approx(-0.15 - 0.2 * 1.5 / 2)
    assert (low.after_loss_lo, low.after_loss_hi) == pytest.approx((-0.3075, -0.2925))


@pytest.mark.parametrize(
    ("bound_ns", "loss_max", "loads", "ends"),
    [
        (3e3, 1.0, (0.4, 0.4, 0.4), (0.19, 0.21)),  # everything fits
        (2e3, 1.0, (0.2, 0.4, 0.4), (0.19, 0.41)),  # 1.8 to 2.2 µs against 2 µs
        (1.5e3, 1.0, (0.2, 0.2, 0.2), (0.39, 0.41)),
        (3e3, 0.2, (None, 0.2, 0.2), (0.0, 0.41)),  # 0.79 to 0.81 against 0.8: perhaps no one
        (3e3, 0.1, (None, None, None), (0.0, 0.0)),
    ],
)
def test_what_is_not_distinguished_from_a_bound_widens_load_and_gain(
    bound_ns: float, loss_max: float, loads: tuple[Any, ...], ends: tuple[float, float]
) -> None:
    admitted_load = gains.admitted(planted(noise=0.1), EVEN, bound_ns=bound_ns, loss_max=loss_max)
    assert (admitted_load.load_lo, admitted_load.load, admitted_load.load_hi) == loads
    assert (admitted_load.gain_lo, admitted_load.gain_hi) == pytest.approx(ends)
    if admitted_load.load is not None:
        assert admitted_load.gain_lo is not None
        assert admitted_load.gain is not None
        assert admitted_load.gain_hi is not None
        assert admitted_load.gain_lo <= admitted_load.gain <= admitted_load.gain_hi


def beside(*parts: tuple[str, float, float, float]) -> Table:
    """(neighbour, load, least and most tail, µs); the service alone has 1 µs at 20, 40, 60 %."""
    rows = [row("none", load, 1e3) for load in (0.2, 0.4, 0.6)]
    rows += [row(MEAN, load, 1e3, 0.5) for load in (0.2, 0.4, 0.6)]
    for name, load, lo, hi in parts:
        ends = {"tail_lo_ns": 1e3 * lo, "tail_hi_ns": 1e3 * hi}
        rows.append(row(name, load, 500 * (lo + hi), 0.5, **ends))
    return Table(name="t", label="measured", source="", service="s", q=0.99, rows=tuple(rows))


CALM = [("calm", load, 1.0, 1.2) for load in (0.2, 0.4, 0.6)]
#: At 20 % it is open whether it fits, and at 40 % it surely does not.
OPEN = [("open", 0.2, 1.5, 3.0), ("open", 0.4, 3.0, 4.0), ("open", 0.6, 5.0, 6.0)]
MAYBE = [("maybe", 0.2, 1.5, 3.0), ("maybe", 0.4, 1.5, 3.0), ("maybe", 0.6, 1.5, 3.0)]


def test_the_sure_load_is_never_above_the_one_that_is_not_excluded() -> None:
    """A neighbour that may not fit would make the best case lower than the sure one."""
    one = gains.admitted(beside(*CALM, *OPEN), EVEN, bound_ns=2e3)
    assert (one.load_lo, one.load, one.load_hi) == (0.6, 0.6, 0.6)
    assert one.unknown == ("open",)
    assert one.gain_lo == one.gain == one.gain_hi


@pytest.mark.parametrize("parts", [[*OPEN, *MAYBE], [*MAYBE, *OPEN]])
def test_of_neighbours_that_are_all_open_each_may_turn_out_to_be_the_only_one(
    parts: list[tuple[str, float, float, float]],
) -> None:
    one = gains.admitted(beside(*parts), EVEN, bound_ns=2e3)
    assert (one.load_lo, one.load_hi) == (None, 0.6)
    assert one.gain_lo == 0.0
    assert one.gain_hi == pytest.approx((1.6 + 0.5 * 2) / 2 - 1)


def test_without_a_throughput_there_is_no_gain_and_the_known_ones_are_named() -> None:
    with pytest.raises(SpecFault) as caught:
        gains.of_loads(planted(), EVEN, "nobody")
    assert caught.value.fix == "known: x, mean"
    bare = Table(
        name="t",
        label="measured",
        source="",
        service="s",
        q=0.9,
        rows=(row("none", 0.1, 1.0), row("x", 0.1, 1.0)),
    )
    admitted_load = gains.admitted(bare, EVEN, bound_ns=2.0)
    assert (admitted_load.load, admitted_load.gain, admitted_load.gain_lo) == (0.1, None, None)


class Recording(Platforms):
    """Keeps the curves; neighbours achieve what the first point of theirs says."""

    def run(self, command: Command, job: Any, *options: str) -> Result:
        result = dict(super().run(command, job, *options))
        if job["placement"] != "null" and CURVE in job:
            worth = job[CURVE][0][1]
            result["platforms"] = [p | {"neighbour_throughput": worth} for p in result["platforms"]]
        return result


def test_a_fleet_is_fed_with_a_table_and_the_ends_of_its_gain_are_those_of_the_table() -> None:
    job = {"placement": "all", "neighbour_slowdown": 1.31}
    fleet = fed(Recording("unused", 1), job, Costs(), planted(noise=0.1))
    assert fleet.neighbour_servers == pytest.approx(25 * 0.8)
    one = Costs(price_usd=1_000.0).server_usd(1.0) / fleet.tco_usd
    assert fleet.gain_lo == pytest.approx(fleet.gain - 25 * 0.01 * one)
    assert fleet.gain_hi == pytest.approx(fleet.gain + 25 * 0.01 * one)
    paper = fed(Recording("unused", 1), job, Costs(), L28)
    assert paper.neighbour_servers == pytest.approx(25 * 0.75)
    assert paper.gain_lo is None
    with pytest.raises(SpecFault, match="throughputs of its own"):
        fed(Recording("unused", 1), {**job, CURVE: [[0, 1]]}, Costs(), L28)
    with pytest.raises(SpecFault, match="no throughput of 'bzip'"):
        fed(Recording("unused", 1), job, Costs(), L28, neighbour="bzip")


def test_ends_that_do_not_enclose_their_number_are_refused_and_a_table_survives_its_file() -> None:
    with pytest.raises(ValueError, match="does not hold"):
        row("x", 0.1, 1.0, 0.5, throughput_lo=0.6)
    table = planted(noise=0.1)
    assert Table.model_validate_json(table.model_dump_json(by_alias=True)) == table
    assert table.has_intervals
    assert not table.plain().has_intervals
