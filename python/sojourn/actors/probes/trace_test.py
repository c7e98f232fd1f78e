"""Where the tracer runs, and what it is asked."""

from __future__ import annotations

import subprocess

from sojourn.actors.probes import trace
from sojourn.host import Placement
from sojourn.plan import Phase, Point
from sojourn.plan.setting import Setting
from sojourn.spec import ServiceSpec


def where(server: tuple[int, ...], client: tuple[int, ...], house: tuple[int, ...]) -> Placement:
    return Placement(
        server=server, client=client, housekeeping=house, client_wait="spin", shared=()
    )


def test_the_tracer_stays_off_server_and_client_where_it_can() -> None:
    apart = where((2, 3), (4,), (0, 1))
    for is_shielded in (True, False):
        assert trace.place(apart, is_shielded=is_shielded) == ((0, 1), False)


def test_on_two_cpus_it_gives_way_to_a_shielded_server_rather_than_stop_the_client() -> None:
    """Beside a client that spins and goes first, windows of 20 ms lasted 150."""
    two = where((1,), (0,), (0,))
    assert trace.place(two, is_shielded=True) == ((1,), True)
    assert trace.place(two, is_shielded=False) == ((0,), True)


def test_one_cpu_is_all_there_is() -> None:
    assert trace.place(where((0,), (0,), (0,)), is_shielded=False) == ((0,), True)


def point(offered_rps: float = 1e3, **levels: str | float) -> Point:
    return Point(
        key="k",
        service="memcached",
        phase=Phase.TRACE,
        offered_rps=offered_rps,
        measure_s=16.0,
        warmup_s=0.0,
        seed=1,
        setting=Setting.of({"neighbour": "none", "load": 0.9, **levels}),
    )


def test_culprits_are_asked_for_where_requests_meet_others() -> None:
    for neighbour in ("none", "stream"):
        words = trace.price(point(neighbour=neighbour))
        assert "--blame=p99" in words
        assert words[words.index("--folded") + 1] == trace.FOLDED
    for neighbour in ("none", "spin"):
        alone = point(neighbour=neighbour, load=0.01, connections=1, offered_rps=1e6)
        assert trace.price(alone) == ("--all",)


def test_windows_are_asked_for_where_enough_requests_come_in_them() -> None:
    """In 16 s ten windows of 20 ms: 2000 requests at 10,000/s."""
    assert "--all" not in trace.price(point(offered_rps=10_001))
    assert trace.price(point(offered_rps=9_999))[:2] == ("--all", "--blame=p99")


def test_only_points_that_say_so_are_traced() -> None:
    spec = ServiceSpec(kind="memcached", measure=("breakdown",))
    assert isinstance(trace.build(spec, point(tracer=True)), trace.Tracer)
    assert trace.build(spec, point(tracer=False)) is None
    assert trace.build(spec, point()) is None


def test_notes_on_the_price_come_before_the_line_that_it_traces() -> None:
    note, begun = "note: users notice this trace\n", "tracing memcached (pid 4), 10s\n"
    assert trace.has_begun(note + begun)
    assert trace.has_begun(begun)
    for text in (note, begun[:-1], note + begun[:12], "no right to load BPF programs\n", ""):
        assert not trace.has_begun(text), text


def test_all_is_heard_that_a_tracer_says_before_it_begins() -> None:
    note, begun = "note: users notice this trace", "tracing memcached"
    for words, text in (
        (f"echo '{note}'; sleep 0.1; echo '{begun}'; exec sleep 30", f"{note}\n{begun}\n"),
        (f"echo '{note}'; echo refused", f"{note}\nrefused\n"),
    ):
        with subprocess.Popen(["sh", "-c", f"exec 2>&1; {words}"], stdout=subprocess.PIPE) as task:
            assert task.stdout is not None
            assert trace.await_begin(task.stdout) == text
            task.kill()
