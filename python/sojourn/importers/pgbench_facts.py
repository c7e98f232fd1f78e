"""What pgbench's times mean; its logs share it."""

from __future__ import annotations

from dataclasses import replace

from sojourn.importers.series import Facts

FACTS = Facts(
    tool="pgbench",
    clock="send",
    loop="closed",
    start="Measured from the begin of a transaction, since the log has no schedule lag.",
    load="A closed loop of clients: each begins its next transaction when the last one ends.",
    merged="One log for each thread: give all files of a run to see all of it, each as a series.",
    omission="Coordinated omission is in it: transactions that a stop of the server put off are "
    "missing.",
)
RATED = Facts(
    tool="pgbench",
    clock="intended",
    loop="open, limited",
    start="Measured from the time at which the transaction was due by the schedule of --rate.",
    load="Transactions are due at random (Poisson) times; one that is due while all clients wait "
    "is put off, and its wait counts.",
    merged=FACTS.merged,
    omission="A stop of the server is in the numbers, and so is a stop of pgbench itself.",
)
#: Of a log with one field more, which may be the lag of --rate or the retries of --max-tries.
UNSURE = replace(
    FACTS,
    clock="not known",
    loop="not known",
    start="Measured from the begin of a transaction, or with --rate from when it was due; the log "
    "does not say which. Its seventh field may be a lag or a number of retries.",
    load="A closed loop of clients, or with --rate transactions that are due at random times.",
    omission="Coordinated omission is in it unless --rate was in use.",
)
