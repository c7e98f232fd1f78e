"""What h2load's times mean; its formats share it."""

from __future__ import annotations

from sojourn.importers.series import Facts

FACTS = Facts(
    tool="h2load",
    clock="send",
    loop="closed",
    start="Measured from the hand-over of a request to the connection to the end of the reply.",
    load="A closed loop: each connection has -m requests under way; with --rps it also waits for "
    "its turn.",
    merged="All threads and connections are in one list.",
    omission="Coordinated omission is in it: requests that a stop of the server put off are "
    "missing.",
)
