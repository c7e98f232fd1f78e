"""The recipes for clusters have the form that Kubernetes, KubeRay and Slurm read.

No cluster is here, and KubeRay's schema is not fetched. So the structure is held against what the
documentation of KubeRay says of a RayCluster, and the words of `ray start` against Ray, if it is
installed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.hosts.engine import Node
from sojourn.spec.hosts import HostsSpec

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "docs/recipes"
SBATCH = RECIPES / "sojourn.sbatch"
CLUSTER = json.loads((RECIPES / "raycluster.json").read_text())
SPEC = CLUSTER["spec"]
GROUPS = [SPEC["headGroupSpec"], *SPEC["workerGroupSpecs"]]
#: Keys of KubeRay's types (ray.io/v1) that are used here; each other one is a slip.
KEYS = {
    "cluster": {"apiVersion", "kind", "metadata", "spec"},
    "spec": {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"},
    "head": {"rayStartParams", "template"},
    "worker": {
        "groupName",
        "replicas",
        "minReplicas",
        "maxReplicas",
        "rayStartParams",
        "template",
    },
}


def containers() -> Iterator[dict[str, Any]]:
    for group in GROUPS:
        yield from group["template"]["spec"]["containers"]


def test_the_manifest_has_the_form_of_a_ray_cluster() -> None:
    assert (CLUSTER["apiVersion"], CLUSTER["kind"]) == ("ray.io/v1", "RayCluster")
    assert set(CLUSTER) == KEYS["cluster"]
    assert set(SPEC) == KEYS["spec"]
    assert set(GROUPS[0]) == KEYS["head"]
    for group in GROUPS[1:]:
        assert set(group) == KEYS["worker"]
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for group in GROUPS:
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())


def test_only_who_has_the_token_gets_in() -> None:
    assert SPEC["authOptions"] == {"mode": "token"}
    assert GROUPS[0]["rayStartParams"]["dashboard-host"] == "127.0.0.1"


def test_every_pod_has_a_machine_and_whole_cpus_of_its_own() -> None:
    """Guaranteed quality of service: requests are limits, CPUs whole numbers."""
    for container in containers():
        resources = container["resources"]
        assert resources["requests"] == resources["limits"]
        assert resources["limits"]["cpu"].isdecimal()
    for group in GROUPS:
        pod = group["template"]
        (rule,) = pod["spec"]["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert rule["topologyKey"] == "kubernetes.io/hostname"
        wanted = rule["labelSelector"]["matchLabels"]
        assert wanted.items() <= pod["metadata"]["labels"].items()


def test_the_clients_of_the_page_are_those_of_the_manifest() -> None:
    page = (ROOT / "docs/howto/clusters.md").read_text()
    named = re.search(r'^ *clients = \["([^"]+)"\]', page, re.MULTILINE)
    assert named
    label = SPEC["workerGroupSpecs"][0]["rayStartParams"]["labels"]
    HostsSpec(at="auto", clients=(named[1],))
    assert Node(id="i", name="n", address="a", labels=frozenset({label})).is_called(named[1])


def test_image_and_manifest_have_one_ray() -> None:
    text = (RECIPES / "sojourn-ray.Containerfile").read_text()
    assert f"FROM rayproject/ray:{SPEC['rayVersion']}-py311" in text
    assert f"ray=={SPEC['rayVersion']}" in text
    images = {container["image"].partition(":")[0] for container in containers()}
    assert images == {"REGISTRY/sojourn-ray"}


def test_the_image_has_a_wheel_of_this_project_because_none_is_on_pypi() -> None:
    text = (RECIPES / "sojourn-ray.Containerfile").read_text()
    assert "COPY sojourn-*_x86_64.whl /tmp/" in text
    installed = re.findall(r"^RUN pip install (.+)$", text, re.MULTILINE)
    assert installed
    assert all("sojourn[" not in words for words in installed)
    build = re.findall(r"podman build .*sojourn-ray\.Containerfile(.*)$", text, re.MULTILINE)
    build += re.findall(
        r"podman build .*sojourn-ray\.Containerfile(.*)$",
        (ROOT / "docs/howto/clusters.md").read_text(),
        re.MULTILINE,
    )
    assert build == [" target/dist"] * 2, "the folder in which `make wheel` leaves it"


def test_the_batch_file_is_sound_and_is_refused_without_a_study() -> None:
    bash = str(shutil.which("bash"))
    assert subprocess.run([bash, "-n", SBATCH], check=False).returncode == 0
    bare = subprocess.run([bash, SBATCH], capture_output=True, text=True, check=False)
    assert bare.returncode != 0
    assert "name a study" in bare.stderr


FAKE = """#!/bin/bash
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0") $*" in
    "scontrol show hostnames"*) printf '%s\\n' ${NODES:-one two three} ;;
    *"hostname --all-ip-addresses") echo "$ADDRESSES" ;;
    *"ray status"*) exit "${HEADLESS:-0}" ;;
    *"ray.nodes()"*) echo "${ALIVE:-3}" ;;
esac
"""


def batch(tmp_path: Path, **about: str) -> subprocess.CompletedProcess[str]:
    """Run the batch file; Slurm's programs are fakes that note how they were called."""
    for name in ("scontrol", "srun"):
        (tmp_path / name).write_text(FAKE)
        (tmp_path / name).chmod(0o755)
    job = {"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_ID": "77", "CALLS": str(tmp_path / "calls")}
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", **job, **about}
    words = [str(shutil.which("bash")), str(SBATCH), "my.toml", "--profile", "quick"]
    return subprocess.run(words, env=env, timeout=60, capture_output=True, text=True, check=False)


def calls_of(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


@pytest.mark.parametrize("addresses", ["127.0.1.1", "127.0.0.1 ::1", "::1 fe80::1", ""])
def test_an_address_that_no_other_node_reaches_is_refused(tmp_path: Path, addresses: str) -> None:
    """Debian and Ubuntu give a host's own name 127.0.1.1."""
    refused = batch(tmp_path, ADDRESSES=addresses)
    assert refused.returncode == 2
    assert "no address of one" in refused.stderr
    assert "SOJOURN_ADDRESS" in refused.stderr
    assert not [line for line in calls_of(tmp_path) if "ray start" in line]
    assert batch(tmp_path, ADDRESSES="10.0.0.1", SOJOURN_ADDRESS="127.0.0.1").returncode == 2


@pytest.mark.parametrize(
    ("about", "address"),
    [
        ({"ADDRESSES": "127.0.1.1 10.0.0.1 172.17.0.1"}, "10.0.0.1"),
        ({"ADDRESSES": "2001:db8::7 10.0.0.1"}, "10.0.0.1"),
        ({"ADDRESSES": "172.17.0.1 10.0.0.1", "SOJOURN_ADDRESS": "10.0.0.1"}, "10.0.0.1"),
    ],
)
def test_the_first_address_that_others_reach_is_the_heads(
    tmp_path: Path, about: dict[str, str], address: str
) -> None:
    assert batch(tmp_path, **about).returncode == 0
    heads = [line for line in calls_of(tmp_path) if "ray start --head" in line]
    assert [f"--node-ip-address={address} " in line for line in heads] == [True]


def test_the_batch_file_starts_a_head_clients_and_the_study_in_order(tmp_path: Path) -> None:
    done = batch(tmp_path, ADDRESSES="10.0.0.1 10.0.9.1")
    assert done.returncode == 0, done.stderr
    lines = calls_of(tmp_path)
    (head,) = [line for line in lines if "ray start --head" in line]
    assert "--nodelist=one" in head
    assert "--node-ip-address=10.0.0.1 --port=20077" in head
    workers = [line for line in lines if "--address=10.0.0.1:20077 --num-cpus=0" in line]
    assert sorted(re.findall(r"--nodelist=(\w+)", " ".join(workers))) == ["three", "two"]
    (study,) = [line for line in lines if "sojourn run" in line]
    assert study.endswith(
        "sojourn run my.toml --hosts 10.0.0.1:20077 --set hosts.address=10.0.0.1 --profile quick"
    )


@pytest.mark.parametrize(
    ("about", "why", "starts"),
    [
        ({"HEADLESS": "1"}, "Ray's head does not answer within 0 s", 1),
        ({"ALIVE": "2"}, "fewer than 3 nodes are in Ray's cluster within 0 s", 3),
        ({"ALIVE": "nonsense"}, "fewer than 3 nodes", 3),
    ],
)
def test_a_cluster_that_is_not_whole_measures_nothing(
    about: dict[str, str], why: str, starts: int, tmp_path: Path
) -> None:
    """A study takes the nodes that are there: one that comes later is no client."""
    done = batch(tmp_path, ADDRESSES="10.0.0.1", SOJOURN_WAIT_S="0", **about)
    assert done.returncode == 4
    assert why in done.stderr
    lines = calls_of(tmp_path)
    assert not [line for line in lines if "sojourn run" in line]
    assert len([line for line in lines if "ray start" in line]) == starts


def test_the_batch_file_wants_a_node_for_each_client(tmp_path: Path) -> None:
    refused = batch(tmp_path, ADDRESSES="10.0.0.1", NODES="one")
    assert refused.returncode == 2
    assert "each client needs a node" in refused.stderr


def test_ray_knows_the_words_that_the_recipes_use() -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    from ray.scripts.scripts import start  # noqa: PLC0415

    known = {name for option in start.params for name in option.opts}
    used = set(re.findall(r"--[a-z-]+", " ".join(_ray_lines())))
    params = {f"--{key}" for group in GROUPS for key in group["rayStartParams"]}
    assert used | params
    assert (used | params) <= known


def _ray_lines() -> Iterator[str]:
    text = SBATCH.read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if "ray start" in line and not line.startswith("#"):
            yield line.partition("ray start")[2]
