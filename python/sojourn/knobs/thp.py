"""Transparent huge pages: always, where a program asks for them (madvise), or never.

For the whole machine: a process can only refuse them for itself (prctl), and no one can do that for
it from outside. What a service holds in huge pages already stays there. It is felt by a probe that
touches memory with and without asking for huge pages.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import no_effect
from sojourn.knobs.machine import Machine, only_read, unwritable
from sojourn.knobs.probe import PAGES, Probe
from sojourn.knobs.settings import CHOICE, Setting, read

NAME = "thp"
PATH = "/sys/kernel/mm/transparent_hugepage/enabled"
#: Level → whether memory is huge (without asking for it, when asked for).
HUGE = {"always": (True, True), "madvise": (False, True), "never": (False, False)}


class Thp(Machine):
    """The huge pages of the whole machine."""

    name, by = NAME, "sysfs, machine-wide"

    def kind(self, path: str) -> str:
        """The file lists all choices."""
        del path
        return CHOICE

    def read(self) -> str:
        """The choice in force; "" where the kernel has none."""
        asked = Setting(kind=CHOICE, what=PATH, path=PATH, old="", new="")
        return read(asked, self._on.tree) or ""

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """The one file that takes it."""
        return ((PATH, level),)

    def effect(self) -> Felt:
        """Let a probe touch memory."""
        with Probe(PAGES) as probe:
            got = probe.go().hear()
        return judge(self._level, (got.get("plain", 0) > 0, got.get("asked", 0) > 0))


def judge(level: str, seen: tuple[bool, bool]) -> Felt:
    """Whether a probe's memory was huge where it should be: without asking, and when asked for."""
    wanted, (plain, asked) = HUGE[level], ("huge" if huge else "not huge" for huge in seen)
    text = f"a probe's memory was {plain}, and {asked} where it asked"
    if seen == wanted:
        return Felt(holds=True, why=text)
    if all(huge or not should for huge, should in zip(seen, wanted, strict=True)):
        return no_effect(text)
    return only_read(f"{text}: the machine had no huge pages left")


def lacks(asked: Asked) -> Lack | None:
    """A kernel that has them, and lets them be set."""
    if asked.tree.exists(PATH):
        return unwritable(asked, [(PATH, asked.level)], kind=CHOICE)
    return Lack(missing="transparent huge pages", fix="a kernel with CONFIG_TRANSPARENT_HUGEPAGE")


KIND = KnobKind(
    name=NAME,
    about="transparent huge pages, for the whole machine",
    level='"always", "madvise" or "never"',
    pattern="always|madvise|never",
    needs=("root", "CONFIG_TRANSPARENT_HUGEPAGE"),
    source="M25",
    lacks=lacks,
    label=lambda level: f"huge pages {level}",
    build=Thp,
)
