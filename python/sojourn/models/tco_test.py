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
    assert all(abs(ours - theirs) < 1 for ours, theirs in zip(got, paper, strict=True))


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
