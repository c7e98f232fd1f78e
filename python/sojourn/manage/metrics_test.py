"""Text for Prometheus is of its format, whatever others named."""

from __future__ import annotations

import contextlib
import re
import socket
import urllib.error
import urllib.request
from typing import Any, get_args

import pytest

from sojourn.controllers.look import Knob
from sojourn.controllers.testing import look
from sojourn.errors import HostFault, SpecFault
from sojourn.manage import metrics
from sojourn.manage.metrics import KIND, Listener, Metrics, parsed

LINE = re.compile(
    r'[a-z_0-9]+(\{([a-z]+="([^"\\\n]|\\[\\n"])*",?)+\})? -?[0-9.]+(e-?[0-9]+)?', re.ASCII
)
LEADING = {
    "accept_queue": 3.0,
    "receive_queue_bytes": 600.0,
    "psi_cpu": 0.25,
    "psi_io": 0.5,
    "psi_memory": 0.125,
    "disk": 7e6,
    "network": 8e6,
    "memory_bandwidth": 9e8,
    "cache_bytes": 4096.0,
}
#: Names that a chart of a manager's knobs reads.
SHOWN = (
    "quota_cores",
    "cores",
    "weight",
    "idle",
    "memory_bytes",
    "io_limit_bytes_per_second",
    "frozen",
    "policy",
    "egress_limit_bytes_per_second",
    "frequency_limit_hertz",
    "cache_ways",
    "memory_bandwidth_percent",
)
HOSTILE = 'x"} 1\n# EOF\nevil{a="\\'


def asked(url: str) -> Any:
    return urllib.request.urlopen(url, timeout=10)  # noqa: S310  # its own


def filled(controller: str = "posterior") -> Metrics:
    one = Metrics(controller)
    one.look = look(
        1,
        0.5,
        n=1000,
        above=3,
        batch={"quota": 0.5},
        web_has={"cpu": 1.5, "runq_delay_ms": 0.25, **LEADING},
    )
    one.looks, one.bad = 7, 2
    one.changes["batch", "quota"] += 3
    return one


def test_it_says_what_is_seen_and_leaves_out_what_is_not_known() -> None:
    lines = filled().text().splitlines()
    assert 'sojourn_group_window_p99_seconds{group="web"} 0.0005' in lines
    assert 'sojourn_group_window_late{group="web"} 3' in lines
    assert 'sojourn_group_target_seconds{group="web"} 0.001' in lines
    assert 'sojourn_group_runq_delay_seconds{group="web"} 0.00025' in lines
    assert 'sojourn_group_quota_cores{group="batch"} 0.5' in lines
    assert 'sojourn_manage_changes_total{group="batch",knob="quota"} 3' in lines
    assert "sojourn_manage_looks_total 7" in lines
    assert not [one for one in lines if one.startswith('sojourn_group_quota_cores{group="web"}')]
    assert not [one for one in lines if "None" in one or "nan" in one]


def test_every_knob_of_a_group_has_a_metric() -> None:
    levels: dict[str, Any] = {
        "quota": 0.5,
        "cores": 1,
        "weight": 20,
        "idle": True,
        "memory": 7,
        "io": 8.0,
        "frozen": True,
        "policy": "batch",
        "egress": 9.0,
        "frequency": 2e9,
        "ways": 3,
        "bandwidth": 40,
    }
    assert set(levels) == set(get_args(Knob))
    one = Metrics("static")
    one.look = look(1, 0.5, batch=levels)
    lines = one.text().splitlines()
    assert 'sojourn_group_policy{group="batch",policy="batch"} 1' in lines
    for name, level in zip(SHOWN, levels.values(), strict=True):
        if name != "policy":
            assert f'sojourn_group_{name}{{group="batch"}} {float(level):.9g}' in lines


def test_every_leading_signal_is_shown_with_its_unit_and_none_that_is_missing() -> None:
    text = filled().text()
    units = {"disk": "_bytes_per_second", "network": "_bytes_per_second"}
    names = {name: f"{name}{units.get(name, '')}" for name in LEADING}
    names["memory_bandwidth"] = "memory_bytes_per_second"
    for name, value in LEADING.items():
        assert f'sojourn_group_{names[name]}{{group="web"}} {value:.9g}\n' in text
        assert f'sojourn_group_{names[name]}{{group="batch"}}' not in text
        assert f"# HELP sojourn_group_{names[name]} " in text


@pytest.mark.parametrize("controller", ["posterior", f"program:{HOSTILE}"])
def test_each_line_is_one_of_the_format(controller: str) -> None:
    text = filled(controller).text()
    *lines, last, end = text.split("\n")
    assert (last, end) == ("# EOF", "")
    typed = {}
    for line in lines:
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in typed
            typed[name] = kind
        elif not line.startswith("# HELP "):
            assert LINE.fullmatch(line), line
            name = line.partition("{")[0].partition(" ")[0]
            suffix = {"counter": "_total", "info": "_info", "gauge": ""}
            assert any(name == f"{base}{suffix[kind]}" for base, kind in typed.items()), line


def test_a_name_of_others_stays_one_label() -> None:
    (line,) = [one for one in filled(HOSTILE).text().split("\n") if "manager_info{" in one]
    assert line == ('sojourn_manager_info{controller="x\\"} 1\\n# EOF\\nevil{a=\\"\\\\"} 1')


def test_prometheus_own_reader_reads_it() -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    families = list(parser.text_string_to_metric_families(filled(HOSTILE).text()))
    labels = {s.labels.get("controller") for f in families for s in f.samples}
    assert HOSTILE in labels


def test_it_answers_on_loopback_and_only_metrics() -> None:
    with contextlib.closing(Listener("0", filled())) as one:
        assert one.url.startswith("http://127.0.0.1:")
        with asked(one.url) as answer:
            assert answer.headers["Content-Type"] == KIND
            assert answer.read().decode().startswith("# TYPE sojourn_manager info")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            asked(one.url.replace("metrics", "etc/passwd"))
        port = one.url.rpartition(":")[2].partition("/")[0]
        with pytest.raises(HostFault, match="metrics cannot be offered"):
            Listener(port, filled())


def test_a_client_that_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "REQUEST_S", 0.2)
    with contextlib.closing(Listener("0", filled())) as one:
        port = int(one.url.rpartition(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as mute:
            mute.sendall(b"GET /metr")
            with asked(one.url) as answer:
                assert answer.status == 200
            assert mute.recv(100) == b""


def test_clients_that_say_nothing_keep_no_one_waiting_and_the_oldest_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics, "REQUEST_S", 60.0)
    with contextlib.closing(Listener("0", filled())) as one, contextlib.ExitStack() as left:
        place = ("127.0.0.1", int(one.url.rpartition(":")[2].partition("/")[0]))
        connected = [
            left.enter_context(socket.create_connection(place, timeout=10))
            for _ in range(metrics.CLIENTS_MAX + 2)
        ]
        with asked(one.url) as answer:
            assert answer.status == 200
        for mute in connected[:3]:
            assert mute.recv(100) == b""
        connected[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            connected[-1].recv(100)


@pytest.mark.parametrize("address", ["\udcff:9123", "a\0:1", "::1:0"])
def test_where_it_cannot_listen_is_reported(address: str) -> None:
    with pytest.raises(HostFault, match="cannot be offered"):
        Listener(address, filled())


@pytest.mark.parametrize(
    "address", ["", "x", "127.0.0.1", "127.0.0.1:70000", ":-1", ":²", ":1" + "0" * 5000]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SpecFault, match="is no address"):
        parsed(address)
