import pytest

from sojourn import programs, spec
from sojourn.errors import SpecFault
from sojourn.models import replicate
from sojourn.models.replicate import l18, l25
from sojourn.models.replicate.catalogue import entries
from sojourn.models.replicate.kind import Check, Curve, Matrix, Replica, Word, arithmetic, within
from sojourn.models.replicate.pairs import STEPS, where
from sojourn.models.simulator import Simulator

needs_sim = pytest.mark.skipif(programs.maybe("sojourn-sim") is None, reason="needs sojourn-sim")


def test_every_id_of_the_papers_is_listed_once() -> None:
    wanted = [
        *(f"L{n}" for n in range(1, 35)),
        *(f"C{n}" for n in range(1, 27)),
        *(f"P{n}" for n in range(1, 23)),
    ]
    assert [entry.id for entry in replicate.ids()] == wanted


def test_what_the_list_promises_is_there() -> None:
    for entry in replicate.ids():
        for command in entry.how.split("; "):
            words = command.removeprefix("simulated: ").removeprefix("computed: ").split()
            if words[:2] == ["sojourn", "replicate"]:
                replicate.find(words[2])
            if words[:2] == ["sojourn", "run"]:
                assert entry.id in spec.load(words[2], is_own=True).papers
                assert entry.state == "measured"
        assert (entry.state == "not yet") == entry.how.startswith("needs ")
        assert (entry.state == "background") == (not entry.how)


def test_what_a_study_or_an_experiment_has_is_in_the_list() -> None:
    listed = {entry.id: entry for entry in replicate.ids()}
    for name in spec.names():
        for item in spec.load(name, is_own=True).papers:
            assert listed[item].state == "measured", (name, item)
            assert name in listed[item].studies
    for experiment in replicate.KINDS:
        for item in experiment.ids:
            assert f"sojourn replicate {experiment.ids[0]}" in listed[item].how


def test_an_id_is_measured_as_soon_as_a_study_names_it_and_not_before() -> None:
    before = {entry.id: entry.state for entry in entries((), {})}
    after = {entry.id: entry.state for entry in entries((), {"C3": ("irq",)})}
    assert (before["C3"], after["C3"]) == ("not yet", "measured")
    assert {name: state for name, state in after.items() if state != before[name]} == {
        "C3": "measured"
    }


def test_an_unknown_id_offers_near_ones_and_a_known_one_says_why_not() -> None:
    with pytest.raises(SpecFault, match="no experiment") as caught:
        replicate.find("L118")
    assert "L18" in caught.value.fix
    with pytest.raises(SpecFault, match="not yet"):
        replicate.find("C3")
    with pytest.raises(SpecFault, match="is measured") as caught:
        replicate.find("C24")
    assert caught.value.fix.startswith("sojourn run cache_ways")


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
    results = [replica(yes), replica(yes, no), replica(no, None), replica()]
    assert [r.verdict for r in results] == ["holds", "violated", "unknown", "unknown"]


def test_arithmetic_is_counted_apart_and_is_no_agreement() -> None:
    def replica(*checks: Check) -> Replica:
        return Replica(id="x", title="", label="computed", parameters=(), checks=checks)

    sure = arithmetic(what="", paper="", ours="", is_right=True)
    wrong = arithmetic(what="", paper="", ours="", is_right=False)
    judged = within(1.0, 0, 2, what="", paper="", ours="")
    assert replica(sure).verdict == "arithmetic"
    assert replica(sure, judged).verdict == "holds"
    assert dict(replica(sure, judged).counts) == {
        "holds": 1,
        "violated": 0,
        "arithmetic": 1,
        "unknown": 0,
    }
    assert replica(wrong).verdict == "violated"
    assert within(None, 0, 2, what="", paper="", ours="").holds is False


ARITHMETIC = {"L34": 6, "L32": 3, "P8": 2, "L12": 1, "L14": 1, "C26": 2}  # M31


def test_cells_are_found_by_their_loads() -> None:
    cells = tuple(tuple("AB" if i + j <= 5 else "-" for j in range(10)) for i in range(10))
    matrix = Matrix(name="m", row_label="", column_label="", rows=STEPS, columns=STEPS, cells=cells)
    assert set(where(matrix, lambda a, b: a + b < 0.71)) == {"AB"}
    assert l25._share(matrix, 0.7) == 1.0
    assert l25._share(matrix, 0.8) == 0.0


@pytest.mark.parametrize("name", ["L32", "L34", "P8"])
def test_computed_experiments_hold_or_are_arithmetic(name: str) -> None:
    result = replicate.find(name).run(Simulator("unused", 1), 1.0)
    assert result.verdict == ("holds" if name == "L32" else "arithmetic"), result.checks
    assert result.counts[Word.ARITHMETIC] == ARITHMETIC[name]
    assert all(check.tolerance or check.is_arithmetic for check in result.checks)


@needs_sim
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("L5", "holds"),
        ("L12", "violated"),
        ("L14", "violated"),
        ("L17", "holds"),
        ("L21", "holds"),
        ("C26", "arithmetic"),
    ],
)
def test_quick_simulated_experiments_come_out_as_published(name: str, verdict: str) -> None:
    share = 0.5 if name == "L5" else 0.25  # L5 shortens no run, but at 1 covers a second load
    result = replicate.find(name).run(Simulator.find(), share)
    assert result.verdict == verdict, result.checks
    assert result.label == "simulated"
    counted = result.counts[Word.ARITHMETIC]
    assert counted == ARITHMETIC.get(name, counted)
    assert all(check.tolerance or check.is_arithmetic for check in result.checks)


def test_an_id_that_has_no_experiment_says_what_there_is_instead() -> None:
    with pytest.raises(SpecFault, match="is simulated by another command") as caught:
        replicate.find("C2")
    assert caught.value.fix.startswith("sojourn fleet")
    with pytest.raises(SpecFault, match="has nothing to replicate") as caught:
        replicate.find("l2")
    assert caught.value.fix.startswith("choose one of L5, L7, L12, L13")
    with pytest.raises(SpecFault) as caught:
        replicate.find("L118")
    assert caught.value.fix.startswith("did you mean L")
    with pytest.raises(SpecFault) as caught:
        replicate.find("nothing of the kind")
    assert caught.value.fix == "see `sojourn replicate --list`"
