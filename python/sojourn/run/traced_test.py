"""Where the tracer runs, and what it is asked."""

from __future__ import annotations

from sojourn.host import Placement
from sojourn.plan import traced as plan
from sojourn.plan.traced import Condition
from sojourn.run import traced
from sojourn.spec import ServiceSpec


def where(server: tuple[int, ...], client: tuple[int, ...], house: tuple[int, ...]) -> Placement:
    return Placement(
        server=server, client=client, housekeeping=house, client_wait="spin", shared=()
    )


def test_the_tracer_stays_off_server_and_client_where_it_can() -> None:
    apart = where((2, 3), (4,), (0, 1))
    for is_shielded in (True, False):
        assert traced.place(apart, is_shielded=is_shielded) == ((0, 1), False)


def test_on_two_cpus_it_gives_way_to_a_shielded_server_rather_than_stop_the_client() -> None:
    """Beside a client that spins and goes first, windows of 20 ms lasted 150."""
    two = where((1,), (0,), (0,))
    assert traced.place(two, is_shielded=True) == ((1,), True)
    assert traced.place(two, is_shielded=False) == ((0,), True)


def test_one_cpu_is_all_there_is() -> None:
    assert traced.place(where((0,), (0,), (0,)), is_shielded=False) == ((0,), True)


def test_culprits_are_asked_for_where_requests_meet_others_and_everything_is_traced() -> None:
    full = ServiceSpec(kind="memcached", measure=("breakdown",))
    for name in (plan.LOADED, plan.INTERFERENCE):
        words = traced.price(full, Condition(name, 0.9))
        assert "--blame=p99" in words
        assert words[words.index("--folded") + 1] == traced.FOLDED
    for name in (plan.UNLOADED, plan.CONTEXT_SWITCH):
        assert traced.price(full, Condition(name, 0.01)) == ("--all",)
    assert traced.price(ServiceSpec(kind="memcached", measure=("sweep",)),
                        Condition(plan.LOADED, 0.9)) == ()  # fmt: skip
