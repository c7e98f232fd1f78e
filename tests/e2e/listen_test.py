"""`sojourn-load --listen`: what a scraper reads while load runs, in both forms.

The messages are decoded here by the format's own rules, and read by a real Prometheus where there
is one. Three seconds of load at a low rate do, because counts are compared and no times.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sojourn import programs
from sojourn.places import ports

pytestmark = pytest.mark.e2e

TIMES = "sojourn_load_latency_seconds"
NATIVE = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)
WAIT_S = 120.0  # a guard against a hang


@contextmanager
def load(folder: Path, *more: str) -> Iterator[str]:
    """Load on a synthetic service; gives the address of its metrics, and ends both."""
    serve = [str(programs.find("sojourn-serve")), "--protocol", "echo", "--mode", "sleep"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = json.loads(server.stdout.readline())["port"]
        words = [str(programs.find("sojourn-load")), f"echo://127.0.0.1:{port}", "--rate", "200"]
        words += ["--warmup", "0.1s", "--wait", "sleep", "--listen", "0", *more]
        result = folder / "load.json"
        try:
            with subprocess.Popen(
                [*words, "--json", str(result)], stderr=subprocess.PIPE, text=True
            ) as made:
                assert made.stderr
                line = made.stderr.readline()
                assert line.startswith("metrics at http://127.0.0.1:"), line
                try:
                    yield line.split()[-1]
                finally:
                    made.terminate()
                    made.wait(WAIT_S)
        finally:
            server.terminate()
            server.wait(WAIT_S)


def scraped(url: str, accept: str = "*/*") -> tuple[str, bytes]:
    """Type and content of an answer."""
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return answer.headers["Content-Type"], answer.read()


def until_counted(url: str, least: int) -> str:
    """The text form when that many replies have come."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        text = scraped(url)[1].decode()
        count = re.search(rf"^{TIMES}_count (\d+)$", text, re.MULTILINE)
        if count and int(count[1]) >= least:
            return text
        time.sleep(0.1)
    raise AssertionError(f"fewer than {least} replies")


def test_the_text_is_openmetrics_and_adds_up(tmp_path: Path) -> None:
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser", reason="prometheus_client is not installed"
    )
    with load(tmp_path, "--duration", "60s") as url:
        until_counted(url, 1)
        text = until_counted(url, 100)
        kind, _ = scraped(url)
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    families = {one.name: one for one in parser.text_string_to_metric_families(text)}
    assert families["sojourn_load_sent"].type == "counter"
    buckets = [s.value for s in families[TIMES].samples if s.name.endswith("_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == next(
        s.value for s in families[TIMES].samples if s.name == f"{TIMES}_count"
    )
    assert buckets[-1] >= 100


def test_the_native_histogram_has_the_replies_of_the_classic_one(tmp_path: Path) -> None:
    with load(tmp_path, "--duration", "60s") as url:
        until_counted(url, 100)
        kind, body = scraped(url, f"{NATIVE};q=0.7,text/plain;q=0.3")
    assert kind.startswith("application/vnd.google.protobuf")
    families = {name(one): one for one in delimited(body)}
    histogram = inner(inner(families[TIMES], 4)[0], 7)[0]
    total = fields(histogram)[1][0]
    assert total >= 100
    counts, count = [], 0
    for delta in varints(fields(histogram)[13][0]):
        count += zigzag(delta)
        counts.append(count)
    assert sum(counts) == total
    assert min(counts) > 0, "no bucket of a span is empty"
    lengths = [fields(span)[2][0] for span in inner(histogram, 12)]
    assert sum(lengths) == len(counts)
    assert zigzag(fields(histogram)[5][0]) == 5, "the schema"
    ends = sorted(fields(bucket)[1][0] for bucket in inner(histogram, 3))
    assert ends[-1] <= total


def delimited(body: bytes) -> Iterator[bytes]:
    """Messages with their lengths before them."""
    while body:
        length, at = varint(body, 0)
        yield body[at : at + length]
        body = body[at + length :]


def fields(message: bytes) -> dict[int, list[Any]]:
    """Values by field number: whole numbers, eight bytes as bytes, or bytes."""
    values: dict[int, list[Any]] = {}
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        value: int | bytes
        if key & 7 == 0:
            value, at = varint(message, at)
        else:
            length, at = (8, at) if key & 7 == 1 else varint(message, at)
            value, at = message[at : at + length], at + length
        values.setdefault(key >> 3, []).append(value)
    return values


def inner(message: bytes, number: int) -> list[bytes]:
    """Messages within a message."""
    return fields(message)[number]


def name(family: bytes) -> str:
    """What a family is called."""
    return fields(family)[1][0].decode()


def varints(packed: bytes) -> Iterator[int]:
    """Whole numbers one behind the other."""
    at = 0
    while at < len(packed):
        value, at = varint(packed, at)
        yield value


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number and where the next one begins."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return value, at


def zigzag(value: int) -> int:
    """A number of either sign."""
    return (value >> 1) ^ -(value & 1)


def test_a_real_prometheus_stores_it_as_a_native_histogram(tmp_path: Path) -> None:
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        pytest.skip("needs prometheus: apt install prometheus")
    port = ports.free()
    with load(tmp_path, "--duration", "120s") as url:
        target = url.split("/")[2]
        (tmp_path / "prometheus.yml").write_text(
            "scrape_configs: [{job_name: load, scrape_interval: 1s, "
            f"static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        words = [prometheus, f"--config.file={tmp_path}/prometheus.yml"]
        words += [f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"]
        words += ["--enable-feature=native-histograms", "--log.level=warn"]
        with (tmp_path / "log").open("w") as log, subprocess.Popen(words, stderr=log) as made:
            try:
                count = asked(port, f"histogram_count({TIMES})", made)
                median = asked(port, f"histogram_quantile(0.5, {TIMES})", made)
                sent = asked(port, "sojourn_load_sent_total", made)
            finally:
                made.terminate()
                made.wait(WAIT_S)
        text = until_counted(url, 1)
    assert 0 < count <= int(re.findall(rf"^{TIMES}_count (\d+)$", text, re.MULTILINE)[0])
    assert 0 < median < 60
    assert sent > 0


def asked(port: int, query: str, made: subprocess.Popen[bytes]) -> float:
    """What Prometheus answers once it has scraped something."""
    url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end and made.poll() is None:
        try:
            rows = json.loads(scraped(url)[1])["data"]["result"]
        except OSError:
            rows = []
        if rows:
            value = float(rows[0]["value"][1])
            if value > 0:
                return value
        time.sleep(0.3)
    raise AssertionError(f"Prometheus knows no {query}")
