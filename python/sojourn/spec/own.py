"""Studies of a service of the user's own: half a minute for `sojourn try`, a file for `init`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sojourn.spec import form
from sojourn.spec.models import Study
from sojourn.spec.qos import TypedQos

#: The target of a service that no one has given one: p99 within five times that of a low load.
LOW_LOAD = {"rule": "low_load", "factor": 5.0}
NOTHING: Mapping[str, str] = MappingProxyType({})
#: What a command's service is asked unless a study says otherwise.
ASKED = "http://{host}:{port}/"
FRACTIONS = (0.2, 0.4, 0.6, 0.8, 0.95)
#: Half a minute has to answer on any machine: a client that is late by what such a service does not
#: notice is on time.
LOAD = {"timely_within": "500us"}
# fmt: off
QUICK = {
    "profile": "quick", "measure_s": 1.5, "warmup_s": 0.2, "repeats": 1, "peak_s": 1.5,
    "peak_repeats": 1, "check_s": 1.0, "check_repeats": 1, "retries": 2, "budget_s": 40.0,
    "raw_max": 0, "shield": "none",
    "search": {"probe_s": 1.5, "resolution": 0.1, "budget_s": 9.0, "confirm_s": 1.5,
               "confirm_repeats": 1},
}
# fmt: on


def glance(
    params: Mapping[str, Any],
    load: Mapping[str, Any],
    *,
    q: float,
    bound: str,
    rates: Sequence[str] = (),
) -> Study:
    """The study of half a minute: saturation and the load that fits, or latency at some rates.

    Args:
        params: of the service `external`.
        load: keys of the generator's job.
        q: quantile of the target.
        bound: of the target; "": five times the quantile at a low load, where it is looked for.
        rates: loads to offer, requests/s, and no other; (): it is loaded as far as it goes.

    Raises:
        pydantic.ValidationError: quantile, bound or rates are none.
    """
    qos: Mapping[str, Any] | None = _target(q, bound)
    if rates and not bound:
        qos = None
    service = {
        "kind": "external",
        "label": "service",
        "measure": ["sweep"] if rates else ["sweep", "max_load"],
        "params": dict(params),
        "load": {**LOAD, **load},
        **({"qos": qos} if qos else {}),
    }
    loads = {"rates": list(rates), "fractions": ()} if rates else {"fractions": FRACTIONS}
    return form.current().study.model_validate(
        {
            "name": "try",
            "question": f"How much load does {params.get('target')} take?",
            "aa": False,
            "probe": "0",
            "run": {**QUICK, **loads},
            "services": [service],
        }
    )


def name_of(target: str) -> str:
    """A study's name from what it is about.

    >>> name_of("http://localhost:8080/api/v1?q=1"), name_of("python3 -m http.server {port}")
    ('localhost-8080', 'python3')
    """
    host = re.sub(r"^[A-Za-z][\w+.-]*://", "", target.strip())
    words = re.split(r"[/?#\s,]", host.lstrip("/"))[0] or "my-service"
    return re.sub(r"[^a-z0-9_-]+", "-", words.lower()).strip("-_")[:40] or "my-service"


def written(
    *,
    name: str,
    target: str,
    command: str,
    has_items: bool,
    facts: Sequence[tuple[str, str]] = (),
    stretch: float = 1.0,
    qos: str = "",
    is_filled: bool = False,
    load: Mapping[str, str] = NOTHING,
) -> str:
    """A commented study file about a service.

    Args:
        name: of the study.
        target: of a service that runs, or of the requests to one that the lab starts; "": that one
            is asked a page by HTTP.
        command: that starts it; "" where it runs.
        has_items: it is a key-value store.
        facts: what was found when it was asked.
        stretch: how many times as long as usual everything has to last.
        qos: lines of the target, of `qos_lines`; "": the usual one.
        is_filled: its keys are written first.
        load: keys of the generator's job that were given, as TOML has their values.
    """
    who = command or target
    result = "".join(f"# {what}: {how}\n" for what, how in facts)
    return (
        _HEAD.format(
            name=name,
            who=_plain(who),
            named=json.dumps(name),
            found=result,
            question=json.dumps(
                f"How do mean and tail latency of {who} grow with load, and how much "
                "load fits within the QoS target?",
                ensure_ascii=False,
            ),
        )
        + (_COMMAND if command else _EXTERNAL).format(
            target=json.dumps(target or ASKED, ensure_ascii=False),
            mark="" if target else "# ",
            argv=json.dumps(command, ensure_ascii=False),
            items=_ITEMS if has_items else _REPLIES,
            preload=_PRELOAD[is_filled] if has_items and not command else "",
            stretch=_STRETCH.format(stretch=stretch) if stretch > 1 else "",
        )
        + (qos or qos_lines(0.99, ""))
        + _TAIL
        + _asks(target, has_items=has_items, load=load)
        + ("" if "timely_within" in load else _TIMELY)
        + "".join(f"{key} = {value}\n" for key, value in load.items())
    )


def qos_lines(q: float, bound: str) -> str:
    """The target as a table of the study; `bound` as in `glance`.

    Raises:
        pydantic.ValidationError: quantile or bound is none.
    """
    _target(q, bound)
    return (_BOUND if bound else _RULE).format(q=q, p=f"p{100 * q:g}", bound=json.dumps(bound))


def _target(q: float, bound: str) -> Mapping[str, Any]:
    table = {"q": q, "bound": bound} if bound else {"q": q, **LOW_LOAD}
    TypedQos.model_validate(table)
    return table


def _asks(target: str, *, has_items: bool, load: Mapping[str, str]) -> str:
    """Comments on the keys that say what is asked, in the protocol of the target."""
    if has_items:
        return ""
    if target.lower().startswith(("postgres://", "postgresql://")):
        return "" if "query" in load else _QUERIES
    if target.lower().startswith(("grpc://", "grpcs://")):
        return "" if {"body", "body_file"} & {*load} else _CALLS
    return _PAGES + ("" if {"method", "body", "body_file"} & {*load} else _POSTED)


def _plain(text: str) -> str:
    return " ".join(text.split())


_HEAD = """\
# How much load does this service take, and how does its tail grow with load?
#
#   {who}
#
# Written by `sojourn init`; see docs/howto/your-service.md. Check it, see how long it takes, then
# measure:
#
#   sojourn check {name}.toml
#   sojourn plan {name}.toml --profile quick
#   sojourn run {name}.toml --profile quick
{found}name = {named}
question = {question}

[run]
profile = "standard" # quick (minutes), standard (a quarter of an hour), full (2 minutes a load)
# Loads of the sweep are shares of the highest rate that the service answers. To offer only rates of
# your own, use this with measure = ["sweep"] and a bound below:
# rates = ["100", "200", "400"] # requests/s; 20k is 20000
"""

_EXTERNAL = """
[[services]]
kind = "external" # it runs already and is not started, restarted, pinned or changed
measure = ["sweep", "max_load"] # latency against load, and the highest load within the target
{stretch}
[services.params] # all of them: sojourn kinds external
target = {target} # http://, memcache://, redis://, host:port or the path of a unix socket
# pid = 1234      # its first process, if another process listens there
# cgroup = "system.slice/app.service" # or its control group, for CPU time and limits
{preload}{items}"""

_COMMAND = """
[[services]]
kind = "command" # started for each repeat on its own CPUs, and ended
measure = ["sweep", "max_load"] # latency against load, and the highest load within the target

[services.params] # all of them: sojourn kinds command
argv = {argv} # {{port}}, {{host}}, {{threads}} and {{work}} are replaced
{mark}target = {target} # the requests; redis://… and memcache://… are filled first
# ready = "/health"    # a path that answers 2xx when it is ready, or "tcp"; default: the requests
# threads = 2          # for {{threads}}; --vary services.command.params.threads=1,2 compares
# environment = "A=1"  # additional variables
# stop = "INT"         # the signal that ends it, and the time limit:
# stop_s = 10.0
# warm_requests = 2000 # before the measurement, to warm caches and compilers
{items}"""

_STRETCH = """\
stretch = {stretch:g} # times as long as usual, because replies are slow and few come in a point
"""
_REPLIES = """\
# expect_bytes = 0 # any length counts; by default it must be that of the first replies
"""
_ITEMS = """\
# items = 10000 # number of keys, of key_bytes and value_bytes each
"""
_PRELOAD = {
    False: "preload = false # true: first write the keys of the test into your service\n",
    True: "preload = true # the keys of the test are first written into your service\n",
}

_RULE = """
[services.qos]
q = {q}
rule = "low_load" # {p} may be at most `factor` times its value at 20 % load; or set a bound:
factor = 5.0
# bound = "10ms"  # instead of rule and factor
"""
_BOUND = """
[services.qos]
q = {q}
bound = {bound} # {p} may be no longer
"""
_TAIL = """
[services.load] # options of the generator: sojourn-load --help
connections = 16
arrivals = "poisson"
"""
_PAGES = """\
# paths = ["/", "/item/{}"] # instead of the target's; {} is a number below items
"""
_POSTED = """\
# method = "POST" # and what is sent:
# header = ["Content-Type: application/json"]
# body = '{"id": {item}}' # {item} is a number below items
"""
_CALLS = """\
# body = '{"name": "visitor {item}"}' # the message, which needs its descriptor:
# option = { descriptor = "greeter.pb" } # protoc --include_imports --descriptor_set_out=greeter.pb
"""
_QUERIES = """\
# query = ["SELECT 1"] # the queries; {} is a number below items
"""
_TIMELY = f"""\
timely_within = "{LOAD["timely_within"]}" # requests may be sent so late; the report says how late
"""
