"""The unit for systemd: as systemd reads it, with few rights."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn.errors import SpecFault
from sojourn.manage import config as configs
from sojourn.manage import systemd
from sojourn.manage.config_test import GOOD


def unit(folder: Path, more: str = "", listen: str = "", name: str = "manage.toml") -> str:
    path = folder / name
    path.write_text(more + GOOD)
    return systemd.unit(path, configs.read(path), listen)


def service(text: str) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser["Service"]


def test_the_warden_outlives_a_killed_manager_and_rights_are_few(tmp_path: Path) -> None:
    section = service(unit(tmp_path))
    assert section["KillMode"] == "process"
    assert not section["CapabilityBoundingSet"]
    assert section["ReadWritePaths"] == "/sys/fs/cgroup"
    assert section["ProtectSystem"] == "strict"
    assert (section["PrivateNetwork"], section["RestrictAddressFamilies"]) == ("yes", "AF_UNIX")
    assert section["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert "User" not in section, "the files of control groups belong to root"


def test_it_may_write_its_logs_and_use_the_network_only_if_it_has_some(tmp_path: Path) -> None:
    audit = tmp_path / "a 100%$" / "audit.jsonl"
    section = service(unit(tmp_path, f'audit = "{audit}"\n', "127.0.0.1:9123"))
    assert section["ReadWritePaths"] == f'/sys/fs/cgroup "{tmp_path}/a 100%%$$"'
    assert section["PrivateNetwork"] == "no"
    assert section["ExecStart"].endswith(f"--config {tmp_path}/manage.toml --listen 127.0.0.1:9123")


def test_it_sees_the_folder_of_temporary_files_where_a_path_is_in_it(tmp_path: Path) -> None:
    assert service(unit(tmp_path))["PrivateTmp"] == "yes"
    path = tmp_path / "manage.toml"
    path.write_text(
        f'{GOOD}\n[groups.more]\nrole = "best-effort"\ncgroup = "/more"\ndisk = "/tmp/it"'
    )
    assert service(systemd.unit(path, configs.read(path), ""))["PrivateTmp"] == "no"


def test_a_process_by_its_number_is_in_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "manage.toml"
    path.write_text(GOOD.replace('cgroup = "/batch"', "pid = 4711"))
    with pytest.raises(SpecFault, match="another one has after a restart") as caught:
        systemd.unit(path, configs.read(path), "")
    assert caught.value.at == "groups.batch.pid"
    assert "/proc/4711/cgroup" in caught.value.fix


def test_a_name_is_one_word_and_no_line(tmp_path: Path) -> None:
    section = service(unit(tmp_path, name='a "b" $HOME %h\\.toml'))
    assert section["ExecStart"].endswith(f'--config "{tmp_path}/a \\"b\\" $$HOME %%h\\\\.toml"')
    with pytest.raises(SpecFault, match="cannot stand in a unit"):
        unit(tmp_path, name="a\nExecStartPre=evil.toml")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_reads_it(tmp_path: Path) -> None:
    path = tmp_path / systemd.NAME
    path.write_text(unit(tmp_path))
    verify = ["systemd-analyze", "verify", "--man=no", str(path)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False, timeout=60)
    own = [line for line in done.stderr.splitlines() if systemd.NAME in line]
    assert not own
    path.write_text(unit(tmp_path).replace("KillMode=process", "KillMode=proces"))
    done = subprocess.run(verify, capture_output=True, text=True, check=False, timeout=60)
    assert "kill mode" in done.stderr, "it would have said so"
