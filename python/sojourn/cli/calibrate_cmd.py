"""`sojourn calibrate`: fit a service to its low loads, predict its high ones, print the errors."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.draw import escape, named, to_stdout
from sojourn.cli.models_show import end, print_table, shown
from sojourn.cli.options import RESULTS, AsJson, Results
from sojourn.cli.plain import put_json
from sojourn.cli.record_path import record_path
from sojourn.errors import SpecFault
from sojourn.units import parse_count, show_count, show_ns

if TYPE_CHECKING:
    from sojourn.models.calibration import Calibration, Prediction


def calibrate(
    points: Annotated[
        Path,
        typer.Argument(
            help="A record's folder, part of its name or a study's name, as `sojourn show` takes "
            "it; or a folder of JSON results, or a CSV file."
        ),
    ],
    service: Annotated[
        str, typer.Option(help="Service of the record, if it has several: its label.")
    ] = "",
    setting: Annotated[
        str,
        typer.Option(help='Setting of the record, if it varies factors: "threads = 2".'),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(
            help="Worker threads of the service, no more than its CPUs.",
            show_default="the record's; else 1",
        ),
    ] = None,
    connections: Annotated[int, typer.Option(help="Connections of the load.")] = 64,
    peak: Annotated[
        str,
        typer.Option(
            help="Closed-loop peak in requests/s: the service's capacity.",
            show_default="the record's; else from CPU time at the fitted loads",
        ),
    ] = "",
    fit_up_to: Annotated[
        float, typer.Option(help="Fit up to this share of the peak (or of the highest load).")
    ] = 0.67,
    quiet: Annotated[
        float,
        typer.Option(help="Share of each load's runs to use: those with the least CPU time."),
    ] = 1.0,
    bound: Annotated[
        float, typer.Option(help="Largest allowed relative error of predictions.")
    ] = 0.30,
    quantities: Annotated[
        str, typer.Option(help="Quantities to fit and judge: mean, p50, p95, p99.")
    ] = "p50,p95",
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Fit a service's parameters to its low loads, predict its high loads, and print the errors.

    Service time and wake-up cost follow from CPU time per request, which falls as the CPU fills.
    The cost of a halted CPU and the variation of service times follow from latencies. Loads above
    --fit-up-to are not used for the fit, so their errors test the model. Exit code 1: an error is
    larger than --bound. If the data do not identify a parameter, the values that fit equally are
    printed.

    \b
    Examples:
      sojourn calibrate latency_vs_load           # its newest record
      sojourn calibrate results/latency_vs_load/vm/20261122T014937Z-51be
      sojourn calibrate RECORD --service memcached --setting "threads = 2"
      sojourn calibrate points.csv --workers 4 --connections 256 --peak 480k
      sojourn calibrate points.csv --quantities p50   # if the tail is noise
      sojourn calibrate folder --quiet 0.33           # if the CPU's speed varies
    """
    from sojourn.models import record_loads
    from sojourn.models.calibrate import calibrate as fit
    from sojourn.models.calibration import Setup
    from sojourn.models.points import read_points
    from sojourn.models.simulator import Simulator

    peak_rps = _count(peak) if peak else None
    points = record_path(points, results, other="a folder of results in JSON, or a CSV file")
    lowered.for_reading(points)
    if record_loads.is_record(points):
        every = record_loads.read(points, quiet=quiet)
        one = record_loads.chosen(every, str(points), service=service, setting=setting)
        measured, peak_rps = one.points, peak_rps or one.peak_rps
        workers = one.workers if workers is None else workers
    elif service or setting:
        raise SpecFault(
            "only a record has services and settings",
            at="--service" if service else "--setting",
            fix="leave the option out, or give the folder of a record",
        )
    else:
        measured = read_points(points, quiet=quiet)
    setup = Setup(
        workers=1 if workers is None else workers,
        connections=connections,
        fit_up_to=fit_up_to,
        bound=bound,
        peak_rps=peak_rps,
        quantities=tuple(name.strip() for name in quantities.split(",") if name.strip()),
    )
    calibration = fit(Simulator.find(), measured, setup)
    if as_json:
        put_json(asdict(calibration))
    else:
        _print(calibration)
    end(calibration.verdict)


def _print(result: Calibration) -> None:
    console = to_stdout()
    values = ", ".join(f"{name} {value:.3g}" for name, value in result.parameters.items())
    console.print(f"{named(result.label)}: {values}; full at {show_count(result.capacity_rps)}/s")
    known = ", ".join(
        f"{r.name} {r.low:.3g}–{r.high:.3g}" for r in result.ranges if r.is_identified
    )
    console.print(f"identified, with what fits equally: {known or 'none'}")
    console.print(f"loads are shares of {result.axis}; * fitted, not predicted; ~ not judged\n")
    head = ("load", "rps", "", "measured", "runs", "predicted", "error", "")
    print_table(console, head, [_row(p, result) for p in result.predictions])
    worst = "-" if result.worst_held_out is None else f"{result.worst_held_out:.0%}"
    if result.worst_held_out == math.inf:
        worst = "without end: the model cannot carry a measured load"
    judged = ", ".join(result.quantities)
    part = f"; {result.skipped} of {result.held_out} are not judged" if result.skipped else ""
    console.print(
        f"\n{result.verdict}: worst held-out error of {judged} is {worst}, "
        f"bound {result.bound:.0%}{part}"
    )
    for note in result.notes:
        console.print(f"note: {escape(note)}")


def _row(p: Prediction, calibration: Calibration) -> tuple[str, ...]:
    spread = "" if p.lo_ns is None or p.hi_ns is None else f"{show_ns(p.lo_ns)}–{show_ns(p.hi_ns)}"
    mark = ("*" if p.is_fitted else "") + ("" if p.quantity in calibration.quantities else "~")
    return (
        f"{p.share:.0%}",
        show_count(p.rate_rps),
        p.quantity,
        show_ns(p.measured_ns),
        spread,
        shown(p.predicted_ns),
        "unstable" if p.error is None else f"{p.error:+.1%}",
        mark,
    )


def _count(text: str) -> float:
    try:
        return parse_count(text)
    except ValueError as error:
        raise SpecFault(str(error), at="--peak", fix="write a number such as 120k") from None
