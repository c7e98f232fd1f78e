"""A unit for systemd: a manager with no more rights than it needs.

- `KillMode=process`: when the manager is killed, its warden must live long enough to set the caps.
- No capability is left, because files of control groups belong to root, and the manager runs as
  root. A tracer that is the window source keeps four. A knob that is no file of a control group has
  the rights of `KNOBS` if the rule sets it. Of a program only `egress` is known, by a `link`.
- A missed target is no failure that another start would heal, so the unit stays as failed then.
- Of the file system it writes control groups, its state folder and the folders of its own logs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sojourn.controllers.named import rule
from sojourn.controllers.rule import OfKind
from sojourn.errors import SpecFault
from sojourn.host.capacity import CPU_DIR
from sojourn.knobs import resctrl
from sojourn.manage.checks import MissedFault
from sojourn.manage.config import Config

NAME = "sojourn-manage.service"
STATE = "/var/lib/sojourn"
TEMPORARY = ("/tmp/", "/var/tmp/")  # noqa: S108  # of which a unit may have its own


class Rights(NamedTuple):
    """What one part of a manager needs beyond those of all; each is a list of words.

    Attributes:
        writes: folders; "-" first: it need not be there.
        namespaces: of RestrictNamespaces.
    """

    capabilities: str = ""
    calls: str = ""
    families: str = ""
    writes: str = ""
    namespaces: str = ""
    is_realtime: bool = False


TRACES = "CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_PTRACE"  # of the tracer, as window source
TRACER = Rights(capabilities=TRACES, calls="bpf perf_event_open setns")
NETWORK = Rights(families="AF_INET AF_INET6")
RESCTRL = Rights(writes=f"-{resctrl.MOUNT}")
#: Of each knob that is no file of a control group.
KNOBS: Mapping[str, Rights] = {
    # A thread that was real-time is so again at the end.
    "policy": Rights(capabilities="CAP_SYS_NICE", is_realtime=True),
    # To see, to enter and to change a namespace.
    "egress": Rights(
        capabilities="CAP_SYS_PTRACE CAP_SYS_ADMIN CAP_NET_ADMIN",
        calls="setns",
        families="AF_NETLINK",
        namespaces="net",
    ),
    "frequency": Rights(writes=f"-{CPU_DIR}"),
    "ways": RESCTRL,
    "bandwidth": RESCTRL,
}
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
RestartPreventExitStatus={missed}
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
RestrictNamespaces={namespaces}
RestrictRealtime={restrict_realtime}
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
    files = {"windows.file": config.windows.file, "audit": config.audit, "record": config.record}
    for key, name in files.items():
        if name and not name.startswith("/"):
            raise SpecFault(
                f"{name} is a relative path, and a unit runs in another folder",
                at=key,
                fix=f'{key.rpartition(".")[2]} = "{Path(name).absolute()}"',
            )
    words = [sys.executable, "-P", "-m", "sojourn", "manage", "--config", str(path.absolute())]
    words += ["--listen", listen] if listen else []
    folders = {str(Path(name).absolute().parent) for name in (config.audit, config.record) if name}
    has_network = bool(listen or config.windows.url or config.windows.tracer)
    every = [*([TRACER] if config.windows.tracer else []), *([NETWORK] if has_network else [])]
    every += [KNOBS[knob] for knob in _knobs(config) if knob in KNOBS]
    disks = [group.disk for group in config.groups.values()]
    named = [str(path.absolute()), config.windows.file, config.audit, config.record, *disks]
    return UNIT.format(
        command=" ".join(_quoted(word) for word in words),
        state=STATE,
        missed=int(MissedFault.exit),
        writes="".join(f" {_quoted(folder)}" for folder in sorted(folders)) + _all(every, "writes"),
        private_tmp="no" if any(name.startswith(TEMPORARY) for name in named) else "yes",
        private_network="no" if has_network else "yes",
        capabilities=_all(every, "capabilities").strip(),
        calls=_all(every, "calls"),
        families="AF_UNIX" + _all(every, "families"),
        namespaces=_all(every, "namespaces").strip() or "yes",
        restrict_realtime="no" if any(one.is_realtime for one in every) else "yes",
    )


def _knobs(config: Config) -> tuple[str, ...]:
    """Knobs that the rule sets; of a program those that the configuration speaks of."""
    one = rule(config.controller, config.constants)
    if isinstance(one, OfKind):
        return one.kind.asks(one.constants)
    return ("egress",) if any(group.link for group in config.groups.values()) else ()


def _all(every: Sequence[Rights], key: str) -> str:
    """Words of all of them, each once, with a blank before each."""
    words = [word for one in every for word in getattr(one, key).split()]
    return "".join(f" {word}" for word in dict.fromkeys(words))


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
