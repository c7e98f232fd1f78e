"""The front of the compiled services, with a desk that says its input back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sojourn.install import cpp

SOURCE = """
#include "front.hpp"
struct Echo : words::Desk {
    std::string answer(const std::string &input) override {
        if (input == "fails")
            throw std::runtime_error("it fails");
        return input == "nothing" ? "" : input == "long" ? std::string(33, 'x') : input;
    }
};
std::unique_ptr<words::Desk> make(const words::Settings &, unsigned) {
    return std::make_unique<Echo>();
}
int main(int argc, char **argv) { return words::run(argc, argv, "echo 1", 32, make); }
"""
WITHIN_S = 30.0


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which(cpp.COMPILER) is None:
        pytest.skip("needs g++: apt install g++")
    at = tmp_path_factory.mktemp("echo")
    (at / "echo.cpp").write_text(SOURCE)
    flags = (*cpp.FLAGS, "-Werror", "-O1", f"-I{cpp.SOURCES}")
    cpp.ran((cpp.COMPILER, *flags, "-o", at / "echo", at / "echo.cpp"), cwd=at)
    return at / "echo"


def arguments(tmp_path: Path, *inputs: str) -> list[str]:
    (tmp_path / "inputs.txt").write_text("".join(f"{text}\n" for text in inputs))
    return ["--data", str(tmp_path), "--queries", "100", "--json", str(tmp_path / "report")]


@pytest.fixture
def client(echo: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    words = [str(echo), *arguments(tmp_path, *request.param), "--threads", "3"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as live:
        assert live.stdout is not None
        port = json.loads(live.stdout.readline())["port"]
        with socket.create_connection(("127.0.0.1", port), WITHIN_S) as made:
            yield made
        live.send_signal(signal.SIGTERM)
        assert live.wait(WITHIN_S) == 0


def replies(client: socket.socket, count: int) -> list[tuple[int, str]]:
    """Status and body of so many replies."""
    with client.makefile("rb") as file:
        results = []
        for _ in range(count):
            status = int(file.readline().split()[1])
            length = 0
            while (line := file.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split()[1])
            results.append((status, file.read(length).decode()))
        return results


def asked(*paths: str) -> bytes:
    return "".join(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n" for path in paths).encode()


@pytest.mark.parametrize("client", [("hello",)], indirect=True)
def test_replies_keep_the_order_of_requests_whoever_serves_them(client: socket.socket) -> None:
    client.sendall(asked(*(f"/q/{n}" for n in range(100))))
    wanted = [(200, f"query {n:>10} {'hello':<32}\n") for n in range(100)]
    assert replies(client, 100) == wanted


@pytest.mark.parametrize("client", [("hello",)], indirect=True)
def test_what_is_no_query_is_refused_and_broken_requests_end_the_connection(
    client: socket.socket,
) -> None:
    client.sendall(asked("/ready", "/q/100", "/q/x", "/q/-1", "/") + b"PUT /q/1 HTTP/1.1\r\n\r\n")
    result = replies(client, 6)
    assert [status for status, _ in result] == [200, 404, 404, 404, 404, 405]
    assert result[0][1] == "3 workers\n"
    assert "n from 0 to 99" in result[1][1]
    client.sendall(b"POST /q/1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
    assert client.recv(8) == b""


@pytest.mark.parametrize("client", [("fails",), ("nothing",), ("long",)], indirect=True)
def test_no_answer_is_a_status_500_and_never_an_empty_200(client: socket.socket) -> None:
    client.sendall(asked("/q/1", "/q/2"))
    for status, body in replies(client, 2):
        assert status == 500
        assert body in {"it fails\n", "an answer of 0 bytes\n", "an answer of 33 bytes\n"}


@pytest.mark.parametrize("client", [("hello",)], indirect=True)
def test_who_asks_to_be_closed_is(client: socket.socket) -> None:
    client.sendall(b"GET /q/1 HTTP/1.1\r\nCONNECTION: Close\r\n\r\n" + asked("/q/2"))
    assert replies(client, 1)[0][0] == 200
    assert client.recv(8) == b""


def test_a_connection_for_which_no_file_is_left_is_closed(echo: Path, tmp_path: Path) -> None:
    shell = 'ulimit -n 24; exec "$@"'
    words = ["sh", "-c", shell, "sh", str(echo), *arguments(tmp_path, "hello")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as live, ExitStack() as all_:
        all_.callback(live.kill)
        assert live.stdout is not None
        at = ("127.0.0.1", json.loads(live.stdout.readline())["port"])
        made = [all_.enter_context(socket.create_connection(at, WITHIN_S)) for _ in range(40)]
        made[0].sendall(asked("/q/1"))
        assert replies(made[0], 1)[0][0] == 200
        assert made[-1].recv(1) == b"", "one too many is closed, not left to wait"
        before_s = cpu_s(live.pid)
        time.sleep(0.5)
        assert cpu_s(live.pid) - before_s < 0.25, "and no thread asks for it again and again"
        made[0].close()
        live.send_signal(signal.SIGTERM)
        assert live.wait(WITHIN_S) == 0


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_report_adds_up_and_bounds_its_mean(echo: Path, tmp_path: Path) -> None:
    words = [str(echo), *arguments(tmp_path, "a", "b"), "--measure", "0.2"]
    assert subprocess.run(words, check=True, capture_output=True).stdout == b""
    report = json.loads((tmp_path / "report").read_text())
    mean, quantiles = report["service_ns"], report["service"]
    assert mean["lo"] < mean["mean"] < mean["hi"]
    assert mean["count"] == quantiles["count"] == report["answered"] == report["by_worker"][0]
    order = [quantiles[name] for name in ("p50", "p90", "p95", "p99", "p999", "max")]
    assert order == sorted(order)
    assert report["settings"] == {
        "data": str(tmp_path),
        "threads": 1,
        "queries": 100,
        "seed": 1,
    }


def test_the_list_answers_every_input_in_order(echo: Path, tmp_path: Path) -> None:
    words = [str(echo), *arguments(tmp_path, "b", "a", "c"), "--list"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["--thread", "1"], "--thread"),
        (["--threads", "0"], "--threads"),
        (["--threads", "x"], "--threads"),
        (["--port", "70000"], "--port"),
        (["--seed"], "--seed"),
        (["--data", "/no/such/folder"], "/no/such/folder/inputs.txt"),
        (["--threads", "1"], "--data"),
    ],
)
def test_mistakes_say_what_where_and_how_to_fix_it(echo: Path, words: list[str], at: str) -> None:
    done = subprocess.run([echo, *words], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert f"\n  at: {at}\n  fix: " in done.stderr
