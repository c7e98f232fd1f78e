"""wrk: HTTP, closed loop, its own event loop."""

from __future__ import annotations

from pathlib import Path

from peers.base import Case, Peer, Reading, number, time_us


class Wrk(Peer):
    name = "wrk"
    program = "wrk"

    def takes(self, case: Case) -> bool:
        return case.protocol == "http" and case.rate_rps is None

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        words = [self.program, "-t", "1", "-c", str(case.connections), "-d", f"{seconds}s"]
        return [*words, "--latency", f"http://127.0.0.1:{port}/4k"]

    def read(self, stdout: str, scratch: Path) -> Reading:
        return Reading(
            number(r"^Requests/sec:\s+([\d.]+)", stdout),
            time_us(r"50%\s+([\d.]+)(us|ms|s)", stdout),
            time_us(r"99%\s+([\d.]+)(us|ms|s)", stdout),
        )
