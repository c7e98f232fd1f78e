"""Ours, in the same harness as everybody else."""

from __future__ import annotations

import json
from pathlib import Path

from peers.base import Case, Peer, Reading

TARGETS = {
    "memcache": "memcache://127.0.0.1:{port}",
    "resp": "resp://127.0.0.1:{port}",
    "http": "http://127.0.0.1:{port}",
}


class Sojourn(Peer):
    program = "sojourn-load"

    def __init__(self, transport: str, doze: str = "") -> None:
        """`doze`: how late it may wake up for several events at once; it then takes part asleep."""
        self.transport = transport
        self.doze = doze
        self.name = f"sojourn-load {transport}" + (f" {doze}" if doze else "")

    def takes(self, case: Case) -> bool:
        return case.protocol in TARGETS and (case.wait == "sleep" or not self.doze)

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        target = TARGETS[case.protocol].format(port=port)
        words = [self.program, target, "--connections", str(case.connections)]
        words += ["--duration", f"{seconds}s", "--warmup", "200ms", "--cpus", "1"]
        words += ["--transport", self.transport, "--json", str(scratch / "ours.json")]
        words += ["--wait", f"sleep:{self.doze}" if self.doze else case.wait]
        if case.protocol == "http":
            words += ["--paths", "/4k"]
        if case.rate_rps is None:
            return [*words, "--find-max"]
        return [*words, "--rate", str(case.rate_rps), "--depth", "32"]

    def preload(self, case: Case, port: int, scratch: Path) -> list[str] | None:
        if case.protocol == "http":
            return None
        words = [self.program, TARGETS[case.protocol].format(port=port), "--preload"]
        return [*words, "--rate", "100", "--duration", "100ms", "--json", str(scratch / "pre.json")]

    def read(self, stdout: str, scratch: Path) -> Reading:
        result = json.loads((scratch / "ours.json").read_text())
        sojourn = result["sojourn_all_ns"]
        return Reading(
            result["achieved_rps"],
            (sojourn["p50"] or float("inf")) / 1e3,
            (sojourn["p99"] or float("inf")) / 1e3,
            ": ".join([result["verdict"], *result["reasons"][:1]]),
        )
