"""One more quantile is one number in one table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sojourn import analysis, quantiles, report
from sojourn.actors.clients import hdr
from sojourn.analysis.testing import memcached, run_study, study_of
from sojourn.report import people
from sojourn.samples import made
from sojourn.samples.contract import Span
from sojourn.testing_questions import answers, parts


def test_p9999_is_in_a_report_with_an_interval_or_the_number_it_needs() -> None:
    result = analysis.study(
        run_study(study_of(memcached(measure=("sweep",))), capacity_rps=40_000), answers()
    )
    tails = [q for point in result.services[0].points for q in point.quantiles if q.q == 0.9999]
    assert tails
    assert all(tail.interval is not None or tail.refused for tail in tails)
    assert "p99.99" in report.text(result, parts())


def test_one_more_quantile_is_one_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "ALL", (*quantiles.ALL, 0.99999))
    span = made.span(np.arange(1.0, 1_001.0))
    assert span["p99999"] == 1_000
    assert Span.model_validate(span).at(0.99999) == 1_000
    assert hdr.span([span])["p99999"] == pytest.approx(1_000, rel=1e-3)
    result = analysis.study(
        run_study(study_of(memcached(measure=("sweep",))), capacity_rps=40_000), answers()
    )
    assert {q.q for point in result.services[0].points for q in point.quantiles} >= {0.99999}
    report.export(result, report.asked([f"markdown={tmp_path}/answer"]), parts())
    assert "| p99.99 | p99.999 |" in (tmp_path / "answer").read_text()
    assert people.numbers(result.services[0])[-1] == 0.99999, "a column of the page"
