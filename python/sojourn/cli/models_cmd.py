"""`sojourn provision`: how much load to plan for each server, computed from a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import tables
from sojourn.cli.draw import to_stdout
from sojourn.cli.models_show import end, print_table
from sojourn.cli.options import RESULTS, AsJson, Results, SettingOption, TableArgument
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault
from sojourn.units import parse_count, parse_ns

if TYPE_CHECKING:
    from sojourn.models.colocation import Table as Colocation
    from sojourn.models.gains import Admitted
    from sojourn.models.provision import Plan


def provision(
    table: TableArgument = "L33",
    setting: SettingOption = "",
    bound: Annotated[str, typer.Option(help="QoS bound on the table's quantile.")] = "500us",
    loss_max: Annotated[
        float, typer.Option(help="Largest allowed loss of a neighbour's throughput, 0 to 1.")
    ] = 1.0,
    headroom: Annotated[float, typer.Option(help="Share of the load to leave free.")] = 0.0,
    demand: Annotated[
        str,
        typer.Option(help="Demand in requests/s: 1M,5M,2M (steps) or diurnal:MEAN,AMPLITUDE."),
    ] = "",
    peak: Annotated[
        str,
        typer.Option(
            help="Requests/s of one server at load 1, with all cores for the service.",
            show_default="the table's",
        ),
    ] = "",
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Compute how much load to plan per server so that neighbours can stay (L22).

    A neighbour without tail or loss in the table is unknown and cannot stay. Of measured numbers,
    the whole interval must fit. Exit code 1: no load fits. 3: this is not known.

    \b
    Examples:
      sojourn provision L33 --bound 500us --loss-max 0.1
      sojourn provision L28 --bound 500us --demand diurnal:20M,12M --headroom 0.1
      sojourn provision batch_colocation --bound 1ms --loss-max 0.6
    """
    from sojourn.models import gains
    from sojourn.models import provision as model
    from sojourn.models.tco import Costs

    data = tables.find(table, setting, results)
    steps, bound_ns = _quantities(model, demand), _time(bound, "--bound")
    plan = model.provision(
        data,
        bound_ns=bound_ns,
        loss_max=loss_max,
        headroom=headroom,
        demand_rps=steps,
        peak_rps=_count(peak, "--peak") if peak else None,
    )
    worth = gains.admitted(data, Costs(), bound_ns=bound_ns, loss_max=loss_max)
    if as_json:
        put_json({**asdict(plan), **tables.head(data), "demand_rps": steps, "tco": asdict(worth)})
    else:
        _print_plan(plan, data, worth, has_demand=bool(steps))
    end(plan.verdict)


def _print_plan(plan: Plan, data: Colocation, worth: Admitted, *, has_demand: bool) -> None:
    console = to_stdout()
    nothing = "not known" if plan.verdict == "unknown" else "no load fits"
    load, alone = (nothing if v is None else f"{v:.0%} of peak" for v in (plan.load, plan.alone))
    console.print(f"computed from {tables.table_text(data)}")
    console.print(f"plan per server: {load}; without neighbours: {alone}")
    for line in tables.worth(data, worth):
        console.print(line)
    console.print()
    limits = [
        (
            limit.neighbour,
            limit.verdict,
            "-" if limit.load is None else f"{limit.load:.0%}",
            "-" if limit.fails_at is None else f"{limit.fails_at:.0%}",
            limit.why,
        )
        for limit in plan.limits
    ]
    print_table(console, ("neighbour", "", "fits to", "not at", "why"), limits)
    if plan.unknown:
        console.print(f"\n{len(plan.unknown)} unknown neighbours cannot stay until measured")
    if plan.servers and plan.servers_alone:
        console.print(
            f"\nservers: {max(plan.servers):,} at the highest demand, {max(plan.servers_alone):,} "
            "without neighbours"
        )
    elif has_demand and plan.load is not None:
        console.print("\nservers: unknown; give --peak, the table has no requests/s")
    tables.print_doubts(console, data)
    console.print(f"\nverdict: {plan.verdict}")


def _quantities(model: Any, text: str) -> tuple[float, ...]:
    if not text:
        return ()
    if text.startswith("diurnal:"):
        parts = [_count(part, "--demand") for part in text.removeprefix("diurnal:").split(",")]
        if len(parts) != 2:
            raise SpecFault("diurnal takes two numbers", at="--demand", fix="diurnal:20M,12M")
        return tuple(model.diurnal(*parts))
    return tuple(_count(part, "--demand") for part in text.split(","))


def _time(text: str, at: str) -> int:
    try:
        return parse_ns(text, needs_unit=True)
    except ValueError as error:
        raise SpecFault(str(error), at=at, fix="write a time such as 500us") from None


def _count(text: str, at: str) -> float:
    try:
        return parse_count(text)
    except ValueError as error:
        raise SpecFault(str(error), at=at, fix="write a number such as 1.2M") from None
