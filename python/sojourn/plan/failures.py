"""Services that fail again and again: when a combination is given up, and when the whole study is.

A service may not be able to run under some levels, such as a memory limit below its need. That is
an answer about these levels, so after three failures in a row the others are measured. But where
nothing was ever measured, or where what worked before fails too, it is not the levels: then the
study ends, and nothing is given up that another run should try again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sojourn.errors import RunFault
from sojourn.plan import design
from sojourn.plan.left_out import ABANDONED, LeftOut
from sojourn.plan.points import Cell, Outcome, Point, Verdict
from sojourn.plan.setting import Setting
from sojourn.spec import Study

FAILURES_MAX = 3  # in a row
STRUCK_MAX = 10  # combinations that failed, where none ever worked


def measured_nothing(point: Point, folder: Path, fault: RunFault) -> Outcome:
    """A point of which nothing was measured."""
    return Outcome(
        point=point,
        verdict=Verdict.UNKNOWN,
        reasons=(f"{fault.what} ({fault.at})",),
        offered_rps=point.offered_rps or 0.0,
        achieved_rps=0.0,
        requests=0,
        over_bound=None,
        lost=0,
        mean_ns=None,
        p50_ns=None,
        p95_ns=None,
        p99_ns=None,
        correlation=1.0,
        wall_s=0.0,
        folder=str(folder),
    )


def is_failed(outcome: Outcome) -> bool:
    """Whether nothing at all was measured: the service died, or did not start."""
    return outcome.verdict is Verdict.UNKNOWN and not outcome.requests and not outcome.achieved_rps


def without_numbers(outcomes: Sequence[Outcome]) -> tuple[tuple[Outcome, ...], ...]:
    """The last measurement of each cell, if nothing of it was measured; members together.

    Args:
        outcomes: in the order in which they were made; members of one measurement follow its first.
    """
    last: dict[Cell, tuple[Outcome, ...]] = {}
    at = 0
    while at < len(outcomes):
        point = outcomes[at].point
        members = tuple(outcomes[at : at + len(point.all)])
        is_whole = [member.point.key for member in members] == [one.key for one in point.all]
        last[point.cell] = members if is_whole else ()
        at += len(members) if is_whole else 1
    return tuple(members for members in last.values() if members and all(map(is_failed, members)))


class Ledger:
    """How often each combination failed in a row, as outcomes come in."""

    def __init__(self, study: Study) -> None:
        """Of a study, without outcomes yet."""
        self._study = study
        self._count: dict[str, int] = {}
        self._last: dict[str, Outcome] = {}
        self._abandoned: set[str] = set()
        self._worked: set[str] = set()

    def add(self, outcome: Outcome) -> None:
        """Note the next outcome, in the order in which they were made."""
        home = home_of(self._study, outcome)
        self._last[home] = outcome
        if not is_failed(outcome):
            self._count[home] = 0
            self._worked.add(home)
            return
        self._count[home] = self._count.get(home, 0) + 1
        if self._worked and self._count[home] >= FAILURES_MAX:  # before that it may be the machine
            self._abandoned.add(home)

    def is_late(self, home: str) -> bool:
        """Whether it has failed so often that the others are tried first."""
        return bool(self._study.factors) and self._count.get(home, 0) >= FAILURES_MAX

    def is_abandoned(self, home: str) -> bool:
        """Whether no more of its points are wanted: it failed while others were measured."""
        return bool(self._study.factors) and home in self._abandoned

    def failed(self, home: str) -> tuple[int, str] | None:
        """How often in a row, and why the last time, where that leaves it without an answer.

        A combination that never worked is given up when its first points have used up their
        retries, if others worked.
        """
        run, count = self._study.run, self._count.get(home, 0)
        tries = min(FAILURES_MAX, (1 + run.retries) * run.peak_repeats)
        if not self._worked or count < (FAILURES_MAX if home in self._worked else tries):
            return None
        return count, next(iter(self._last[home].reasons), "nothing was measured")


def home_of(study: Study, outcome: Outcome) -> str:
    """One text for the combination of an outcome; of services at once for theirs."""
    point = outcome.point
    if point.rules.is_of_all:
        return home_of_all(point.phase, point.service, design.levels_of(study, point))
    return design.home(point.service, design.own_levels(study, point))


def home_of_all(phase: str, label: str, levels: Setting) -> str:
    """The same for one of several services that are measured at once."""
    return f"{phase}: {label}/{levels.text}"


def abandoned(study: Study, outcomes: Iterable[Outcome]) -> tuple[LeftOut, ...]:
    """The combinations that failed and have no answer, in order; () without factors."""
    if not study.factors:
        return ()
    ledger = Ledger(study)
    for outcome in outcomes:
        ledger.add(outcome)
    results = []
    for label, levels, _ in design.studies(study):
        if failed := ledger.failed(design.home(label, levels)):
            count, reason = failed
            often = f", {count} times in a row" if count > 1 else ""
            fix = "fix the service or leave the level out, then run with --new"
            results.append(
                LeftOut(
                    state=ABANDONED,
                    service=label,
                    levels=levels,
                    reason=f"{reason}{often}",
                    fix=fix,
                )
            )
    return tuple(results)


class Streak:
    """Measurements that failed one after another in this run; says when to stop."""

    def __init__(self, study: Study, before: Iterable[Outcome]) -> None:
        """With the outcomes of earlier runs, which say what has worked."""
        self._study = study
        self._worked = {self._home(outcome) for outcome in before if not is_failed(outcome)}
        self._struck: list[set[str]] = []

    def add(self, outcomes: Sequence[Outcome], *, is_failure: bool) -> None:
        """Note what became of one measurement, its members in `outcomes`."""
        homes = {self._home(outcome) for outcome in outcomes}
        if is_failure:
            self._struck.append(homes)
        else:
            self._struck.clear()
            self._worked |= homes

    @property
    def has_nothing(self) -> bool:
        """Whether the study has measured nothing at all, in no run of it."""
        return not self._worked

    @property
    def is_hopeless(self) -> bool:
        """Whether the next point would fail as well, whatever its levels are."""
        if len(self._struck) < FAILURES_MAX:
            return False
        if not self._study.factors:
            return True
        struck = set().union(*self._struck)
        if self._worked:
            return len(struck & self._worked) > 1
        return len(struck) >= min(len(design.studies(self._study)), STRUCK_MAX)

    def _home(self, outcome: Outcome) -> str:
        return design.home(outcome.point.service, design.own_levels(self._study, outcome.point))
