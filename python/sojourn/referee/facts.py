"""What load tools measure if the lab cannot read their result files."""

from __future__ import annotations

from dataclasses import replace

from sojourn.importers.series import Facts

OHA = Facts(
    tool="oha",
    clock="send",
    loop="closed",
    start="Measured from the send of a request; with --latency-correction from when it was due.",
    load="A closed loop of workers; -q gives them a common rate, and late requests are sent later.",
    merged="All workers are in one list.",
    omission="Coordinated omission is in it, unless --latency-correction is given.",
)
OHA_CORRECTED = replace(
    OHA,
    clock="intended",
    start="Measured from when a request was due, by --latency-correction.",
    omission="A stop of the server is in the numbers, by --latency-correction.",
)
AUTOCANNON = Facts(
    tool="autocannon",
    clock="send",
    loop="closed",
    start="Measured from the send of a request.",
    load="A closed loop of connections. -R and -r are limits for each second: requests are sent "
    "at once until the second's number is reached, and then none.",
    merged="All connections count into one histogram.",
    omission="With -R or -r, autocannon adds times that it did not measure after slow replies, "
    "unless -C is given. Without them, coordinated omission is in it.",
)
BOMBARDIER = Facts(
    tool="bombardier",
    clock="send",
    loop="closed",
    start="Measured from the send of a request.",
    load="A closed loop of connections; -r limits their common rate.",
    merged="All connections count into one histogram.",
    omission="Coordinated omission is in it: while all connections wait, nothing is sent.",
)
AB = Facts(
    tool="ab",
    clock="send",
    loop="closed",
    start="Measured from the begin of the connection, or of the request with -k.",
    load="A closed loop: each of -c connections sends its next request when it has the reply.",
    merged="All connections are in one list.",
    omission="Coordinated omission is in it: while all connections wait, nothing is sent.",
)
REDIS_BENCHMARK = Facts(
    tool="redis-benchmark",
    clock="send",
    loop="closed",
    start="Measured from the send of a request, or of the pipeline (-P).",
    load="A closed loop of -c clients.",
    merged="All clients count into one histogram.",
    omission="Coordinated omission is in it: while all clients wait, nothing is sent.",
)
SOJOURN = Facts(
    tool="sojourn-load",
    clock="intended",
    loop="open",
    start="Measured from the intended arrival, which is drawn before the run.",
    load="An open loop: a due request that finds all connections busy waits, and its wait counts.",
    merged="All threads count into one histogram.",
    omission="A stop of the server is in the numbers; a stop of the tool itself is logged.",
)
SOJOURN_CLOSED = replace(
    SOJOURN,
    clock="send",
    loop="closed",
    start="Measured from the send of a request, because no request is due with --find-max.",
    load="A closed loop: each connection sends its next request when it has the reply.",
    omission="Coordinated omission is in it: while all connections wait, nothing is sent.",
)
