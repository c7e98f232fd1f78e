"""What a cluster takes of the disk, and how its programs find their libraries."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sojourn import services
from sojourn.errors import HostFault
from sojourn.services import Allowance
from sojourn.services.tpcc import answers as tpcc
from sojourn.services.tpcc import cluster, postgres
from sojourn.services.tpcc.postgres import Home

GIB = 1 << 30
NOWHERE = Home(root=None, bins=Path("/nowhere"))


def test_the_log_of_how_rows_came_in_is_on_the_disk_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "home", lambda: NOWHERE)
    # Measured on 15: MiB of a cluster that was made, a third to a half of them its log.
    for customers, items, seen in ((120, 4_000, 66.6), (600, 20_000, 99.9), (2_400, 80_000, 260.6)):
        scale = tpcc.Scale(warehouses=1, customers=customers, items=items)
        assert 1 <= cluster.made_bytes(scale) / (seen * (1 << 20)) < 1.2
    whole = tpcc.Scale(warehouses=8, customers=3_000, items=100_000)
    assert cluster.disk_bytes(whole) > 5 * GIB
    for free, fits in ((4 * GIB, False), (6 * GIB, True)):
        allowance = Allowance(cpus=8, memory_bytes=8 * GIB, disk_bytes=free)
        if fits:
            assert services.build("shore", {}, allowance)
        else:
            with pytest.raises(HostFault, match="of disk"):
                services.build("shore", {}, allowance)
    huge = tpcc.Scale(warehouses=400, customers=3_000, items=100_000)
    assert cluster.disk_bytes(huge) > cluster.data_bytes(huge) + 1.4 * 400 * 117e6


def test_a_folder_with_any_name_is_a_word_of_the_shell(tmp_path: Path) -> None:
    home = Home(root=tmp_path / "it's; $HOME", bins=Path("bin"), libraries=(Path("usr/lib x"),))
    argv = ["/bin/sh", "-c", f"{home.exported}exec printenv LD_LIBRARY_PATH"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}/it's; $HOME/usr/lib x\n"
