"""What generators wrote is bounded and checked before it is added up."""

from __future__ import annotations

import base64
import struct
import tracemalloc
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram

from sojourn.actors import clients
from sojourn.actors.clients import hdr, logs
from sojourn.errors import RunFault

COMPRESSED = 0x1C849314


def text_of(plain: bytes) -> str:
    """Bytes as the text of a compressed histogram."""
    packed = zlib.compress(plain, 9)
    return base64.b64encode(struct.pack(">II", COMPRESSED, len(packed)) + packed).decode()


def histogram(*, digits: int = hdr.DIGITS, highest: int = hdr.MAX_NS, count: int = 7) -> str:
    made = HdrHistogram(1, highest, digits)
    made.record_value(1_000_000, count)
    return str(made.encode().decode())


def test_what_a_generator_writes_is_read_and_nothing_of_nothing() -> None:
    assert hdr.added([histogram(), "", histogram()]).total_count == 14
    assert hdr.counts(histogram())[hdr.bin_of(1_000_000)] == 7


@pytest.mark.parametrize(("q", "rank"), [(0.5, 50), (0.55, 55), (0.07, 7), (0.999, 100)])
def test_a_quantile_is_the_order_statistic_of_its_rank(q: float, rank: int) -> None:
    made = HdrHistogram(1, hdr.MAX_NS, hdr.DIGITS)
    for value in range(1, 101):
        made.record_value(value)
    assert hdr.quantile(made, q, 0) == rank, "0.55 · 100 is a little more than 55"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (histogram(digits=4), "4 digits"),
        (histogram(highest=hdr.MAX_NS // 2), "as no client's"),
        (histogram(count=2**50), "more than"),
        (text_of(b"short"), "."),
        (text_of(b"\0" * 100), "0 digits"),
        ("AAAA", "."),
        ("HISTFAAAA", "."),
        ("%", "."),
        ("é", "."),
    ],
)
def test_what_is_no_histogram_of_a_generator_is_refused(text: str, why: str) -> None:
    with pytest.raises(hdr.DamagedError, match=why):
        hdr.added([histogram(), text])


def test_a_short_text_that_represents_gigabytes_is_not_unpacked() -> None:
    text = text_of(b"\0" * 2**26)
    assert len(text) < 100_000
    tracemalloc.start()
    with pytest.raises(hdr.DamagedError, match="larger than any histogram"):
        hdr.added([text])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**23


def test_a_result_with_such_a_text_is_a_fault_and_no_bug() -> None:
    damaged = {"requests": 1, "sojourn_ns": {"hdr": "AAAA"}}
    with pytest.raises(RunFault, match="a client's histogram cannot be read"):
        clients.merged([damaged, damaged], {})


@pytest.mark.parametrize(
    "line", ["0.000", "soon,0.050,1.000,{}", "Tag=all", "0.000,0.050,1.000,AAAA", "0,,1,{}"]
)
def test_a_line_that_is_none_of_an_interval_log_is_named(line: str, tmp_path: Path) -> None:
    sound, damaged = tmp_path / "load.1.hlog", tmp_path / "load.2.hlog"
    sound.write_text(f"#head\n0.000,0.050,1.000,{histogram()}\n")
    damaged.write_text(f"#head\n{line.format(histogram())}\n")
    with pytest.raises(RunFault) as caught:
        logs.merge_hlog([sound, damaged], tmp_path / "load.hlog")
    assert caught.value.at == f"{damaged}:2"
    assert not (tmp_path / "load.hlog").exists()


def test_an_interval_log_that_is_too_long_or_not_there_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "load.1.hlog"
    with pytest.raises(RunFault, match="No such file"):
        logs.merge_hlog([path], tmp_path / "load.hlog")
    path.write_text("#head\n" * 10)
    monkeypatch.setattr(logs, "BYTES", 50)
    with pytest.raises(RunFault, match="at most 50 are read"):
        logs.merge_hlog([path], tmp_path / "load.hlog")


def test_raw_requests_that_are_damaged_are_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "raw.1.parquet"
    path.write_bytes(b"nonsense")
    with pytest.raises(RunFault, match="cannot be read"):
        logs.merge_raw([path], tmp_path / "raw.parquet")
    for table in ({"intended_ns": [1]}, {"thread": ["x"], "intended_ns": [1]}, {"thread": [0]}):
        pq.write_table(pa.table(table), path)
        with pytest.raises(RunFault, match="cannot be read"):
            logs.merge_raw([path], tmp_path / "raw.parquet")
    assert not (tmp_path / "raw.parquet").exists()
