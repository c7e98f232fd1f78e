"""Options that say how one's own service is asked: by whom, for what, over TLS."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn.errors import Fault, SpecFault

PANEL = "Service"
#: Of a key of the job; a list where an option can be repeated, a table of the protocol's options.
JobValue = str | bool | list[str] | dict[str, str]
TLS = ("insecure", "ca_file", "cert", "key")  # keys of the job that only TLS has

Insecure = Annotated[
    bool,
    typer.Option("--insecure", rich_help_panel=PANEL, help="TLS: accept any certificate."),
]
CaFile = Annotated[
    str,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        rich_help_panel=PANEL,
        help="TLS: certificates of trusted issuers, or of the server itself, in PEM.",
        show_default="the issuers that this machine trusts, or SSL_CERT_FILE",
    ),
]
Cert = Annotated[
    str,
    typer.Option(
        "--cert",
        metavar="FILE",
        rich_help_panel=PANEL,
        show_default=False,
        help="TLS: the client's certificate in PEM, for a server that requires one.",
    ),
]
Key = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="FILE",
        rich_help_panel=PANEL,
        show_default=False,
        help="TLS: the private key of --cert, in PEM.",
    ),
]
Auth = Annotated[
    str,
    typer.Option(
        "--auth",
        metavar="SCHEME:PLACE",
        rich_help_panel=PANEL,
        show_default=False,
        help="Credentials: basic:file:PATH, bearer:env:NAME or password:env:NAME. The secret is "
        "read from there and never shown.",
    ),
]
Preload = Annotated[
    bool,
    typer.Option(
        "--preload",
        rich_help_panel=PANEL,
        help="memcache, RESP: first write the 10,000 keys of the test into the service.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="METHOD",
        rich_help_panel=PANEL,
        show_default="GET",
        help="HTTP: the method of the requests, such as POST.",
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        "-H",
        metavar="NAME: VALUE",
        rich_help_panel=PANEL,
        show_default=False,
        help="HTTP: a header of each request, such as 'Content-Type: application/json'. May be "
        "repeated.",
    ),
]
Body = Annotated[
    str,
    typer.Option(
        "--body",
        metavar="TEXT",
        rich_help_panel=PANEL,
        show_default=False,
        help="HTTP: the body of each request; {item} in it is a number.",
    ),
]
BodyFile = Annotated[
    str,
    typer.Option(
        "--body-file",
        metavar="FILE",
        rich_help_panel=PANEL,
        show_default=False,
        help="HTTP: a file that is the body of each request.",
    ),
]
Query = Annotated[
    list[str] | None,
    typer.Option(
        "--query",
        metavar="SQL",
        rich_help_panel=PANEL,
        show_default="SELECT 1",
        help="PostgreSQL: a query; {} in it is a number. May be repeated.",
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        rich_help_panel=PANEL,
        show_default=False,
        help="An option of the target's protocol, such as prepared=false (PostgreSQL) or "
        "descriptor=FILE (gRPC). May be repeated.",
    ),
]


def job_keys(
    *,
    insecure: bool,
    ca_file: str,
    cert: str,
    key: str,
    auth: str,
    method: str = "",
    header: Sequence[str] | None = None,
    body: str = "",
    body_file: str = "",
    query: Sequence[str] | None = None,
    option: Sequence[str] | None = None,
) -> dict[str, JobValue]:
    """Keys of the generator's job for what was given; their files are there, in every folder.

    Raises:
        SpecFault: a file cannot be read, a certificate has no key, there are two bodies, or an
            option has no value.
    """
    from sojourn.spec import files

    if bool(cert) != bool(key):
        fix = "give both: --cert FILE --key FILE"
        raise SpecFault("a certificate is of no use without its key", at="--cert, --key", fix=fix)
    if body and body_file:
        fix = "leave one of them out"
        raise SpecFault("a request has one body", at="--body, --body-file", fix=fix)
    every: dict[str, JobValue] = {
        "insecure": insecure,
        "ca_file": ca_file,
        "cert": cert,
        "key": key,
        "auth": auth,
        "method": method,
        "header": list(header or ()),
        "body": body,
        "body_file": body_file,
        "query": list(query or ()),
        "option": _options(option or ()),
    }
    load: dict[str, JobValue] = files.absolute(
        {name: value for name, value in every.items() if value}, Path.cwd()
    )
    for name, path in files.named(load):
        if why := files.unreadable(path):
            fix = "give the name of a file that is there"
            raise SpecFault(f"{path} cannot be read: {why}", at=option_of(name), fix=fix)
    return load


def _options(texts: Sequence[str]) -> dict[str, str]:
    """Options of the protocol by name; SpecFault for one that is not NAME=VALUE."""
    results: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            fix = "write NAME=VALUE, such as prepared=false"
            raise SpecFault(f"'{text}' is no option with a value", at="--option", fix=fix)
        results[name] = value
    return results


@contextmanager
def of_target() -> Iterator[None]:
    """A target that is refused is the one that was typed; no study has it yet."""
    from sojourn.services.own import external

    try:
        yield
    except Fault as fault:
        if fault.at != external.AT:
            raise
        raise type(fault)(fault.what, at="TARGET", fix=fault.fix) from None


def with_keys(
    sides: Sequence[Mapping[str, Any]], load: Mapping[str, JobValue]
) -> list[dict[str, Any]]:
    """Services that are compared, each with its keys of the generator's job.

    Those of TLS are of the services that speak it, so HTTPS can be compared with HTTP. Where none
    does, each service has them, and the generator refuses them.

    Args:
        sides: URLs and commands, as a study file has them.
        load: as `job_keys` has it.
    """
    is_secured = [_is_secured(str(side["params"].get("target", ""))) for side in sides]
    return [
        {
            **side,
            "load": {
                name: value
                for name, value in load.items()
                if name not in TLS or has_tls or not any(is_secured)
            },
        }
        for side, has_tls in zip(sides, is_secured, strict=True)
    ]


def _is_secured(target: str) -> bool:
    """Whether a target is of TLS; one that is left out is of HTTP."""
    from sojourn.services.clients.where import ALIASES, SECURED

    scheme = target.strip().partition("://")[0].lower()
    return ALIASES.get(scheme, scheme) in SECURED


def words(load: Mapping[str, JobValue]) -> list[str]:
    """The options that give these keys.

    >>> words({"insecure": True, "method": "POST", "header": ["A: 1", "B: 2"]})
    ['--insecure', '--method', 'POST', '--header', 'A: 1', '--header', 'B: 2']
    >>> words({"option": {"prepared": "false"}})
    ['--option', 'prepared=false']
    """
    results: list[str] = []
    for key, value in load.items():
        for one in _each(value):
            results += [option_of(key)] if one is True else [option_of(key), str(one)]
    return results


def _each(value: JobValue) -> Sequence[str | bool]:
    """A key's value, by the times that its option is repeated."""
    if isinstance(value, dict):
        return [f"{name}={text}" for name, text in value.items()]
    return value if isinstance(value, list) else [value]


def toml(value: JobValue) -> str:
    """A key's value as a study file has it.

    >>> toml({"prepared": "false"}), toml(["A: 1"]), toml(True)
    ('{ prepared = "false" }', '["A: 1"]', 'true')
    """
    if not isinstance(value, dict):
        return json.dumps(value)
    pairs = (f"{name} = {json.dumps(text)}" for name, text in value.items())
    return f"{{ {', '.join(pairs)} }}"


def option_of(key: str) -> str:
    """The option that gives a key of the job.

    >>> option_of("ca_file"), option_of("option.descriptor")
    ('--ca-file', '--option')
    """
    return f"--{key.partition('.')[0].replace('_', '-')}"
