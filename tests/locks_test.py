"""What is built with is pinned: locks fit what asks for them, and name no place to get it from."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text()
PINS = dict(re.findall(r"^([\w.-]+)==([^ ;]+)", LOCK, re.MULTILINE))


def asked() -> list[Requirement]:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = table["dependency-groups"]
    extra = table["project"]["optional-dependencies"]["report"]
    words = [*table["project"]["dependencies"], *extra, *groups["build"], *groups["dev"]]
    return [Requirement(word) for word in (*words, *table["build-system"]["requires"])]


def test_every_requirement_is_locked_at_a_version_that_fits() -> None:
    for wanted in asked():
        assert PINS[wanted.name] in wanted.specifier, f"{wanted}: run make lock"


def test_every_locked_package_has_hashes_and_no_address() -> None:
    entries = re.split(r"^(?=\S)", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(PINS) > len(asked())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|--index|--find-links|@ ", LOCK)


@pytest.mark.parametrize(
    ("group", "tools"),
    [("tools", {"uv", "pip-audit"}), ("package", {"cargo-zigbuild", "maturin", "ziglang"})],
)
def test_tools_that_are_fetched_are_pinned_with_their_hashes(group: str, tools: set[str]) -> None:
    text = (ROOT / f"scripts/{group}.lock").read_text()
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    pins = dict(re.findall(r"^([\w.-]+)==([^ ;]+)", text, re.MULTILINE))
    assert len(entries) == len(pins)
    assert tools == set((ROOT / f"scripts/{group}.in").read_text().split()) <= set(pins)
    assert all("--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("script", ["audit", "lock", "package", "setup"])
def test_a_script_fetches_nothing_that_is_not_pinned(script: str) -> None:
    for line in (ROOT / "scripts" / script).read_text().splitlines():
        if re.search(r"pip install|cargo install", line) and not line.startswith("#"):
            assert "--require-hashes" in line or '--locked --version "=' in line, line


def test_what_runs_here_is_what_is_locked() -> None:
    for name, version in PINS.items():
        try:
            assert metadata.version(name) == version, f"{name}: run make setup"
        except metadata.PackageNotFoundError:
            assert re.search(rf"^{name}==\S+ ; ", LOCK, re.MULTILINE), f"{name}: run make setup"


def test_the_pinned_rust_is_one_that_the_crates_allow() -> None:
    pinned = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    least = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", pinned), "a channel that moves pins nothing"
    assert [int(n) for n in pinned.split(".")] >= [int(n) for n in least.split(".")]


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("LGPL-2.1-only OR BSD-2-Clause", True),
        ("(MIT OR GPL-3.0-only) AND GPL-2.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0-only OR ISC", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only WITH Classpath-exception-2.0", False),
        ("(MIT", False),
        ("MIT Zlib", False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_if_it_leaves_a_way(expression: str, *, is_allowed: bool) -> None:
    licences = runpy.run_path(str(ROOT / "scripts/licences.py"))
    assert licences["allowed"](expression) is is_allowed


def test_a_package_that_says_nothing_of_its_licence_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    licences = runpy.run_path(str(ROOT / "scripts/licences.py"))
    main: Callable[[], int] = licences["main"]
    packages = licences["of_python"]
    main.__globals__["of_rust"] = lambda: [("silent", ""), ("copyleft", "GPL-3.0-only")]
    main.__globals__["of_python"] = lambda: [*packages()]
    assert main() == 1
    err = capsys.readouterr().err
    assert err.count("error: ") == 2
    assert "copyleft says 'GPL-3.0-only'" in err


def test_the_bill_of_materials_has_every_locked_package_with_its_hashes() -> None:
    made = runpy.run_path(str(ROOT / "scripts/sbom.py"))
    rust = (ROOT / "Cargo.lock").read_text()
    bill = made["bill"]((rust, LOCK), "1")
    results = {one["purl"]: one for one in bill["components"]}
    assert len(results) == len(bill["components"])
    crates = [one for one in tomllib.loads(rust)["package"] if "source" in one]
    wanted = {f"pkg:cargo/{one['name']}@{one['version']}" for one in crates}
    assert set(results) == wanted | {f"pkg:pypi/{name}@{pin}" for name, pin in PINS.items()}
    assert all(one["hashes"] for one in results.values())
    sums = re.findall(r"--hash=sha256:(\w+)", LOCK)
    assert sorted(
        h["content"] for p in results for h in results[p]["hashes"] if "pypi" in p
    ) == sorted(sums)
    assert made["bill"]((rust, LOCK), "1") == bill
    assert made["bill"]((rust, f"{LOCK}\n"), "1")["serialNumber"] != bill["serialNumber"]


def test_every_locked_crate_is_of_the_registry_and_has_its_sum() -> None:
    """A crate by an address of its own would be whatever lies there today."""
    crates = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    foreign = [one for one in crates if "source" in one]
    assert {one["source"] for one in foreign} == {
        "registry+https://github.com/rust-lang/crates.io-index"
    }
    assert all(re.fullmatch(r"[0-9a-f]{64}", one["checksum"]) for one in foreign)


#: Crates of which several versions are built, because others have not moved yet.
SEVERAL = {"getrandom", "r-efi", "syn", "windows-sys"}
#: What goes through rustls alone, so that one list of advisories is to be read.
BANNED = {"openssl", "openssl-sys", "native-tls", "boring"}


def test_no_crate_is_there_twice_but_those_that_are_known_and_none_is_banned() -> None:
    """What cargo-deny calls bans; its other parts are `scripts/licences.py` and `scripts/audit`."""
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    counted = Counter(one["name"] for one in packages)
    assert {name for name, count in counted.items() if count > 1} == SEVERAL
    assert not BANNED & set(counted)


def test_no_crate_is_asked_for_at_any_version_or_from_elsewhere() -> None:
    for path in (ROOT / "Cargo.toml", *ROOT.glob("crates/*/Cargo.toml")):
        table = tomllib.loads(path.read_text())
        parts = (table, table.get("workspace", {}), *table.get("target", {}).values())
        kinds = ("dependencies", "dev-dependencies", "build-dependencies")
        asked = {
            name: how
            for part in parts
            for kind in kinds
            for name, how in part.get(kind, {}).items()
        }
        for name, how in asked.items():
            version = how if isinstance(how, str) else how.get("version", "")
            is_ours = isinstance(how, dict) and ("path" in how or how.get("workspace"))
            assert is_ours or re.fullmatch(r"[=~^]?[0-9][0-9.]*", version), f"{path}: {name}"
            assert isinstance(how, str) or not {"git", "registry"} & set(how), f"{path}: {name}"
