"""mutilate: libevent; spins by default at a fixed rate, sleeps with -B. Reports no median."""

from __future__ import annotations

from pathlib import Path

from peers.base import Case, Peer, Reading, number


class Mutilate(Peer):
    name = "mutilate"
    program = "mutilate"

    def takes(self, case: Case) -> bool:
        return case.protocol == "memcache"

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        words = [self.program, "-s", f"127.0.0.1:{port}", "-T", "1", "-c", str(case.connections)]
        words += ["-t", str(seconds), "-K", "30", "-V", "200", "-r", "10000", "-u", "0", "--noload"]
        if case.rate_rps is not None:
            # Without a parameter its parser of distributions ends in a segmentation fault.
            words += ["-q", str(case.rate_rps), "-i", "exponential:1", "-d", "32"]
            words += ["-B"] if case.wait == "sleep" else []
        return words

    def preload(self, case: Case, port: int, scratch: Path) -> list[str] | None:
        words = [self.program, "-s", f"127.0.0.1:{port}", "-K", "30", "-V", "200", "-r", "10000"]
        return [*words, "--loadonly"]

    def read(self, stdout: str, scratch: Path) -> Reading:
        reads = [line.split() for line in stdout.splitlines() if line.startswith("read ")][-1]
        return Reading(number(r"^Total QPS = ([\d.]+)", stdout), None, float(reads[-1]))
