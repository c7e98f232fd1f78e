"""cachecannon: Rust and io_uring; closed loop with a limiter."""

from __future__ import annotations

import json
from pathlib import Path

from peers.base import Case, Peer, Reading

CONFIG = """
[general]
duration = "{seconds}s"
warmup = "1s"
threads = 1
cpu_list = "1"
[target]
endpoints = ["127.0.0.1:{port}"]
protocol = "{protocol}"
[connection]
connections = {connections}
pipeline_depth = {depth}
[workload]
prefill = true
{rate}
[workload.keyspace]
length = 30
count = 10000
[workload.commands]
get = 100
set = 0
[workload.values]
length = 200
[admin]
format = "json"
"""


class Cachecannon(Peer):
    name = "cachecannon"
    program = "cachecannon"

    def takes(self, case: Case) -> bool:
        return case.protocol in {"memcache", "resp"}

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        limited = case.rate_rps is not None
        file = scratch / "cachecannon.toml"
        file.write_text(
            CONFIG.format(
                seconds=seconds,
                port=port,
                protocol=case.protocol,
                connections=case.connections,
                depth=32 if limited else 1,
                rate=f"rate_limit = {case.rate_rps}" if limited else "",
            )
        )
        return [self.program, str(file)]

    def read(self, stdout: str, scratch: Path) -> Reading:
        results = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
        final = next(row for row in results if row.get("type") == "result")
        return Reading(final["throughput"], final["get"]["p50_us"], final["get"]["p99_us"])
