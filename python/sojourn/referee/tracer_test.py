"""What a trace says of itself, and samples of threads: also of damaged files."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn.errors import RunFault
from sojourn.referee import requests, watch
from sojourn.referee.tracer import loss_of
from sojourn.referee.usage import usage

HOLDS = {"verdict": {"verdict": "holds", "reasons": []}, "dropped": 0, "warnings": []}


def test_a_valid_trace_has_no_reason() -> None:
    assert loss_of(HOLDS).unknown == loss_of(HOLDS).doubts == ()


def test_reasons_and_warnings_are_passed_on_but_the_note_that_is_known() -> None:
    notes = ["every request pays for hooks, and …", "12 of 20 requests came in several segments"]
    bad = {"verdict": "unknown", "reasons": ["2 % of the requests were lost"]}
    loss = loss_of({"verdict": bad, "dropped": 7, "warnings": notes})
    assert loss.unknown == ("trace: 2 % of the requests were lost",)
    assert loss.doubts == ("7 records found no room: give a larger --ring.", notes[1])


@pytest.mark.parametrize("result", [None, [], {}, {"verdict": "holds"}, {"verdict": []}, 7])
def test_what_is_no_result_is_refused(result: object) -> None:
    with pytest.raises(ValueError, match="no result"):
        loss_of(result)


def test_values_of_other_types_are_left_out() -> None:
    bad = {"verdict": "unknown", "reasons": [1, None, "x"]}
    loss = loss_of({"verdict": bad, "dropped": "many", "warnings": {"a": 1}})
    assert (loss.unknown, loss.doubts) == (("trace: x",), ())


def test_times_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "times.parquet"
    rows = np.array([30, 10, 20])
    columns = {name: rows + at for at, name in enumerate(requests.TIMES)}
    pq.write_table(pa.table(columns), path)
    result = requests.read(path)
    assert result.start_ns.tolist() == [10, 20, 30]
    assert (result.first_ns - result.start_ns).tolist() == [1, 1, 1]
    assert result.total_ns.tolist() == [2, 2, 2]
    assert result.connection.tolist() == [13, 23, 33]


@pytest.mark.parametrize("verdict", [{"verdict": "unknown"}, {"verdict": "odd"}, {"reasons": []}])
def test_a_trace_that_does_not_hold_is_in_doubt_without_a_reason(verdict: dict[str, Any]) -> None:
    assert loss_of({"verdict": verdict}).unknown
    assert not loss_of({"verdict": {"verdict": "holds"}}).unknown


def test_records_are_read_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    columns = {name: np.array([3, 1, 2]) for name in requests.COLUMNS}
    pq.write_table(pa.table(columns), path)
    assert requests.read(path).start_ns.tolist() == [1, 2, 3]
    pq.write_table(pa.table({"start_ns": [1]}), path)
    with pytest.raises(RunFault, match="no column"):
        requests.read(path)
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(RunFault, match="cannot be read"):
        requests.read(path)
    with pytest.raises(RunFault):
        requests.read(tmp_path / "absent")


def test_a_thread_that_computes_is_seen() -> None:
    end = threading.Event()

    def spin() -> None:
        while not end.is_set():
            pass

    looked = watch.Watch(lambda: [os.getpid()])
    busy = threading.Thread(target=spin)
    busy.start()
    looked.start()
    time.sleep(3 * watch.EACH_S)
    samples = looked.end()
    end.set()
    busy.join()
    assert len(samples) >= 2
    result = usage(samples, samples[0].at_ns, samples[-1].at_ns)
    assert 0 < result.runs <= 1
    assert result.cpus == len(os.sched_getaffinity(0))


def test_a_long_look_has_few_samples() -> None:
    looked = watch.Watch(lambda: ())
    for _ in range(5 * watch.SAMPLES_MAX):
        looked._take()
    assert len(looked.samples) < watch.SAMPLES_MAX
    assert looked._each_s > 4 * watch.EACH_S
    times = [one.at_ns for one in looked.samples]
    assert times == sorted(times)


def test_processes_that_are_gone_have_no_threads() -> None:
    assert watch.sample([999_999_999]).threads == {}
    assert watch.sample([]).cpus == 1
