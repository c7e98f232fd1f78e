"""A container's own root folder, and what its maker says about the program in it.

What `config.json` of an OCI bundle says is stored, but for what is the place's: its network, its
control group, and the words that are started. Unless it is trusted it may do no more than
`confined` allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.errors import SpecFault
from sojourn.places import confined

CONFIG, ROOTFS = "config.json", "rootfs"
PROCESS = "process"
CONFIG_BYTES = 16 * 1024**2  # of a bundle from anywhere
NETWORK = "network"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One container to be run.

    Attributes:
        bundle: the folder that relative paths of the configuration start from.
        config: `config.json`, as the OCI run-time specification has it.
        is_trusted: it is run as it is written, with all that it asks of this machine.
    """

    bundle: Path
    config: Mapping[str, Any]
    is_trusted: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return tuple(map(str, _part(self.config, PROCESS).get("args") or ()))

    def runtime_config(
        self, *, name: str, words: Sequence[str], environment: Mapping[str, str]
    ) -> dict[str, Any]:
        """The configuration for one run.

        Args:
            name: of the control group, beside the lab's own.
            words: the program and its arguments.
            environment: variables beside its own, which they overrule.

        Raises:
            SpecFault: it asks for more than a container may have, and is not trusted.
        """
        self.check()
        process = {**_part(self.config, PROCESS), "args": list(words), "terminal": False}
        report = process.get("env") or ()
        own = [one for one in report if str(one).partition("=")[0] not in environment]
        inputs = [f"{variable}={value}" for variable, value in environment.items()]
        root = dict(_part(self.config, "root"))
        root["path"] = str(self.bundle / str(root.get("path", ROOTFS)))
        linux = dict(_part(self.config, "linux"))
        spaces = [one for one in linux.get("namespaces") or () if one.get("type") != NETWORK]
        made = {
            **self.config,
            "process": {**process, "env": [*own, *inputs]},
            "root": root,
            "linux": {**linux, "namespaces": spaces, "cgroupsPath": name},
        }
        return made if self.is_trusted else confined.confined(made)

    def check(self) -> None:
        """Refuse what is not trusted and asks for more of this machine than docker would give.

        Raises:
            SpecFault: with what it asks for.
        """
        if self.is_trusted:
            return
        try:
            asked = confined.beyond(self.config, self.bundle)
        except ValueError as error:
            raise SpecFault(
                str(error), at=str(self.bundle / CONFIG), fix="see what `runc spec` writes"
            ) from None
        if asked:
            raise SpecFault(
                f"the bundle asks for more than a container may have: {', '.join(asked)}",
                at=str(self.bundle / CONFIG),
                fix="take that out; or, if you would run its author's programs as root on this "
                "machine, say so: params.trust_bundle = true",
            )


def read(bundle: Path, *, is_trusted: bool = False) -> Image:
    """The image of a bundle.

    Raises:
        OSError: it has no configuration or no root folder.
        ValueError: its configuration is not that of a program.
    """
    result = disk.parsed(disk.read_bytes(bundle / CONFIG, most=CONFIG_BYTES))
    words = _part(result, PROCESS).get("args") if isinstance(result, dict) else None
    if not isinstance(words, list) or not words:
        raise ValueError("it starts no program (process.args)")
    made = Image(bundle=bundle, config=result, is_trusted=is_trusted)
    root = bundle / str(_part(result, "root").get("path", ROOTFS))
    if not root.is_dir():
        raise FileNotFoundError(2, "No root folder", str(root))
    return made


def _part(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """One part of a configuration; ValueError if it is no table."""
    result = config.get(name) or {}
    if not isinstance(result, Mapping):
        raise ValueError(f"its {name} is no table")  # noqa: TRY004 - as what JSON raises
    return result
