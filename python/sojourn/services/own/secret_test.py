"""Secrets of a program: read where they lie, shown nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import Fault, HostFault, SpecFault
from sojourn.places import Address
from sojourn.services import Allowance, build
from sojourn.services.clients import where
from sojourn.services.own import secret

AT = "service command"
HIDDEN = "hunter2-very-secret"


def read(*words: str, file: Path | None = None) -> dict[str, str]:
    result = secret.variables(words, str(file or ""), at=AT)
    return {one.name: one.read() for one in result}


def test_a_value_is_read_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", HIDDEN)
    (tmp_path / "key").write_text("of the file\n")
    (tmp_path / "more").write_text(f"# a comment\n\nAPI_KEY={HIDDEN}=\nLEVEL=1\n")
    words = ("A=env:MINE", f"B=file:{tmp_path / 'key'}", "LEVEL=2", "EMPTY=", "TOKEN_LIMIT=100")
    assert read(*words, file=tmp_path / "more") == {
        "API_KEY": f"{HIDDEN}=",
        "LEVEL": "2",
        "A": HIDDEN,
        "B": "of the file",
        "EMPTY": "",
        "TOKEN_LIMIT": "100",
    }
    monkeypatch.setenv("MINE", "changed")
    assert read("A=env:MINE") == {"A": "changed"}


def test_no_value_is_shown(tmp_path: Path) -> None:
    (tmp_path / "more").write_text(f"API_KEY={HIDDEN}\n")
    result = secret.variables(["MODE=fast"], str(tmp_path / "more"), at=AT)
    assert secret.shown(result) == "API_KEY=… MODE=…"


@pytest.mark.parametrize(
    "word",
    [
        f"API_KEY={HIDDEN}",
        f"password={HIDDEN}",
        f"DB_PASSWORD={HIDDEN}",
        f"MYSECRET={HIDDEN}",
        f"GITHUB_TOKEN={HIDDEN}",
        f"AWS_SECRET_ACCESS_KEY={HIDDEN}",
        f"DATABASE_URL=postgres://u:{HIDDEN}@db/x",
        f"UPSTREAM=http://:{HIDDEN}@proxy",
        f"X=-----BEGIN RSA PRIVATE KEY----- {HIDDEN}",
        f"X=ghp_{HIDDEN}",
        f"JWT={HIDDEN}",
        f"DB_CREDS={HIDDEN}",
        f"CONN=Server=h;User=u;Password={HIDDEN}",
        f"CONN=host=h password='{HIDDEN}'",
        f"STORE=AccountName=a;AccountKey={HIDDEN}",
        f"ALERTS=https://hooks.slack.com/services/{HIDDEN}",
        f"X=glpat-{HIDDEN}",
        f"X=sk-ant-{HIDDEN}",
        HIDDEN,
        f"1={HIDDEN}",
    ],
)
def test_what_looks_like_a_secret_is_refused_and_not_repeated(word: str) -> None:
    with pytest.raises(SpecFault) as caught:
        read(word)
    assert HIDDEN not in f"{caught.value.what} {caught.value.at} {caught.value.fix}"
    assert caught.value.at == f"{AT}, environment"


@pytest.mark.parametrize(
    "word",
    [
        "GOGC=50",
        "CREDIT=x",
        "MODE=nosecret=x",
        "MONKEY=1",
        "KEYBOARD=us",
        "PASSIVE=x",
        "AUTHOR=me",
        "URL=http://h:80/a@b",
        "TOKENS=4",
        "COOKIES_ON=true",
        "USE_AUTH=no",
        "OPTS=a:b@c",
    ],
)
def test_what_looks_like_none_is_taken(word: str) -> None:
    assert read(word) == dict([word.split("=", 1)])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xff\xfe", "not UTF-8 text"),
        (b"x" * (secret.VALUE_BYTES_MAX + 1), "longer than"),
        (b"a\0b", "a zero in it"),
        (None, "No such file"),
    ],
)
def test_a_place_without_a_value_is_a_fault_of_this_machine(
    content: bytes | None, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "value"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HostFault, match=text):
        read(f"A=file:{path}")
    with pytest.raises(HostFault, match="is not set"):
        read("A=env:SOJOURN_NOT_SET")


def test_a_file_of_variables_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="No such file") as caught:
        read(file=tmp_path / "none")
    assert caught.value.at == f"{AT}, environment_file"
    (tmp_path / "some").write_text(f"API KEY={HIDDEN}\n")
    with pytest.raises(SpecFault, match="no NAME=VALUE") as caught:
        read(file=tmp_path / "some")
    assert HIDDEN not in caught.value.what


@pytest.mark.parametrize(
    "words",
    [
        ["--password", HIDDEN],
        [f"--password={HIDDEN}"],
        [f"--db_password={HIDDEN}"],
        ["-x", "--requirepass", HIDDEN, "-y"],
        [f"--api-key={HIDDEN}"],
        [f"--auth-token={HIDDEN}"],
        [f"--upstream=postgres://u:{HIDDEN}@db/x"],
        [f"ghp_{HIDDEN}"],
        [f"--dsn=host=h password={HIDDEN}"],
    ],
)
def test_a_secret_in_a_command_line_is_refused_and_not_repeated(words: list[str]) -> None:
    with pytest.raises(SpecFault, match="looks like a secret") as caught:
        secret.check_words(words, at=AT)
    fault = caught.value
    assert HIDDEN not in f"{fault.what} {fault.at} {fault.fix}"


@pytest.mark.parametrize(
    "words",
    [
        ["app.py", "--port", "{port}"],
        ["--password-file", "/etc/app/password"],
        ["--token", "env:TOKEN", "--secret=file:x"],
        ["--password"],
        ["--password", "--verbose"],
        ["--tokens", "5", "--max-token=100", "--password=none"],
        ["--monkey", "banana", "--secretary=joe", "--key", "a"],
        ["http://localhost:8080/?a=b"],
    ],
)
def test_a_command_line_without_secrets_is_taken(words: list[str]) -> None:
    secret.check_words(words, at=AT)


@pytest.mark.parametrize(
    "target",
    [
        f"http://h/?api_key={HIDDEN}",
        f"http://h/a?page=2&Access.Token={HIDDEN}",
        f"https://h/x?X-Amz-Security-Token={HIDDEN}#top",
        f"h:80/?sig={HIDDEN}",
        f"http://h:0/?client_secret={HIDDEN}",
        f"http://h/#access_token={HIDDEN}",
        f"http://h/?a=ghp_{HIDDEN}",
        f"postgres://me@h/shop?password={HIDDEN}",
        f"http://unix:/run/a:/x?apikey={HIDDEN}",
        f"https://h/?subscription-key={HIDDEN}",
        f"https://h/?jwt={HIDDEN}",
    ],
)
def test_a_secret_in_a_target_is_refused_without_its_value(target: str) -> None:
    with pytest.raises(SpecFault, match="looks like a secret") as caught:
        where.parse(target, at="service external, target")
    assert HIDDEN not in str(caught.value)
    assert caught.value.at == "service external, target"


@pytest.mark.parametrize(
    "query",
    ["q=token", "key=user7", "key={}", "token={item}", "max_tokens=100", "token=", "token"],
)
def test_numbers_items_and_short_keys_are_asked_for_as_ever(query: str) -> None:
    assert where.parse(f"http://h/a?{query}", at="t").path == f"/a?{query}"


def test_a_command_names_the_values_that_its_log_must_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that prints its environment wrote them into the record."""
    monkeypatch.setenv("SOJOURN_TEST", HIDDEN)
    words = 'API_KEY=env:SOJOURN_TEST MODE=fast AT="{host}:{port}"'
    allowance = Allowance(cpus=1, memory_bytes=1 << 30)
    made: Any = build("command", {"argv": "true {port}", "environment": words}, allowance)
    start = made.start(tmp_path, Address("127.0.0.1", 1))
    assert start.secrets == (HIDDEN,)
    assert start.variables == {"API_KEY": HIDDEN, "MODE": "fast", "AT": "127.0.0.1:1"}
