"""Mechanisms that are files of a control group which the service is in, or of a resctrl group.

The group is made and entered by the lab's knob, which notes it first; whatever its files say when
the lab is killed goes with the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sojourn import knobs
from sojourn.host.tree import Tree, cpu_list
from sojourn.knobs import Asked, Lack, groups, llc_ways, resctrl
from sojourn.knobs.groups import Group
from sojourn.knobs.limit import Limit
from sojourn.knobs.resctrl import Resource
from sojourn.questions.isolation_cost.mechanisms.mechanism import (
    Mechanism,
    MechanismInputs,
    MechanismKind,
    taken,
)
from sojourn.questions.isolation_cost.mechanisms.threads import TWO_CPUS, levels_of

USER = "isolation_cost"  # of a service's group, among its knobs
Write = tuple[str, str]  # file, text


class Limited(Mechanism):
    """A limit of the service's group, by a knob that is a `Limit`."""

    def __init__(self, inputs: MechanismInputs, name: str, levels: tuple[str, str]) -> None:
        knob = knobs.kind(name).build(inputs.on)
        assert isinstance(knob, Limit)  # noqa: S101  # only such kinds are asked
        self._turned, self.knob, self.levels = knob, name, levels
        self._writes: tuple[Sequence[Write], Sequence[Write]] = ((), ())

    def prepare(self) -> None:
        """Move the service into its group, which is noted, and keep what each level writes."""
        knob = self._turned
        knob.apply(self.levels[0])
        low, high = (knob.files(knob.value(level), self._group) for level in self.levels)
        self._writes = tuple(low), tuple(high)
        files = ", ".join(dict.fromkeys(name for name, _ in low))
        self.one = (
            f"{len(low)} write{'s' * (len(low) > 1)} to {files} of a v{self._group.version} group"
        )

    @property
    def _group(self) -> Group:
        assert self._turned.group is not None  # noqa: S101  # it was applied
        return self._turned.group

    def act(self, which: int) -> None:
        """Write the files of the level into the group."""
        group = self._group
        for name, text in self._writes[which]:
            group.write(name, text)

    def amiss(self, which: int) -> str:
        """Read the limit back from the group."""
        result = self._turned.read_back(self._group)
        if result == self._turned.value(self.levels[which]):
            return ""
        return f"the kernel says {self._turned.level(result)}"

    def put_back(self) -> None:
        """Leave the group, which goes with its last user."""
        self._turned.restore()


class CpusetGroup(Mechanism):
    """The CPUs of the service's group of the controller cpuset; no knob of the lab uses it."""

    def __init__(self, inputs: MechanismInputs, levels: tuple[str, str]) -> None:
        self._on, self.levels = inputs.on, levels
        self._group: Group | None = None

    def prepare(self) -> None:
        """Move the service into a group of its own, which is noted."""
        self._group = groups.join(self._on, "cpuset", USER)
        self.one = f"a write to cpuset.cpus of a v{self._group.version} group"
        self.act(0)

    def act(self, which: int) -> None:
        """Write the CPUs of the group."""
        assert self._group is not None  # noqa: S101  # it is prepared
        self._group.write("cpuset.cpus", self.levels[which])

    def amiss(self, which: int) -> str:
        """Read them back from the group."""
        text = self._group.text("cpuset.cpus") if self._group else ""
        return "" if cpu_list(text) == cpu_list(self.levels[which]) else f"the kernel says {text}"

    def put_back(self) -> None:
        """Leave the group, which goes."""
        if self._group is not None:
            groups.leave(self._on, self._group, USER)
            self._group = None


class Schemata(Mechanism):
    """Lines of the service's resctrl group, by a knob that is a `Resource`."""

    def __init__(self, inputs: MechanismInputs, name: str, levels: tuple[str, str]) -> None:
        knob = knobs.kind(name).build(inputs.on)
        assert isinstance(knob, Resource)  # noqa: S101  # only such kinds are asked
        self._turned, self._on, self.knob, self.levels = knob, inputs.on, name, levels
        self._lines: list[list[str]] = []
        self._texts: list[str] = []

    def prepare(self) -> None:
        """Put all threads into a group, which is noted, and see what each level writes there."""
        self._lines, self._texts = [], []
        for level in (self.levels[1], self.levels[0], self.levels[0]):
            self._turned.apply(level)
            result = resctrl.schemata(self._on.tree, self._folder)
            names = [name for name in self._turned.resources if name in result]
            self._lines.insert(0, [_line(name, result[name]) for name in names])
            self._texts.insert(0, self._turned.read())
        self._lines, self._texts = self._lines[1:], self._texts[1:]
        self.one = f"{len(self._lines[0])} write to schemata of a resctrl group"

    @property
    def _folder(self) -> str:
        return str(self._on.shared[resctrl.ENTRY]["folder"])

    def act(self, which: int) -> None:
        """Write the lines of the level."""
        for line in self._lines[which]:
            groups.write(self._on.tree, f"{self._folder}/schemata", line)

    def amiss(self, which: int) -> str:
        """Read the line back from the kernel."""
        text = self._turned.read()
        return "" if text == self._texts[which] else f"the kernel says {text}"

    def put_back(self) -> None:
        """Leave the group, which goes with its last user."""
        self._turned.restore()


def _line(name: str, domains: dict[str, str]) -> str:
    return f"{name}:" + ";".join(f"{domain}={part}" for domain, part in domains.items()) + "\n"


def _kind(
    name: str,
    about: str,
    levels: Callable[[MechanismInputs], tuple[str, str]],
    form: type[Limited | Schemata],
) -> MechanismKind:
    def lacks(inputs: MechanismInputs) -> Lack | None:
        if lack := taken(inputs, name):
            return lack
        on = inputs.on
        asked = (
            Asked(level=level, tree=on.tree, place=inputs.place, work=on.work)
            for level in levels(inputs)
        )
        return next(filter(None, map(knobs.kind(name).lacks, asked)), None)

    return MechanismKind(
        name=name,
        about=about,
        lacks=lacks,
        build=lambda the_inputs: form(the_inputs, name, levels(the_inputs)),
    )


def _quota(inputs: MechanismInputs) -> tuple[str, str]:
    """More than there are CPUs, so that no one is held up."""
    whole = 100 * len(inputs.usable)
    return f"{whole}%", f"{2 * whole}%"


def _memory(inputs: MechanismInputs) -> tuple[str, str]:
    """All of the machine's memory, so that nothing is pushed out."""
    mib = _total_kib(inputs.on.tree) // 1024
    return f"{mib}MiB", f"{2 * mib}MiB"


def _total_kib(tree: Tree) -> int:
    return int(tree.table("/proc/meminfo").get("MemTotal", "1048576 kB").split()[0])


def _ways(inputs: MechanismInputs) -> tuple[str, str]:
    whole = max(2, llc_ways.whole(inputs.on.tree).bit_count())
    return str(whole), str(whole - 1)


def _cpuset_lacks(inputs: MechanismInputs) -> Lack | None:
    if lack := taken(inputs, "cpuset"):
        return lack
    asked = Asked(level="", tree=inputs.on.tree, place=inputs.place)
    return groups.lacking(asked, "cpuset") or (None if levels_of(inputs) else TWO_CPUS)


CPUSET_GROUP = MechanismKind(
    name="cpuset_cgroup",
    about="CPUs of the service's control group",
    lacks=_cpuset_lacks,
    build=lambda inputs: CpusetGroup(inputs, levels_of(inputs) or ("", "")),
)
CPU_QUOTA = _kind("cpu_quota", "CPU time in every period", _quota, Limited)
CPU_WEIGHT = _kind("cpu_weight", "share of a CPU among others", lambda _: ("100", "200"), Limited)
MEMORY_LIMIT = _kind("memory_limit", "memory that it may use", _memory, Limited)
IO_LIMIT = _kind("io_limit", "bytes of a disk", lambda _: ("1GB/s", "2GB/s"), Limited)
LLC_WAYS = _kind("llc_ways", "ways of the last-level cache", _ways, Schemata)
MEMORY_BANDWIDTH = _kind(
    "memory_bandwidth", "bandwidth to memory", lambda _: ("100%", "90%"), Schemata
)
