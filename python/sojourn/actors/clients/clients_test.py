"""Several generators are together what one is: their jobs add up, their results merge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from sojourn import quantiles
from sojourn.actors import clients
from sojourn.actors.clients import KINDS, hdr, logs, merge, replies, sessions, turns
from sojourn.errors import SpecFault

JOB = {
    "target": "memcache://h:1",
    "connections": 7,
    "threads": 3,
    "rate": "9000",
    "cpus": "2-4",
    "wait": "spin",
    "seed": 5,
    "hlog": "/p/load.hlog",
    "raw_max": 10,
    "server_pid": 9,
}
RESULT = Path(__file__).parents[2] / "schema" / "load-result.json"
HOUR = hdr.MAX_NS


def share(n: int, **changes: object) -> tuple[Mapping[str, Any], ...]:
    return clients.chosen(n).share({**JOB, **changes}, n)


def times(seed: int, n: int = 1000) -> list[float]:
    return list(np.random.default_rng(seed).exponential(1e6, n))


def result(sojourn_ns: list[float], **changes: Any) -> dict[str, Any]:
    """What a generator would write of these times; one beyond an hour was lost."""
    finite = sorted(ns for ns in sojourn_ns if ns <= HOUR)
    total = HdrHistogram(1, HOUR, 3)
    for ns, count in zip(*np.unique(np.array(finite, np.int64), return_counts=True), strict=True):
        total.record_value(int(ns), int(count))
    lost = len(sojourn_ns) - len(finite)
    span = {
        "mean": float(np.mean(finite)) if finite else None,
        "count": len(sojourn_ns),
        "lost": lost,
        "max": finite[-1] if finite else None,
        "hdr": total.encode().decode(),
        **{name: hdr.quantile(total, q, lost) for name, q in quantiles.keys().items()},
    }
    # fmt: off
    table = {
        "schema": "sojourn.load.result/1", "program": "p", "started_unix_ns": 1, "start_ns": 2,
        "job": {"connections": 4, "threads": 1, "wait": "sleep", "cpus": "0"},
        "measured_s": 2.0, "offered_rps": len(sojourn_ns) / 2, "achieved_rps": len(finite) / 2,
        "requests": len(sojourn_ns), "errors": {"closed": lost} if lost else {}, "reply_bytes": 10,
        "timely_ratio": 1.0, "verdict": "holds", "reasons": [], "lateness": [], "notes": [],
        "lateness_ns": None, **dict.fromkeys(merge.SPANS, span), "probe_sojourn_ns": None,
        "windows": None, "server_stops": None, "threads": [{"cpu_share": 0.1}],
        "checks": dict.fromkeys(merge.CHECKS, 0.0), "cost": dict.fromkeys(merge.COST, 1.0),
        "outages": {"count": 0, "total_ns": 0, "longest_ns": 0, "share_time": 0.0,
                    "share_excluded": 0.0, "log": []},
    }
    # fmt: on
    return {**table, **changes}


@pytest.mark.parametrize("n", [2, 3, 7])
def test_shares_add_up_to_the_job(n: int) -> None:
    parts = share(n)
    assert sum(float(part["rate"]) for part in parts) == pytest.approx(9000)
    assert sum(part["connections"] for part in parts) == 7
    assert sum(part["threads"] for part in parts) == max(n, 3)
    assert len({part["seed"] for part in parts} | {5}) == n + 1
    assert [part["server_pid"] for part in parts] == [9] + [0] * (n - 1)
    assert parts[0]["hlog"] == "/p/load.1.hlog"
    used = [cpu for part in parts for cpu in str(part["cpus"]).split(",")]
    assert set(used) >= {"2", "3", "4"}


def test_clients_with_a_cpu_each_spin_and_those_that_share_one_take_turns() -> None:
    def waits(n: int, **asked: Any) -> list[str]:
        return [part["wait"] for part in turns.taken(share(n, **asked), Path("turns"))]

    assert waits(3) == ["spin"] * 3
    for wait in ("spin", "auto"):
        assert waits(3, cpus="0", threads=1, wait=wait) == ["yield"] * 3
    assert waits(2, cpus="0", wait="sleep:40us") == ["sleep:40us"] * 2


def test_what_does_not_add_up_is_refused() -> None:
    for key, value in (("arrivals", "fixed"), ("connections", 1), ("rate", "ramp:1k..2k")):
        with pytest.raises(SpecFault) as caught:
            share(2, **{key: value})
        assert caught.value.at == f"load.{key}"
    assert [part["rate"] for part in share(2, arrivals="poisson")] == ["4500", "4500"]
    assert "rate" in share(2, arrivals="fixed", find_max=True)[0], "a closed loop has no arrivals"


def test_one_is_the_job_and_no_one_is_asked_by_none() -> None:
    assert share(1) == (JOB,)
    (nowhere,) = share(0, set_share=0.1)
    assert nowhere["target"] == "null:"
    assert not {"set_share", "server_pid"} & set(nowhere)
    assert nowhere["rate"] == JOB["rate"]


def test_results_of_many_are_the_result_of_all_their_requests() -> None:
    lost = [float(2 * HOUR)] * 30
    parts = [times(1), [*times(2), *lost], times(3, 500)]
    together = result([ns for part in parts for ns in part])
    merged = clients.merged([result(part) for part in parts], {})
    for name in merge.SPANS:
        assert merged[name].pop("mean") == pytest.approx(together[name]["mean"])
        assert merged[name] == {k: v for k, v in together[name].items() if k != "mean"}
    for key in ("requests", "offered_rps", "achieved_rps", "errors", "measured_s"):
        assert merged[key] == together[key], key
    assert merged["job"]["connections"] == 12
    assert [part["requests"] for part in merged["threads"]] == [1000, 1030, 500]


def test_every_key_of_a_result_is_put_together() -> None:
    schema = json.loads(RESULT.read_text())
    merged = clients.merged([result(times(1)), result(times(2))], {})
    assert set(merged) == set(schema["properties"])
    assert set(merge.CHECKS) == set(schema["$defs"]["Checks"]["properties"])
    assert set(merge.COST) == set(schema["$defs"]["Cost"]["properties"])


def test_bodies_and_handshakes_of_many_are_those_of_all() -> None:
    def part(count: int, length: int, failed: int, changed: int | None) -> dict[str, Any]:
        of = dict.fromkeys(("bytes_mean", "bytes_min", "bytes_max"), length if count else None)
        return {
            "count": count,
            **of,
            "empty": 1,
            "changed": changed,
            "checked": 300,
            "too_long": 0,
            "checked_every": count // 300 or 1,
            "rows": 2 * count,
            "example": '"x"' if failed else None,
            "failed": {"expect_regex": failed} if failed else {},
        }

    outcome = replies.merged([part(600, 10, 0, 2), part(1200, 40, 5, 3), part(0, 0, 0, 0)])
    assert outcome is not None
    assert (outcome["bytes_mean"], outcome["bytes_min"], outcome["bytes_max"]) == (30.0, 10, 40)
    assert (outcome["changed"], outcome["checked"], outcome["checked_every"]) == (5, 900, 4)
    assert outcome["rows"] == 3600
    assert (outcome["failed"], outcome["example"]) == ({"expect_regex": 5}, '"x"')
    unknown = replies.merged([part(1, 1, 0, 0), part(1, 1, 0, None)])
    assert unknown is not None
    assert unknown["changed"] is None
    assert replies.merged([part(1, 1, 0, 0), None]) is None, "of an older generator"
    few = {"handshakes": 1, "resumed": 0, "failed": 0, "mean_ns": 100, "longest_ns": 100}
    many = {"handshakes": 3, "resumed": 2, "failed": 1, "mean_ns": 20, "longest_ns": 30}
    both = replies.handshakes([few, many])
    assert both == {"handshakes": 4, "resumed": 2, "failed": 1, "mean_ns": 40, "longest_ns": 100}
    assert replies.handshakes([None, None]) is None


def test_one_client_that_cannot_be_believed_makes_all_unknown() -> None:
    late = result(times(2), verdict="unknown", reasons=["timely: too late"])
    merged = clients.merged([result(times(1)), late], {})
    assert merged["verdict"] == "unknown"
    assert merged["reasons"] == ["client 2 of 2: timely: too late"]


def test_the_target_is_held_against_all_requests() -> None:
    slow = [3e6] * 25
    job = {"qos_quantile": 0.99, "qos_bound": "2ms"}
    fast = result([1e6] * 1000)
    outcome = clients.merged([result([1e6] * 975 + slow, verdict="violated"), fast, fast], job)
    assert outcome["verdict"] == "holds", "25 of 3000 are less than 1 %"
    outcome = clients.merged([result([1e6] * 975 + slow, verdict="violated"), fast], job)
    assert outcome["verdict"] == "violated"
    assert outcome["reasons"][0].startswith("qos: quantile 0.99 of the sojourn time is 3.0")


def test_clients_that_fill_their_cpu_together_are_reported() -> None:
    half = {"threads": [{"cpu_share": 0.45}]}
    merged = clients.merged([result(times(1), **half), result(times(2), **half)], {})
    assert merged["verdict"] == "unknown"
    assert "on CPU 0 used 90%" in merged["reasons"][0]


def test_a_client_with_more_than_its_share_of_the_tail_shows() -> None:
    slow = [50 * ns for ns in times(2)]
    merged = clients.merged([result(times(1, 30_000)), result(slow)], {})
    fair, biased = (part["tail_factor"] for part in merged["threads"])
    assert biased > 2 > fair


def test_windows_add_up_and_what_is_disturbed_for_one_is_for_all() -> None:
    def of(n: list[int], k: list[int], disturbed: list[int]) -> dict[str, Any]:
        return {"length_ns": 5, "n": n, "k": k, "over": sum(k), "disturbed": disturbed}

    parts = [of([1, 2, 3], [0, 1, 0], [1]), of([4, 5], [2, 0], [0, 1])]
    merged = clients.merged([result(times(1), windows=part) for part in parts], {})
    assert merged["windows"] == of([5, 7, 3], [2, 1, 0], [0, 1])


def test_an_outage_that_stopped_two_is_one_time() -> None:
    def out(*log: tuple[int, int]) -> dict[str, Any]:
        total = sum(length for _, length in log)
        return {
            "outages": {
                "count": len(log),
                "total_ns": total,
                "share_time": total / 2e9,
                "longest_ns": 1,
                "share_excluded": 0.0,
                "log": list(log),
            }
        }

    both = (out((0, 10**7)), out((5 * 10**6, 10**7), (10**9, 10**7)))
    merged = clients.merged([result(times(1), **one) for one in both], {})
    assert merged["outages"]["share_time"] == pytest.approx(0.025 / 2)
    assert merged["outages"]["count"] == 3


def test_interval_logs_add_up_slice_by_slice(tmp_path: Path) -> None:
    def slice_of(seed: int) -> str:
        return str(result(times(seed, 100))["sojourn_ns"]["hdr"])

    def line(start: str, seed: int, tag: str = "") -> str:
        return f"{tag}{start},0.050,1.000,{slice_of(seed)}"

    first, second = tmp_path / "load.1.hlog", tmp_path / "load.2.hlog"
    first.write_text("#head\n" + line("0.000", 1) + "\n" + line("0.000", 2, "Tag=all,") + "\n")
    second.write_text("#other\n" + line("0.000", 3) + "\n" + line("0.050", 4) + "\n")
    logs.merge_hlog([first, second], tmp_path / "load.hlog")
    head, *lines = (tmp_path / "load.hlog").read_text().splitlines()
    assert head == "#head"
    counted = {
        line.rpartition(",")[0].rpartition(",")[0]: hdr.added([line.rpartition(",")[2]]).total_count
        for line in lines
    }
    assert counted == {"0.000,0.050": 200, "Tag=all,0.000,0.050": 100, "0.050,0.050": 100}


def test_sessions_of_all_clients_are_those_of_one() -> None:
    """Two users out of three never waited; of the third every chunk was 1 s late."""

    def of(chunks: int, late: int) -> dict[str, object]:
        span = result(times(1, chunks))["sojourn_ns"]
        return {
            "begun": chunks // 10,
            "under_way": chunks / 10,
            "play_list_ns": span,
            "chunk_ns": span,
            "chunks": chunks,
            "late_chunks": late,
            "lost_chunks": 0,
            "stalled_ns": late * 10**9,
            "longest_stall_ns": 10**9 * bool(late),
            "watched": chunks // 10,
            "stalled": late // 10,
            "stalls_per_session": 10.0 * late / chunks,
            "stalled_s_per_session": 10.0 * late / chunks,
        }

    outcome = sessions.merged([of(200, 0), of(100, 100)])
    assert outcome is not None
    whole = of(300, 100)
    for name in whole.keys() - {"play_list_ns", "chunk_ns"}:
        assert outcome[name] == pytest.approx(whole[name]), name
    assert outcome["chunk_ns"]["count"] == 300
    assert sessions.merged([of(100, 0), None]) is None
    assert sessions.merged([None]) is None


def test_the_table_names_every_file() -> None:
    folder = Path(clients.__file__).parent
    shared = {
        "__init__",
        "client",
        "merge",
        "merge_test",
        "hdr",
        "hdr_test",
        "logs",
        "probing",
        "probing_test",
        "replies",
        "sessions",
        "turns",
        "turns_test",
        "clients_test",
    }
    assert {path.stem for path in folder.glob("*.py")} - shared == set(KINDS)
