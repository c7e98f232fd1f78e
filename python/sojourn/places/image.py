"""A container's own root folder, and what its maker says about the program in it.

What `config.json` of an OCI bundle says is kept, but for what is the place's: its network, its
control group, and the words that are started.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONFIG, ROOTFS = "config.json", "rootfs"
NETWORK = "network"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One container to be run.

    Attributes:
        bundle: the folder that relative paths of the configuration start from.
        config: `config.json`, as the OCI run-time specification has it.
    """

    bundle: Path
    config: Mapping[str, Any]

    @property
    def words(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return tuple(map(str, self.config.get("process", {}).get("args", ())))

    def told(
        self, *, name: str, words: Sequence[str], environment: Sequence[str]
    ) -> dict[str, Any]:
        """The configuration for one run.

        Args:
            name: of the control group, beside the lab's own.
            words: the program and its arguments.
            environment: `NAME=VALUE` texts beside its own, which they overrule.
        """
        process = {**self.config.get("process", {}), "args": list(words), "terminal": False}
        given = {one.partition("=")[0] for one in environment}
        own = [e for e in process.get("env", ()) if str(e).partition("=")[0] not in given]
        root = dict(self.config.get("root", {}))
        root["path"] = str(self.bundle / str(root.get("path", ROOTFS)))
        linux = dict(self.config.get("linux", {}))
        spaces = [one for one in linux.get("namespaces", ()) if one.get("type") != NETWORK]
        return {
            **self.config,
            "process": {**process, "env": [*own, *environment]},
            "root": root,
            "linux": {**linux, "namespaces": spaces, "cgroupsPath": name},
        }


def read(bundle: Path) -> Image:
    """The image of a bundle.

    Raises:
        OSError: it has no configuration or no root folder.
        ValueError: its configuration is not that of a program.
    """
    found = json.loads((bundle / CONFIG).read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not found.get("process", {}).get("args"):
        raise ValueError("it starts no program (process.args)")
    made = Image(bundle=bundle, config=found)
    root = bundle / str(found.get("root", {}).get("path", ROOTFS))
    if not root.is_dir():
        raise FileNotFoundError(2, "No root folder", str(root))
    return made
