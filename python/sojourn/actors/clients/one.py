"""One process offers all of the load."""

from __future__ import annotations

from sojourn.actors.clients.client import ClientKind, Job


def share(job: Job, n: int) -> tuple[Job, ...]:
    """The job as it is."""
    del n
    return (job,)


KIND = ClientKind(
    name="one",
    about="one generator process offers all of the load",
    source="METHOD M5",
    share=share,
)
