"""Options that say how a service of one's own is asked: what TLS believes, and who asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn.errors import SpecFault

PANEL = "Service"
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


def job_keys(
    *, insecure: bool, ca_file: str, cert: str, key: str, auth: str
) -> dict[str, str | bool]:
    """Keys of the generator's job for what was given; their files are there, in every folder.

    Raises:
        SpecFault: a file cannot be read, or a certificate has no key.
    """
    from sojourn.spec import files

    if bool(cert) != bool(key):
        fix = "give both: --cert FILE --key FILE"
        raise SpecFault("a certificate is of no use without its key", at="--cert, --key", fix=fix)
    every: dict[str, str | bool] = {
        "insecure": insecure,
        "ca_file": ca_file,
        "cert": cert,
        "key": key,
        "auth": auth,
    }
    load: dict[str, str | bool] = files.absolute(
        {name: value for name, value in every.items() if value}, Path.cwd()
    )
    for name, path in files.named(load):
        if why := files.unreadable(path):
            fix = "give the name of a file that is there"
            raise SpecFault(f"{path} cannot be read: {why}", at=option(name), fix=fix)
    return load


def with_keys(
    sides: Sequence[Mapping[str, Any]], load: Mapping[str, str | bool]
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


def words(load: Mapping[str, str | bool]) -> list[str]:
    """The options that give these keys."""
    results: list[str] = []
    for key, value in load.items():
        results += [option(key)] if value is True else [option(key), str(value)]
    return results


def option(key: str) -> str:
    """The option that gives a key of the job.

    >>> option("ca_file")
    '--ca-file'
    """
    return f"--{key.replace('_', '-')}"
