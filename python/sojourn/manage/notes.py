"""What a manager writes to the files of one group, and how that is undone."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sojourn.errors import RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.knobs import settings
from sojourn.knobs.settings import TEXT, Setting
from sojourn.manage import limits
from sojourn.places.ledger import Book
from sojourn.run import signals

CAP = "cap"  # the note of what the warden may write
#: A file of the kernel, and what is written to it.
Step: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class Notes:
    """The notes of one group, by file.

    Attributes:
        name: of the group.
        book: where they are.
        caps: texts that a warden may have written, by file: a reload may bring other ones. Shared
            with the notes of the group that had the place before, which the same warden caps.
    """

    name: str
    book: Book
    tree: Tree
    _settings: dict[str, Setting] = field(default_factory=dict)
    _made: dict[str, set[str]] = field(default_factory=dict)
    _entries: dict[str, int] = field(default_factory=dict)
    _olds: dict[str, str] = field(default_factory=dict)
    caps: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to be put back."""
        return not self._settings

    def write(self, path: str, text: str) -> None:
        """Note it, then write it; OSError if the kernel refuses."""
        self.note(path, [(path, text)])
        knob_groups.write(self.tree, path, text)

    def note(self, key: str, steps: Sequence[Step]) -> None:
        """Note what is about to be written; the note before, of the same file, is crossed out.

        What is in the file by that one is in the new note as well, because nothing is written yet.
        """
        results = []
        for path, text in steps:
            name = posixpath.basename(path)
            one = Setting(
                kind=limits.KINDS.get(name, TEXT),
                what=f"{name} of {self.name}",
                path=path,
                old="",
                new=text,
            )
            noted, now = self._settings.get(path), settings.read(one, self.tree)
            made = self._made.setdefault(path, set())
            one = self._settings[path] = replace(
                one, old=(now if noted is None else noted.old) or ""
            )
            if key == CAP:
                results += self._as_cap(one)
            else:  # who dies before the next write has the file as it is now
                is_own = now in made - {text}
                results += [*([replace(one, new=now or "")] if is_own else []), one]
            made.add(text)
        # A signal in between would leave an entry that is never crossed out.
        with signals.deaf():
            before = self._entries.get(key)  # it stays where the journal takes no more
            self._entries[key] = settings.note(self.book, results, root=str(self.tree.root))
            if before is not None:
                self.book.undone(before)

    def may_be_cap(self, path: str, text: str, now: str | None) -> bool:
        """Whether a file has this text of a cap, or that of one from before a reload."""
        return now in {text, *self.caps.get(path, ())}

    def _as_cap(self, one: Setting) -> list[Setting]:
        """What undoes each cap that a warden may write, also where the group has vanished since."""
        old = self._olds.setdefault(one.path, one.old)
        texts = self.caps.setdefault(one.path, [])
        if one.new not in texts:
            texts.append(one.new)
        return [replace(one, old=old, new=text) for text in texts]

    def restore(self) -> list[str]:
        """Put every file back, unless somebody else has changed it; what could not be.

        What is in the way of one may go with another, so it is tried once more. What is left then
        stays noted, and is tried again at the next call. All else can be noted anew.
        """
        stuck = self._put_back() and self._put_back()
        if not stuck:
            self.drop_cap()
        return stuck

    def forget(self) -> None:
        """The group is gone, so nothing is to be put back.

        The note of the cap stays: the warden caps whatever group has that path later.
        """
        self._settings.clear()
        self._made.clear()
        for key in [key for key in self._entries if key != CAP]:
            self._cross_out(key)

    def drop_cap(self) -> None:
        """Cross out the cap, because nothing sets it any more, or another note has it."""
        if CAP in self._entries:
            self._cross_out(CAP)

    def _cross_out(self, key: str) -> None:
        # What cannot be crossed out is looked at once more by `restore`, and is as it was then.
        with signals.deaf(), contextlib.suppress(RunFault):  # as in `note`
            self.book.undone(self._entries.pop(key))

    def _put_back(self) -> list[str]:
        stuck = []
        for path, noted in reversed([*self._settings.items()]):  # also what the warden alone wrote
            now = settings.read(noted, self.tree)
            if now is not None and now != noted.old and now in self._made[path]:
                try:
                    knob_groups.write(self.tree, path, noted.old or "\n")
                except OSError as error:
                    stuck.append(f"{path}: {error.strerror}")
                    continue
            if path in self._entries:
                self._cross_out(path)
            del self._settings[path], self._made[path]
        return stuck
