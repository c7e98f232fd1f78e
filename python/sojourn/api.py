"""A record in a notebook or a script: `sojourn.open("latency_vs_load").points`.

Tables are pandas, which statsmodels brings; its chart is Altair. A record is read
as `sojourn show` reads it, and nothing is changed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sojourn import pipeline, store
from sojourn.browse import curves, records
from sojourn.browse.index import Index
from sojourn.findings.findings import Findings
from sojourn.questions import parts
from sojourn.store import files, index
from sojourn.store.named import shown

if TYPE_CHECKING:
    import pandas as pd

NS_PER_MS = 1e6
P99_NS = "p99_ns"
WIDTH = 100  # columns of an answer as text


class Opened:
    """A record that is looked at: its runs as they are when it is opened.

    Attributes:
        path: its folder.
    """

    def __init__(self, path: Path) -> None:
        """Look at the record in a folder; StoreFault if it is none."""
        self.path = path
        self._seen = records.seen(path)

    @property
    def study(self) -> str:
        """Name of the study that was measured."""
        return self._seen.record.study.name

    @functools.cached_property
    def points(self) -> pd.DataFrame:
        """Every run, a row each, with the columns of `sojourn sql` (table outcomes).

        Times are in ns. Each factor is a column; `is_believed` says whether a run's numbers count.
        A number that no run has is NaN.
        """
        import pandas as pd  # noqa: PLC0415 - it takes a third of a second

        hidden = {index.AT, index.BYTES, index.CHANGED, "setting"}
        rows = self._seen.table
        with files.readable(self.path, pipeline.STRANGE):
            table = {name: _cells(rows[name]) for name in rows.column_names if name not in hidden}
        settings = [outcome.point.setting for outcome in self._seen.outcomes]
        levels = list(dict.fromkeys(name for setting in settings for name in setting))
        believed = [outcome.is_believed for outcome in self._seen.outcomes]
        table["is_believed"] = np.array(believed, dtype=np.bool_)
        for name in levels:
            column = f"setting.{name}" if name in table else name
            table[column] = [setting.get(name) for setting in settings]
        return pd.DataFrame(table)

    @functools.cached_property
    def curve(self) -> pd.DataFrame:
        """Latency against load: medians over the runs that count, with the least and greatest.

        Columns: service, condition, requests_per_s, runs, runs_that_count, and for each of mean,
        p50, p95 and p99 `p99_ns`, `p99_ns_min`, `p99_ns_max`: infinite where lost requests decide.
        `too_few_requests_for` names the quantiles that the report does not show for that reason,
        `at_most` those of which the median is an upper bound.
        """
        import pandas as pd  # noqa: PLC0415 - as above

        pairs = [(one, load) for one in self._seen.curves for load in one.loads]
        table: dict[str, Any] = {
            "service": [one.service for one, _ in pairs],
            "condition": [one.condition for one, _ in pairs],
            "requests_per_s": _floats(load.rps for _, load in pairs),
            "runs": _integers(len(load.runs) for _, load in pairs),
            "runs_that_count": _integers(len(load.believed) for _, load in pairs),
        }
        for name in curves.TIMES:
            ends = [load.ends(name) or (None, None) for _, load in pairs]
            table[name] = _floats(load.middle(name) for _, load in pairs)
            table[f"{name}_min"] = _floats(least for least, _ in ends)
            table[f"{name}_max"] = _floats(most for _, most in ends)
        table["too_few_requests_for"] = [_named(load.lacking) for _, load in pairs]
        table["at_most"] = [_named(load.at_most) for _, load in pairs]
        return pd.DataFrame(table)

    @functools.cached_property
    def findings(self) -> Findings:
        """All that the report says, as values; of the runs there are when it is first asked for."""
        return pipeline.findings_of(self.path)

    @functools.cached_property
    def answer(self) -> str:
        """The answer as `sojourn show` prints it."""
        return pipeline.text_of(self.path, self.findings, WIDTH)

    @property
    def chart(self) -> Any:
        """p99 against load as an Altair chart, which may be changed: dots are runs, lines medians.

        Runs that do not count, or have too few requests for a p99, are hollow. A load of which all
        runs together have too few is on no line. Each service has a panel of its own.
        """
        import altair as alt  # noqa: PLC0415 - it takes half a second

        alone = "datum.requests_per_s > 0 && datum.p99_ms > 0"
        x = alt.X("requests_per_s:Q", title="offered load, requests/s")
        y = alt.Y("p99_ms:Q", title="p99, ms", scale=alt.Scale(type="log"))
        data = {"values": self._drawn}  # of a table Altair would draw 5000 rows at most
        base = alt.Chart(data).encode(x=x, y=y, color="condition:N")
        dots = (
            base.transform_filter(alone)
            .mark_point(size=40)
            .encode(
                fillOpacity=alt.condition("datum.is_number", alt.value(1.0), alt.value(0.0)),
                fill="condition:N",
                tooltip=["key:N", "requests_per_s:Q", "p99_ms:Q", "verdict:N"],
            )
        )
        lines = (
            base.transform_filter("datum.is_believed && datum.median_ms > 0")
            .mark_line()
            .encode(y=alt.Y("median(median_ms):Q", title="p99, ms", scale=alt.Scale(type="log")))
        )
        layered = alt.layer(lines, dots).properties(width=420, height=260)
        return layered.facet("service:N", columns=1).resolve_scale(x="independent")

    @functools.cached_property
    def _drawn(self) -> list[dict[str, Any]]:
        return [
            {
                "key": run.point.key,
                "service": one.service,
                "condition": one.condition or "as the study has it",
                "requests_per_s": load.rps,
                "p99_ms": None if p99_ns is None else p99_ns / NS_PER_MS,
                "median_ms": middle_ns / NS_PER_MS if middle_ns < math.inf else None,
                "verdict": str(run.verdict),
                "is_believed": run.is_believed,
                "is_number": run.is_believed and curves.is_carried([run], P99_NS),
            }
            for one in self._seen.curves
            for load in one.loads
            for middle_ns in [(load.carries(P99_NS) and load.middle(P99_NS)) or math.inf]
            for run in load.runs
            for p99_ns in [curves.number(run, P99_NS)]
        ]

    @functools.cached_property
    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """The report's own figures by name, each a Vega-Lite specification."""
        from sojourn.report.draw import palette  # noqa: PLC0415
        from sojourn.report.draw.figure import sized  # noqa: PLC0415
        from sojourn.report.parts import using  # noqa: PLC0415
        from sojourn.report.writers import html  # noqa: PLC0415

        with files.readable(self.path, pipeline.STRANGE), using(parts()):
            drawn = html.drawn(self.findings)
            every = [*drawn.of_study, *(f for some in drawn.of_services.values() for f in some)]
            return {
                one.name: cast(Mapping[str, Any], palette.resolve(sized(one.chart)))
                for one in every
                if one.chart is not None
            }

    def __repr__(self) -> str:
        return f"<record {self.path}: {len(self._seen.outcomes)} points>"


def open_record(record: str | Path | None = None, results: str | Path = "results") -> Opened:
    """A record by its folder, a part of its name, or its study; by default the newest.

    Args:
        record: what is meant.
        results: folder of results in which a name is looked for.

    Raises:
        StoreFault: there is none, or it cannot be read.
    """
    return Opened(store.resolve(Path(results), None if record is None else str(record)))


def listed(results: str | Path = "results") -> pd.DataFrame:
    """All records of a folder, newest first, a row each.

    Columns: name, study, machine, started, state, verdict, answer, answered, points, factors.
    """
    import pandas as pd  # noqa: PLC0415 - as above

    every = Index(Path(results)).whole()
    places, texts = ("name", "study", "machine"), ("started", "state", "verdict", "answer")
    table: dict[str, Any] = {name: [shown(getattr(one, name)) for one in every] for name in places}
    table |= {name: [getattr(one, name) for one in every] for name in (*texts, "answered")}
    table["points"] = _integers(one.points for one in every)
    table["factors"] = [one.factors for one in every]
    return pd.DataFrame(table)


def _named(columns: Iterable[str]) -> str:
    """`p95 p99`, of names of columns."""
    return " ".join(name.removesuffix("_ns") for name in columns)


def _cells(column: pa.ChunkedArray) -> Any:
    """A column of numbers as an array of numbers, though all are missing; others as a list."""
    values = column.to_pylist()
    if pa.types.is_integer(column.type) and None not in values:
        return _integers(values)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _floats(values)
    return values


def _floats(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if one is None else one for one in values], dtype=np.float64)


def _integers(values: Iterable[int]) -> NDArray[np.int64]:
    return np.array([*values], dtype=np.int64)
