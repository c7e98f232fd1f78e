"""README's commands, run as they stand there: only ports, durations and sizes are made smaller.

A line that ends in `&` is a server of the line after it. Servers that README takes for granted
(memcached, a web server) are started here, on free ports; all are ended by their own pid.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.errors import Exit
from sojourn.places import ports

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

README = Path(__file__).parents[2] / "README.md"
START_S_MAX = 300.0
DONE = {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}
MEMCACHED, WEB = 11211, 8080  # as README has them
WEB_SERVER = """
import sys
from http.server import SimpleHTTPRequestHandler as Page, ThreadingHTTPServer as Server
Page.protocol_version, Server.request_queue_size = "HTTP/1.1", 128
Server((sys.argv[1], int(sys.argv[2])), Page).serve_forever()
"""
SHORTER = (
    (r"--duration \S+", "--duration 1s"),
    (r"--requests \S+", "--requests 100k"),
    # Every id is gone through, with less to simulate; what comes out is models/*_test.py's affair.
    (r"replicate (\w+)", r"replicate \1 --share 0.01"),
)


def commands() -> list[tuple[str, ...]]:
    """Each command of README's code blocks, with the servers before it that it needs."""
    results: list[tuple[str, ...]] = []
    servers: tuple[str, ...] = ()
    for block in re.findall(r"^```\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+#.*", "", line).strip()
            if not re.match(r"(make|sojourn)", command):
                assert not re.match(r"[a-z./-]+ .*--", command), f"nobody runs: {command}"
            elif command.endswith("&"):
                servers += (command.removesuffix("&").strip(),)
            else:
                results.append((*servers, command))
                servers = ()
    assert not servers, f"nobody uses {servers}"
    return results


MADE = [line[-1] for line in commands() if line[-1].startswith("make ")]
RUN = [line for line in commands() if not line[-1].startswith("make ")]


def test_the_two_first_commands_are_those_of_scripts_fresh() -> None:
    fresh = (README.parent / "scripts" / "fresh").read_text()
    made = re.findall(r"^\s+inside (make \w+)", fresh, re.MULTILINE)
    assert MADE == made == ["make demo", "make test"]


@contextmanager
def server(words: list[str], port: int, folder: Path) -> Iterator[int]:
    """Run a server of the test's own until the end of the block; gives its pid."""
    log = folder / f"{port}.log"
    with log.open("w") as out, subprocess.Popen(words, cwd=folder, stdout=out, stderr=out) as made:
        try:
            end = time.monotonic() + START_S_MAX
            while ports.is_free(port):
                assert made.poll() is None, log.read_text()
                assert time.monotonic() < end, f"{words} does not listen on {port}"
                time.sleep(0.02)
            yield made.pid
        finally:
            made.terminate()
            made.wait(START_S_MAX)


def taken_for_granted(readme_port: int, port: int, folder: Path) -> list[str]:
    """What README supposes to be running on a port of its own."""
    if readme_port == MEMCACHED:
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        return [str(programs.find("memcached")), "-l", ports.HOST, "-p", str(port), *user]
    (folder / "index.html").write_text("hello\n")
    return [sys.executable, "-c", WEB_SERVER, ports.HOST, str(port)]


def words_of(command: str, moved: dict[int, int], pid: int) -> list[str]:
    """The words of a command: made shorter, and asking for the result in numbers too."""
    command = command.replace("$(pidof memcached)", str(pid))
    for pattern, shorter in SHORTER:
        command = re.sub(pattern, shorter, command)
    for readme_port, port in moved.items():
        command = re.sub(rf"\b{readme_port}\b", str(port), command)
    words = shlex.split(command)
    if words[0] == "sojourn-load":
        words += [] if "--duration" in words else ["--duration", "1s"]
        words += [] if "--json" in words else ["--json", "out.json"]
        words += ["--drain", "60s"]  # a machine that is busy with other things answers late
    return [str(programs.find(words[0])), *words[1:]]


def beside(line: tuple[str, ...]) -> tuple[pytest.MarkDecorator, ...]:
    """What simulates measures nothing, so it needs no turn; it takes a minute or two."""
    return (pytest.mark.xdist_group("simulated"),) if "replicate" in line[-1] else ()


@pytest.mark.parametrize(
    "line",
    [pytest.param(one, marks=beside(one), id=re.sub(r"\W+", "-", one[-1])[:40]) for one in RUN],
)
def test_it_does_what_readme_says(
    line: tuple[str, ...], tmp_path: Path, needs: Callable[[str], None]
) -> None:
    *servers, command = line
    is_traced = command.startswith("sojourn-trace")
    if is_traced and (os.geteuid() != 0 or programs.maybe("sojourn-trace") is None):
        pytest.skip("needs root, and sojourn-trace, which scripts/setup --bpf says how to build")
    named = {int(port) for port in re.findall(r"(?::|--port )(\d{4,5})\b", " ".join(line))}
    granted = [MEMCACHED] if is_traced else sorted(named & {MEMCACHED, WEB})
    moved = {port: ports.free() for port in [*granted, *named]}
    with ExitStack() as running:
        pid = 0
        for port in granted:
            needs("memcached" if port == MEMCACHED else "")
            words = taken_for_granted(port, moved[port], tmp_path)
            pid = running.enter_context(server(words, moved[port], tmp_path))
        for each, port in zip(servers, sorted(named), strict=False):
            running.enter_context(server(words_of(each, moved, pid), moved[port], tmp_path))
        done = subprocess.run(
            words_of(command, moved, pid),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode in DONE, done.stderr
    if command.startswith("sojourn-load"):
        result = json.loads((tmp_path / "out.json").read_text())
        failed = sum(result["errors"].values())
        assert set(result["errors"]) <= {"timed_out", "unanswered", "unsent"}, (
            "no reply may be wrong"
        )
        assert result["requests"] > failed, f"not one reply: {result['reasons']}"
    elif not is_traced:
        assert done.stdout or (tmp_path / "replicas.html").is_file()
