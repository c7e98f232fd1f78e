"""Files of real tools for tests: where they are, and what each tool printed."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Sample:
    """A file, and what its tool printed on the terminal in the same run.

    Attributes:
        printed: quantile, or None for the mean, to ms.
        within: ms by which ours may differ: half of the tool's last digit.
    """

    name: str
    form: str
    requests: int | None
    failed: int = 0
    printed: dict[float | None, float] = field(default_factory=dict)
    within: float = 0.0
    series: int = 1
    clock: str = "send"


# fmt: off
SAMPLES = [
    Sample("wrk.txt", "wrk", 30200, printed={0.5: 0.208, 0.9: 1.49, 0.99: 4.52, None: 0.52199},
           within=1e-9),
    Sample("wrk-plain.txt", "wrk", 28888),
    Sample("wrk-errors.txt", "wrk", 0, 33471),
    Sample("wrk2.txt", "wrk2", 2401, printed={0.5: 0.91, 0.9: 1.66, 0.99: 1.86, None: 0.893},
           within=0.005, clock="intended"),
    Sample("wrk2-u.txt", "wrk2", 2401, printed={0.5: 0.91, 0.99: 1.92}, within=0.005, series=2,
           clock="intended"),
    Sample("memtier.json", "memtier", 500, printed={0.5: 0.047, 0.99: 1.671, 0.999: 3.151,
           None: 0.085}, within=0.0005, series=3),
    Sample("k6.json", "k6-json", 24, printed={0.5: 0.14643, 0.9: 0.35534, 0.95: 7.42, 0.99: 8.81,
           None: 0.86014}, within=0.005),
    Sample("k6.csv", "k6-csv", 24, printed={0.5: 0.14643, 0.99: 8.81, None: 0.86014}, within=0.005),
    Sample("k6-export.json", "k6-summary", 24, printed={0.5: 0.14643, 0.9: 0.35534, 0.95: 7.42,
           0.99: 8.81, None: 0.86014}, within=0.01),
    Sample("k6-handle-summary.json", "k6-summary", 24),
    Sample("k6-errors.json", "k6-json", 10, 20),
    Sample("k6-errors-export.json", "k6-summary", 10, 20),
    Sample("vegeta.json", "vegeta-json", 60, printed={0.5: 0.352578, 0.9: 0.544849, 0.95: 1.528,
           0.99: 3.776, None: 0.499169}, within=0.0005),
    Sample("vegeta.csv", "vegeta-csv", 60, printed={0.5: 0.352578, 0.99: 3.776}, within=0.0005),
    Sample("vegeta-report.json", "vegeta-report", 600, printed={0.5: 0.222932, 0.99: 16.095467,
           None: 0.636532}, within=0.0001),
    Sample("vegeta-errors.json", "vegeta-json", 20, 20),
    Sample("hey.csv", "hey", 60),
    Sample("ghz.json", "ghz", 60, printed={0.5: 0.711527, 0.9: 1.193633, 0.95: 1.501961,
           0.99: 5.869468, None: 0.936172}, within=0.0001),
    Sample("ghz-errors.json", "ghz", 0, 10),
    Sample("h2load.txt", "h2load", 60, printed={None: 0.062}),
    Sample("h2load.tsv", "h2load-log", 60, printed={None: 0.062}, within=0.0005),
    Sample("pgbench.log", "pgbench", 60),
    Sample("pgbench-rate.log", "pgbench", 70, printed={None: 0.543}, within=0.0005,
           clock="intended"),
    Sample("pgbench-skipped.log", "pgbench", 16, 44, clock="intended"),
    Sample("pgbench-aggregate.log", "pgbench-aggregate", 20259),
    Sample("pgbench-aggregate-rate.log", "pgbench-aggregate", 1038, clock="intended"),
    Sample("hdr-java.hlog", "hdr-log", 1200, printed={0.5: 0.254591, 0.99: 1.163263,
           None: 0.315083}, within=0.0001, series=2, clock="not known"),
    Sample("own.hlog", "hdr-log", 49, printed={0.5: 0.190335, None: 1.740027}, within=0.0001,
           series=2, clock="intended"),
    Sample("fortio.json", "fortio", 600, printed={0.5: 0.64, 0.9: 1.98333, 0.95: 2.83333, 0.99: 6,
           0.999: 16.701, None: 1.0171537}, within=0.00001),
    Sample("fortio-errors.json", "fortio", 46, 34),
    Sample("fortio-none.json", "fortio", 0, 20),
    Sample("mutilate.txt", "mutilate", 73, printed={0.9: 3.7559, 0.99: 12.8661, None: 1.1847},
           within=1e-9),
    Sample("mutilate-both.txt", "mutilate", None, printed={0.95: 0.2703, None: 0.1223},
           within=1e-9, series=2),
    Sample("mutilate-skip.txt", "mutilate", 8925, printed={0.99: 0.2756}, within=1e-9),
    Sample("mutilate-scan.txt", "mutilate", None, printed={0.99: 2.5058}, within=1e-9, series=3),
    Sample("mutilate.save", "mutilate-save", 73, printed={None: 1.1847}, within=0.00005),
    Sample("oha.txt", "oha", 800, printed={0.5: 0.0638, 0.9: 0.6048, 0.99: 7.7008, 0.999: 9.9402,
           None: 0.417}, within=1e-9, clock="not known"),
    Sample("oha-errors.txt", "oha", 854, 399, clock="not known"),
    Sample("oha-none.txt", "oha", 0, 4, clock="not known"),
    Sample("oha.json", "oha-json", 800, printed={0.5: 0.094541, 0.9: 0.139768, 0.99: 3.56956,
           0.999: 4.608776, None: 0.16236219}, within=1e-7, clock="not known"),
    Sample("oha-errors.json", "oha-json", 66, 34, clock="not known"),
    Sample("oha-none.json", "oha-json", 0, 10, clock="not known"),
    Sample("oha.csv", "oha-csv", 60, clock="not known"),
    Sample("rezolus-combined.parquet", "rezolus", 155801, series=4),
    Sample("ring.json", "ring", 1110, clock="server", printed={0.5: 0.01526,
           0.99: 13.232}, within=0.0005),
]
# fmt: on
BY_NAME = pytest.mark.parametrize("one", SAMPLES, ids=lambda one: one.name)


def content(name: str) -> bytes:
    """A sample's bytes; longer ones are stored packed."""
    packed = GOLDEN / f"{name}.gz"
    return gzip.decompress(packed.read_bytes()) if packed.exists() else (GOLDEN / name).read_bytes()


def put(folder: Path, data: bytes) -> Path:
    """The bytes as a file."""
    path = folder / "result"
    path.write_bytes(data)
    return path
