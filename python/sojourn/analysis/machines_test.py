"""A study over equal machines: planted differences come back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sojourn import analysis, spec
from sojourn.analysis import block_values
from sojourn.analysis.effect_sentences import LIMIT
from sojourn.analysis.testing import measured
from sojourn.findings.effects import EqualMachines, FactorFinding
from sojourn.findings.findings import Findings
from sojourn.findings.measured import Measured, StudyData
from sojourn.host.shared import KERNEL, MACHINE, SERVERS
from sojourn.plan import Planner, Point, Verdict, design
from sojourn.spec import Study
from sojourn.spec.hosts import SERVER
from sojourn.stats.interval import Interval
from sojourn.testing_questions import PLANS, answers

THREADS = "services.memcached.params.threads"
NAMES = ("n1", "n2", "n3", "n4", "n5", "n6")
RUNS = 0.02  # standard deviation of logarithms, from run to run


def asked(
    *machines: str, more: tuple[str, ...] = (), alike: str = "true", blocks: int = 4
) -> Study:
    varied = [f"{SERVER}={','.join(machines)}"] if machines else []
    return spec.load(
        "max_load_memcached",
        profile="quick",
        varied=["load=0.7", *varied, *more],
        overrides=[
            'services.memcached.measure=["sweep"]',
            f"run.repeats={blocks}",
            f"run.peak_repeats={blocks}",
            'hosts.at="10.9.0.1:6379"',
            'hosts.clients=["c"]',
            f"hosts.alike={alike}",
            "aa=false",
            *([] if machines else ['hosts.server="n1"']),
        ],
    )


def played(
    study: Study,
    factor: Callable[[Point], float],
    *,
    is_bad: Callable[[Point], bool] | None = None,
    rows: Callable[[str], tuple[tuple[str, str], ...]] | None = None,
) -> Findings:
    """Times and rates that are so many times as long and as low on each machine."""
    rng = np.random.default_rng(31)
    done: list[Measured] = []
    planner = Planner(study, PLANS)
    while point := planner.next([one.outcome for one in done]):
        mean_ns = 1e5 * factor(point) * np.exp(RUNS * rng.standard_normal())
        one = measured(point, rng.exponential(mean_ns, 20_000), bound_ns=1e6)
        if point.offered_rps is None:
            rate = 1e5 / factor(point) * np.exp(RUNS * rng.standard_normal())
            one = replace(one, outcome=replace(one.outcome, achieved_rps=rate))
        if is_bad and is_bad(point):
            bad = replace(one.outcome, verdict=Verdict.UNKNOWN, reasons=("client stopped",))
            one = replace(one, outcome=bad)
        done.append(one)
    setups = {}
    for _, levels, _ in design.studies(study) if rows else ():
        assert rows is not None
        setups[design.home("memcached", levels)] = rows(str(levels.get(SERVER, "n1")))
    data = StudyData(study=study, measured=tuple(done), questions=PLANS, setups=setups)
    return analysis.study(data, answers())


def planted(spread: float) -> Callable[[Point], float]:
    """Machines with logarithms of this standard deviation exactly."""
    places = np.linspace(-1, 1, len(NAMES))
    places /= places.std(ddof=1)
    return lambda point: math.exp(spread * places[NAMES.index(str(point.setting[SERVER]))])


def finding(findings: Findings, key: str = SERVER) -> FactorFinding:
    (one,) = (one for one in findings.factors if one.key == key)
    return one


def number(findings: Findings, what: str, key: str = SERVER) -> EqualMachines:
    (one,) = (one for one in finding(findings, key).equal if one.what == what)
    return one


@pytest.mark.parametrize("what", ["max RPS", "p99 at 70 % load"])
def test_what_machines_differ_by_is_found_beside_what_runs_do(what: str) -> None:
    result = played(asked(*NAMES), planted(0.15))
    one = number(result, what)
    assert (one.machines, one.blocks) == (6, 4)
    assert one.between is not None
    assert one.between.share == pytest.approx(0.16, rel=0.2)
    assert one.between.interval.lo < 0.16 < one.between.interval.hi
    assert one.runs is not None
    assert one.runs.interval.lo < 0.05
    assert one.interval is not None
    assert one.another is not None
    assert one.another.lo < one.interval.lo < (one.value or 0) < one.interval.hi < one.another.hi
    half = math.log(one.interval.hi / one.interval.lo) / 2
    assert half > 2.57 * 0.15 / math.sqrt(6) * 0.95, "no narrower than machines allow"
    assert "on machines like these (6 measured)" in one.sentence
    assert "from machine to machine it differs by" in one.sentence
    assert "from run to run on one machine by" in one.sentence
    assert one.sentence in result.answer


def test_a_rate_and_a_time_are_in_their_units() -> None:
    result = played(asked(*NAMES), planted(0.05))
    assert number(result, "max RPS").value == pytest.approx(1e5, rel=0.03)
    assert number(result, "p99 at 70 % load").value == pytest.approx(4.6e5, rel=0.03)


def test_machines_that_do_not_differ_are_not_said_to() -> None:
    one = number(played(asked(*NAMES), planted(0.0)), "max RPS")
    assert one.between is not None
    assert one.between.interval.lo == 0
    assert "no difference from machine to machine is shown" in one.sentence


def test_two_machines_leave_their_component_hardly_known() -> None:
    one = number(played(asked("n1", "n2"), planted(0.15)), "max RPS")
    assert one.between is not None
    assert one.between.share is None
    assert "hardly known from two" in one.sentence
    assert one.value is None or (one.interval is not None and one.interval.hi > 2 * one.interval.lo)


def test_two_machines_that_lie_far_apart_have_no_number_for_others() -> None:
    one = number(played(asked("n1", "n6"), planted(0.4)), "max RPS")
    assert (one.value, one.interval, one.another) == (None, None, None)
    assert "hardly known from 2 machines in 4 blocks" in one.sentence
    assert "at most" not in one.sentence, "it has no bound of use"


def test_one_machine_is_said_to_be_one() -> None:
    result = played(asked(), lambda _: 1.0)
    assert "All numbers are of one machine, n1: how much machines like it differ" in result.answer
    plain = played(asked(alike="false"), lambda _: 1.0)
    assert "All numbers are of one machine, n1." in plain.answer


def test_machines_that_served_in_turn_are_not_called_one() -> None:
    """A study that goes on may have another node under the same name."""
    rows = lambda _: ((SERVERS, "h4 (10.0.0.4); h5 (10.0.0.5)"),)  # noqa: E731
    result = played(asked(alike="false"), lambda _: 1.0, rows=rows)
    assert "of one machine" not in result.answer
    (reason,) = [one for one in result.reasons if "in turn" in one]
    assert "(h4 (10.0.0.4); h5 (10.0.0.5))" in reason
    assert "measure it anew on one" in reason


def test_kinds_of_machines_are_compared_and_not_averaged() -> None:
    result = played(asked("n1", "n2", "n3", alike="false"), planted(0.1))
    assert not finding(result).equal
    assert "machines like these" not in result.answer


def test_a_block_without_all_machines_is_left_out() -> None:
    study = asked(*NAMES)
    lost = lambda point: point.repeat == 2 and point.setting[SERVER] == "n3"  # noqa: E731
    one = number(played(study, planted(0.1), is_bad=lost), "max RPS")
    assert (one.machines, one.blocks) == (6, 3)
    never = lambda point: point.setting[SERVER] == "n3" and point.repeat > 1  # noqa: E731
    one = number(played(study, planted(0.1), is_bad=never), "max RPS")
    assert (one.machines, one.blocks) == (5, 4)
    assert "left out, for too few numbers: n3" in one.sentence


def test_an_effect_that_differs_from_machine_to_machine_has_an_interval_that_says_so() -> None:
    """Two threads make times 1.5 times as long on average, 1.1 times to 2 times by machine."""
    spread = planted(0.25)

    def factor(point: Point) -> float:
        return 1.5 * spread(point) if point.setting.get(THREADS) == 2 else 1.0

    result = played(asked(*NAMES, more=(f"{THREADS}=1,2",)), factor)
    own = finding(result, THREADS)
    one, rate = own.equal
    assert rate.what == "max RPS"
    assert rate.interval is not None
    assert rate.interval.lo < 1 / 1.5 < rate.interval.hi
    (effect,) = (e for e in own.effects if e.what == one.what)
    assert effect.interval is not None
    assert one.interval is not None
    assert one.interval.lo < 1.5 < one.interval.hi
    of_these = math.log(effect.interval.hi / effect.interval.lo)
    assert math.log(one.interval.hi / one.interval.lo) > 2 * of_these
    assert "on these 6 machines alone; p99 at 70 % load is" in own.sentence
    assert "as long with threads = 2 as with 1 on machines like these (6 measured)" in own.sentence


def test_machines_that_have_addresses_are_named_without_quotes() -> None:
    names = ("10.0.0.4", "10.0.0.5", "10.0.0.6")
    lost = lambda point: point.setting[SERVER] == names[2] and point.repeat > 1  # noqa: E731
    one = number(played(asked(*names), lambda _: 1.0, is_bad=lost), "max RPS")
    assert "left out, for too few numbers: 10.0.0.6" in one.sentence


@pytest.mark.parametrize("more", [(), (f"{THREADS}=1,2",)])
def test_machines_of_unlike_kinds_have_no_number_for_others(more: tuple[str, ...]) -> None:
    def rows(name: str) -> tuple[tuple[str, str], ...]:
        return ((MACHINE, "Xeon, 8 CPUs" if name == "n3" else "EPYC, 4 CPUs"),)

    result = played(asked(*NAMES, more=more), planted(0.1), rows=rows)
    own = finding(result, THREADS if more else SERVER)
    (one,) = own.equal
    assert (one.value, one.interval, one.another, one.between) == (None,) * 4
    assert "the machines are unlike: n1, n2, n4, n5, n6: EPYC, 4 CPUs; n3: Xeon" in own.sentence
    assert own.sentence in result.answer
    assert "on one more such machine" not in result.answer
    assert more or "n2" in own.sentence.partition("no number is")[0], "they are compared still"


def test_machines_with_unlike_kernels_have_numbers_that_say_so() -> None:
    def rows(name: str) -> tuple[tuple[str, str], ...]:
        return ((MACHINE, "EPYC, 4 CPUs"), (KERNEL, "6.8" if name == "n1" else "6.1"))

    result = played(asked(*NAMES), planted(0.1), rows=rows)
    assert number(result, "max RPS").value is not None
    text = finding(result).sentence
    assert text.endswith("they differ by their kernels too: n1: 6.8; n2, n3, n4, n5, n6: 6.1.")
    alike = played(asked(*NAMES), planted(0.1), rows=lambda _: ((KERNEL, "6.1"),))
    assert "kernels" not in alike.answer


@pytest.mark.parametrize("end", ["fitting", "without"])
def test_a_machine_whose_load_is_open_is_not_left_out(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean over the others would be of those that do well, or of those that do badly."""
    is_open = {"n3"}

    def borders(service: block_values.Combinations) -> block_values.Borders:
        names = {str(part.levels[SERVER]): part.levels for part in service.parts}
        closed = {
            of: (1e4, Interval(9e3, 1.1e4)) for one, of in names.items() if one not in is_open
        }
        more = {"fitting": frozenset(closed)}
        more[end] = more.get(end, frozenset()) | {names[one] for one in is_open}
        return block_values.Borders(closed=closed, **more)

    monkeypatch.setattr(block_values, "borders", borders)
    result = number(played(asked(*NAMES), planted(0.0)), LIMIT)
    assert (result.value, result.machines) == (None, 0)
    assert result.reason == "it is no number on n3"
    is_open.clear()
    assert number(played(asked(*NAMES), planted(0.0)), LIMIT).value == pytest.approx(1e4)
