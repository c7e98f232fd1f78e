"""The chart of ratios: names of rows, texts, arrows."""

from __future__ import annotations

from typing import Any

from sojourn.report.draw import dots
from sojourn.report.draw.table import Record


def record(name: str, ratio: float) -> Record:
    return {
        "row": name, "ratio": ratio, "lo": 0.9 * ratio, "hi": 1.1 * ratio, "look": "worse",
        "shown": f"{ratio:g}", "what": "p99", "floor": 1.2,
    }  # fmt: skip


def placed(*records: Record) -> list[dict[str, Any]]:
    chart: Any = dots.ratios(
        records,
        looks={"worse": "violated"},
        hollow="",
        tooltip=("what",),
        title="x",
        across="times",
    )
    (rows,) = [rows for name, rows in chart["datasets"].items() if name == "rows"]
    return list(rows)


def test_long_names_of_rows_differ() -> None:
    names = [f"some rather long parameter name {n} on" for n in range(9)]
    rows = [row["row"] for row in placed(*(record(name, 2.0) for name in names))]
    assert len(set(rows)) == len(names)
    assert max(map(len, rows)) <= dots.LABEL_MAX


def test_a_text_at_an_edge_goes_inwards() -> None:
    low, middle, high = placed(record("a", 0.02), record("b", 1.1), record("c", 60.0))
    assert [row["align"] for row in (low, middle, high)] == ["left", "center", "right"]


def test_what_lies_beyond_the_axis_has_an_arrow() -> None:
    low, inside, high = placed(record("a", 1e-4), record("b", 2.0), record("c", 3e4))
    assert (low["x"], high["x"]) == (1 / dots.EDGE, dots.EDGE)
    assert (low["shown"], inside["shown"], high["shown"]) == ("← 0.0001", "2", "30000 →")


def test_an_axis_of_many_decades_has_ticks_between_them() -> None:
    ticks = dots.axis([0.02, 60.0]).to_dict()["values"]
    assert {0.1, 0.3, 1, 3, 10} <= set(ticks)
