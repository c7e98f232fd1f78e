"""One thing that can be fetched: its packages, what is retained of them, and whether that is whole.

    offers → (asked) → fetch: unpack all ─► make ─► hash ─► one rename into the cache

So a fetch that was broken off leaves a folder that no one takes for the thing, and the next removes
it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import disk, programs
from sojourn.errors import HostFault
from sojourn.install import debs
from sojourn.install.debs import Deb, Offer

CACHE = "SOJOURN_CACHE"
MANIFEST = "manifest.json"
PART = ".part"
_CLOSED = 0o755  # others may read it
_MASK = 0o022


def cache_folder() -> Path:
    """Where fetched things are stored, by user; what is there can be fetched again.

    Programs that lie there are run, so the folder must be the user's own, or the superuser's, and
    closed to others (`doubt`).
    """
    named = os.environ.get(CACHE)
    if named:
        return Path(named)
    return disk.base("XDG_CACHE_HOME", ".cache") / "sojourn"


def doubt(folder: Path) -> str:
    """Why nothing of a folder of the cache may be run; "" if it may, or is not there."""
    for one in (cache_folder(), folder):
        try:
            result = one.stat()
        except OSError:
            continue
        if why := disk.doubt(result, may_be_roots=True):
            return f"{why}, and what lies there is run"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A thing that was fetched.

    Attributes:
        files: what it consists of, by name relative to `at`, with the SHA-256 of each.
        facts: what `make` reported about it.
    """

    at: Path
    files: Mapping[str, str]
    facts: Mapping[str, str] = field(default_factory=dict)

    def wrong(self) -> tuple[str, ...]:
        """Names of files that are missing or not what was fetched."""
        return tuple(n for n, sha256 in self.files.items() if hashed(self.at / n) != sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that can be fetched.

    Attributes:
        version: of what is fetched; another has another folder.
        debs: its packages, or what finds out which they are on this machine.
        needs: programs of the machine that it is used with → the Debian package of each.
        builds: programs of the machine that `make` uses → the Debian package of each.
        made_bytes: about what it takes on the disk, of one that is made here of nothing; 0: it is
            made of its packages alone.
        make: from a folder with all packages unpacked, makes what is stored in another, and says
            facts about it; OSError or ValueError if a package has not what it should.
    """

    name: str
    about: str
    version: str
    debs: tuple[Deb, ...] | Callable[[], tuple[Deb, ...]]
    needs: Mapping[str, str] = field(default_factory=dict)
    builds: Mapping[str, str] = field(default_factory=dict)
    made_bytes: int = 0
    make: Callable[[Path, Path], Mapping[str, str]]

    @property
    def folder(self) -> Path:
        """Where it is stored, below the cache."""
        return cache_folder() / f"{self.name}-{self.version}"

    @property
    def command(self) -> str:
        """The command line that fetches it."""
        return f"sojourn install {self.name}"

    def made(self) -> Made | None:
        """What was fetched, as its manifest tells; None: nothing, or not to its end.

        What others may have put there was not fetched.
        """
        if doubt(self.folder):
            return None
        try:
            table = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            return Made(at=self.folder, files=dict(table["files"]), facts=dict(table["facts"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def ready(self) -> Made:
        """What was fetched, every file of it as it was.

        Raises:
            HostFault: it was not fetched, or a file has changed since.
        """
        if why := doubt(self.folder):
            raise HostFault(
                f"{self.name}: not used: {why}",
                at=str(self.folder),
                fix=f"look whose it is and who wrote it; then chmod go-w, or set {CACHE} to a "
                "folder of your own",
            )
        made = self.made()
        if made is None:
            raise HostFault(f"{self.name}: not installed", at=str(self.folder), fix=self.command)
        if wrong := made.wrong():
            raise HostFault(
                f"{self.name}: {wrong[0]} is not what was fetched",
                at=str(self.folder),
                fix=self.command,
            )
        return made


def offers(part: Part) -> tuple[Offer, ...]:
    """What would be downloaded for it; HostFault if it cannot be had, or not be made here."""
    for program, package in part.builds.items():
        programs.find(program, fix=f"apt install {package}, then {part.command}")
    _fresh(part)
    asked = part.debs() if callable(part.debs) else part.debs
    wanted = (*debs.others(asked), *asked)
    return tuple(map(debs.offer, wanted))


def fetch(part: Part, offered: Sequence[Offer]) -> Made:
    """Download, unpack and keep it, in place of what was there.

    Raises:
        HostFault: it cannot be downloaded, unpacked or kept.
    """
    at, folder = part.folder.with_name(part.folder.name + PART), part.folder
    before = os.umask(_MASK)  # servers' users read copies, which have the modes of what is made
    try:
        for one in offered:
            debs.unpack(one, at / "unpacked")
        into = at / "kept"
        into.mkdir(mode=_CLOSED, parents=True)
        facts = dict(part.make(at / "unpacked", into))
        names = sorted(str(p.relative_to(into)) for p in into.rglob("*") if p.is_file())
        files = {name: hashed(into / name) for name in names}
        table = {"files": files, "facts": facts}
        (into / MANIFEST).write_text(json.dumps(table, indent=2), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        into.rename(folder)
    except (OSError, ValueError) as error:
        raise HostFault(
            f"{part.name} cannot be made of what was fetched: {error}",
            at=str(at),
            fix=f"see whether the disk has room; {part.command} begins anew",
        ) from None
    finally:
        os.umask(before)
        shutil.rmtree(at, ignore_errors=True)
    return Made(at=folder, files=files, facts=facts)


def hashed(path: Path) -> str:
    """SHA-256 of a file; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _fresh(part: Part) -> Path:
    """An empty folder beside its own, of a fetch that is not through."""
    at = part.folder.with_name(part.folder.name + PART)
    try:
        cache_folder().parent.mkdir(parents=True, exist_ok=True)
        cache_folder().mkdir(mode=_CLOSED, exist_ok=True)
        if why := doubt(part.folder):
            raise HostFault(
                f"cannot write: {why}",
                at=str(part.folder),
                fix=f"set {CACHE} to a folder of your own that others may not write into",
            )
        shutil.rmtree(at, ignore_errors=True)
        at.mkdir(mode=_CLOSED)
    except OSError as error:
        raise HostFault(
            f"cannot write: {error.strerror}",
            at=str(at),
            fix=f"set {CACHE} to a folder that you may write to",
        ) from None
    return at
