"""What the generator finds in its environment: issuers, and the secrets that its job names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.run import environment

SECRET = "TOKEN_OF_A_TEST"  # noqa: S105  # the name of a variable


@pytest.mark.parametrize(
    "auth", [f"bearer:env:{SECRET}", f"basic:env:{SECRET}", f"password:env:{SECRET}"]
)
def test_the_variable_that_a_job_names_is_handed_on_and_no_other(
    auth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "abc")
    for name in (environment.ISSUERS, environment.FOLDERS):
        monkeypatch.delenv(name, raising=False)
    assert environment.of({"auth": auth}) == {SECRET: "abc"}
    assert environment.of({"auth": f"bearer:file:{SECRET}"}) == {}
    assert environment.of({}) == {}
    assert environment.of({"header": [f"X-Key: env:{SECRET}", "A: b"]}) == {SECRET: "abc"}
    monkeypatch.delenv(SECRET)
    assert environment.of({"auth": auth}) == {}, "the generator says that it is not set"


def test_variables_that_are_not_set_or_only_look_named_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINE", "abc")
    for name in (environment.ISSUERS, environment.FOLDERS):
        monkeypatch.delenv(name, raising=False)
    header = ["X-Api-Key: env:MINE", "Cookie: env:SOJOURN_NOT_SET", "env: x"]
    assert environment.of({"auth": "bearer:env:MINE", "header": header}) == {"MINE": "abc"}


def test_issuers_are_those_of_the_folder_in_which_the_lab_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(environment.ISSUERS, "ca.pem")
    monkeypatch.setenv(environment.FOLDERS, "certs:/etc/certs")
    assert environment.of({}) == {
        "SSL_CERT_FILE": f"{tmp_path}/ca.pem",
        "SSL_CERT_DIR": f"{tmp_path}/certs:/etc/certs",
    }
