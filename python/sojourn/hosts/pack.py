"""A client's result, packed on its host so that the driver only adds.

Histograms in results are compressed texts, which take a millisecond each to read; a run has a
hundred of them. So each host reads its own, at the same time as the others, and hands over bins
with what they hold. The driver adds them up: the sum is the same to the bit as that of the texts.

    result      load.json without the texts of `SPANS`
    spans       for each of them: bins, counts
    keys        of each slice of the interval log: tag, start, length
    slices      how many bins each slice has; bins, counts of all of them, in order
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from sojourn import disk
from sojourn.actors.clients import hdr, logs
from sojourn.actors.clients.logs import Key
from sojourn.actors.clients.merge import SPANS
from sojourn.hosts import network
from sojourn.samples.contract import LoadResult

Packed: TypeAlias = dict[str, Any]
Ints: TypeAlias = NDArray[np.int64]
Small: TypeAlias = NDArray[np.uint32]
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)  # as what is none of it raises
TAG, TIME = re.compile(r"(Tag=[A-Za-z0-9._-]{1,64})?"), re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
HEAD_MAX, LINE_MAX = 100, 1000  # lines of the head of an interval log, and letters of each
SLICES_MAX = 100_000  # of an interval log: a day of seconds
BYTES_MAX = 1 << 30
CHUNK = 64  # slices that are added up at once: 14 MB
_SMALL = "<u4"


NOWHERE = np.empty(0, np.int64)


class DamagedError(ValueError):
    """What a client handed over is no packed result."""


def packed(result: Path, hlog: Path | None) -> Packed:
    """Read a client's files.

    Args:
        result: its `load.json`.
        hlog: its interval log; None: it has none.

    Raises:
        RunFault: a file, or a line of the log, is damaged.
    """
    with logs.readable(str(result)):
        table = json.loads(disk.read_bytes(result, most=BYTES_MAX))
        spans = {name: _sparse(hdr.counts(str(table[name]["hdr"]))) for name in SPANS}
        small = {name: {**table[name], "hdr": ""} for name in SPANS}
    head, keys, slices = _log(hlog) if hlog else ([], [], [])
    lengths = np.array([len(bins) for bins, _ in slices], np.int64)
    return {
        "result": json.dumps({**table, **small}).encode(),
        "spans": {name: tuple(map(_bytes, pair)) for name, pair in spans.items()},
        "head": head,
        "keys": json.dumps(keys).encode(),
        "slices": (
            _bytes(lengths),
            _bytes(_whole([bins for bins, _ in slices])),
            _bytes(_whole([counts for _, counts in slices])),
        ),
    }


def _log(path: Path) -> tuple[list[str], list[Key], list[tuple[Ints, Ints]]]:
    head: list[str] = []
    keys: list[Key] = []
    slices = []
    for at, line, own in logs.entries(path, BYTES_MAX):
        if own is None:
            head.append(line)
            continue
        key, text = own
        keys.append(key)
        with logs.readable(at):
            slices.append(_sparse(hdr.counts(text)))
    return head, keys, slices


def _sparse(counts: Ints) -> tuple[Ints, Ints]:
    bins = np.flatnonzero(counts)
    return bins, counts[bins]


def _whole(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *arrays])


def _bytes(numbers: Ints) -> bytes:
    """As 4 bytes each; a run with 4 billion requests in a bin is none."""
    return numbers.astype(_SMALL).tobytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A packed result that follows its contract.

    Attributes:
        result: of the client, without the texts of histograms.
        spans: bins and counts of each span.
        keys: of each slice.
        plain: number of each that has no tag.
        lengths: how many bins each slice has.
        slices: bins and counts of all slices, in order.
        network: round trips while it ran, or None.
    """

    result: Mapping[str, Any]
    spans: Mapping[str, tuple[Small, Small]]
    head: Sequence[str]
    keys: Sequence[Key]
    plain: Ints
    lengths: Small
    slices: tuple[Small, Small]
    network: Mapping[str, int] | None = None

    def by_slice(self, above_bin: int) -> Ints:
        """Requests above a bin (-1: all) in each slice that has no tag."""
        bins, counts = self.slices
        chosen = counts if above_bin < 0 else np.where(bins > above_bin, counts, 0)
        total = np.concatenate([[0], np.cumsum(chosen, dtype=np.int64)])
        ends = np.cumsum(self.lengths, dtype=np.int64)
        own = total[ends] - total[ends - self.lengths]
        plain: Ints = own[self.plain]
        return plain


def opened(table: object) -> Opened:
    """Check what a client handed over, which a stranger may have made.

    Raises:
        DamagedError: it is no packed result.
    """
    try:
        return _opened(table)
    except DamagedError:
        raise
    except DAMAGE as error:
        raise DamagedError(str(error).splitlines()[0][:200]) from None


def _opened(table: Any) -> Opened:
    result = json.loads(_text(table["result"]))
    LoadResult.model_validate(result)
    keys, plain = _keys(_text(table["keys"]))
    spans = {name: _checked(table["spans"][name]) for name in SPANS}
    for name, (_, counts) in spans.items():
        finite = int(result[name]["count"]) - int(result[name]["lost"])
        if int(counts.sum(dtype=np.int64)) != finite:
            raise DamagedError(
                f"{name} has {int(counts.sum(dtype=np.int64))} requests in bins, {finite} in all"
            )
    of_lengths, *rest = table["slices"]
    lengths = np.frombuffer(of_lengths, _SMALL)
    bins, counts = _checked(rest, np.cumsum(lengths, dtype=np.int64)[:-1])
    if len(lengths) != len(keys) or int(lengths.sum(dtype=np.int64)) != len(bins):
        raise DamagedError("slices that are not in the interval log")
    head = [_head(line) for line in table["head"][: HEAD_MAX + 1]]
    if len(head) > HEAD_MAX:
        raise DamagedError("an interval log with a head without end")
    return Opened(
        result=result,
        spans=spans,
        head=head,
        keys=keys,
        plain=plain,
        lengths=lengths,
        slices=(bins, counts),
        network=network.checked(table.get("network")),
    )


def _text(value: object) -> bytes:
    if not isinstance(value, bytes) or len(value) > BYTES_MAX:  # a number would be a length
        raise DamagedError("no text, or one that is too long")
    return value


def _head(line: object) -> str:
    """A line of a head: whatever else it holds, it is read as a comment."""
    text = str(line)
    if len(text) > LINE_MAX or not text.isprintable() or text[:1] not in ("#", '"', ""):
        raise DamagedError("a head of an interval log that is none")
    return text


@lru_cache(maxsize=16)
def _keys(text: bytes) -> tuple[tuple[Key, ...], Ints]:
    """The slices of an interval log, and which have no tag; those of most clients are the same."""
    keys = tuple((str(tag), str(start), str(length)) for tag, start, length in json.loads(text))
    if len(keys) > SLICES_MAX or len(set(keys)) < len(keys):
        raise DamagedError(f"an interval log of {len(keys)} slices, or with one twice")
    for tag, *times in keys:
        if not TAG.fullmatch(tag) or not all(map(TIME.fullmatch, times)):
            raise DamagedError("a slice without a time")
    return keys, np.array([nth for nth, key in enumerate(keys) if not key[0]], np.int64)


def _checked(pair: Sequence[bytes], firsts: Ints = NOWHERE) -> tuple[Small, Small]:
    """Bins and counts, if each bin of a histogram is there once, in order.

    Args:
        pair: as they were handed over.
        firsts: where another histogram begins.
    """
    bins, counts = (np.frombuffer(part, _SMALL) for part in pair)
    if len(bins) != len(counts) or bins.max(initial=0) >= hdr.BINS:
        raise DamagedError("bins that no histogram has")
    is_first = np.zeros(len(bins) + 1, bool)
    is_first[firsts] = True
    if np.any((bins[1:] <= bins[:-1]) & ~is_first[1:-1]):
        raise DamagedError("a bin that is there twice")
    return bins, counts


class Sums(hdr.Sums):
    """Histograms of packed results, added up bin for bin."""

    def __init__(self, parts: Sequence[Opened]) -> None:
        self._parts = parts

    def total(self, name: str) -> HdrHistogram:
        """The sum of those of one span."""
        whole = np.zeros(hdr.BINS, np.int64)
        for part in self._parts:
            bins, counts = part.spans[name]
            whole[bins] += counts
        return hdr.of_counts(whole)

    def above(self, name: str, ns: float) -> list[int]:
        """How many times of each are above a value that came from `quantile`."""
        last = hdr.bin_of(ns)
        spans = (part.spans[name] for part in self._parts)
        return [int(counts[bins > last].sum(dtype=np.int64)) for bins, counts in spans]


def merged_hlog(parts: Sequence[Opened]) -> str:
    """One interval log of all: slices of the same start, length and tag are added up."""
    keys = list(dict.fromkeys(key for part in parts for key in part.keys))
    order = {key: nth for nth, key in enumerate(keys)}
    rows = [np.array([order[key] for key in part.keys], np.int64) for part in parts]
    lines: list[tuple[float, str]] = []
    for first in range(0, len(keys), CHUNK):
        chunk = keys[first : first + CHUNK]
        whole = np.zeros((len(chunk), hdr.BINS), np.int64)
        for part, own in zip(parts, rows, strict=True):
            bins, counts = part.slices
            row = np.repeat(own, part.lengths) - first
            inside = (row >= 0) & (row < len(chunk))
            whole[row[inside], bins[inside]] += counts[inside]  # a bin is there once
        lines += [(float(key[1]), _line(key, one)) for key, one in zip(chunk, whole, strict=True)]
    lines.sort(key=lambda line: line[0])
    return "\n".join([*parts[0].head, *(text for _, text in lines)]) + "\n"


def _line(key: Key, counts: Ints) -> str:
    tag, start, length = key
    total = hdr.of_counts(counts)
    largest = f"{total.get_max_value() / 1e6:.3f}"  # in ms, as the generator writes it
    words = (start, length, largest, total.encode().decode())
    return ",".join((*((tag,) if tag else ()), *words))
