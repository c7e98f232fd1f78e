"""A Ray of this machine alone: its folder, and that no one else gets in.

Ray runs what it is sent, as the user who started it, for whoever reaches one of its ports. So one
of the lab's own listens on loopback only. It asks for a token as well, because every user of this
machine reaches loopback.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sojourn import disk, extras
from sojourn.errors import HostFault
from sojourn.run import work
from sojourn.run.journal import Journal

PLACE = Path("/tmp")  # noqa: S108  # paths of Ray's sockets have to be short
SINCE = "2.52"  # Ray knows tokens
TOKEN_BYTES = 32


@contextmanager
def closed() -> Iterator[None]:
    """What Ray has to see in the environment while it is loaded and started.

    Its processes inherit it then. What the lab starts later does not, because a server runs as
    another user, who must not have the token.
    """
    own = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": _token(),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on Linux too: a node's address is loopback
    }
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, text in before.items():
            os.environ.pop(name, None)
            if text is not None:
                os.environ[name] = text


@cache
def _token() -> str:
    """The same for the whole life of this process, in which Ray reads it once."""
    return secrets.token_hex(TOKEN_BYTES)


def require_token(ray: Any) -> None:
    """Refuse a Ray that would let everybody in.

    Args:
        ray: the package, loaded within `closed`.

    Raises:
        HostFault: it knows no tokens, or it was loaded before and asks for none.
    """
    try:
        core = ray._raylet  # noqa: SLF001  # nothing public says it
        is_closed = core.get_authentication_mode() == core.AuthenticationMode.TOKEN
    except AttributeError:
        is_closed = False
    if not is_closed:
        raise HostFault(
            f"Ray {ray.__version__} would run programs for whoever reaches its ports: it asks for "
            "no token",
            at="hosts.at",
            fix=re.sub(r"ray>=[0-9.]+", f"ray>={SINCE}", extras.command(extras.RAY)),
        )


class Folder:
    """Where a Ray of the lab's own has its files; noted, so that `sojourn restore` removes it."""

    def __init__(self) -> None:
        self._journal = Journal.create()
        self.path = PLACE / f"{work.PREFIX}{secrets.token_hex(4)}"
        self._entry = self._journal.made(self.path)
        self.path.mkdir(mode=0o700)
        disk.keep_text(self.path / work.MARK, "")

    def remove(self) -> None:
        """Remove it with all that Ray left in it."""
        work.remove(self.path, self._entry, self._journal)
        self._journal.close()
