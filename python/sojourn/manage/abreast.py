"""Services side by side: each has its CPUs behind those of the ones before it."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.manage import checks
from sojourn.manage.groups import Managed


def put(groups: Mapping[str, Managed]) -> None:
    """Move services if their neighbours have more CPUs or fewer than before, or are gone.

    RunFault where one of them cannot be moved. One without CPUs by the manager stays as it is.
    """
    first = 0
    for name, one in groups.items():
        if one.is_best_effort:
            continue
        before, one.first = one.first, first
        cores = one.allocation.cores
        if cores and one.own and first != before:
            why = one.apply("cores", cores)
            if why and one.is_there:  # else the next look takes it out
                raise checks.refused(name, f"{cores} CPUs behind the first {first}", why)
        first += cores or 0
