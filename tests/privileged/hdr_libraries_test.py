"""The `hdr` of a result is what the HdrHistogram libraries of Python, Java and Go read.

Not in the gate: Java and Go are large, and their libraries are fetched (Maven, the Go proxy) into
target/hdr. Where one is not installed its test is skipped by name.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from sojourn import programs

pytestmark = [pytest.mark.privileged, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("hdr")
BUILDS = ROOT / "target" / "hdr"
JAR = "https://repo1.maven.org/maven2/org/hdrhistogram/HdrHistogram/2.2.2/HdrHistogram-2.2.2.jar"
GO_LIBRARY = "github.com/HdrHistogram/hdrhistogram-go@v1.1.2"
FETCH_S_MAX = 120


@pytest.fixture(scope="module")
def span() -> dict[str, Any]:
    """Times of a simulated queue, as every program writes them."""
    job = {"rate": "0.8", "service": "exponential:1", "servers": 1, "requests": "200k", "seed": 3}
    done = subprocess.run(
        [programs.find("sojourn-sim"), "queue", "--job", "-", "--json", "-"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    results: dict[str, Any] = json.loads(done.stdout)["sojourn_ns"]
    return results


def test_python_reads_it(span: dict[str, Any]) -> None:
    histogram = HdrHistogram.decode(span["hdr"].encode())
    agrees(span, histogram.get_total_count(), histogram.get_value_at_percentile(99))


def test_java_reads_it(span: dict[str, Any]) -> None:
    if shutil.which("javac") is None:
        pytest.skip("no javac (apt-get install default-jdk-headless)")
    jar = BUILDS / "HdrHistogram.jar"
    BUILDS.mkdir(parents=True, exist_ok=True)
    if not jar.exists():
        with urllib.request.urlopen(JAR, timeout=FETCH_S_MAX) as reply:
            jar.write_bytes(reply.read())
    out("javac", "-cp", jar, "-d", BUILDS, PROGRAMS / "Read.java")
    read = out("java", "-cp", f"{jar}:{BUILDS}", "Read", span["hdr"])
    agrees(span, *(int(word) for word in read.split()))


def test_go_reads_it(span: dict[str, Any], tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("no go (apt-get install golang-go)")
    shutil.copy(PROGRAMS / "read.go", tmp_path)
    out("go", "mod", "init", "read", cwd=tmp_path)
    out("go", "get", GO_LIBRARY, cwd=tmp_path)
    read = out("go", "run", "read.go", span["hdr"], cwd=tmp_path)
    agrees(span, *(int(word) for word in read.split()))


def agrees(span: dict[str, Any], count: int, p99: int) -> None:
    assert count == span["count"]
    assert p99 == pytest.approx(span["p99"], rel=1e-3)


def out(*words: str | Path, cwd: Path | None = None) -> str:
    command = [str(word) for word in words]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=FETCH_S_MAX
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
