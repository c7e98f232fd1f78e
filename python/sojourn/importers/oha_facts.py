"""What oha's times mean; its formats share it."""

from __future__ import annotations

from sojourn.importers.series import Facts

FACTS = Facts(
    tool="oha",
    clock="not known",
    loop="closed",
    start="Measured from the send of a request, or, with --latency-correction and -q, from the "
    "time at which it was due; the file does not say which.",
    load="A closed loop of connections; with -q, requests are handed out at a rate, and wait for a "
    "free connection.",
    merged="All connections are in one list.",
    omission="Coordinated omission is in it unless --latency-correction was given.",
)
