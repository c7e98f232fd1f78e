"""The protocol, spoken by its official client with the program as it is started."""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sojourn import spec, store
from sojourn.browse import notes
from sojourn.store.named import shown

GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"
NAME = "version_1/m/20260123T031248Z-7d37"
DEADLINE_S = 120.0
Asked = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        (tmp_path / variable).mkdir(mode=0o700)
        monkeypatch.setenv(variable, str(tmp_path / variable))
    folder = tmp_path / "results"
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(folder)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    return folder


def spoken(results: Path, talk: Callable[[Client], Awaitable[None]], *options: str) -> None:
    """Start `sojourn mcp` and talk to it."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "sojourn", "mcp", str(results), *options],
        env={**os.environ, "PYTHONPATH": str(Path(spec.__file__).parents[2])},
    )

    async def whole() -> None:
        with anyio.fail_after(DEADLINE_S):
            async with Client(started) as client:
                await talk(client)

    anyio.run(whole)


async def table_of(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """What a tool gives."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def test_an_assistant_lists_records_and_reads_answer_curve_doubts_and_commands(
    results: Path,
) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"list_records", "answer", "curve", "doubts", "next_commands", "sql"} <= set(tools)
        assert "write_note" not in tools
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
        assert "instructions" in (client.instructions or "")

        listed = await table_of(client, "list_records")
        (entry,) = listed["records"]
        name = entry["name"]
        outcomes = store.read(results / name).outcomes()
        assert entry["points"] == len(outcomes)
        assert (await table_of(client, "list_records", study="other"))["count"] == 0

        answer = await table_of(client, "answer")
        assert (answer["record"], answer["is_being_measured"]) == (name, False)
        assert answer["text"].startswith("memcached ≈ 3.31k requests/s")

        curve = await table_of(client, "curve", record=name, service="mm1")
        assert curve["loads"]
        for row in curve["loads"]:
            assert row["service"] == "mm1"
            assert row["runs"] >= row["runs_that_count"]

        doubts = await table_of(client, "doubts", record=name)
        assert doubts["points_that_count"] == sum(one.is_believed for one in outcomes)
        assert (
            sum(row["runs"] for row in doubts["refused_runs"])
            == len(outcomes) - doubts["points_that_count"]
        )

        commands = (await table_of(client, "next_commands"))["commands"]
        assert all(one["command"].startswith("sojourn ") for one in commands)
        assert any("sojourn show" in one["command"] for one in commands)

        await faults_come_in_words(client)
        assert (await table_of(client, "list_records"))["count"] == 1, "it goes on"

    spoken(results, talk)


async def faults_come_in_words(client: Client) -> None:
    for tool, arguments, word in (
        ("answer", {"record": "../../etc/passwd"}, "there is no record"),
        ("curve", {"service": "absent"}, "give one of"),
        ("list_records", {"since": "yesterday"}, "write it as 2026-11-26"),
        ("curve", {"service": 7}, "service"),
        ("write_note", {"record": "newest", "text": "x"}, "write_note"),
    ):
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert word in json.dumps([part.model_dump() for part in result.content])


def test_a_folder_of_any_bytes_costs_no_list(results: Path) -> None:
    strange = results / "version_1" / "m" / os.fsdecode(b"a\xff")
    strange.mkdir()
    (strange / "manifest.json").write_text('{"schema": "sojourn.record/1"}')
    name = shown(str(strange.relative_to(results)))

    async def talk(client: Client) -> None:
        listed = await table_of(client, "list_records")
        assert name in {entry["name"] for entry in listed["records"]}
        assert (await table_of(client, "read_note", record=name))["record"] == name

    spoken(results, talk)


def test_notes_are_written_only_if_the_user_lets_it(results: Path) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["write_note"].annotations
        assert tools["write_note"].annotations.read_only_hint is False
        (entry,) = (await table_of(client, "list_records"))["records"]
        await table_of(client, "write_note", record=entry["name"], text="warm")
        assert notes.load(entry["name"]) == "warm"
        assert (await table_of(client, "read_note"))["note"] == "warm"

    spoken(results, talk, "--notes")
