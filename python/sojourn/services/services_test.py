from __future__ import annotations

import mmap
import os
import socket
from pathlib import Path

import pytest

from sojourn import programs, services
from sojourn.disk import tables
from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.install import Made, Part, answers
from sojourn.places import Address, ports, users
from sojourn.places.task import Task
from sojourn.plan.rehearsal import RUNS_ALREADY
from sojourn.services import (
    KINDS,
    Allowance,
    media_streaming,
    memcached_memory,
    nginx,
    nginx_files,
)
from sojourn.services.capabilities import needs, pinned
from sojourn.services.memcached import Memcached
from sojourn.services.nginx import Nginx
from sojourn.services.scaling import scaled
from sojourn.services.tpcc import postgres, specjbb
from sojourn.spec import kinds

GIB = 1 << 30
AT = Address(ports.HOST, 1)
ROOMY = Allowance(cpus=14, memory_bytes=64 * GIB, open_files=1 << 20)
NEEDED: dict[str, dict[str, services.Value]] = {  # what has no default
    "external": {"target": "http://localhost:1/"},
    "command": {"argv": "sh {port}", "threads": 1, "environment": "N={threads}"},
    "container": {"image": "x", "port": 80},
}
NO_KIND = {
    *("__init__", "asked", "capabilities", "kind", "memcached_memory", "nginx_settings", "params"),
    *("first_replies", "proof", "queries", "scaling", "secret", "typed", "unpack", "words"),
    *("answers", "cluster", "company", "draws", "postgres", "shore_settings", "trade"),
    *("first_tries", "nginx_files"),
}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every program is there, and says no version; so is what `sojourn install` makes."""
    (tmp_path / answers.ANSWERS).write_text("one\n")
    monkeypatch.setattr(Part, "ready", lambda self: Made(at=tmp_path, files={}))
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/nowhere") / name)
    made = Made(at=Path("/nowhere"), files={})
    monkeypatch.setattr(specjbb, "java_home", lambda: (Path("/nowhere/java"), made))
    home = postgres.Home(root=None, bins=Path("/nowhere"))
    monkeypatch.setattr(postgres, "home", lambda: home)
    facts = {"films": "4", "qualities": "240p", "total_bytes": "1000", "ffmpeg": "1"}
    films = Made(at=Path("/nowhere"), files={"film0/q0/list.m3u8": ""}, facts=facts)
    monkeypatch.setattr(media_streaming, "made", lambda: films)


def built(name: str, allowance: Allowance, **params: services.Value) -> services.Service:
    return services.build(name, params, allowance)


def test_the_plan_knows_which_kind_runs_already() -> None:
    assert [kind.name for kind in KINDS.values() if kind.is_foreign] == [RUNS_ALREADY]


def test_the_table_lists_every_file_of_the_folder() -> None:
    folder = Path(services.__file__).parent
    files = {path.stem for path in folder.rglob("*.py") if path.parent.name != "clients"}
    files = {name for name in files if not name.endswith("_test")}
    assert files - NO_KIND == set(KINDS)
    assert all(name == kind.name for name, kind in KINDS.items())


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_describes_itself_and_its_defaults_are_allowed(name: str) -> None:
    kind = KINDS[name]
    assert kind.about
    assert kind.source
    assert kind.width is None or kind.width in {param.name for param in kind.params} | {"threads"}
    inputs = {p.name: p.default for p in kind.params if p.default is not None}
    services.build(name, {**inputs, **NEEDED.get(name, {})}, ROOMY)


def test_with_room_the_defaults_are_the_papers() -> None:
    cache, web = built("memcached", ROOMY), built("nginx", ROOMY)
    assert isinstance(cache, Memcached)
    assert isinstance(web, Nginx)
    assert (cache.items, cache.key_bytes, cache.value_bytes) == (6_400_000, 30, 200)
    assert (cache.threads, web.processes) == (7, 7)
    assert (web.files, web.file_bytes, web.open_file_cache) == (100_000, 4096, True)
    assert ("items", "6 400 000 (C4)") in cache.why


def test_the_scaling_is_stated() -> None:
    small = Allowance(cpus=2, memory_bytes=64 * GIB, scale=1 / 32, profile="quick")
    service = built("memcached", small)
    assert isinstance(service, Memcached)
    assert (service.items, service.threads) == (200_000, 2)
    assert service.why == (
        ("items", "200 000 (1/32 of C4's 6 400 000: profile quick)"),
        ("threads", "2 of C4's 7: one per server CPU (L23)"),
    )


def test_memory_limits_what_the_profile_asks_for() -> None:
    allowance = Allowance(cpus=7, memory_bytes=GIB, profile="full")
    service = built("memcached", allowance)
    assert isinstance(service, Memcached)
    assert service.items < 6_400_000
    assert "all that memory allows" in dict(service.why)["items"]
    assert service.memory_mb << 20 <= GIB // 2


def test_what_does_not_fit_is_refused_with_what_would() -> None:
    allowance = Allowance(cpus=7, memory_bytes=GIB)
    with pytest.raises(HostFault) as caught:
        built("memcached", allowance, items=100_000_000)
    fits = int(caught.value.fix.split()[3])
    assert isinstance(built("memcached", allowance, items=fits), Memcached)
    with pytest.raises(HostFault):
        built("memcached", allowance, items=fits + 1)


def test_disk_and_inodes_limit_the_files() -> None:
    allowance = Allowance(cpus=7, memory_bytes=64 * GIB, disk_bytes=64 * GIB, disk_files=10_000)
    assert nginx_files.room(4096, allowance) == (5_000, "inodes")
    with pytest.raises(HostFault, match="inodes allows 5000"):
        built("nginx", allowance, files=5_001)


def test_a_file_in_memory_takes_whole_pages_of_this_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    allowance = Allowance(cpus=1, memory_bytes=GIB)
    monkeypatch.setattr(mmap, "PAGESIZE", 1 << 16)
    assert nginx_files.room(4096, allowance) == (GIB // 2 // ((1 << 16) + 1024), "memory")


def test_open_files_limit_connections_and_the_cache_of_open_files() -> None:
    tight = Allowance(cpus=7, memory_bytes=64 * GIB, open_files=20_000)
    web = built("nginx", tight)
    assert isinstance(web, Nginx)
    assert web.open_files == 20_000
    assert f"max={web.cached_max} " in web.config(AT)
    assert "of 100 000 files: more may not be open" in dict(web.setup())["open_file_cache"]
    cache = built("memcached", Allowance(cpus=7, memory_bytes=64 * GIB, open_files=1024))
    assert isinstance(cache, Memcached)
    assert cache.open_files <= 1024
    with pytest.raises(HostFault, match="20000 connections"):
        built("memcached", tight, connections_max=20_000)


def test_threads_that_must_take_turns_are_named() -> None:
    got = scaled("threads", 8, 7, Allowance(cpus=2, memory_bytes=GIB), cpus=2)
    assert got.value == 8
    assert got.text == (
        ("threads", "8, as the study says (C4: 7); 8 on 2 CPUs: they take turns (L23)"),
    )


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"thread": 2}, "did you mean threads"),
        ({"threads": 0}, "1..1024"),
        ({"threads": "two"}, "whole number, not text"),
        ({"threads": True}, "whole number, not true or false"),
        ({"key_bytes": 251}, "4..250"),
        ({"udp": 1}, "true or false, not a whole number"),
    ],
)
def test_bad_parameters_are_refused(params: dict[str, services.Value], text: str) -> None:
    with pytest.raises(SpecFault) as caught:
        services.build("memcached", params, ROOMY)
    assert text in str(caught.value)


@pytest.mark.parametrize(("name", "param"), [("specjbb", "warm_s"), ("command", "stop_s")])
def test_what_is_no_number_is_in_no_range(name: str, param: str) -> None:
    inputs = {**NEEDED.get(name, {}), param: float("nan")}
    with pytest.raises(SpecFault, match=rf"{param} is nan, outside 0\.\.600"):
        services.build(name, inputs, ROOMY)
    ((_, what, _),) = kinds.mistakes([{"kind": name, "params": inputs}])
    assert what == f"{param} is nan, not a finite number"


@pytest.mark.parametrize("key", ["set_share", "probe_rate"])
def test_what_load_is_asked_for_is_finite(key: str) -> None:
    for value in (float("nan"), float("inf")):
        ((at, _, fix),) = kinds.mistakes([{"kind": "redis", "load": {key: value}}])
        assert (at[-1], fix) == (key, "write a number")


def test_an_unknown_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecFault) as caught:
        services.kind("memcache")
    assert caught.value.fix == "did you mean memcached?"


def test_memcacheds_memory_holds_every_item_in_the_worst_chunk() -> None:
    # items.c: header 48, CAS 8, key and its zero, value and its line end; chunks grow by 1.25.
    for key, value in [(30, 200), (250, 1), (30, 100_000)]:
        least = 48 + 8 + key + 1 + value + 2
        assert memcached_memory.item_bytes(key, value) >= least * 1.25
    # A page of 1 MiB holds two chunks of 340 KiB or more, never three.
    assert (
        memcached_memory.item_bytes(30, 350_000) == (1 << 19) + memcached_memory.HASH_BYTES_PER_ITEM
    )
    assert memcached_memory.item_bytes(30, 1_000_000) >= 1_000_000


def test_nginx_configuration_has_what_c4_asks() -> None:
    web = built("nginx", ROOMY)
    assert isinstance(web, Nginx)
    text = web.config(AT._replace(port=8080))
    assert "worker_processes 7;" in text
    assert "open_file_cache max=100000 " in text
    assert "listen 127.0.0.1:8080;" in text
    assert "access_log off;" in text
    cold = built("nginx", ROOMY, open_file_cache=False, reuseport=True)
    assert isinstance(cold, Nginx)
    assert "open_file_cache" not in cold.config(AT)
    assert "listen 127.0.0.1:1 reuseport;" in cold.config(AT)


def test_files_differ_in_content_and_not_in_size() -> None:
    contents = {nginx_files.content(number, 4096) for number in range(200)}
    assert len(contents) == 200
    assert {len(content) for content in contents} == {4096}
    assert nginx_files.content(3, 0) == b""


def test_workers_are_distinguished_by_name() -> None:
    threads = [
        Task(pid=10, tid=10, name="memcached", command="memcached"),
        Task(pid=10, tid=12, name="mc-worker", command="memcached"),
        Task(pid=10, tid=11, name="mc-worker", command="memcached"),
        Task(pid=10, tid=13, name="mc-lrumaint", command="memcached"),
    ]
    assert pinned(built("memcached", ROOMY), threads) == (11, 12)
    processes = [
        Task(pid=20, tid=20, name="nginx", command="nginx: master process nginx"),
        Task(pid=21, tid=21, name="nginx", command="nginx: worker process"),
        Task(pid=22, tid=22, name="nginx", command="nginx: cache manager process"),
    ]
    assert pinned(built("nginx", ROOMY), processes) == (21,)


def test_a_taken_port_is_seen_and_its_holder_named() -> None:
    port = ports.free()
    assert ports.is_free(port)
    with socket.socket() as server:
        server.bind((ports.HOST, port))
        server.listen()
        assert not ports.is_free(port)
        assert "process" in ports.holder(port)
    assert ports.is_free(port)


def test_a_silent_server_and_no_server_are_no_answer() -> None:
    with socket.socket() as server:
        server.bind((ports.HOST, 0))
        server.listen()
        address = Address(*server.getsockname())
        assert ports.ask(address, b"x", within_s=0.05, until=b"y") is None
    assert ports.ask(address, b"x", within_s=0.05, until=b"y") is None


def test_numbers_that_refer_to_the_servers_cpus_are_settled_with_them() -> None:
    four = Allowance(cpus=4, memory_bytes=GIB)
    for text, threads in (("cpus", 4), ("cpus+1", 5), ("cpus-3", 1)):
        cache, web = built("memcached", four, threads=text), built("nginx", four, workers=text)
        assert (needs(cache).workers, needs(web).workers) == (threads, threads)
    for wrong in ("cpus-4", "2cpus", "all"):
        with pytest.raises(SpecFault):
            built("memcached", four, threads=wrong)
    with pytest.raises(SpecFault):
        built("memcached", four, items="cpus")  # that is not a number of CPUs


def test_instances_share_ports_keys_and_memory() -> None:
    one = built("memcached", ROOMY, threads=1, items=100_000)
    four = built("memcached", ROOMY, threads=1, items=100_000, instances=4)
    assert isinstance(one, Memcached)
    assert isinstance(four, Memcached)
    assert (one.needs().ports, four.needs().ports, four.needs().workers) == (1, 4, 4)
    at = Address(ports.HOST, 5000)
    assert four.endpoint(at).target == "memcache://" + ",".join(
        f"{ports.HOST}:{5000 + n}" for n in range(4)
    )
    assert one.endpoint(at).target == f"memcache://{ports.HOST}:5000"
    assert one.start(Path("/w"), at).program == Path("/nowhere/memcached")
    start = four.start(Path("/w"), at)
    assert str(start.program) == "/bin/sh"
    script = " ".join(start.words)
    assert [script.count(f"-p {5000 + n} ") for n in range(4)] == [1] * 4
    assert one.memory_mb / 4 < four.memory_mb < one.memory_mb
    each, table = (four.memory_mb + 64 << 20) + four.connections_max * 4096, 3 * 100_000 * 16
    assert 4 * each < four.needs().memory_bytes <= 4 * each + table


@pytest.mark.parametrize("uid", [0, 1000])
def test_servers_of_a_root_that_cannot_become_another_user_run_as_root(
    uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memcached refuses root without `-u`; workers of NGINX try to become `nobody`, and end."""
    monkeypatch.setattr(users, "server_user", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    for instances in (1, 2):
        cache = built("memcached", ROOMY, threads=1, items=1000, instances=instances)
        assert isinstance(cache, Memcached)
        words = " ".join(cache.start(Path("/w"), AT).words)
        assert words.count("-u root") == (0 if uid else instances)
    web = built("nginx", ROOMY)
    assert isinstance(web, Nginx)
    assert web.config(AT).startswith("user root;\n") is (uid == 0)


def test_every_instance_must_answer_and_their_items_are_counted_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = built("memcached", ROOMY, threads=1, items=1000, instances=2)
    assert isinstance(pair, Memcached)
    held = {5000: 600, 5001: 400}

    def text(at: Address, request: bytes, **_: object) -> bytes | None:
        if at.port not in held:
            return None
        count = b"STAT curr_items %d\r\nSTAT hash_is_expanding 0\r\nEND\r\n" % held[at.port]
        return count if request.startswith(b"stats") else b"VERSION 1\r\n"

    monkeypatch.setattr(ports, "ask", text)
    at = Address(ports.HOST, 5000)
    assert pair.ready(at, 1.0)
    assert pair.is_settled(at)
    assert dict(pair.check(at))["items held"] == "1 000"
    held[5001] = 399
    with pytest.raises(RunFault, match="holds 999 of 1000"):
        pair.check(at)
    del held[5001]
    assert not pair.ready(at, 1.0)
    assert not pair.is_settled(at)


def test_nginx_speaks_http2_if_it_is_to() -> None:
    plain, other = built("nginx", ROOMY), built("nginx", ROOMY, http2=True, reuseport=True)
    assert isinstance(plain, Nginx)
    assert isinstance(other, Nginx)
    assert "listen 127.0.0.1:1;" in plain.config(AT)
    assert "listen 127.0.0.1:1 http2 reuseport;" in other.config(AT)
    assert other.endpoint(AT).target == "h2c://127.0.0.1:1/"
    assert dict(other.setup())["protocol"] == "HTTP/2 without TLS"


def lying_on(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All folders are on a file system of this kind, as the kernel lists it."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / / rw - {kind} x rw\n")
    monkeypatch.setattr(tables, "MOUNTS", mounts)


@pytest.mark.parametrize("asked", ["is_cold", "directio"])
@pytest.mark.parametrize(
    ("kind", "why"), [("tmpfs", "tmpfs, which is memory"), ("zfs", "zfs, which has a cache")]
)
def test_what_is_in_memory_is_not_read_from_a_disk(
    asked: str, kind: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying_on(kind, tmp_path, monkeypatch)
    with pytest.raises(HostFault, match=why) as caught:
        built("nginx", ROOMY, **{asked: True})
    assert "TMPDIR=/var/tmp" in caught.value.fix
    assert isinstance(built("nginx", ROOMY), Nginx)


def test_settings_of_nginx_stand_in_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying_on("ext4", tmp_path, monkeypatch)
    plain, other = (
        built("nginx", ROOMY),
        built("nginx", ROOMY, sendfile=False, directio=True, gzip=True),
    )
    assert isinstance(plain, Nginx)
    assert isinstance(other, Nginx)
    assert "sendfile on;\n    directio off;\n    gzip off;" in plain.config(AT)
    assert "sendfile off;\n    directio 1;\n    gzip on;" in other.config(AT)
    assert plain.job()["expect_bytes"] == 4096
    assert "option" not in plain.job()
    assert "expect_bytes" not in other.job()
    assert other.job()["option"] == {"accept_encoding": "gzip"}


def test_files_of_a_cold_server_are_let_go_of_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying_on("ext4", tmp_path, monkeypatch)
    gone: list[str] = []
    monkeypatch.setattr(nginx, "forget", lambda path: gone.append(path.name))
    for is_cold, names in ((False, []), (True, ["0.html", "1.html"])):
        web = built("nginx", ROOMY, files=2, is_cold=is_cold)
        assert isinstance(web, Nginx)
        web.start(tmp_path, AT)
        assert gone == names
