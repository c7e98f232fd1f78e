"""What a study asks of hosts; and that one host needs none of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import extras, spec
from sojourn.errors import Exit, HostFault, SpecFault
from sojourn.hosts import ray_engine
from sojourn.spec.hosts import HostsSpec

STUDY = """
name = "many"
question = "?"
[hosts]
{hosts}
[run]
profile = "quick"
[[services]]
kind = "null"
measure = ["sweep"]
{service}
"""
PACKAGE = str(Path(spec.__file__).parents[2])


def loaded(folder: Path, hosts: str, service: str = "", sets: tuple[str, ...] = ()) -> spec.Study:
    path = folder / "study.toml"
    path.write_text(STUDY.format(hosts=hosts, service=service))
    return spec.load(str(path), overrides=sets)


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ('at = "nowhere"', "is no cluster; write ray://HOST:10001"),
        ('at = "local:0"', "is not local:N"),
        ('at = "ray://h:1; rm"', "is no cluster"),
        ('at = "auto"\nclients = []', "the role clients has no host"),
        ('at = "auto"\nclients = ["a b"]', "is no name of a node"),
        ('at = "local:2"\nclients = ["a"]', "says how many clients there are"),
        ('at = "auto"\naddress = "::1"', "is no IPv4 address"),
        ('at = "auto"\nservers = ["a"]', "no key 'servers'"),
        ('clients = ["a"]', "hosts.at is missing"),
        ('at = "auto"\ncpus = 0', "hosts.cpus"),
        ('at = "auto"\nfeatures = ["gpu"]', "hosts.features"),
    ],
)
def test_a_wrong_key_says_what_is_wrong_and_where(tmp_path: Path, hosts: str, words: str) -> None:
    with pytest.raises(SpecFault) as fault:
        loaded(tmp_path, hosts)
    assert words.partition(";")[0] in fault.value.what
    assert "study.toml" in fault.value.at
    assert fault.value.exit is Exit.USAGE


def test_the_number_of_clients_is_not_said_twice(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match=r"clients = 3, and \[hosts\] gives one for each node"):
        loaded(tmp_path, 'at = "local:2"', "clients = 3")


def test_what_was_read_is_what_is_written(tmp_path: Path) -> None:
    study = loaded(
        tmp_path, 'at = "ray://h:10001"\nclients = ["a", "zone=b"]\naddress = "10.0.0.1"'
    )
    (tmp_path / "again.toml").write_text(spec.to_toml(study))
    assert spec.load(str(tmp_path / "again.toml")) == study
    assert study.hosts == HostsSpec(at="ray://h:10001", clients=("a", "zone=b"), address="10.0.0.1")
    assert loaded(tmp_path, 'at = "auto"', sets=("hosts.at=local:3",)).hosts == HostsSpec(
        at="local:3"
    )


def test_without_ray_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    with pytest.raises(HostFault, match=r"\[hosts\] needs the package ray") as fault:
        ray_engine.connect(HostsSpec(at="local:2"))
    assert " pip install " in fault.value.fix
    assert " 'ray>=" in fault.value.fix
    assert fault.value.exit is Exit.USAGE


@pytest.mark.parametrize("version", ["1.13.0", "2.9.3", "3.0.0", "x"])
def test_a_ray_that_is_not_known_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "need", lambda _: SimpleNamespace(__version__=version))
    with pytest.raises(HostFault, match=f"Ray {version} is not known") as fault:
        ray_engine.connect(HostsSpec(at="local:2"))
    assert " 'ray>=" in fault.value.fix


@pytest.mark.parametrize(
    ("error", "words", "kind"),
    [
        (RuntimeError("Version mismatch: The cluster was started with:\n Ray: 2.1"), "another", 2),
        (
            RuntimeError("Authentication failed: invalid token \x1b[31m"),
            "does not let the lab in",
            2,
        ),
        (ConnectionError("failed to connect"), "no cluster answers", 4),
    ],
)
def test_why_a_cluster_refuses_is_said(error: Exception, words: str, kind: int) -> None:
    fault = ray_engine._refused(error, HostsSpec(at="ray://h:10001"))
    assert words in fault.what
    assert "\x1b" not in str(fault)
    assert (fault.exit, fault.at) == (kind, "hosts.at = ray://h:10001")


def test_a_token_that_is_wrong_is_among_the_reasons() -> None:
    error, spec_ = ConnectionError("Failed to connect"), HostsSpec(at="h:6379")
    assert "token" not in str(ray_engine._refused(error, spec_))
    fault = ray_engine._refused(error, spec_, is_closed=True)
    assert "or it refuses the token" in fault.what
    assert "RAY_AUTH_TOKEN" in fault.fix


def test_one_host_loads_nothing_of_many() -> None:
    text = (
        "import sys, sojourn.pipeline, sojourn.cli.run\n"
        "print([m for m in sys.modules if m == 'ray' or m.startswith('sojourn.hosts')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": PACKAGE},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
