"""`sojourn replicate`: the papers' figures and tables by name, in text, JSON or as one page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import disk, extras
from sojourn.cli.models_show import end
from sojourn.cli.options import OUTPUT_PANEL, AsJson
from sojourn.cli.plain import put_json
from sojourn.cli.replicate_show import Display, print_list, print_replicas
from sojourn.errors import SpecFault, StoreFault

if TYPE_CHECKING:
    from sojourn.models.replicate.kind import Experiment, Replica
    from sojourn.models.simulator import Simulator

# Simulated time over the default.
PROFILES: Mapping[str, float] = {"quick": 0.25, "standard": 1.0, "full": 4.0}


def replicate(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="An id such as L18 or C11, or 'all'.", show_default=False
        ),
    ] = None,
    is_list: Annotated[
        bool, typer.Option("--list", help="List all ids with their state and command.")
    ] = False,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            "-p",
            metavar="NAME",
            help="Simulated time: quick (a quarter), standard, full (four times).",
        ),
    ] = "standard",
    share: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=100,
            help="Simulated time as a multiple of standard.",
            show_default="the profile's",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Parallel simulations; the results do not change.",
            show_default="CPUs",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Also write one self-contained HTML page to this file.",
            rich_help_panel=OUTPUT_PANEL,
            dir_okay=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Also write JSON to this file.", rich_help_panel=OUTPUT_PANEL, dir_okay=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replicate a figure or table of the three papers by its id, by simulation or computation.

    Nothing is measured; every number is labelled as simulated or computed. If the lab can measure
    an id, the study that does so is shown. Each statement of the paper is compared with our number
    and its tolerance. A statement that holds for all parameters is called arithmetic, because it
    proves nothing. Exit code 1: a statement does not hold.

    \b
    Examples:
      sojourn replicate --list                        # every id and its state
      sojourn replicate L18                           # one figure, in text
      sojourn replicate all -p quick --report replicas.html
      sojourn replicate L25 --json | jq '.checks[] | select(.holds == false)'
    """
    from sojourn.models import replicate as model
    from sojourn.models.simulator import Simulator

    if is_list or name is None:
        print_list(model.ids(), as_json=as_json)
        return
    is_all = name.strip().lower() == "all"
    experiments = model.KINDS if is_all else (model.find(name),)
    length = share if share is not None else _share_of(profile)
    if report is not None:
        extras.require(extras.PAGES)
    for path in (report, out):
        _check_folder(path)
    simulator = Simulator.find(jobs=jobs)
    replicas = _run(experiments, simulator, length)
    documents = [_document(replica) for replica in replicas]
    document = documents if is_all else documents[0]
    if report is not None:
        _write(report, _page(replicas, name, profile, share, report))
    if out is not None:
        _write(out, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        put_json(document)
    else:
        print_replicas(replicas)
    verdicts = {replica.verdict for replica in replicas}
    # Arithmetic that is right is no failure.
    end("violated" if "violated" in verdicts else "unknown" if "unknown" in verdicts else "holds")


def _document(replica: Replica) -> dict[str, Any]:
    """All there is, and the verdicts, which the classes derive."""
    checks = [{**asdict(check), "verdict": check.verdict} for check in replica.checks]
    derived = {"checks": checks, "verdict": replica.verdict, "counts": dict(replica.counts)}
    return {**asdict(replica), **derived}


def _share_of(profile: str) -> float:
    if profile not in PROFILES:
        from sojourn.text.near import near

        meant = near(profile, PROFILES)
        hint = f"did you mean {meant[0]}? " if meant else ""
        raise SpecFault(
            f"no profile is called '{profile}'",
            at="--profile",
            fix=f"{hint}known: {', '.join(PROFILES)}",
        )
    return PROFILES[profile]


def _check_folder(path: Path | None) -> None:
    """Say so before minutes of simulation, not after."""
    if path is not None and not disk.real(path).parent.is_dir():
        raise SpecFault(
            f"the folder {path.parent} does not exist", at=str(path), fix="make it, or name another"
        )


def _run(experiments: Sequence[Experiment], simulator: Simulator, share: float) -> list[Replica]:
    replicas: list[Replica] = []
    with Display(experiments) as display:
        for experiment in experiments:
            display.begin(experiment)
            watched = replace(simulator, on_done=display.step)
            replica = experiment.run(watched, share)
            display.finish(replica)
            replicas.append(replica)
    return replicas


def _page(
    replicas: Sequence[Replica], name: str, profile: str, share: float | None, path: Path
) -> str:
    from sojourn.models.replicate import ids
    from sojourn.report import replicas as page

    length = f" --profile {profile}" if share is None else f" --share {share:g}"
    return page.html(
        replicas,
        ids(),
        command=f"sojourn replicate {name}{length} --report {path.name}",
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )


def _write(path: Path, text: str) -> None:
    try:
        disk.write_text(path, text)
    except OSError as error:
        raise StoreFault(
            f"it cannot be written: {error.strerror or error}",
            at=str(path),
            fix="make room, or name a place that can be written",
        ) from error
