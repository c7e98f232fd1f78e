"""A unit for systemd: a manager with no more rights than it needs.

- `KillMode=process`: when the manager is killed, its warden must live long enough to set the caps.
- No capability is left, because files of control groups belong to root, and the manager runs as
  root. A tracer that is the window source keeps four.
- Of the file system it writes control groups, its state folder and the folders of its own logs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn.errors import SpecFault
from sojourn.manage.config import Config

NAME = "sojourn-manage.service"
STATE = "/var/lib/sojourn"
TRACES = "CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_PTRACE"  # of the tracer, as window source
UNIT = """\
[Unit]
Description=Sojourn: keep services within their targets beside best-effort work
Documentation=man:systemd.exec(5)
After=local-fs.target

[Service]
Type=exec
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
TimeoutStopSec=15
KillMode=process
StateDirectory=sojourn
Environment=SOJOURN_STATE={state}
UMask=0077
CapabilityBoundingSet={capabilities}
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths=/sys/fs/cgroup{writes}
ProtectControlGroups=no
ProtectHome=read-only
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectClock=yes
ProtectHostname=yes
PrivateDevices=yes
PrivateTmp={private_tmp}
PrivateNetwork={private_network}
RestrictAddressFamilies={families}
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service{calls}
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


def unit(path: Path, config: Config, listen: str) -> str:
    """The text of the unit.

    Args:
        path: of the configuration.
        config: what is in it: its files, and whether it needs a network.
        listen: address for Prometheus; "": none.

    Raises:
        SpecFault: a path cannot stand in a unit, or a group is a process by its number.
    """
    for name, group in config.groups.items():
        if group.pid:
            raise SpecFault(
                f"{name} is a process by its number, which another one has after a restart",
                at=f"groups.{name}.pid",
                fix='name the control group of its unit or container: cgroup = "/PATH", '
                f"as /proc/{group.pid}/cgroup has it",
            )
    words = [sys.executable, "-P", "-m", "sojourn", "manage", "--config", str(path.absolute())]
    words += ["--listen", listen] if listen else []
    folders = {str(Path(name).absolute().parent) for name in (config.audit, config.record) if name}
    is_traced = bool(config.windows.tracer)
    has_network = bool(listen or config.windows.url or is_traced)
    disks = [group.disk for group in config.groups.values()]
    named = [config.windows.file, config.audit, config.record, *disks]
    return UNIT.format(
        command=" ".join(_quoted(word) for word in words),
        state=STATE,
        writes="".join(f" {_quoted(folder)}" for folder in sorted(folders)),
        private_tmp="no" if any(name.startswith("/tmp/") for name in named) else "yes",  # noqa: S108
        private_network="no" if has_network else "yes",
        capabilities=TRACES if is_traced else "",
        calls=" bpf perf_event_open setns" if is_traced else "",
        families="AF_UNIX AF_INET AF_INET6" if has_network else "AF_UNIX",
    )


def _quoted(word: str) -> str:
    """A word as systemd.service(5) reads it: no specifier, no variable, no end of the quotes."""
    if not word.isprintable():
        raise SpecFault(
            f"{word!r} cannot stand in a unit",
            at="--systemd",
            fix="name a path of plain characters",
        )
    text = word.replace("\\", r"\\").replace('"', r"\"").replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if text != word or " " in word or not word else text
