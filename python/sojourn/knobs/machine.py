"""A knob that is some files of the kernel, for the whole machine or some of its CPUs and devices.

What was in each file is noted before it is written, and put back where no one has written it since.
Adding one is a subclass that names the files of a level, and says how it is in force.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from sojourn.errors import HostFault
from sojourn.host import rights, writable
from sojourn.knobs import settings
from sojourn.knobs.knob import Asked, Felt, Knob, Lack, Turned
from sojourn.knobs.settings import TEXT, Setting
from sojourn.text.some import some

NAMED_MAX = 3


class Machine(Knob):
    """Files that a level sets; `name` is that of its kind.

    Attributes:
        spares: a file that cannot be written is left as it is, as long as one of them could be.
    """

    name: ClassVar[str]
    spares: ClassVar[bool] = False

    def __init__(self, on: Turned) -> None:
        self._on = on
        self._level = ""
        self._inputs: dict[str, Setting] = {}
        self._entries: list[int] = []
        self._spared: list[str] = []
        self._effect: Felt | None = None

    @abstractmethod
    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """What a level writes: (path, text), in order; ValueError, LookupError if it cannot."""

    @abstractmethod
    def effect(self) -> Felt:
        """Whether the level that was applied last does what it should."""

    def before(self) -> None:  # most have nothing to look at
        """Look at what is to be compared with, right after a level was applied."""

    def kind(self, path: str) -> str:
        """How a file is read and written, of `settings.WAYS`."""
        del path
        return TEXT

    def apply(self, level: str) -> None:
        """Note all files of the level, then write them."""
        try:
            results = [s for path, text in self.wanted(level) if (s := self._setting(path, text))]
        except (ValueError, LookupError, OSError) as error:
            raise self._refused(level, str(error)) from None
        if not results:
            raise self._refused(level, "this machine has none of its files")
        earlier, noted = dict(self._inputs), list(self._entries)
        self._note({**self._inputs, **{setting.path: setting for setting in results}})
        try:
            self._write(level, results)
        except HostFault:
            self._inputs |= settings.unchanged(earlier, self._on.tree)
            raise
        spared = {path: earlier[path] for path in self._spared if path in earlier}
        if spared := settings.unchanged(spared, self._on.tree):  # the new note does not have them
            noted = list(self._entries)
            self._note({**self._inputs, **spared})
        for entry in noted:  # it told what the files were until they were written
            self._entries.remove(entry)
            self._on.book.undone(entry)
        self._level, self._effect = level, None
        self.before()

    def _write(self, level: str, results: Sequence[Setting]) -> None:
        tried = [(s, settings.change(s, s.new, self._on.tree)) for s in results]
        stuck = [(setting, why) for setting, why in tried if why]
        self._spared = [setting.path for setting, _ in stuck]
        if stuck and not (self.spares and len(stuck) < len(results)):
            path, why = stuck[0][0].path, stuck[0][1]
            no = writable.refusal(self._on.tree, path)
            raise self._refused(level, f"{path}: {why}", fix=no.fix if no else "")

    def _note(self, inputs: dict[str, Setting]) -> None:
        everything = list(inputs.values())
        self._entries.append(settings.note(self._on.book, everything, root=str(self._on.tree.root)))
        self._inputs = inputs  # not where the book is full

    def _setting(self, path: str, text: str) -> Setting | None:
        """How a file is to be; None: this machine has none such."""
        asked = Setting(kind=self.kind(path), what=path, path=path, old="", new=text)
        now = settings.read(asked, self._on.tree)
        if now is None:
            return None
        earlier = self._inputs.get(path)
        # What it was before the knob came, unless somebody has written something else since.
        old = earlier.old if earlier and earlier.new == now else now
        return Setting(kind=asked.kind, what=path, path=path, old=old, new=text)

    def _refused(self, level: str, why: str, *, fix: str = "") -> HostFault:
        return HostFault(
            f"{self.name} {level} cannot be set: {why}",
            at=self._on.at(self.name),
            fix=f"see docs/howto/knobs.md for what it needs; {fix or rights.fix(self._on.tree)}",
        )

    def verify(self) -> Felt:
        """Whether the files still say it, and it does what it should."""
        if not self._level:
            return Felt(holds=None, why="it was not turned")
        now = {path: settings.read(s, self._on.tree) for path, s in self._inputs.items()}
        off = [
            f"{path} says {now[path]}"
            for path, setting in self._inputs.items()
            if now[path] not in (None, setting.new) and path not in self._spared
        ]
        if off:
            return Felt(holds=False, why=some(off, NAMED_MAX))
        if self._effect is None or self._effect.holds is None:
            self._effect = self._probed()
        return self._effect

    def _probed(self) -> Felt:
        try:
            return self.effect()
        except OSError as error:
            return Felt(holds=None, why=f"it reads back, but no probe could run: {error}")

    def restore(self) -> None:
        """Put every file back, the last first, unless somebody has written it since."""
        tree = self._on.tree
        left = [s for s in reversed(self._inputs.values()) if settings.put_back(s, tree)]
        if not left:
            for entry in self._entries:
                self._on.book.undone(entry)
            self._entries.clear()
            self._inputs.clear()
        self._level = ""


def unwritable(
    asked: Asked, files: Sequence[tuple[str, str]], *, kind: str = TEXT, spares: bool = False
) -> Lack | None:
    """What keeps a level's files from being written here; those that say it already may stay.

    Args:
        asked: the machine.
        files: (path, text) that the level writes.
        kind: how they are read, of `settings.WAYS`.
        spares: one that can be written is enough.
    """
    results = [Setting(kind=kind, what=p, path=p, old="", new=text) for p, text in files]
    to_write = [s for s in results if settings.read(s, asked.tree) not in {None, s.new}]
    refused = [no for s in to_write if (no := writable.refusal(asked.tree, s.path))]
    if not refused or (spares and len(refused) < len(to_write)):
        return None
    return Lack(missing=refused[0].missing, fix=refused[0].fix)


def only_read(text: str) -> Felt:
    """What reads back, and has no effect that can be seen here."""
    return Felt(holds=None, why=f"it reads back; {text}")
