"""What no row has: requests of a full server, of a load that ends in a stop, of handshakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.errors import Exit
from sojourn.importers import hey
from sojourn.referee import judge, words
from sojourn.referee.judgement import Judgement, Threads
from sojourn.referee.load import Load
from sojourn.referee.simulated_testing import Server, limited, open_loop, paced
from sojourn.referee.usage import Sample

S, MS = 1_000_000_000, 1_000_000
HEY = Load(tool="hey", rate_rps=1000, arrivals="paced", facts=hey.FACTS)
DUE = paced(1000, 20)


def text(of: Judgement) -> str:
    return "\n".join((*words.lines(of), *words.remarks(of)))


def test_a_full_server_is_the_limit_and_waits_are_not_known() -> None:
    """Half of the requests are missing, and the server never stood still."""
    seen = limited(DUE, Server(service_ns=2 * MS), 10, is_catching_up=True)
    samples = [
        Sample(at_ns=at * S, threads={7: ("worker", at * 97 * S // 100, 0)}) for at in range(40)
    ]
    of = judge(seen, HEY, threads=Threads(server=samples))
    assert of.limit.who == "server"
    assert (of.verdict, of.exit, of.users_rps) == ("misleading", Exit.VIOLATED, None)
    assert all(number.users is None for number in of.numbers)
    assert "the server was full" in text(of)
    assert "did not reach 1,000 requests/s" in text(of)


def test_a_load_that_ends_in_a_stop_has_users_until_its_end() -> None:
    server = Server(stops=((18 * S, 20_500 * MS),))
    of = judge(limited(DUE, server, 10, is_catching_up=False), HEY)
    assert (of.verdict, of.limit.who) == ("misleading", "server")
    assert [stop.held for stop in of.gaps.stops] == [0]
    assert of.gaps.stops[0].length_ns == pytest.approx(2.5 * S, rel=0.01)
    truth = float(np.quantile(open_loop(DUE, server).total_ns, 0.99))
    assert truth > 2 * S
    assert of.numbers[2].here == pytest.approx(truth, rel=0.1)
    assert "ended in a stop" in text(of)


def test_a_last_slow_reply_is_no_stop_while_other_connections_are_free() -> None:
    seen = limited(DUE, Server(stops=((9 * S, 9_500 * MS),)), 10, is_catching_up=False)
    end = seen.end_ns.copy()
    end[-1] += 300 * MS
    of = judge(replace(seen, end_ns=end), HEY)
    assert [stop.held > 0 for stop in of.gaps.stops] == [True]


@pytest.mark.parametrize(("open_until_s", "verdict"), [(20, "fair"), (24, "unknown")])
def test_open_connections_without_a_request_may_be_a_server_that_hangs(
    open_until_s: int, verdict: str
) -> None:
    samples = [
        Sample(at_ns=at * S // 2, threads={}, connections=10 * (at <= 2 * open_until_s))
        for at in range(60)
    ]
    seen = limited(DUE, Server(), 10, is_catching_up=False)
    of = judge(seen, HEY, threads=Threads(server=samples))
    assert of.verdict == verdict
    assert ("did not answer" in text(of)) == (verdict == "unknown")


def test_a_load_shorter_than_two_looks_is_not_fair() -> None:
    """The client is full all the time, and no look lies within the load."""
    seen = limited(paced(1000, 1), Server(), 1, is_catching_up=False)
    end_s = float(seen.end_ns[-1] - seen.start_ns[0]) / S
    samples = [
        Sample(at_ns=int(seen.start_ns[0] + at * end_s * S), threads={7: ("client", at * S, 0)})
        for at in (-1, 2)
    ]
    of = judge(seen, Load(tool="hey", facts=hey.FACTS), threads=Threads(client=samples))
    assert (of.limit.who, of.verdict, of.exit) == ("unknown", "unknown", Exit.UNKNOWN)
    assert "run it for 2 s or longer" in text(of)


def test_several_requests_in_one_segment_are_not_judged() -> None:
    of = judge(limited(DUE, Server(), 10, is_catching_up=False), replace(HEY, pipelined=16))
    assert of.verdict == "unknown"
    assert "sends 16 requests at once" in text(of)


def test_handshakes_of_many_connections_are_not_judged() -> None:
    load = replace(HEY, handshakes=2)
    assert judge(limited(DUE, Server(), 10, is_catching_up=False), load).verdict == "fair"
    of = judge(open_loop(DUE, Server()), load)
    assert of.verdict == "unknown"
    assert "are handshakes of new connections" in text(of)
