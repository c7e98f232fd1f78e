"""From a record to the commands that read its co-location table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sojourn import run as runs
from sojourn.cli.app import main
from sojourn.plan import Point
from sojourn.plan.setting import NEIGHBOUR
from sojourn.testing import Lab, installed

STUDY = """
schema = "sojourn.study/1"
name = "shared"
question = "Up to which load may a job stay?"
aa = false
[run]
measure_s = 0.5
repeats = 3
fractions = [0.1, 0.5]
[factors]
neighbour = ["none", "noise:cpu"]
[[services]]
kind = "memcached"
measure = ["colocation"]
[services.qos]
q = 0.99
bound = "1ms"
[services.colocation]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record in which the neighbour keeps 0.8 at 10 % load and 0.5 at 50 %, give or take 1 %."""
    tmp_path = tmp_path_factory.mktemp("shared")

    def execute(
        study: Any, point: Point, folder: Path, session: object, beside: Sequence[Path] = ()
    ) -> None:
        Lab.execute(lab, study, point, folder, session, beside)
        if point.setting.get(NEIGHBOUR) != "none" and point.fraction:
            _write_progress(
                folder, {0.1: 0.8, 0.5: 0.5}[point.fraction] * (0.99 + 0.01 * point.repeat)
            )

    path, folder = tmp_path / "shared.toml", tmp_path / "results"
    path.write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        lab = installed(patch, tmp_path)
        patch.setattr(runs, "execute", execute)
        assert main(["run", str(path), "-p", "quick", "--results", str(folder), "--quiet"]) == 0
    return folder


def _write_progress(folder: Path, share: float) -> None:
    """What `host.json` has of a neighbour that reported its progress."""
    did = {"unit": "lines", "per_s": 100 * share, "alone_per_s": 100.0, "of_alone": share}
    host = {"neighbour": {"kind": "noise", "cpu_s": {"0": 1.0}, "progress": did}}
    (folder / "host.json").write_text(json.dumps(host))


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    capsys.readouterr()
    code = main([*map(str, words)])
    return code, capsys.readouterr().out


def test_a_record_is_a_table_for_provision_and_tco(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--results", results)
    code, out = asked(capsys, "provision", "shared", "--bound", "1ms", *where, "--json")
    table = json.loads(out)
    assert (code, table["load"], table["from"], table["missing"]) == (0, 0.5, "measured", [])
    assert table["setting"] == "same CPUs"
    code, out = asked(
        capsys, "provision", "shared", "--bound", "1ms", "--loss-max", "0.4", *where, "--json"
    )
    assert json.loads(out)["load"] == 0.1
    code, out = asked(capsys, "tco", "shared", *where, "--json")
    low, high = json.loads(out)["rows"]
    assert (low["throughput"], high["throughput"]) == pytest.approx((0.8, 0.5), rel=1e-3)
    # by Student over three starts: 1 % of the share, times 4.30 over the root of 3
    assert (low["throughput_hi"] - low["throughput"]) == pytest.approx(0.8 * 0.0248, rel=0.05)
    assert low["gain_lo"] < low["gain"] < low["gain_hi"]
    assert low["gain_hi"] - low["gain"] == pytest.approx(low["throughput_hi"] - low["throughput"])
    code, out = asked(capsys, "tco", "shared", *where)
    assert "shared (measured), same CPUs" in out
    assert "interval arithmetic" in out


def test_mistakes_about_records_end_with_a_way_out(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, text in (
        (("tco", "shared", "--setting", "fifo"), "known: same CPUs"),
        (("tco", "L28", "--setting", "fifo"), "leave --setting out"),
        (("tco", "L29"), "did you mean L28"),
        (("fleet", "--table", "nobody"), "or a record: known: shared/"),
    ):
        assert main([*words, "--results", str(results)]) == 2
        assert text in capsys.readouterr().err
