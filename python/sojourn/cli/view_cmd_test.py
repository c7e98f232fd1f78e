"""`sojourn view` and `sojourn mcp` as typed: what they refuse, in which words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from sojourn import extras, spec
from sojourn.cli import lowered
from sojourn.cli.app import main
from sojourn.importers.testing import content

DUMP = "ring-20261127T010832Z-001.json"
PACKAGE = Path(spec.__file__).parents[2]


@pytest.mark.parametrize(("name", "package"), [("view", "starlette"), ("mcp", "mcp")])
def test_a_missing_package_and_a_missing_folder_are_named(
    name: str,
    package: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(extras, "is_here", lambda _: True)
    assert main([name, str(tmp_path / "none")]) == 2
    assert "name a folder of results" in capsys.readouterr().err
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    assert main([name, str(tmp_path)]) == 2
    assert f" '{package}>=" in " ".join(capsys.readouterr().err.split())


def test_it_answers_on_loopback_alone_and_a_taken_port_is_named(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra view")
    command = [sys.executable, "-m", "sojourn", "view", str(tmp_path), "--port"]
    env = {"PYTHONPATH": str(PACKAGE), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with subprocess.Popen(
        [*command, "0"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            line = started.stdout.readline()
            url = re.fullmatch(r"open (http://127\.0\.0\.1:(\d+)/\?key=\S{20,})\n", line)
            assert url, line
            assert _listens(int(url[2])) == {"0100007F"}
            with urllib.request.urlopen(url[1], timeout=60) as page:  # noqa: S310
                assert page.geturl() == re.sub(r"/\?key=(.*)", r"/\1/", url[1])
                assert page.headers["Set-Cookie"] is None
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{url[2]}/", timeout=60)
            assert refused.value.code == 403
            refused.value.close()
            taken = subprocess.run(
                [*command, url[2]], env=env, capture_output=True, text=True, check=False
            )
            assert (taken.returncode, "--port" in taken.stderr) == (2, True)
        finally:
            started.terminate()
            _, errors = started.communicate(timeout=60)
    assert "Traceback" not in errors


def _listens(port: int) -> set[str]:
    """Addresses on which a port listens, as the kernel writes them."""
    result = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            address, _, number = words[1].rpartition(":")
            if int(number, 16) == port and words[3] == "0A":
                result.add(address)
    return result


def test_a_port_that_no_one_may_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--port", "70000"]) == 2
    assert "65535" in capsys.readouterr().err


def test_a_file_that_is_no_dump_is_refused_before_anything_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra view")
    for name, what in (("k6.json", "sojourn open FILE"), (DUMP, "no dump of the black box")):
        (tmp_path / name).write_text("{}")
        assert main(["view", str(tmp_path / name)]) == 2
        assert what in " ".join(capsys.readouterr().err.split())


def test_a_dump_that_is_named_is_the_page_that_the_address_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra view")
    from sojourn.view import serve

    seen: list[tuple[Path, str]] = []
    monkeypatch.setattr(
        serve, "serve", lambda results, port, show, path: seen.append((results, path))
    )
    (tmp_path / DUMP).write_bytes(content("ring.json"))
    assert main(["view", str(tmp_path / DUMP)]) == 0
    assert main(["view", str(tmp_path)]) == 0
    assert seen == [(tmp_path, f"/dump/{DUMP}"), (tmp_path, "/")]


def test_a_study_a_machine_or_a_record_that_is_named_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra view")
    from sojourn.view import serve

    seen: list[tuple[Path, str]] = []
    monkeypatch.setattr(
        serve, "serve", lambda results, port, show, path: seen.append((results, path))
    )
    results = tmp_path / "results"
    record = results / "s/m/20260101T000000Z-0001"
    other = tmp_path / "web/pages/app"
    for folder in (record, other):
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
    named = [record, record.parent, record.parents[1], results, other, other.parent]
    for folder in named:
        assert main(["view", str(folder)]) == 0
    assert seen == [
        (results, "/r/s/m/20260101T000000Z-0001"),
        (results, "/?study=s&machine=m"),
        (results, "/?study=s"),
        (results, "/"),
        (other, "/"),
        (other.parent, "/"),
    ]


@pytest.mark.parametrize(
    ("named", "owned", "like"),
    [
        ("s/m/20260101T000000Z-0001", ".", "."),
        ("s/m/20260101T000000Z-0001", "s", "s"),
        ("s/m/20260101T000000Z-0001", "s/m", "s/m"),
        ("s/m/20260101T000000Z-0001", "s/m/20260101T000000Z-0001", "s/m/20260101T000000Z-0001"),
        ("s/m/20260101T000000Z-0001", "..", "."),
        (".", ".", "."),
        (DUMP, ".", "."),
        (DUMP, DUMP, DUMP),
        (DUMP, "..", "."),
    ],
)
def test_root_reads_as_a_stranger_where_any_folder_of_what_is_served_is_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, owned: str, like: str
) -> None:
    """All of the results is served, also where a record of root's own in it is named."""
    pytest.importorskip("uvicorn", reason="needs the extra view")
    from sojourn.view import serve

    results = tmp_path / "results"
    record = results / "s/m/20260101T000000Z-0001"
    record.mkdir(parents=True)
    (record / "manifest.json").write_text("{}")
    (results / DUMP).write_bytes(content("ring.json"))
    stranger, real = (results / owned).resolve(), Path.stat

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        seen = real(path, follow_symlinks=follow_symlinks)
        if not path.is_relative_to(tmp_path):
            return seen
        return os.stat_result((*seen[:4], 1000 if path == stranger else 0, *seen[5:]))

    lowered_to: list[Path] = []
    monkeypatch.setattr(lowered, "for_reading", lowered_to.append)
    monkeypatch.setattr(serve, "serve", lambda *_: None)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", stat)
        assert main(["view", str(results / named)]) == 0
    assert lowered_to == [(results / like).resolve()]


def test_the_address_is_shown_before_it_becomes_an_idle_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On busy CPUs an idle task may wait for minutes, and the terminal stayed empty meanwhile."""
    uvicorn = pytest.importorskip("uvicorn", reason="needs the extra view")
    from sojourn.browse import priority
    from sojourn.view import serve

    done: list[str] = []

    def show(address: str) -> None:
        port = re.search(r":(\d+)/", address)
        assert port
        assert _listens(int(port[1])) == {"0100007F"}, "a browser may come at once, and waits"
        done.append("address")

    monkeypatch.setattr(priority, "step_back", lambda: done.append("steps back"))
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: done.append("answers"))
    serve.serve(tmp_path, 0, show)
    assert done == ["address", "steps back", "answers"]
