"""Packed results: the sum is that of the texts; what is damaged is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sojourn.actors import clients
from sojourn.actors.clients import hdr, logs
from sojourn.errors import RunFault
from sojourn.hosts import pack
from sojourn.hosts.pack import DamagedError
from sojourn.hosts.testing import Notes
from sojourn.run import generator
from sojourn.run.generator_job import Files

JOB: dict[str, Any] = {
    "target": "null:",
    "rate": "3000",
    "duration": "1.2s",
    "warmup": "0.1s",
    "connections": 2,
    "wait": "sleep",
    "outage_over": "10s",
    "timely_within": "10s",
}
SEEDS = (3, 4, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of three generators."""
    made = tmp_path_factory.mktemp("results")
    for seed in SEEDS:
        job = {**JOB, "seed": seed, "hlog": str(made / f"{seed}.hlog")}
        generator.run(job, Files.named(made, str(seed)), Notes())
    return made


@pytest.fixture
def every(folder: Path) -> list[dict[str, Any]]:
    return [pack.packed(folder / f"{seed}.json", folder / f"{seed}.hlog") for seed in SEEDS]


def test_the_sum_is_that_of_the_texts_to_the_bit(folder: Path, every: list[dict[str, Any]]) -> None:
    parts = [pack.opened(one) for one in every]
    results = [json.loads((folder / f"{seed}.json").read_text()) for seed in SEEDS]
    packed = clients.merged([part.result for part in parts], JOB, pack.Sums(parts))
    assert packed == clients.merged(results, JOB)
    logs.merge_hlog([folder / f"{seed}.hlog" for seed in SEEDS], folder / "texts.hlog")
    assert pack.merged_hlog(parts) == (folder / "texts.hlog").read_text()


def test_slices_have_what_is_above_a_bin(every: list[dict[str, Any]]) -> None:
    part = pack.opened(every[0])
    assert part.by_slice(-1).sum() == part.result["sojourn_ns"]["count"]
    assert part.by_slice(hdr.BINS).sum() == 0
    bins, counts = part.spans["sojourn_ns"]
    middle = int(bins[len(bins) // 2])
    assert part.by_slice(middle).sum() == counts[bins > middle].sum()


def small(*numbers: int) -> bytes:
    return np.array(numbers, "<u4").tobytes()


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "no result": lambda one: one.pop("result"),
    "no JSON": lambda one: one.update(result=b"{"),
    "another form": lambda one: one.update(result=b"[]"),
    "no bins": lambda one: one["spans"].pop("sojourn_ns"),
    "fewer requests": lambda one: one["spans"].update(sojourn_ns=(small(5), small(1))),
    "a bin that is not": lambda one: one.update(slices=(small(1), small(hdr.BINS), small(1))),
    "a bin twice": lambda one: one["spans"].update(wire_ns=(small(5, 5), small(1, 1))),
    "half a number": lambda one: one["spans"].update(wire_ns=(b"\0\0\0", b"\0\0\0")),
    "slices that are not": lambda one: one.update(slices=(small(1), small(5), small(1))),
    "a slice twice": lambda one: one.update(keys=b'[["", "0", "1"], ["", "0", "1"]]'),
    "a slice without a time": lambda one: one.update(keys=b'[["", "soon", "1"]]'),
    "a slice with a line break": lambda one: one.update(keys=b'[["", "0\\n", "1"]]'),
    "a tag with a line break": lambda one: one.update(keys=b'[["Tag=a\\n7", "0", "1"]]'),
    "a slice at no number": lambda one: one.update(keys=b'[["", "nan", "1"]]'),
    "a slice without end": lambda one: one.update(keys=b'[["", "0", "inf"]]'),
    "a head that is a slice": lambda one: one.update(head=["#head", "0.0,1.0,1.0,AAAA"]),
    "a head with a line break": lambda one: one.update(head=["#head\n0.0,1.0,1.0,AAAA"]),
    "a head without end": lambda one: one.update(head=["#"] * 10_000),
    "a number as a text": lambda one: one.update(result=10**12),
    "a text that is too deep": lambda one: one.update(result=b"[" * 10**6),
    "round trips in no order": lambda one: one.update(
        network={"count": 1, "min_ns": 9, "p50_ns": 5, "max_ns": 7}
    ),
    "lengths without end": lambda one: one.update(
        slices=(small(4294967295, 4294967295), small(5), small(1))
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_damaged_is_refused(name: str, every: list[dict[str, Any]]) -> None:
    DAMAGE[name](every[0])
    with pytest.raises(DamagedError):
        pack.opened(every[0])


@pytest.mark.parametrize("nothing", [None, 3, "result", [], {}])
def test_what_is_nothing_of_the_kind_is_refused(nothing: object) -> None:
    with pytest.raises(DamagedError):
        pack.opened(nothing)


@pytest.mark.parametrize("line", ["0.000", "soon,0.050,1.000,AAAA", "0.000,0.050,1.000,AAAA"])
def test_a_damaged_line_is_a_fault_with_its_file_and_number(
    line: str, folder: Path, tmp_path: Path
) -> None:
    log = tmp_path / "load.hlog"
    log.write_text(f"#head\n{line}\n")
    with pytest.raises(RunFault, match="what a client wrote cannot be read") as caught:
        pack.packed(folder / f"{SEEDS[0]}.json", log)
    assert caught.value.at == f"{log}:2"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"sojourn_ns": {"hdr": "AAAA"}}', None])
def test_a_damaged_result_is_a_fault_with_its_file(text: str | None, tmp_path: Path) -> None:
    result = tmp_path / "load.json"
    if text is not None:
        result.write_text(text)
    with pytest.raises(RunFault, match="what a client wrote cannot be read") as caught:
        pack.packed(result, None)
    assert caught.value.at == str(result)
