import pytest

from sojourn import programs, spec
from sojourn.errors import SpecFault
from sojourn.models import replicate
from sojourn.models.replicate import l18, l25
from sojourn.models.replicate.catalogue import CATALOGUE
from sojourn.models.replicate.kind import Check, Curve, Matrix, Replica
from sojourn.models.replicate.pairs import STEPS, where
from sojourn.models.simulator import Simulator

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")


def test_every_id_of_the_papers_is_listed_once() -> None:
    wanted = [*(f"L{n}" for n in range(1, 35)), *(f"C{n}" for n in range(1, 27)),
              *(f"P{n}" for n in range(1, 23))]  # fmt: skip
    assert [entry.id for entry in CATALOGUE] == wanted


def test_what_the_list_promises_is_there() -> None:
    for entry in CATALOGUE:
        if entry.how.startswith("sojourn replicate "):
            experiment = replicate.find(entry.how.split()[2])
            assert experiment.label == entry.state
        if entry.how.startswith("sojourn run "):
            assert entry.how.split()[2] in spec.names()
            assert entry.state == "measured"
        if entry.state == "not yet":
            assert entry.how.startswith("needs ")


def test_every_experiment_is_in_the_list_as_simulated_or_computed() -> None:
    states = {entry.id: entry.state for entry in CATALOGUE}
    for experiment in replicate.KINDS:
        assert all(states[name] in {"simulated", "computed"} for name in experiment.ids)


def test_an_unknown_id_offers_near_ones_and_a_known_one_says_why_not() -> None:
    with pytest.raises(SpecFault, match="no experiment") as caught:
        replicate.find("L118")
    assert "L18" in caught.value.fix
    with pytest.raises(SpecFault, match="not yet"):
        replicate.find("C24")


def _curve(y: tuple[float | None, ...]) -> Curve:
    return Curve(name="x", x_label="", y_label="", x=(0.1, 0.2, 0.3), y=y)


def test_a_curve_departs_at_the_first_load_with_twice_the_tail() -> None:
    alone = _curve((1.0, 1.0, 1.0))
    assert l18.departs(_curve((1.0, 1.9, 2.1)), alone) == 0.3
    assert l18.departs(_curve((1.0, None, 1.0)), alone) == 0.2
    assert l18.departs(_curve((1.0, 1.0, 1.0)), alone) is None


def test_a_failed_check_violates_and_an_open_one_is_unknown() -> None:
    def replica(*holds: bool | None) -> Replica:
        checks = tuple(Check(what="", paper="", ours="", holds=h) for h in holds)
        return Replica(id="x", title="", label="computed", parameters=(), checks=checks)

    yes, no = True, False
    found = [replica(yes), replica(yes, no), replica(no, None), replica()]
    assert [r.verdict for r in found] == ["holds", "violated", "unknown", "unknown"]


def test_cells_are_found_by_their_loads() -> None:
    cells = tuple(tuple("AB" if i + j <= 5 else "-" for j in range(10)) for i in range(10))
    matrix = Matrix(name="m", row_label="", column_label="", rows=STEPS, columns=STEPS, cells=cells)
    assert set(where(matrix, lambda a, b: a + b < 0.71)) == {"AB"}
    assert l25._share(matrix, 0.7) == 1.0
    assert l25._share(matrix, 0.8) == 0.0


@pytest.mark.parametrize("name", ["L32", "L34", "P8"])
def test_computed_experiments_hold(name: str) -> None:
    found = replicate.find(name).run(Simulator("unused", 1), 1.0)
    assert found.verdict == "holds", found.checks


@needs_sim
@pytest.mark.parametrize("name", ["L5", "L12", "L14", "C26"])
def test_quick_simulated_experiments_hold(name: str) -> None:
    share = 1.0 if name == "L5" else 0.25  # at a load of .95 sections of 30,000 are too short
    found = replicate.find(name).run(Simulator.find(), share)
    assert found.verdict == "holds", found.checks
    assert found.label == "simulated"
