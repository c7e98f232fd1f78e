"""From planted cells to the page, to our table, and to the gains beside the papers'."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from sojourn.errors import SpecFault
from sojourn.models import colocation, gains
from sojourn.models.colocation import MEAN, Table
from sojourn.models.tco import Costs
from sojourn.questions import parts
from sojourn.questions.colocation import measured_table, section
from sojourn.questions.colocation.judge_test import PEAK_RPS, bereft, usual
from sojourn.report import page, terminal
from sojourn.report.files import pictures


def test_page_and_text_have_rules_cells_and_gains_beside_the_papers() -> None:
    findings = usual()
    drawn = section.figures(findings)
    whole = page.html(
        findings, of_services={s.service: () for s in findings.services}, of_study=drawn
    )
    for figure in drawn:
        assert [suffix for suffix, _ in islice(pictures(figure), 2)] == ["csv", "svg"]
    for message in (
        "Co-location",
        "What the job keeps of its pace alone",
        "Up to 30 % load",
        "gain at 30 % load",
        "29 %",
        "17 %",
    ):
        assert message in whole
    text = terminal.text(findings, parts(), 100)
    assert "beside cpu (same CPUs), which keeps 63 %" in text
    assert "L32, same CPUs, gain at 10 % load: " in text
    assert "paper: 52 %" in text


def test_a_record_gives_a_table_for_each_setting_with_the_cells_own_intervals(
    tmp_path: Path,
) -> None:
    tables = measured_table.tables(usual(), source="here")
    assert [table.setting for table in tables] == [
        "same CPUs",
        "same CPUs, neighbour's policy = idle",
    ]
    table = tables[0]
    assert (table.label, table.service, table.q, table.missing) == (
        "measured",
        "memcached",
        0.99,
        (),
    )
    assert table.peak_rps == pytest.approx(PEAK_RPS, rel=0.01)
    assert table.neighbours == ("cpu",)
    row = table.at("cpu", 0.1)
    assert row is not None
    assert row.throughput == pytest.approx(0.81, rel=0.03)
    assert row.throughput_lo is not None
    assert row.throughput_hi is not None
    assert row.throughput_lo < 0.81 < row.throughput_hi
    mean = table.at(MEAN, 0.1)
    assert mean is not None
    assert mean.throughput == pytest.approx(row.throughput)  # of one neighbour it is its own
    assert table.at("none", 0.5) is not None
    low = gains.of_loads(table, Costs())[0]
    assert low.gain_lo is not None
    assert low.gain_hi is not None
    assert low.gain_lo < low.gain < low.gain_hi
    path = tmp_path / "table.json"
    path.write_text(table.model_dump_json(by_alias=True))
    assert Table.model_validate_json(path.read_text()) == table


def test_what_is_not_known_is_missing_and_settings_are_told_by_a_part() -> None:
    tables = measured_table.tables(bereft())
    assert any("cpu at 30 % load: no throughput: " in why for why in tables[0].missing)
    assert any("cpu at 30 % load: no tail: neighbour died" in why for why in tables[0].missing)
    assert tables[0].at(MEAN, 0.3) is None
    assert tables[1].at(MEAN, 0.3) is not None
    plan = gains.admitted(tables[0], Costs(), bound_ns=1e6)
    assert (plan.load, plan.load_lo) == (0.1, 0.1)  # no load above one that is not known counts
    assert colocation.chosen(tables, "idle") is tables[1]
    assert colocation.chosen(tables, "same CPUs") is tables[0]
    with pytest.raises(SpecFault, match="no setting with 'fifo'") as caught:
        colocation.chosen(tables, "fifo")
    assert "same CPUs" in caught.value.fix
