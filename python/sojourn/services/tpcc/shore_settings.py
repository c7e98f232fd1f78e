"""What can be set of PostgreSQL with TPC-C."""

from __future__ import annotations

from sojourn.services.params import Param

ITEMS_TPCC, CUSTOMERS_TPCC = 100_000, 3_000  # TPC-C, 4.3.3.1

PARAMS = (
    Param(
        name="threads",
        about="connections, each with a process of its own; default: 8 (P6), or one per server CPU "
        'where there are fewer; "cpus", "cpus+1": by the server\'s CPUs',
        default=None,
        lo=1,
        hi=1024,
        relative=True,
    ),
    Param(
        name="warehouses",
        about="of TPC-C; on each all payments wait for each other. Default: one a connection",
        default=None,
        lo=1,
        hi=1000,
    ),
    Param(
        name="items",
        about="of TPC-C, and rows of stock in each warehouse; default: 100 000 times the profile's "
        "share, 1000 at least",
        default=None,
        lo=10,
        hi=ITEMS_TPCC,
    ),
    Param(
        name="customers",
        about="of each of a warehouse's ten districts; default: 3000 times the profile's share, 30 "
        "at least",
        default=None,
        lo=10,
        hi=CUSTOMERS_TPCC,
    ),
    Param(name="requests", about="requests that differ", default=500_000, lo=1, hi=1_000_000_000),
    Param(
        name="fsync", about="a commit is on the disk before it is answered", default=True, type=bool
    ),
    Param(name="buffers_mb", unit="MB", about="shared_buffers", default=256, lo=1, hi=1 << 20),
    Param(name="port", about="loopback port; 0: a free one", default=0, lo=0, hi=65_535),
)
