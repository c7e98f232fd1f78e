"""Which CPUs there are, how they hang together, and which of them this program may use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sojourn.disk import tables
from sojourn.host import capacity, model, reach
from sojourn.host.capacity import CPU_DIR, Capacity
from sojourn.host.tree import Tree, as_int, cpu_list


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """One logical CPU.

    Attributes:
        core: lowest CPU number of the physical core; siblings share it.
        siblings: all logical CPUs of that core, this one included, ascending.
        capacity: how capable it is beside the others.
        is_isolated: no thread is moved here or away by the kernel (`isolcpus`).
    """

    id: int
    socket: int
    node: int
    core: int
    siblings: tuple[int, ...]
    capacity: Capacity = field(default_factory=Capacity)
    is_isolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One cache and the CPUs that share it."""

    level: int
    kind: str
    size_bytes: int
    ways: int | None
    line_bytes: int | None
    shared_by: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The CPUs of this machine.

    Attributes:
        cpus: online CPUs, ascending.
        allowed: those that this program runs on unless it asks for others.
        reachable: those that it is given when it asks: a cpuset keeps it from the others.
        isolated: taken from the scheduler by `isolcpus`: it moves no thread from one to another.
        nohz_full: without a timer tick while one task runs.
        smt: "on", "off", "notsupported", … as the kernel says.
        node_bytes: (NUMA node, its memory in bytes).
    """

    model: str
    cpus: tuple[Cpu, ...]
    allowed: tuple[int, ...]
    isolated: tuple[int, ...]
    nohz_full: tuple[int, ...]
    smt: str
    node_bytes: tuple[tuple[int, int | None], ...]
    caches: tuple[Cache, ...]
    reachable: tuple[int, ...] = ()

    @property
    def usable(self) -> tuple[Cpu, ...]:
        """CPUs to place programs on: those that are allowed, and those that were isolated for it.

        A shell that `taskset` limits has isolated ones only where it was left all the others.
        """
        own = {*self.allowed}
        if {*self.reachable} - {*self.isolated} <= own:
            own |= {*self.reachable} & {*self.isolated}
        return tuple(cpu for cpu in self.cpus if cpu.id in own)

    @property
    def nameable(self) -> tuple[int, ...]:
        """CPUs that a study may name: those that this program can have."""
        return tuple(sorted({*self.allowed, *self.reachable}))

    @property
    def kinds(self) -> tuple[tuple[Cpu, ...], ...]:
        """Usable CPUs by how capable they are, the most capable first; () without any."""
        ranks = sorted({cpu.capacity.kind for cpu in self.usable})
        return tuple(
            tuple(cpu for cpu in self.usable if cpu.capacity.kind == rank) for rank in ranks
        )

    def shared_cache(self, level: int) -> Cache | None:
        """The first cache of that level, if the machine tells."""
        return next((c for c in self.caches if c.level == level and c.kind != "Instruction"), None)


def read(tree: Tree) -> Topology:
    """Read the topology. A machine that tells nothing is taken as CPUs without siblings."""
    online = cpu_list(tree.text(f"{CPU_DIR}/online")) or _cpus_of_stat(tree)
    nodes = _nodes(tree)
    node_of = {cpu: node for node, cpus in nodes.items() for cpu in cpus}
    capacities = capacity.read(tree, online)
    isolated = cpu_list(tree.text(f"{CPU_DIR}/isolated"))
    allowed = cpu_list(tree.table("/proc/self/status").get("Cpus_allowed_list"))
    return Topology(
        model=model.read(tree),
        cpus=tuple(
            replace(
                _cpu(tree, cpu, node_of.get(cpu, 0)),
                capacity=capacities[cpu],
                is_isolated=cpu in isolated,
            )
            for cpu in online
        ),
        allowed=tuple(cpu for cpu in allowed if cpu in online) or online,
        reachable=reach.read(tree, online),
        isolated=isolated,
        nohz_full=cpu_list(tree.text(f"{CPU_DIR}/nohz_full")),
        smt=tree.text(f"{CPU_DIR}/smt/control") or _smt_active(tree),
        node_bytes=tuple((node, _node_bytes(tree, node)) for node in nodes) or ((0, None),),
        caches=_caches(tree, online),
    )


def _cpus_of_stat(tree: Tree) -> tuple[int, ...]:
    words = (line.split()[0] for line in tables.lines(tree.text("/proc/stat") or "") if line)
    numbers = (as_int(word[3:]) for word in words if word.startswith("cpu"))
    return tuple(n for n in numbers if n is not None) or (0,)


def _cpu(tree: Tree, cpu: int, node: int) -> Cpu:
    base = f"{CPU_DIR}/cpu{cpu}/topology"
    lists = (cpu_list(tree.text(f"{base}/{f}")) for f in ("core_cpus_list", "thread_siblings_list"))
    siblings = next((result for result in lists if cpu in result), (cpu,))
    return Cpu(
        id=cpu,
        socket=max(0, tree.number(f"{base}/physical_package_id") or 0),
        node=node,
        core=siblings[0],
        siblings=siblings,
    )


def _nodes(tree: Tree) -> dict[int, tuple[int, ...]]:
    base = "/sys/devices/system/node"
    names = (name for name in tree.names(base) if name.startswith("node") and name[4:].isdigit())
    return {int(n[4:]): cpu_list(tree.text(f"{base}/{n}/cpulist")) for n in names}


def _node_bytes(tree: Tree, node: int) -> int | None:
    for line in (tree.text(f"/sys/devices/system/node/node{node}/meminfo") or "").splitlines():
        words = line.split()
        if "MemTotal:" in words and words[-1] == "kB":
            number = as_int(words[-2])
            return None if number is None else number * 1024
    return None


def _caches(tree: Tree, online: tuple[int, ...]) -> tuple[Cache, ...]:
    caches: dict[tuple[int, str, tuple[int, ...]], Cache] = {}
    for cpu in online:
        base = f"{CPU_DIR}/cpu{cpu}/cache"
        for name in tree.names(base):
            cache = _cache(tree, f"{base}/{name}") if name.startswith("index") else None
            if cache:
                caches.setdefault((cache.level, cache.kind, cache.shared_by), cache)
    return tuple(sorted(caches.values(), key=lambda c: (c.level, c.kind, c.shared_by)))


def _cache(tree: Tree, base: str) -> Cache | None:
    level = tree.number(f"{base}/level")
    size = size_bytes(tree.text(f"{base}/size"))
    if level is None or size is None:
        return None
    return Cache(
        level=level,
        kind=tree.text(f"{base}/type") or "",
        size_bytes=size,
        ways=tree.number(f"{base}/ways_of_associativity"),
        line_bytes=tree.number(f"{base}/coherency_line_size"),
        shared_by=cpu_list(tree.text(f"{base}/shared_cpu_list")),
    )


def size_bytes(text: str | None) -> int | None:
    """Read the kernel's cache sizes.

    >>> size_bytes("48K"), size_bytes("105M")
    (49152, 110100480)
    """
    text = text or ""
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    number = as_int(text.rstrip("KMG"))
    return None if number is None else number * unit


def _smt_active(tree: Tree) -> str:
    active = tree.number(f"{CPU_DIR}/smt/active")
    return "unknown" if active is None else ("on" if active else "off")
