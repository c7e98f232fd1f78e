"""The co-location table: a service's tail and its neighbours' progress, by load.

Provisioning and cost read this table, whether it was measured (`measured`), simulated or typed from
a paper. Columns are those of Tables 2 and 3 of the EuroSys paper (L28, L33).

A number that was measured is there with the ends of its 95 % interval. `surely` and `at_best`
are the same table with each number at its worse and at its better end: whatever is computed from a
table is computed from these two by the same path, which is interval arithmetic. Each end is that of
one number by itself, so all of them hold at once less often than 95 times of 100.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sojourn import disk
from sojourn.errors import SpecFault
from sojourn.models.colocation_row import Beside
from sojourn.text.near import near

ALONE, MEAN = "none", "mean"
SCHEMA: Literal["sojourn.colocation/1"] = "sojourn.colocation/1"


class Table(BaseModel):
    """One service, its neighbours, all loads."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    form: Literal["sojourn.colocation/1"] = Field(default=SCHEMA, alias="schema")
    name: str = Field(min_length=1)
    label: Literal["measured", "simulated", "paper"]
    source: str = Field(description="Record, or paper and table.")
    service: str
    q: float = Field(gt=0, lt=1, description="Quantile of tail_ns.")
    core_share: float = Field(
        default=1.0, gt=0, le=1, description="Share of a server's cores that the service has."
    )
    peak_rps: float | None = Field(
        default=None,
        gt=0,
        description="Requests/s of one server at load 1 if all cores are the service's; "
        "null: not known.",
    )
    setting: str = Field(
        default="", description="How CPUs are shared and scheduled; '': the source says it."
    )
    missing: tuple[str, ...] = Field(
        default=(), description="Cells that were asked for and are not known, each with its reason."
    )
    rows: tuple[Beside, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _no_row_twice(self) -> Table:
        seen = [(row.neighbour, row.load) for row in self.rows]
        twice = sorted({key for key in seen if seen.count(key) > 1})
        if twice:
            raise ValueError(f"row {twice[0]} is there twice; remove one")
        return self

    @property
    def neighbours(self) -> tuple[str, ...]:
        """In the order of the rows; the service alone and the mean of all are no neighbours."""
        names = dict.fromkeys(row.neighbour for row in self.rows)
        return tuple(name for name in names if name not in (ALONE, MEAN))

    @property
    def loads(self) -> tuple[float, ...]:
        """The loads of the table's rows, each once, ascending."""
        return tuple(sorted({row.load for row in self.rows}))

    def at(self, neighbour: str, load: float) -> Beside | None:
        """The row of a neighbour at a load; None if the table has none."""
        rows = (row for row in self.rows if (row.neighbour, row.load) == (neighbour, load))
        return next(rows, None)

    def throughputs(self, neighbour: str) -> tuple[tuple[float, float], ...]:
        """(load, throughput) where it is known, by load."""
        rows = [row for row in self.rows if row.neighbour == neighbour]
        results = ((row.load, row.throughput) for row in rows if row.throughput is not None)
        return tuple(sorted(results))

    def lacks(self, neighbour: str) -> SpecFault:
        """Why nothing can be computed from this neighbour's throughput: to be raised."""
        known = [name for name in (*self.neighbours, MEAN) if self.throughputs(name)]
        fix = f"known: {', '.join(known) or 'none'}"
        if self.missing and not known:
            fix += f"; {len(self.missing)} are missing ({self.missing[-1]}): measure again"
        what = f"{self.name} has no throughput of '{neighbour}'"
        return SpecFault(what, at="--neighbour", fix=fix)

    @property
    def has_intervals(self) -> bool:
        """Whether a number of it has ends of its own."""
        return any(
            end is not None
            for row in self.rows
            for end in (row.tail_lo_ns, row.tail_hi_ns, row.throughput_lo, row.throughput_hi)
        )

    def surely(self) -> Table:
        """Each number at its worse end, and without ends: what can be counted on."""
        return self._of_ends(lambda row: (row.tail_most_ns, row.throughput_least))

    def at_best(self) -> Table:
        """Each number at its better end, and without ends: what cannot be excluded."""
        return self._of_ends(lambda row: (row.tail_least_ns, row.throughput_most))

    def plain(self) -> Table:
        """The numbers themselves, without ends."""
        return self._of_ends(lambda row: (row.tail_ns, row.throughput))

    def without(self, neighbours: Sequence[str]) -> Table:
        """The table without the rows of these neighbours, which are not all that it has."""
        rows = tuple(row for row in self.rows if row.neighbour not in neighbours)
        return self.model_copy(update={"rows": rows})

    def _of_ends(self, ends: Callable[[Beside], tuple[float | None, float | None]]) -> Table:
        rows = tuple(
            Beside(neighbour=row.neighbour, load=row.load, tail_ns=tail, throughput=throughput)
            for row in self.rows
            for tail, throughput in (ends(row),)
        )
        return self.model_copy(update={"rows": rows})


def load(name: str) -> Table:
    """A table that comes with the lab (`L28`, `L33`), or a JSON file."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    path = Path(name)
    if not path.is_file():
        meant = near(name, BUILT_IN)
        hint = f"did you mean {meant[0]}? " if meant else ""
        raise SpecFault(
            f"there is no co-location table '{name}'",
            at=name,
            fix=f"{hint}known: {', '.join(BUILT_IN)}; or give a JSON file of the form {SCHEMA}",
        )
    try:
        return Table.model_validate_json(disk.read_named(path).decode())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SpecFault(
            f"{key or 'the table'}: {first['msg']}",
            at=str(path),
            fix=f"write it as {SCHEMA} asks: see python/sojourn/schema",
        ) from None
    except (OSError, ValueError) as error:
        raise SpecFault(f"cannot read {path}: {error}", at=str(path), fix="give a file") from None


def _rows(
    loads: tuple[int, ...],
    tails_us: dict[str, str],
    throughputs: dict[str, str],
) -> tuple[Beside, ...]:
    """Rows of a printed table: µs and percent, blank-separated, thousands with commas."""
    names = dict.fromkeys([*tails_us, *throughputs])

    def cells(table: dict[str, str], name: str, scale: float) -> list[float | None]:
        if name not in table:
            return [None] * len(loads)
        return [float(cell.replace(",", "")) * scale for cell in table[name].split()]

    rows: list[Beside] = []
    for name in names:
        tails = cells(tails_us, name, 1e3)
        progress = cells(throughputs, name, 0.01)
        for percent, tail, share in zip(loads, tails, progress, strict=True):
            row = Beside(neighbour=name, load=percent / 100, tail_ns=tail, throughput=share)
            rows.append(row)
    return tuple(rows)


# fmt: off
L28 = Table(
    name="L28",
    label="paper",
    source="Leverich and Kozyrakis 2014, Table 2: memcached and SPEC CPU2006, time-shared",
    service="memcached",
    q=0.95,
    peak_rps=1.1e6,  # L8
    rows=_rows(
        (10, 30, 50, 70, 90),
        {
            "none": "122 132 156 209 387",
            "perlbench": "141 161 195 270 474",
            "lbm": "325 302 309 380 642",
            "mean": "217 215 242 307 512",
        },
        {
            "perlbench": "74 42 22 10 14", "bzip2": "79 48 41 17 22", "gcc": "75 41 23 14 18",
            "bwaves": "65 29 17 9 10", "gamess": "78 49 28 17 17", "mcf": "77 54 38 28 26",
            "milc": "80 56 38 29 26", "zeusmp": "73 43 24 13 14", "soplex": "86 53 34 18 22",
            "GemsFDTD": "79 56 38 24 22", "lbm": "76 53 35 23 23", "omnetpp": "61 48 40 28 39",
            "mean": "75 47 30 18 20",
        },
    ),
)
# fmt: on

# fmt: off
L33 = Table(
    name="L33",
    label="paper",
    source="Leverich and Kozyrakis 2014, Table 3: memcached and SPEC CPU2006, half the cores each",
    service="memcached",
    q=0.95,
    core_share=0.5,
    rows=_rows(
        (50, 60, 70, 80, 90),
        {
            "none": "156 176 210 250 360", "perlbench": "156 177 206 266 380",
            "bzip2": "156 181 213 268 402", "gcc": "162 183 217 282 457",
            "mcf": "186 228 318 4,246 6,775", "GemsFDTD": "201 253 408 6,335 6,896",
            "lbm": "208 274 449 7,799 6,429", "mix": "157 199 207 334 4,711",
            "L3 microbenchmark": "156 197 246 5,400 4,944",
        },
        {
            "perlbench": "99 98 98 98 98", "lbm": "91 90 89 88 89", "mix": "98 98 98 96 94",
            "mean": "98 97 96 97 97",
        },
    ),
)
# fmt: on

BUILT_IN = {"L28": L28, "L33": L33}


def chosen(tables: Sequence[Table], setting: str) -> Table:
    """The table of a setting, which may be named by a part that tells it from the others."""
    exact = [table for table in tables if table.setting == setting]
    fits = exact or [table for table in tables if setting in table.setting]
    if len(fits) == 1 or (fits and not setting):
        return fits[0]
    known = [table.setting for table in tables]
    meant = near(setting, known)
    hint = f"did you mean '{meant[0]}'? " if meant else ""
    what = f"{len(fits)} settings have" if fits else "there is no setting with"
    raise SpecFault(
        f"{what} '{setting}' in their names",
        at="--setting",
        fix=f"{hint}known: {'; '.join(known)}",
    )
