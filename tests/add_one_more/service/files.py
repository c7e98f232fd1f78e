"""Python's own file server: the smallest real service there is."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn.places.ports import Address
from sojourn.services.capabilities import Prepares
from sojourn.services.kind import Allowance, Endpoint, Program, Service, ServiceKind, Start
from sojourn.services.params import Value, settle

NAME = "files"


@dataclass(frozen=True, slots=True)
class Files(Program, Prepares):
    """One thread, one connection after the other."""

    def prepare(self, work: Path) -> None:
        """Write the one page that it serves."""
        (work / "index.html").write_text("<p>here</p>\n")

    def start(self, work: Path, address: Address) -> Start:
        """The interpreter that runs the lab, with a module that is given where to listen."""
        where = ("--bind", address.host, "--directory", str(work))
        words = ("-I", "-m", "http.server", *where, str(address.port))
        return Start(program=Path(sys.executable), words=words)

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it serves its page now."""
        try:
            url = self.endpoint(address).target
            with urllib.request.urlopen(url, timeout=within_s) as reply:  # noqa: S310
                return bool(reply.status == 200)
        except OSError:
            return False

    def endpoint(self, address: Address) -> Endpoint:
        """Its page over HTTP, at the address that the place gave."""
        return Endpoint(target=f"http://{address.host}:{address.port}/")


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Refuse parameters; there are none."""
    del allowance
    settle(NAME, (), inputs)
    return Files()


KIND = ServiceKind(
    name=NAME,
    about="Python's own file server, one connection after the other",
    params=(),
    needs=(),
    source="docs.python.org/3/library/http.server.html",
    width=None,
    build=build,
)
