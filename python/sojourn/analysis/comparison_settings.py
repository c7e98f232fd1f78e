"""What differs between the machines and settings of records that are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.findings.findings import Findings
from sojourn.spec import Study

#: Facts of a setup that say what happened, which differs from run to run.
HAPPENED = ("warmed", "processes", "socket")
#: Keys of a study on which no number depends.
OF_READING = {"question", "papers", "schema", "seed", "run.raw_max", "run.retries"}
#: Keys that `record.machine` has among its facts.
AMONG_FACTS = {"name", "run.profile", "run.shield", "neighbour"}


def differences(
    findings: Sequence[Findings], facts: Sequence[Mapping[str, str]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(what, its text in each record) that are not the same in all.

    Args:
        findings: what each record found.
        facts: of each record's machine and study, in the order of showing.
    """
    keys = dict.fromkeys(key for table in facts for key in table)
    setups = [
        {
            f"{s.service}: {what}": how
            for s in one.services
            for what, how in s.setup
            if what not in HAPPENED
        }
        for one in findings
    ]
    own = dict.fromkeys(key for table in setups for key in table)
    rows = [(key, tuple(table.get(key, "–") for table in facts)) for key in keys]
    rows += [(key, tuple(table.get(key, "–") for table in setups)) for key in own]
    return tuple(row for row in rows if len(set(row[1])) > 1)


def settings(studies: Sequence[Study]) -> list[dict[str, str]]:
    """The keys in which any study differs from the first, with their texts in each.

    Targets, connections and loads decide numbers as much as the machine does.

    Args:
        studies: of the records that are compared.
    """
    tables = [flat(study) for study in studies]
    first, *others = studies
    keys = dict.fromkeys(key for other in others for key in differing(first, other))
    return [
        {key: text(table[key]) for key in keys if key in table and key not in AMONG_FACTS}
        for table in tables
    ]


def text(value: Any) -> str:
    """A value of a study file for people."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def differing(one: Study, other: Study) -> Iterator[str]:
    """Keys in which two studies differ, of those that change numbers."""
    tables = [flat(study) for study in (one, other)]
    for key in dict.fromkeys([*tables[0], *tables[1]]):
        if key not in OF_READING and tables[0].get(key) != tables[1].get(key):
            yield key


def flat(study: Study) -> dict[str, Any]:
    """Every key of a study, such as `services.0.load.connections`."""
    return dict(_flat(study.model_dump(mode="json", by_alias=True)))


def _flat(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{at}.{number}")
    else:
        yield at, value
