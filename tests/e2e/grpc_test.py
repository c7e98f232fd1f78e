"""Calls to a real gRPC server: what is sent arrives, what is answered is checked, a stall is seen.

The server is grpcio's, in a process of its own, and knows no .proto: its messages are bytes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from sojourn import programs

pytestmark = pytest.mark.e2e
pytest.importorskip("grpc", reason="grpcio is not installed")

STOPPED_S = 0.3
# Answers `name = 1` with `text = 1`, "hello " before it; fails for one name; counts its calls.
SERVER = """
import sys, grpc
from concurrent import futures
def hello(request, context):
    if request[2:] == b"nobody":
        context.abort(grpc.StatusCode.NOT_FOUND, "nobody is called so")
    text = b"hello " + request[2:]
    return bytes([10, len(text)]) + text
handlers = {"Hello": grpc.unary_unary_rpc_method_handler(hello)}
server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("a.Greeter", handlers)])
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
"""


@pytest.fixture(scope="module")
def greeter() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server and its authority."""
    words = [sys.executable, "-c", SERVER]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server, f"127.0.0.1:{int(server.stdout.readline())}"
        server.kill()


def load(target: str, *more: str, duration: str = "1s") -> tuple[dict[str, Any], str, int]:
    """The result of a run, what was said, and the exit code."""
    program = programs.find("sojourn-load", fix="make build")
    usual = ("--rate", "300", "--duration", duration, "--warmup", "200ms", "--connections", "2")
    words = [str(program), target, *usual, "--wait", "sleep", "--json", "-", *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout or "{}"), done.stderr, done.returncode


def message(tmp_path: Path, name: str) -> str:
    """A file with the message `name = 1`."""
    file = tmp_path / "message"
    file.write_bytes(bytes([10, len(name)]) + name.encode())
    return str(file)


def test_each_call_is_answered_and_its_message_is_what_it_must_be(
    greeter: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    target = f"grpc://{greeter[1]}/a.Greeter/Hello"
    body = ("--body-file", message(tmp_path, "you"))
    result, _, _ = load(target, *body, "--expect-regex", "hello you$", "--expect-bytes", "11")
    assert result["errors"] == {}
    assert result["requests"] > 200
    replies = result["replies"]
    assert (replies["bytes_min"], replies["bytes_max"], replies["failed"]) == (11, 11, {})
    assert replies["checked"] > 100
    wrong, _, _ = load(target, *body, "--expect-regex", "^goodbye")
    assert wrong["verdict"] == "unknown"
    assert wrong["replies"]["failed"]["expect_regex"] == wrong["replies"]["checked"] > 0


def test_other_statuses_are_failed_requests_by_name(
    greeter: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    at = f"grpc://{greeter[1]}"
    body = ("--body-file", message(tmp_path, "nobody"))
    result, _, _ = load(f"{at}/a.Greeter/Hello", *body)
    assert result["errors"] == {"status": result["requests"]}
    assert set(result["replies"]["statuses"]) == {"NOT_FOUND"}
    absent, _, code = load(f"{at}/a.Greeter/Hi")
    assert code != 0
    assert len(absent["reasons"]) == 1
    assert re.search(r"has no method /a.Greeter/Hi .UNIMPLEMENTED", absent["reasons"][0])


def test_a_server_that_stops_is_seen_in_the_sojourn_time_of_all_that_was_due(
    greeter: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    server, authority = greeter
    lengths = []

    def stop() -> None:
        time.sleep(0.9)
        os.kill(server.pid, signal.SIGSTOP)
        start = time.monotonic()
        time.sleep(STOPPED_S)
        lengths.append(time.monotonic() - start)
        os.kill(server.pid, signal.SIGCONT)

    raw = tmp_path / "raw.parquet"
    stopper = threading.Thread(target=stop)
    stopper.start()
    body = ("--body-file", message(tmp_path, "you"))
    result, _, _ = load(
        f"grpc://{authority}/a.Greeter/Hello", *body, "--raw", str(raw), duration="2s"
    )
    stopper.join()
    assert result["errors"] == {}
    # Who was due first in the stop waited for all of it, and one after the other a little less: of
    # 300 a second some 45 were due in its first half, and waited for half of it; 4.7 sigma below.
    assert result["sojourn_ns"]["max"] >= 0.9 * lengths[0] * 1e9
    table = parquet.read_table(raw)
    sojourn_ns = table["done_ns"].to_numpy() - table["intended_ns"].to_numpy()
    assert (sojourn_ns >= lengths[0] * 0.5e9).sum() > 300 * lengths[0] * 0.5 * 0.3
