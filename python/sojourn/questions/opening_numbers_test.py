"""Sentence, table and picture of an opening agree."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache

import pytest

from sojourn.findings.findings import Findings
from sojourn.questions import parts
from sojourn.questions.attribution import section as attribution_section
from sojourn.questions.attribution.testing_opening import attribution
from sojourn.questions.beside import draw as beside_draw
from sojourn.questions.beside import opening as beside
from sojourn.questions.beside.costs import BesideSection
from sojourn.questions.beside.interference import Number
from sojourn.questions.breakdown.testing_opening import breakdown
from sojourn.questions.isolation_cost.testing_opening import isolation
from sojourn.questions.opening_words_test import RAW
from sojourn.questions.testing_openings import every
from sojourn.report import figures, openings, page, people, plot, text
from sojourn.report.draw import palette
from sojourn.report.draw.table import Record, from_records
from sojourn.report.openings import testing_openings
from sojourn.report.parts import using
from sojourn.stats.interval import Interval


@cache
def played(case: str) -> Findings:
    return every()[case][1].make()


def test_terms_that_only_seem_to_move_the_tail_are_not_called_without_effect() -> None:
    opening = openings.of(attribution())
    _, second, third = opening.sentences
    assert second.startswith("Nice −10, 0.95 times (0.92–0.98), only seems to move p99")
    assert (
        third == "No effect of huge pages never and 1 pair of factors was shown; none is above 6 %."
    )


def test_the_picture_of_effects_has_the_names_of_the_terminal() -> None:
    rows = [row["row"] for row in attribution_section.rows(attribution())]
    lines = "\n".join(openings.of(attribution()).text)
    assert rows
    assert all(str(row) in lines for row in rows)


def test_cells_without_a_difference_are_counted_as_the_table_shows_them() -> None:
    opening = openings.of(testing_openings.interference())
    open_, less = re.findall(r"\b[Ii]n (\d+)", opening.sentences[-1])
    cells = [cell for line in opening.text for cell in re.findall(r"(≤ )?([\d.]+)×", line)]
    assert int(open_) == sum(bool(sign) for sign, _ in cells)
    assert int(less) == sum(not sign and float(number) < 1 for sign, number in cells)


@pytest.mark.parametrize("case", ["interference", "colocation", "beside"])
def test_no_figure_has_a_level_as_a_study_file_has_it(case: str) -> None:
    findings = testing_openings.interference() if case == "interference" else played(case)
    with using(parts()):
        drawn = [
            *figures.of_study(findings),
            *(one for service in findings.services for one in figures.of_service(service)),
        ]
    names = [one.title for one in drawn]
    for figure in drawn:
        for rows in (figure.chart or {}).get("datasets", {}).values():  # type: ignore[attr-defined]
            names += [str(row.get(key, "")) for row in rows for key in ("level", "panel", "row")]
        names.append(json.dumps((figure.chart or {}).get("title", ""), ensure_ascii=False))
    assert [name for name in names if RAW.search(name)] == []


def test_twelve_curves_have_twelve_colours() -> None:
    names = [str(n) for n in range(palette.CURVES)]
    for theme in palette.THEMES.values():
        colours = palette.resolve(palette.curves(names), theme)
        assert isinstance(colours, list)
        assert len(set(colours)) == palette.CURVES


def test_every_setting_has_its_row_however_many_there_are() -> None:
    findings = played("beside")
    section = findings.section(BesideSection)
    assert section
    level = "services.memcached.knobs.policy"
    many = tuple(
        replace(section.found[0], levels=((level, f"nice:{n}"),), setting=f"nice {n}")
        for n in range(20)
    )
    crowd = findings.having("beside", replace(section, found=many))
    opening = beside.KIND.opening(crowd, 120)
    assert opening.table
    assert len(opening.table.rows) == len(many)
    assert (
        sum(line.startswith(f"{plot.sign(n)}  ") for n in range(20) for line in opening.text) == 20
    )


def test_settings_are_told_apart_by_marks_too() -> None:
    marks = {beside_draw._shape([{"setting": s} for s in "abcd"], {"setting": s}) for s in "abcd"}
    assert len(marks) == 4


def test_a_time_and_its_ends_have_as_many_digits() -> None:
    assert beside._more(Number(2.998e6, Interval(2.95e6, 3.05e6))) == "3.00 ms longer (2.95–3.05)"
    assert beside._more(Number(math.inf, Interval(1.2e6, math.inf))) == "at least 1.20 ms longer"


def test_a_headline_has_a_neighbour_by_its_label() -> None:
    opening = openings.of(played("colocation, one died"))
    assert opening.headline == "CPU hog on t…s SCHED_IDLE may stay up to at least 30 % load"
    assert opening.sentences[1] == "All rules end at a load that is not settled."


def test_a_stage_that_is_there_has_a_share() -> None:
    opening = openings.of(breakdown())
    assert not re.search(r"\b0 %", "\n".join(opening.text))


def test_a_sentence_marks_code_on_the_page_and_not_in_the_terminal() -> None:
    findings = breakdown()
    assert "`xz`" in openings.of(findings).sentences[-1]
    with using(parts()):
        html = page.html(
            findings, of_services={s.service: [] for s in findings.services}, of_study=[]
        )
    first = html[html.index("<main>") : html.index("In words")]
    assert "<code>xz</code>" in first
    assert "`" not in first
    lines = text(findings, parts(), is_whole=False).splitlines()
    assert not any("`" in line for line in lines[:6])


def test_what_could_not_be_measured_is_named() -> None:
    assert "not measured: llc ways (resctrl)" in openings.of(isolation()).text


def test_a_manager_is_reported_with_what_is_known_of_it() -> None:
    opening = openings.of(played("managers"))
    assert opening.headline.rstrip(".") not in opening.sentences[0]
    assert "(46.8–49.2 %)" in opening.sentences[0]
    assert "(0.0–1.2)" in opening.sentences[0]


def test_where_no_pair_fits_there_are_no_other_pairs() -> None:
    *_, last = openings.of(played("qos_matrix, nothing believed")).sentences
    assert last == "Of all 49 pairs: in 49 it is open."


def test_tables_of_the_page_have_as_many_digits_as_people_read() -> None:
    columns = ("late", "violated_s", "work", "n", "at")
    row: Record = {"late": 0.09366666666666666, "violated_s": 9.333333333, "work": None, "n": 3}
    (shown,) = people.table(from_records(columns, [row | {"at": 123456.7}]), limit=9).rows
    assert shown == ("0.09367", "9.333 s", "–", "3", "123,457")
