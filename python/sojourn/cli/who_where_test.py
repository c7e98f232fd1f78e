"""What a study prints of who runs where, before its first point."""

from __future__ import annotations

import os
import socket

from sojourn import host
from sojourn.analysis.testing import study_of
from sojourn.cli import live
from sojourn.host.tree import cpu_text
from sojourn.spec import ServiceSpec


def test_a_service_that_runs_is_where_it_is_and_not_where_the_lab_would_start_it() -> None:
    """The lab said "server on CPU 1", and the report: CPU 0-1."""
    facts = host.read(sample_s=0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = f"http://127.0.0.1:{server.getsockname()[1]}/"
        own = ServiceSpec(
            kind="external", measure=("sweep",), params={"target": target, "pid": os.getpid()}
        )
        (first, *_) = live.who_where(study_of(own), facts)
    assert first[0].startswith(
        f"server on CPU {cpu_text(tuple(sorted(os.sched_getaffinity(0))))}, "
    )


def test_services_with_the_same_place_have_one_line() -> None:
    facts = host.read(sample_s=0)
    same = [ServiceSpec(kind=kind, measure=("sweep",)) for kind in ("memcached", "nginx")]
    lines = live.who_where(study_of(*same), facts)
    assert len([text for text, _ in lines if "client on CPU" in text]) == 1
    assert len(set(lines)) == len(lines)
