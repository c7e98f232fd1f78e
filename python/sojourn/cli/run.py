"""`sojourn run`: measure a study."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import all_run, all_studies, answered, consent
from sojourn.cli.faults import say
from sojourn.cli.options import (
    OUTPUT_PANEL,
    RESULTS,
    STUDY_PANEL,
    All,
    AsJson,
    Export,
    Hosts,
    NoShield,
    Only,
    Profile,
    Results,
    Sets,
    Shield,
    StudyOrAll,
    Vary,
    Within,
    hosts_sets,
)
from sojourn.cli.patience import CalmS, Force, Wait, patience
from sojourn.cli.plain import put_json, put_page
from sojourn.cli.terminal_width import width
from sojourn.errors import Exit, SpecFault

if TYPE_CHECKING:
    from sojourn.findings.findings import Findings
    from sojourn.pipeline import Done
    from sojourn.report import Exports

EXITS = {"holds": Exit.OK, "violated": Exit.VIOLATED, "unknown": Exit.UNKNOWN}

New = Annotated[
    bool,
    typer.Option(
        "--new",
        rich_help_panel=STUDY_PANEL,
        help="Start a new record instead of resuming an unfinished one.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT_PANEL, help="Show no progress.")
]


def run(
    study: StudyOrAll = None,
    every: All = False,
    only: Only = None,
    within: Within = None,
    profile: Profile = None,
    sets: Sets = None,
    vary: Vary = None,
    hosts: Hosts = None,
    shield: Shield = None,
    no_shield: NoShield = False,
    yes: consent.Yes = False,
    new: New = False,
    wait: Wait = "0s",
    calm_s: CalmS = None,
    force: Force = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
    export: Export = None,
    quiet: Quiet = False,
) -> int:
    """Measure a study, or all of them, print the answer, and write the report.

    If it is stopped by ^C or killed, it loses at most the current point. The same command resumes.
    Only one study at a time can measure on a machine. Before it starts, it checks who else uses the
    CPUs.

    A study is a program: it runs its commands as you, sends the files it names, and changes
    settings of the machine. For a study file that is not built in, all of this is listed on stderr
    first. It loads another machine only with --yes.

    Exit codes: 0 the QoS target holds, 1 it is violated, 2 the study or command line is wrong,
    3 unknown: a self-check failed, or this machine can host none of the study's combinations,
    4 something outside failed, 130 stopped.

    With --all each study has its own record in the results folder. The folder's index.html lists
    all of them. A study that this machine cannot host is skipped with the reason. A study that
    fails does not stop the others. In profile quick, studies that do not fit into an hour are
    postponed (see --within). The same command resumes: it measures postponed studies and retries
    failed ones. --new starts over.

    Exit codes of --all: 0 all studies are answered, 1 some are not, or only in part, 2 a study or
    the command line is wrong, 3 nothing could be measured, 130 stopped.

    \b
    Examples:
      sojourn run --all --profile quick
      sojourn run --all --profile quick --within 20m
      sojourn run --all --only file_size,file_count -p quick --results campaign
      sojourn run latency_vs_load --profile quick
      sojourn run max_load_memcached --set services.memcached.qos.bound=500us
      sojourn run latency_vs_load --vary services.memcached.params.threads=1,2
      sojourn run my.toml --json > answer.json
      sojourn run my.toml --export markdown=answer.md
      sojourn run selfcheck --wait 10m          # wait for another study to end
    """
    from sojourn import extras, questions, report, spec

    waits = patience(wait, calm_s, is_forced=force)
    sets = [*(sets or ()), *hosts_sets(hosts), *_shield(shield, is_off=no_shield)]
    exports = report.asked(export) if export else ()
    if study is None or every or only:
        _refuse(exports)
        extras.require(extras.PAGES)
        names = all_studies.chosen(study, only or (), is_all=every, varied=vary or ())
        return all_run.run(
            names,
            profile=profile,
            sets=sets,
            results=results,
            patience=waits,
            is_new=new,
            as_json=as_json,
            is_quiet=quiet,
            only=only or (),
            within=within,
            is_agreed=yes,
        )
    if within is not None:
        raise SpecFault("--within is for --all", at="--within", fix="add --all, or leave it out")
    asked = spec.load(  # a mistake is told at once
        study, profile=profile, overrides=sets, varied=vary or (), asks=questions.PLANS.mistakes
    )
    consent.agreed(study, asked, is_agreed=yes)
    from sojourn import pipeline
    from sojourn.cli.live import Display
    from sojourn.run.signals import ending_in_order

    command = _command(study, profile, sets, vary or [], results, is_agreed=yes)
    display = Display(asked, is_quiet=quiet)
    try:
        with ending_in_order(), display:
            done = pipeline.run_study(
                asked,
                results,
                display,
                resume=not new,
                command=command,
                patience=waits,
            )
    except KeyboardInterrupt:
        say(
            f"stopped; {display.saved} points are saved; resume with: {command}; "
            "see what there is with: sojourn show"
        )
        return Exit.INTERRUPTED
    report.export(done.findings, exports, questions.parts())
    if done.texts:
        answered.keep_all(done.path, done.findings, done.texts)
    return tell(done, as_json=as_json, is_quiet=quiet)


def tell(done: Done, *, as_json: bool, is_quiet: bool = False) -> int:
    """Print what a study found; returns the exit code."""
    from sojourn import extras, questions

    page = next((page for page in done.pages if page.suffix == ".html"), None)
    say(f"report: {page or done.path}")
    if page is None and not extras.is_here(extras.PAGES):
        say(f"for a page with figures: {extras.command(extras.PICTURES)}; then: sojourn report")
    if as_json:
        put_json({"record": done.path, "pages": done.pages, **questions.flat(done.findings)})
        if not is_quiet:
            _say_lost(done.findings)
    else:
        _print_settings(done.findings)  # its last line is what to run next
    return EXITS[str(done.findings.verdict)]


def _shield(name: str | None, *, is_off: bool) -> list[str]:
    """The shield as a `--set` of the study: the record has what is asked here."""
    if is_off and name not in (None, "none"):
        raise SpecFault(
            f"--no-shield and --shield {name} contradict each other",
            at="the command line",
            fix="give one of them",
        )
    wanted = "none" if is_off else name
    return [f"run.shield={wanted}"] if wanted else []


def _refuse(exports: Exports) -> None:
    """Several studies have no one file to go to."""
    if exports:
        raise SpecFault(
            "--export is for one study, --all measures many",
            at="--export",
            fix="leave it out; then `sojourn show STUDY --export FORMAT=FILE` for each",
        )


def _print_settings(findings: Findings) -> None:
    from sojourn import questions, report

    put_page(
        report.text(findings, questions.parts(), width(), color=sys.stdout.isatty(), is_whole=False)
    )


def _say_lost(findings: Findings) -> None:
    """What the report says of runs that are not believed."""
    from sojourn.report import people

    for sentence in people.lost(findings.points):
        say(sentence)


def _command(
    study: str,
    profile: str | None,
    sets: list[str],
    varied: list[str],
    results: Path,
    *,
    is_agreed: bool,
) -> str:
    parts = ["sojourn", "run", study, *(["--yes"] if is_agreed else [])]
    parts += ["--profile", profile] if profile else []
    for text in sets:
        parts += ["--set", text]
    for text in varied:
        parts += ["--vary", text]
    parts += ["--results", str(results)] if results != RESULTS else []
    return shlex.join(parts)
