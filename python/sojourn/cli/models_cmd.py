"""`sojourn tco`, `provision`, `fleet`, `calibrate`, `classify`, `replicate`: computed or simulated.

A Typer app of its own; `app` mounts it with one line: `app.add_typer(models_cmd.app)`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import tables
from sojourn.cli.calibrate_cmd import calibrate
from sojourn.cli.classify_cmd import classify
from sojourn.cli.draw import escape, to_stdout
from sojourn.cli.models_show import end, print_table, shown, spread
from sojourn.cli.options import RESULTS, AsJson, Results
from sojourn.cli.plain import put_json
from sojourn.cli.replicate_cmd import replicate
from sojourn.errors import SpecFault
from sojourn.units import parse_count, parse_ns

if TYPE_CHECKING:
    from sojourn.models import tco
    from sojourn.models.colocation import Table as Colocation
    from sojourn.models.gains import Admitted, Gain
    from sojourn.models.provision import Plan

app = typer.Typer()
PANEL = "Model"
_COSTS = "Costs"

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="[TABLE]",
        help="Co-location table: L28, L33 (the paper's), a record of `batch_colocation` (its "
        "study's name or its folder), or a JSON file (see schema/colocation).",
    ),
]
SettingOption = Annotated[
    str,
    typer.Option(
        "--setting",
        help="Of a record: the setting, as its report calls it, or a part of that.",
        show_default="the first",
    ),
]
NeighbourOption = Annotated[
    str, typer.Option(help="Whose throughput; mean: the mean of all neighbours.")
]
Price = Annotated[float, typer.Option(help="Price of a server, $.", rich_help_panel=_COSTS)]
PeakKw = Annotated[float, typer.Option(help="Power when busy, kW.", rich_help_panel=_COSTS)]
Idle = Annotated[float, typer.Option(help="Idle power over busy power.", rich_help_panel=_COSTS)]
Energy = Annotated[float, typer.Option(help="Grid power, $/kWh.", rich_help_panel=_COSTS)]
Years = Annotated[float, typer.Option(help="Years a server is kept.", rich_help_panel=_COSTS)]
Pue = Annotated[
    float | None,
    typer.Option(
        help="PUE; sets the cooling load to PUE − 1.", show_default="the paper's L1 = 0.8",
        rich_help_panel=_COSTS,
    ),
]  # fmt: skip


@app.command("tco", rich_help_panel=PANEL)
def total_cost(
    table: TableArgument = "L28",
    setting: SettingOption = "",
    neighbour: NeighbourOption = "mean",
    price: Price = 2000.0,
    peak_kw: PeakKw = 0.3,
    idle_ratio: Idle = 0.5,
    energy: Energy = 0.08,
    years: Years = 3.0,
    pue: Pue = None,
    servers: Annotated[int, typer.Option(min=1, help="Servers of the shared cluster.")] = 12_000,
    share: Annotated[float, typer.Option(help="Change of each parameter in the tornado.")] = 0.2,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """What co-location saves: cost of one shared cluster against two (L31, L32).

    \b
    Examples:
      sojourn tco
      sojourn tco --energy 0.20 --pue 1.1 --json
      sojourn tco my_table.json --neighbour lbm
      sojourn tco batch_colocation --setting nice:-20
    """
    from sojourn.models import gains, tco

    costs = tco.Costs(
        price_usd=price, peak_kw=peak_kw, idle_ratio=idle_ratio, energy_usd_per_kwh=energy,
        years=years,
    )  # fmt: skip
    costs = costs if pue is None else costs.with_pue(pue)
    data = tables.find(table, setting, results)
    rows = [_cost_row(data, one, costs, servers) for one in gains.of_loads(data, costs, neighbour)]
    first = rows[0]
    alone, worth = _roles(data, first["load"], first["throughput"])
    swings = tco.tornado(costs, alone, worth, share)
    if as_json:
        put_json({
            "label": "computed", **tables.head(data), "neighbour": neighbour,
            "costs": {**asdict(costs), "burden": costs.burden}, "rows": rows,
            "tornado": [{**asdict(s), "width": s.width} for s in swings],
        })  # fmt: skip
        return
    console = to_stdout()
    console.print(f"computed from {tables.said(data)}, neighbour {neighbour}\n")
    shown = [
        (f"{r['load']:.0%}", spread(r, "throughput", 0), f"{r['server_usd']:.2f}",
         spread(r, "gain", 2), spread(r, "gain_after_loss", 2), f"{r['matched_servers']:,}",
         "-" if r["discount"] is None else f"{r['discount']:.1%}")
        for r in rows
    ]  # fmt: skip
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


@app.command(rich_help_panel=PANEL)
def provision(
    table: TableArgument = "L33",
    setting: SettingOption = "",
    bound: Annotated[str, typer.Option(help="QoS bound on the table's quantile.")] = "500us",
    loss_max: Annotated[float, typer.Option(help="Largest loss of a neighbour, 0 to 1.")] = 1.0,
    headroom: Annotated[float, typer.Option(help="Share of the load kept free.")] = 0.0,
    demand: Annotated[
        str, typer.Option(help="Requests/s: 1M,5M,2M (steps) or diurnal:MEAN,AMPLITUDE.")
    ] = "",
    peak: Annotated[
        str,
        typer.Option(
            help="Requests/s of one server at load 1, all cores the service's.",
            show_default="the table's",
        ),
    ] = "",
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """How much load to plan per server, so that neighbours may stay (L22).

    A neighbour whose tail or loss is not in the table is unknown, and may not stay. Of numbers that
    were measured the whole interval must fit. The exit code is 1 if nothing fits, 3 if that is not
    known.

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
        data, bound_ns=bound_ns, loss_max=loss_max, headroom=headroom,
        demand_rps=steps, peak_rps=_count(peak, "--peak") if peak else None,
    )  # fmt: skip
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
    console.print(f"computed from {tables.said(data)}")
    console.print(f"plan per server: {load}; without neighbours: {alone}")
    for line in tables.worth(data, worth):
        console.print(line)
    console.print()
    limits = [
        (limit.neighbour, limit.verdict, "-" if limit.load is None else f"{limit.load:.0%}",
         "-" if limit.fails_at is None else f"{limit.fails_at:.0%}", limit.why)
        for limit in plan.limits
    ]  # fmt: skip
    print_table(console, ("neighbour", "", "fits to", "not at", "why"), limits)
    if plan.unknown:
        console.print(f"\nunknown of {len(plan.unknown)}: they may not stay until measured")
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


@app.command(rich_help_panel=PANEL)
def fleet(
    job: Annotated[
        Path | None,
        typer.Option(help="JSON job; keys and defaults: sojourn-sim --describe.", dir_okay=False),
    ] = None,
    servers: Annotated[int | None, typer.Option(help="Servers.", show_default="12000")] = None,
    placement: Annotated[
        str, typer.Option(help="Neighbours: null, all, random:SHARE, below:LOAD.")
    ] = "below:0.6",
    slowdown: Annotated[
        float | None,
        typer.Option(
            help="How much slower requests are beside a neighbour: 1.31.", show_default="the job's"
        ),
    ] = None,
    harmless: Annotated[
        bool, typer.Option(help="Assume that neighbours cost the service's tail nothing.")
    ] = False,
    table: Annotated[
        str,
        typer.Option(
            help="Whose throughputs: a co-location table, as of `sojourn tco`.", show_default="L28"
        ),
    ] = "",
    setting: SettingOption = "",
    neighbour: NeighbourOption = "mean",
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Simulate a datacenter's day: tail at the root, utilisation, cost (C26, L34).

    What neighbours achieve is Table 2's (L28) unless the job or a table says else; what that costs
    the tail must be said.

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
        found = model.compare(Simulator.find(), asked, costs, harmless=harmless)
    else:
        found = model.fed(
            Simulator.find(), asked, costs, data, neighbour=neighbour, harmless=harmless
        )
    if as_json:
        put_json({"label": "simulated", **(tables.head(data) if data else {}), **asdict(found)})
    else:
        p99, p99_apart = (shown(v) for v in (found.root_p99_ns, found.root_p99_ns_apart))
        rows = [
            ("root p99", p99_apart, p99),
            ("utilisation", f"{found.utilisation_apart:.1%}", f"{found.utilisation:.1%}"),
            ("TCO, $M", f"{found.tco_apart_usd / 1e6:.2f}", f"{found.tco_usd / 1e6:.2f}"),
        ]
        console = to_stdout()
        cost = "no cost to the tail, assumed" if harmless else f"slowdown {found.slowdown:g}"
        console.print(
            f"simulated: {found.servers:,} servers, neighbours {found.placement}, {cost}\n"
        )
        print_table(console, ("", "apart", "shared"), rows)
        console.print(
            f"\nneighbours do the work of {found.neighbour_servers:,.0f} servers; gain "
            f"{spread(asdict(found), 'gain', 1)} ({found.verdict})"
        )
        if data:
            console.print(f"what neighbours achieve is from {tables.said(data)}")
            tables.print_doubts(console, data)
        for reason in found.reasons:
            console.print(f"unknown: {escape(reason)}")
    end(found.verdict)


app.command(rich_help_panel=PANEL)(calibrate)
app.command(rich_help_panel=PANEL)(classify)
app.command(rich_help_panel=PANEL)(replicate)


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


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpecFault(f"cannot read the job: {error}", at=str(path), fix="give JSON") from None
    if not isinstance(found, dict):
        raise SpecFault("the job is not a table of keys", at=str(path), fix="write {…}")
    return found
