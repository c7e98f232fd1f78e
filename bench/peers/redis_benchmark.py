"""redis-benchmark: RESP, closed loop; runs by count, so the count is guessed from the time."""

from __future__ import annotations

import csv
from pathlib import Path

from peers.base import Case, Peer, Reading

REQUESTS_PER_SECOND = 100_000  # a guess that gives runs of about the asked length


class RedisBenchmark(Peer):
    name = "redis-benchmark"
    program = "redis-benchmark"

    def takes(self, case: Case) -> bool:
        return case.protocol == "resp" and case.rate_rps is None

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        words = [self.program, "-h", "127.0.0.1", "-p", str(port), "-c", str(case.connections)]
        words += ["-n", str(seconds * REQUESTS_PER_SECOND), "-t", "get", "-d", "200"]
        return [*words, "-r", "10000", "--csv"]

    def preload(self, case: Case, port: int, scratch: Path) -> list[str] | None:
        words = self.command(case, port, 2, scratch)
        words[words.index("get")] = "set"
        return words

    def read(self, stdout: str, scratch: Path) -> Reading:
        rows = list(csv.DictReader(line for line in stdout.splitlines() if line.startswith('"')))
        row = rows[-1]
        return Reading(
            float(row["rps"]),
            float(row["p50_latency_ms"]) * 1e3,
            float(row["p99_latency_ms"]) * 1e3,
        )
