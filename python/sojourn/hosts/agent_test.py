"""An agent that is a child of a node ends with it, also where no one reaps the node."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn.places import proc

GONE_S_MAX = 120.0  # a guard against a hang
AGENT = """
import sys, threading
from sojourn.hosts.agent import Agent
Agent(ends_with_parent=sys.argv[1] == "ends")
print("ready", flush=True)
threading.Event().wait()
"""
NODE = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]])
print(child.pid, flush=True)
child.wait()
"""


def lives(pid: int) -> bool:
    stat = proc.stat(pid)
    return stat is not None and stat.state != "Z"


@pytest.mark.parametrize("how", ["ends", "stays"])
def test_an_agent_ends_with_its_parent_if_it_is_asked_to(how: str, tmp_path: Path) -> None:
    env = {**os.environ, "SOJOURN_STATE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", NODE, AGENT, how]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as node:
        assert node.stdout is not None
        agent = int(node.stdout.readline())
        assert node.stdout.readline() == "ready\n"
        node.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, node.pid, os.WEXITED | os.WNOWAIT)  # it is not reaped
        try:
            until = time.monotonic() + (GONE_S_MAX if how == "ends" else 2.0)
            while lives(agent) and time.monotonic() < until:
                time.sleep(0.02)
            assert lives(agent) == (how == "stays")
        finally:
            if lives(agent):
                os.kill(agent, signal.SIGKILL)
