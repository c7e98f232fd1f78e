"""`sojourn tco`: what co-location saves, by a table and the costs of a server (L31, L32)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import tables, tco_league, tco_platforms
from sojourn.cli.draw import escape, to_stdout
from sojourn.cli.models_show import print_table, spread
from sojourn.cli.options import (
    RESULTS,
    AsJson,
    NeighbourOption,
    Results,
    SettingOption,
    TableArgument,
)
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault

if TYPE_CHECKING:
    from sojourn.models import tco
    from sojourn.models.colocation import Table as Colocation
    from sojourn.models.gains import Gain

_COSTS = "Costs"
TABLE, MEAN = "L28", "mean"

Price = Annotated[float, typer.Option(help="Price of a server, $.", rich_help_panel=_COSTS)]
PeakKw = Annotated[float, typer.Option(help="Power when busy, kW.", rich_help_panel=_COSTS)]
Idle = Annotated[float, typer.Option(help="Idle power over busy power.", rich_help_panel=_COSTS)]
Energy = Annotated[float, typer.Option(help="Grid power, $/kWh.", rich_help_panel=_COSTS)]
Years = Annotated[float, typer.Option(help="Years a server is used.", rich_help_panel=_COSTS)]
Pue = Annotated[
    float | None,
    typer.Option(
        help="PUE; sets the cooling load to PUE − 1.",
        show_default="the paper's L1 = 0.8",
        rich_help_panel=_COSTS,
    ),
]


def total_cost(
    table: TableArgument = TABLE,
    setting: SettingOption = "",
    neighbour: NeighbourOption = MEAN,
    price: Price = 2000.0,
    peak_kw: PeakKw = 0.3,
    idle_ratio: Idle = 0.5,
    energy: Energy = 0.08,
    years: Years = 3.0,
    pue: Pue = None,
    servers: Annotated[int, typer.Option(min=1, help="Servers of the shared cluster.")] = 12_000,
    share: Annotated[float, typer.Option(help="Change of each parameter in the tornado.")] = 0.2,
    league: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of a table: rows of bench/managers/week.py. The gain of each controller.",
            show_default=False,
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PRICE",
            help="Instead of a table: a record that varies hosts.server. Repeat for each server.",
            show_default=False,
        ),
    ] = None,
    platforms: Annotated[
        bool,
        typer.Option(
            "--platforms",
            help="The same, with the prices that the study gives in hosts.platforms.",
        ),
    ] = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Compute what co-location saves: the cost of one shared cluster against two (L31, L32).

    \b
    Examples:
      sojourn tco
      sojourn tco --energy 0.20 --pue 1.1 --json
      sojourn tco my_table.json --neighbour lbm
      sojourn tco batch_colocation --setting nice:-20
      sojourn tco --league bench/runs/week.json
      sojourn tco my_record --server node-a=2000 --server node-b=3500
      sojourn tco my_record --platforms
    """
    from sojourn.models import gains, tco

    costs = tco.Costs(
        price_usd=price,
        peak_kw=peak_kw,
        idle_ratio=idle_ratio,
        energy_usd_per_kwh=energy,
        years=years,
    )
    costs = costs if pue is None else costs.with_pue(pue)
    if league is not None:
        _refuse_beside_league(table, setting, neighbour)
        tco_league.show(league, costs, servers, as_json=as_json)
        return
    if server or platforms:
        tco_platforms.show(table, results, server or (), costs, as_json=as_json)
        return
    data = tables.find(table, setting, results)
    rows = [_cost_row(data, one, costs, servers) for one in gains.of_loads(data, costs, neighbour)]
    first = rows[0]
    swings = tco.tornado(
        costs, first["load"], first["throughput"], share, core_share=data.core_share
    )
    if as_json:
        put_json(
            {
                "label": "computed",
                **tables.head(data),
                "neighbour": neighbour,
                "costs": {**asdict(costs), "burden": costs.burden},
                "rows": rows,
                "tornado": [{**asdict(s), "width": s.width} for s in swings],
            }
        )
        return
    console = to_stdout()
    console.print(f"computed from {tables.table_text(data)}, neighbour {escape(neighbour)}\n")
    shown = [
        (
            f"{r['load']:.0%}",
            spread(r, "throughput", 0),
            f"{r['server_usd']:.2f}",
            spread(r, "gain", 2),
            spread(r, "gain_after_loss", 2),
            f"{r['matched_servers']:,}",
            "-" if r["discount"] is None else f"{r['discount']:.1%}",
        )
        for r in rows
    ]
    head = ("load", "neighbour", "$ a server", "gain", "after loss", "matched", "discount")
    print_table(console, head, shown)
    tables.print_doubts(console, data)
    if data.core_share < 1:
        console.print(
            f"\nthe service has {data.core_share:.0%} of the cores: gain as in L34, its servers "
            "saved; after loss: less what neighbours lose"
        )
    console.print(f"\nwhat moves the gain at {first['load']:.0%} load, ±{share:.0%} each:")
    bars = [(s.name, f"{s.gain_low:.2%}", f"{s.gain_high:.2%}") for s in swings]
    print_table(console, ("parameter", "low", "high"), bars)


def _refuse_beside_league(table: str, setting: str, neighbour: str) -> None:
    if (table, setting, neighbour) != (TABLE, "", MEAN):
        raise SpecFault(
            "a league has its own loads and batch work, so a table means nothing beside it",
            at="--league",
            fix="leave out the table, --setting and --neighbour; or leave out --league",
        )


def _cost_row(data: Colocation, one: Gain, costs: tco.Costs, servers: int) -> dict[str, Any]:
    from sojourn.models import tco

    alone, worth = _roles(data, one.load, one.throughput)
    return {
        "load": one.load,
        "throughput": one.throughput,
        "throughput_lo": one.throughput_lo,
        "throughput_hi": one.throughput_hi,
        "server_usd": round(costs.server_usd(alone), 2),
        "gain": one.gain,
        "gain_lo": one.gain_lo,
        "gain_hi": one.gain_hi,
        "gain_after_loss": one.after_loss,
        "gain_after_loss_lo": one.after_loss_lo,
        "gain_after_loss_hi": one.after_loss_hi,
        "matched_servers": tco.matched_servers(servers, worth),
        "discount": tco.discount(one.gain),
    }


def _roles(data: Colocation, load: float, throughput: float) -> tuple[float, float]:
    """Utilisation of the cluster that stays, and servers' worth of what the other one does.

    On shared cores the service stays and its neighbour is a gain (L32). With cores of their own
    the neighbours stay, on their share of them, and the service on its share is the gain (L34).
    """
    if data.core_share == 1:
        return load, throughput
    return 1 - data.core_share, data.core_share * load
