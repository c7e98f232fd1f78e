"""Names of files in a study: which there are, and in which folder a relative one lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.spec import files, kinds

TEXT = """
name = "own"
question = "?"
neighbour = "fio:op=read,folder=scratch"
[[services]]
kind = "external"
measure = ["sweep"]
[services.params]
target = "http://127.0.0.1:1/"
[services.load]
paths_file = "paths.txt"
body_file = "/abs/body"
ca_file = "tls/ca.pem"
auth = "bearer:file:tok.txt"
header = ["X-Key: file:key.txt", "Accept: a/b"]
arrivals = "trace:log.txt,speed=2"
[services.load.option]
descriptor = "greeter.pb"
window = "64KiB"
"""


def loaded(path: Path, text: str = TEXT, *sets: str, varied: tuple[str, ...] = ()) -> spec.Study:
    path.write_text(text)
    return spec.load(path, overrides=sets, varied=varied)


def test_a_relative_name_is_in_the_folder_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    study = loaded(tmp_path / "own.toml")
    load = study.services[0].job
    assert study.neighbour == f"fio:op=read,folder={tmp_path}/scratch"
    assert load == {
        "paths_file": f"{tmp_path}/paths.txt",
        "body_file": "/abs/body",
        "ca_file": f"{tmp_path}/tls/ca.pem",
        "auth": f"bearer:file:{tmp_path}/tok.txt",
        "header": [f"X-Key: file:{tmp_path}/key.txt", "Accept: a/b"],
        "arrivals": f"trace:{tmp_path}/log.txt,speed=2",
        "option": {"descriptor": f"{tmp_path}/greeter.pb", "window": "64KiB"},
    }
    assert dict(files.named(load)) == {
        "paths_file": tmp_path / "paths.txt",
        "body_file": Path("/abs/body"),
        "ca_file": tmp_path / "tls/ca.pem",
        "auth": tmp_path / "tok.txt",
        "header": tmp_path / "key.txt",
        "arrivals": tmp_path / "log.txt",
        "option.descriptor": tmp_path / "greeter.pb",
    }


@pytest.mark.parametrize(
    "ends", ["", ",scaled", ",speed=2", ",method=GET", ",scaled,method=GET", ",speed=1,method=PUT"]
)
def test_the_file_of_a_trace_is_its_name_whatever_stands_behind_it(ends: str) -> None:
    for name in ("/logs/access.log.gz", "/logs/a,b.log"):
        assert dict(files.named({"arrivals": f"trace:{name}{ends}"})) == {"arrivals": Path(name)}


def test_what_is_typed_is_in_the_folder_where_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    study = loaded(
        there / "own.toml",
        TEXT,
        "services.external.load.paths_file=mine.txt",
        'services.external.load.option={descriptor="mine.pb"}',
        "neighbour=none",
        varied=("services.external.load.body_file=a,b",),
    )
    load = study.services[0].job
    assert load["paths_file"] == f"{here}/mine.txt"
    assert load["option"] == {"descriptor": f"{here}/mine.pb"}
    assert load["ca_file"] == f"{there}/tls/ca.pem"
    key = "services.external.load.body_file"
    assert study.factors[key] == (f"{here}/a", f"{here}/b")


def test_levels_and_the_cells_that_name_them_agree(tmp_path: Path) -> None:
    text = """
name = "own"
question = "?"
[[services]]
kind = "command"
measure = ["sweep"]
params = { argv = "app {port}", folder = "app" }
[factors]
neighbour = ["none", "fio:folder=a", "fio:folder=b"]
"services.command.load.paths_file" = ["x", "y"]
"services.command.load.option.descriptor" = ["p", "q"]
"services.command.load.connections" = [1, 2]
"""
    study = loaded(tmp_path / "own.toml", text)
    assert study.services[0].params["folder"] == f"{tmp_path}/app"
    assert study.factors["neighbour"] == (
        "none",
        f"fio:folder={tmp_path}/a",
        f"fio:folder={tmp_path}/b",
    )
    assert study.factors["services.command.load.paths_file"] == (f"{tmp_path}/x", f"{tmp_path}/y")
    assert study.factors["services.command.load.connections"] == (1, 2)
    cell = study.combinations("command")[-1]
    under = study.under(cell).services[0].job
    assert under["option"] == {"descriptor": f"{tmp_path}/q"}
    table: dict[str, Any] = {"design": {"cells": [{"neighbour": "fio:folder=a", "load": 1}]}}
    files.resolve(table, tmp_path, {})
    assert table["design"]["cells"][0]["neighbour"] == f"fio:folder={tmp_path}/a"


def test_a_record_means_the_same_files_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = loaded(tmp_path / "own.toml")
    path = tmp_path / "record" / "study.toml"
    path.parent.mkdir()
    path.write_text(spec.to_toml(study))
    monkeypatch.chdir("/")
    assert spec.load(path) == study
    assert spec.load(path, is_own=True).services == study.services
    old = tmp_path / "old.toml"  # of before names were made absolute
    old.write_text(TEXT.replace('neighbour = "fio:op=read,folder=scratch"', ""))
    assert spec.load(old, is_own=True).services[0].job["paths_file"] == "paths.txt"


@pytest.mark.parametrize(
    "text",
    [
        "services = 3",
        "services = [1]",
        "[[services]]\nload = 3",
        "factors = 3",
        '[[services]]\nload = { option = 3, auth = 4, paths_file = ["a", 1] }',
    ],
)
def test_what_has_the_wrong_form_is_left_to_the_model(tmp_path: Path, text: str) -> None:
    with pytest.raises(SpecFault):
        loaded(tmp_path / "own.toml", text)


def test_every_key_of_the_job_that_names_a_file_is_known() -> None:
    reports = {
        name
        for name, about in kinds.schema("load-job")["properties"].items()
        if any(word in about.get("description", "").lower() for word in ("file", "pem"))
    }
    written = set(files.WRITTEN)
    within = {"auth", "arrivals", "log_form"}  # log_form: is about a file, and names none
    assert {
        name for name in reports if name not in written | within and not files._is_read(name)
    } == (set())
    options = {
        option["name"]
        for table in kinds.schema("load-kinds")["tables"]
        for kind in table["kinds"]
        for option in kind["params"]
        if option["about"].startswith("file ")
    }
    assert options <= set(files.OPTIONS) | {"body_file"}
