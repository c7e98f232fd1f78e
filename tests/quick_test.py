"""`scripts/quick`: what a change touches is found, the nearest tests come first."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def touched() -> ModuleType:
    spec = importlib.util.spec_from_file_location("touched", ROOT / "scripts/touched.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_examples_hold(touched: ModuleType) -> None:
    done = doctest.testmod(touched)
    assert done.attempted > 5
    assert done.failed == 0


def test_what_differs_from_the_branch_is_found_committed_or_not(
    touched: ModuleType, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for name in ("kept", "moved", "edited", "gone"):
        (tmp_path / name).write_text(f"{name}\n" * 9)
    git("add", "."), git("commit", "-qm", "one")
    git("checkout", "-qb", "work")
    git("mv", "moved", "there"), git("commit", "-qam", "two")
    git("checkout", "-q", "main")
    (tmp_path / "kept").write_text("of main alone")
    git("commit", "-qam", "three"), git("checkout", "-q", "work")
    (tmp_path / "edited").write_text("more")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").touch()
    assert touched.changed(tmp_path, "main") == ["edited", "gone", "moved", "new", "there"]


def test_every_crate_that_stands_on_one_is_touched_by_it(touched: ModuleType) -> None:
    under = touched.below(ROOT)
    assert set(touched.crates(["crates/base/src/lib.rs"], under)) == set(under)
    result = touched.crates(["crates/sim/src/lib.rs"], under)
    assert result == {"sched": False, "sim": True, "tools": False}
    assert all(touched.crates(["Cargo.lock"], under).values())
    assert touched.crates(["docs/method.md"], under) == {}


def test_tests_are_found_by_imports_and_those_elsewhere_by_the_name(touched: ModuleType) -> None:
    far = {
        "sojourn.units": 0,
        "sojourn.units_test": 1,
        "sojourn.cli.app": 2,
        "sojourn.cli.a_test": 3,
    }
    beside = {
        "tests/each_test.py": "",
        "tests/other_test.py": 'Path("scripts") / "each"',
        "tests/far_test.py": "reaching",
        "tests/all_test.py": "ROOT.rglob('*.md')",
    }
    numbers = touched.tests(["python/sojourn/units.py", "scripts/each"], far, beside)
    assert numbers == {
        "python/sojourn/units.py": 0,
        "python/sojourn/units_test.py": 1,
        "python/sojourn/cli/a_test.py": 3,
        "tests/each_test.py": 1,
        "tests/other_test.py": 1,
        "tests/all_test.py": touched.EVERYWHERE,
    }


def test_times_are_those_that_pytest_wrote(touched: ModuleType, tmp_path: Path) -> None:
    cases = "".join(
        f'<testcase classname="tests.{name}_test" name="x" time="{s}"/>'
        for name, s in (("a", 1.5), ("b", 4), ("a", 0.5))
    )
    (tmp_path / "it.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    result = touched.recorded_s(tmp_path / "it.xml")
    assert result == {"tests/a_test.py": 2.0, "tests/b_test.py": 4.0}
    assert touched.recorded_s(tmp_path / "none.xml") == {}


def test_what_itself_changed_is_tested_however_long_it_takes(touched: ModuleType) -> None:
    assert touched.chosen({"a": 0, "b": 1}, {"a": 900.0}, 60.0) == (["a"], ["b"])
