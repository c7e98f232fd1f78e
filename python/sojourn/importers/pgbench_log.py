"""`pgbench --log`: a line for each transaction.

Its fields: client, number, time (µs), script, end (s, and µs).
With --rate a lag follows (µs), and with --max-tries the number of retries. A time of "skipped" was
late beyond --latency-limit; another word is an error (PostgreSQL 15 and later).
"""

from __future__ import annotations

import re
from dataclasses import replace

from sojourn.importers.file import File, count, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.pgbench_facts import FACTS, RATED, UNSURE
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series

_US = 1e3
_PLAIN, _MOST = 6, 8  # fields: with lag, and with retries
_NOTE = "PostgreSQL up to 14 logs no transaction that failed, and this log names none."
_TRY_NS = 10e3  # a retry sends the whole transaction again, which takes longer


def is_it(head: str) -> bool:
    """Whether the first line is one of pgbench's."""
    return bool(re.match(r"\d+ \d+ ([a-z]+|\d+) \d+ \d{9,11} \d{1,6}( \d+){0,2}\r?\n", head))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """One series of all its requests."""
    requests, numbers = Requests(), _Numbers()
    is_longer = has_lag = False
    for at, line in file.rows():
        fields = line.split(" ")
        if not _PLAIN <= len(fields) <= _MOST:
            what = f"this line has {len(fields)} fields, pgbench's have {_PLAIN} to {_MOST}"
            raise fault(what, at, "the file may be cut short")
        is_longer = is_longer or len(fields) > _PLAIN
        # Only with --rate are transactions skipped.
        has_lag = has_lag or len(fields) == _MOST or fields[2] == "skipped"
        numbers.see(fields[0], count(fields[1], "number", at))
        end_s = number(fields[4], "end", at) + number(fields[5], "end", at) / 1e6
        if fields[2].isalpha():
            requests.fail(fields[2], end_s, 0.0)
            continue
        ns = time_ns(fields[2], "time", at, unit_ns=_US)
        if len(fields) > _PLAIN:  # more than the retries for which there was time
            has_lag = has_lag or number(fields[_PLAIN], "lag or retries", at) * _TRY_NS > ns
        requests.add(end_s - ns / 1e9, ns, at)
    facts = RATED if has_lag else UNSURE if is_longer else FACTS
    names_failures = bool(requests.failed.keys() - {"skipped"})
    notes = (*(() if names_failures else (_NOTE,)), *numbers.notes)
    series = requests.series(facts, at=file.at, is_failed_known=names_failures, notes=notes)
    # The rate of a sample is not that of the run.
    return [replace(series, seconds=None) if numbers.notes else series]


class _Numbers:
    """Numbers that clients give their transactions: 1, 2, … within a run."""

    def __init__(self) -> None:
        self._ends: dict[str, tuple[int, int]] = {}
        self._lines, self._is_again = 0, False

    def see(self, client: str, at: int) -> None:
        """A line of a client."""
        self._lines += 1
        first, last = self._ends.get(client, (at, at - 1))
        self._is_again = self._is_again or at <= last
        self._ends[client] = min(first, at), max(last, at)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong with them, in a sentence."""
        if self._is_again:
            return ("Numbers of transactions come again: the log has several runs, so no rate.",)
        there = sum(last - first + 1 for first, last in self._ends.values())
        if there <= self._lines:
            return ()
        what = f"The log has {self._lines:,} of at least {there:,} transactions (--sampling-rate)"
        return (f"{what}, so it has no rate.",)


FORMAT = Format(name="pgbench", about="pgbench --log", is_it=is_it, read=read)
