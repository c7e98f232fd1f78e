"""Result files of strangers: damaged, endless, or with numbers that are none."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from sojourn import importers
from sojourn.errors import Exit, SpecFault
from sojourn.importers import FORMATS, estimates
from sojourn.importers.testing import BY_NAME, Sample, content, put

DAMAGES = 16  # of each sample


@BY_NAME
def test_a_damaged_file_is_read_or_named_and_nothing_else(one: Sample, tmp_path: Path) -> None:
    """Cut short, bytes flipped, numbers replaced by what is no number of a request."""
    sound, rng = content(one.name), random.Random(one.name)  # noqa: S311 - no secret
    seen: Counter[str] = Counter()
    for damage in range(DAMAGES):
        data = bytearray(sound)
        if damage % 2:
            del data[rng.randrange(len(data)) :]
        else:
            for _ in range(5):
                data[rng.randrange(len(data))] = rng.choice(b'\x00\x1b"{[]}-,9e\xff\n')
        try:
            _, series = importers.read(put(tmp_path, bytes(data)), one.form)
            for some in series:
                estimates.of(some)
            seen["read"] += 1
        except SpecFault as fault:
            seen["refused"] += is_whole(fault, tmp_path)
    assert seen["refused"], "no damage was noticed"


def is_whole(fault: SpecFault, folder: Path) -> bool:
    """Whether a fault ends with 2, and has a place and a way out."""
    assert fault.exit == Exit.USAGE
    assert str(folder) in fault.at
    assert fault.fix
    return True


HOSTILE = ["NaN", "-1", "1e400", "-Infinity", '"x"', "null", "[]", "true", "1" + "0" * 5000, "1e17"]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("k6-json", ('{"type":"Point","metric":"http_req_duration","data":{"time":'
         '"2026-01-01T00:00:00Z","value":VALUE,"tags":{}}}')),
        ("vegeta-json", ('{"latency":VALUE,"bytes_out":0,"code":200,'
         '"timestamp":"2026-01-01T00:00:00Z"}')),
        ("vegeta-csv", "1795684512653116289,200,VALUE,0,6,,,,0,GET,http://x/,"),
        ("hey", "response-time,DNS+dialup,status-code,offset\nVALUE,0,200,0"),
        ("pgbench", "0 1 VALUE 0 1795684547 54369"),
        ("h2load-log", "1795684512533593\t200\tVALUE"),
        ("k6-summary", '{\n"metrics":{"http_req_duration":{"med":VALUE}}}'),
        ("ghz", '{"details":[{"timestamp":"2026-01-01T00:00:00Z","status":"OK","latency":VALUE}]}'),
        ("mutilate-save", "0.019325 VALUE"),
        ("oha-json", ('{"summary":{"total":1,"average":VALUE},"latencyPercentiles":{"p50":VALUE},'
         '"statusCodeDistribution":{"200":5},"errorDistribution":{}}')),
        ("oha-csv", "request-start,DNS,request-duration,status\n0,0,VALUE,200"),
        ("oha", ("Summary:\n  Total:\t1 sec\n  Requests/sec:\t5\n\nResponse time distribution:\n"
         "  50.00% in VALUE sec\n\nStatus code distribution:\n  [200] 5 responses\n")),
        ("fortio", ('{"DurationHistogram":{"Count":2,"Sum":1,"Max":1,"Avg":0.5,"Data":[{"Start":0,'
         '"End":VALUE,"Count":2}]},"ActualDuration":5}')),
    ],
)  # fmt: skip
def test_what_is_no_time_of_a_request_is_refused_with_its_place(
    form: str, text: str, value: str, tmp_path: Path
) -> None:
    text += "\n"
    sound = put(tmp_path, text.replace("VALUE", "0.5" if form != "pgbench" else "5").encode())
    _, series = importers.read(sound, form)
    assert series[0].stated or series[0].times
    path = put(tmp_path, text.replace("VALUE", value).encode())
    if form == "pgbench" and value.isalpha():
        return  # the reason of a failure is there
    with pytest.raises(SpecFault) as caught:
        importers.read(path, form)
    assert str(path) in caught.value.at
    assert len(str(caught.value)) < 600, "a long value is not repeated whole"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "empty"),
        (b"hello\n", "no known format"),
        (b"\x00" * 100_000, "no known format"),
        (b'{"metric":"a","type":"b"}\n', "no http_req_duration"),
        (b"[" * 200_000, "no known format"),
    ],
)
def test_what_is_nothing_of_a_tool_is_named(data: bytes, what: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match=what):
        importers.read(put(tmp_path, data))


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_depth_length_and_pipes_are_bounded(form: str, tmp_path: Path) -> None:
    for data in (b'{"a":' * 100_000, b"x" * (2 * 1024**2), b'{"metrics":' + b"[" * 200_000):
        with pytest.raises(SpecFault):
            importers.read(put(tmp_path, data), form)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SpecFault, match="not a plain file"):
        importers.read(pipe, form)


def fortio(errors: str) -> bytes:
    """Ten requests in two bins, of which the second histogram says which failed."""
    rows = '[{"Start":0.001,"End":0.002,"Count":6},{"Start":0.002,"End":0.003,"Count":4}]'
    every = f'{{"Count":10,"Sum":0.02,"Max":0.003,"Data":{rows}}}'
    whole = f'{{"RunType":"HTTP","RequestedQPS":"9","ActualDuration":1,"DurationHistogram":{every},'
    return f'{whole}"ErrorsDurationHistogram":{errors},"RetCodes":{{"200":7,"500":3}}}}'.encode()


def test_failures_of_fortio_that_are_not_among_all_requests_are_refused(tmp_path: Path) -> None:
    bins = '{{"Count":{n},"Sum":0.006,"Data":[{{"Start":0.002,"End":{end},"Count":{n}}}]}}'
    _, (series,) = importers.read(put(tmp_path, fortio(bins.format(n=3, end=0.003))))
    assert (series.requests, series.failed) == (7, {"code 500": 3})
    assert series.times
    assert series.times.count.tolist() == [6, 1]
    for odd in (bins.format(n=5, end=0.003), bins.format(n=3, end=0.004)):
        with pytest.raises(SpecFault, match="not among all"):
            importers.read(put(tmp_path, fortio(odd)))
    _, (other,) = importers.read(put(tmp_path, fortio(bins.format(n=2, end=0.003))))
    assert other.failed == {"failed": 2}, "of the codes nothing is taken that does not add up"


def test_vegetas_own_form_is_refused_with_the_command_that_converts(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="only vegeta reads") as caught:
        importers.read(put(tmp_path, content("vegeta.bin")))
    assert "vegeta encode" in caught.value.fix


def test_a_large_file_takes_bounded_memory(tmp_path: Path) -> None:
    """Lines are read one by one, and one without an end no further than its bound."""
    line = content("vegeta.json").splitlines(keepends=True)[0]
    more = line.replace(b'"body":"', b'"body":"' + b"A" * 500_000)
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        for _ in range(50):
            file.write(more)
    endless = tmp_path / "endless.json"
    endless.touch()
    os.truncate(endless, 100 * 1024**2)
    code = (
        "import resource; from pathlib import Path; from sojourn import importers;"
        "from sojourn.errors import SpecFault;"
        "was = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        f"importers.read(Path({str(path)!r}))\n"
        f"try: importers.read(Path({str(endless)!r}), 'vegeta-json')\n"
        "except SpecFault: pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - was)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert int(done.stdout) < 12_000, "KiB beside what the modules take"


def test_a_count_of_wrk_that_is_no_number_of_requests_is_refused(tmp_path: Path) -> None:
    line = b"  Socket errors: connect %s, read 1, write 0, timeout 0\nRequests/sec"
    sound = content("wrk.txt")
    _, (series,) = importers.read(put(tmp_path, sound.replace(b"Requests/sec", line % b"2")))
    assert series.failed == {"connect": 2, "read": 1}
    for number in (b"9" * 400, b"9" * 20):
        with pytest.raises(SpecFault, match="connect errors is '999"):
            importers.read(put(tmp_path, sound.replace(b"Requests/sec", line % number)))


def test_counts_of_a_histogram_that_would_wrap_are_refused(tmp_path: Path) -> None:
    made = HdrHistogram(1, 1000, 3)
    for value in (1, 2, 3, 4):
        made.record_value(value, 2**61)  # together 2**63
    log = f"0.0,1.0,1.0,{made.encode().decode()}\n".encode()
    with pytest.raises(SpecFault, match="more than"):
        importers.read(put(tmp_path, log), "hdr-log")
