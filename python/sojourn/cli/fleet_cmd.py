"""`sojourn fleet`: a datacenter's day, simulated, with neighbours and without (C26, L34)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn import disk
from sojourn.cli import tables
from sojourn.cli.draw import escape, to_stdout
from sojourn.cli.models_show import end, print_table, shown, spread
from sojourn.cli.options import RESULTS, AsJson, NeighbourOption, Results, SettingOption
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault


def fleet(
    job: Annotated[
        Path | None,
        typer.Option(help="JSON job. Keys and defaults: sojourn-sim --describe.", dir_okay=False),
    ] = None,
    servers: Annotated[
        int | None, typer.Option(help="Number of servers.", show_default="12000")
    ] = None,
    placement: Annotated[
        str,
        typer.Option(help="Servers that get a neighbour: null, all, random:SHARE, below:LOAD."),
    ] = "below:0.6",
    slowdown: Annotated[
        float | None,
        typer.Option(
            help="Factor by which a neighbour slows requests down, such as 1.31.",
            show_default="the job's",
        ),
    ] = None,
    harmless: Annotated[
        bool, typer.Option(help="Assume that neighbours do not affect the service's tail.")
    ] = False,
    table: Annotated[
        str,
        typer.Option(
            help="Co-location table with the neighbours' throughputs, as for `sojourn tco`.",
            show_default="L28",
        ),
    ] = "",
    setting: SettingOption = "",
    neighbour: NeighbourOption = "mean",
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Simulate a datacenter's day: tail at the root, utilisation, cost (C26, L34).

    Neighbours' throughput is that of Table 2 (L28) unless the job or --table gives another. Give
    --slowdown or --harmless, because no table has the effect on the tail.

    \b
    Examples:
      sojourn fleet --slowdown 1.31
      sojourn fleet --servers 100000 --placement all --harmless --json
      sojourn fleet --table batch_colocation --slowdown 1.31
    """
    from sojourn.models import fleet as model
    from sojourn.models import tco
    from sojourn.models.simulator import Simulator

    asked: dict[str, Any] = _read_json(job) if job else {}
    asked.setdefault("placement", placement)
    if servers is not None:
        asked["servers"] = servers
    if slowdown is not None:
        asked["neighbour_slowdown"] = slowdown
    costs, data = tco.Costs(), tables.find(table, setting, results) if table else None
    if data is None:
        result = model.compare(Simulator.find(), asked, costs, harmless=harmless)
    else:
        result = model.fed(
            Simulator.find(), asked, costs, data, neighbour=neighbour, harmless=harmless
        )
    if as_json:
        put_json({"label": "simulated", **(tables.head(data) if data else {}), **asdict(result)})
    else:
        p99, p99_apart = (shown(v) for v in (result.root_p99_ns, result.root_p99_ns_apart))
        rows = [
            ("root p99", p99_apart, p99),
            ("utilisation", f"{result.utilisation_apart:.1%}", f"{result.utilisation:.1%}"),
            ("TCO, $M", f"{result.tco_apart_usd / 1e6:.2f}", f"{result.tco_usd / 1e6:.2f}"),
        ]
        console = to_stdout()
        cost = "no cost to the tail, assumed" if harmless else f"slowdown {result.slowdown:g}"
        console.print(
            f"simulated: {result.servers:,} servers, neighbours {result.placement}, {cost}\n"
        )
        print_table(console, ("", "apart", "shared"), rows)
        console.print(
            f"\nneighbours do the work of {result.neighbour_servers:,.0f} servers; gain "
            f"{spread(asdict(result), 'gain', 1)} ({result.verdict})"
        )
        if data:
            console.print(f"neighbours' throughput is from {tables.table_text(data)}")
            tables.print_doubts(console, data)
        for reason in result.reasons:
            console.print(f"unknown: {escape(reason)}")
    end(result.verdict)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        result = disk.parsed(disk.read_named(path))
    except (OSError, ValueError) as error:
        raise SpecFault(f"cannot read the job: {error}", at=str(path), fix="give JSON") from None
    if not isinstance(result, dict):
        raise SpecFault("the job is not a table of keys", at=str(path), fix="write {…}")
    return result
