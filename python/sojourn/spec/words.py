"""What a study calls an actor: `KIND`, `KIND:WHERE`, or a kind with several parameters by name.

spin                            as it is
spin:server                     its leading parameter without a name
noise:cpu@50%                   the leading one, and after @ how much
noise:kind=llc,intensity=50%    all of them by name, with commas between them
noise:llc@50%,size=8MiB         both ways
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WHERE = "where"
AND = " + "  # between two in one text


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A kind and its parameters as they were written.

    Attributes:
        name: of the kind.
        params: parameters by name, as texts.
        problem: what is wrong with the text; "" if nothing is.
    """

    name: str
    params: Mapping[str, str]
    problem: str = ""


def read(text: str, *, lead: str = WHERE, at: str = "") -> Named:
    """Take the text of an actor apart.

    Args:
        text: as the study has it.
        lead: the parameter that needs no name, if it comes first.
        at: the parameter after an `@` behind it; "": the kind has none.

    >>> read("noise:llc@50%,size=8MiB", lead="kind", at="intensity").params
    {'kind': 'llc', 'intensity': '50%', 'size': '8MiB'}
    >>> read("spin:server").params, read("spin").params
    ({'where': 'server'}, {})
    >>> read("noise:llc,8MiB", lead="kind").problem
    "'8MiB' has no name"
    """
    name, _, rest = text.partition(":")
    inputs: dict[str, str] = {}
    for nth, item in enumerate(rest.split(",") if rest else ()):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            if nth or not key:
                return Named(name=name, params=inputs, problem=f"'{item}' has no name")
            first, how_much, amount = key.partition("@") if at else (key, "", "")
            pairs = {lead: first, **({at: amount} if how_much else {})}
        else:
            pairs = {key: value}
        if twice := [key for key in pairs if key in inputs]:
            return Named(name=name, params=inputs, problem=f"{twice[0]} is given twice")
        inputs |= pairs
    return Named(name=name, params=inputs)


def parted(text: str) -> list[str]:
    """Each of those that one text names.

    >>> parted("noise:cpu@50%,where=server + spin"), parted("")
    (['noise:cpu@50%,where=server', 'spin'], [])
    """
    return [part.strip() for part in text.split(AND) if part.strip()]
