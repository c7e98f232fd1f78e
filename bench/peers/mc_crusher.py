"""mc-crusher: memcache as fast as sockets go; reads replies blindly and measures no latency.

It shows what the server can do, so it is listed, but it is no peer in the targets.
"""

from __future__ import annotations

from pathlib import Path

from peers.base import Case, Peer, Reading


class McCrusher(Peer):
    name = "mc-crusher"
    program = "mc-crusher"
    measures_latency = False

    def takes(self, case: Case) -> bool:
        return case.protocol == "memcache" and case.rate_rps is None

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        file = scratch / "crusher.conf"
        file.write_text(
            f"send=ascii_get,recv=blind_read,conns={case.connections},key_prefix=key:,"
            "key_prealloc=0,pipelines=1,key_count=10000\n"
        )
        return self.called(file, port, seconds)

    def preload(self, case: Case, port: int, scratch: Path) -> list[str] | None:
        file = scratch / "load.conf"
        file.write_text(
            "send=ascii_set,recv=blind_read,conns=1,key_prefix=key:,key_prealloc=1,"
            "key_count=10000,value_size=200,stop_after=20000\n"
        )
        return self.called(file, port, 1)

    def called(self, conf: Path, port: int, seconds: int) -> list[str]:
        """Its options as of 2020 and since; before they were positional."""
        words = [self.program, "--conf", str(conf), "--ip", "127.0.0.1", "--port", str(port)]
        return [*words, "--timeout", str(seconds)]

    def read(self, stdout: str, scratch: Path) -> Reading:
        return Reading(float("nan"), None, None)  # the server counts its requests instead
