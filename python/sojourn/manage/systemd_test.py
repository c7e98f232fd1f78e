"""The unit for systemd: as systemd reads it, with few rights."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.manage import config as configs
from sojourn.manage import systemd
from sojourn.manage.checks import MissedFault
from sojourn.manage.config_test import GOOD, read


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


@pytest.mark.parametrize(
    ("constants", "key", "words"),
    [
        ("sched_idle = 1", "CapabilityBoundingSet", "CAP_SYS_NICE"),
        ("nice = 5", "RestrictRealtime", "no"),
        ("egress = 1e6", "CapabilityBoundingSet", "CAP_SYS_PTRACE CAP_SYS_ADMIN CAP_NET_ADMIN"),
        ("egress = 1e6", "SystemCallFilter", "@system-service setns"),
        ("egress = 1e6", "RestrictNamespaces", "net"),
        ("egress = 1e6", "RestrictAddressFamilies", "AF_UNIX AF_NETLINK"),
        ("egress = 1e6", "PrivateNetwork", "yes"),
        ("frequency = 1e9", "ReadWritePaths", "/sys/fs/cgroup -/sys/devices/system/cpu"),
        ("ways = 2\nbandwidth = 50", "ReadWritePaths", "/sys/fs/cgroup -/sys/fs/resctrl"),
        ("ways = 2\nnice = 5", "CapabilityBoundingSet", "CAP_SYS_NICE"),
        ("quota = 0.5\nio = 1e6\nfrozen = 1", "CapabilityBoundingSet", ""),
    ],
)
def test_a_knob_has_the_rights_that_it_needs_and_no_other_knob_has_them(
    constants: str, key: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "manage.toml"
    path.write_text(of("static", constants))
    section, usual = service(systemd.unit(path, configs.read(path), "")), service(unit(tmp_path))
    assert section[key] == words
    assert (usual["RestrictRealtime"], usual["RestrictNamespaces"]) == ("yes", "yes")
    assert usual["SystemCallFilter"] == "@system-service"


@pytest.mark.parametrize(("more", "has"), [("", False), ('link = "eth0"', True)])
def test_of_a_program_only_a_link_says_what_it_sets(
    more: str, tmp_path: Path, *, has: bool
) -> None:
    path = tmp_path / "manage.toml"
    path.write_text(
        f'{of("program:true")}\n[groups.more]\nrole = "best-effort"\ncgroup = "/more"\n{more}'
    )
    section = service(systemd.unit(path, configs.read(path), ""))
    assert ("CAP_SYS_ADMIN" in section["CapabilityBoundingSet"]) is has


def of(controller: str, constants: str = "") -> str:
    """The configuration, with another rule."""
    return GOOD.replace("posterior", controller).replace("rest_s = 60", constants)


def test_it_sees_the_folder_of_temporary_files_where_a_path_is_in_it(tmp_path: Path) -> None:
    etc = Path("/etc/manage.toml")
    assert service(systemd.unit(etc, read(tmp_path, GOOD), ""))["PrivateTmp"] == "yes"
    for at in systemd.TEMPORARY:
        more = f'[groups.more]\nrole = "best-effort"\ncgroup = "/more"\ndisk = "{at}it"'
        config = read(tmp_path, f"{GOOD}\n{more}")
        assert service(systemd.unit(etc, config, ""))["PrivateTmp"] == "no"
    here = service(
        systemd.unit(Path(systemd.TEMPORARY[0], "manage.toml"), read(tmp_path, GOOD), "")
    )
    assert here["PrivateTmp"] == "no", "it could not read its configuration"


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("/run/web.jsonl", "web.jsonl", "windows.file"),
        ("every_ms = 50", 'audit = "log.jsonl"', "audit"),
        ("every_ms = 50", 'record = "looks.jsonl"', "record"),
    ],
)
def test_a_name_that_is_another_file_in_a_unit_is_refused(
    tmp_path: Path, old: str, new: str, at: str
) -> None:
    with pytest.raises(SpecFault, match="is a relative path") as caught:
        systemd.unit(Path("/etc/manage.toml"), read(tmp_path, GOOD.replace(old, new)), "")
    assert caught.value.at == at
    assert f'= "{Path.cwd()}/' in caught.value.fix


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
    rights = "sched_idle = 1\negress = 1e6\nfrequency = 1e9\nways = 2"
    config = tmp_path / "manage.toml"
    config.write_text(of("static", rights))
    path.write_text(systemd.unit(config, configs.read(config), ""))
    verify = ["systemd-analyze", "verify", "--man=no", str(path)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False, timeout=60)
    own = [line for line in done.stderr.splitlines() if systemd.NAME in line]
    assert not own
    path.write_text(unit(tmp_path).replace("KillMode=process", "KillMode=proces"))
    done = subprocess.run(verify, capture_output=True, text=True, check=False, timeout=60)
    assert "kill mode" in done.stderr, "it would have said so"


def test_a_unit_whose_target_is_missed_is_not_started_again(tmp_path: Path) -> None:
    """Each start would measure for `check_s` and refuse again, for ever."""
    section = service(unit(tmp_path))
    assert section["Restart"] == "on-failure"
    assert section["RestartPreventExitStatus"] == str(int(MissedFault.exit)) == "1"
    for other in (HostFault, RunFault, SpecFault):
        assert other.exit != MissedFault.exit, "what another start may heal"
