"""The CPUs that handle the machine's interrupts (C23).

All interrupts that can be moved; those that the kernel manages itself, or that belong to one CPU,
stay and are not counted. It is measured by the interrupts that come: those of the disk are made to.
Over loopback a request needs none: there it is `rps` that replaces a card's queues.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence

from sojourn.disk import tables
from sojourn.host.tree import Tree, cpu_list, cpu_text
from sojourn.knobs import settings
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack, backwards, offline
from sojourn.knobs.limit import no_effect
from sojourn.knobs.machine import Machine, only_read, unwritable

NAME = "irq"
FOLDER = "/proc/irq"
LATE = 1  # of each: a move takes effect with the next interrupt (kernel/irq/migration.c)
WRITES = 20  # to the disk, so that it has something to say


class Irq(Machine):
    """Where the machine's movable interrupts come."""

    name, by = NAME, "/proc/irq, machine-wide"
    spares = True

    def kind(self, path: str) -> str:
        """They are kernel CPU lists."""
        del path
        return settings.FILE

    def read(self) -> str:
        """All CPUs that any of them may come to, as a kernel CPU list."""
        tree = self._on.tree
        lists = (cpu_list(tree.text(path)) for path in _paths(tree))
        return cpu_text(tuple({cpu for cpus in lists for cpu in cpus}))

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """The file of every interrupt."""
        return _files(self._on.tree, level)

    def before(self) -> None:
        """Remember how many have come so far; one that is under way is let come first."""
        if self._on.tree.is_live:
            with contextlib.suppress(OSError):  # a full disk needs none: no interrupt is under way
                _write_to_disk(str(self._on.work))
        self._counted = counts(self._on.tree)

    def effect(self) -> Felt:
        """Make the disk interrupt, and see to which CPUs those came that came since."""
        if self._on.tree.is_live:
            _write_to_disk(str(self._on.work))
        moved = {path.split("/")[3] for path in self._inputs if path not in self._spared}
        came = {
            name: [after - before for after, before in zip(now, was, strict=True)]
            for name, now in counts(self._on.tree).items()
            if name in moved and (was := self._counted.get(name)) and len(was) == len(now)
        }
        return judge(cpu_list(self._level), came)


def judge(wanted: Sequence[int], came: dict[str, list[int]]) -> Felt:
    """Whether interrupts came to the CPUs that they should.

    Args:
        wanted: CPUs.
        came: how often each interrupt came to each CPU, since they were moved.
    """
    total = sum(map(sum, came.values()))
    strays = {
        name: sum(count for cpu, count in enumerate(each) if cpu not in wanted)
        for name, each in came.items()
    }
    if not total:
        return only_read("no interrupt has come since")
    names = [name for name, count in strays.items() if count > LATE]
    text = f"{sum(strays.values())} of {total} interrupts since came to other CPUs"
    if names:
        return no_effect(f"{text}: {', '.join(names)}")
    return Felt(holds=True, why=text)


def counts(tree: Tree) -> dict[str, list[int]]:
    """How often each numbered interrupt has come to each CPU so far."""
    head, *lines = tables.lines(tree.text("/proc/interrupts") or "CPU0")
    cpus = [int(name.removeprefix("CPU")) for name in head.split()]
    numbers = {}
    for line in lines:
        name, _, rest = line.partition(":")
        words = rest.split()[: len(cpus)]
        if name.strip().isdigit() and len(words) == len(cpus):
            each = [0] * (max(cpus) + 1)
            for cpu, count in zip(cpus, words, strict=True):
                each[cpu] = int(count)
            numbers[name.strip()] = each
    return numbers


def _paths(tree: Tree) -> list[str]:
    """Files of interrupts that may be moved, as far as the tree says."""
    names = [name for name in tree.names(FOLDER) if name.isdigit()]
    return [f"{FOLDER}/{name}/smp_affinity_list" for name in names]


def _files(tree: Tree, level: str) -> list[tuple[str, str]]:
    """What a level writes: (path, text)."""
    return [(path, cpu_text(cpu_list(level))) for path in _paths(tree)]


def _write_to_disk(folder: str) -> None:
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(WRITES):
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())


def lacks(asked: Asked) -> Lack | None:
    """Interrupts that can be seen, and one of them moved; CPUs that are online."""
    if lack := offline(asked.tree, asked.level):
        return lack
    if _paths(asked.tree):
        files = _files(asked.tree, asked.level)
        return unwritable(asked, files, kind=settings.FILE, spares=True)
    return Lack(missing="interrupts that can be moved", fix="run as root, outside of a container")


KIND = KnobKind(
    name=NAME,
    about="the CPUs that handle the machine's interrupts",
    level='CPUs, such as "0" or "0-1"; "server", "client" or "lab": theirs',
    pattern=r"server|client|lab|\d+(-\d+)?(,\d+(-\d+)?)*",
    needs=("root", "interrupts that the kernel does not manage itself"),
    source="C23",
    refuses=backwards,
    lacks=lacks,
    label=lambda level: (
        f"interrupts on CPUs of the {level}" if level.isalpha() else f"interrupts on CPU {level}"
    ),
    build=Irq,
)
