import json
import re
from dataclasses import replace

import vl_convert

from sojourn.models.replicate import ids
from sojourn.models.replicate.kind import (
    Check,
    Curve,
    Mark,
    Matrix,
    Parameter,
    Replica,
    arithmetic,
    within,
)
from sojourn.report import replicas
from sojourn.report.draw import palette
from sojourn.report.draw.figure import sized, vega_lite
from sojourn.report.pack import unpacked
from sojourn.report.replicas import curves, matrices
from sojourn.report.replicas.page import answer

YES, NO = True, False
CELLS = (("AB", "A"), ("B", "-"))


def _curve(
    name: str,
    y: tuple[float | None, ...],
    *,
    group: str = "",
    unit: str = "p95 µs",
    is_paper: bool = False,
) -> Curve:
    return Curve(
        name=name,
        x_label="load",
        y_label=unit,
        x=(0.1, 0.5, 0.9),
        y=y,
        group=group,
        is_paper=is_paper,
    )


def _replica(*holds: bool | None) -> Replica:
    return Replica(
        id="L99",
        title="A <b>figure</b>",
        label="simulated",
        parameters=(Parameter(name="service", value="1 µs", source="assumed"),),
        checks=tuple(Check(what="breaks", paper="≈ 12 %", ours="at 13 %", holds=h) for h in holds),
        curves=(
            _curve("alone", (1.0, 2.0, 3.0)),
            _curve("CFS", (1.0, 90.0, None), group="text"),
            _curve("BVT", (1.0, 2.0, 80.0), group="kernel"),
            _curve("theirs", (1.0, 2.0, 70.0), group="kernel", is_paper=True),
        ),
        marks=(Mark(x=0.12, text="breaks"),),
        matrices=(
            Matrix(
                name="CFS",
                row_label="b",
                column_label="a",
                rows=(0.1, 0.2),
                columns=(0.1, 0.2),
                cells=CELLS,
            ),
        ),
        notes=("a note",),
    )


def _page(*replica: Replica) -> str:
    return replicas.html(replica, ids(), command="sojourn replicate all", made="today")


def test_the_page_shows_both_numbers_the_verdict_and_the_label() -> None:
    html = _page(_replica(YES, NO))
    for text in ("≈ 12 %", "at 13 %", "ours, simulated", "a note", "violated", "assumed"):
        assert text in html
    assert "A &lt;b&gt;figure" in html
    assert "A <b>figure" not in html
    assert "1 of 2" in html


def test_the_answer_names_what_does_not_hold() -> None:
    results = [_replica(YES), _replica(NO), _replica(None)]
    assert answer(results).startswith("1 of 3 experiments have the papers' shape")
    assert "L99 not in every statement; L99 cannot be judged" in answer(results)


def test_arithmetic_is_shown_and_counted_apart() -> None:
    checks = (
        arithmetic(what="follows", paper="", ours="", is_right=True),
        within(1.0, 0.9, 1.1, what="judged", paper="", ours=""),
    )
    html = _page(replace(_replica(), checks=checks))
    assert '<span class="verdict arithmetic"><span aria-hidden="true">=</span> arithmetic' in html
    assert "0.9 to 1.1" in html
    alone = replace(_replica(), checks=checks[:1])
    assert answer([alone, _replica(YES)]) == (
        "1 of 1 experiments have the papers' shape; L99 follow from arithmetic alone."
    )


def test_a_group_is_a_figure_and_curves_of_none_are_in_all() -> None:
    first, second = curves.figures(_replica(YES))
    names = [{row[0] for row in figure.table.rows} for figure in (first, second)]
    assert names == [{"alone", "CFS"}, {"alone", "BVT", "theirs"}]
    assert "Triangles" in first.caption
    assert "Dashed" in second.caption


def test_what_never_ended_is_drawn_at_the_edge_and_stored_in_the_table() -> None:
    figure = curves.figures(_replica(YES))[0]
    assert figure.chart is not None
    rows = figure.chart["datasets"]
    assert isinstance(rows, dict)
    assert [row["curve"] for row in rows["infinite"]] == ["CFS"]
    assert "CFS,simulated,0.9,inf,p95 µs" in figure.table.csv()


def test_every_figure_can_be_drawn_and_the_payload_is_json() -> None:
    replica = _replica(YES)
    for figure in (*curves.figures(replica), *matrices.figure(replica)):
        assert figure.chart is not None
        spec = json.dumps(palette.resolve(sized(figure.chart)))
        svg: str = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite())
        assert "<svg" in svg
    html = _page(replica)
    match = re.search(r'id="figures">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    drawn = unpacked(match[1])
    assert isinstance(drawn, dict)
    assert set(drawn) == {"l99-text", "l99-kernel", "l99-matrices"}


def test_a_group_is_drawn_in_text_with_break_legend_and_what_never_ended() -> None:
    drawn = list(replicas.lines(_replica(YES), 80))
    assert max(map(len, drawn)) <= 80
    text = "\n".join(drawn)
    assert "text: p95 µs by load" in text
    assert "kernel: p95 µs by load" in text
    assert "x CFS" in text
    assert "* theirs (paper)" in text
    assert "| 12 %, paper: breaks" in text
    first = drawn[: drawn.index("  o alone")]
    picture = first[2:19]
    assert "^" in picture[0]  # CFS at 90 % never ends
    assert sum("x" in line for line in picture) == 2  # its other two loads
    column = picture[0].index("|", 12)
    assert all(line[column] in "|ox" for line in picture)  # the break, from top to bottom


def test_numbers_that_are_no_times_have_an_axis_from_nothing() -> None:
    replica = Replica(
        id="L9",
        title="gain",
        label="computed",
        parameters=(),
        checks=(),
        curves=(_curve("ours", (-5.0, 10.0, 32.0), unit="gain, %"),),
    )
    drawn = list(replicas.lines(replica, 60, 8))
    assert drawn[2].startswith("       40 +")
    assert any(line.startswith("      -10 +") for line in drawn)
    assert sum(line.count("o") for line in drawn[2:11]) == 3


def test_without_curves_nothing_is_drawn() -> None:
    bare = Replica(id="L9", title="t", label="computed", parameters=(), checks=())
    assert not list(replicas.lines(bare))
