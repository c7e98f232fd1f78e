"""`sojourn tco RECORD --server NAME=PRICE`: machines that served one study."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.cli import lowered
from sojourn.cli.draw import to_stdout
from sojourn.cli.models_show import print_table
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault, StoreFault

if TYPE_CHECKING:
    from sojourn.findings.findings import ServiceFinding
    from sojourn.models.platforms import Platform
    from sojourn.models.tco import Costs

FACTOR = "hosts.server"


def show(name: str, results: Path, servers: Sequence[str], costs: Costs, *, as_json: bool) -> None:
    """Print what each machine serves, for each CPU, and at what cost."""
    from sojourn import store

    lowered.for_reading(path := store.resolve(results, name))
    rows = [one.row(costs) for one in platforms(path, prices(servers))]
    if as_json:
        put_json({"label": "computed", "record": path.name, "rows": rows})
        return
    console = to_stdout()
    head = ("server", "requests/s", "CPUs", "for each CPU", "busy", "$ a server", "$ per 1000/s")
    shown = [
        (
            str(row["server"]),
            f"{row['load_rps']:,.0f}",
            str(row["cpus"]),
            f"{row['per_cpu_rps']:,.0f}",
            f"{row['busy']:.0%}",
            f"{row['server_usd']:,.2f}",
            f"{row['usd_per_krps']:,.2f}",
        )
        for row in rows
    ]
    print_table(console, head, shown)


def prices(texts: Sequence[str]) -> dict[str, float]:
    """The price of each server, by its name; SpecFault where one is none."""
    result = {}
    for text in texts:
        name, mark, price = text.rpartition("=")
        try:
            usd = float(price)
        except ValueError:
            usd = math.nan
        if not mark or not name or not usd >= 0 or usd == math.inf:
            raise SpecFault(
                f"'{text[:80]}' is no NAME=PRICE", at="--server", fix="write node-a=2000"
            )
        result[name] = usd
    return result


def platforms(path: Path, priced: dict[str, float]) -> list[Platform]:
    """The machines of a record, in its order.

    Raises:
        SpecFault: it has no such machine, or one without a price.
        StoreFault: one has no load yet.
    """
    from sojourn import pipeline
    from sojourn.models.platforms import Platform

    every = {dict(one.levels)[FACTOR]: one for one in _served(pipeline.findings_of(path).services)}
    names = ", ".join(map(str, every)) or "none: hosts.server is no factor of the study"
    for name in (*priced, *every):
        if name not in every or name not in priced:
            what = "has no price" if name in every else "is no server of the record"
            fix = f"give --server NAME=PRICE for each of {names}"
            raise SpecFault(f"{name} {what}", at="--server", fix=fix)
    return [
        Platform(
            name=str(name),
            load_rps=_load(one),
            cpus=_cpus(path, str(name)),
            cpu_ns=_cpu_ns(one),
            price_usd=priced[str(name)],
        )
        for name, one in every.items()
    ]


def _served(services: Sequence[ServiceFinding]) -> list[ServiceFinding]:
    own = [one for one in services if FACTOR in dict(one.levels)]
    if len({dict(one.levels)[FACTOR] for one in own}) < len(own):
        raise SpecFault(
            "the record has more than one answer for a server",
            at="--server",
            fix=f"measure one service, and vary {FACTOR} alone",
        )
    return own


def _load(one: ServiceFinding) -> float:
    """The load within the QoS target, or else the highest that was measured."""
    from sojourn.findings.highest_load import MaxLoad

    section = one.section(MaxLoad)
    if section is not None and section.border is not None:
        return section.border.estimate_rps
    if one.max_rps is None:
        raise StoreFault(
            f"{one.service} has no load yet", at="--server", fix="run the study again: it resumes"
        )
    return one.max_rps


def _cpu_ns(one: ServiceFinding) -> float | None:
    """CPU time of a request at the highest load that has it."""
    for point in reversed(one.points):
        if known := [run.cpu_ns for run in point.runs if run.cpu_ns is not None]:
            return statistics.median(known)
    return None


def _cpus(path: Path, name: str) -> int:
    """CPUs that the server had there.

    Raises:
        StoreFault: none of its points is in the record, or one is damaged.
    """
    from sojourn import disk, store
    from sojourn.store import files

    record = store.read(path)
    for outcome in record.outcomes():
        if outcome.point.setting.get(FACTOR) != name:
            continue
        at = record.folder_of(outcome) / "service.json"
        if at.exists():
            with files.readable(at, "remove the folder of this point, then run the study again"):
                return max(1, len(disk.read_json(at)["placement"]["server"]))
    raise StoreFault(f"no point of {name} was measured", at=str(path), fix="run the study again")
