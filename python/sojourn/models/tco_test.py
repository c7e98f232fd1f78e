from collections.abc import Callable

import pytest

from sojourn.errors import SpecFault
from sojourn.models import tco
from sojourn.models.tco import GOLDEN_L32, Costs


def test_goldens_of_l31_to_the_cent() -> None:
    costs = Costs()
    got = [round(costs.server_usd(u), 2) for u in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)]
    assert got == [3050.15, 3155.16, 3365.19, 3575.22, 3785.25, 3995.28, 4100.30]


def test_row_of_table_2_and_what_rounding_hides() -> None:
    got = [round(100 * tco.gain(Costs(), load, s), 2) for load, s in GOLDEN_L32]
    assert got == [51.95, 29.07, 17.19, 10.32, 17.44]
    paper = [52, 29, 18, 11, 18]
    assert all(abs(ours - others) < 1 for ours, others in zip(got, paper, strict=True))


def test_a_share_of_the_cores_is_no_whole_cluster() -> None:
    """L34 by hand: (12000·TCO(.5) + 12000·.5·load·TCO(1)) / (12000·TCO(1)) − 1."""
    costs = Costs()
    gains = [round(100 * tco.shared_gain(costs, 0.5, load), 2) for load in (0.5, 0.6)]
    assert gains == [12.19, 17.19]
    by_hand = (3575.22 + 0.3 * 4100.30) / 4100.30 - 1
    assert tco.shared_gain(costs, 0.5, 0.6) == pytest.approx(by_hand, abs=1e-5)
    # A quarter of the cores: the neighbours' cluster is busy for the other three.
    quarter = (costs.server_usd(0.75) + 0.15 * costs.server_usd(1)) / costs.server_usd(1) - 1
    assert tco.shared_gain(costs, 0.25, 0.6) == pytest.approx(quarter)
    lost = tco.shared_gain(costs, 0.5, 0.6) - tco.shared_gain(costs, 0.5, 0.6, 0.9)
    assert lost == pytest.approx(0.1 * costs.server_usd(0.5) / costs.server_usd(1))


def test_a_server_that_costs_nothing_is_refused_and_a_free_box_is_not() -> None:
    assert tco.gain(Costs(price_usd=0), 0.1, 0.75) == pytest.approx(0.55 + 0.75 - 1)
    with pytest.raises(SpecFault, match="costs nothing"):
        tco.gain(Costs(price_usd=0, energy_usd_per_kwh=0), 0.1, 0.75)
    assert tco.discount(tco.gain(Costs(price_usd=0, idle_ratio=0), 0, 0)) is None


def test_google_scenario_of_l34() -> None:
    costs, servers = Costs(), 12_000
    saved = round(servers * 0.5 * 0.6)  # half the cores at 60 % of their peak
    apart = servers * costs.server_usd(0.5) + saved * costs.server_usd(1)
    assert saved == 3_600
    assert round(100 * (apart / (servers * costs.server_usd(1)) - 1), 2) == 17.19


def test_pue_sets_the_cooling_load_and_is_not_applied_twice() -> None:
    assert Costs().with_pue(1.8).burden == pytest.approx(Costs().burden)
    assert Costs().with_pue(1.25).burden == pytest.approx(1 + 1.33 + 0.25 * 1.25)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Costs(price_usd=-1),
        lambda: Costs(energy_usd_per_kwh=float("nan")),
        lambda: Costs(idle_ratio=1.5),
        lambda: Costs().with_pue(0.9),
        lambda: Costs().server_usd(1.1),
        lambda: tco.gain(Costs(), 0.5, -0.1),
        lambda: tco.gain(Costs(price_usd=0, peak_kw=0), 0.5, 0.1),
        lambda: tco.shared_gain(Costs(), 1.0, 0.5),
        lambda: tco.shared_gain(Costs(), 0.5, 1.5),
        lambda: tco.tornado(Costs(), 0.5, 0.3, share=0),
    ],
)
def test_impossible_numbers_are_refused_with_a_way_out(wrong: Callable[[], object]) -> None:
    with pytest.raises(SpecFault) as caught:
        wrong()
    assert caught.value.fix


def test_tornado_is_sorted_and_throughput_moves_the_gain_most() -> None:
    swings = tco.tornado(Costs(), 0.1, 0.75)
    widths = [swing.width for swing in swings]
    assert widths == sorted(widths, reverse=True)
    assert swings[0].name == "throughput"
    assert {swing.name for swing in swings} > {"price_usd", "energy_usd_per_kwh", "years"}


def test_gain_falls_when_the_neighbour_achieves_less() -> None:
    gains = [tco.gain(Costs(), 0.5, s / 10) for s in range(11)]
    assert gains == sorted(gains)
    assert gains[0] < 0, "a neighbour that does nothing only burns power"


def test_what_is_held_back_is_not_paid_for() -> None:
    """Fewer chassis for the same CPU time: it never costs more, whatever the batch work has."""
    for busy in (0.1, 0.5, 0.9):
        gains = [tco.used_gain(Costs(), busy, batch / 100) for batch in range(101)]
        assert gains[0] == 0
        assert gains == sorted(gains)
    # By hand: 3,050.15 + 1,050.15 · use; 0.1 of a busy server is 410.03.
    assert tco.used_gain(Costs(), 0.4, 0.1) == pytest.approx(
        (3050.15 + 0.4 * 1050.15 + 410.03) / (3050.15 + 0.5 * 1050.15) - 1, abs=1e-5
    )
    with pytest.raises(SpecFault):
        tco.used_gain(Costs(), 0.4, 1.1)


def test_a_tornado_of_cores_of_its_own_names_the_load() -> None:
    """Neighbours' throughput is no part of L34's gain, and 0.2 no throughput at all."""
    swings = {swing.name: swing for swing in tco.tornado(Costs(), 0.4, 0.9, core_share=0.5)}
    assert "throughput" not in swings
    assert (swings["load"].low, swings["load"].high) == pytest.approx((0.32, 0.48))
    for load, got in ((0.32, swings["load"].gain_low), (0.48, swings["load"].gain_high)):
        assert got == tco.shared_gain(Costs(), 0.5, load)
    assert swings["price_usd"].gain_low == tco.shared_gain(Costs(price_usd=1600), 0.5, 0.4)
    full = {swing.name: swing for swing in tco.tornado(Costs(), 0.9, 0.9, core_share=0.5)}
    assert full["load"].high == 1.0


def test_energy_is_that_of_the_idle_and_the_busy_share() -> None:
    """0.3 kW · (0.5 + 0.5 · 0.4) for three years of 8,760 hours."""
    assert Costs().energy_kwh(0.4) == pytest.approx(0.3 * 0.7 * 8_760 * 3)
    assert Costs(idle_ratio=0.2).energy_kwh(0.5) == pytest.approx(0.3 * 0.6 * 8_760 * 3)
    assert Costs(cooling_load=0.5, cooling_burden=0.4, delivery_burden=1.0).burden == (
        pytest.approx(2.7)
    )


def test_a_tornado_s_bars_are_gains_at_a_fifth_more_and_less() -> None:
    swings = {swing.name: swing for swing in tco.tornado(Costs(), 0.3, 0.47)}
    price = swings["price_usd"]
    assert (price.low, price.high) == pytest.approx((1_600, 2_400))
    for value, result in ((1_600, price.gain_low), (2_400, price.gain_high)):
        assert result == pytest.approx(tco.gain(Costs(price_usd=value), 0.3, 0.47))
    assert price.width == pytest.approx(abs(price.gain_high - price.gain_low))
    assert price.gain_low != pytest.approx(price.gain_high)
    through = swings["throughput"]
    assert (through.low, through.high) == pytest.approx((0.376, 0.564))
    assert through.width == pytest.approx(0.188)  # a server more or less, per server
    wide = {s.name: s for s in tco.tornado(Costs(idle_ratio=0.9), 0.3, 0.9, share=0.5)}
    assert (wide["idle_ratio"].low, wide["idle_ratio"].high) == (0.45, 1.0)
    assert (wide["throughput"].low, wide["throughput"].high) == (0.45, 1.0)
    assert len(wide) == 9


@pytest.mark.parametrize(
    "right",
    [
        lambda: Costs(idle_ratio=1.0),
        lambda: Costs(price_usd=tco.LARGEST),
        lambda: Costs(years=0.5),
        lambda: Costs().with_pue(1.0),
        lambda: tco.gain(Costs(), 0.5, 0.0),
        lambda: tco.gain(Costs(), 0.5, 1.0),
        lambda: tco.shared_gain(Costs(), 0.5, 0.0),
        lambda: tco.shared_gain(Costs(), 0.5, 1.0),
        lambda: tco.shared_gain(Costs(), 0.5, 0.5, 0.0),
    ],
)
def test_numbers_at_their_limits_are_taken(right: Callable[[], object]) -> None:
    assert right() is not None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Costs(price_usd=1.1 * tco.LARGEST),
        lambda: Costs(price_usd=float("inf")),
        lambda: Costs(years=0.0),
        lambda: Costs(idle_ratio=1.01),
        lambda: Costs().with_pue(float("inf")),
        lambda: Costs().server_usd(-0.1),
        lambda: tco.gain(Costs(), 0.5, 1.1),
        lambda: tco.shared_gain(Costs(), 0.0, 0.5),
        lambda: tco.shared_gain(Costs(), 0.5, -0.1),
        lambda: tco.shared_gain(Costs(), 0.5, 0.5, 1.1),
        lambda: tco.tornado(Costs(), 0.5, 0.3, share=1.0),
    ],
)
def test_numbers_beyond_them_are_not(wrong: Callable[[], object]) -> None:
    with pytest.raises(SpecFault) as caught:
        wrong()
    assert caught.value.fix


def test_a_discount_is_what_the_gain_takes_off_the_price() -> None:
    assert tco.discount(1.0) == 0.5
    assert tco.discount(-0.5) == -1.0
    assert tco.discount(-1.5) is None
    assert tco.LARGEST == 1e12
