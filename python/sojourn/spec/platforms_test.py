"""Quotas of platforms reach the services that run there, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.spec import Study, to_toml
from sojourn.spec.hosts import SERVER

STUDY = """
name = "platforms"
question = "How much load does each platform take?"
[hosts]
at = "10.9.0.1:6379"
clients = ["c"]
{hosts}
[run]
profile = "quick"
[[services]]
kind = "synthetic"
measure = ["sweep"]
{service}
{factors}
"""
TWO = '[factors]\n"hosts.server" = ["a", "b", "c.d"]'
QUOTAS = 'platforms.a.cpu_quota = "50%"\nplatforms."c.d" = {cpu_quota = "150%", price_usd = 900}'


def loaded(folder: Path, hosts: str = QUOTAS, service: str = "", factors: str = TWO) -> Study:
    path = folder / "study.toml"
    path.write_text(STUDY.format(hosts=hosts, service=service, factors=factors))
    return spec.load(path)


def test_each_combination_has_the_quota_of_its_server(tmp_path: Path) -> None:
    study = loaded(tmp_path)
    assert not study.services[0].knobs
    knobs = {
        levels[SERVER]: dict(study.under(levels).services[0].knobs)
        for levels in study.combinations("synthetic")
    }
    assert knobs == {"a": {"cpu_quota": "50%"}, "b": {}, "c.d": {"cpu_quota": "150%"}}


def test_other_knobs_of_the_service_are_as_they_were(tmp_path: Path) -> None:
    study = loaded(tmp_path, service='knobs.policy = "batch"')
    (first, *_) = study.combinations("synthetic")
    assert dict(study.under(first).services[0].knobs) == {"policy": "batch", "cpu_quota": "50%"}


def test_a_study_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    study = loaded(tmp_path)
    (tmp_path / "again.toml").write_text(to_toml(study))
    assert spec.load(tmp_path / "again.toml").hosts == study.hosts


def test_a_platform_may_be_named_by_its_address(tmp_path: Path) -> None:
    addresses = '[factors]\n"hosts.server" = ["10.0.0.4", "10.0.0.5"]'
    hosts = 'platforms."10.0.0.5" = {cpu_quota = "50%", price_usd = 900}'
    study = loaded(tmp_path, hosts, factors=addresses)
    knobs = [
        dict(study.under(levels).services[0].knobs) for levels in study.combinations("synthetic")
    ]
    assert knobs == [{}, {"cpu_quota": "50%"}]


def test_equal_machines_may_have_equal_quotas(tmp_path: Path) -> None:
    quotas = "\n".join(f'platforms.{name}.cpu_quota = "50%"' for name in ("a", "b", '"c.d"'))
    study = loaded(tmp_path, f"alike = true\n{quotas}")
    assert study.hosts is not None
    assert study.hosts.alike


def test_the_price_of_a_single_server_is_taken(tmp_path: Path) -> None:
    study = loaded(tmp_path, 'server = "a"\nplatforms.a.price_usd = 1', factors="")
    assert study.hosts is not None
    assert study.hosts.platforms["a"].price_usd == 1


@pytest.mark.parametrize(
    ("hosts", "service", "factors", "why"),
    [
        ("platforms.x.price_usd = 1", "", TWO, "no service runs there"),
        (QUOTAS, 'knobs.cpu_quota = "10%"', TWO, "give one"),
        (QUOTAS, "", f'{TWO}\n"services.synthetic.knobs.cpu_quota" = ["1%", "2%"]', "give one"),
        ('server = "a"\nplatforms.a.cpu_quota = "50%"', "", "", "hosts.server is no factor"),
        ('platforms.a.cpu_quota = "half"', "", TWO, "cpu_quota.*is no quota"),
        ('platforms.a.cpu_quota = "0%"', "", TWO, "no quota of at least 1 %"),
        ('platforms.a.cpu_quota = "0.5%"', "", TWO, "no quota of at least 1 %"),
        ('alike = true\nplatforms.a.cpu_quota = "50%"', "", TWO, "unlike quotas are not equal"),
        (f"alike = true\n{QUOTAS}", "", TWO, "unlike quotas are not equal"),
        ('server = "a"\nplatforms.b.price_usd = 1', "", "", "no service runs there"),
        ("platforms.b.price_usd = 1", "", "", "no service runs there"),
        ("platforms.a.price_usd = -1", "", TWO, "price_usd"),
        ("platforms.a.peak_watts = 0", "", TWO, "peak_watts"),
        ("platforms.a.peak_watts = 5e-324", "", TWO, "peak_watts"),
        ("platforms.a.peak_watts = nan", "", TWO, "peak_watts"),
        ('platforms.a.price_usd = "2000 EUR"', "", TWO, "not a number"),
        ("platforms.a.price_usd = 1e308", "", TWO, "price_usd"),
        ('platforms."a b".price_usd = 1', "", TWO, "no name of a node"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, hosts: str, service: str, factors: str, why: str
) -> None:
    with pytest.raises(SpecFault, match=why):
        loaded(tmp_path, hosts, service, factors)
