"""A container of the user's own: an OCI bundle, or an image that podman unpacks, run by runc.

The life of one: unpacked once for all restarts, started by the place `runc` in its own root with
the rights that docker and podman give by default (`places.confined`), the first good reply,
measured, its stop signal. Its network is the place's, so it is asked like every other, and pinned,
weighed and ended like one. A bundle that the study trusts has what its configuration says, hooks
that run as root on this machine included.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sojourn import disk, programs
from sojourn.errors import AbsentFault, RunFault, SpecFault
from sojourn.places import confined, image, runc, starter
from sojourn.places.image import CONFIG, ROOTFS, Image
from sojourn.places.ports import Address
from sojourn.services.kind import Allowance, Service, ServiceKind
from sojourn.services.own import command, typed
from sojourn.services.own.command import Command
from sojourn.services.params import Param, Value, settle

NAME = "container"
AT = "service container"
PODMAN, RUNC, TAR = "podman", "runc", "tar"
UNPACK_S_MAX = 900.0
PATH_BYTES_MAX = 4096  # PATH_MAX
NO_IMAGE = "take another image; no program needs such folders"
_UNPACKS = "-all,+chown,+dac_override,+fowner,+fsetid,+mknod"
_SETUID = stat.S_ISUID | stat.S_ISGID
# fmt: off
_SHARED = ("target", "ready", "ready_s", "threads", "worker", "environment", "environment_file",
           "stop", "stop_s", "memory_bytes", "port", "expect_bytes", "items", "key_bytes",
           "value_bytes", "warm_requests")
# fmt: on

PARAMS = (
    Param(
        name="bundle", about="folder of an OCI bundle: config.json and rootfs", default="", type=str
    ),
    Param(
        name="image",
        about="or an image, such as docker.io/library/nginx:1.27, which podman fetches and unpacks",
        default="",
        type=str,
    ),
    Param(
        name="argv",
        about="program and arguments in it; empty: as its configuration says. {port}, {host} and "
        "{threads} are put in, also in environment",
        default="",
        type=str,
    ),
    Param(
        name="trust_bundle",
        about="the bundle is run as it is written, with its hooks, mounts, devices and rights: it "
        "may do on this machine what root may",
        default=False,
        type=bool,
    ),
    *(param for param in typed.PARAMS if param.name in _SHARED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container(Command):
    """One container: a command in a root of its own.

    Attributes:
        runc: the runtime.
        bundle: None: `name` is unpacked.
        name: of the image; "" for a bundle.
        made: the image by its name, once it is unpacked.
        is_trusted: the bundle is run as it is written.
    """

    runc: Path
    bundle: Path | None
    name: str
    is_trusted: bool = False
    made: dict[str, Image] = field(default_factory=dict)

    @property
    def setup(self) -> tuple[tuple[str, str], ...]:
        """The image, its command and what is asked."""
        words = self.words or (self.image.words if self.image else ())
        return (
            ("image", self.name or str(self.bundle)),
            ("command", shlex.join(words)),
            ("asked", self.url),
            *((("trusted", "the bundle is run as it is written"),) if self.is_trusted else ()),
            *self.proof.facts,
        )

    @property
    def program(self) -> Path | None:
        """The runtime, which the place starts; the container's own program is in it."""
        return self.runc

    @property
    def bears_image(self) -> bool:
        """A container in any case."""
        return True

    @property
    def image(self) -> Image | None:
        """The bundle as it lies there, or the image as it was unpacked."""
        if self.bundle:
            return image.read(self.bundle, is_trusted=self.is_trusted)
        return self.made.get(self.name)

    @property
    def is_own_user(self) -> bool:
        """The runtime is started by the lab itself; the configuration says who it is inside."""
        return True

    def prepare(self, work: Path) -> None:
        """Unpack the image, once for all restarts."""
        if self.bundle is None:
            self.made[self.name] = unpacked(self.name, work / "bundle")

    def command(self, work: Path, address: Address) -> Sequence[str]:
        """The program in it and its arguments."""
        found = self.image
        words = self.words or (found.words if found else ())
        return tuple(self.put(word, address, work) for word in words)


def unpacked(name: str, into: Path) -> Image:
    """Fetch an image by podman and unpack it as a bundle; podman runs nothing.

    Args:
        name: of the image, as podman takes it.
        into: a folder that is not there yet.

    Raises:
        RunFault: podman cannot have it, or it cannot be unpacked.
    """
    (into / ROOTFS).mkdir(parents=True)
    held = _podman("create", "--pull=missing", "--", name).strip().splitlines()[-1]
    try:
        told = json.loads(_podman("inspect", "--", held))[0]["Config"]
        archive = into / "rootfs.tar"
        _podman("export", "-o", str(archive), "--", held)
        # The program, not Python's: it leaves what would lie outside, in every version.
        tar = programs.find(TAR, fix="apt install tar")
        _run(*_with_few_rights(tar), "-xf", str(archive), "-C", str(into / ROOTFS))
        archive.unlink()
    finally:
        _podman("rm", "-f", "--", held)
    _strip(into / ROOTFS)
    (into / CONFIG).write_text(json.dumps(configured(told)), encoding="utf-8")
    return image.read(into)


def _with_few_rights(program: Path) -> tuple[Path, *tuple[str, ...]]:
    """A program that reads a stranger's archive: it may own and make files, and no more."""
    if os.geteuid():
        return (program,)
    setpriv = programs.find(starter.SETPRIV, fix="apt install util-linux")
    return (
        setpriv,
        "--no-new-privs",
        "--inh-caps=-all",
        f"--bounding-set={_UNPACKS}",
        str(program),
    )


def _strip(root: Path) -> None:
    """Take from what was unpacked what gives rights by being there: setuid bits and devices.

    No program in the container gains rights anyway. The folder is the lab's alone meanwhile.
    """
    for _, entries in disk.tree.walk(root):
        for entry in entries:
            if len(os.fsencode(entry)) >= PATH_BYTES_MAX:  # what lies in it would not be seen
                raise RunFault("the image's folders are too deep", at=f"{AT}, image", fix=NO_IMAGE)
            mode, path = entry.stat(follow_symlinks=False).st_mode, Path(entry)
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                path.unlink()
            elif not stat.S_ISLNK(mode) and mode & _SETUID:
                path.chmod(stat.S_IMODE(mode) & ~_SETUID)


def _podman(*words: str) -> str:
    return _run(programs.find(PODMAN, fix="apt install podman"), *words)


def _run(program: Path, *words: str) -> str:
    """What a program says; a RunFault with its last line if it fails."""
    argv, what = [str(program), *words], f"{program.name} {words[0]}"
    try:
        # fmt: off
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=UNPACK_S_MAX, check=False,
            stdin=subprocess.DEVNULL,
        )
        # fmt: on
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFault(f"{what}: {error}", at=AT, fix="try it by hand") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise RunFault(
            f"{what} fails: {said[-1] if said else done.returncode}",
            at=f"{AT}, image",
            fix=f"try it by hand: {shlex.join(argv)}",
        )
    return done.stdout


def configured(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """`config.json` of an image, from what podman says of its configuration."""
    words = [*_listed(told.get("Entrypoint")), *_listed(told.get("Cmd"))]
    rights = {kind: list(confined.RIGHTS) for kind in ("bounding", "effective", "permitted")}
    user, _, group = str(told.get("User") or "0").partition(":")
    who = _number(user, 0)  # a name is the image's own: it starts as root
    # fmt: off
    return confined.confined({
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": who, "gid": _number(group, who)},
            "args": words,
            "env": _listed(told.get("Env")),
            "cwd": told.get("WorkingDir") or "/",
            "capabilities": rights,
        },
        "root": {"path": ROOTFS, "readonly": False},
        "mounts": [*runc.MOUNTS, {
            "destination": "/dev/shm", "type": "tmpfs", "source": "shm",  # noqa: S108
            "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
        }],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount", "uts")],
        },
    })
    # fmt: on


def _number(text: str, usual: int) -> int:
    """Of a user or group; `usual` where it is a name, or beyond what the kernel has."""
    is_number = text.isascii() and text.isdecimal()
    return int(text) if is_number and len(text) <= len(str(2**32)) else usual


def _listed(value: object) -> list[str]:
    """What podman gives as a list, a text or nothing."""
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:  # a quote that does not end
            return value.split()
    return [str(one) for one in value] if isinstance(value, list) else []


def build(given: Mapping[str, Value], allowance: Allowance) -> Service:
    """Read what it is, and refuse what could never run.

    Raises:
        SpecFault: no bundle and no image, or both; or it is not told its port.
            or the bundle asks for more than a container may have.
        AbsentFault: runc or podman is missing, or there is no such bundle.
    """
    got = settle(NAME, PARAMS, given, cpus=allowance.cpus)
    folder, name = str(got["bundle"] or ""), str(got["image"] or "")
    if bool(folder) == bool(name):
        fix = 'give bundle = "/path", or image = "docker.io/library/nginx:1.27"'
        raise SpecFault("a container is a bundle or an image", at=f"{AT}, bundle", fix=fix)
    if name.startswith("-"):
        fix = "write it as podman pull takes it: docker.io/library/nginx:1.27"
        raise SpecFault(f"'{name}' is an option, and no image", at=f"{AT}, image", fix=fix)
    bundle = Path(folder).expanduser().absolute() if folder else None
    is_trusted = bool(got["trust_bundle"])
    words = _words(bundle, is_trusted=is_trusted)
    if programs.maybe(RUNC) is None:
        fix = "apt install runc"
        raise AbsentFault("containers are run by runc, which is missing", at=AT, fix=fix)
    if name and programs.maybe(PODMAN) is None:
        raise AbsentFault(
            "an image is unpacked by podman, which is missing",
            at=f"{AT}, image",
            fix="apt install podman, or give bundle = the folder of an OCI bundle",
        )
    like = command.settled(
        {**{key: value for key, value in got.items() if value is not None}, "folder": "/"},
        told=words,
        is_in_place=False,
    )
    values = {one.name: getattr(like, one.name) for one in fields(like)}
    return Container(
        **values, runc=programs.find(RUNC), bundle=bundle, name=name, is_trusted=is_trusted
    )


def _words(bundle: Path | None, *, is_trusted: bool) -> tuple[str, ...]:
    """What a bundle starts, if it may be run; () for an image, which is not there yet."""
    if bundle is None:
        return ()
    try:
        found = image.read(bundle, is_trusted=is_trusted)
        found.check()
    except (OSError, ValueError) as error:
        raise AbsentFault(
            f"{bundle} is no OCI bundle: {error}",
            at=f"{AT}, bundle",
            fix="give a folder with config.json and rootfs (`runc spec` makes the first)",
        ) from None
    return found.words


KIND = ServiceKind(
    name=NAME,
    about="a container of your own, from an OCI bundle or an image",
    params=PARAMS,
    needs=("root", "runc (apt install runc)", "for an image: podman (apt install podman)"),
    source="docs/howto/your-service.md",
    build=build,
)
