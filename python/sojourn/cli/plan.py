"""`sojourn check` and `sojourn plan`: a study, before anything is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from sojourn.cli import all_plan, all_studies, clients_need, consent, lowered, rehearsed
from sojourn.cli.draw import escape, named, new_table, to_stdout
from sojourn.cli.faults import print_fault, say
from sojourn.cli.options import (
    RESULTS,
    All,
    AsJson,
    Hosts,
    Only,
    Profile,
    Results,
    Sets,
    StudyOrAll,
    Vary,
    hosts_sets,
)
from sojourn.cli.plain import put, put_json
from sojourn.cli.scatter import scatter
from sojourn.errors import Exit, SpecFault
from sojourn.units import show_s

if TYPE_CHECKING:
    from sojourn.plan import Point, Rehearsal
    from sojourn.run import Held
    from sojourn.spec import Study


def check(
    study: StudyOrAll = None,
    every: All = False,
    only: Only = None,
    profile: Profile = None,
    sets: Sets = None,
    vary: Vary = None,
    hosts: Hosts = None,
    as_json: AsJson = False,
) -> None:
    """Check a study and print it in full, with every default.

    Nothing is started. Every error is reported with its line and how to fix it. An external
    service on this machine gets three test requests, and a message says so. Other machines get
    none. With --all, it lists for each study what this machine can measure and what the rest needs.

    \b
    Examples:
      sojourn check --all
      sojourn check my.toml
      sojourn check latency_vs_load -p full --set run.repeats=10 > mine.toml
    """
    from sojourn import spec
    from sojourn.questions import PLANS

    sets = [*(sets or ()), *hosts_sets(hosts)]
    if study is None or every or only:
        names = all_studies.chosen(study, only or (), is_all=every, varied=vary or ())
        all_plan.check(names, profile=profile, sets=sets, as_json=as_json)
        return
    try:
        asked = spec.load(
            study, profile=profile, overrides=sets, varied=vary or (), asks=PLANS.mistakes
        )
    except SpecFault as fault:
        _print_all(fault.each or (fault,))
        raise typer.Exit(Exit.USAGE) from None
    _hold_against_host(asked, study, sets, vary or ())
    if as_json:
        put_json(asked.model_dump(mode="json", by_alias=True))
    else:
        put(spec.to_toml(asked), has_end=False)


def plan(
    study: StudyOrAll = None,
    every: All = False,
    only: Only = None,
    profile: Profile = None,
    sets: Sets = None,
    vary: Vary = None,
    hosts: Hosts = None,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Show what would be measured, how long it takes, and which differences that can show.

    The search for the highest load chooses loads from results. The plan simulates it with an
    imaginary service, so the number of points may differ. Levels that this machine cannot host are
    listed as skipped. The scatter of runs comes from the newest record of this study on this
    machine, or else from equal runs of memcached.

    \b
    Examples:
      sojourn plan --all --profile quick                # every study, total time
      sojourn plan latency_vs_load --profile quick
      sojourn plan latency_vs_load --vary services.memcached.params.threads=1,2
      sojourn plan max_load_memcached --json | jq '.points[].key'
    """
    from sojourn import spec
    from sojourn.plan import left_out
    from sojourn.questions import PLANS

    sets = [*(sets or ()), *hosts_sets(hosts)]
    if study is None or every or only:
        names = all_studies.chosen(study, only or (), is_all=every, varied=vary or ())
        all_plan.plan(names, profile=profile, sets=sets, results=results, as_json=as_json)
        return
    asked = spec.load(
        study, profile=profile, overrides=sets, varied=vary or (), asks=PLANS.mistakes
    )
    held = _hold_against_host(asked, study, sets, vary or ())
    here = left_out.without(asked, held.skipped)
    ahead = rehearsed.rehearsed(here)
    lowered.for_reading(results)  # the machine has been looked at: the rest only reads records
    spread, source = scatter(here, results)
    shows = rehearsed.shown(here, ahead, spread)
    if as_json:
        put_json(
            {
                "study": asked.name,
                "wall_s": ahead.wall_s,
                "points": ahead.points,
                "too_short": ahead.shortfalls,
                "is_cut": ahead.is_cut,
                "combinations": combinations(here, ahead),
                "clients": list(clients_need.needs(here, results)),
                "machine_hours": clients_need.machine_hours(here, ahead.wall_s),
                "shows": shows,
                "spread": spread,
                "left_out": [one.table for one in (*left_out.by_design(asked), *held.skipped)],
            }
        )
    else:
        show(here, ahead)
        for line in filter(
            None, (clients_need.cost(here, ahead.wall_s), *clients_need.needs(here, results))
        ):
            to_stdout().print(escape(line), soft_wrap=True, highlight=False)
        for one in shows:
            to_stdout().print(escape(one.text), soft_wrap=True, highlight=False)
        if shows:
            to_stdout().print(f"[dim]if p99 of equal runs scatters by {escape(source)}[/]")


def _hold_against_host(asked: Study, study: str, sets: Sequence[str], vary: Sequence[str]) -> Held:
    """Refuse what the generator refuses, and CPUs that are not; else tell what is lacking here."""
    from sojourn import host, run, spec
    from sojourn.questions import catalogue

    wrong = []
    consent.say_asked(asked)
    facts = host.read(sample_s=0.0, has_versions=False)  # who uses the CPUs now is not asked
    held = run.hold(asked, facts, catalogue(), asks_others=False)
    for fault in held.faults:
        fault.at = spec.located(asked, study, fault.at, overrides=sets, varied=vary)
        if isinstance(fault, SpecFault):
            wrong.append(fault)
        else:
            say(f"not on this machine: {fault.what} ({fault.at}); {fault.fix}")
    _print_all(wrong)
    if wrong:
        raise typer.Exit(Exit.USAGE)
    for one in held.skipped:
        say(one.text)
    if held.is_empty:
        say("nothing of this study can be measured on this machine")
    return held


def _print_all(faults: Sequence[SpecFault]) -> None:
    for fault in faults:
        print_fault(fault.what, fault.at, fault.fix)


def show(study: Study, ahead: Rehearsal) -> None:
    """Print the points ahead by service and phase, and how long they take."""
    from sojourn.questions import PLANS

    console = to_stdout()
    console.print(f"[bold]{named(study.name)}[/] ({study.run.profile}): {escape(study.question)}")
    table = new_table()
    for name in ("service", "phase", "points", "of", "what for"):
        table.add_column(name, justify="right" if name in {"points", "of"} else "left")
    for service in study.services:
        for kind in PLANS.phases:
            points = [p for p in ahead.points if (p.service, p.phase) == (service.label, kind.name)]
            if points:
                mark = "about " if kind.is_about else ""
                lengths = _lengths(points)
                table.add_row(
                    named(service.label), kind.name, f"{mark}{len(points)}", lengths, kind.about
                )
    console.print(table)
    if study.factors:
        _show_design(study, ahead)
    if ahead.is_cut:
        console.print("[yellow]cut[/]: there are more points; all numbers here are lower bounds")
    about = "more than" if ahead.is_cut else "about"
    console.print(
        f"{about} {len(ahead.points)} points, {show_s(ahead.measure_s)} of measuring, "
        f"{show_s(ahead.wall_s)} in all"
    )
    for shortfall in ahead.shortfalls:
        console.print(f"[yellow]too short[/]: {escape(shortfall)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one combination of levels takes of a study: points, and s in all."""

    service: str
    levels: Mapping[str, bool | int | float | str]
    points: int
    wall_s: float


def combinations(study: Study, ahead: Rehearsal) -> list[Share]:
    """What each combination of levels takes, services in order, then services at once.

    [] without factors.
    """
    from sojourn.plan import design, joint
    from sojourn.questions import PLANS

    walls: dict[tuple[bool, str, str], list[float]] = {}
    for point, wall_s in zip(ahead.points, ahead.walls_s, strict=True):
        is_of_all = point.rules.is_of_all
        who = str(point.phase) if is_of_all else point.service
        text = design.levels_of(study, point).text
        walls.setdefault((is_of_all, who, text), []).append(wall_s)
    if not study.factors:
        return []
    rows = [
        (False, service.label, service.label, cell)
        for service in study.services
        for cell in study.combinations(service.label)
    ]
    rows += [
        (True, str(kind.name), joint.AND.join(one.labels), one.levels)
        for one in joint.asked(study, PLANS)
        for kind in one.question.phases
    ]
    shares = []
    for is_of_all, who, called, cell in rows:
        took = walls.get((is_of_all, who, design.text_of(cell)), [])
        shares.append(Share(service=called, levels=cell, points=len(took), wall_s=sum(took)))
    return shares


def _show_design(study: Study, ahead: Rehearsal) -> None:
    """Print each combination with its points and time, and what the design cannot distinguish."""
    from sojourn.plan import left_out
    from sojourn.report import not_measured
    from sojourn.spec.levels import level_text, names

    console = to_stdout()
    called = names(study.factors)
    table = new_table()
    for name in ("service", *called.values()):
        table.add_column(name)
    for name in ("points", "time"):
        table.add_column(name, justify="right")
    for share in combinations(study, ahead):
        levels = [level_text(share.levels[k]) if k in share.levels else "" for k in called]
        table.add_row(
            named(share.service), *map(escape, levels), f"{share.points}", show_s(share.wall_s)
        )
    console.print(table)
    fraction = study.design.fraction_of(study.factors)
    if fraction is not None:
        letters = ", ".join(f"{letter} {called[key]}" for letter, key in fraction.named(called))
        console.print(escape(f"{fraction.text}: {letters}"))
        for line in fraction.confounded:
            console.print(f"[dim]cannot be separated[/]: {escape(line)}")
    for line in not_measured.lines(left_out.by_design(study)):
        console.print(escape(line))


def _lengths(points: Sequence[Point]) -> str:
    shortest, longest = min(p.measure_s for p in points), max(p.measure_s for p in points)
    return f"{shortest:g} s" if shortest == longest else f"{shortest:g}-{longest:g} s"
