"""Result files packed with gzip or Zstandard: read alike, and bounded."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from sojourn import disk, importers
from sojourn.disk import expanded
from sojourn.errors import SpecFault
from sojourn.importers.file import BLANKS, LINE_BYTES
from sojourn.importers.testing import content, put

Pack = Callable[[bytes], bytes]


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


PACKED = pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])


@PACKED
@pytest.mark.parametrize("name", ["k6.json", "wrk.txt", "vegeta-report.json", "pgbench.log"])
def test_a_packed_file_says_what_the_plain_one_does(name: str, pack: Pack, tmp_path: Path) -> None:
    plain, packed = (importers.read(put(tmp_path, form(content(name)))) for form in (bytes, pack))
    assert packed[0].name == plain[0].name
    for one, other in zip(packed[1], plain[1], strict=True):
        assert (one.requests, one.failed, one.seconds) == (
            other.requests,
            other.failed,
            other.seconds,
        )
        assert dict(one.stated) == dict(other.stated)
        assert (one.times is None) == (other.times is None)
        if one.times and other.times:
            assert one.times.hi_ns.tolist() == other.times.hi_ns.tolist()


@PACKED
def test_several_packed_files_one_after_another_are_one_file(pack: Pack, tmp_path: Path) -> None:
    _, (once,) = importers.read(put(tmp_path, content("vegeta.json")))
    _, (twice,) = importers.read(put(tmp_path, pack(content("vegeta.json")) * 2))
    assert twice.requests == 2 * (once.requests or 0) > 0


@PACKED
def test_a_torn_or_broken_one_is_named_with_what_to_do(pack: Pack, tmp_path: Path) -> None:
    whole = pack(content("vegeta.json") * 50)
    middle = len(whole) // 2
    broken = whole[:middle] + bytes(200) + whole[middle + 200 :]
    with pytest.raises(SpecFault):  # what comes out before may be no JSON
        importers.read(put(tmp_path, broken), "vegeta-json")
    for data in (whole[:-3], whole[:middle], whole[:6]):
        with pytest.raises(SpecFault, match="cannot be unpacked") as caught:
            importers.read(put(tmp_path, data), "vegeta-json")
        assert "gzip -d" in caught.value.fix
        assert str(tmp_path) in caught.value.at


@PACKED
def test_a_bomb_is_refused_before_it_is_expanded(pack: Pack, tmp_path: Path) -> None:
    path = put(tmp_path, pack((b"{" + bytes(8000) + b"}\n") * 8000))
    with pytest.raises(disk.PackedError, match="expand to more than"):
        read_all(path)
    with pytest.raises(SpecFault, match="longer than"):  # one line: its own bound is first
        importers.read(put(tmp_path, pack(bytes(LINE_BYTES + 1))), "vegeta-json")
    with pytest.raises(SpecFault, match=f"more than {BLANKS:,} empty lines"):
        importers.read(put(tmp_path, pack(b"\n" * (BLANKS + 2))), "vegeta-json")


def read_all(path: Path) -> None:
    """Go over its lines; fails where more is expanded than the bound and a step allow."""
    out = 0
    for line in disk.lines_named(path, most=2**40, longest=2**20):
        out += len(line)
        packed = path.stat().st_size
        assert out <= max(expanded.FREE_BYTES, expanded.RATIO * packed) + 2**20


def test_a_window_of_zstandard_that_takes_all_memory_is_refused(tmp_path: Path) -> None:
    """A frame of nine bytes may ask for a window of terabytes."""
    path = put(tmp_path, b"\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00")
    with pytest.raises(SpecFault, match="cannot be unpacked"):
        importers.read(path, "wrk")
