from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import host
from sojourn.host.culprits import SCHEDULER, Culprit, Sight
from sojourn.host.diagnosis import NOISY
from sojourn.host.finding import Report
from sojourn.host.preflight import Look, Stops

Host = Callable[[str], Path]


def names(report: Report) -> set[str]:
    return {finding.name for finding in report.findings}


def test_steal_is_found_and_weighs_most(fake_host: Host) -> None:
    report = host.doctor(host.read(fake_host("two_cpus")))
    assert report.findings[0].name == "steal"
    assert "10.0%" in report.findings[0].what
    assert report.findings[0].severity == "high"
    assert "virtual machine" in names(report)


def test_a_laptop_gets_commands_that_fix_it(fake_host: Host) -> None:
    report = host.doctor(host.read(fake_host("four_smt")))
    fixes = {finding.name: finding.fix for finding in report.findings}
    assert fixes["governor"] == "sudo cpupower frequency-set -g performance"
    assert fixes["turbo"].startswith("echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate")
    idle = next(finding for finding in report.findings if finding.name == "idle states")
    assert "C6 (133 us)" in idle.what
    assert "C1" not in idle.what


def test_what_is_fixed_is_not_advised(fake_host: Host) -> None:
    root = fake_host("four_smt")
    cpu = root / "sys/devices/system/cpu"
    before = names(host.doctor(host.read(root)))
    for number in range(4):
        (cpu / f"cpu{number}/cpufreq/scaling_governor").write_text("performance\n")
        (cpu / f"cpu{number}/cpuidle/state2/disable").write_text("1\n")
    (cpu / "intel_pstate/no_turbo").write_text("1\n")
    after = names(host.doctor(host.read(root)))
    assert before - after == {"governor", "turbo", "idle states"}


def test_a_quota_that_stops_the_group_is_found(fake_host: Host) -> None:
    report = host.doctor(host.read(fake_host("contained")))
    assert "quota" in names(report)


def test_a_good_server_is_quieter_than_a_small_cloud_machine(fake_host: Host) -> None:
    good = host.doctor(host.read(fake_host("big_server")))
    small = host.doctor(host.read(fake_host("one_cpu")))
    assert good.score < small.score
    assert {"numa balancing", "irqbalance"} <= names(good)


@pytest.mark.parametrize(
    ("machine", "ability", "can"),
    [
        ("big_server", "cache and memory-bandwidth shares (resctrl)", True),
        ("one_cpu", "cache and memory-bandwidth shares (resctrl)", False),
        ("big_server", "stages inside the kernel (eBPF)", True),
        ("four_smt", "stages inside the kernel (eBPF)", False),
        ("big_server", "servers as a user of their own", True),
        ("four_smt", "servers as a user of their own", False),
        ("big_server", "frequency", False),
    ],
)
def test_abilities(fake_host: Host, machine: str, ability: str, *, can: bool) -> None:
    result = {a.name: a for a in host.doctor(host.read(fake_host(machine))).abilities}[ability]
    assert result.can is can
    assert bool(result.missing) is not can


def test_the_score_is_bounded_and_labelled(fake_host: Host) -> None:
    for machine in ("one_cpu", "two_siblings", "contained"):
        report = host.doctor(host.read(fake_host(machine)))
        assert 0 <= report.score <= 100
        assert (report.label == "noisy") == (report.score >= NOISY)


def ran(*, long_runs_per_s: float, share: float) -> Sight:
    task = Culprit(
        name="kdamond.0",
        tid=77,
        pid=77,
        is_kernel=True,
        runs=60,
        run_ns=60_000_000,
        share=share,
        long_runs_per_s=long_runs_per_s,
        longest_ns=8_100_000,
        is_exact=True,
    )
    return Sight(source=SCHEDULER, why="", cpus=(1,), seconds=3.0, culprits=(task,))


def test_who_runs_long_where_a_service_would_is_named(fake_host: Host) -> None:
    facts = host.read(fake_host("big_server"))
    report = host.doctor(facts, ran(long_runs_per_s=2.6, share=0.02))
    finding = next(finding for finding in report.findings if finding.name == "culprits")
    assert "kdamond.0 (77): 2.6 runs over 0.3 ms per second, longest 8.1 ms" in finding.what
    assert report.score > host.doctor(facts).score
    assert report.sight is not None


def test_who_runs_briefly_is_no_culprit(fake_host: Host) -> None:
    facts = host.read(fake_host("big_server"))
    assert "culprits" not in names(host.doctor(facts, ran(long_runs_per_s=0.0, share=0.02)))
    assert "culprits" not in names(host.doctor(facts))


def test_time_that_no_visible_task_took_is_a_finding(fake_host: Host) -> None:
    """As in a container, or under hidepid, where others are not in /proc."""
    facts, calm = host.read(fake_host("big_server")), Stops(watched_ns=10**9)
    lost = Look(cpus=(1,), all=Stops(lengths_ns=(430_000_000,), watched_ns=10**9))
    hidden = ran(long_runs_per_s=0.0, share=0.001)
    report = host.doctor(facts, hidden, lost)
    finding = next(finding for finding in report.findings if finding.name == "unseen")
    assert "cannot be seen from here took 43% of CPU 1" in finding.what
    assert report.score >= host.doctor(facts, hidden, Look(cpus=(1,), all=calm)).score + 25
    known = host.doctor(facts, ran(long_runs_per_s=2.6, share=0.4), lost)
    assert ("unseen" in names(known), "culprits" in names(known)) == (False, True)
