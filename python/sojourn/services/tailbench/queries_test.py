"""Answers are computed anew, and a wrong one is found out."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from sojourn import install, programs, services
from sojourn.errors import HostFault, RunFault
from sojourn.install import specjbb
from sojourn.install.part import CACHE
from sojourn.places import Address
from sojourn.places.task import Task
from sojourn.services import Allowance
from sojourn.services.capabilities import Prepares
from sojourn.services.clients import http_get
from sojourn.services.clients.http_get_test import speaking
from sojourn.services.tailbench import img_dnn, ordered_map, queries
from sojourn.services.tailbench.queries import Queries
from sojourn.services.tpcc.trade import Trade

GIB = 1 << 30
ROOMY = Allowance(cpus=2, memory_bytes=8 * GIB)
SMALL: dict[str, dict[str, services.Value]] = {
    "img_dnn": {"hidden": 40, "queries": 50},
    "ordered_map": {"items": 3_000, "batch": 150, "queries": 50},
    "silo": {"items": 1_000, "batch": 5, "warehouses": 2, "queries": 50},
    "planted": {"busy_us": 100, "wait_us": 100, "queries": 50},
    "specjbb": {"items": 1_000, "batch": 5, "heap_mb": 64, "warm_s": 0.1, "queries": 50},
}
END_S_MAX = 300.0


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The Java service, where there is a JDK; else as the user has it in the cache, if at all."""
    with pytest.MonkeyPatch.context() as patch:
        if specjbb.java() is not None:
            patch.setenv(CACHE, str(tmp_path_factory.mktemp("cache")))
            install.fetch(specjbb.PART, ())
        yield


def built(name: str, **params: services.Value) -> Queries:
    if name == "specjbb" and specjbb.PART.made() is None:
        pytest.skip(f"needs a JDK, or {specjbb.PART.command}")
    if programs.maybe(queries.PROGRAM) is None:
        pytest.skip("needs sojourn-query: make build")
    made = services.build(name, {**SMALL[name], **params}, ROOMY)
    assert isinstance(made, Queries)
    return made


@contextmanager
def served(service: Queries, work: Path, *more: str) -> Iterator[Address]:
    """The real program, until the end of the block; `more` words than the lab's."""
    if isinstance(service, Prepares):
        service.prepare(work)
    words = service.words(work, Address("127.0.0.1", 0))
    argv = [str(service.path), *words, *more]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as live:
        assert live.stdout is not None
        try:
            yield Address("127.0.0.1", json.loads(live.stdout.readline())["port"])
        finally:
            live.send_signal(signal.SIGTERM)
            live.wait(END_S_MAX)


@pytest.mark.parametrize("name", SMALL)
def test_its_answers_are_those_that_are_computed_anew(name: str, tmp_path: Path) -> None:
    service = built(name, threads=2)
    with served(service, tmp_path) as address:
        deadline = time.monotonic() + END_S_MAX
        while not service.ready(address, 2.0):
            assert time.monotonic() < deadline
        service.check(address)
        for query in range(0, 50, 7):
            text = service._ask(query, address, 5.0)
            assert text is not None
            assert len(text) == service.reply_bytes
            assert service.is_answer(query, text)
            assert not service.is_answer(query + 1, text)
        assert service._ask(50, address, 5.0) is None  # there is no such query
    report = json.loads((tmp_path / queries.REPORT).read_text())
    # The query that there is not; and a company is asked for nothing to see whether it is there.
    assert report["refused"] == (2 if isinstance(service, Trade) else 1)
    assert report["answered"] == sum(report["by_worker"])
    assert report["service_ns"]["count"] == report["answered"]


@pytest.mark.parametrize("name", SMALL)
def test_broken_data_is_found_out(name: str, tmp_path: Path) -> None:
    """It serves data of another seed: answers of the right form and length, and all wrong."""
    with served(built(name, seed=2), tmp_path) as address:
        service = built(name)
        assert service.ready(address, 5.0)
        with pytest.raises(RunFault, match="query 0 is answered wrongly"):
            service.check(address)


def test_one_item_more_on_a_shelf_is_found_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    service = built("specjbb")
    assert isinstance(service, Trade)
    with served(service, tmp_path, "--spoil", "yes") as address:
        with pytest.raises(RunFault, match="books do not agree: stock of item 0"):
            service.check(address)
        with pytest.raises(RunFault, match="books do not agree: stock of item 0"):
            service.audit(address)
    assert json.loads((tmp_path / queries.REPORT).read_text())["check"]["state"] == "broken"
    assert "the data do not hold together" in capfd.readouterr().err


def test_the_java_service_reports_its_longest_service_and_no_quantile_below_it(
    tmp_path: Path,
) -> None:
    service = built("specjbb", batch=5_000, warm_s=0.0)
    assert isinstance(service, Trade)
    with served(service, tmp_path) as address:
        assert all(service._ask(query, address, END_S_MAX) for query in range(3))
    report = json.loads((tmp_path / queries.REPORT).read_text())
    service_ns, mean = report["service"], report["service_ns"]["mean"]
    assert service_ns["count"] == report["answered"] == 3
    assert service_ns["p999"] == service_ns["p99"] == service_ns["max"], "the third of three"
    assert service_ns["p50"] <= service_ns["max"]
    assert mean <= service_ns["max"] <= 3 * mean


def test_who_never_stops_talking_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_get, "WHOLE_S", 0.3)
    seen: list[bool] = []
    dnn, store = built("img_dnn"), built("silo")
    with (
        speaking(itertools.repeat(b"x"), 0.02) as one,
        speaking(itertools.repeat(b"x"), 0.02) as two,
    ):

        def ask() -> None:
            seen.extend((dnn.ready(one, 0.2), store.ready(two, 0.2)))

        asker = threading.Thread(target=ask, daemon=True)
        asker.start()
        asker.join(5.0)
        assert seen == [False, False]


def test_a_logit_that_is_off_and_a_sum_that_is_off_by_one_are_wrong() -> None:
    net, tree = built("img_dnn"), built("ordered_map")
    assert isinstance(net, img_dnn.ImgDnn)
    assert isinstance(tree, ordered_map.OrderedMap)
    values = img_dnn.logits(net.seed, net.hidden, 3)

    def result(values: np.ndarray[tuple[int], np.dtype[np.float64]], best: int) -> str:
        logits = "".join(f"{value:>10.4f}" for value in values)
        return f"query {3:>10} class {best}\nlogits{logits}\n"

    best = int(values.argmax())
    assert net.is_answer(3, result(values, best))
    assert not net.is_answer(3, result(values, (best + 1) % 10))
    assert not net.is_answer(3, result(values + 0.01, best))
    assert not net.is_answer(4, result(values, best))
    count, total = ordered_map.lookup(tree.seed, tree.items, tree.batch, 3)
    head = f"query {3:>10} batch {tree.batch:>6} found {count:>6} sum "
    assert tree.is_answer(3, f"{head}{total:016x}\n")
    assert not tree.is_answer(3, f"{head}{total + 1:016x}\n")


def test_of_a_single_query_only_that_is_asked_before_load(monkeypatch: pytest.MonkeyPatch) -> None:
    service = built("ordered_map", queries=1)
    count, total = ordered_map.lookup(service.seed, 3_000, 150, 0)
    text = f"query {0:>10} batch {150:>6} found {count:>6} sum {total:016x}\n"
    monkeypatch.setattr(Queries, "_ask", lambda _, query, *__: None if query else text)
    (fact,) = service.check(Address("127.0.0.1", 1))
    assert fact[1].startswith("1 query, ")


def test_a_large_map_and_a_large_network_have_time_and_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/nowhere") / name)
    large = Allowance(cpus=2, memory_bytes=64 * GIB)
    tree = services.build("ordered_map", {"items": 20_000_000}, large)
    assert isinstance(tree, ordered_map.OrderedMap)
    assert tree.start(Path("/w"), Address("127.0.0.1", 1)).ready_s == 260.0
    store = services.build("silo", {"items": 100_000, "warehouses": 20}, large)
    assert isinstance(store, Trade)
    start = store.start(Path("/w"), Address("127.0.0.1", 1))
    assert (start.ready_s, start.stop_s) == (160.0, 25.0), (
        "an audit of 2 M items takes 3 s and more"
    )
    net = services.build("img_dnn", {"hidden": 16_384}, large)
    assert isinstance(net, img_dnn.ImgDnn)
    bytes_of_weights = 4 * (784 * 16_384 + 2 * 16_384**2 + 16_384 * 10)
    assert net.needs().memory_bytes == (256 << 20) + bytes_of_weights
    assert "2.2e+03 MB" in dict(net.setup())["network"]
    fits = Allowance(cpus=2, memory_bytes=4 * bytes_of_weights)
    assert services.build("img_dnn", {"hidden": 16_384}, fits)
    short = Allowance(cpus=2, memory_bytes=4 * bytes_of_weights - 4)
    with pytest.raises(HostFault, match="the lab has as well, do not fit"):
        services.build("img_dnn", {"hidden": 16_384}, short)


def test_the_lab_needs_no_more_than_its_copy_of_the_weights() -> None:
    hidden, seed = 1_500, 77
    tracemalloc.start()
    try:
        values = img_dnn.logits(seed, hidden, 3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    bytes_of_weights = img_dnn.weights_bytes(hidden)
    assert peak < bytes_of_weights + 64 * img_dnn.BLOCK
    row = hidden // 2  # of the second layer: as it is drawn all at once
    drawn = queries.units(queries.stream(seed, 1), row * hidden, hidden)
    wanted = (np.sqrt(6.0 / (2 * hidden)) * (2.0 * drawn - 1.0)).astype(np.float32)
    assert np.array_equal(img_dnn.weights(seed, hidden)[1][row], wanted)
    assert values.shape == (10,)


def test_workers_are_pinned_in_their_order_and_no_one_else() -> None:
    names = ["sojourn-query", "worker-10", "worker-2", "worker-x"]
    tasks = [Task(pid=1, tid=nth, name=name, command="") for nth, name in enumerate(names)]
    assert built("img_dnn").pinned(tasks) == (2, 1)


def test_the_defaults_are_cut_to_the_machine_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/nowhere") / name)
    small = Allowance(cpus=2, memory_bytes=GIB, scale=1 / 32, profile="quick")
    tree = services.build("ordered_map", {}, small)
    assert isinstance(tree, ordered_map.OrderedMap)
    assert (tree.items, tree.threads) == (50_000, 2)
    assert ("items", "50 000 (profile quick)") in tree.setup()
    with pytest.raises(HostFault, match="do not fit"):
        services.build("ordered_map", {"items": 50_000_000}, small)
