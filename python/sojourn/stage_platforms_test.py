"""Servers on several planted hosts in one study: turns, quotas, prices.

The hosts are threads of this process on one machine (a fake); what is started on them is real.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sojourn import disk, knobs, pipeline, store
from sojourn.cli import tco_platforms
from sojourn.errors import SpecFault
from sojourn.host.shared import KERNEL, MACHINE
from sojourn.knobs import Asked
from sojourn.models.tco import Costs
from sojourn.report import platforms
from sojourn.stage_testing import Measured, measuring


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Run a study with these roles; the folder of its record."""
    return measuring(tmp_path, monkeypatch)


def test_servers_take_turns_as_levels_of_a_factor(measured: Measured) -> None:
    record = measured('server = "host2"', more='[factors]\n"hosts.server" = ["host2", "host3"]\n')
    rows = [pq.read_table(at).to_pylist()[0] for at in record.rglob("points/*/outcome.parquet")]
    hosts = sorted(str(disk.read_json(at)["host"]) for at in record.rglob("points/*/service.json"))
    assert len(rows) == 2
    assert hosts == ["127.0.0.3", "127.0.0.4"]
    for at in record.rglob("points/*/service.json"):
        facts = dict(disk.read_json(at)["setup"])
        assert "CPU" in facts[MACHINE]
        assert facts[KERNEL] == os.uname().release
    assert [one.key for one in pipeline.findings_of(record).factors] == ["hosts.server"]
    findings, stored = pipeline.findings_of(record), store.read(record)
    one, two = platforms.platforms(findings, stored, {"host2": 1000.0, "host3": 2000.0})
    assert (one.load_rps, two.load_rps) == (500.0, 500.0), "the highest that was asked"
    cheap, dear = one.row(Costs()), two.row(Costs())
    assert 0 < (cheap.usd_per_krps or 0) < (dear.usd_per_krps or 0)
    assert (cheap.cpus or 0) > 0
    with pytest.raises(SpecFault, match="host3 has no price"):
        platforms.platforms(findings, stored, {"host2": 1.0})
    with pytest.raises(SpecFault, match="host9 is no server"):
        platforms.platforms(findings, stored, {"host9": 1.0, "host2": 1.0, "host3": 1.0})
    with pytest.raises(SpecFault, match="is no NAME=PRICE"):
        tco_platforms.prices(["host2"])


def test_platforms_with_unlike_quotas_are_in_one_report(measured: Measured) -> None:
    """Two hosts of one machine stand for two platforms (C2), each with a part of a CPU."""
    if lack := knobs.kind("cpu_quota").lacks(Asked(level="80%")):
        pytest.skip(lack.missing)
    roles = """
    server = "host2"
    platforms.host2 = { cpu_quota = "80%", price_usd = 1000, peak_watts = 100 }
    platforms.host3 = { cpu_quota = "40%", price_usd = 700 }
    """
    record = measured(roles, more='[factors]\n"hosts.server" = ["host2", "host3"]\n')
    quotas = [disk.read_json(at)["cpu_quota"] for at in record.rglob("points/*/service.json")]
    assert sorted(quotas) == [0.4, 0.8]
    (factor,) = pipeline.findings_of(record).factors
    one, two = factor.platforms
    assert (one.cpus, two.cpus) == (0.8, 0.4)
    assert (one.per_cpu_rps, two.per_cpu_rps) == (500 / 0.8, 500 / 0.4)
    assert (one.price_usd, two.price_usd) == (1000.0, 700.0)
    assert one.per_watt_rps is not None
    assert two.per_watt_rps is None
