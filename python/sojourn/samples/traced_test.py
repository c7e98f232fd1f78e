"""`trace.json` as the tracer writes it now, and as it was before windows and culprits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import StoreFault
from sojourn.plan.points import Verdict
from sojourn.samples import traced

TIMES = {"mean_ns": 10e3, "p50_ns": 9e3, "p95_ns": 20e3, "p99_ns": 30e3, "share": 1.0}
GROUPS = [{"name": "EPoll", "mean_ns": 10e3, "share": 1.0}]
OLD: dict[str, Any] = {
    "schema": "sojourn.trace.result/1",
    "requests": 12,
    "matched": 10,
    "unmatched_share": 0.0,
    "dropped": 0,
    "verdict": {"verdict": "holds", "reasons": []},
    "answer": "",
    "total": TIMES,
    "residual": TIMES,
    "groups": GROUPS,
    "causes": [{"cause": "work", "share": 1.0}],
    "tail": {"q": 0.99, "requests": 1, "total": TIMES, "groups": GROUPS, "causes": []},
    "cpu": {"user_share": 0.5, "kernel_share": 0.5, "softirq_share_of_kernel": None},
}
# fmt: off
SUSPECT = {
    "kind": "task", "name": "xz", "cgroup": "batch", "is_kernel": False, "is_own": False,
    "waker": None, "tids": [7], "tail_mean_ns": 71e3, "body_mean_ns": 0.0, "share": 0.71,
    "share_low": 0.6, "requests": 1, "is_named": True, "waker_did": [],
    "about": "run-queue delay behind `xz` (cgroup batch)",
}
# fmt: on
# fmt: off
BLAME = {
    "q": 0.99, "from_ns": 1, "tail_requests": 100, "body_requests": 900, "tail_mean_ns": 110e3,
    "body_mean_ns": 10e3, "verdict": "holds", "reasons": [],
    "answer": "p99: 71 % of the excess is run-queue delay behind `xz` (cgroup batch)",
    "suspects": [SUSPECT], "endpoints": [], "unexplained_share": 0.05, "told": 1, "lost": 0,
    "history_full": 0,
}
# fmt: on


def read(folder: Path, **more: object) -> traced.TraceResult:
    (folder / traced.TRACE).write_text(json.dumps({**OLD, **more}))
    trace_result = traced.trace_result(folder)
    assert trace_result is not None
    return trace_result


def test_a_record_from_before_windows_and_culprits_still_reads(tmp_path: Path) -> None:
    text = read(tmp_path)
    assert text.mode == "aggregate"
    assert text.sampling.windows is None
    assert text.sampling.cost is None
    assert text.blame is None
    assert traced.folded(tmp_path) == ()


def test_what_windows_took_is_read_with_its_interval(tmp_path: Path) -> None:
    cost = {
        "asked": 0.02,
        "measured": 0.011,
        "interval": {"low": 0.004, "high": 0.018},
        "while_attached": 0.22,
        "is_assumed": False,
        "tracer_cpu_ratio": 0.008,
    }
    accuracy = {"confidence": 0.95, "clusters": 12, "p99_ns": {"low": 25e3}, "stages": []}
    sampling = {"windows": 13, "duty": 0.05, "cost": cost, "accuracy": accuracy, "traced_ns": 9}
    result = read(tmp_path, mode="windows", sampling=sampling).sampling
    assert result.cost is not None
    assert result.cost.interval is not None
    assert (result.cost.interval.low, result.cost.interval.high) == (0.004, 0.018)
    assert result.accuracy is not None
    assert result.accuracy.p99_ns is not None
    assert result.accuracy.p99_ns.high is None  # too few requests lie above


def test_only_what_hooks_do_to_the_tail_is_distinguished_from_other_doubts(tmp_path: Path) -> None:
    slowing = {
        "cpu_ratio": 1.1,
        "interval": None,
        "busy": 0.9,
        "wait_ratio": 1.3,
        "mean_ratio": 1.1,
        "tail_ratio": 1.2,
        "tail_ratio_max": 1.1,
    }
    unsure = {"verdict": "unknown", "reasons": ["hooks make the requests at and above p99 longer"]}

    def is_only_slowed(trust: dict[str, Any], **change: object) -> bool:
        sampling = {"windows": 9, "slowing": {**slowing, **change}}
        return read(tmp_path, sampling=sampling, verdict=trust).is_only_slowed

    assert is_only_slowed(unsure)
    assert is_only_slowed(unsure, tail_ratio=None)
    assert not is_only_slowed(unsure, tail_ratio=1.1)
    assert not is_only_slowed(unsure, tail_ratio=None, cpu_ratio=None)
    assert not is_only_slowed({**unsure, "reasons": [*unsure["reasons"], "too few"]})
    assert not is_only_slowed({"verdict": "holds", "reasons": []})
    assert not read(tmp_path, verdict=unsure).is_only_slowed


def test_culprits_are_read_with_their_stacks(tmp_path: Path) -> None:
    (tmp_path / traced.FOLDED).write_text(
        "p99;memcached;waits for a CPU;behind xz (cgroup batch) 7100\n"
        "others;memcached;works;read 9\n"
    )
    blame = read(tmp_path, blame=BLAME).blame
    assert blame is not None
    assert blame.verdict is Verdict.HOLDS
    assert [(s.about, s.share, s.is_named) for s in blame.suspects] == [
        ("run-queue delay behind `xz` (cgroup batch)", 0.71, True)
    ]
    assert traced.folded(tmp_path)[0] == (
        ("p99", "memcached", "waits for a CPU", "behind xz (cgroup batch)"),
        7100.0,
    )


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r", "\n", "\x00"])
def test_a_threads_name_may_hold_any_character(tmp_path: Path, mark: str) -> None:
    text = f"p99;a{mark}b;works;read 7100\nothers;a{mark}b;works 9\n"
    (tmp_path / traced.FOLDED).write_bytes(text.encode())
    assert traced.folded(tmp_path) == (
        (("p99", "a�b", "works", "read"), 7100.0),
        (("others", "a�b", "works"), 9.0),
    )


def test_a_stack_without_a_time_is_kept_as_text(tmp_path: Path) -> None:
    (tmp_path / traced.FOLDED).write_bytes(b"p99;m;works 5\np99;m;\xff 1x\nothers;m;nan nan\n")
    assert traced.folded(tmp_path) == (
        (("p99", "m", "works"), 5.0),
        (("p99", "m", "� 1x"), 0.0),
        (("others", "m", "nan nan"), 0.0),
    )
    (tmp_path / traced.FOLDED).write_text("")
    assert traced.folded(tmp_path) == ()


def test_damaged_stacks_are_a_fault_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / traced.FOLDED).write_text("p99;memcached;works\n")
    with pytest.raises(StoreFault, match="stacks cannot be read") as fault:
        traced.folded(tmp_path)
    assert fault.value.at.endswith(traced.FOLDED)


@pytest.mark.parametrize(
    "odd", [{"total_ns": -1}, {"start_ns": 2**63}, {"stages": [["rx", -5]]}, {"stages": "rx"}]
)
def test_the_slowest_requests_have_times_that_a_reader_can_hold(
    tmp_path: Path, odd: dict[str, Any]
) -> None:
    one = {"start_ns": 9, "total_ns": 8, "peer_port": 1, "tid": 2, "stages": [["rx", 3]]}
    (worst,) = read(tmp_path, worst=[one]).worst
    assert (worst.start_ns, worst.total_ns, worst.stages) == (9, 8, (("rx", 3),))
    with pytest.raises(StoreFault):
        read(tmp_path, worst=[one | odd])
