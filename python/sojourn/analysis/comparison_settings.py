"""What differs between the machines and settings of records that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sojourn.findings.findings import Findings

#: Facts of a setup that say what happened, which differs from run to run.
HAPPENED = ("warmed", "processes", "socket")


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
