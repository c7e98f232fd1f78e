"""`sojourn tco --league`: what the batch work is worth that each controller keeps."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.cli.draw import to_stdout
from sojourn.cli.models_show import print_table
from sojourn.cli.plain import put_json

if TYPE_CHECKING:
    from sojourn.models.tco import Costs


def show(path: Path, costs: Costs, servers: int, *, as_json: bool) -> None:
    """Print one row for each controller of each scenario."""
    from sojourn.models.league import rows_file

    rows = rows_file.load(path).worth(costs, servers)
    if as_json:
        about = {**asdict(costs), "burden": costs.burden}
        put_json({"label": "simulated", "league": str(path), "costs": about, "rows": rows})
        return
    console = to_stdout()
    console.print(f"computed from the simulated runs of {path}", markup=False)
    head = ("controller", "violated s", "batch", "of alone", "gain", "matched")
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        own = [_cells(row) for row in rows if row["scenario"] == scenario]
        console.print(f"\n{scenario}", markup=False)
        print_table(console, head, own)
    console.print(
        "\nbatch: CPU time of the batch work, of the machine's; of alone: of what it has without "
        "the service; in brackets: least and most of the seeds"
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    part = row["of_alone"]
    ends = f"{100 * row['gain_least']:.2f}-{100 * row['gain_most']:.2f}"
    return (
        row["controller"],
        f"{row['violated_s']:g}",
        f"{row['batch']:.1%}",
        "-" if part is None else f"{part:.0%}",
        f"{row['gain']:.2%}" + (f" ({ends})" if row["runs"] > 1 else ""),
        f"{row['matched_servers']:,}",
    )
