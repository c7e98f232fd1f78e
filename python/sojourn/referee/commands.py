"""Which load tool a command line runs, and at which rate users come.

One more tool is one more function and one more line in `TOOLS`. What a command line does not say as
a plain number is not known: a default stands only for an option that is absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sojourn.importers import (
    fortio,
    ghz,
    h2load_facts,
    hey,
    k6_facts,
    memtier,
    mutilate,
    pgbench_facts,
    vegeta_facts,
    wrk,
    wrk2,
)
from sojourn.importers.series import Facts
from sojourn.referee import facts as own
from sojourn.referee import k6_script
from sojourn.referee.load import Load
from sojourn.referee.options import handshakes, is_set, number, per_second, value
from sojourn.referee.starters import LONGEST, Started, started
from sojourn.referee.syntax import PG_VALUED, is_expanded, options

Words = Sequence[str]
NOT_PLAIN = "The rate of {tool} is not one plain number: give --rate."
SEVERAL = "The command runs {count} loads, together or in turn: give --rate."
LOOPED = "The load is within a loop of a shell, and may run several times at once: give --rate."


def _plain(facts: Facts, *names: str, arrivals: str = "paced") -> Callable[[Words], Load]:
    """A tool whose options `names` give the rate of all its connections."""

    def read(words: Words) -> Load:
        rate = number(value(words, *names)) if names else None
        return Load(tool=facts.tool, rate_rps=rate, arrivals=arrivals if rate else "", facts=facts)

    return read


def _each(
    facts: Facts, rate: tuple[str, ...], *counts: tuple[tuple[str, ...], int]
) -> Callable[[Words], Load]:
    """A tool with a rate for each worker: the product of the numbers of workers is behind it."""

    def read(words: Words) -> Load:
        each = number(value(words, *rate))
        unknown = Load(tool=facts.tool, facts=facts)
        if each is None:
            return unknown
        workers = 1.0
        for names, usual in counts:
            count = _or_default(words, value(words, *names), usual, number)
            if count is None:
                return replace(unknown, notes=(NOT_PLAIN.format(tool=facts.tool),))
            workers *= count
        note = f"{each:g} requests/s for each of {workers:g} workers or connections."
        return replace(unknown, rate_rps=each * workers, arrivals="paced", notes=(note,))

    return read


def _or_default(
    words: Words, text: str | None, usual: float, read: Callable[[str], float | None]
) -> float | None:
    """A number, or its default where the option is absent and no variable can hold it."""
    if text is not None:
        return read(text)
    return None if any(map(is_expanded, words)) else usual


def _defaulted(
    facts: Facts, names: tuple[str, ...], usual: float, read: Callable[[str], float | None]
) -> Callable[[Words], Load]:
    """A tool that has a rate of its own if none is given."""

    def result(words: Words) -> Load:
        text = value(words, *names)
        rate = _or_default(words, text, usual, read)
        note = f"No {names[0]} is given: {facts.tool} sends {usual:g} requests/s."
        return Load(
            tool=facts.tool,
            rate_rps=rate,
            arrivals="paced" if rate else "",
            facts=facts,
            notes=(note,) if rate and text is None else (),
        )

    return result


def _wrk(words: Words) -> Load:
    """wrk2 is usually installed as `wrk`: it has -R, and wrk has not."""
    return (_wrk2 if value(words, "-R", "--rate") else _plain(wrk.FACTS))(words)


def _pgbench(words: Words) -> Load:
    """Its rate is one of transactions, which is that of requests only if each has one query."""
    load = _plain(pgbench_facts.FACTS, "-R", "--rate", arrivals="poisson")(words)
    load = replace(load, handshakes=PG_HANDSHAKES)
    if value(words, "-R", "--rate") is not None:
        load = replace(load, facts=pgbench_facts.RATED)
    if not load.rate_rps or _has_one_query(words):
        return load
    note = "-R of pgbench counts transactions, and one may have several queries: give --rate."
    return replace(load, rate_rps=None, arrivals="", notes=(note,))


def _has_one_query(words: Words) -> bool:
    """Whether each transaction is one query, over a connection that lasts."""
    name = (value(words, "-b", "--builtin") or "").partition("@")[0]
    is_named = len(name) > 1 and "select-only".startswith(name)
    is_select = "--select-only" in words or is_set(words, "S", PG_VALUED)
    scripts = is_select + sum(word.startswith(("-b", "--builtin")) for word in words)
    others = any(is_set(words, letter, PG_VALUED) for letter in "NC")
    others |= any(word.startswith(("-f", "--file", "--skip-some", "--connect")) for word in words)
    return (is_select or is_named) and scripts == 1 and not others


def _ghz(words: Words) -> Load:
    load = _plain(ghz.FACTS, "-r", "--rps")(words)
    schedule = value(words, "--load-schedule") or "const"
    if schedule != "const":
        note = "The rate of ghz changes with --load-schedule: give --rate."
        load = replace(load, rate_rps=None, arrivals="", notes=(note,))
    return replace(load, facts=ghz.ASYNC) if "--async" in words else load


def _oha(words: Words) -> Load:
    load = _plain(own.OHA, "-q")(words)
    is_corrected = load.rate_rps and "--latency-correction" in words
    return replace(load, facts=own.OHA_CORRECTED) if is_corrected else load


def _h2load(words: Words) -> Load:
    """With -r connections are opened one after the other, so their number changes."""
    load = _each(h2load_facts.FACTS, ("--rps",), (("-c", "--clients"), 1))(words)
    if load.rate_rps and value(words, "-r", "--rate", "--timing-script-file") is not None:
        note = NOT_PLAIN.format(tool=load.tool)
        return replace(load, rate_rps=None, arrivals="", notes=(note,))
    return load


def _mutilate(words: Words) -> Load:
    load = _plain(mutilate.FACTS, "-q", "--qps", arrivals="poisson")(words)
    is_poisson = (value(words, "-i", "--iadist") or "exponential").startswith("exponential")
    return load if is_poisson else replace(load, arrivals="")


def _autocannon(words: Words) -> Load:
    if value(words, "-r", "--connectionRate") is None:
        return _plain(own.AUTOCANNON, "-R", "--overallRate")(words)
    return _each(own.AUTOCANNON, ("-r", "--connectionRate"), (("-c", "--connections"), 10))(words)


def _k6(words: Words) -> Load:
    return k6_script.read(words, k6_facts.FACTS)


def _sojourn_load(words: Words) -> Load:
    arrivals = value(words, "--arrivals") or "poisson"
    named = {"poisson": "poisson", "fixed": "paced", "constant": "paced", "paced": "paced"}
    if any(word in {"--find-max", "--find-max=true"} for word in words):
        return Load(tool=own.SOJOURN.tool, facts=own.SOJOURN_CLOSED)
    load = _plain(own.SOJOURN, "--rate")(words)
    return replace(load, arrivals=named.get(arrivals, "") if load.rate_rps else "")


_wrk2 = _plain(wrk2.FACTS, "-R", "--rate")
PG_HANDSHAKES = 2  # to the name of the user, and to the password
_CLIENTS, _THREADS = (("-c", "--clients"), 50), (("-t", "--threads"), 4)

#: By the name of the program.
TOOLS: Mapping[str, Callable[[Words], Load]] = {
    "wrk": _wrk,
    "wrk2": _wrk2,
    "vegeta": _defaulted(vegeta_facts.FACTS, ("-rate",), 50.0, per_second),
    "k6": _k6,
    "hey": _each(hey.FACTS, ("-q",), (("-c",), 50)),
    "oha": _oha,
    "fortio": _defaulted(fortio.FACTS, ("-qps",), 8.0, number),
    "pgbench": _pgbench,
    "memtier_benchmark": _each(memtier.FACTS, ("--rate-limiting",), _CLIENTS, _THREADS),
    "ghz": _ghz,
    "autocannon": _autocannon,
    "autocannon.js": _autocannon,
    "bombardier": _plain(own.BOMBARDIER, "-r", "--rate"),
    "h2load": _h2load,
    "mutilate": _mutilate,
    "ab": _plain(own.AB),
    "redis-benchmark": _plain(own.REDIS_BENCHMARK),
    "sojourn-load": _sojourn_load,
}
#: Subcommands that send a load: `vegeta report` sends none.
SENDING: Mapping[str, str] = {"vegeta": "attack", "fortio": "load", "k6": "run"}
#: Options for requests that a connection sends before it waits for a reply, by the program.
PIPELINES: Mapping[str, tuple[str, ...]] = {
    "redis-benchmark": ("-P",),
    "memtier_benchmark": ("--pipeline",),
    "autocannon": ("-p", "--pipelining"),
    "autocannon.js": ("-p", "--pipelining"),
    "oha": ("-p",),
    "h2load": ("-m", "--max-concurrent-streams"),
    "mutilate": ("-d", "--depth"),
}


def recognised(argv: Words, folder: Path | None = Path()) -> Load:
    """The load that a command line asks for; an empty one where the tool is not known.

    What starts another program is looked through: `taskset`, `env`, `npx`, `sh -c`. Addresses are
    not: `http://x/ab` is no `ab`.

    Args:
        argv: the command line.
        folder: in which it names files; None: files of that name here are others.

    >>> recognised(["taskset", "-c", "1", "wrk2", "-R2k", "http://x/"]).rate_rps
    2000.0
    >>> recognised(["sh", "-c", "echo GET http://x/ | vegeta attack -rate 100/1s"]).tool
    'vegeta'
    >>> recognised(["./my-client", "--fast"]).tool
    ''
    """
    own = max((handshakes(word[:LONGEST]) for word in argv), default=0)
    load = _of_all([one for one in started(argv, TOOLS) if _is_sending(one)], folder)
    return replace(load, handshakes=max(load.handshakes, own))


def together(loads: Sequence[Load]) -> Load:
    """Several loads as one: what they have in common, and no rate.

    Args:
        loads: at least one.
    """
    first = loads[0]
    if len(loads) == 1:
        return first
    is_one_tool = len({load.tool for load in loads}) == 1
    return Load(
        tool=first.tool if is_one_tool else "",
        facts=first.facts if is_one_tool else None,
        notes=(SEVERAL.format(count=len(loads)),),
        pipelined=max(load.pipelined for load in loads),
        handshakes=max(load.handshakes for load in loads),
    )


def _of_all(every: Sequence[Started], folder: Path | None) -> Load:
    load = together([_of(one, folder) for one in every]) if every else Load()
    if load.rate_rps and any(one.is_looped for one in every):
        return replace(load, rate_rps=None, arrivals="", notes=(LOOPED,))
    return load


def _of(one: Started, folder: Path | None) -> Load:
    words = options(one.tool, one.words)
    pipelined = number(value(words, *PIPELINES.get(one.tool, ()))) or 1
    if one.tool == "k6":
        load = k6_script.read(words, k6_facts.FACTS, None if one.is_elsewhere else folder)
    else:
        load = TOOLS[one.tool](words)
    return replace(load, pipelined=math.ceil(pipelined))


def _is_sending(one: Started) -> bool:
    return one.tool not in SENDING or not one.words or SENDING[one.tool] in one.words
