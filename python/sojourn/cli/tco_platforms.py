"""`sojourn tco RECORD --platforms`: machines that served one study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.cli import lowered
from sojourn.cli.draw import to_stdout
from sojourn.cli.models_show import print_table
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault

if TYPE_CHECKING:
    from sojourn.models.tco import Costs


def show(name: str, results: Path, servers: Sequence[str], costs: Costs, *, as_json: bool) -> None:
    """Print what each machine serves, for each CPU and watt, and at what cost."""
    from sojourn import pipeline, store
    from sojourn.report import platforms

    lowered.for_reading(path := store.resolve(results, name))
    record, findings = store.read(path), pipeline.findings_of(path)
    priced = {**platforms.prices_of(record, findings), **prices(servers)}
    rows = [one.row(costs) for one in platforms.platforms(findings, record, priced)]
    if as_json:
        put_json({"label": "computed", "record": path.name, "rows": [asdict(one) for one in rows]})
        return
    print_table(to_stdout(), platforms.HEAD, [platforms.cells(one) for one in rows])


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
