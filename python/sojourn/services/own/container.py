"""A container of the user's own: an OCI bundle, or an image that podman unpacks, run by runc.

The life of one: unpacked once for all restarts, started by the place `runc` in its own root with
the rights that docker and podman give by default (`places.confined`), the first good reply,
measured, its stop signal. Its network is the place's, so it is asked like every other, and pinned,
weighed and ended like one. A bundle that the study trusts has what its configuration says, hooks
that run as root on this machine included.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from sojourn import disk, programs
from sojourn.errors import AbsentFault, SpecFault
from sojourn.places import image
from sojourn.places.image import Image
from sojourn.places.ports import Address
from sojourn.services.capabilities import Contained, Needs, Prepares, Rows, RunsAs
from sojourn.services.kind import Allowance, Service, ServiceKind, Start
from sojourn.services.own import command, typed
from sojourn.services.own.command import Command
from sojourn.services.own.unpack import AT, PODMAN, unpacked
from sojourn.services.params import Param, Value, settle

NAME = "container"
RUNC = "runc"
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
class Container(Command, Prepares, Contained):
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
    made: dict[str, Image] = field(default_factory=dict, compare=False)

    def setup(self) -> Rows:
        """The image, its command and what is asked."""
        return (
            ("image", self.name or str(self.bundle)),
            ("command", shlex.join(self._words())),
            ("asked", self.url),
            *((("trusted", "the bundle is run as it is written"),) if self.is_trusted else ()),
            *self.proof.facts,
        )

    def image(self) -> Image | None:
        """The bundle as it lies there, or the image as it was unpacked."""
        if self.bundle:
            return image.read(self.bundle, is_trusted=self.is_trusted)
        return self.made.get(self.name)

    def needs(self) -> Needs:
        """As the study says.

        The runtime is started by the lab itself; the configuration says who it is inside.
        """
        return replace(Command.needs(self), runs_as=RunsAs.LAB)

    def prepare(self, work: Path) -> None:
        """Unpack the image, once for all restarts."""
        if self.bundle is None:
            self.made[self.name] = unpacked(self.name, work / "bundle")

    def start(self, work: Path, address: Address) -> Start:
        """The runtime, which the place starts, with the program in it and its arguments."""
        usual = Command.start(self, work, address)
        return replace(usual, program=self.runc, words=self.filled(self._words(), address, work))

    def _words(self) -> tuple[str, ...]:
        """Program and arguments, of the study or else of the image."""
        if self.words:
            return self.words
        result = self.image()
        return result.words if result else ()


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Read what it is, and refuse what could never run.

    Raises:
        SpecFault: no bundle and no image, or both; or it is not told its port.
            or the bundle asks for more than a container may have.
        AbsentFault: runc or podman is missing, or there is no such bundle.
    """
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    folder, name = str(got["bundle"] or ""), str(got["image"] or "")
    if bool(folder) == bool(name):
        fix = 'give bundle = "/path", or image = "docker.io/library/nginx:1.27"'
        raise SpecFault("a container is a bundle or an image", at=f"{AT}, bundle", fix=fix)
    if name.startswith("-"):
        fix = "write it as podman pull takes it: docker.io/library/nginx:1.27"
        raise SpecFault(f"'{name}' is an option, and no image", at=f"{AT}, image", fix=fix)
    bundle = disk.with_home(folder).absolute() if folder else None
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
        report=words,
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
        text = image.read(bundle, is_trusted=is_trusted)
        text.check()
    except (OSError, ValueError) as error:
        raise AbsentFault(
            f"{bundle} is no OCI bundle: {error}",
            at=f"{AT}, bundle",
            fix="give a folder with config.json and rootfs (`runc spec` makes the first)",
        ) from None
    return text.words


KIND = ServiceKind(
    name=NAME,
    about="a container of your own, from an OCI bundle or an image",
    params=PARAMS,
    needs=("root", "runc (apt install runc)", "for an image: podman (apt install podman)"),
    source="docs/howto/your-service.md",
    build=build,
)
