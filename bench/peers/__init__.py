"""The tools that are compared, in reading order: ours first."""

from __future__ import annotations

from peers.base import Case, Peer, Reading
from peers.cachecannon import Cachecannon
from peers.mc_crusher import McCrusher
from peers.memtier import Memtier
from peers.mutilate import Mutilate
from peers.redis_benchmark import RedisBenchmark
from peers.sojourn import Sojourn
from peers.wrk import Wrk

KINDS: tuple[Peer, ...] = (
    Sojourn("io_uring"),
    Sojourn("epoll"),
    Sojourn("io_uring", doze="100us"),
    Sojourn("io_uring", doze="250us"),
    Sojourn("io_uring", doze="1ms"),
    Cachecannon(),
    Mutilate(),
    Memtier(),
    RedisBenchmark(),
    Wrk(),
    McCrusher(),
)

__all__ = ["KINDS", "Case", "Peer", "Reading"]
