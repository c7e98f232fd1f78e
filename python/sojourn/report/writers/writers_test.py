"""Formats of a report: what each file holds, and which are refused."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sojourn.errors import SpecFault, StoreFault
from sojourn.findings.findings import Findings
from sojourn.report import testing
from sojourn.report.parts import Parts
from sojourn.report.writers import WRITERS, asked, buckets, export
from sojourn.stats.times import from_values
from sojourn.testing_questions import parts


def written(tmp_path: Path, name: str, *, result: Findings | None = None) -> str:
    path = tmp_path / "answer"
    export(result or testing.findings(), asked([f"{name}={path}"]), parts())
    return path.read_text()


def test_each_format_is_written_by_name(tmp_path: Path) -> None:
    assert set(WRITERS) == {
        "html",
        "text",
        "json",
        "csv",
        "markdown",
        "latex",
        "openmetrics",
        "otlp",
        "otlp-traces",
    }
    findings = testing.findings()
    assert written(tmp_path, "html").startswith("<!doctype html>")
    assert findings.answer.split()[0] in written(tmp_path, "text")
    table = json.loads(written(tmp_path, "json"))
    assert table["study"] == findings.study
    assert [s["service"] for s in table["services"]] == [s.service for s in findings.services]
    rows = list(csv.DictReader(io.StringIO(written(tmp_path, "csv"))))
    assert [row["point"] for row in rows] == [row.key for row in findings.points]


def test_markdown_has_a_row_a_load_and_a_column_a_quantile(tmp_path: Path) -> None:
    findings = testing.findings()
    text = written(tmp_path, "markdown")
    service = findings.services[0]
    head = next(line for line in text.splitlines() if line.startswith("| load"))
    quantiles = {q.q for point in service.points for q in point.quantiles}
    assert head.count(" | p") == len(quantiles)
    assert text.count("\n| ") == sum(len(s.points) + 2 for s in findings.services if s.points)


def test_words_of_a_record_make_no_table_link_or_tag_in_markdown(tmp_path: Path) -> None:
    findings = testing.findings()
    hostile = "a | b\n# [x](http://y) <script>\x1b[2J `z`"
    text = written(tmp_path, "markdown", result=replace(findings, question=hostile))
    line = text.splitlines()[2]
    assert line.startswith("*a \\| b \\# \\[x\\](http:<!-- -->//y) \\<script\\>")
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("markdown", "not FORMAT=FILE", "--export markdown=answer.md"),
        ("html=", "not FORMAT=FILE", "html, text, json, csv, markdown"),
        ("markdwon=x", "no format 'markdwon'", "did you mean markdown"),
        ("pdf=x", "no format 'pdf'", "known: html"),
        ("html=/nowhere/x", "does not exist", "folder that exists"),
        ("html=/tmp", "is a folder", "name a file"),
    ],
)
def test_what_is_no_format_or_no_file_is_refused_at_once(text: str, what: str, fix: str) -> None:
    with pytest.raises(SpecFault, match=what) as caught:
        asked([text])
    assert fix in caught.value.fix
    assert caught.value.at == f"--export {text}"


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(SpecFault, match="no name of a file"):
        asked([f"text={'x' * 300}"])


def test_a_file_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    exports = asked([f"text={tmp_path}/answer"])
    (tmp_path / "answer").mkdir()  # meanwhile
    with pytest.raises(StoreFault, match="cannot be written"):
        export(testing.findings(), exports, Parts())


def test_openmetrics_is_what_prometheus_parses(tmp_path: Path) -> None:
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser", reason="prometheus_client is not installed"
    )
    findings = testing.findings()
    families = {
        f.name: f for f in parser.text_string_to_metric_families(metrics(tmp_path, findings))
    }
    times = families["sojourn_time_seconds"]
    assert (times.type, times.unit) == ("histogram", "seconds")
    ends = [s for s in times.samples if s.labels.get("le") == "+Inf"]
    drawn = [p for service in findings.services for p in service.points if p.distribution]
    assert [end.value for end in ends] == [p.mean.requests for p in drawn if p.mean.requests]


def metrics(tmp_path: Path, findings: Findings) -> str:
    return written(tmp_path, "openmetrics", result=findings)


def test_openmetrics_has_each_quantile_and_buckets_that_ascend(tmp_path: Path) -> None:
    """Without a parser: the order of buckets, each number once, and the end."""
    findings = testing.findings()
    lines = metrics(tmp_path, findings).splitlines()
    assert lines[-1] == "# EOF"
    values = [line for line in lines if line.startswith("sojourn_time_quantile_seconds{")]
    assert len(set(values)) == len(values)
    assert sum('end="value"' in line for line in values) == sum(
        one.value is not None
        for service in findings.services
        for point in service.points
        for one in (point.mean, *point.quantiles)
    )
    buckets: dict[str, list[tuple[float, int]]] = {}
    for line in lines:
        if line.startswith("sojourn_time_seconds_bucket{"):
            labels, count = line.rsplit(" ", 1)
            head, le = labels.rsplit(',le="', 1)
            buckets.setdefault(head, []).append((float(le.rstrip('"}')), int(count)))
    assert buckets
    for pairs in buckets.values():
        assert pairs == sorted(pairs)
        assert [n for _, n in pairs] == sorted(n for _, n in pairs)
        assert len({le for le, _ in pairs}) == len(pairs)


def test_a_name_ends_no_label_of_openmetrics_and_starts_no_command_of_latex(tmp_path: Path) -> None:
    first, *rest = testing.findings().services
    evil = 'a"} 1\nb\\x \\input{/etc/passwd} 5 % $x$ \x1b'
    result = replace(testing.findings(), services=(replace(first, service=evil), *rest))
    lines = metrics(tmp_path, result).splitlines()
    assert not [line for line in lines if line.startswith("b")]
    assert all(line.startswith(("#", "sojourn_")) for line in lines)
    label = 'service="a\\"} 1 b\\\\x \\\\input{/etc/passwd} 5 % $x$ \\\\x1b"'
    assert any(label in line for line in lines)
    table = written(tmp_path, "latex", result=result)
    assert "\\input" not in table
    assert "\\textbackslash{}input\\{/etc/passwd\\} 5 \\% \\$x\\$ " in table
    assert "\x1b" not in table


def test_latex_has_a_line_a_load_with_intervals_and_dashes(tmp_path: Path) -> None:
    findings = testing.findings()
    table = written(tmp_path, "latex")
    assert table.count("\\begin{table}") == sum(bool(s.points) for s in findings.services)
    rows = [line for line in table.splitlines() if line.endswith(("holds \\\\", "unknown \\\\"))]
    points = [point for service in findings.services for point in service.points]
    assert len(rows) == sum(p.verdict.value in {"holds", "unknown"} for p in points)
    assert any("(" in row for row in rows)
    assert any(" -- &" in row for row in rows)


def test_a_bucket_has_all_shares_that_have_its_time() -> None:
    """A service of one length: p10 to p90 are one bin, and 90 % took no longer than its edge."""
    point = next(p for s in testing.findings().services for p in s.points if p.distribution)
    n = point.mean.requests
    tied = ((0.1, 50.0), (0.5, 100.0), (0.9, 100.0), (0.99, 200.0), (0.999, math.inf))
    pairs = buckets.cumulative(replace(point, distribution=tied))
    assert [ns for ns, _ in pairs] == [50.0, 100.0, 200.0]
    assert [count for _, count in pairs] == [math.ceil(share * n) for share in (0.1, 0.9, 0.99)]


def test_no_bucket_counts_a_request_that_took_longer() -> None:
    """Against the requests themselves, which a record does not have."""
    point = next(p for s in testing.findings().services for p in s.points if p.distribution)
    values = np.round(np.random.default_rng(5).exponential(20.0, 997))
    times = from_values(values)
    shares = ((q, times.quantile(q) or 0.0) for q in (0.01, 0.29, 0.5, 0.57, 0.9, 0.99))
    mean = replace(point.mean, requests=len(values))
    pairs = buckets.cumulative(replace(point, mean=mean, distribution=tuple(shares)))
    for (ns, count), share in zip(pairs, (0.01, 0.29, 0.5, 0.57, 0.9, 0.99), strict=True):
        assert share * len(values) <= count <= (values <= ns).sum()
