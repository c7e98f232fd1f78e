"""Settings of the machine that the lab changes on request, each as text before and after.

A setting knows how it is read, where it is, what it was and what the lab made of it, and so it
can be put back by whoever finds it in a journal. It is put back only where it still is what the lab
made of it: what somebody else has set since is theirs.

    file      /proc/irq/24/smp_affinity_list, a CPU list, or a mask such as …/workqueue/cpumask
    affinity  a thread, by number and start, so that a number that was given away again is not hit
    policy    of a thread, known in the same way: how the kernel schedules it
    autogroup of a process, known in the same way: the nice value of its whole session
    text      any file of the kernel that says what was written to it, such as …/cpu.max
    choice    a file that says what may be written and brackets what was: always [madvise] never
    disk      the line of one disk in a file that has one for each, such as …/io.max
    freezer   …/freezer.state, which says FREEZING while it is on its way to FROZEN
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

from sojourn.host.tree import Tree, chosen, cpu_list, cpu_text
from sojourn.knobs import attr
from sojourn.knobs.attr import Attr
from sojourn.places.ledger import Book

FILE, AFFINITY, POLICY, TEXT, CHOICE = "file", "affinity", "policy", "text", "choice"
AUTOGROUP = "autogroup"
DISK, FREEZER = "disk", "freezer"
FROZEN, THAWED = "FROZEN", "THAWED"
WORD_BITS = 32  # of a kernel mask between two commas
Key = TypeVar("Key")  # by which a knob knows its settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One thing that the lab sets, before and after.

    Attributes:
        kind: how it is read and written, of `WAYS`.
        what: for people.
        path: of the file, as on the machine; "" for a thread.
        pid, tid, start_ticks: of the thread; 0 for a file. tid 0: of the process as a whole.
        old, new: as text; of CPUs: kernel CPU lists, such as "0-3".
    """

    kind: str
    what: str
    old: str
    new: str
    path: str = ""
    pid: int = 0
    tid: int = 0
    start_ticks: int = 0

    def as_json(self) -> dict[str, Any]:
        """As it is written in the journal."""
        return asdict(self)

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Setting:
        """The setting whose `as_json` is `table`; TypeError if it is none."""
        made = cls(**table)
        texts = (made.kind, made.what, made.old, made.new, made.path)
        numbers = (made.pid, made.tid, made.start_ticks)
        is_one = all(isinstance(t, str) for t in texts) and all(type(n) is int for n in numbers)
        if not is_one or made.kind not in WAYS:
            raise TypeError(f"this is not a setting: {dict(table)}")
        return made


class Way(NamedTuple):
    """How one kind of setting is read (None: it is gone) and written (OSError: it is refused)."""

    read: Callable[[Setting, Tree], str | None]
    write: Callable[[Setting, str, Tree], None]


def note(book: Book, settings: Sequence[Setting], *, at_ticks: int = 0, root: str = "/") -> int:
    """Write settings into the book, before they are changed.

    Args:
        book: of what must be undone.
        settings: what is about to be set.
        at_ticks: when, clock ticks after boot: what the threads among them start from then on
            inherits their CPUs, and is put back with them; 0: it ends with them.
        root: below which files lie.

    Returns:
        Number of the entry.
    """
    reports = [setting.as_json() for setting in settings]
    return book.note("settings", settings=reports, at_ticks=at_ticks, root=root)


def read(setting: Setting, tree: Tree) -> str | None:
    """What it is now; None: it is gone."""
    return WAYS[setting.kind].read(setting, tree)


def change(setting: Setting, level: str, tree: Tree) -> str:
    """Set it, and read back; where the kernel makes something else of it, it is what it was.

    A bound that a kernel clamps would else be taken for somebody else's doing, and stay.

    Returns:
        "" if it is so now or is gone, else why not.
    """
    now = read(setting, tree)
    if now in (None, level):
        return ""
    try:
        WAYS[setting.kind].write(setting, level, tree)
    except OSError as error:
        is_gone = read(setting, tree) is None  # a thread may end between the two
        return "" if is_gone else error.strerror or "refused"
    text = read(setting, tree)
    if text in (None, level):
        return ""
    if text == now:
        return "without effect"
    with contextlib.suppress(OSError):
        WAYS[setting.kind].write(setting, now, tree)
    return f"the kernel made {text} of it"


def put_back(setting: Setting, tree: Tree) -> str:
    """Make it what it was, unless it was changed by somebody else since.

    Returns:
        "" if nothing of the lab's is left of it, else why.
    """
    return change(setting, setting.old, tree) if read(setting, tree) == setting.new else ""


def unchanged(earlier: Mapping[Key, Setting], tree: Tree) -> dict[Key, Setting]:
    """Those that still are what the lab made of them before: a later level was refused there."""
    return {key: one for key, one in earlier.items() if read(one, tree) == one.new}


def _read_cpus(setting: Setting, tree: Tree) -> str | None:
    text = tree.text(setting.path)
    return None if text is None else cpu_text(file_cpus(setting.path, text))


def _write_cpus(setting: Setting, level: str, tree: Tree) -> None:
    text = file_text(setting.path, cpu_list(level))
    tree.path(setting.path).write_text(text, encoding="ascii")


def _read_affinity(setting: Setting, tree: Tree) -> str | None:
    if not _is_there(setting, setting.tid, tree):
        return None
    try:
        return cpu_text(tuple(os.sched_getaffinity(setting.tid)))
    except OSError:
        return None


def _write_affinity(setting: Setting, level: str, tree: Tree) -> None:
    del tree
    os.sched_setaffinity(setting.tid, cpu_list(level))


def _read_policy(setting: Setting, tree: Tree) -> str | None:
    if not _is_there(setting, setting.tid, tree):
        return None
    try:
        return attr.get(setting.tid).text
    except OSError:
        return None


def _write_policy(setting: Setting, level: str, tree: Tree) -> None:
    del tree
    attr.put(setting.tid, Attr.of(level))


def _read_autogroup(setting: Setting, tree: Tree) -> str | None:
    """By `/autogroup-70 nice 5`, sched(7)."""
    if not _is_there(setting, setting.pid, tree):
        return None
    text = tree.text(f"/proc/{setting.pid}/autogroup")
    return text.rpartition(" ")[2] if text else None


def _write_autogroup(setting: Setting, level: str, tree: Tree) -> None:
    tree.path(f"/proc/{setting.pid}/autogroup").write_text(level, encoding="ascii")


def _read_choice(setting: Setting, tree: Tree) -> str | None:
    text = tree.text(setting.path)
    return None if text is None else chosen(text)


def _read_text(setting: Setting, tree: Tree) -> str | None:
    return tree.text(setting.path)


def _read_disk(setting: Setting, tree: Tree) -> str | None:
    """As it would be written; a disk without a line has no limit."""
    text, wanted = tree.text(setting.path), setting.new.split()
    if text is None or not wanted:
        return None
    words = disk_words(text, wanted[0])
    if "=" not in setting.new:  # version 1
        return f"{wanted[0]} {words[0] if words else 0}"
    limits = dict(word.split("=", 1) for word in words if "=" in word)
    names = [word.partition("=")[0] for word in wanted[1:]]
    return " ".join([wanted[0], *(f"{name}={limits.get(name, 'max')}" for name in names)])


def disk_words(text: str, disk: str) -> list[str]:
    """The words of a disk's line in a file that has one for each; none if it has no line.

    >>> disk_words("8:16 rbps=7 wbps=max", "8:16"), disk_words("8:16 5", "8:1")
    (['rbps=7', 'wbps=max'], [])
    """
    lines = (line.split() for line in text.splitlines())
    return next((words[1:] for words in lines if words[:1] == [disk]), [])


def _read_freezer(setting: Setting, tree: Tree) -> str | None:
    text = tree.text(setting.path)
    return text if text in {None, THAWED} else FROZEN


def _write_text(setting: Setting, level: str, tree: Tree) -> None:
    tree.path(setting.path).write_text(level or "\n", encoding="utf-8")  # "" would write nothing


#: How each kind of setting is read and written.
WAYS: Mapping[str, Way] = {
    FILE: Way(_read_cpus, _write_cpus),
    AFFINITY: Way(_read_affinity, _write_affinity),
    POLICY: Way(_read_policy, _write_policy),
    AUTOGROUP: Way(_read_autogroup, _write_autogroup),
    TEXT: Way(_read_text, _write_text),
    CHOICE: Way(_read_choice, _write_text),
    DISK: Way(_read_disk, _write_text),
    FREEZER: Way(_read_freezer, _write_text),
}


def _is_there(setting: Setting, tid: int, tree: Tree) -> bool:
    """Whether a thread is still the same; for the kernel, number 0 would be the lab itself."""
    ticks = start_ticks(tree, setting.pid, tid)
    return tid > 0 and ticks > 0 and ticks == setting.start_ticks


def start_ticks(tree: Tree, pid: int, tid: int) -> int:
    """When a thread started, clock ticks after boot; 0: it is gone."""
    fields = stat_fields(tree, pid, tid)
    return int(fields[19]) if fields else 0


def stat_fields(tree: Tree, pid: int, tid: int) -> list[str]:
    """Fields of its `stat` after the name, from the state on (proc(5)); none: it is gone."""
    text = tree.text(f"/proc/{pid}/task/{tid}/stat")
    return text.rpartition(")")[2].split() if text else []


def file_cpus(path: str, text: str) -> tuple[int, ...]:
    """CPUs that a file of the kernel names: a list where its name says so, else a mask."""
    if path.endswith("_list"):
        return cpu_list(text)
    bits = int(text.replace(",", "") or "0", 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def file_text(path: str, cpus: Collection[int]) -> str:
    """What to write into such a file.

    >>> file_text("/proc/irq/default_smp_affinity", (0, 1, 33))
    '2,00000003'
    >>> file_text("/proc/irq/9/smp_affinity_list", (0, 1, 33))
    '0-1,33'
    """
    if path.endswith("_list"):
        return cpu_text(tuple(cpus))
    bits = sum(1 << cpu for cpu in cpus)
    words = []
    while bits:
        words.append(bits & ((1 << WORD_BITS) - 1))
        bits >>= WORD_BITS
    words = words or [0]
    return ",".join([f"{words[-1]:x}", *(f"{word:08x}" for word in reversed(words[:-1]))])
