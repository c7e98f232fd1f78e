"""Configurations that are wrong are refused with the key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn.errors import SpecFault
from sojourn.manage import config as configs

GOOD = """
controller = "posterior"
every_ms = 50
[constants]
rest_s = 60
[windows]
file = "/run/web.jsonl"
[groups.web]
role = "latency-critical"
cgroup = "/web"
target = "1ms"
[groups.batch]
role = "best-effort"
cgroup = "/batch"
safe_quota = 0.1
"""


def read(folder: Path, text: str) -> configs.Config:
    path = folder / "manage.toml"
    path.write_text(text)
    return configs.read(path)


def test_a_good_one_is_as_it_was_written(tmp_path: Path) -> None:
    text = read(tmp_path, GOOD)
    assert (text.every_ms, text.constants["rest_s"], text.service()) == (50, 60.0, "web")
    assert text.groups["web"].target_ns == 1e6
    assert text.groups["batch"].cgroup == "/batch"
    beside = read(tmp_path, GOOD.replace('cgroup = "/batch"', 'cgroup = "/web2"'))
    assert beside.groups["batch"].cgroup == "/web2"
    by_number = read(tmp_path, GOOD.replace('cgroup = "/batch"', "pid = 4711"))
    assert by_number.groups["batch"].pid == 4711


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("every_ms = 50", "every_ms = 5", "every_ms: Input should be greater than"),
        ("every_ms = 50", "evry_ms = 50", "evry_ms: Extra inputs"),
        ('cgroup = "/web"', 'cgroup = "/"', "cgroup is a path below the mount"),
        ('cgroup = "/web"', 'cgroup = "/a/../../b"', "cgroup is a path below the mount"),
        ('cgroup = "/web"', 'cgroup = "web"', "cgroup is a path below the mount"),
        ('cgroup = "/web"', 'cgroup = "//batch"', "cgroup is a path below the mount"),
        ('cgroup = "/web"', 'cgroup = "/web"\npid = 3', "name either cgroup"),
        ('target = "1ms"', "", "needs a target"),
        ('target = "1ms"', 'target = "soon"', "is not a time"),
        ('target = "1ms"', 'target = "0ms"', "the target must be above 0"),
        ("safe_quota = 0.1", "safe_quota = 0.0", "safe_quota: Input should be greater"),
        ("safe_quota = 0.1", "safe_quota = nan", "safe_quota"),
        ("safe_quota = 0.1", "safe_quota = 1e308", "safe_quota: Input should be less"),
        (
            'role = "best-effort"',
            'role = "latency-critical"\ntarget = "1s"',
            "no group has the role",
        ),
        ('cgroup = "/batch"', 'cgroup = "/web"', "two groups are the same"),
        ('cgroup = "/batch"', 'cgroup = "/web/job"', "/web/job lies within /web"),
        ('cgroup = "/web"', 'cgroup = "/batch/a/web"', "/batch/a/web lies within /batch"),
        ("every_ms = 50", 'cpus = "3-1"', "cpus is a list of CPUs"),
        ("every_ms = 50", 'cpus = "0,3-1"', "cpus is a list of CPUs"),
        ("every_ms = 50", 'cpus = "0-99999"', "cpus is a list of CPUs"),
        ("every_ms = 50", "every_ms = 2501", "paused_s is at least 2 times every_ms"),
        ("every_ms = 50", "paused_s = 0.2\nevery_ms = 101", "paused_s is at least 2 times"),
        ("[windows]", '[windows]\nservice = "batch"', "batch is not latency-critical"),
        ("[groups.web]", '[groups."../web"]', "String should match pattern"),
        ("[windows]", '[windows]\nservice = "db"', "there is no group db"),
        ("[windows]", "[windows", "is no TOML"),
    ],
)
def test_a_wrong_one_is_refused_with_its_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(SpecFault) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert says in caught.value.what
    assert caught.value.at == str(tmp_path / "manage.toml")


@pytest.mark.parametrize("source", ['url = "http://h:1/"\nmetric = "m"', 'tracer = "all"'])
def test_a_source_that_has_windows_of_one_service_is_refused_for_two(
    tmp_path: Path, source: str
) -> None:
    one = GOOD.replace('file = "/run/web.jsonl"', source)
    assert read(tmp_path, one).service() == "web"
    two = f'{one}[groups.db]\nrole = "latency-critical"\ncgroup = "/db"\ntarget = "1ms"\n'
    with pytest.raises(SpecFault, match="are of one service"):
        read(tmp_path, two)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="cannot be read"):
        configs.read(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(os.urandom(100))
    with pytest.raises(SpecFault, match="is no TOML"):
        configs.read(tmp_path / "bytes.toml")
