"""Writes a software bill of materials, CycloneDX 1.5, from the locks: what the lab is built of.

    python scripts/sbom.py > sbom.json

Every crate of Cargo.lock and every package of requirements.lock with its version and the hashes
that are held against it. The same locks give the same bytes. `scripts/licences.py` holds licences.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCKS = ("Cargo.lock", "requirements.lock")
PINNED = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?P<rest>(?:.*\\\n)*.*)", re.MULTILINE
)


def crates(text: str) -> Iterator[dict[str, Any]]:
    """Components of a Cargo.lock; those of this workspace have no source and are left out."""
    for package in tomllib.loads(text)["package"]:
        if "source" in package:
            name, version = package["name"], package["version"]
            yield _component("cargo", name, version, [package["checksum"]])


def wheels(text: str) -> Iterator[dict[str, Any]]:
    """Components of a requirements.lock: a hash for each file that may be installed."""
    for result in PINNED.finditer(text):
        hashes = re.findall(r"--hash=sha256:(\w+)", result["rest"])
        yield _component("pypi", result["name"], result["version"], hashes)


def _component(kind: str, name: str, version: str, hashes: list[str]) -> dict[str, Any]:
    purl = f"pkg:{kind}/{name}@{version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": one} for one in hashes],
    }


def bill(locks: tuple[str, str], version: str) -> dict[str, Any]:
    """The whole bill of two locks, Rust's first; its number follows from them."""
    digest = hashlib.sha256("\0".join(locks).encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32], version=4)}",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "name": "sojourn", "version": version},
        },
        "components": sorted(
            (*crates(locks[0]), *wheels(locks[1])), key=lambda one: str(one["purl"])
        ),
    }


def main() -> int:
    rust, python = ((ROOT / name).read_text(encoding="utf-8") for name in LOCKS)
    about = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    made = bill((rust, python), about["workspace"]["package"]["version"])
    sys.stdout.write(json.dumps(made, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
