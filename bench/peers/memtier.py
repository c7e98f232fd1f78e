"""memtier_benchmark: closed loop with a limiter, libevent, sleeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from peers.base import Case, Peer, Reading, number


class Memtier(Peer):
    name = "memtier"
    program = "memtier_benchmark"

    def takes(self, case: Case) -> bool:
        return case.protocol in {"memcache", "resp"} and (
            case.wait == "sleep" or case.rate_rps is None
        )

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        protocol = {"memcache": "memcache_text", "resp": "redis"}[case.protocol]
        words = [self.program, "-s", "127.0.0.1", "-p", str(port), "-P", protocol]
        words += ["-t", "1", "-c", str(case.connections), "--ratio", "0:1", "-d", "200"]
        words += ["--key-minimum", "1", "--key-maximum", "10000", "--hide-histogram"]
        words += ["--test-time", str(seconds)]
        if case.rate_rps is not None:
            words += ["--rate-limiting", str(case.rate_rps // case.connections)]
        return words

    def preload(self, case: Case, port: int, scratch: Path) -> list[str] | None:
        words = self.command(replace(case, connections=1, rate_rps=None), port, 0, scratch)[:-2]
        words[words.index("--ratio") + 1] = "1:0"
        return [*words, "--key-pattern", "P:P", "-n", "allkeys"]

    def read(self, stdout: str, scratch: Path) -> Reading:
        columns = [line for line in stdout.splitlines() if line.startswith("Totals")][-1].split()
        header = [line for line in stdout.splitlines() if line.startswith("Type ")][-1]
        at = header.replace(" Latency", "Latency").split()
        pick = dict(zip(at, columns, strict=False))
        return Reading(
            number(r"^Totals\s+([\d.]+)", stdout),
            float(pick["p50Latency"]) * 1e3,
            float(pick["p99Latency"]) * 1e3,
        )
