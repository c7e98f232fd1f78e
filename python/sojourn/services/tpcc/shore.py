"""PostgreSQL with TPC-C's two writing transactions: TailBench's shore in our own terms (P4, P17).

The life of one: a cluster made once (initdb, tables, rows), copied for each start so that every
life begins with the same rows, started, asked a few requests whose answers are computed anew,
audited, measured, audited again, ended without a checkpoint: what it has written is thrown away.

A connection is a process of its own, so `threads` is the number of connections. They come when load
comes, and cannot be pinned one to a CPU before; all of them stay on the server's CPUs, as the
postmaster's children do. Each commit is synced before it is answered: `fsync` is on.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.places import users
from sojourn.places.ports import Address
from sojourn.services.capabilities import (
    Adapts,
    Audits,
    Checks,
    Demands,
    Describes,
    Filling,
    Fills,
    Needs,
    Prepares,
    Rows,
    RunsAs,
    Versioned,
)
from sojourn.services.clients.sql import Sql, SqlError
from sojourn.services.kind import Allowance, Endpoint, Json, Program, Service, ServiceKind, Start
from sojourn.services.params import Value, settle
from sojourn.services.tpcc import answers as tpcc
from sojourn.services.tpcc import cluster, postgres
from sojourn.services.tpcc.answers import Scale
from sojourn.services.tpcc.cluster import DATABASE, RULES, USER
from sojourn.services.tpcc.postgres import Home
from sojourn.services.tpcc.shore_settings import CUSTOMERS_TPCC, ITEMS_TPCC, PARAMS

NAME = "shore"
SHELL = Path("/bin/sh")
THREADS_PAPER = 8  # P6, the most of its scenarios
ITEMS_MIN, CUSTOMERS_MIN = 1_000, 30
SPARE = 16  # connections beside those that load: readiness, checks, what the server reserves
CONNECTION_BYTES = 12 << 20
AUDIT_S, AUDITED_PER_S = 60.0, 20 << 20  # of all rows, bytes: as fast as they are copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Shore(Program, Describes, Versioned, Demands, Adapts, Prepares, Fills, Checks, Audits):
    """One database whose parameters are settled for this machine."""

    home: Home
    threads: int
    scale: Scale
    requests: int
    fsync: bool
    is_durable: bool
    buffers_mb: int
    port: int
    why: tuple[tuple[str, str], ...]

    def setup(self) -> Rows:
        """Version, data set and settings as (name, text), for people."""
        scale = self.scale
        rows = f"{scale.customers * 10} customers and {scale.items} rows of stock in each"
        return (
            ("version", self.version()),
            ("data", f"{scale.warehouses} warehouses of TPC-C, {rows}"),
            ("requests", "New-Order and Payment, 45 to 43"),
            ("commit", "synced before it is answered" if self.fsync else "in memory alone"),
            *self.why,
        )

    def needs(self) -> Needs:
        """A process for each connection, and memory for these, shared buffers and all data.

        PostgreSQL refuses a user without a name.
        """
        connections = (self.threads + SPARE) * CONNECTION_BYTES
        return Needs(
            workers=self.threads,
            port=self.port,
            memory_bytes=(self.buffers_mb << 20) + connections + cluster.data_bytes(self.scale),
            runs_as=RunsAs.ACCOUNT,
            is_syncing=self.fsync,
            is_durable=self.is_durable,
        )

    def prepare(self, work: Path) -> None:
        """Make the cluster and its rows; who serves later makes them, since root may not.

        Raises:
            HostFault: root cannot become anybody else here.
            RunFault: PostgreSQL cannot make it; its last words say why.
        """
        user = users.server_user(has_account=True)
        if user is None and os.geteuid() == 0:
            raise HostFault(
                "PostgreSQL refuses to run as root, and root cannot become another user here",
                at="service shore",
                fix="run the lab as an ordinary user",
            )
        (work / RULES).write_text(cluster.rules(), encoding="ascii")
        home = self.home.copied(work) if self.home.is_closed else self.home
        if user is not None:
            os.chown(work, user.uid, user.gid, follow_symlinks=False)
        cluster.make(home, work, user, self.scale)

    def start(self, work: Path, address: Address) -> Start:
        """A shell that makes a fresh copy of the cluster on the disk, then becomes PostgreSQL.

        It is ended at once, because a checkpoint would be of data that no one reads again. It gives
        its own processes five seconds.
        """
        home = self.home.at(work) if self.home.is_closed else self.home
        words = cluster.words(
            home,
            work,
            address,
            connections=self.threads + SPARE,
            buffers_mb=self.buffers_mb,
            is_synced=self.fsync,
        )
        return Start(
            program=SHELL,
            words=words,
            ready_s=60.0 + cluster.made_bytes(self.scale) / (20 << 20),
            stop=signal.SIGQUIT,
            stop_s=10.0,
            carries=self.home.carries,
        )

    def adapted(self, load: Mapping[str, Any], bound_s: float = 0.0) -> Self:
        """The same; SpecFault if the study asks for other connections than it has threads."""
        del bound_s
        asked = load.get("connections", self.threads)
        if asked != self.threads:
            raise SpecFault(
                f"{NAME} has a process for each connection: {asked} connections are not its "
                f"{self.threads} threads",
                at="load.connections",
                fix="leave load.connections out, and say how many by params.threads",
            )
        return self

    def endpoint(self, address: Address) -> Endpoint:
        """The database, asked on so many connections by a user who may not much."""
        job: dict[str, Json] = {
            "query": ["SELECT shore({})"],
            "items": self.requests,
            "connections": self.threads,
            "expect_regex": tpcc.REPLY,
        }
        return Endpoint(target=f"postgres://{USER}@{address}/{DATABASE}", job=job)

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it lets us in and knows its tables."""
        try:
            return self._ask(address, "SELECT count(*) FROM warehouse", within_s) == str(
                self.scale.warehouses
            )
        except SqlError:
            return False

    def _ask(self, address: Address, query: str, within_s: float) -> str:
        with Sql(address, USER, DATABASE, within_s=within_s) as sql:
            return sql.value(query)

    def filling(self) -> Filling:
        """So many requests that all connections have planned theirs, and most pages are read."""
        return Filling(requests=200 * self.threads)

    def check(self, address: Address) -> Rows:
        """Hold the answers to a few requests against those computed here, and audit.

        Raises:
            RunFault: one is wrong, or the rows do not add up.
        """
        sample = sorted({*range(6), self.requests // 2, self.requests - 1})
        for n in sample:
            try:
                text = self._ask(address, f"SELECT shore({n})", 10.0)
            except SqlError as error:
                text = str(error)
            if not self.scale.is_reply(n, text):
                raise RunFault(
                    f"request {n} is answered wrongly: {text[:120]!r}",
                    at=f"shore at {address}",
                    fix="see service.log in the point's folder",
                )
        ((_, sums),) = self.audit(address)
        checked = ("answers checked", f"{len(sample)} requests, computed anew")
        return (checked, ("consistent before load", sums))

    def audit(self, address: Address) -> Rows:
        """Count what was done, and make sure that every total is the sum of its parts.

        Raises:
            RunFault: they do not add up, or it does not answer.
        """
        within_s = AUDIT_S + cluster.data_bytes(self.scale) / AUDITED_PER_S
        try:
            text = self._ask(address, "SELECT audit()", within_s)
        except SqlError as error:
            raise RunFault(
                f"whether the database is consistent is unknown: {error}",
                at=f"shore at {address}, SELECT audit(), {within_s:.0f} s",
                fix="see service.log in the point's folder; give fewer warehouses if it was slow",
            ) from None
        match = re.fullmatch(r"orders (\d+) payments (\d+) flaws none", text)
        if match is None:
            raise RunFault(
                f"the database is not consistent: {text[:300]}",
                at=f"shore at {address}, SELECT audit()",
                fix="a defect of PostgreSQL, the disk or shore.sql: nothing measured here is to be "
                "believed",
            )
        return (("consistent", f"after {match[1]} orders and {match[2]} payments"),)

    def version(self) -> str:
        """`PostgreSQL 15.18`, as `postgres --version` says it."""
        match = re.search(r"\(PostgreSQL\) (\S+)", self.home.says("postgres", "--version"))
        return f"PostgreSQL {match[1]}" if match else ""


def _threads(value: Value | None, allowance: Allowance) -> tuple[int, str]:
    cpus = allowance.cpus
    if value is not None:
        turns = f"; {value} on {cpus} CPUs: they take turns (L23)" if int(value) > cpus else ""
        return int(value), f"{value} connections, as the study says{turns}"
    threads = min(THREADS_PAPER, cpus)
    return threads, f"{threads} connections: one per server CPU, 8 at most (P6)"


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    home = postgres.home()
    threads, why = _threads(got["threads"], allowance)
    share = allowance.scale
    scale = Scale(
        warehouses=int(got["warehouses"] or threads),
        customers=int(got["customers"] or max(CUSTOMERS_MIN, round(CUSTOMERS_TPCC * share))),
        items=int(got["items"] or max(ITEMS_MIN, round(ITEMS_TPCC * share))),
    )
    buffers_mb = int(got["buffers_mb"] or 1)
    if (buffers_mb << 20) > allowance.memory_bytes // 2:
        raise HostFault(
            f"{buffers_mb} MB of shared buffers are more than half of the free memory",
            at=f"service shore, buffers_mb = {buffers_mb}",
            fix=f"give at most {allowance.memory_bytes >> 21}",
        )
    wanted = cluster.disk_bytes(scale)
    if allowance.disk_bytes is not None and wanted > allowance.disk_bytes:
        raise HostFault(
            f"{scale.warehouses} warehouses take {wanted >> 20} MiB of disk with a copy and the "
            f"log, {allowance.disk_bytes >> 20} MiB are free",
            at=f"service shore, warehouses = {scale.warehouses}",
            fix="give fewer, or set TMPDIR to a larger disk",
        )
    return Shore(
        home=home,
        threads=threads,
        scale=scale,
        requests=int(got["requests"] or 1),
        fsync=bool(got["fsync"]),
        is_durable=bool(inputs.get("fsync")),
        buffers_mb=buffers_mb,
        port=int(got["port"] or 0),
        why=(("threads", why),),
    )


KIND = ServiceKind(
    name=NAME,
    about="PostgreSQL with TPC-C's New-Order and Payment: TailBench's shore, a writer to the disk",
    params=PARAMS,
    needs=("PostgreSQL (apt install postgresql, or sojourn install shore)",),
    source="PAPERS P4, P17; TPC-C 5.11",
    build=build,
)
