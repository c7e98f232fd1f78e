"""A PostgreSQL cluster with TPC-C's rows, made once: initdb, a database, `shore.sql`.

It is made in single-user mode: no port, and no superuser whom anybody could reach.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn import programs
from sojourn.errors import RunFault
from sojourn.places import process, users
from sojourn.places.ports import Address
from sojourn.services.tpcc.answers import Scale
from sojourn.services.tpcc.postgres import Home

SQL = Path(__file__).with_name("shore.sql")
USER, DATABASE, SUPERUSER = "sojourn", "shore", "postgres"
TEMPLATE, DATA, RULES = "template", "data", "pg_hba.conf"
# Measured on 15.18: rows with their indexes, and an empty cluster.
BYTES_PER_STOCK, BYTES_PER_CUSTOMER, BYTES_OF_NOTHING = 480, 2_300, 64 << 20
# Log that is written while rows are put in, by their bytes: 1.5 was measured. In single-user mode
# nothing is removed before the end, and then files of the log are recycled up to `max_wal_size`.
LOG_SHARE, LOG_MAX_GB = 1.5, 4
LOG_BYTES = 1 << 30  # max_wal_size of the server under load, its default
PREPARE_S_MAX = 1_800.0


def make(home: Home, work: Path, user: users.User | None, scale: Scale) -> None:
    """Make it below a working folder, as who the server will be.

    Raises:
        RunFault: PostgreSQL cannot make it; its last words say why.
    """
    maker = _Maker(home, work, user)
    maker.run(
        "initdb",
        "-D",
        TEMPLATE,
        "-U",
        SUPERUSER,
        "-E",
        "UTF8",
        "--no-locale",
        "--auth=reject",
        "--no-sync",
    )
    maker.single(SUPERUSER, f"CREATE DATABASE {DATABASE};\n\n")
    maker.single(DATABASE, statements(scale))


def words(
    home: Home, work: Path, address: Address, *, connections: int, buffers_mb: int, is_synced: bool
) -> tuple[str, ...]:
    """What a shell is given: a fresh copy of the cluster on the disk, then PostgreSQL."""
    reports = {
        "listen_addresses": address.host,
        "port": str(address.port),
        "unix_socket_directories": "",
        "hba_file": str(work / RULES),
        "max_connections": str(connections),
        "shared_buffers": f"{buffers_mb}MB",
        "fsync": "on" if is_synced else "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "jit": "off",
        "huge_pages": "off",
        # In files of the cluster: what is killed leaves nothing in /dev/shm. Of System V memory its
        # lock is left (56 bytes, `ipcs -m`), which an ordered end removes.
        "dynamic_shared_memory_type": "mmap",
        "update_process_title": "off",
        "logging_collector": "off",
    }
    script = (
        f'rm -rf {DATA} && cp -R {TEMPLATE} {DATA} && sync -f {DATA} && {home.exported}exec "$@"'
    )
    return (
        "-c",
        script,
        "shore",
        str(home.program("postgres")),
        "-D",
        DATA,
        *_setting_words(reports),
    )


def _setting_words(reports: Mapping[str, str]) -> tuple[str, ...]:
    """Settings as words of a command line."""
    return tuple(word for name, value in reports.items() for word in ("-c", f"{name}={value}"))


class _Maker:
    """Runs PostgreSQL's programs in the working folder, as whom the server will be."""

    def __init__(self, home: Home, work: Path, user: users.User | None) -> None:
        self._home, self._work, self._user = home, work, user

    def run(self, name: str, *words: str, text: str = "") -> None:
        """Run one to its end, with a text on its stdin."""
        # It ends with the lab, however that ends: what it makes would be removed under its hands.
        until = (str(programs.find("setpriv", fix="apt install util-linux")), "--pdeathsig", "KILL")
        argv = [*until, str(self._home.program(name)), *words]
        who: dict[str, Any] = {}
        if self._user is not None:
            who = {"user": self._user.uid, "group": self._user.gid, "extra_groups": []}
        try:
            done = subprocess.run(
                argv,
                cwd=self._work,
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PREPARE_S_MAX,
                check=False,
                umask=0o077,
                env={**process.environment(), **self._home.environment},
                **who,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RunFault(f"{name}: {error}", at=shlex.join(argv), fix="try it by hand") from None
        if done.returncode:
            message = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
            raise RunFault(
                f"{name} fails: {message or done.returncode}",
                at=shlex.join(argv),
                fix="see whether the disk has room; try it by hand as an ordinary user",
            )

    def single(self, database: str, text: str) -> None:
        """Give commands to a server that serves no one else, and ends at the first mistake."""
        reports = {
            "exit_on_error": "on",
            "fsync": "off",
            "autovacuum": "off",
            "jit": "off",
            "max_wal_size": f"{LOG_MAX_GB}GB",
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "dynamic_shared_memory_type": "mmap",
        }
        words = (*_setting_words(reports), database)
        self.run("postgres", "--single", "-j", "-D", TEMPLATE, *words, text=text)


def rules() -> str:
    """Who is let in: one user who may read and write the tables, without a password; no one else.

    Whoever is on this machine may ask it what load asks, as with every service of the lab; the
    superuser, who could start programs, cannot come in at all.
    """
    return f"host {DATABASE} {USER} 0.0.0.0/0 trust\nhost {DATABASE} {USER} ::/0 trust\n"


def statements(scale: Scale) -> str:
    """`shore.sql` with its sizes put in."""
    text = SQL.read_text(encoding="utf-8")
    for name in ("warehouses", "customers", "items"):
        text = text.replace(f"@{name.upper()}@", str(getattr(scale, name)))
    return text


def data_bytes(scale: Scale) -> int:
    """How much the data of a cluster take before load, without the log of how they came in."""
    return _row_bytes(scale) + BYTES_OF_NOTHING


def made_bytes(scale: Scale) -> int:
    """How much disk a cluster takes that was made, and so each copy of it."""
    log = round(LOG_SHARE * _row_bytes(scale))
    return data_bytes(scale) + min(log, LOG_MAX_GB << 30)


def disk_bytes(scale: Scale) -> int:
    """How much disk there must be: first for all of the log, then for a copy that is loaded."""
    making = data_bytes(scale) + round(LOG_SHARE * _row_bytes(scale))
    return max(making, 2 * made_bytes(scale) + LOG_BYTES)


def _row_bytes(scale: Scale) -> int:
    each = scale.items * BYTES_PER_STOCK + 10 * scale.customers * BYTES_PER_CUSTOMER
    return scale.warehouses * each
