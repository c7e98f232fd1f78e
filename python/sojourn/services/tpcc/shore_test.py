"""The database answers what is computed anew, and rows that do not add up are found out."""

from __future__ import annotations

import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn import install, programs, services, spec
from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.places import Address, ports, proc, users
from sojourn.services import Allowance
from sojourn.services.capabilities import RunsAs
from sojourn.services.clients import sql
from sojourn.services.clients.sql import Sql, SqlError
from sojourn.services.tpcc import answers as tpcc
from sojourn.services.tpcc import cluster, postgres
from sojourn.services.tpcc.postgres import Home
from sojourn.services.tpcc.shore import Shore

GIB = 1 << 30
ROOMY = Allowance(cpus=2, memory_bytes=8 * GIB)
SMALL: dict[str, services.Value] = {"items": 500, "customers": 40, "warehouses": 2, "threads": 3}
READY_S_MAX = 300.0
NOWHERE = Home(root=None, bins=Path("/nowhere"))


def built(**params: services.Value) -> Shore:
    made = services.build("shore", {**SMALL, **params}, ROOMY)
    assert isinstance(made, Shore)
    return made


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Shore, Address, int]]:
    """The real one as a life of it is: made once, copied, started; its first process."""
    try:
        service = built(fsync=False, requests=1_000)
    except HostFault as fault:
        pytest.skip(f"{fault.what}: {fault.fix}")
    address, user = Address("127.0.0.1", ports.free()), users.server_user(has_account=True)
    who: dict[str, Any] = {}
    if user is not None:
        who = {"user": user.uid, "group": user.gid, "extra_groups": []}
    with tempfile.TemporaryDirectory(prefix="shore-") as name:
        work = Path(name)
        work.chmod(0o755)  # the server's user has to enter it
        service.prepare(work)
        start = service.start(work, address)
        words = [str(start.program), *start.words]
        with subprocess.Popen(
            words, cwd=work, stderr=subprocess.DEVNULL, start_new_session=True, **who
        ) as live:
            try:
                deadline = time.monotonic() + READY_S_MAX
                while not service.ready(address, 1.0):
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
                yield service, address, live.pid
            finally:
                live.send_signal(start.stop)
                live.wait(READY_S_MAX)


def test_its_answers_are_those_that_are_computed_anew(served: tuple[Shore, Address, int]) -> None:
    service, address, leader = served
    assert ("answers checked", "8 requests, computed anew") in service.check(address)
    wrong: list[tuple[int, str]] = []
    kinds: set[str] = set()

    def ask(first: int) -> None:
        with Sql(address, cluster.USER, cluster.DATABASE, within_s=30.0) as connection:
            for n in range(first, first + 60):
                text = connection.value(f"SELECT shore({n})")
                kinds.add(text.partition(" ")[0])
                if not service.scale.is_reply(n, text) or service.scale.is_reply(n + 1, text):
                    wrong.append((n, text))
                assert re.search(tpcc.REPLY, text)

    threads = [threading.Thread(target=ask, args=(first,)) for first in (0, 30, 60)]
    for thread in threads:
        thread.start()
    members = {member.name for member in proc.session(leader)}
    for thread in threads:
        thread.join()
    assert not wrong
    assert kinds == {"new-order", "payment"}
    assert members == {"postgres"}, "its processes have sessions of their own, and are its"
    (fact,) = service.audit(address)
    match = re.fullmatch(r"after (\d+) orders and (\d+) payments", fact[1])
    assert match is not None
    assert int(match[1]) + int(match[2]) >= 180 + 8, "whatever was asked was done"


def test_one_line_in_a_hundred_comes_from_another_warehouse(
    served: tuple[Shore, Address, int],
) -> None:
    _, address, _ = served
    with Sql(address, cluster.USER, cluster.DATABASE, within_s=60.0) as connection:
        share = connection.value(
            "SELECT avg((l.supply <> 1)::int) FROM generate_series(1, 5000) AS n, "
            "lines_of(n, 1) AS l"
        )
    assert 0.0075 < float(share) < 0.0125


@pytest.mark.parametrize("warehouses", [2, 8])
def test_fifteen_payments_in_a_hundred_are_of_another_warehouse(warehouses: int) -> None:
    scale = tpcc.Scale(warehouses=warehouses, customers=40, items=500)
    payments = [scale._payment(n) for n in range(20_000)]
    away = sum(cw != w for _, w, _, cw, *_ in payments)
    assert 0.135 < away / len(payments) < 0.165
    assert {int(cw) for _, _, _, cw, *_ in payments} == set(range(1, warehouses + 1))
    lonely = tpcc.Scale(warehouses=1, customers=40, items=500)
    assert {lonely._payment(n)[3] for n in range(1_000)} == {"1"}


def test_no_one_but_the_one_who_loads_is_let_in(served: tuple[Shore, Address, int]) -> None:
    _, address, _ = served
    superuser = cluster.SUPERUSER
    for user, database in ((superuser, superuser), (superuser, "shore"), ("sojourn", superuser)):
        with pytest.raises(SqlError, match="pg_hba"):
            Sql(address, user, database, within_s=5.0)
    with (
        Sql(address, cluster.USER, cluster.DATABASE, within_s=5.0) as connection,
        pytest.raises(SqlError, match=r"permission denied|must be superuser"),
    ):
        connection.ask("COPY warehouse TO PROGRAM 'true'")


@pytest.mark.parametrize(
    ("damage", "flaw"),
    [
        ("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1", "w_ytd is not the sum"),
        ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3", "last order"),
        ("UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_i_id = 7", "stock has not seen"),
        ("INSERT INTO history VALUES (1, 1, 1, 1, 1, now(), 5, 'x')", "history is not"),
    ],
)
def test_rows_that_do_not_add_up_are_found_out(
    served: tuple[Shore, Address, int], monkeypatch: pytest.MonkeyPatch, damage: str, flaw: str
) -> None:
    service, address, _ = served
    with Sql(address, cluster.USER, cluster.DATABASE, within_s=30.0) as connection:
        connection.ask("BEGIN")
        connection.ask(damage)
        # What others see is sound still: it is asked within the same transaction, and rolled back.
        monkeypatch.setattr(Shore, "_ask", lambda _, __, query, ___: connection.value(query))
        with pytest.raises(RunFault, match=f"not consistent: .*{flaw}"):
            service.audit(address)
        connection.ask("ROLLBACK")
        assert service.audit(address)


def test_an_audit_that_is_not_answered_says_nothing_of_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres, "home", lambda: NOWHERE)
    waited: list[float] = []

    def silent(_: Shore, __: Address, ___: str, within_s: float) -> str:
        waited.append(within_s)
        raise SqlError("timed out")

    monkeypatch.setattr(Shore, "_ask", silent)
    sizes = {"customers": 3_000, "items": 100_000}
    for warehouses in (1, 200):
        service = built(**{**sizes, "warehouses": warehouses})
        with pytest.raises(RunFault, match="is unknown: timed out") as caught:
            service.audit(Address("127.0.0.1", 1))
        assert "believed" not in caught.value.fix
    assert 60 < waited[0] < 80
    assert waited[1] > 1_000, "23 GB are not read in a minute"


def test_a_wrong_answer_ends_the_check(
    served: tuple[Shore, Address, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, address, _ = served
    monkeypatch.setattr(Shore, "_ask", lambda *_: "payment 0 w 1 d 1 cw 1 cd 1 c 1 amount 1.00")
    with pytest.raises(RunFault, match="request 0 is answered wrongly"):
        service.check(address)


def test_sizes_follow_from_machine_and_profile_and_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres, "home", lambda: NOWHERE)
    small = Allowance(cpus=2, memory_bytes=GIB, scale=1 / 128, profile="quick")
    made = services.build("shore", {}, small)
    assert isinstance(made, Shore)
    assert made.scale == tpcc.Scale(warehouses=2, customers=30, items=1_000)
    asked = made.endpoint(Address("127.0.0.1", 1)).job["connections"]
    assert (made.threads, made.needs().workers, asked) == (2, 2, 2)
    assert made.needs().runs_as is RunsAs.ACCOUNT
    whole = services.build("shore", {"threads": 8}, ROOMY)
    assert isinstance(whole, Shore)
    assert whole.scale == tpcc.Scale(warehouses=8, customers=3_000, items=100_000)
    with pytest.raises(HostFault, match="more than half of the free memory"):
        services.build("shore", {"buffers_mb": 1_000}, small)
    full = Allowance(cpus=2, memory_bytes=8 * GIB, disk_bytes=GIB)
    with pytest.raises(HostFault, match="of disk") as caught:
        services.build("shore", {"warehouses": 50}, full)
    assert "TMPDIR" in caught.value.fix


@pytest.mark.parametrize(
    ("params", "is_syncing", "is_durable"),
    [({}, True, False), ({"fsync": True}, True, True), ({"fsync": False}, False, False)],
)
def test_only_where_a_study_says_fsync_must_commits_reach_a_disk(
    *,
    params: dict[str, services.Value],
    is_syncing: bool,
    is_durable: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres, "home", lambda: NOWHERE)
    made = built(**params)
    assert (made.needs().is_syncing, made.needs().is_durable) == (is_syncing, is_durable)
    assert "on the disk" not in dict(made.setup())["commit"]


def test_other_connections_than_threads_are_refused_and_no_study_asks_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres, "home", lambda: NOWHERE)
    made = built(threads=3)
    assert made.adapted({"connections": 3, "arrivals": "poisson"}) is made
    with pytest.raises(SpecFault, match="32 connections are not its 3 threads"):
        made.adapted({"connections": 32})
    asked = [
        one.load for name in spec.names() for one in spec.load(name).services if one.kind == "shore"
    ]
    assert len(asked) >= 3
    for load in asked:
        assert "connections" not in load


def test_no_command_of_the_file_is_cut_by_an_empty_line() -> None:
    text = cluster.statements(tpcc.Scale(warehouses=3, customers=30, items=1_000))
    assert "@" not in text
    commands = [part for part in text.split(";\n\n") if part.strip()]
    begins = {"CREATE", "INSERT", "GRANT", "VACUUM"}
    for command in commands:
        code = [line for line in command.splitlines() if line and not line.startswith("--")]
        assert code[0].split()[0] in begins, command
        assert command.count("$$") in {0, 2}, command
    assert text.endswith(";\n\n"), "or the last one is not run"


def test_the_newest_of_the_distribution_is_taken_or_what_fetches_one_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for release in ("9.6", "15", "17"):
        bins = tmp_path / release / "bin"
        bins.mkdir(parents=True)
        for name in postgres.NEEDED if release != "17" else ("postgres",):
            (bins / name).touch(mode=0o755)
    assert postgres.home(tmp_path).bins == tmp_path / "15" / "bin"
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "maybe", lambda _: None)
    with pytest.raises(HostFault, match="not installed") as caught:
        postgres.home(tmp_path / "none")
    assert "sojourn install shore" in caught.value.fix
    folder = install.part("shore").folder
    (folder / "usr/lib/postgresql/16/bin").mkdir(parents=True)
    (folder / "manifest.json").write_text(
        '{"files": {}, "facts": {"bin": "usr/lib/postgresql/16/bin", "libraries": "usr/lib/x"}}'
    )
    home = postgres.home(tmp_path / "none")
    assert home.is_closed
    assert home.program("initdb") == folder / "usr/lib/postgresql/16/bin/initdb"
    copy = home.copied(tmp_path)
    assert copy.environment == {"LD_LIBRARY_PATH": str(tmp_path / "postgresql/usr/lib/x")}
    assert copy.program("postgres").parent.is_dir()


def test_a_silent_and_a_foreign_server_are_reported() -> None:
    with pytest.raises(SqlError):
        Sql(Address("127.0.0.1", ports.free()), "me", "shop", within_s=1.0)
    assert sql.complaint(b"").strip() == ":"
