"""Files in a point's folder, by their names."""

from __future__ import annotations

POINT, LOAD, HLOG, RAW = "point.json", "load.json", "load.hlog", "raw.parquet"
PROBE = "probe.json"
HOST, SERVICE, HOSTS = "host.json", "service.json", "hosts.json"
