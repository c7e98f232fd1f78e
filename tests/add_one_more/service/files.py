"""Python's own file server: the smallest real service there is."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.places.ports import Address
from sojourn.services.kind import Allowance, Json, Service, ServiceKind
from sojourn.services.params import Value, settle

NAME = "files"


@dataclass(frozen=True, slots=True)
class Files(Service):
    """One thread, one connection after the other."""

    @property
    def setup(self) -> tuple[tuple[str, str], ...]:
        """That it serves a folder of its own, for people."""
        return (("files", "one page of the service's own folder"),)

    @property
    def program(self) -> Path | None:
        """The interpreter that runs the lab."""
        return Path(sys.executable)

    def prepare(self, work: Path) -> None:
        """Write the one page that it serves."""
        (work / "index.html").write_text("<p>here</p>\n")

    def command(self, work: Path, address: Address) -> Sequence[str]:
        """Python's module, told where to listen."""
        where = ("--bind", address.host, "--directory", str(work))
        return ("-I", "-m", "http.server", *where, str(address.port))

    def target(self, address: Address) -> str:
        """Its page over HTTP, at the address that the place gave."""
        return f"http://{address.host}:{address.port}/"

    def job(self) -> Mapping[str, Json]:
        """No keys: nothing of the job follows from it."""
        return {}

    def answers(self, address: Address, within_s: float) -> bool:
        """Whether it serves its page now."""
        try:
            with urllib.request.urlopen(self.target(address), timeout=within_s) as reply:  # noqa: S310
                return bool(reply.status == 200)
        except OSError:
            return False


def build(given: Mapping[str, Value], allowance: Allowance) -> Service:
    """Refuse parameters; there are none."""
    del allowance
    settle(NAME, (), given)
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
