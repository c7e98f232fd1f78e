"""Whether the packets of network cards are taken in by threads or in softirq context.

With threads (`napi/DEVICE-N`) that work is scheduled, and can be seen and pinned like any other.
For all cards of the machine; loopback and veth have none, so it says something only for clients on
other hosts. It is measured by the threads: they are there, or are not.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.host.tree import Tree
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import no_effect
from sojourn.knobs.machine import Machine, unwritable

NAME = "napi"
FOLDER = "/sys/class/net"
WORDS = {"softirq": "0", "threaded": "1"}


class Napi(Machine):
    """How the packets of cards are taken in."""

    name, by = NAME, "sysfs, all network cards"

    def read(self) -> str:
        """What the first card has."""
        tree = self._on.tree
        message = next((tree.text(path) for path in _paths(tree)), None)
        return next((word for word, text in WORDS.items() if text == message), "")

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """One file for each card."""
        return [(path, WORDS[level]) for path in _paths(self._on.tree)]

    def effect(self) -> Felt:
        """Look for the threads of each card."""
        tree = self._on.tree
        pids = (pid for pid in tree.names("/proc") if pid.isdigit())
        results = [
            name
            for pid in pids
            if (name := tree.text(f"/proc/{pid}/comm") or "").startswith("napi/")
        ]
        with_threads = {name.split("/")[1].rpartition("-")[0] for name in results}
        return judge(self._level, [path.split("/")[4] for path in self._inputs], with_threads)


def judge(level: str, devices: Sequence[str], with_threads: set[str]) -> Felt:
    """Whether each card that should has threads, and no other."""
    wanted = {*devices} if level == "threaded" else set()
    has = {*devices} & {device[:10] for device in with_threads} | ({*devices} & with_threads)
    text = f"{len(has)} of {len(devices)} cards have threads"
    return Felt(holds=True, why=text) if has == wanted else no_effect(text)


def _paths(tree: Tree) -> list[str]:
    """Of cards only: what has a device behind it."""
    cards = [name for name in tree.names(FOLDER) if tree.exists(f"{FOLDER}/{name}/device")]
    return [f"{FOLDER}/{n}/threaded" for n in cards if tree.exists(f"{FOLDER}/{n}/threaded")]


def lacks(asked: Asked) -> Lack | None:
    """A card, and a kernel that has the setting and may be asked to change it."""
    if paths := _paths(asked.tree):
        return unwritable(asked, [(path, WORDS[asked.level]) for path in paths])
    return Lack(missing="a network card with threaded NAPI", fix="Linux 5.12 or later, and a card")


KIND = KnobKind(
    name=NAME,
    about="whether network cards are polled by threads or in softirq context",
    level='"threaded" or "softirq"',
    pattern="threaded|softirq",
    needs=("root", "a network card", "Linux 5.12"),
    source="METHOD M25",
    lacks=lacks,
    label=lambda level: "threaded NAPI" if level == "threaded" else "softirq",
    build=Napi,
)
