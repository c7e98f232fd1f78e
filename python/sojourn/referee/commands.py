"""Which load tool a command line runs, and at which rate users come.

One more tool is one more function and one more line in `TOOLS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

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

Words = Sequence[str]


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
        if each is None:
            return Load(tool=facts.tool, facts=facts)
        workers = 1.0
        for names, usual in counts:
            workers *= number(value(words, *names)) or usual
        note = f"{each:g} requests/s for each of {workers:g} workers or connections."
        return Load(
            tool=facts.tool,
            rate_rps=each * workers,
            arrivals="paced",
            facts=facts,
            notes=(note,),
        )

    return read


def _wrk(words: Words) -> Load:
    """wrk2 is usually installed as `wrk`: it has -R, and wrk has not."""
    return (_wrk2 if value(words, "-R", "--rate") else _plain(wrk.FACTS))(words)


def _vegeta(words: Words) -> Load:
    text = value(words, "-rate", "--rate")
    rate = per_second(text) if text else 50.0  # its default
    note = () if text else ("No -rate is given: vegeta sends 50 requests/s.",)
    return Load(
        tool="vegeta",
        rate_rps=rate,
        arrivals="paced" if rate else "",
        facts=vegeta_facts.FACTS,
        notes=note,
    )


def _fortio(words: Words) -> Load:
    text = value(words, "-qps", "--qps")
    rate = number(text) if text else 8.0  # its default
    return Load(
        tool="fortio",
        rate_rps=rate,
        arrivals="paced" if rate else "",
        facts=fortio.FACTS,
        notes=() if text else ("No -qps is given: fortio sends 8 requests/s.",),
    )


def _pgbench(words: Words) -> Load:
    """Its rate is one of transactions, which is that of requests only if each has one query."""
    load = _plain(pgbench_facts.FACTS, "-R", "--rate", arrivals="poisson")(words)
    load = replace(load, handshakes=PG_HANDSHAKES)
    if not load.rate_rps:
        return load
    load = replace(load, facts=pgbench_facts.RATED)
    if _has_one_query(words):
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
    return replace(load, facts=ghz.ASYNC) if "--async" in words else load


def _autocannon(words: Words) -> Load:
    each = _each(own.AUTOCANNON, ("-r", "--connectionRate"), (("-c", "--connections"), 10))(words)
    return each if each.rate_rps else _plain(own.AUTOCANNON, "-R", "--overallRate")(words)


def _k6(words: Words) -> Load:
    return k6_script.read(words, k6_facts.FACTS)


def _sojourn_load(words: Words) -> Load:
    arrivals = value(words, "--arrivals") or "poisson"
    named = {"poisson": "poisson", "fixed": "paced", "constant": "paced", "paced": "paced"}
    load = _plain(own.SOJOURN, "--rate")(words)
    return replace(load, arrivals=named.get(arrivals, "") if load.rate_rps else "")


_wrk2 = _plain(wrk2.FACTS, "-R", "--rate")
PG_VALUED = "bcDfFhjLMpPRstTU"  # letters of pgbench's options behind which a value follows
PG_HANDSHAKES = 2  # to the name of the user, and to the password
_CLIENTS, _THREADS = (("-c", "--clients"), 50), (("-t", "--threads"), 4)

#: By the name of the program.
TOOLS: Mapping[str, Callable[[Words], Load]] = {
    "wrk": _wrk,
    "wrk2": _wrk2,
    "vegeta": _vegeta,
    "k6": _k6,
    "hey": _each(hey.FACTS, ("-q",), (("-c",), 50)),
    "oha": _plain(own.OHA, "-q"),
    "fortio": _fortio,
    "pgbench": _pgbench,
    "memtier_benchmark": _each(memtier.FACTS, ("--rate-limiting",), _CLIENTS, _THREADS),
    "ghz": _ghz,
    "autocannon": _autocannon,
    "autocannon.js": _autocannon,
    "bombardier": _plain(own.BOMBARDIER, "-r", "--rate"),
    "h2load": _each(h2load_facts.FACTS, ("--rps",), (("-c", "--clients"), 1)),
    "mutilate": _plain(mutilate.FACTS, "-q", "--qps", arrivals="poisson"),
    "ab": _plain(own.AB),
    "redis-benchmark": _plain(own.REDIS_BENCHMARK),
    "sojourn-load": _sojourn_load,
}
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
SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
LONGEST = 100_000  # letters of a shell's command that are looked at


def recognised(argv: Words) -> Load:
    """The load that a command line asks for; an empty one where the tool is not known.

    What starts another program is looked through: `taskset`, `env`, `npx`, `sh -c`. Addresses are
    not: `http://x/ab` is no `ab`.

    >>> recognised(["taskset", "-c", "1", "wrk2", "-R2k", "http://x/"]).rate_rps
    2000.0
    >>> recognised(["sh", "-c", "echo GET http://x/ | vegeta attack -rate 100/1s"]).tool
    'vegeta'
    >>> recognised(["./my-client", "--fast"]).tool
    ''
    """
    words = list(argv)
    load = _recognised(words)
    own = max((handshakes(word[:LONGEST]) for word in words), default=0)
    return replace(load, handshakes=max(load.handshakes, own))


def _recognised(words: list[str]) -> Load:
    names = ["" if ":" in word else PurePosixPath(word).name for word in words]
    for at, name in enumerate(names):
        if name in TOOLS:
            rest = words[at + 1 :]
            pipelined = number(value(rest, *PIPELINES.get(name, ()))) or 1
            return replace(TOOLS[name](rest), pipelined=math.ceil(pipelined))
        if name in SHELLS and words[at + 1 : at + 2] == ["-c"]:
            return _of_script(" ".join(words[at + 2 : at + 3])[:LONGEST])
    return Load()


def _of_script(script: str) -> Load:
    """The first tool of a shell's command; each part of a pipe is a command."""
    for part in script.replace(";", "|").replace("&", "|").replace("\n", "|").split("|"):
        load = recognised([word.strip("'\"") for word in part.split()])
        if load.tool:
            return load
    return Load()
