"""No one is asked: the load is planned and goes nowhere. What the instrument itself costs."""

from __future__ import annotations

from sojourn.actors.clients.client import ClientKind, Job

NOWHERE = "null:"
# fmt: off
ASKS = (
    "set_share", "multiget_share", "preload", "server_pid", "instrument_cpus", "option", "method",
    "paths_file", "log_form", "header", "body", "body_file", "auth", "ca_file", "server_name",
    "insecure", "cert", "key", "expect_status", "expect_sha256", "expect_regex", "allow_empty",
)  # of a service
# fmt: on


def share(job: Job, n: int) -> tuple[Job, ...]:
    """The same load at a target that answers by itself, in the generator."""
    del n
    return ({**{key: v for key, v in job.items() if key not in ASKS}, "target": NOWHERE},)


KIND = ClientKind(
    name="null",
    about="the load goes nowhere: what the generator itself costs at it",
    source="METHOD M20",
    share=share,
)
