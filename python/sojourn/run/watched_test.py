"""Which CPUs the log of the server's stops is about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sojourn.host import Placement
from sojourn.run.live import RunningService


@pytest.mark.parametrize(
    ("server", "client", "is_foreign", "wanted"),
    [
        ((1,), (0,), False, {"server_pid": 7}),
        ((1,), (0,), True, {"server_pid": 7}),
        (
            (0, 1, 2),
            (0,),
            True,
            {"server_pid": 7, "server_cpus": "1,2", "disturbed_share_max": 1.0},
        ),
        ((0,), (0,), True, {}),
        ((0,), (0,), False, {"server_pid": 7}),  # the study puts both there
    ],
)
def test_a_service_that_may_run_on_the_clients_cpus_is_watched_on_the_others(
    server: tuple[int, ...],
    client: tuple[int, ...],
    wanted: dict[str, object],
    *,
    is_foreign: bool,
) -> None:
    """Without a log 1 % of stolen time voids a run, so a user's own service had no numbers."""
    where = Placement(
        server=server, client=client, housekeeping=(0,), client_wait="sleep", shared=()
    )
    live = SimpleNamespace(
        placement=where,
        process=SimpleNamespace(pid=7),
        has_company=False,
        is_foreign=is_foreign,
    )
    assert RunningService.watched(cast(Any, live)) == wanted
