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
